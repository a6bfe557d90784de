/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Small files of `key=value` lines in the daemon's own runtime directory: what must outlive a killed daemon.
 * Replaced atomically; values have no newline. */

/* keys and values: pairs, NULL at the end. */
int runfile_write(const char *path, const char *const *pairs);
/* -ENOENT where there is no such file.  *ret are the lines. */
int runfile_read(const char *path, char ***ret);
/* The value of a key, or NULL. */
const char *runfile_get(char *const *lines, const char *key);
