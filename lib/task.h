/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"

/* The name of a task for a sentence: what cannot be printed is escaped as \xHH. */
int task_printable_comm(const WorldTask *task, char **ret);

/* Is there a user task in any set's slice?  Without one nobody is hurt when the sets go, and nobody need be watched. */
bool task_any_inside(const World *world);

/* Who would be hurt if the sets went now: user tasks in a set's slice that are real-time, or that poll, which is:
 * used more than four fifths of the time since `earlier` was read, elapsed_ns ago.  Without `earlier` (NULL) only
 * real-time tasks are seen.  *ret gets one sentence for each process, and is NULL where there is none.  Pure.
 * -ENOMEM. */
int task_green_blockers(const World *now, const World *earlier, uint64_t elapsed_ns, char ***ret);

/* Parts of backend_task. */

/* What one plan makes of the tasks. */
typedef struct TaskPlan {
        const PlanInput *input;
        Plan *plan;
        CpuList shut;  /* the CPUs of the partitions of this mode */
        CpuList open;  /* online and in none of them; `within` has those that are away, too */
        bool was_shut; /* the mode in force has partitions: a task without a record came later */
        CpuList away;  /* there, and not online */
        CpuList full;  /* what a task of `cgroup` may use that is not pinned */
        char *cgroup, *within;
        const Step **records; /* of the mode in force, by thread */
        size_t n_records;
        bool *used; /* the sets that something is put into; index as in the profile */
} TaskPlan;

/* The user threads of one process. */
typedef struct TaskProcess {
        const WorldTask *threads; /* the leading one first, where it is still there */
        size_t n;
        CpuList *found;  /* of each thread */
        bool *pinned;    /* has to be given its CPUs again, both ways */
        bool *inside;    /* pinned to CPUs of the sets alone */
        size_t n_inside; /* how many of them */
} TaskProcess;

int task_plan_init(TaskPlan *context, const PlanInput *input, Plan *plan);
void task_plan_done(TaskPlan *context);

/* The record of a thread's affinity, or NULL. */
const Step *task_record(const TaskPlan *context, const WorldTask *task);
/* That of the nearest task above it that has one. */
const Step *task_ancestor_record(const TaskPlan *context, const WorldTask *task);
/* The CPUs that a thread had before any mode: what was found; for one that came later, what its nearest ancestor
 * with a record gets back, if it still has the CPUs that it inherited from it. */
int task_found(const TaskPlan *context, const WorldTask *task, CpuList *ret);
/* Those of its CPUs that it can run on just now. */
int task_online_part(const TaskPlan *context, const CpuList *cpus, CpuList *ret);
/* 1 where it has not all the CPUs that its cgroup gives it just now. */
int task_is_pinned(TaskPlan *context, const WorldTask *task, const CpuList *cpus);
/* 1 where a process above is pinned: then the record of this one tells it from what came later. */
int task_has_pinned_ancestor(TaskPlan *context, const WorldTask *process);

/* Refuses a real-time thread that the steps planned so far give no CPUs but control CPUs of a set, the first of them
 * among these: what starts there would never run.  Where the mode is mended it is a warning. */
int task_plan_check_control(const PlanInput *input, Plan *plan);

/* Decides on a process that has threads inside a set: *ret_set is the index of the set that it is moved into, or -1
 * where it was refused or is left to the kernel. */
int task_plan_inside(TaskPlan *context, const TaskProcess *process, ssize_t *ret_set);
