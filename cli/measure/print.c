/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "print.h"

#include <math.h>

#include "report.h"

#define BAR_WIDTH 48
#define BARS 40

typedef struct TextColumn {
        const char *heading, *key;
        int width, precision;
} TextColumn;

static const TextColumn pert_columns[] = {
        { "CPU", "cpu", 4, 0 },
        { "PERT/S", "per_second", 9, 1 },
        { ">US", "threshold_us", 9, 2 },
        { "ABOVE", "above", 7, 0 },
        { "MIN", "min_us", 9, 2 },
        { "MAX", "max_us", 10, 2 },
        { "AVG", "avg_us", 9, 2 },
        { "SUM US/S", "sum_us_per_second", 10, 1 },
        { "OVERHEAD%", "overhead_percent", 10, 3 },
};

static const TextColumn jitter_columns[] = {
        { "CPU", "cpu", 4, 0 },
        { "TIMERS", "timers", 8, 0 },
        { "JITTER", "jitter_us", 9, 1 },
        { "MIN", "min_us", 8, 1 },
        { "MAX", "max_us", 9, 1 },
        { "MEAN", "mean_us", 8, 1 },
        { "SIGMA", "sigma_us", 8, 1 },
        { "HITS", "hits", 6, 0 },
        { "HIT-MIN", "hit_min_us", 8, 1 },
        { "HIT-MAX", "hit_max_us", 9, 1 },
        { "HIT-MEAN", "hit_mean_us", 9, 1 },
};

static const TextColumn frame_columns[] = {
        { "CPU", "cpu", 4, 0 },
        { "HZ", "frequency", 5, 0 },
        { "FRAMES", "frames", 8, 0 },
        { "MISSED", "missed", 7, 0 },
        { "MIN", "min_us", 8, 1 },
        { "MAX", "max_us", 9, 1 },
        { "(FRAME)", "max_frame", 8, 0 },
        { "AVG", "avg_us", 8, 1 },
        { "SIGMA", "sigma_us", 8, 1 },
        { "LASTTRANS", "last_transition", 10, 0 },
        { "FLIERS", "fliers", 7, 0 },
        { " (FRAMES)", "flier_frames", 0, 0 },
};

static const TextColumn itimer_columns[] = {
        { "ITIMER_PROF", "timer", 11, 0 },
        { "ELAPSED S", "elapsed_s", 10, 3 },
        { "USER S", "user_s", 9, 3 },
        { "SYSTEM S", "system_s", 9, 3 },
        { "SWITCHES", "voluntary_switches", 9, 0 },
        { "PREEMPTED", "preemptions", 10, 0 },
        { "TICKS", "ticks", 7, 0 },
        { "EXPECTED", "expected_ticks", 9, 1 },
};

static const struct {
        const char *kind;
        const TextColumn *columns;
        size_t n;
} tables[] = {
        { "pert", pert_columns, ARRAY_SIZE(pert_columns) },
        { "jitter", jitter_columns, ARRAY_SIZE(jitter_columns) },
        { "frame", frame_columns, ARRAY_SIZE(frame_columns) },
        { "itimer", itimer_columns, ARRAY_SIZE(itimer_columns) },
};

static const TextColumn *find_columns(const char *kind, size_t *ret_n) {
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                if (streq(tables[i].kind, kind)) {
                        *ret_n = tables[i].n;
                        return tables[i].columns;
                }
        *ret_n = 0;
        return NULL;
}

void print_headings(const char *kind, bool timed) {
        const TextColumn *columns;
        size_t n;

        columns = find_columns(kind, &n);
        if (timed)
                printf("%6s ", "TIME");
        for (size_t i = 0; i < n; i++)
                printf("%*s%s", columns[i].width, columns[i].heading, i + 1 < n ? " " : "\n");
}

static void print_numbers(const json_t *list) {
        const json_t *number;
        size_t i;

        json_array_foreach(list, i, number)
                printf("%s%" JSON_INTEGER_FORMAT, i ? "," : "(", json_integer_value(number));
        if (json_array_size(list) > 0)
                putchar(')');
}

static void print_value(const json_t *value, const TextColumn *column) {
        if (json_is_array(value))
                print_numbers(value);
        else if (json_is_string(value))
                printf("%*s", column->width, json_string_value(value));
        else if (json_is_number(value))
                printf("%*.*f", column->width, column->precision, json_number_value(value));
        else
                printf("%*s", column->width, "-");
}

void print_row(const char *kind, const json_t *row, bool timed) {
        const TextColumn *columns;
        size_t n;

        columns = find_columns(kind, &n);
        if (timed)
                printf("%6.0f ", json_number_value(json_object_get(row, "time")));
        for (size_t i = 0; i < n; i++) {
                print_value(json_object_get(row, columns[i].key), &columns[i]);
                putchar(i + 1 < n ? ' ' : '\n');
        }
}

void print_begin(const json_t *head) {
        const json_t *clock = json_object_get(head, "clock");

        printf("%s on CPUs %s in mode %s, kernel %s\nclock %s: %s%s\n", record_get(head, "measure"),
                record_get(head, "cpus"), record_get(head, "mode"), record_get(head, "kernel"),
                record_get(clock, "name"), record_get(clock, "why"),
                json_is_true(json_object_get(clock, "system_call")) ? "; reading it is a system call" : "");
}

/* Histograms */

/* 1, 2, 5, 10, …: the n-th of these, from a hundredth on. */
static double bar_from(unsigned n) {
        static const double steps[] = { 1, 2, 5 };
        unsigned decade = n == 0 ? 0 : (n - 1) / 3;

        return n == 0 ? 0 : steps[(n - 1) % 3] * pow(10, decade) / 100;
}

static unsigned bar_of(double value) {
        unsigned n = 0;

        while (n + 1 < BARS && bar_from(n + 1) <= value)
                n++;
        return n;
}

void print_histogram(FILE *file, const json_t *histogram) {
        double counts[BARS] = {}, most = 0;
        unsigned first = BARS, last = 0;
        const json_t *bucket;
        size_t i;

        json_array_foreach(histogram, i, bucket) {
                double from = json_number_value(json_object_get(bucket, "from_us"));
                double to = json_number_value(json_object_get(bucket, "to_us"));
                unsigned bar = bar_of((from + to) / 2);

                counts[bar] += json_number_value(json_object_get(bucket, "count"));
                most = fmax(most, counts[bar]);
                first = bar < first ? bar : first;
                last = bar > last ? bar : last;
        }
        if (first > last)
                return;
        fprintf(file, "%12s %12s\n", "FROM US", "COUNT");
        for (unsigned bar = first; bar <= last; bar++) {
                int width =
                        counts[bar] > 0 ? 1 + (int) (log(counts[bar]) / log(most + 1) * (BAR_WIDTH - 1)) : 0;

                fprintf(file, "%12g %12.0f%s%.*s\n", bar_from(bar), counts[bar], width ? " " : "", width,
                        "################################################");
        }
}

/* The whole */

static void print_doubts(const json_t *record) {
        const json_t *row;
        size_t i;

        if (json_is_false(json_object_get(record, "memory_locked")))
                printf("memory could not be locked: page faults may be among what was measured\n");
        json_array_foreach(json_object_get(record, "rows"), i, row) {
                double faults = json_number_value(json_object_get(row, "faults"));

                if (json_is_false(json_object_get(row, "complete")))
                        printf("CPU %.0f: its thread did not get to the end\n",
                                json_number_value(json_object_get(row, "cpu")));
                if (faults > 0)
                        printf("CPU %.0f: %.0f page faults were the measuring thread's own\n",
                                json_number_value(json_object_get(row, "cpu")), faults);
        }
}

void print_report(const json_t *record, bool each) {
        const char *kind = record_get(record, "measure");
        const json_t *row;
        size_t i;

        printf("\n%.1f s%s\n", json_number_value(json_object_get(record, "seconds")),
                json_is_true(json_object_get(record, "interrupted")) ? ", interrupted" : "");
        print_headings(kind, false);
        json_array_foreach(json_object_get(record, "rows"), i, row) print_row(kind, row, false);
        print_doubts(record);
        if (json_array_size(json_object_get(json_object_get(record, "all"), "histogram")) > 0)
                putchar('\n');
        print_histogram(stdout, json_object_get(json_object_get(record, "all"), "histogram"));
        json_array_foreach(json_object_get(record, "rows"), i, row) {
                if (!each || json_array_size(json_object_get(row, "histogram")) == 0)
                        continue;
                printf("\nCPU %.0f\n", json_number_value(json_object_get(row, "cpu")));
                print_histogram(stdout, json_object_get(row, "histogram"));
        }
}

/* Side by side */

static void print_ratio(const char *cpu, const Figure *figure, const json_t *first, const json_t *second,
        const json_t *ratio) {
        const json_t *value = json_object_get(ratio, figure->key);

        printf("%-5s %-16s %14.3f %14.3f ", cpu, figure->name,
                json_number_value(json_object_get(first, figure->key)),
                json_number_value(json_object_get(second, figure->key)));
        if (json_is_number(value))
                printf("%10.3f\n", json_number_value(value));
        else
                printf("%10s\n", "-");
}

static void print_ratios(
        const char *kind, const char *cpu, const json_t *first, const json_t *second, const json_t *ratio) {
        const Figure *figures;
        size_t n;

        figures = report_figures(kind, &n);
        for (size_t i = 0; i < n; i++)
                print_ratio(i == 0 ? cpu : "", &figures[i], first, second, ratio);
}

void print_compare(const json_t *record, bool each) {
        const json_t *first = json_array_get(json_object_get(record, "compare"), 0);
        const json_t *second = json_array_get(json_object_get(record, "compare"), 1);
        const json_t *ratio = json_object_get(record, "ratio"), *row;
        const char *kind = record_get(record, "measure");
        size_t i;

        printf("\n%-5s %-16s %14.14s %14.14s %10s\n", "CPU", "", record_get(first, "mode"),
                record_get(second, "mode"), "RATIO");
        print_ratios(kind, "all", json_object_get(first, "all"), json_object_get(second, "all"),
                json_object_get(ratio, "all"));
        json_array_foreach(json_object_get(ratio, "rows"), i, row) {
                char cpu[16];

                if (!each || !json_object_get(row, "cpu"))
                        continue;
                (void) snprintf(cpu, sizeof(cpu), "%.0f", json_number_value(json_object_get(row, "cpu")));
                print_ratios(kind, cpu, json_array_get(json_object_get(first, "rows"), i),
                        json_array_get(json_object_get(second, "rows"), i), row);
        }
}
