/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Names of tasks, interrupts and cgroups are chosen by anybody who may start a program: what would steer a
 * terminal, or is no UTF-8, is written as `\x1b`. */
int text_printable(const char *text, char **ret);

/* Only what is no UTF-8 is written so: for JSON, which escapes control characters by itself. */
int text_utf8(const char *text, char **ret);

/* Length of the UTF-8 character at text, 0 where there is none, or one that no message of a bus may have. */
size_t text_character(const char *text);
