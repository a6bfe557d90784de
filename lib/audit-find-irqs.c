/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-findings.h"

/* An `[irq NAME]` rule wants it there. */
static bool belongs_there(const Audit *audit, const AuditStep *step) {
        _cleanup_cpulist_ CpuList wanted = {};

        return step && step->step->wanted && cpulist_parse(step->step->wanted, &wanted, NULL) == 0 &&
                cpulist_intersects(&wanted, &audit->isolated);
}

/* Has it come to no isolated CPU since the mode began, as far as that was counted? */
static bool has_been_quiet(const Audit *audit, const WorldIrq *irq) {
        CPULIST_FOREACH (cpu, &audit->isolated)
                if (audit_irq_count(audit, irq, (unsigned) cpu) != 0)
                        return false;
        return true;
}

/* How often it came to the isolated CPUs, in words; "" where not known. */
static int describe_count(const Audit *audit, const WorldIrq *irq, char **ret) {
        int64_t sum = 0;

        CPULIST_FOREACH (cpu, &audit->isolated) {
                int64_t count = audit_irq_count(audit, irq, (unsigned) cpu);

                if (count < 0)
                        return util_copy("", ret);
                sum += count;
        }
        return util_asprintf(ret, " (%lld times since the mode began)", (long long) sum);
}

static int find_unmovable(Audit *audit, const WorldIrq *irq, FindingText *text) {
        _cleanup_free_ char *count = NULL, *why = NULL, *fix = NULL, *cpus = NULL;
        int r = describe_count(audit, irq, &count);

        r = r ?: cpulist_format(&audit->isolated, &cpus);
        r = r ?: util_asprintf(&why, "the kernel does not let anybody move this interrupt%s", count);
        r = r
                ?: util_asprintf(&fix,
                           "isolcpus=managed_irq,%s on the kernel command line keeps it off from the next "
                           "boot",
                           cpus);
        text->code = "irq-unmovable";
        text->severity = "info";
        text->why = why;
        text->fix = fix;
        return r ?: audit_add_finding(audit, text);
}

static int find_pending(Audit *audit, FindingText *text) {
        text->code = "irq-pending";
        text->severity = "info";
        text->why = "it has been moved, and its controller goes on to this CPU until it fires the next time";
        text->fix = "nothing to do: effective_affinity follows with the next one";
        return audit_add_finding(audit, text);
}

/* One that the mode keeps somewhere else is moved back by the mode, any other by hand. */
static int find_movable(Audit *audit, const WorldIrq *irq, const AuditStep *step, FindingText *text) {
        _cleanup_free_ char *fix = NULL, *housekeeping = NULL;
        int r = cpulist_format(&audit->housekeeping, &housekeeping);

        if (r == 0 && step && step->state == STATE_DRIFTED && audit_is_plain(audit->mode))
                r = util_asprintf(&fix, "rtisoctl mode %s", audit->mode);
        else if (r == 0)
                r = util_asprintf(&fix, "echo %s > /proc/irq/%u/smp_affinity_list", housekeeping, irq->irq);
        text->code = "irq-on-set";
        text->severity = "warning";
        text->why = "this interrupt is delivered to an isolated CPU";
        text->fix = fix;
        text->is_command = true;
        return r ?: audit_add_finding(audit, text);
}

static int find_irq(Audit *audit, const WorldIrq *irq, const CpuList *where, const AuditStep *step) {
        _cleanup_free_ char *subject = NULL;
        FindingText text = { .name = irq->name, .cpus = where };
        int r = util_asprintf(&subject, "%u %s", irq->irq, irq->name);
        bool unmovable = irq->managed || !irq->writable ||
                (step && (step->state == STATE_REFUSED || step->state == STATE_BOOT));

        if (r < 0)
                return r;
        text.subject = subject;
        if (!unmovable && cpulist_intersects(&irq->live, &audit->isolated))
                return find_movable(audit, irq, step, &text);
        /* What cannot be mended now, and has not come, disturbs nobody. */
        if (has_been_quiet(audit, irq))
                return 0;
        return unmovable ? find_unmovable(audit, irq, &text) : find_pending(audit, &text);
}

/* The CPUs that it is delivered to: those it is now, or those it will be where it may go nowhere else. */
static const CpuList *delivered_to(const Audit *audit, const WorldIrq *irq) {
        if (!irq->has_effective || cpulist_is_empty(&irq->effective))
                return &irq->live;
        return cpulist_is_subset(&irq->live, &audit->isolated) && !cpulist_is_empty(&irq->live)
                ? &irq->live
                : &irq->effective;
}

int audit_find_irqs(Audit *audit) {
        for (size_t i = 0; i < audit->world->n_irqs; i++) {
                const WorldIrq *irq = &audit->world->irqs[i];
                const CpuList *where = delivered_to(audit, irq);
                const AuditStep *step;
                int r;

                if (!*irq->name || !cpulist_intersects(where, &audit->isolated))
                        continue;
                step = audit_irq_step(audit, irq->irq);
                if (belongs_there(audit, step))
                        continue;
                r = find_irq(audit, irq, where, step);
                if (r < 0)
                        return r;
        }
        return 0;
}
