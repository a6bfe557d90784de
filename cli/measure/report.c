/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include <sys/utsname.h>

#define US 1e-3 /* of a nanosecond */

static json_t *usec(double ns) {
        return json_real(ns * US);
}

/* Adds what is in `part`, and frees it. */
static json_t *with(json_t *record, json_t *part) {
        if (!record || !part || json_object_update(record, part) < 0) {
                json_decref(record);
                record = NULL;
        }
        json_decref(part);
        return record;
}

static json_t *pert_values(const Interval *interval) {
        double seconds = interval->seconds > 0 ? interval->seconds : 1;
        double sum = stats_sum(&interval->all);

        return json_pack("{s:I, s:f, s:o, s:I, s:o, s:o, s:o, s:f, s:f}", "perturbations",
                (json_int_t) interval->all.n, "per_second", (double) interval->all.n / seconds,
                "threshold_us", usec(interval->threshold), "above", (json_int_t) interval->above.n, "min_us",
                usec(interval->all.min), "max_us", usec(interval->all.max), "avg_us",
                usec(interval->all.mean), "sum_us_per_second", sum * US / seconds, "overhead_percent",
                sum / 1e7 / seconds);
}

static json_t *jitter_values(const Interval *interval) {
        const Stats *all = &interval->all, *above = &interval->above;

        return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "timers", (json_int_t) all->n,
                "jitter_us", usec(all->max - all->min), "min_us", usec(all->min), "max_us", usec(all->max),
                "mean_us", usec(all->mean), "sigma_us", usec(stats_sigma(all)), "hits",
                (json_int_t) above->n, "hit_min_us", usec(above->min), "hit_max_us", usec(above->max),
                "hit_mean_us", usec(above->mean));
}

static json_t *frame_values(const Interval *interval) {
        const Stats *all = &interval->all;

        return json_pack("{s:I, s:o, s:o, s:o, s:o, s:I}", "frames", (json_int_t) all->n, "min_us",
                usec(all->min), "max_us", usec(all->max), "avg_us", usec(all->mean), "sigma_us",
                usec(stats_sigma(all)), "fliers", (json_int_t) interval->above.n);
}

static json_t *values(MeasureKind kind, const Interval *interval) {
        switch (kind) {
        case MEASURE_PERT: return pert_values(interval);
        case MEASURE_JITTER: return jitter_values(interval);
        default: return frame_values(interval);
        }
}

json_t *report_interval(MeasureKind kind, const Lane *lane, const Interval *interval) {
        return with(json_pack("{s:i, s:o, s:f}", "cpu", (int) lane->cpu, "set", record_text(lane->set),
                            "time", interval->begin + interval->seconds),
                values(kind, interval));
}

/* The numbers of the frames that were late, for people. */
static json_t *flier_numbers(const Lane *lane) {
        json_t *numbers = json_array();

        for (unsigned i = 0; numbers && i < lane->n_fliers; i++)
                if (json_array_append_new(numbers, json_integer((json_int_t) lane->fliers[i])) < 0) {
                        json_decref(numbers);
                        return NULL;
                }
        return numbers;
}

static json_t *frequency(const Lane *lane) {
        return lane->hz ? json_integer((json_int_t) lane->hz) : json_real(1e9 / (double) lane->period_ns);
}

static json_t *kind_values(MeasureKind kind, const Lane *lane) {
        switch (kind) {
        case MEASURE_PERT:
                return json_pack("{s:f, s:f}", "loop_ns", (double) lane->pert.loop * lane->pert.ns_per_tick,
                        "limit_ns", (double) lane->pert.limit * lane->pert.ns_per_tick);
        case MEASURE_FRAME:
                return json_pack("{s:o, s:I, s:I, s:o, s:I, s:o}", "frequency", frequency(lane), "missed",
                        (json_int_t) lane->missed, "max_frame", (json_int_t) lane->worst, "work_us",
                        usec(lane->work_ns), "last_transition", (json_int_t) lane->transition,
                        "flier_frames", flier_numbers(lane));
        default:
                return json_pack(
                        "{s:o, s:I}", "frequency", frequency(lane), "missed", (json_int_t) lane->missed);
        }
}

static json_t *evidence(const Lane *lane) {
        return json_pack("{s:b, s:i, s:I, s:I, s:I}", "complete", atomic_load(&lane->state) == LANE_DONE,
                "tid", lane->tid, "faults", (json_int_t) lane->evidence.faults, "voluntary_switches",
                (json_int_t) lane->evidence.voluntary, "preemptions", (json_int_t) lane->evidence.preempted);
}

static json_t *lane_row(MeasureKind kind, const Lane *lane) {
        json_t *row = report_interval(kind, lane, &lane->total);

        row = with(row, kind_values(kind, lane));
        row = with(row, evidence(lane));
        return with(row, json_pack("{s:o}", "histogram", report_histogram(&lane->histogram)));
}

json_t *report_rows(const Run *run) {
        json_t *rows = json_array();

        for (size_t i = 0; rows && i < run->n; i++)
                if (json_array_append_new(rows, lane_row(run->kind, &run->lanes[i])) < 0) {
                        json_decref(rows);
                        return NULL;
                }
        return rows;
}

json_t *report_all(const Run *run) {
        Histogram histogram = {};
        Interval all = {};
        uint64_t missed = 0;
        json_t *row;

        for (size_t i = 0; i < run->n; i++) {
                interval_merge(&all, &run->lanes[i].total);
                histogram_merge(&histogram, &run->lanes[i].histogram);
                missed += run->lanes[i].missed;
        }
        row = with(values(run->kind, &all), json_pack("{s:o}", "histogram", report_histogram(&histogram)));
        /* The last lane's threshold is nobody's. */
        if (run->kind == MEASURE_PERT)
                (void) json_object_del(row, "threshold_us");
        else
                row = with(row, json_pack("{s:I}", "missed", (json_int_t) missed));
        return row;
}

json_t *report_histogram(const Histogram *histogram) {
        json_t *list = json_array();

        for (unsigned i = 0; list && i < HISTOGRAM_BUCKETS; i++) {
                if (histogram->counts[i] == 0)
                        continue;
                if (json_array_append_new(list,
                            json_pack("{s:o, s:o, s:I}", "from_us", usec((double) histogram_from(i)),
                                    "to_us", usec((double) histogram_from(i + 1)), "count",
                                    (json_int_t) histogram->counts[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

/* The head */

static json_t *frequencies(const Request *request) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < request->n_hz; i++)
                (void) json_array_append_new(list, json_integer(request->hz[i]));
        return list;
}

static char *now_text(char buffer[static 32]) {
        time_t now = time(NULL);
        struct tm tm;

        (void) gmtime_r(&now, &tm);
        (void) strftime(buffer, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
        return buffer;
}

json_t *report_head(const ReportHead *head) {
        const Request *request = head->request;
        struct utsname name = {};
        char time[32];

        (void) uname(&name);
        return json_pack("{s:i, s:s, s:o, s:s, s:s, s:s, s:o, s:f, s:b, s:{s:s, s:s, s:b}, s:i, s:b, s:o, "
                         "s:o, s:I, s:f}",
                "version", 1, "measure", request->name, "host", record_text(name.nodename), "kernel",
                name.release, "time", now_text(time), "mode", head->machine->state.mode, "cpus",
                record_cpus(head->cpus), "seconds", head->seconds, "interrupted", head->interrupted, "clock",
                "name", clock_name(head->clock), "why", head->clock->why, "system_call", head->clock->call,
                "priority", request->priority, "memory_locked", head->locked, "tolerance_us",
                request->tolerance_ns > 0 ? usec(request->tolerance_ns) : json_null(), "frequencies",
                frequencies(request), "interval_us", (json_int_t) (request->period_ns / 1000),
                "load_percent", request->load * 100);
}

/* Side by side */

const Figure *report_figures(const char *kind, size_t *ret_n) {
        static const Figure pert[] = { { "per_second", "perturbations/s" }, { "avg_us", "average us" },
                { "max_us", "max us" }, { "overhead_percent", "overhead %" } };
        static const Figure jitter[] = { { "mean_us", "mean us" }, { "sigma_us", "sigma us" },
                { "max_us", "max us" }, { "hits", "hits" } };
        static const Figure frame[] = { { "avg_us", "average us" }, { "sigma_us", "sigma us" },
                { "max_us", "max us" }, { "fliers", "fliers" }, { "missed", "missed" } };
        static const Figure itimer[] = { { "elapsed_s", "elapsed s" }, { "user_s", "user s" },
                { "system_s", "system s" }, { "preemptions", "preemptions" }, { "ticks", "ticks" } };
        static const struct {
                const char *kind;
                const Figure *figures;
                size_t n;
        } table[] = {
                { "pert", pert, ARRAY_SIZE(pert) },
                { "jitter", jitter, ARRAY_SIZE(jitter) },
                { "frame", frame, ARRAY_SIZE(frame) },
                { "itimer", itimer, ARRAY_SIZE(itimer) },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (streq(table[i].kind, kind)) {
                        *ret_n = table[i].n;
                        return table[i].figures;
                }
        *ret_n = 0;
        return NULL;
}

/* The second's figures for one of the first's. */
static json_t *ratios(const char *kind, const json_t *first, const json_t *second) {
        json_t *record = json_object();
        const Figure *figures;
        size_t n;

        figures = report_figures(kind, &n);
        for (size_t i = 0; record && i < n; i++) {
                double a = json_number_value(json_object_get(first, figures[i].key));
                double b = json_number_value(json_object_get(second, figures[i].key));

                if (json_object_set_new(record, figures[i].key, a != 0 ? json_real(b / a) : json_null()) <
                        0) {
                        json_decref(record);
                        return NULL;
                }
        }
        return record;
}

static json_t *row_ratios(const char *kind, const json_t *first, const json_t *second) {
        json_t *rows = json_array();
        const json_t *row;
        size_t i;

        json_array_foreach(json_object_get(first, "rows"), i, row) {
                const json_t *other = json_array_get(json_object_get(second, "rows"), i);
                json_t *ratio = ratios(kind, row, other);

                if (ratio && json_object_get(row, "cpu"))
                        (void) json_object_set(ratio, "cpu", json_object_get(row, "cpu"));
                (void) json_array_append_new(rows, ratio);
        }
        return rows;
}

json_t *report_compare(json_t *first, json_t *second) {
        const char *kind = record_get(first, "measure");

        return json_pack("{s:i, s:s, s:[O, O], s:{s:o, s:o}}", "version", 1, "measure", kind, "compare",
                first, second, "ratio", "all",
                ratios(kind, json_object_get(first, "all"), json_object_get(second, "all")), "rows",
                row_ratios(kind, first, second));
}
