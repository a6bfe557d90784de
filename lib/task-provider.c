/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "task-provider.h"

#include <inttypes.h>
#include <sched.h>

#include "providers.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif
#ifndef SCHED_EXT
#define SCHED_EXT 7
#endif

/* Policies as texts */

static const struct {
        int policy;
        const char *word;
} policies[] = {
        { SCHED_OTHER, "other" },
        { SCHED_FIFO, "fifo" },
        { SCHED_RR, "rr" },
        { SCHED_BATCH, "batch" },
        { SCHED_IDLE, "idle" },
        { SCHED_DEADLINE, "deadline" },
        { SCHED_EXT, "ext" },
};

int task_policy_format(const TaskPolicy *policy, char **ret) {
        const char *reset = policy->reset ? " reset" : "";

        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                if (policies[i].policy != policy->policy)
                        continue;
                if (policy->policy == SCHED_DEADLINE)
                        return util_asprintf(ret, "deadline %" PRIu64 " %" PRIu64 " %" PRIu64 "%s",
                                policy->runtime, policy->deadline, policy->period, reset);
                return util_asprintf(ret, "%s %d%s", policies[i].word, policy->priority, reset);
        }
        return -EOPNOTSUPP;
}

/* The numbers behind the policy's word, and `reset` behind them. */
static int parse_numbers(char *const *words, uint64_t *numbers, size_t n, bool *ret_reset) {
        size_t length = util_strv_length(words);

        *ret_reset = length == n + 1 && streq(words[n], "reset");
        if (length != n + *ret_reset)
                return -EINVAL;
        for (size_t i = 0; i < n; i++)
                if (util_parse_u64(words[i], &numbers[i]) < 0)
                        return -EINVAL;
        return 0;
}

int task_policy_parse(const char *text, TaskPolicy *ret) {
        _cleanup_strv_ char **words = NULL;
        TaskPolicy policy = { .policy = -1 };
        uint64_t numbers[3] = {};
        int r = util_strv_split(text, " \t\n", &words);

        if (r < 0)
                return r;
        for (size_t i = 0; words[0] && i < ARRAY_SIZE(policies); i++)
                if (streq(policies[i].word, words[0]))
                        policy.policy = policies[i].policy;
        if (policy.policy < 0)
                return -EINVAL;
        r = parse_numbers(words + 1, numbers, policy.policy == SCHED_DEADLINE ? 3 : 1, &policy.reset);
        if (r < 0)
                return r;
        if (policy.policy == SCHED_DEADLINE) {
                policy.runtime = numbers[0];
                policy.deadline = numbers[1];
                policy.period = numbers[2];
        } else if (numbers[0] > 99)
                return -EINVAL;
        else
                policy.priority = (int) numbers[0];
        *ret = policy;
        return 0;
}

const char *task_stat_field(const char *stat, unsigned n) {
        /* The second field is in brackets and may hold anything, brackets and blanks included. */
        const char *field = strrchr(stat, ')');

        for (unsigned i = 2; field && i < n; i++) {
                field = strchr(field, ' ');
                field = field ? field + 1 : NULL;
        }
        return field;
}

/* Objects */

typedef struct TaskObject {
        int tid;
        uint64_t start;
        const char *what;
} TaskObject;

static int object_parse(const char *object, TaskObject *ret) {
        TaskObject task;
        int end = 0;

        if (sscanf(object, "task/%d/%" SCNu64 "/%n", &task.tid, &task.start, &end) != 2 || end == 0 ||
                task.tid <= 0)
                return -EINVAL;
        task.what = object + end;
        *ret = task;
        return 0;
}

static const TaskWays *ways(Kfs *kfs) {
        return kfs_is_live(kfs) ? &task_ways_live : &task_ways_files;
}

/* A number may be given to another task at any time.  Whoever has it and the start behind an access had them before it,
 * too; a write is too late then, and asks before it as well. */
static int check_start(Kfs *kfs, const TaskObject *task) {
        _cleanup_free_ char *stat = NULL;
        const char *field;
        int r = ways(kfs)->get_stat(kfs, task->tid, &stat);

        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        field = task_stat_field(stat, 22);
        return field && strtoull(field, NULL, 10) == task->start ? 0 : -ESRCH;
}

static int get_affinity(Kfs *kfs, int tid, char **ret) {
        _cleanup_cpulist_ CpuList cpus = {};
        int r = ways(kfs)->get_affinity(kfs, tid, &cpus);

        return r < 0 ? r : cpulist_format(&cpus, ret);
}

static int get_policy(Kfs *kfs, int tid, char **ret) {
        TaskPolicy policy = {};
        int r = ways(kfs)->get_policy(kfs, tid, &policy);

        return r < 0 ? r : task_policy_format(&policy, ret);
}

/* `0::/system.slice/x.service`, the only line where there is no cgroup v1. */
static int get_cgroup(Kfs *kfs, int tid, char **ret) {
        _cleanup_free_ char *text = NULL;
        int r = ways(kfs)->get_cgroup(kfs, tid, &text);

        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                const char *path = util_startswith(line, "0::");

                if (path)
                        return util_asprintf(ret, "%.*s", (int) strcspn(path, "\n"), path);
        }
        return -ENODATA;
}

static int task_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        _cleanup_free_ char *text = NULL;
        TaskObject task;
        int r = object_parse(object, &task), error;

        if (r < 0)
                return r;
        if (streq(task.what, "affinity"))
                r = get_affinity(kfs, task.tid, &text);
        else if (streq(task.what, "policy"))
                r = get_policy(kfs, task.tid, &text);
        else if (streq(task.what, "cgroup"))
                r = get_cgroup(kfs, task.tid, &text);
        else
                return -EINVAL;
        error = check_start(kfs, &task);
        if (error < 0 || r < 0)
                return error < 0 ? error : r;
        *ret = TAKE_PTR(text);
        return 0;
}

static int set_affinity(Kfs *kfs, int tid, const char *value) {
        _cleanup_cpulist_ CpuList cpus = {};
        int r = cpulist_parse(value, &cpus, NULL);

        if (r < 0)
                return r;
        return cpulist_is_empty(&cpus) ? -EINVAL : ways(kfs)->set_affinity(kfs, tid, &cpus);
}

static int set_policy(Kfs *kfs, int tid, const char *value) {
        TaskPolicy policy;
        int r = task_policy_parse(value, &policy);

        return r < 0 ? r : ways(kfs)->set_policy(kfs, tid, &policy);
}

static int task_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        TaskObject task;
        int r = object_parse(object, &task);

        r = r ?: check_start(kfs, &task);
        if (r < 0)
                return r;
        if (streq(task.what, "affinity"))
                r = set_affinity(kfs, task.tid, value);
        else if (streq(task.what, "policy"))
                r = set_policy(kfs, task.tid, value);
        else if (streq(task.what, "cgroup"))
                r = value[0] == '/' ? ways(kfs)->set_cgroup(kfs, task.tid, value) : -EINVAL;
        else
                r = -EINVAL;
        return r ?: check_start(kfs, &task);
}

int task_provide(Kfs *kfs) {
        static const KfsProvider provider = { .scheme = "task", .read = task_read, .write = task_write };

        return kfs_provide(kfs, &provider, NULL);
}
