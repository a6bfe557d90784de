/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

#pragma GCC visibility push(default)

/* What the CPUs do just now: the difference of two looks at /proc/stat and /proc/interrupts. */
typedef struct Sample {
        uint64_t *busy, *total, *steal; /* ticks of each CPU, index = CPU number */
        uint64_t *interrupts;
        uint64_t *timer; /* interrupts of the CPU's own timer */
        size_t n;        /* how many CPUs there is room for */
        bool has_timer;  /* this architecture counts them in a row that is known here */
        uint64_t at;     /* monotonic, in µs */
} Sample;

void sample_done(Sample *sample);
#define _cleanup_sample_ _cleanup_(sample_done)

/* One look.  What cannot be read stays 0. (Documentation/filesystems/proc.rst) */
int sample_take(Kfs *kfs, Sample *ret);

/* Since an earlier look: the share of the time that a CPU was busy, or that the hypervisor gave to others, 0
 * to 1 (-1: not known), and its interrupts, or those of its timer alone, in a second. */
double sample_busy(const Sample *before, const Sample *after, unsigned cpu);
double sample_steal(const Sample *before, const Sample *after, unsigned cpu);
double sample_interrupts(const Sample *before, const Sample *after, unsigned cpu);
double sample_timer(const Sample *before, const Sample *after, unsigned cpu);

#pragma GCC visibility pop
