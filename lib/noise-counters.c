/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "noise-counters.h"

#include <inttypes.h>
#include <time.h>

#define NS_PER_SEC 1000000000u

void noise_counters_done(NoiseCounters *counters) {
        free(counters->waited);
        free(counters->irq);
        counts_done(&counters->interrupts);
        counts_done(&counters->softirqs);
        *counters = (NoiseCounters){};
}

/* Room for one more CPU number; -ERANGE for one that no machine has. */
static int counters_widen(NoiseCounters *counters, unsigned cpu) {
        uint64_t **arrays[] = { &counters->waited, &counters->irq };
        size_t n = (size_t) cpu + 1;

        if (cpu > CPULIST_MAX)
                return -ERANGE;
        if (n <= counters->n)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
                uint64_t *grown = reallocarray(*arrays[i], n, sizeof(uint64_t));

                if (!grown)
                        return -ENOMEM;
                memset(grown + counters->n, 0, (n - counters->n) * sizeof(uint64_t));
                *arrays[i] = grown;
        }
        counters->n = n;
        return 0;
}

/* `cpu3 0 0 0 0 0 0 RUN_NS WAIT_NS SLICES`: the last three are there whatever the sysctl says. */
static int take_schedstat_line(NoiseCounters *counters, const char *line) {
        uint64_t waited;
        unsigned cpu;
        int r;

        if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu, &waited) != 2)
                return 0;
        r = counters_widen(counters, cpu);
        if (r < 0)
                return r == -ERANGE ? 0 : r;
        counters->waited[cpu] = waited;
        counters->knows_waited = true;
        return 0;
}

/* `cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ …`, in clock ticks of user space. */
static int take_stat_line(NoiseCounters *counters, const char *line) {
        uint64_t irq, softirq, hz = (uint64_t) sysconf(_SC_CLK_TCK);
        unsigned cpu;
        int r;

        if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &irq, &softirq) != 3)
                return 0;
        r = counters_widen(counters, cpu);
        if (r < 0)
                return r == -ERANGE ? 0 : r;
        counters->irq[cpu] = (irq + softirq) * (NS_PER_SEC / hz);
        counters->knows_irq = true;
        return 0;
}

static int take_file(
        Kfs *kfs, const char *file, int (*take)(NoiseCounters *, const char *), NoiseCounters *counters) {
        _cleanup_free_ char *text = NULL;
        char *state = NULL;
        int r = 0;

        if (kfs_read(kfs, file, &text) < 0)
                return 0;
        for (char *line = strtok_r(text, "\n", &state); r == 0 && line; line = strtok_r(NULL, "\n", &state))
                r = take(counters, line);
        return r;
}

static int take_counts(Kfs *kfs, const char *file, Counts *ret) {
        int r = counts_read(kfs, file, ret);

        return r == -ENOMEM ? r : 0;
}

int noise_counters_take(Kfs *kfs, NoiseCounters *ret) {
        _cleanup_noise_counters_ NoiseCounters counters = {};
        struct timespec now;
        int r = take_file(kfs, "/proc/schedstat", take_schedstat_line, &counters);

        r = r ?: take_file(kfs, "/proc/stat", take_stat_line, &counters);
        r = r ?: take_counts(kfs, "/proc/interrupts", &counters.interrupts);
        r = r ?: take_counts(kfs, "/proc/softirqs", &counters.softirqs);
        if (r < 0)
                return r;
        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        counters.at = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
        *ret = counters;
        counters = (NoiseCounters){};
        return 0;
}

/* A counter of a CPU that was away and came back may begin anew. */
static uint64_t since(uint64_t before, uint64_t after) {
        return after > before ? after - before : 0;
}

double noise_counters_stolen(const NoiseCounters *before, const NoiseCounters *after, const CpuList *cpus) {
        uint64_t sum = 0;

        if (after->at <= before->at || !after->knows_waited)
                return -1;
        CPULIST_FOREACH (cpu, cpus) {
                if ((size_t) cpu >= before->n || (size_t) cpu >= after->n)
                        continue;
                sum += since(before->waited[cpu], after->waited[cpu]) +
                        since(before->irq[cpu], after->irq[cpu]);
        }
        return (double) sum / 1e3 * 1e6 / (double) (after->at - before->at);
}

double noise_counters_rate(const NoiseCounters *before, const NoiseCounters *after, bool softirq,
        const char *row, unsigned cpu) {
        const Counts *then = softirq ? &before->softirqs : &before->interrupts;
        const Counts *now = softirq ? &after->softirqs : &after->interrupts;
        ssize_t first = counts_row(then, row), last = counts_row(now, row);

        if (after->at <= before->at || first < 0 || last < 0)
                return -1;
        return (double) since(counts_get(then, first, cpu), counts_get(now, last, cpu)) * 1e6 /
                (double) (after->at - before->at);
}

int noise_counters_worst_wait(Kfs *kfs, int tid, uint64_t *ret_ns) {
        _cleanup_free_ char *text = NULL;
        const char *line;
        double msec;
        int r = kfs_readf(kfs, &text, "/proc/%d/sched", tid);

        if (r < 0)
                return r;
        /* `se.statistics.wait_max : 0.012345`, or without what is before the last dot; in ms. */
        line = strstr(text, "wait_max");
        line = line ? strchr(line, ':') : NULL;
        if (!line || sscanf(line + 1, "%lf", &msec) != 1 || !(msec >= 0 && msec < 1e9))
                return -ENODATA;
        *ret_ns = (uint64_t) (msec * 1e6 + 0.5);
        return 0;
}
