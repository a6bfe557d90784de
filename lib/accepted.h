/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

#pragma GCC visibility push(default)

/* Findings that a site lives with: shell patterns on their ids, one a line, `#` starts a comment. */
#define ACCEPTED_FILE "/etc/rtisold/accepted"

/* The patterns of a machine, NULL-terminated; empty where there is no such file. */
int accepted_read(Kfs *kfs, char ***ret);
bool accepted_matches(char *const *patterns, const char *id);

/* Adds and removes a line, in the file at path, which is replaced as a whole; its folder is made.  0 where
 * the file has it already (has it not), 1 where it was changed.  comment, which may be NULL, goes behind
 * it. */
int accepted_add(const char *path, const char *pattern, const char *comment);
int accepted_remove(const char *path, const char *pattern);

#pragma GCC visibility pop
