/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "world.h"

/* What the kernel says of a set, its whole chain included: `isolated`, `root`, `member`, `isolated invalid`, or "" where
 * its cgroup is gone.  *ret_reason is NULL where the set holds, else the kernel's own words, or which level of the
 * chain is at fault.  Pure: looks at world->cgroups. (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition) */
int cpuset_set_state(const World *world, const StepSet *set, char **ret_partition, char **ret_reason);
