/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>

#include "audit-findings.h"

/* A task that takes more than this of its CPU between two looks spins: what throttles it may have done so in
 * between, for 50 ms at a time. */
#define SPIN_SHARE 0.65
/* Memory of a process on another node that is worth a word, in KiB: below are stacks and tables that come with
 * starting. */
#define REMOTE_KIB 1024

/* May it run on an isolated CPU that it has no right to? */
static bool is_stray(const Audit *audit, const WorldTask *task) {
        /* What is dead runs nowhere. */
        if (task->state == 'Z' || task->state == 'X' || !cpulist_intersects(&task->live, &audit->isolated))
                return false;
        CPULIST_FOREACH (cpu, &audit->isolated)
                if (cpulist_has(&task->live, (unsigned) cpu) &&
                        !audit_task_is_expected(audit, task, (unsigned) cpu))
                        return true;
        return false;
}

/* Has the set's partition, or what keeps kernel threads and interrupts off, gone?  Then that is mended. */
static bool sets_are_broken(const Audit *audit) {
        for (size_t i = 0; i < audit->n_sets; i++)
                if (audit->sets[i].partition_reason && *audit->sets[i].partition_reason)
                        return true;
        return false;
}

static int kthread_fix(const Audit *audit, const WorldTask *task, char **ret, bool *ret_command) {
        _cleanup_free_ char *housekeeping = NULL, *mask = NULL;
        unsigned irq;
        int r = cpulist_format(&audit->housekeeping, &housekeeping);

        r = r
                ?: cpulist_format_mask(
                           &audit->housekeeping, (unsigned) cpulist_last(&audit->housekeeping) + 1, &mask);
        if (r < 0)
                return r;
        *ret_command = true;
        if (util_startswith(task->comm, "kworker/u"))
                return util_asprintf(ret, "echo %s > /sys/devices/virtual/workqueue/cpumask", mask);
        if (task->fixed && sscanf(task->comm, "irq/%u-", &irq) == 1)
                return util_asprintf(ret, "echo %s > /proc/irq/%u/smp_affinity_list", housekeeping, irq);
        if (!task->fixed)
                return util_asprintf(ret, "taskset -pc %s %d", housekeeping, task->tid);
        *ret_command = false;
        return util_copy("the kernel lets nobody move it", ret);
}

static int find_kthread(Audit *audit, const WorldTask *task, FindingText *text) {
        _cleanup_free_ char *fix = NULL;
        int r = kthread_fix(audit, task, &fix, &text->is_command);

        text->code = "kthread-on-set";
        text->severity = "warning";
        text->why = "the kernel may run this thread on an isolated CPU at any time";
        text->fix = fix;
        return r ?: audit_add_finding(audit, text);
}

static int find_user_task(Audit *audit, const WorldTask *task, FindingText *text) {
        _cleanup_free_ char *fix = NULL, *housekeeping = NULL, *why = NULL;
        int r = cpulist_format(&audit->housekeeping, &housekeeping);

        r = r
                ?: util_asprintf(&why,
                           "it is not in the set's slice (but in %s) and may run on an isolated CPU",
                           *task->cgroup ? task->cgroup : "a cgroup that is not known");
        if (r == 0 && sets_are_broken(audit) && audit_is_plain(audit->mode))
                r = util_asprintf(&fix, "rtisoctl mode %s", audit->mode);
        else if (r == 0)
                r = util_asprintf(&fix, "taskset -pc %s %d", housekeeping, task->tid);
        text->code = "user-task-on-set";
        text->severity = "error";
        text->why = why;
        text->fix = fix;
        text->is_command = true;
        return r ?: audit_add_finding(audit, text);
}

static int find_strays(Audit *audit) {
        for (size_t i = 0; i < audit->world->n_tasks; i++) {
                const WorldTask *task = &audit->world->tasks[i];
                _cleanup_free_ char *subject = NULL;
                FindingText text = { .name = task->comm, .cpus = &task->live };
                int r;

                if (!is_stray(audit, task))
                        continue;
                r = util_asprintf(&subject, "%s (pid %d)", task->comm, task->tid);
                text.subject = subject;
                r = r
                        ?: task->kernel ? find_kthread(audit, task, &text)
                                        : find_user_task(audit, task, &text);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Is there something on that CPU that keeps real-time tasks from taking all of it? */
static bool is_throttled(const Audit *audit, unsigned cpu) {
        return audit->facts->fair_servers ? !cpulist_has(&audit->facts->servers_off, cpu)
                                          : audit->facts->throttled;
}

static int find_spinner(Audit *audit, const TaskLook *look) {
        const WorldTask *task = &audit->world->tasks[look->task];
        _cleanup_free_ char *subject = NULL, *fix = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        FindingText text = { .name = task->comm, .cpus = &cpus, .is_command = true };
        int r = cpulist_add(&cpus, (unsigned) look->last_cpu);

        if (is_throttled(audit, (unsigned) look->last_cpu)) {
                text.code = "rt-throttling";
                text.severity = "warning";
                text.why = "it never sleeps, and real-time throttling takes its CPU from it for a part of "
                           "every "
                           "second; alone on an isolated CPU it needs no real-time policy";
        } else {
                text.code = "fifo-spinner";
                text.severity = "error";
                text.why = "it never sleeps and nothing throttles it: kernel threads of its CPU (ksoftirqd, "
                           "kworker, rcuc) get no time, and the machine hangs waiting for them";
        }
        r = r
                ?: util_asprintf(&subject, "%s (pid %d, %s %d)", task->comm, task->tid,
                           task->policy == SCHED_FIFO ? "fifo" : "rr", task->priority);
        r = r ?: util_asprintf(&fix, "chrt --other --pid 0 %d", task->tid);
        text.subject = subject;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

static bool runs(const TaskLook *look) {
        return look->first_state == 'R' && look->state == 'R';
}

static int find_spinners(Audit *audit) {
        for (size_t i = 0; i < audit->facts->n_looks; i++) {
                const TaskLook *look = &audit->facts->looks[i];
                const WorldTask *task = &audit->world->tasks[look->task];
                int r;

                if ((task->policy != SCHED_FIFO && task->policy != SCHED_RR) || !runs(look) ||
                        look->share < SPIN_SHARE || look->last_cpu < 0 ||
                        !cpulist_has(&audit->isolated, (unsigned) look->last_cpu))
                        continue;
                r = find_spinner(audit, look);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* How many were ready to run on that CPU at both looks. */
static size_t count_running(const Audit *audit, int cpu) {
        size_t n = 0;

        for (size_t i = 0; i < audit->facts->n_looks; i++)
                n += audit->facts->looks[i].last_cpu == cpu && runs(&audit->facts->looks[i]);
        return n;
}

/* A CPU of the set that nobody uses, or -1. */
static int find_free_cpu(const Audit *audit, const AuditSet *set) {
        CPULIST_FOREACH (cpu, &set->members)
                if (cpulist_has(&audit->isolated, (unsigned) cpu) && count_running(audit, cpu) == 0)
                        return cpu;
        return -1;
}

static int find_stack(Audit *audit, const AuditSet *set, const TaskLook *last, size_t n) {
        const WorldTask *task = &audit->world->tasks[last->task];
        int target = find_free_cpu(audit, set), r;
        _cleanup_free_ char *subject = NULL, *fix = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        FindingText text = {
                .code = "stacked-tasks",
                .severity = "warning",
                .name = task->comm,
                .cpus = &cpus,
                .why = "more than one task is ready to run there, and the kernel does not balance a set: "
                       "they "
                       "take turns",
                .is_command = target >= 0,
        };

        r = cpulist_add(&cpus, (unsigned) last->last_cpu);
        r = r ?: util_asprintf(&subject, "%s (pid %d) and %zu more", task->comm, task->tid, n - 1);
        if (r == 0 && target >= 0)
                r = util_asprintf(&fix, "taskset -pc %d %d", target, task->tid);
        else if (r == 0)
                r = util_copy("start fewer threads, or give the set more CPUs: all are in use", &fix);
        text.subject = subject;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

/* On CPUs of sets without balancing: one finding for each CPU. */
static int find_stacks(Audit *audit) {
        CPULIST_FOREACH (cpu, &audit->isolated) {
                const AuditSet *set = audit_set_of(audit, (unsigned) cpu);
                size_t n = count_running(audit, cpu);
                const TaskLook *last = NULL;
                int r;

                if (n < 2 || !set || !set->partition || !util_startswith(set->partition, "isolated"))
                        continue;
                for (size_t i = 0; i < audit->facts->n_looks; i++)
                        if (audit->facts->looks[i].last_cpu == cpu && runs(&audit->facts->looks[i]))
                                last = &audit->facts->looks[i];
                r = last ? find_stack(audit, set, last, n) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_timer(Audit *audit, const ProcessFacts *process) {
        const WorldTask *task = &audit->world->tasks[process->leader];
        bool limit = process->timer && strstr(process->timer, "RLIMIT_CPU");
        _cleanup_free_ char *subject = NULL, *why = NULL, *fix = NULL;
        FindingText text = {
                .code = "cpu-timer",
                .severity = "warning",
                .name = task->comm,
                .cpus = &process->cpus,
                .is_command = limit,
        };
        int r;

        if (!process->timer)
                return 0;
        r = util_asprintf(&subject, "%s (pid %d)", task->comm, task->pid);
        r = r
                ?: util_asprintf(&why,
                           "it has %s: while it is armed the tick of its CPUs never stops, and each tick "
                           "adds up "
                           "the time of all its threads",
                           process->timer);
        r = r
                ?: limit
                ? util_asprintf(&fix, "prlimit --pid %d --cpu=unlimited", task->pid)
                : util_copy("let the program use CLOCK_MONOTONIC for timer_create(2), or end it", &fix);
        text.subject = subject;
        text.why = why;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

/* The nodes of the CPUs that a process is for, and those with memory of it elsewhere. */
static int memory_nodes(const Audit *audit, const ProcessFacts *process, CpuList *ret_local,
        CpuList *ret_remote, uint64_t *ret_kib) {
        uint64_t kib = 0;
        int r = 0;

        CPULIST_FOREACH (cpu, &process->cpus) {
                const TopologyCpu *one = topology_cpu(audit->world->topology, (unsigned) cpu);

                r = r ?: one && one->node >= 0 ? cpulist_add(ret_local, (unsigned) one->node) : r;
        }
        for (size_t node = 0; r == 0 && node < process->n_nodes; node++) {
                if (process->node_kib[node] == 0 || cpulist_has(ret_local, (unsigned) node))
                        continue;
                kib += process->node_kib[node];
                r = cpulist_add(ret_remote, (unsigned) node);
        }
        *ret_kib = kib;
        return r;
}

static int find_memory(Audit *audit, const ProcessFacts *process) {
        const WorldTask *task = &audit->world->tasks[process->leader];
        _cleanup_cpulist_ CpuList local = {}, remote = {};
        _cleanup_free_ char *subject = NULL, *why = NULL, *fix = NULL, *from = NULL, *to = NULL;
        FindingText text = {
                .code = "memory-remote",
                .severity = "warning",
                .name = task->comm,
                .cpus = &process->cpus,
                .is_command = true,
        };
        uint64_t kib;
        int r;

        if (!process->node_kib)
                return 0;
        r = memory_nodes(audit, process, &local, &remote, &kib);
        if (r < 0 || kib < REMOTE_KIB || cpulist_is_empty(&local))
                return r;
        r = cpulist_format(&remote, &from);
        r = r ?: cpulist_format(&local, &to);
        r = r ?: util_asprintf(&subject, "%s (pid %d)", task->comm, task->pid);
        r = r
                ?: util_asprintf(&why,
                           "%llu MiB of its memory are on node %s, its CPUs on node %s: each access goes "
                           "from one to the other",
                           (unsigned long long) (kib / 1024), from, to);
        r = r ?: util_asprintf(&fix, "migratepages %d %s %s", task->pid, from, to);
        text.subject = subject;
        text.why = why;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

static int find_processes(Audit *audit) {
        for (size_t i = 0; i < audit->facts->n_processes; i++) {
                int r = find_timer(audit, &audit->facts->processes[i]);

                r = r ?: find_memory(audit, &audit->facts->processes[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int audit_find_tasks(Audit *audit) {
        int r = find_strays(audit);

        if (r < 0 || !audit->facts)
                return r;
        r = find_spinners(audit);
        r = r ?: find_stacks(audit);
        return r ?: find_processes(audit);
}
