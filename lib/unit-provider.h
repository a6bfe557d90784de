/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* Provides `unit/NAME.slice`: where systemd runs, a slice made through its D-Bus API; elsewhere a control
 * group.  Reads `absent` or `cpus=1-3 mems=0` as the kernel's own files say (empty: not limited).
 *
 *   unit/NAME.slice            writing a value makes the slice or changes it, `absent` removes it: -EBUSY while
 *                              anything runs in it
 *   unit/NAME.slice/partition  the CPUSetPartition= of the slice, where systemd has that property; -ENOENT
 *   controller/cpuset          `on` or `off`: the root's groups have cpuset files.  systemd sees to it by
 *                              itself
 *
 * On a root that is only files, a group is a folder with the files that the kernel would make. */
int unit_provide(Kfs *kfs);
