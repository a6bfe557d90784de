/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* A series of values of any length in constant memory. */

typedef struct Stats {
        uint64_t n;
        double min, max, mean;
        double m2; /* sum of the squared distances from the mean */
} Stats;

/* Adds the next value; called inside measuring loops. (Welford, 1962) */
static inline void stats_add(Stats *stats, double value) {
        double distance = value - stats->mean;

        if (stats->n == 0 || value < stats->min)
                stats->min = value;
        if (stats->n == 0 || value > stats->max)
                stats->max = value;
        stats->n++;
        stats->mean += distance / (double) stats->n;
        stats->m2 += distance * (value - stats->mean);
}

/* As if the values of `later` had been added behind those of stats. */
void stats_merge(Stats *stats, const Stats *later);
double stats_sum(const Stats *stats);
/* Standard deviation of all values; 0 for less than two. */
double stats_sigma(const Stats *stats);

/* Counts of whole numbers (nanoseconds, ticks of a clock): exact below 16, sixteen steps for each doubling above,
 * up to 2^48. */
#define HISTOGRAM_STEPS 16u
#define HISTOGRAM_BUCKETS (45u * HISTOGRAM_STEPS)

typedef struct Histogram {
        uint64_t counts[HISTOGRAM_BUCKETS];
} Histogram;

static inline unsigned histogram_bucket(uint64_t value) {
        unsigned doubling;

        if (value < HISTOGRAM_STEPS)
                return (unsigned) value;
        doubling = 63 - (unsigned) __builtin_clzll(value);
        if (doubling > 47)
                return HISTOGRAM_BUCKETS - 1;
        return (doubling - 3) * HISTOGRAM_STEPS +
                (unsigned) (value >> (doubling - 4) & (HISTOGRAM_STEPS - 1));
}

static inline void histogram_add(Histogram *histogram, uint64_t value) {
        histogram->counts[histogram_bucket(value)]++;
}

void histogram_merge(Histogram *histogram, const Histogram *other);
uint64_t histogram_total(const Histogram *histogram);
/* The smallest value that falls into a bucket. */
uint64_t histogram_from(unsigned bucket);
/* A value that at least this part (0 to 1) of the values does not exceed; 0 where there are none. */
uint64_t histogram_quantile(const Histogram *histogram, double part);

/* What was seen in some time.  Values are nanoseconds. */
typedef struct Interval {
        double begin, seconds; /* begin: since the start of the measurement */
        double threshold;      /* what `above` is about */
        Stats all, above;
} Interval;

static inline void interval_add(Interval *interval, double value) {
        stats_add(&interval->all, value);
        if (value > interval->threshold)
                stats_add(&interval->above, value);
}

/* As if the time of `later` had followed that of interval; its threshold is taken over. */
void interval_merge(Interval *interval, const Interval *later);

/* What tells a round of a tight loop that was disturbed from one that was not. */
typedef struct Pert {
        double ns_per_tick;
        uint64_t loop;  /* ticks of the clock that a round takes */
        uint64_t limit; /* a round that takes more was disturbed */
        double mean;    /* running mean of the perturbations, in ns: the last sixteen count most */
} Pert;

/* From how long rounds took, in ticks: what nearly all of them need is the loop's own, and the limit is well above
 * it.  limit_ns, where not 0, is the limit asked for.  -ENODATA for a histogram that is empty. */
int pert_calibrate(const Histogram *rounds, double ns_per_tick, double limit_ns, Pert *ret);

/* A round that took more than the limit: what was taken from the loop is added.  The running threshold is twice
 * the mean of the perturbations so far. */
static inline void pert_add(Pert *pert, uint64_t ticks, Interval *interval, Histogram *histogram) {
        double size = (double) (ticks - pert->loop) * pert->ns_per_tick;

        if (pert->mean <= 0)
                pert->mean = size;
        interval->threshold = 2 * pert->mean;
        interval_add(interval, size);
        histogram_add(histogram, (uint64_t) size);
        pert->mean += (size - pert->mean) / 16;
}
