/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-findings.h"

/* Takes the texts, also on failure. */
static int finding_add(Audit *audit, Finding *finding) {
        int r = GROW(audit->findings, audit->n_findings);

        if (r < 0 || !finding->cpus || !finding->subject || !finding->why || !finding->fix) {
                free(finding->cpus);
                free(finding->subject);
                free(finding->why);
                free(finding->fix);
                return -ENOMEM;
        }
        audit->findings[audit->n_findings++] = *finding;
        return 0;
}

/* The isolated CPUs among some, as text; NULL where there are none. */
static int isolated_part(const Audit *audit, const CpuList *cpus, char **ret) {
        _cleanup_cpulist_ CpuList both = {};
        int r = cpulist_copy(cpus, &both);

        if (r < 0)
                return r;
        cpulist_intersect(&both, &audit->isolated);
        if (cpulist_is_empty(&both)) {
                *ret = NULL;
                return 0;
        }
        return cpulist_format(&both, ret);
}

static bool task_is_stray(const Audit *audit, const WorldTask *task) {
        /* What is dead runs nowhere. */
        if (task->state == 'Z' || task->state == 'X')
                return false;
        CPULIST_FOREACH (cpu, &audit->isolated)
                if (cpulist_has(&task->live, (unsigned) cpu) &&
                        !audit_task_is_expected(audit, task, (unsigned) cpu))
                        return true;
        return false;
}

static int describe_kthread(const Audit *audit, const WorldTask *task, Finding *finding) {
        _cleanup_free_ char *housekeeping = NULL;
        int r = cpulist_format(&audit->housekeeping, &housekeeping);

        if (r < 0)
                return r;
        finding->code = "kthread-on-set";
        finding->severity = "warning";
        r = util_asprintf(&finding->why, "the kernel may run this thread on an isolated CPU at any time");
        if (r < 0)
                return r;
        if (task->fixed)
                return util_asprintf(&finding->fix,
                        "the kernel lets nobody move it; a workqueue's threads follow "
                        "/sys/devices/virtual/workqueue/cpumask");
        return util_asprintf(&finding->fix, "taskset -pc %s %d", housekeeping, task->tid);
}

static int describe_user_task(const WorldTask *task, Finding *finding) {
        int r;

        finding->code = "user-task-on-set";
        finding->severity = "error";
        r = util_asprintf(
                &finding->why, "the task is not in the set's slice and may run on an isolated CPU");
        return r < 0 ? r
                     : util_asprintf(&finding->fix,
                               "start it in the set's slice, or pin it elsewhere (it is in %s)",
                               *task->cgroup ? task->cgroup : "a cgroup that is not known");
}

static int find_task(Audit *audit, const WorldTask *task) {
        Finding finding = {};
        int r = isolated_part(audit, &task->live, &finding.cpus);

        r = r ?: util_asprintf(&finding.subject, "%s (pid %d)", task->comm, task->tid);
        r = r ?: task->kernel ? describe_kthread(audit, task, &finding) : describe_user_task(task, &finding);
        return finding_add(audit, &finding) ?: r;
}

static int find_tasks(Audit *audit) {
        for (size_t i = 0; i < audit->world->n_tasks; i++) {
                int r;

                if (!task_is_stray(audit, &audit->world->tasks[i]))
                        continue;
                r = find_task(audit, &audit->world->tasks[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The step of an interrupt, or NULL. */
static const AuditStep *irq_step(const Audit *audit, unsigned irq) {
        char id[64];

        (void) snprintf(id, sizeof(id), "irq/%u/affinity", irq);
        for (size_t i = 0; i < audit->n_steps; i++)
                if (streq(audit->steps[i].step->id, id))
                        return &audit->steps[i];
        return NULL;
}

/* An `[irq NAME]` rule wants it there. */
static bool irq_belongs_there(const Audit *audit, const AuditStep *step) {
        _cleanup_cpulist_ CpuList wanted = {};

        return step && cpulist_parse(step->step->wanted, &wanted, NULL) == 0 &&
                cpulist_intersects(&wanted, &audit->isolated);
}

typedef struct IrqKind {
        const char *code, *severity, *why, *fix;
} IrqKind;

static const IrqKind irq_unmovable = { "irq-unmovable", "info",
        "the kernel does not let anybody move this interrupt",
        "isolcpus=managed_irq, on the kernel command line keeps it off from the next boot" };
static const IrqKind irq_pending = { "irq-pending", "info",
        "it has been moved, and its controller goes on to this CPU until it fires the next time",
        "nothing to do: effective_affinity follows with the next one" };
static const IrqKind irq_on_set = { "irq-on-set", "warning",
        "this interrupt is delivered to an isolated CPU", "rtisoctl mode (again) moves it" };

static const IrqKind *irq_kind(const Audit *audit, const WorldIrq *irq, const AuditStep *step) {
        if (irq->managed || !irq->writable ||
                (step && (step->state == STATE_REFUSED || step->state == STATE_BOOT)))
                return &irq_unmovable;
        return cpulist_intersects(&irq->live, &audit->isolated) ? &irq_on_set : &irq_pending;
}

static int find_irq(Audit *audit, const WorldIrq *irq, const CpuList *where, const AuditStep *step) {
        const IrqKind *kind = irq_kind(audit, irq, step);
        Finding finding = { .code = kind->code, .severity = kind->severity };
        int r = isolated_part(audit, where, &finding.cpus);

        r = r ?: util_asprintf(&finding.subject, "%u %s", irq->irq, irq->name);
        r = r ?: util_asprintf(&finding.why, "%s", kind->why);
        r = r ?: util_asprintf(&finding.fix, "%s", kind->fix);
        return finding_add(audit, &finding) ?: r;
}

static int find_irqs(Audit *audit) {
        for (size_t i = 0; i < audit->world->n_irqs; i++) {
                const WorldIrq *irq = &audit->world->irqs[i];
                const CpuList *where = irq->has_effective && !cpulist_is_empty(&irq->effective)
                        ? &irq->effective
                        : &irq->live;
                const AuditStep *step = irq_step(audit, irq->irq);
                int r;

                if (!*irq->name || !cpulist_intersects(where, &audit->isolated) ||
                        irq_belongs_there(audit, step))
                        continue;
                r = find_irq(audit, irq, where, step);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_sibling(Audit *audit, unsigned cpu, const CpuList *siblings) {
        _cleanup_cpulist_ CpuList outside = {};
        Finding finding = { .code = "sibling-outside", .severity = "warning" };
        int r = cpulist_copy(siblings, &outside);

        if (r < 0)
                return r;
        cpulist_subtract(&outside, &audit->isolated);
        if (cpulist_is_empty(&outside))
                return 0;
        (void) util_asprintf(&finding.cpus, "%u", cpu);
        (void) cpulist_format(&outside, &finding.subject);
        (void) util_asprintf(&finding.why,
                "CPU %s shares the core and is not isolated: what runs there slows this one",
                finding.subject ?: "?");
        (void) util_asprintf(&finding.fix, "smt = include in the set's section, or take CPU %s offline",
                finding.subject ?: "?");
        return finding_add(audit, &finding);
}

static int find_siblings(Audit *audit) {
        CPULIST_FOREACH (cpu, &audit->isolated) {
                const TopologyCpu *one = topology_cpu(audit->world->topology, (unsigned) cpu);
                int r = one ? find_sibling(audit, (unsigned) cpu, &one->siblings) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_partitions(Audit *audit) {
        for (size_t i = 0; i < audit->n_sets; i++) {
                const AuditSet *set = &audit->sets[i];
                Finding finding = { .code = "partition-invalid", .severity = "error" };
                int r;

                if (!set->partition_reason || !*set->partition_reason)
                        continue;
                (void) cpulist_format(&set->members, &finding.cpus);
                finding.subject = strdup(set->slice);
                (void) util_asprintf(&finding.why, "the set is not isolated: %s", set->partition_reason);
                finding.fix = strdup("mend what the reason names, then rtisoctl mode (again)");
                r = finding_add(audit, &finding);
                if (r < 0)
                        return r;
        }
        return 0;
}

int audit_find(Audit *audit) {
        int r;

        if (cpulist_is_empty(&audit->isolated))
                return 0;
        r = find_partitions(audit);
        r = r ?: find_tasks(audit);
        r = r ?: find_irqs(audit);
        return r ?: find_siblings(audit);
}
