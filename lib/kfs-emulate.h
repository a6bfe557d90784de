/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* What a kernel file would read after a value was written to it, for roots that are only files.  word is
 * that of `PATH#WORD`, or NULL; old is NULL where the file is not there yet.  Knows the idioms of `always
 * [madvise] never`, of a sched features file (`NO_WORD` takes the place of `WORD`) and of
 * cgroup.subtree_control (`+cpuset`); anything else reads as it was written, with the newline that kernel
 * files end in. */
int kfs_emulate(const char *path, const char *word, const char *old, const char *value, char **ret);

/* `WORD` or `NO_WORD`, whichever of the two a features file holds; -ENOENT. */
int kfs_find_token(const char *text, const char *word, char **ret);
