/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "profile-lines.h"

/* Where profiles are, and which file counts: as systemd does it for its units. */

/* Opens a file of settings: 0 with a descriptor that is a regular file with something in it.
 * -ENOENT: nothing there.  -ESHUTDOWN: masked (a link to /dev/null, or empty).  -EINVAL: something that cannot be
 * used, which is in errors; -ENOMEM. */
int profile_file_open(Kfs *kfs, const char *path, int *ret_fd, ProfileErrors *errors);
/* The same and reads its sections and keys into lines. */
int profile_file_read(Kfs *kfs, const char *path, ProfileLines *lines, ProfileErrors *errors);

/* Only root may decide what is in force: why a file or folder of the live machine is not believed, or NULL. */
const char *profile_distrust(const struct stat *st);

/* May only root write to the folder?  Else that is in errors; 0 or -ENOMEM. */
int profile_check_folder(Kfs *kfs, const char *path, ProfileErrors *errors);
/* The same of all folders that profiles are looked for in. */
int profile_check_folders(Kfs *kfs, ProfileErrors *errors);

/* The main file of a profile, whether or not it can be read.  -ENOENT, -ESHUTDOWN (then *ret is what masks it). */
int profile_find(Kfs *kfs, const char *name, char **ret);

/* The drop-ins of a profile in the order they are read; masked ones are left out. */
int profile_find_drop_ins(Kfs *kfs, const char *name, char ***ret, ProfileErrors *errors);
