/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

#pragma GCC visibility push(default)

/* Registers all that is an object and no file: whoever applies or plans calls this once after kfs_new(). */
int providers_add(Kfs *kfs);

/* task/TID/START/{affinity,policy,cgroup}.  -ESRCH where the task is gone or its number was reused.
 * (sched_setaffinity(2), sched_setscheduler(2), Documentation/admin-guide/cgroup-v2.rst) */
int task_provide(Kfs *kfs);

/* cycle/CPU.  A CPU that cannot be brought back is asked for a few times more.
 * (Documentation/core-api/cpu_hotplug.rst) */
int cycle_provide(Kfs *kfs);

/* net/INDEX/…: see net.h. */
int net_provide(Kfs *kfs);

#pragma GCC visibility pop
