/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "counts.h"
#include "cpulist.h"

/* What the kernel counts of the noise on each CPU without being traced: two looks and their difference. */
typedef struct NoiseCounters {
        uint64_t *waited; /* ns that tasks which could run waited for the CPU: somebody else had it */
        uint64_t *irq;    /* ns in interrupts and soft interrupts, where the kernel accounts them */
        size_t n;         /* how many CPUs there is room for */
        bool knows_waited, knows_irq;
        Counts interrupts, softirqs; /* empty where they cannot be read */
        uint64_t at;                 /* monotonic, in µs */
} NoiseCounters;

void noise_counters_done(NoiseCounters *counters);
#define _cleanup_noise_counters_ _cleanup_(noise_counters_done)

/* One look, at /proc/schedstat, /proc/stat, /proc/interrupts and /proc/softirqs.  What cannot be read stays 0 and unknown.
 * (Documentation/scheduler/sched-stats.rst, Documentation/filesystems/proc.rst) */
int noise_counters_take(Kfs *kfs, NoiseCounters *ret);

/* µs taken from the CPUs in a second, all of them together; -1 where the kernel tells nothing.  It is at least
 * this: what an interrupt takes is known only where the kernel accounts it (it does on CPUs booted as nohz_full=). */
double noise_counters_stolen(const NoiseCounters *before, const NoiseCounters *after, const CpuList *cpus);

/* How often in a second the CPU did what a row of /proc/softirqs or of /proc/interrupts counts (`NET_RX`, `TLB`); -1
 * where the kernel has no such row. */
double noise_counters_rate(const NoiseCounters *before, const NoiseCounters *after, bool softirq,
        const char *row, unsigned cpu);

/* The longest time in ns that a thread ever waited to run although it could.  -ENODATA where the kernel does not
 * keep it (it does with kernel.sched_schedstats = 1), otherwise the errno of the read. */
int noise_counters_worst_wait(Kfs *kfs, int tid, uint64_t *ret_ns);
