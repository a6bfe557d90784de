/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../record.h"
#include "machine.h"
#include "request.h"

/* What was measured, as a record: all that is printed or drawn is made of it.  Times in it are microseconds where
 * the key says so. */

/* A row for what a lane saw in an interval, or in all its time. */
json_t *report_interval(MeasureKind kind, const Lane *lane, const Interval *interval);
/* A row for each CPU, and one (`all`) for all of them together: the record's `rows` and `all`. */
json_t *report_rows(const Run *run);
json_t *report_all(const Run *run);

/* The record around them.  cpus: as measured; seconds: how long it took.  NULL without memory. */
typedef struct ReportHead {
        const Machine *machine;
        const Request *request;
        const Clock *clock;
        const CpuList *cpus;
        double seconds;
        bool interrupted, locked;
} ReportHead;
json_t *report_head(const ReportHead *head);

/* `[{from_us, to_us, count}]`, without empty buckets. */
json_t *report_histogram(const Histogram *histogram);

/* The figures by which two measurements of a kind are compared: keys of rows, and what people call them. */
typedef struct Figure {
        const char *key, *name;
} Figure;
const Figure *report_figures(const char *kind, size_t *ret_n);

/* The record of two measurements side by side: each with its own record, and the ratios of their figures, the
 * second's for one of the first's, for all CPUs and for each; null where the first is 0. */
json_t *report_compare(json_t *first, json_t *second);
