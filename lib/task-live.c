/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>

#include "kfs-provider.h"
#include "task-provider.h"
#include "world-read.h"

#define BITS (CHAR_BIT * sizeof(unsigned long))

static int live_peek(Kfs *kfs, int tid, const char *name, char **ret) {
        _cleanup_free_ char *path = NULL;
        int r = util_asprintf(&path, "/proc/%d/%s", tid, name);

        return r < 0 ? r : kfs_peek(kfs, path, ret);
}

/* Not sched_getaffinity(2), which leaves out the CPUs that are away: what is put back later has to have them. */
static int live_get_affinity(Kfs *kfs, int tid, CpuList *ret) {
        _cleanup_free_ char *status = NULL;
        int r = live_peek(kfs, tid, "status", &status);

        return r < 0 ? r : world_parse_allowed(status, ret);
}

static int live_set_affinity(Kfs *kfs, int tid, const CpuList *cpus) {
        size_t words = (size_t) cpulist_last(cpus) / BITS + 1;
        _cleanup_free_ unsigned long *mask = calloc(words, sizeof(unsigned long));

        if (!mask)
                return -ENOMEM;
        CPULIST_FOREACH (cpu, cpus)
                mask[cpu / BITS] |= 1ul << cpu % BITS;
        return syscall(SYS_sched_setaffinity, tid, words * sizeof(unsigned long), mask) < 0 ? -errno : 0;
}

/* As sched_setattr(2) has it; the C library has no declaration of it yet. */
typedef struct SchedAttr {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
} SchedAttr;

#define ATTR_RESET_ON_FORK 1

static int live_get_policy(Kfs *kfs, int tid, TaskPolicy *ret) {
        SchedAttr attr = {};

        if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0)
                return -errno;
        *ret = (TaskPolicy){ .policy = (int) attr.policy,
                .priority = (int) attr.priority,
                .reset = attr.flags & ATTR_RESET_ON_FORK,
                .runtime = attr.runtime,
                .deadline = attr.deadline,
                .period = attr.period };
        return 0;
}

/* Not sched_setattr(2), except for deadlines: it would set the nice value too, which a task keeps while it is
 * FIFO and which cannot be read then. */
static int live_set_policy(Kfs *kfs, int tid, const TaskPolicy *policy) {
        struct sched_param param = { .sched_priority = policy->priority };
        SchedAttr attr = { .size = sizeof(attr),
                .policy = (uint32_t) policy->policy,
                .flags = policy->reset ? ATTR_RESET_ON_FORK : 0,
                .runtime = policy->runtime,
                .deadline = policy->deadline,
                .period = policy->period };
        long r;

        if (policy->runtime > 0)
                r = syscall(SYS_sched_setattr, tid, &attr, 0);
        else
                r = syscall(SYS_sched_setscheduler, tid,
                        policy->policy | (policy->reset ? SCHED_RESET_ON_FORK : 0), &param);
        return r < 0 ? -errno : 0;
}

static int live_get_stat(Kfs *kfs, int tid, char **ret) {
        return live_peek(kfs, tid, "stat", ret);
}

static int live_get_cgroup(Kfs *kfs, int tid, char **ret) {
        return live_peek(kfs, tid, "cgroup", ret);
}

static int live_set_cgroup(Kfs *kfs, int tid, const char *path) {
        _cleanup_free_ char *file = NULL, *number = NULL;
        int r = util_asprintf(&file, "/sys/fs/cgroup%s/cgroup.procs", path);

        r = r ?: util_asprintf(&number, "%d", tid);
        return r ?: kfs_poke(kfs, file, number);
}

const TaskWays task_ways_live = {
        .get_affinity = live_get_affinity,
        .set_affinity = live_set_affinity,
        .get_policy = live_get_policy,
        .set_policy = live_set_policy,
        .get_stat = live_get_stat,
        .get_cgroup = live_get_cgroup,
        .set_cgroup = live_set_cgroup,
};
