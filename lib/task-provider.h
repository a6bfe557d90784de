/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"
#include "kfs.h"

/* How a task is scheduled, and as what text it is written. */
typedef struct TaskPolicy {
        int policy; /* SCHED_FIFO, … */
        int priority;
        bool reset;                         /* SCHED_RESET_ON_FORK */
        uint64_t runtime, deadline, period; /* ns; SCHED_DEADLINE only */
} TaskPolicy;

int task_policy_format(const TaskPolicy *policy, char **ret);
/* -EINVAL. */
int task_policy_parse(const char *text, TaskPolicy *ret);

/* Field n (3 and above, as proc(5) counts) of a /proc/PID/stat line; NULL where there is none. */
const char *task_stat_field(const char *stat, unsigned n);

/* The two ways to do it: on the live machine, and in the files of a root. */
typedef struct TaskWays {
        int (*get_affinity)(Kfs *kfs, int tid, CpuList *ret);
        int (*set_affinity)(Kfs *kfs, int tid, const CpuList *cpus);
        int (*get_policy)(Kfs *kfs, int tid, TaskPolicy *ret);
        int (*set_policy)(Kfs *kfs, int tid, const TaskPolicy *policy);
        int (*get_stat)(Kfs *kfs, int tid, char **ret);
        int (*get_cgroup)(Kfs *kfs, int tid, char **ret); /* the text of /proc/PID/cgroup */
        int (*set_cgroup)(Kfs *kfs, int tid, const char *path);
} TaskWays;

extern const TaskWays task_ways_live, task_ways_files;
