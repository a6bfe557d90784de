/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include "audit-facts.h"
#include "world-read.h"

void audit_process_done(ProcessFacts *process) {
        cpulist_done(&process->cpus);
        free(process->timer);
        free(process->node_kib);
}

/* `ClockID: -6`: below 0 are clocks of a process or thread, but for those of a descriptor (the lowest three
 * bits are 3); 2 and 3 are the caller's own.  (proc(5); include/linux/posix-timers.h) */
const char *audit_parse_timers(const char *text) {
        for (const char *p = strstr(text, "ClockID:"); p; p = strstr(p, "ClockID:")) {
                long clock = strtol(p += strlen("ClockID:"), NULL, 10);

                if (clock == 2 || clock == 3 || (clock < 0 && (clock & 3) != 3))
                        return clock == 3 || (clock < 0 && clock & 4) ? "a timer on a thread's CPU time"
                                                                      : "a timer on its CPU time";
        }
        return NULL;
}

static const char *find_limit(const char *limits) {
        const char *line = strstr(limits, "Max cpu time");

        if (!line)
                return NULL;
        line += strlen("Max cpu time");
        line += strspn(line, " ");
        return util_startswith(line, "unlimited") ? NULL : "a limit on its CPU time (RLIMIT_CPU)";
}

/* Adds the pages of one mapping: `… N0=3 N1=1 kernelpagesize_kB=4`. */
static int add_mapping(const char *line, uint64_t **sums, size_t *n) {
        const char *size = strstr(line, "kernelpagesize_kB=");
        uint64_t page = size ? strtoull(size + strlen("kernelpagesize_kB="), NULL, 10) : 4;

        for (const char *p = strstr(line, " N"); p; p = strstr(p + 2, " N")) {
                char *end;
                unsigned long node = strtoul(p + 2, &end, 10);
                uint64_t *grown;

                if (end == p + 2 || *end != '=' || node > 1023)
                        continue;
                if (node >= *n) {
                        grown = reallocarray(*sums, node + 1, sizeof(uint64_t));
                        if (!grown)
                                return -ENOMEM;
                        memset(grown + *n, 0, (node + 1 - *n) * sizeof(uint64_t));
                        *sums = grown;
                        *n = node + 1;
                }
                (*sums)[node] += strtoull(end + 1, NULL, 10) * page;
        }
        return 0;
}

/* What the process alone uses and could take along: not pages of files that others map too. */
static bool mapping_is_own(const char *line) {
        return strstr(line, " anon=") || strstr(line, " huge") || strstr(line, " heap") ||
                strstr(line, " stack");
}

int audit_parse_numa_maps(const char *text, uint64_t **ret, size_t *ret_n) {
        _cleanup_strv_ char **lines = NULL;
        _cleanup_free_ uint64_t *sums = calloc(1, sizeof(uint64_t));
        size_t n = 1;
        int r = sums ? util_strv_split(text, "\n", &lines) : -ENOMEM;

        STRV_FOREACH (line, lines)
                if (r >= 0 && mapping_is_own(*line))
                        r = add_mapping(*line, &sums, &n);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(sums);
        *ret_n = n;
        return 0;
}

static bool is_denied(int error) {
        return error == -EACCES || error == -EPERM;
}

static int read_timers(Kfs *kfs, Audit *audit, int pid, char **ret) {
        _cleanup_free_ char *timers = NULL, *limits = NULL;
        int r = kfs_readf(kfs, &timers, "/proc/%d/timers", pid);

        if (is_denied(r))
                return audit_unseen(audit, "timers on the CPU time of other users' processes");
        if (r >= 0 && audit_parse_timers(timers))
                return util_copy(audit_parse_timers(timers), ret);
        if (r == -ENOMEM)
                return r;
        r = kfs_readf(kfs, &limits, "/proc/%d/limits", pid);
        return r == -ENOMEM ? r : r < 0 ? 0 : util_copy(find_limit(limits), ret);
}

/* The kernel walks through all of a process's pages for this: only where there is another node at all. */
static int read_memory(Kfs *kfs, Audit *audit, int pid, ProcessFacts *process) {
        _cleanup_free_ char *maps = NULL;
        int r;

        if (cpulist_count(&audit->world->topology->nodes) < 2)
                return 0;
        r = kfs_readf(kfs, &maps, "/proc/%d/numa_maps", pid);
        if (is_denied(r))
                return audit_unseen(audit, "on which nodes the memory of other users' processes is");
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return audit_parse_numa_maps(maps, &process->node_kib, &process->n_nodes);
}

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* The task as it is now; -ESRCH where it has gone. */
static int read_stat(Kfs *kfs, const WorldTask *task, WorldTask *ret) {
        _cleanup_free_ char *text = NULL;
        WorldTask now = {};
        int r = kfs_readf(kfs, &text, "/proc/%d/task/%d/stat", task->pid, task->tid);

        r = r < 0 ? r : world_parse_stat(text, &now);
        if (r == -ENOMEM)
                return r;
        free(now.comm);
        now.comm = NULL;
        if (r < 0 || now.start != task->start)
                return -ESRCH;
        *ret = now;
        return 0;
}

/* The world's own reading of it may be long ago. */
static int add_look(Kfs *kfs, Audit *audit, AuditFacts *facts, size_t index) {
        WorldTask now = {};
        TaskLook look = { .task = index, .first_at = now_usec(), .share = -1 };
        int r = read_stat(kfs, &audit->world->tasks[index], &now);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        look.first_ns = now.runtime_ns;
        look.first_state = look.state = now.state;
        look.last_cpu = now.last_cpu;
        r = GROW(facts->looks, facts->n_looks);
        if (r == 0)
                facts->looks[facts->n_looks++] = look;
        return r;
}

/* The process of a thread: threads of one come together. */
static int find_process(Kfs *kfs, Audit *audit, AuditFacts *facts, size_t leader, ProcessFacts **ret) {
        ProcessFacts *process = facts->n_processes > 0 ? &facts->processes[facts->n_processes - 1] : NULL;
        int pid = audit->world->tasks[leader].pid, r;

        if (!process || audit->world->tasks[process->leader].pid != pid) {
                r = GROW(facts->processes, facts->n_processes);
                if (r < 0)
                        return r;
                process = &facts->processes[facts->n_processes++];
                process->leader = leader;
                r = read_timers(kfs, audit, pid, &process->timer);
                r = r ?: read_memory(kfs, audit, pid, process);
                if (r < 0)
                        return r;
        }
        *ret = process;
        return 0;
}

int audit_read_processes(Kfs *kfs, Audit *audit, AuditFacts *facts) {
        for (size_t i = 0; i < audit->world->n_tasks; i++) {
                const WorldTask *task = &audit->world->tasks[i];
                ProcessFacts *process = NULL;
                _cleanup_cpulist_ CpuList here = {};
                int r;

                if (task->kernel || task->state == 'Z' || task->state == 'X' ||
                        !cpulist_intersects(&task->live, &audit->isolated))
                        continue;
                r = find_process(kfs, audit, facts, i, &process);
                r = r ?: cpulist_copy(&task->live, &here);
                if (r < 0)
                        return r;
                cpulist_intersect(&here, &audit->isolated);
                r = cpulist_union(&process->cpus, &here);
                r = r ?: add_look(kfs, audit, facts, i);
                if (r < 0)
                        return r;
        }
        return 0;
}

int audit_read_tasks_again(Kfs *kfs, const Audit *audit, AuditFacts *facts) {
        for (size_t i = 0; i < facts->n_looks; i++) {
                TaskLook *look = &facts->looks[i];
                uint64_t elapsed = (now_usec() - look->first_at) * 1000;
                WorldTask now = { .state = 'X', .last_cpu = -1 };
                int r = read_stat(kfs, &audit->world->tasks[look->task], &now);

                if (r == -ENOMEM)
                        return r;
                look->state = now.state;
                look->last_cpu = now.last_cpu;
                if (r == 0 && elapsed > 0 && now.runtime_ns >= look->first_ns)
                        look->share = (double) (now.runtime_ns - look->first_ns) / (double) elapsed;
        }
        return 0;
}

/* How many descriptors of a process are performance counters. */
static int count_events(Kfs *kfs, int pid, size_t *ret) {
        _cleanup_free_ char *path = NULL;
        struct dirent *entry;
        size_t n = 0;
        DIR *folder;
        int fd, r;

        r = util_asprintf(&path, "/proc/%d/fd", pid);
        if (r < 0)
                return r;
        fd = kfs_open(kfs, path);
        if (fd < 0)
                return fd;
        folder = fdopendir(fd);
        if (!folder) {
                (void) close(fd);
                return -ENOMEM;
        }
        while ((entry = readdir(folder))) {
                char target[64];
                ssize_t length = readlinkat(fd, entry->d_name, target, sizeof(target) - 1);

                if (length <= 0)
                        continue;
                target[length] = '\0';
                n += streq(target, "anon_inode:[perf_event]");
        }
        (void) closedir(folder);
        *ret = n;
        return 0;
}

/* A session for the whole machine has a counter on each CPU; one for a task, or a probe, has not. */
int audit_read_sessions(Kfs *kfs, Audit *audit, AuditFacts *facts) {
        size_t least = cpulist_count(&audit->world->topology->online);

        for (size_t i = 0; i < audit->world->n_tasks; i++) {
                const WorldTask *task = &audit->world->tasks[i];
                size_t n = 0;
                int r;

                if (task->kernel || task->tid != task->pid)
                        continue;
                r = count_events(kfs, task->pid, &n);
                if (r == -ENOMEM)
                        return r;
                if (is_denied(r))
                        r = audit_unseen(audit, "performance counters that other users' processes hold");
                if (r < 0 || n < least)
                        continue;
                r = GROW(facts->sessions, facts->n_sessions);
                if (r < 0)
                        return r;
                facts->sessions[facts->n_sessions++] = (PerfSession){ .leader = i, .n_events = n };
        }
        return 0;
}
