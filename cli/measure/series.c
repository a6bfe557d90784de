/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series.h"

#include <math.h>

void stats_merge(Stats *stats, const Stats *later) {
        double distance = later->mean - stats->mean;
        double n = (double) stats->n, m = (double) later->n;

        if (later->n == 0)
                return;
        if (stats->n == 0) {
                *stats = *later;
                return;
        }
        if (later->min < stats->min)
                stats->min = later->min;
        if (later->max > stats->max)
                stats->max = later->max;
        stats->mean += distance * m / (n + m);
        stats->m2 += later->m2 + distance * distance * n * m / (n + m);
        stats->n += later->n;
}

double stats_sum(const Stats *stats) {
        return stats->mean * (double) stats->n;
}

double stats_sigma(const Stats *stats) {
        return stats->n < 2 ? 0 : sqrt(stats->m2 / (double) stats->n);
}

void histogram_merge(Histogram *histogram, const Histogram *other) {
        for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
                histogram->counts[i] += other->counts[i];
}

uint64_t histogram_total(const Histogram *histogram) {
        uint64_t total = 0;

        for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
                total += histogram->counts[i];
        return total;
}

uint64_t histogram_from(unsigned bucket) {
        unsigned doubling = bucket / HISTOGRAM_STEPS;

        if (doubling == 0)
                return bucket;
        return (uint64_t) (HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << (doubling - 1);
}

uint64_t histogram_quantile(const Histogram *histogram, double part) {
        double wanted = part * (double) histogram_total(histogram), seen = 0;

        if (wanted <= 0)
                return 0;
        for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
                seen += (double) histogram->counts[i];
                if (seen >= wanted)
                        return histogram_from(i + 1) - 1;
        }
        return histogram_from(HISTOGRAM_BUCKETS);
}

void interval_merge(Interval *interval, const Interval *later) {
        stats_merge(&interval->all, &later->all);
        stats_merge(&interval->above, &later->above);
        interval->seconds += later->seconds;
        interval->threshold = later->threshold;
}

int pert_calibrate(const Histogram *rounds, double ns_per_tick, double limit_ns, Pert *ret) {
        uint64_t loop = histogram_quantile(rounds, 0.5), nearly_all = histogram_quantile(rounds, 0.999);
        uint64_t limit = loop * 3 > nearly_all * 2 ? loop * 3 : nearly_all * 2;

        if (histogram_total(rounds) == 0)
                return -ENODATA;
        if (limit_ns > 0)
                limit = loop + (uint64_t) (limit_ns / ns_per_tick);
        *ret = (Pert){ .ns_per_tick = ns_per_tick, .loop = loop, .limit = limit };
        return 0;
}
