/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-findings.h"
#include "noise.h"

/* More of a kind in a second is worth a word.  Fewer come to any CPU now and then: a hundred calls just after a switch. */
#define WORTH_PER_SECOND 500

/* What the kernel counts for each CPU and a workload that only computes does not cause.  What comes with the tick
 * (TIMER, SCHED, RCU) and with waking tasks (RES) is not among it.  (Documentation/filesystems/proc.rst) */
static const struct {
        bool softirq; /* a row of /proc/softirqs, else of /proc/interrupts */
        const char *row;
        NoiseKind kind;
        const char *name; /* as `explain` calls it */
        const char *what;
} rows[] = {
        { true, "HI", NOISE_KIND_SOFTIRQ, "HI", "soft interrupt HI" },
        { true, "NET_TX", NOISE_KIND_SOFTIRQ, "NET_TX", "soft interrupt NET_TX" },
        { true, "NET_RX", NOISE_KIND_SOFTIRQ, "NET_RX", "soft interrupt NET_RX" },
        { true, "BLOCK", NOISE_KIND_SOFTIRQ, "BLOCK", "soft interrupt BLOCK" },
        { true, "IRQ_POLL", NOISE_KIND_SOFTIRQ, "IRQ_POLL", "soft interrupt IRQ_POLL" },
        { true, "TASKLET", NOISE_KIND_SOFTIRQ, "TASKLET", "soft interrupt TASKLET" },
        { false, "TLB", NOISE_KIND_IPI, NOISE_FLUSH, "calls to forget addresses" },
        { false, "CAL", NOISE_KIND_IPI, "function", "calls of other CPUs" },
        { false, "IWI", NOISE_KIND_IPI, "irq_work", "work put off out of interrupts" },
        { false, "NMI", NOISE_KIND_NMI, "NMI", "interrupts that nothing masks" },
};

/* The isolated CPUs where it comes too often, and how often on the worst. */
static int find_cpus(const Audit *audit, size_t i, CpuList *ret_cpus, double *ret_worst) {
        const NoiseCounters *before = &audit->noise_before, *after = &audit->noise_after;
        double worst = 0;
        int r = 0;

        CPULIST_FOREACH (cpu, &audit->isolated) {
                double rate =
                        noise_counters_rate(before, after, rows[i].softirq, rows[i].row, (unsigned) cpu);

                if (rate < WORTH_PER_SECOND)
                        continue;
                worst = rate > worst ? rate : worst;
                r = r ?: cpulist_add(ret_cpus, (unsigned) cpu);
        }
        *ret_worst = worst;
        return r;
}

/* The sentence of `explain`.  Which function was called is not counted, so nothing depends on what the kernel names. */
static int advise(size_t i, char **ret) {
        NoiseCulprit culprit = { .kind = rows[i].kind, .name = (char *) rows[i].name };
        NoiseFacts facts = { .names_calls = true };
        NoiseCpu cpu = {};

        return noise_advice(&cpu, &culprit, &facts, ret);
}

static int find_row(Audit *audit, size_t i) {
        _cleanup_free_ char *subject = NULL, *fix = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        double worst;
        FindingText text = {
                .code = "noise",
                .severity = "warning",
                .name = rows[i].row,
                .cpus = &cpus,
                .why = "the kernel counts so many on this CPU just now; rtisoctl explain tells who makes "
                       "them "
                       "come, and what they take",
        };
        int r = find_cpus(audit, i, &cpus, &worst);

        if (r < 0 || cpulist_is_empty(&cpus))
                return r;
        r = util_asprintf(&subject, "%s, %.0f/s", rows[i].what, worst);
        r = r ?: advise(i, &fix);
        text.subject = subject;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

int audit_find_noise(Audit *audit) {
        /* Whose interrupts belong on a set, what they leave to be done does, too. */
        bool served = audit->profile && audit->profile->n_irqs > 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
                r = served && rows[i].softirq ? 0 : find_row(audit, i);
        return r;
}
