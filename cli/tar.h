/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Writes archives that every tar(1) reads: ustar (IEEE Std 1003.1), with GNU's entries for names beyond 100 bytes.  All
 * entries belong to root.  0 or a negative errno. */
int tar_file(FILE *archive, const char *name, const char *data, size_t size, time_t time);
int tar_folder(FILE *archive, const char *name, time_t time);
int tar_end(FILE *archive);
