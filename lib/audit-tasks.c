/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "audit.h"

const AuditSet *audit_set_of(const Audit *audit, unsigned cpu) {
        for (size_t i = 0; i < audit->n_sets; i++)
                if (cpulist_has(&audit->sets[i].members, cpu))
                        return &audit->sets[i];
        return NULL;
}

bool audit_is_in_slice(const WorldTask *task, const AuditSet *set) {
        const char *rest;

        rest = util_startswith(task->cgroup, "/rtisol.slice/");
        rest = rest ? util_startswith(rest, set->slice) : NULL;
        return rest && (*rest == '\0' || *rest == '/');
}

const AuditStep *audit_irq_step(const Audit *audit, unsigned irq) {
        char id[64];

        (void) snprintf(id, sizeof(id), "irq/%u/affinity", irq);
        for (size_t i = 0; i < audit->n_steps; i++)
                if (streq(audit->steps[i].step->id, id))
                        return &audit->steps[i];
        return NULL;
}

int64_t audit_irq_count(const Audit *audit, const WorldIrq *irq, unsigned cpu) {
        uint64_t now = irq->counts && cpu < irq->n_counts ? irq->counts[cpu] : 0, before;
        char name[16];

        if (audit->began.n_rows == 0 || !irq->counts)
                return -1;
        (void) snprintf(name, sizeof(name), "%u", irq->irq);
        before = counts_get(&audit->began, counts_row(&audit->began, name), cpu);
        /* A number that was given to another device meanwhile counts from nothing. */
        return (int64_t) (now >= before ? now - before : now);
}

/* Why a task is on a CPU, and whether that is as it should be. */
typedef struct Verdict {
        bool expected;
        const char *why;
} Verdict;

/* The interrupt that a thread `irq/30-eth0-rx-0` serves, or NULL. */
static const WorldIrq *served_irq(const Audit *audit, const WorldTask *task) {
        unsigned number;

        return sscanf(task->comm, "irq/%u-", &number) == 1 ? world_irq(audit->world, number) : NULL;
}

/* It goes where its interrupt goes, when that fires the next time. */
static Verdict judge_irq_thread(const Audit *audit, const WorldTask *task, const WorldIrq *irq) {
        const AuditStep *step = audit_irq_step(audit, irq->irq);
        _cleanup_cpulist_ CpuList wanted = {};

        if (cpulist_count(&task->live) == 1 && task->fixed)
                return (Verdict){ true, "serves an interrupt of this CPU" };
        if (!cpulist_intersects(&irq->live, &audit->isolated))
                return (Verdict){ true, "will follow its interrupt" };
        if (step && step->step->wanted && cpulist_parse(step->step->wanted, &wanted, NULL) == 0 &&
                cpulist_intersects(&wanted, &audit->isolated))
                return (Verdict){ true, "a rule wants its interrupt here" };
        return (Verdict){ false, "its interrupt comes here" };
}

/* `rcuc/3` on CPU 3 alone: of that CPU's own, marked so or not. */
static bool is_per_cpu(const WorldTask *task) {
        const char *slash = strrchr(task->comm, '/');
        unsigned cpu;

        if (cpulist_count(&task->live) != 1)
                return false;
        return task->fixed || (slash && sscanf(slash + 1, "%u", &cpu) == 1 && cpulist_has(&task->live, cpu));
}

static bool is_excepted(const Audit *audit, const WorldTask *task) {
        if (!audit->profile)
                return false;
        STRV_FOREACH (pattern, audit->profile->except)
                if (profile_matches(*pattern, task->comm))
                        return true;
        return false;
}

static Verdict judge_kernel(const Audit *audit, const WorldTask *task) {
        const WorldIrq *irq = served_irq(audit, task);

        if (is_excepted(audit, task))
                return (Verdict){ true, "excepted by the profile" };
        if (irq)
                return judge_irq_thread(audit, task, irq);
        if (is_per_cpu(task))
                return (Verdict){ true, "a thread of this CPU" };
        if (task->fixed && util_startswith(task->comm, "kworker/u"))
                return (Verdict){ false, "runs unbound work" };
        if (task->fixed && !util_startswith(task->comm, "irq/"))
                return (Verdict){ true, "rescues a workqueue" };
        return (Verdict){ false, "is bound to no CPU" };
}

static Verdict judge(const Audit *audit, const WorldTask *task, unsigned cpu) {
        const AuditSet *set = audit_set_of(audit, cpu);

        if (task->state == 'Z' || task->state == 'X')
                return (Verdict){ true, "dead" };
        if (!cpulist_has(&task->live, cpu))
                return (Verdict){ true, "ran here last, and may not now" };
        if (!set)
                return (Verdict){ true, "not an isolated CPU" };
        if (task->kernel)
                return judge_kernel(audit, task);
        if (!*set->slice)
                return (Verdict){ true, "the set has no partition" };
        if (audit_is_in_slice(task, set))
                return (Verdict){ true, "in the set's slice" };
        return (Verdict){ false, "not in the set's slice" };
}

bool audit_task_is_expected(const Audit *audit, const WorldTask *task, unsigned cpu) {
        return judge(audit, task, cpu).expected;
}

const char *audit_task_why(const Audit *audit, const WorldTask *task, unsigned cpu) {
        return judge(audit, task, cpu).why;
}

typedef bool (*IsOnCpu)(const World *world, size_t i, unsigned cpu);

static bool task_is_on(const World *world, size_t i, unsigned cpu) {
        return cpulist_has(&world->tasks[i].live, cpu) || world->tasks[i].last_cpu == (int) cpu;
}

static bool irq_is_on(const World *world, size_t i, unsigned cpu) {
        const WorldIrq *irq = &world->irqs[i];

        return cpulist_has(&irq->live, cpu) || (irq->has_effective && cpulist_has(&irq->effective, cpu));
}

/* The indexes of those of n_all that are on the CPU. */
static int collect(
        const Audit *audit, size_t n_all, IsOnCpu is_on, unsigned cpu, size_t **ret, size_t *ret_n) {
        _cleanup_free_ size_t *indexes = NULL;
        size_t n = 0;

        for (size_t i = 0; i < n_all; i++) {
                int r;

                if (!is_on(audit->world, i, cpu))
                        continue;
                r = GROW(indexes, n);
                if (r < 0)
                        return r;
                indexes[n++] = i;
        }
        *ret = TAKE_PTR(indexes);
        *ret_n = n;
        return 0;
}

int audit_cpu_tasks(const Audit *audit, unsigned cpu, size_t **ret, size_t *ret_n) {
        return collect(audit, audit->world->n_tasks, task_is_on, cpu, ret, ret_n);
}

int audit_cpu_irqs(const Audit *audit, unsigned cpu, size_t **ret, size_t *ret_n) {
        return collect(audit, audit->world->n_irqs, irq_is_on, cpu, ret, ret_n);
}
