/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* For providers: files that are parts of one access.  They pass no hook, because the access has. */

/* A file whole, as it is. */
int kfs_peek(Kfs *kfs, const char *path, char **ret);
/* As kfs_write(). */
int kfs_poke(Kfs *kfs, const char *path, const char *value);
/* Puts a whole new text into a file.  -EROFS on the live machine. */
int kfs_replace(Kfs *kfs, const char *path, const char *text);
