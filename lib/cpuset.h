/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"

/* Set NAME is the slice rtisol-NAME.slice, below rtisol.slice: /rtisol.slice/rtisol-NAME.slice.  What is put
 * into a set by rtisold (an adopted process, a program of a [task] rule) goes into the set's slice
 * rtisol-NAME-tasks.slice, since control groups hold either processes or groups. */
#define CPUSET_PARENT_UNIT "rtisol.slice"
#define CPUSET_PARENT_PATH "/rtisol.slice"
#define CPUSET_CONTROLLER "controller/cpuset"

/* The set's slice, its path below the cgroup root, and the path of one of its files as kfs names it. */
int cpuset_unit(const char *set, char **ret);
int cpuset_path(const char *set, char **ret);
int cpuset_file(const char *set, const char *file, char **ret);
/* The slice for what rtisold puts into the set. */
int cpuset_tasks_unit(const char *set, char **ret);
int cpuset_tasks_path(const char *set, char **ret);
/* Where systemd keeps a slice: every dash is a level. `rtisol-rt.slice` → `/rtisol.slice/rtisol-rt.slice`;
 * -EINVAL for a name that is no slice's. */
int cpuset_unit_path(const char *unit, char **ret);

/* Is a cgroup path the slice of some set, or below one?  Where ret_set is not NULL, it gets the set's name,
 * or stays. */
bool cpuset_is_inside(const char *cgroup, char **ret_set);

/* Is it this group, or below it? */
bool cpuset_is_below(const char *path, const char *group);
/* Does anything run in a group that is not moved out of it by the records in force (adopted processes)? */
bool cpuset_is_in_use(const World *world, const char *path);

/* What a set's slice reads as `unit/…`. */
int cpuset_unit_value(const char *cpus, const char *mems, char **ret);

/* Partitions can be made anywhere in the tree (`cpuset.cpus.exclusive`), not only below a partition root. */
bool cpuset_is_remote(const World *world);

/* The CPUs that a cgroup may use just now: its own cpuset.cpus.effective, or that of the nearest group above
 * it that has one; all that are online where none has.  The list is the caller's. */
int cpuset_effective(const World *world, const char *cgroup, CpuList *ret);

/* Has the cgroup, or one above it but the root, a cpuset of its own? */
bool cpuset_has_own(const World *world, const char *cgroup);

/* What the kernel says of a set, its whole chain included: `isolated`, `root`, `member`, `isolated invalid`, or
 * "" where its cgroup is gone.  *ret_reason is NULL where the set holds, else the kernel's own words, or which
 * level of the chain is at fault: a set holds only where every level is valid and the root's effective CPUs are
 * without its CPUs.  A set without a partition is `none`, and holds.  0 or -ENOMEM.  Pure.
 * (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition) */
int cpuset_set_state(const World *world, const StepSet *set, char **ret_partition, char **ret_reason);

/* The partitions of rtisold's slices that no set in force accounts for, as cgroup paths: what a mode leaves behind
 * whose record was lost.  *ret is NULL where there are none.  Pure. */
int cpuset_unexplained(const World *world, const Steps *in_force, char ***ret);
/* Records that take rtisold's slices apart, for where the true ones were lost (STEP_MADE_UP): a slice of that name
 * was made by a mode.  Those that in_force has are left out.  Pure. */
int cpuset_make_up(const World *world, const Steps *in_force, Steps *ret);

/* Parts of backend_cpuset. */

/* What one switch makes of the control groups.  Lists are owned. */
typedef struct CpusetPlan {
        const PlanInput *input;
        Plan *plan;
        CpuList shut; /* the CPUs of all partitions, those that are away included */
        CpuList open; /* online and in none of them: what everybody else is left with */
        bool remote;
        unsigned required;
} CpusetPlan;

int cpuset_plan_init(CpusetPlan *context, const PlanInput *input, Plan *plan);
void cpuset_plan_done(CpusetPlan *context);
bool cpuset_has_partition(const PlanInput *input, size_t set);

/* The first set with a partition that has one of these CPUs; -1 where none has. */
ssize_t cpuset_find_set(const PlanInput *input, const CpuList *cpus);

/* The value of a cgroup's cpuset.cpus before any mode. */
const char *cpuset_found_cpus(const PlanInput *input, const WorldCgroup *cgroup);

/* Adds the slices, the neighbours narrowed, and the partitions. */
int cpuset_plan_steps(CpusetPlan *context);
/* Refuses what would be unpinned, and what the kernel would refuse: cpusets of others inside the sets. */
int cpuset_plan_check(CpusetPlan *context);

/* The step that makes the slice for what is put into a set. */
int cpuset_plan_tasks_slice(const PlanInput *input, Plan *plan, const char *set);

/* Where steps stand in PHASE_CGROUP.  The parent comes before the sets also where it shrinks: the kernel then
 * takes the CPU from the set, which goes on as a partition.  A set takes three places: its slice, a place in
 * which the first set's files of the parent are there too, its exclusive CPUs. */
enum {
        CPUSET_ORDER_CONTROLLER,
        CPUSET_ORDER_NARROW,
        CPUSET_ORDER_PARENT,
        CPUSET_ORDER_SETS,
        CPUSET_ORDER_PARENT_EXCLUSIVE = CPUSET_ORDER_SETS + 1,
        CPUSET_ORDER_PARTITION = 1 << 17,
        CPUSET_ORDER_TASKS = 1 << 18,
        CPUSET_ORDER_ADOPT,
        CPUSET_ORDER_WIDEN,
};
