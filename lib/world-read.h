/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "world.h"

/* Reads the whole tree of control groups into world->cgroups, parents before children, and says what kind of
 * machine it is: cgroup_root, cgroup_hybrid.  Of a captured tree without any /sys/fs/cgroup nothing is known:
 * it is taken for a machine with cgroup v2, with no cgroup in the table.  Groups that go away meanwhile are
 * left out.  A second call does nothing.  (Documentation/admin-guide/cgroup-v2.rst) */
int world_read_cgroups(World *world);

/* Reads every thread of the machine into world->tasks, ascending by process and thread.  Threads that end
 * meanwhile are left out.  A second call does nothing.  (proc(5), Documentation/filesystems/proc.rst) */
int world_read_tasks(World *world);

/* Adds the threads of one process; nothing where it is gone. */
int world_read_process(World *world, int pid);

/* One /proc/TID/stat: comm may hold spaces, brackets and newlines.  Fills all but pid, affinity and cgroup;
 * -EBADMSG where it is none. */
int world_parse_stat(const char *text, WorldTask *ret);
/* The Cpus_allowed_list of /proc/TID/status; -ENODATA where there is none. */
int world_parse_allowed(const char *status, CpuList *ret);
/* The cgroup v2 path of /proc/PID/cgroup; "" where there is none. */
int world_parse_cgroup(const char *text, char **ret);
