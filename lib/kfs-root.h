/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <fcntl.h>
#include <sys/types.h>

/* Files below a root that no path and no link in it leaves.  Only kfs uses this. */

/* For the live machine: paths are opened as they are. */
#define ROOT_LIVE AT_FDCWD

/* As open(2): a descriptor or a negative errno.  O_CLOEXEC is added. */
int root_open(int root_fd, const char *path, int flags, mode_t mode);
/* The folder a path is in, and the path's last part, which points into path.  -EINVAL where it has none. */
int root_open_parent(int root_fd, const char *path, const char **ret_name);

/* Does what openat2(RESOLVE_IN_ROOT) does, for kernels and sandboxes without it. */
int root_walk(int root_fd, const char *path, int flags, mode_t mode);

/* Reads to the end; a NUL byte is put behind.  Kernel files have no size to ask for. */
int fd_read_all(int fd, char **ret, size_t *ret_size);
