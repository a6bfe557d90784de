/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>

#include "kfs-provider.h"
#include "task-provider.h"

/* Tasks of a root that is only files: what a write would have changed in the kernel is changed in the files
 * that tell of it. */

#define PF_NO_SETAFFINITY 0x04000000u
#define ALLOWED "Cpus_allowed_list:"

static int push_existing(Kfs *kfs, char ***paths, int pid, int tid, const char *name) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r;

        if (pid > 0)
                r = util_asprintf(&path, "/proc/%d/task/%d/%s", pid, tid, name);
        else
                r = util_asprintf(&path, "/proc/%d/%s", tid, name);
        if (r < 0)
                return r;
        return kfs_peek(kfs, path, &text) < 0 ? 0 : util_strv_push(paths, path);
}

/* The files of one name that tell of a task: of the process it leads, and of it as a thread.  -ESRCH. */
static int find_files(Kfs *kfs, int tid, const char *name, char ***ret) {
        _cleanup_strv_ char **paths = NULL, **processes = NULL;
        int r = push_existing(kfs, &paths, 0, tid, name);

        r = r ?: push_existing(kfs, &paths, tid, tid, name);
        if (r >= 0 && !paths)
                r = kfs_list(kfs, "/proc", &processes);
        STRV_FOREACH (p, processes) {
                unsigned pid;

                if (r >= 0 && !paths && util_parse_unsigned(*p, &pid) >= 0)
                        r = push_existing(kfs, &paths, (int) pid, tid, name);
        }
        if (r < 0)
                return r;
        if (!paths)
                return -ESRCH;
        *ret = TAKE_PTR(paths);
        return 0;
}

static int files_get(Kfs *kfs, int tid, const char *name, char **ret) {
        _cleanup_strv_ char **paths = NULL;
        int r = find_files(kfs, tid, name, &paths);

        return r < 0 ? r : kfs_peek(kfs, paths[0], ret);
}

static int files_get_stat(Kfs *kfs, int tid, char **ret) {
        return files_get(kfs, tid, "stat", ret);
}

/* The rest of the line that starts so; NULL where there is none. */
static const char *find_line(const char *text, const char *start) {
        for (const char *line = text; line && *line;
                line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                const char *rest = util_startswith(line, start);

                if (rest)
                        return rest;
        }
        return NULL;
}

/* The process that a thread is of: /proc/PID/cgroup is where its cgroup is read. */
static int find_process(Kfs *kfs, int tid, int *ret) {
        _cleanup_strv_ char **paths = NULL;
        int r = find_files(kfs, tid, "stat", &paths);

        if (r < 0)
                return r;
        return sscanf(paths[0], "/proc/%d/", ret) == 1 ? 0 : -ESRCH;
}

static int files_get_cgroup(Kfs *kfs, int tid, char **ret) {
        int pid, r = find_process(kfs, tid, &pid);

        return r < 0 ? r : files_get(kfs, pid, "cgroup", ret);
}

/* Affinity */

static int files_get_affinity(Kfs *kfs, int tid, CpuList *ret) {
        _cleanup_free_ char *status = NULL, *list = NULL;
        const char *allowed;
        int r = files_get(kfs, tid, "status", &status);

        if (r < 0)
                return r;
        allowed = find_line(status, ALLOWED);
        if (!allowed)
                return -ENODATA;
        list = strndup(allowed, strcspn(allowed, "\n"));
        if (!list)
                return -ENOMEM;
        return cpulist_parse(list, ret, NULL);
}

static int put_allowed(Kfs *kfs, const char *path, const char *list) {
        _cleanup_free_ char *old = NULL, *text = NULL;
        const char *allowed;
        int r = kfs_peek(kfs, path, &old);

        if (r < 0)
                return r;
        allowed = find_line(old, ALLOWED);
        if (!allowed)
                return -ENODATA;
        r = util_asprintf(
                &text, "%.*s\t%s%s", (int) (allowed - old), old, list, allowed + strcspn(allowed, "\n"));
        return r ?: kfs_replace(kfs, path, text);
}

static bool has_cpuset(Kfs *kfs, int tid) {
        _cleanup_free_ char *text = NULL, *file = NULL;
        const char *path = files_get_cgroup(kfs, tid, &text) >= 0 ? find_line(text, "0::/") : NULL;

        if (!path || *path == '\n')
                return false;
        return util_asprintf(&file, "/sys/fs/cgroup/%.*s/cpuset.cpus", (int) strcspn(path, "\n"), path) >=
                0 &&
                kfs_exists(kfs, file);
}

/* As the kernel: a mask has to have a CPU that is online, and below the root's cpuset it keeps only such. */
static int keep_allowed(Kfs *kfs, int tid, CpuList *cpus) {
        _cleanup_cpulist_ CpuList online = {};
        _cleanup_free_ char *text = NULL;

        if (kfs_peek(kfs, "/sys/devices/system/cpu/online", &text) < 0 ||
                cpulist_parse(text, &online, NULL) < 0)
                return 0;
        if (!cpulist_intersects(cpus, &online))
                return -EINVAL;
        if (has_cpuset(kfs, tid))
                cpulist_intersect(cpus, &online);
        return 0;
}

static int files_set_affinity(Kfs *kfs, int tid, const CpuList *cpus) {
        _cleanup_free_ char *list = NULL, *stat = NULL;
        _cleanup_cpulist_ CpuList taken = {};
        _cleanup_strv_ char **paths = NULL;
        const char *flags;
        int r = files_get_stat(kfs, tid, &stat);

        if (r < 0)
                return r;
        flags = task_stat_field(stat, 9);
        if (flags && strtoul(flags, NULL, 10) & PF_NO_SETAFFINITY)
                return -EINVAL;
        r = cpulist_copy(cpus, &taken);
        r = r ?: keep_allowed(kfs, tid, &taken);
        r = r ?: cpulist_format(&taken, &list);
        r = r ?: find_files(kfs, tid, "status", &paths);
        STRV_FOREACH (path, paths)
                r = r ?: put_allowed(kfs, *path, list);
        return r;
}

/* Policy */

static int stat_number(const char *stat, unsigned n) {
        const char *field = task_stat_field(stat, n);

        return field ? (int) strtol(field, NULL, 10) : 0;
}

static int files_get_policy(Kfs *kfs, int tid, TaskPolicy *ret) {
        _cleanup_free_ char *stat = NULL;
        int r = files_get_stat(kfs, tid, &stat);

        if (r < 0)
                return r;
        if (!task_stat_field(stat, 41))
                return -ENODATA;
        *ret = (TaskPolicy){ .policy = stat_number(stat, 41), .priority = stat_number(stat, 40) };
        return 0;
}

/* Puts a number in the place of field n of a stat line. */
static int put_field(char **stat, unsigned n, int number) {
        const char *field = task_stat_field(*stat, n);
        char *text;
        int r;

        if (!field)
                return -ENODATA;
        r = util_asprintf(
                &text, "%.*s%d%s", (int) (field - *stat), *stat, number, field + strcspn(field, " \n"));
        if (r < 0)
                return r;
        free(*stat);
        *stat = text;
        return 0;
}

static int put_policy(Kfs *kfs, const char *path, const TaskPolicy *policy) {
        _cleanup_free_ char *stat = NULL;
        int r = kfs_peek(kfs, path, &stat);

        if (r < 0)
                return r;
        r = put_field(&stat, 18, policy->priority > 0 ? -1 - policy->priority : 20 + stat_number(stat, 19));
        r = r ?: put_field(&stat, 40, policy->priority);
        r = r ?: put_field(&stat, 41, policy->policy);
        return r ?: kfs_replace(kfs, path, stat);
}

static int files_set_policy(Kfs *kfs, int tid, const TaskPolicy *policy) {
        bool real_time = policy->policy == SCHED_FIFO || policy->policy == SCHED_RR;
        _cleanup_strv_ char **paths = NULL;
        int r;

        if (policy->runtime > 0 || policy->reset)
                return -EOPNOTSUPP;
        if (real_time != (policy->priority > 0))
                return -EINVAL;
        r = find_files(kfs, tid, "stat", &paths);
        STRV_FOREACH (path, paths)
                r = r ?: put_policy(kfs, *path, policy);
        return r;
}

/* Cgroup */

static int compare_numbers(const void *a, const void *b) {
        return strverscmp(*(char *const *) a, *(char *const *) b);
}

/* Adds a process to a cgroup's list, or takes it out; a list that is not there stays so. */
static int put_member(Kfs *kfs, const char *cgroup, int pid, bool member) {
        _cleanup_free_ char *path = NULL, *number = NULL, *old = NULL, *joined = NULL, *text = NULL;
        _cleanup_strv_ char **pids = NULL, **kept = NULL;
        int r = util_asprintf(&path, "/sys/fs/cgroup%s/cgroup.procs", streq(cgroup, "/") ? "" : cgroup);

        r = r ?: util_asprintf(&number, "%d", pid);
        if (r < 0)
                return r;
        r = kfs_peek(kfs, path, &old);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = util_strv_split(old, " \n", &pids);
        STRV_FOREACH (p, pids)
                if (r >= 0 && !streq(*p, number))
                        r = util_strv_push(&kept, *p);
        if (r >= 0 && member)
                r = util_strv_push(&kept, number);
        if (r < 0)
                return r;
        if (kept)
                qsort(kept, util_strv_length(kept), sizeof(char *), compare_numbers);
        r = util_strv_join(kept, "\n", &joined);
        r = r ?: util_asprintf(&text, "%s%s", joined, kept ? "\n" : "");
        return r ?: kfs_replace(kfs, path, text);
}

static int put_cgroup(Kfs *kfs, const char *path, const char *cgroup, char **ret_left) {
        _cleanup_free_ char *old = NULL, *text = NULL, *left = NULL;
        const char *now;
        int r = kfs_peek(kfs, path, &old);

        if (r < 0)
                return r;
        now = find_line(old, "0::");
        if (!now)
                return -ENODATA;
        left = strndup(now, strcspn(now, "\n"));
        if (!left)
                return -ENOMEM;
        r = util_asprintf(&text, "%.*s%s%s", (int) (now - old), old, cgroup, now + strcspn(now, "\n"));
        r = r ?: kfs_replace(kfs, path, text);
        if (r >= 0) {
                free(*ret_left);
                *ret_left = TAKE_PTR(left);
        }
        return r;
}

static int files_set_cgroup(Kfs *kfs, int tid, const char *cgroup) {
        _cleanup_free_ char *folder = NULL, *left = NULL;
        _cleanup_strv_ char **paths = NULL;
        int pid, r = find_process(kfs, tid, &pid);

        r = r ?: util_asprintf(&folder, "/sys/fs/cgroup%s", cgroup);
        if (r < 0)
                return r;
        if (!kfs_exists(kfs, folder))
                return -ENOENT;
        r = find_files(kfs, pid, "cgroup", &paths);
        STRV_FOREACH (path, paths)
                r = r ?: put_cgroup(kfs, *path, cgroup, &left);
        r = r ?: put_member(kfs, left, pid, false);
        return r ?: put_member(kfs, cgroup, pid, true);
}

const TaskWays task_ways_files = {
        .get_affinity = files_get_affinity,
        .set_affinity = files_set_affinity,
        .get_policy = files_get_policy,
        .set_policy = files_set_policy,
        .get_stat = files_get_stat,
        .get_cgroup = files_get_cgroup,
        .set_cgroup = files_set_cgroup,
};
