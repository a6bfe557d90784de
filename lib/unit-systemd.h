/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "cpulist.h"

/* systemd's D-Bus API for slices (org.freedesktop.systemd1(5)).  All wait until the job is through; -ETIMEDOUT after
 * a minute. */

/* The connection that the calls of one switch share: making one costs systemd more than most calls do.  It is made by
 * the first call, and again where systemd has closed it meanwhile.  An idle process closes it, because everything that
 * happens to units is told on it. */
typedef struct SystemdLink {
        struct sd_bus *bus; /* NULL: none now */
} SystemdLink;
void systemd_link_close(SystemdLink *link);
#define _cleanup_systemd_link_ _cleanup_(systemd_link_close)

/* Makes and starts a slice, or changes the one there is until the next boot.  Empty lists: no limit. */
int systemd_slice_set(SystemdLink *link, const char *unit, const CpuList *cpus, const CpuList *mems);
/* Would stopping it stop anything?  1 where a unit needs it (what is in a slice does) that is active or on its way
 * there: also one without a process just now, as after RemainAfterExit= or between two tries of Restart=. */
int systemd_slice_is_needed(SystemdLink *link, const char *unit);
/* Stops a slice, and with it whatever has been started in it. */
int systemd_slice_stop(SystemdLink *link, const char *unit);

/* Puts a process that runs into a scope of its own in a slice; the scope goes when the last process of it does. */
int systemd_scope_start(const char *unit, const char *slice, const char *description, unsigned pid);

/* CPUSetPartition=; -ENOENT where systemd does not know it or the slice is not there. */
int systemd_slice_get_partition(SystemdLink *link, const char *unit, char **ret);
int systemd_slice_set_partition(SystemdLink *link, const char *unit, const char *partition);
