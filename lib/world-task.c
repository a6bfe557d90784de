/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world-read.h"

/* include/linux/sched.h; field 9 of /proc/TID/stat shows them. */
#define TASK_KTHREAD 0x00200000u
#define TASK_NO_SETAFFINITY 0x04000000u

/* Fields of /proc/TID/stat behind comm: proc(5) counts from 1, and the state is its third. */
enum {
        STAT_STATE,
        STAT_PPID = 4 - 3,
        STAT_FLAGS = 9 - 3,
        STAT_UTIME = 14 - 3,
        STAT_STIME = 15 - 3,
        STAT_START = 22 - 3,
        STAT_CPU = 39 - 3,
        STAT_RT_PRIORITY = 40 - 3,
        STAT_POLICY = 41 - 3,
        _STAT_MAX,
};

static int stat_numbers(const char *text, int64_t *fields) {
        char *end;

        for (size_t i = STAT_STATE + 1; i < _STAT_MAX; i++) {
                /* Some are unsigned and above what a signed number holds; none of those that are used. */
                fields[i] = (int64_t) strtoull(text, &end, 10);
                if (end == text)
                        return -EBADMSG;
                text = end;
        }
        return 0;
}

static uint64_t ticks_to_ns(int64_t ticks) {
        static long per_second;

        if (per_second <= 0)
                per_second = sysconf(_SC_CLK_TCK);
        return (uint64_t) ticks * (1000000000u / (uint64_t) (per_second > 0 ? per_second : 100));
}

int world_parse_stat(const char *text, WorldTask *ret) {
        const char *open = strchr(text, '('), *close = strrchr(text, ')');
        int64_t fields[_STAT_MAX] = {};
        WorldTask task = {};
        int r;

        if (!open || !close || close < open || close[1] != ' ' || !close[2])
                return -EBADMSG;
        r = stat_numbers(close + 3, fields);
        if (r < 0)
                return r;
        task.tid = (int) strtol(text, NULL, 10);
        task.state = close[2];
        task.ppid = (int) fields[STAT_PPID];
        task.kernel = fields[STAT_FLAGS] & TASK_KTHREAD;
        task.fixed = fields[STAT_FLAGS] & TASK_NO_SETAFFINITY;
        task.runtime_ns = ticks_to_ns(fields[STAT_UTIME] + fields[STAT_STIME]);
        task.start = (uint64_t) fields[STAT_START];
        task.last_cpu = (int) fields[STAT_CPU];
        task.priority = (int) fields[STAT_RT_PRIORITY];
        task.policy = (int) fields[STAT_POLICY];
        task.comm = strndup(open + 1, (size_t) (close - open - 1));
        if (!task.comm)
                return -ENOMEM;
        *ret = task;
        return 0;
}

/* The text behind the first line that starts so, up to its end. */
static int line_value(const char *text, const char *start, char **ret) {
        for (const char *line = text; line && *line;) {
                const char *value = util_startswith(line, start), *end = strchr(line, '\n');

                if (value) {
                        *ret = strndup(value, strcspn(value, "\n"));
                        return *ret ? 0 : -ENOMEM;
                }
                line = end ? end + 1 : NULL;
        }
        return -ENODATA;
}

int world_parse_allowed(const char *status, CpuList *ret) {
        _cleanup_free_ char *list = NULL;
        int r = line_value(status, "Cpus_allowed_list:", &list);

        return r < 0 ? r : cpulist_parse(list, ret, NULL);
}

int world_parse_cgroup(const char *text, char **ret) {
        _cleanup_free_ char *path = NULL;
        int r = line_value(text, "0::", &path);

        if (r < 0 && r != -ENODATA)
                return r;
        /* What is no path is nobody's: it would name something beside the hierarchy. */
        return util_asprintf(ret, "%s", path && *path == '/' ? path : "");
}

/* Gone, or somebody else's: not in the picture. */
static int ignore_gone(int error) {
        return error == -ENOMEM ? error : 0;
}

static int read_affinity(World *world, WorldTask *task) {
        _cleanup_free_ char *status = NULL;
        int r = kfs_readf(world->kfs, &status, "/proc/%d/task/%d/status", task->pid, task->tid);

        if (r >= 0)
                r = world_parse_allowed(status, &task->live);
        if (r < 0)
                return ignore_gone(r);
        return cpulist_copy(&task->live, &task->found);
}

/* Takes the task. */
static int add_task(World *world, WorldTask *task, int pid, const char *cgroup) {
        WorldTask *added;

        task->pid = pid;
        task->cgroup = strdup(cgroup);
        if (!task->cgroup || GROW(world->tasks, world->n_tasks) < 0) {
                free(task->comm);
                free(task->cgroup);
                return -ENOMEM;
        }
        added = &world->tasks[world->n_tasks++];
        *added = *task;
        return read_affinity(world, added);
}

/* -ENODATA where it has gone. */
static int read_thread(World *world, unsigned pid, const char *tid, WorldTask *ret) {
        _cleanup_free_ char *stat = NULL;
        int r = kfs_readf(world->kfs, &stat, "/proc/%u/task/%s/stat", pid, tid);

        r = r < 0 ? r : world_parse_stat(stat, ret);
        return r < 0 && r != -ENOMEM ? -ENODATA : r;
}

/* Takes the leader, which was read already. */
static int add_threads(World *world, unsigned pid, WorldTask *leader, const char *cgroup) {
        _cleanup_strv_ char **threads = NULL;
        _cleanup_free_ char *directory = NULL;
        int r = util_asprintf(&directory, "/proc/%u/task", pid);

        r = r ?: kfs_list(world->kfs, directory, &threads);
        if (r < 0)
                return ignore_gone(r);
        STRV_FOREACH (tid, threads) {
                WorldTask task = {};

                if (leader->comm && strtol(*tid, NULL, 10) == leader->tid) {
                        task = *leader;
                        leader->comm = NULL;
                } else
                        r = read_thread(world, pid, *tid, &task);
                r = r < 0 ? ignore_gone(r) : add_task(world, &task, (int) pid, cgroup);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A kernel thread is a process of one thread, which saves a look at what others it has.  The cgroup is read once a
 * process: threads of one process are apart in threaded groups only. */
static int add_process(World *world, const char *name) {
        _cleanup_free_ char *text = NULL, *cgroup = NULL;
        WorldTask leader = {};
        unsigned pid;
        int r;

        if (util_parse_unsigned(name, &pid) < 0)
                return 0;
        r = kfs_readf(world->kfs, &text, "/proc/%u/cgroup", pid);
        if (ignore_gone(r) < 0)
                return r;
        r = world_parse_cgroup(text ?: "", &cgroup);
        r = r ?: read_thread(world, pid, name, &leader);
        if (r >= 0 && leader.kernel)
                return add_task(world, &leader, (int) pid, cgroup);
        r = ignore_gone(r) < 0 ? r : add_threads(world, pid, &leader, cgroup);
        free(leader.comm);
        return r;
}

int world_read_tasks(World *world) {
        _cleanup_strv_ char **names = NULL;
        int r;

        if (world->n_tasks > 0)
                return 0;
        r = kfs_list(world->kfs, "/proc", &names);
        if (r < 0)
                return ignore_gone(r);
        STRV_FOREACH (name, names) {
                r = add_process(world, *name);
                if (r < 0)
                        return r;
        }
        return 0;
}

int world_read_process(World *world, int pid) {
        _cleanup_free_ char *name = NULL;
        int r = util_asprintf(&name, "%d", pid);

        return r < 0 ? r : add_process(world, name);
}
