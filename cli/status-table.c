/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status-table.h"

#include <time.h>

#include "text.h"

/* How many lines of one kind are shown without -v. */
#define SHOWN_MAX 8u

typedef struct Output {
        const json_t *record;
        bool verbose, colour;
} Output;

/* A member as people see it; "?" for lack of memory, which the next allocation will tell. */
static char *show(const json_t *record, const char *key) {
        char *text = NULL;

        return record_show(record, key, &text) < 0 ? NULL : text;
}
#define SHOW(name, record, key) _cleanup_free_ char *name = show((record), (key))

static void print_coloured(const Output *out, const char *colour, const char *text) {
        if (out->colour && colour)
                printf("%s%s\033[0m", colour, text);
        else
                fputs(text, stdout);
}

static size_t count_state(const json_t *record, const char *state) {
        const json_t *step;
        size_t i, n = 0;

        json_array_foreach(json_object_get(record, "steps"), i, step) n +=
                streq(record_get(step, "state"), state);
        return n;
}

/* Findings of a severity (NULL: of any) that are accepted, or are not. */
static size_t count_findings(const json_t *record, const char *severity, bool accepted) {
        const json_t *finding;
        size_t i, n = 0;

        json_array_foreach(json_object_get(record, "findings"), i, finding) {
                bool counts = !severity || streq(record_get(finding, "severity"), severity);

                n += counts && json_is_true(json_object_get(finding, "accepted")) == accepted;
        }
        return n;
}

/* `06:12` for today, else with the day; local time. */
static void print_since(const json_t *record) {
        struct tm tm = {}, today;
        time_t then, now = time(NULL);
        char text[32];

        if (!strptime(record_get(record, "since"), "%Y-%m-%dT%H:%M:%S", &tm))
                return;
        then = timegm(&tm);
        if (!localtime_r(&then, &tm) || !localtime_r(&now, &today))
                return;
        (void) strftime(text, sizeof(text),
                tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday ? "%H:%M" : "%F %H:%M", &tm);
        printf("  since %s", text);
}

/* `DRIFTED 1`, `ERRORS 2`: in the heading only where there are any. */
static void print_count(const Output *out, const char *word, size_t n, const char *colour) {
        char text[64];

        if (n == 0)
                return;
        (void) snprintf(text, sizeof(text), "%s %zu", word, n);
        printf("  ");
        print_coloured(out, colour, text);
}

/* nfv07  dpdk  DRIFTED 1  degraded 1   6.12.117  since 06:12 by ops */
static void print_heading(const Output *out) {
        size_t drifted = count_state(out->record, "drifted");
        size_t errors = count_findings(out->record, "error", false);
        size_t degraded = count_state(out->record, "boot") + count_state(out->record, "unsupported") +
                count_state(out->record, "refused");
        SHOW(host, out->record, "host");
        SHOW(mode, out->record, "mode");
        SHOW(kernel, out->record, "kernel");
        SHOW(by, out->record, "by");

        printf("%s  %s", host, mode);
        if (drifted + errors == 0) {
                printf("  ");
                print_coloured(out, record_colour("runtime"), "ok");
        }
        print_count(out, "DRIFTED", drifted, record_colour("drifted"));
        print_count(out, "ERRORS", errors, record_colour("error"));
        print_count(out, "degraded", degraded, NULL);
        print_count(out, "accepted", count_findings(out->record, NULL, true), NULL);
        printf("   %s", kernel);
        print_since(out->record);
        if (*record_get(out->record, "by"))
                printf(" by %s", by);
        putchar('\n');
}

static void print_machine(const Output *out) {
        const json_t *vectors = json_object_get(out->record, "irq_vectors");
        SHOW(housekeeping, out->record, "housekeeping");
        SHOW(load, out->record, "load_percent");

        printf("housekeeping %s", housekeeping);
        if (!json_is_null(json_object_get(out->record, "load_percent")))
                printf("   load %s%%", load);
        if (json_is_object(vectors)) {
                SHOW(used, vectors, "used");
                SHOW(total, vectors, "total");

                printf("   irq vectors %s/%s", used, total);
        }
        if (!json_is_true(json_object_get(out->record, "daemon")))
                printf("   no daemon");
        putchar('\n');
}

/* The set's row: what is nested or has a unit is put into words. */
static json_t *set_row(const json_t *set) {
        const json_t *nohz = json_object_get(set, "nohz"), *busy = json_object_get(set, "busy");
        json_t *row = json_copy((json_t *) set);
        char text[64];

        if (!row)
                return NULL;
        (void) snprintf(text, sizeof(text), json_is_null(busy) ? "-" : "%lld/%lld",
                (long long) json_integer_value(busy),
                (long long) json_integer_value(json_object_get(set, "count")));
        if (json_object_set_new(row, "tick", json_string(record_get(nohz, "live"))) < 0 ||
                json_object_set_new(row, "busy_text", json_string(text)) < 0) {
                json_decref(row);
                return NULL;
        }
        return row;
}

static int print_sets(const Output *out) {
        static const Column columns[] = {
                { "SET", "name" },
                { "CPUS", "cpus" },
                { "NODE", "nodes" },
                { "PARTITION", "partition", COLUMN_STATE },
                { "TICK", "tick" },
                { "RT-THR", "rt_throttling" },
                { "IDLE", "idle" },
                { "BUSY", "busy_text", COLUMN_RIGHT },
                { "IRQ/s", "irqs_per_second", COLUMN_RIGHT },
                { "STOLEN", "stolen_us_per_second", COLUMN_RIGHT },
                { "WORST", "worst_us", COLUMN_RIGHT },
        };
        _cleanup_record_ json_t *rows = json_array();
        const json_t *set;
        size_t i;

        json_array_foreach(json_object_get(out->record, "sets"), i,
                set) if (json_array_append_new(rows, set_row(set)) < 0) return -ENOMEM;
        if (json_array_size(rows) > 0)
                putchar('\n');
        return record_print_table(rows, columns, ARRAY_SIZE(columns), out->colour);
}

/* `!! DRIFT  `, in colour and nine columns wide. */
static void print_mark(const Output *out, const char *mark, const char *word, const char *colour) {
        char text[32];

        (void) snprintf(text, sizeof(text), "%-2s %-6s ", mark, word);
        print_coloured(out, colour, text);
}

static void print_more(size_t n, const char *what) {
        if (n > SHOWN_MAX)
                printf("          and %zu more %s: -v shows them\n", n - SHOWN_MAX, what);
}

/* `irq/37/affinity eth0-rx-1` */
static void print_step(const json_t *step) {
        SHOW(id, step, "id");
        SHOW(name, step, "name");

        printf("%s", id);
        if (*record_get(step, "name"))
                printf(" %s", name);
}

static void print_drifted(const Output *out) {
        SHOW(mode, out->record, "mode");
        const json_t *step;
        size_t i, n = 0;

        json_array_foreach(json_object_get(out->record, "steps"), i, step) {
                SHOW(wanted, step, "wanted");
                SHOW(live, step, "live");
                SHOW(writer, step, "writer");

                if (!streq(record_get(step, "state"), "drifted") || (n++ >= SHOWN_MAX && !out->verbose))
                        continue;
                print_mark(out, "!!", "DRIFT", record_colour("drifted"));
                print_step(step);
                printf("  wanted %s  live %s\n          ", wanted,
                        json_is_null(json_object_get(step, "live")) ? "gone" : live);
                if (*record_get(step, "writer"))
                        printf("writer: %s   ", writer);
                printf("fix: rtisoctl mode %s\n", mode);
        }
        if (!out->verbose)
                print_more(n, "that drifted");
}

/* Is this the first step of its state and reason?  Then *ret_n says how many there are. */
static bool step_leads(const json_t *steps, size_t index, size_t *ret_n) {
        const json_t *first = json_array_get(steps, index), *step;
        size_t i, n = 0;

        json_array_foreach(steps, i, step) {
                if (!streq(record_get(step, "state"), record_get(first, "state")) ||
                        !streq(record_get(step, "reason"), record_get(first, "reason")))
                        continue;
                if (i < index)
                        return false;
                n++;
        }
        *ret_n = n;
        return true;
}

static void print_degraded(const Output *out) {
        static const struct {
                const char *state, *word;
        } words[] = { { "boot", "BOOT" }, { "unsupported", "UNSUPP" }, { "refused", "REFUSE" } };
        const json_t *steps = json_object_get(out->record, "steps"), *step;
        size_t i, n = 1;

        for (size_t w = 0; w < ARRAY_SIZE(words); w++)
                json_array_foreach(steps, i, step) {
                        SHOW(reason, step, "reason");

                        if (!streq(record_get(step, "state"), words[w].state) ||
                                (!out->verbose && !step_leads(steps, i, &n)))
                                continue;
                        print_mark(out, "!", words[w].word, record_colour(words[w].state));
                        print_step(step);
                        if (n > 1)
                                printf(" and %zu more", n - 1);
                        printf("\n          %s\n", reason);
                }
}

static bool finding_leads(const json_t *findings, size_t index, size_t *ret_n) {
        const json_t *first = json_array_get(findings, index), *finding;
        size_t i, n = 0;

        json_array_foreach(findings, i, finding) {
                if (!streq(record_get(finding, "code"), record_get(first, "code")))
                        continue;
                if (i < index)
                        return false;
                n++;
        }
        *ret_n = n;
        return true;
}

static void print_findings(const Output *out) {
        const json_t *findings = json_object_get(out->record, "findings"), *finding;
        size_t i, n = 1;

        json_array_foreach(findings, i, finding) {
                const char *severity = record_get(finding, "severity");
                bool error = streq(severity, "error"), info = streq(severity, "info");
                SHOW(subject, finding, "subject");
                SHOW(cpus, finding, "cpus");
                SHOW(why, finding, "why");
                SHOW(fix, finding, "fix");

                if (json_is_true(json_object_get(finding, "accepted")) ||
                        (!out->verbose && !finding_leads(findings, i, &n)))
                        continue;
                print_mark(out,
                        error          ? "!!"
                                : info ? "-"
                                       : "!",
                        error          ? "ERROR"
                                : info ? "INFO"
                                       : "WARN",
                        record_colour(severity));
                printf("CPU %s  %s", cpus, subject);
                if (n > 1)
                        printf(" and %zu more", n - 1);
                printf("\n          %s\n          fix: %s\n", why, fix);
        }
}

/* A row for each task and interrupt of each CPU listed. */
static int add_rows(json_t *rows, const json_t *cpu, const char *key, const char *kind) {
        const json_t *item;
        size_t i;

        json_array_foreach(json_object_get(cpu, key), i, item) {
                json_t *row = json_copy((json_t *) item);

                if (!row || json_object_set(row, "cpu", json_object_get(cpu, "cpu")) < 0 ||
                        json_object_set(row, "set", json_object_get(cpu, "set")) < 0 ||
                        json_object_set_new(row, "kind", json_string(kind)) < 0 ||
                        json_array_append_new(rows, row) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int print_cpu_rows(
        const Output *out, const char *key, const char *kind, const Column *columns, size_t n) {
        _cleanup_record_ json_t *rows = json_array();
        const json_t *cpu;
        size_t i;

        json_array_foreach(json_object_get(out->record, "cpus"), i, cpu) {
                int r = add_rows(rows, cpu, key, kind);

                if (r < 0)
                        return r;
        }
        if (json_array_size(rows) > 0)
                putchar('\n');
        return record_print_table(rows, columns, n, out->colour);
}

static int print_cpus(const Output *out) {
        static const Column cpus[] = { { "CPU", "cpu", COLUMN_RIGHT }, { "SET", "set" },
                { "NODE", "node", COLUMN_RIGHT }, { "SIBLINGS", "siblings" }, { "ONLINE", "online" } };
        static const Column tasks[] = { { "CPU", "cpu", COLUMN_RIGHT }, { "TASK", "comm" },
                { "TID", "tid", COLUMN_RIGHT }, { "KERNEL", "kernel" }, { "POLICY", "policy" },
                { "PRIO", "priority", COLUMN_RIGHT }, { "AFFINITY", "affinity" },
                { "EXPECTED", "expected" } };
        static const Column irqs[] = { { "CPU", "cpu", COLUMN_RIGHT }, { "IRQ", "irq", COLUMN_RIGHT },
                { "NAME", "name" }, { "AFFINITY", "affinity" }, { "EFFECTIVE", "effective" },
                { "MOVABLE", "movable" }, { "COUNT", "count", COLUMN_RIGHT } };
        const json_t *list = json_object_get(out->record, "cpus");
        int r;

        if (json_array_size(list) > 0)
                putchar('\n');
        r = record_print_table(list, cpus, ARRAY_SIZE(cpus), out->colour);
        if (r == 0)
                r = print_cpu_rows(out, "tasks", "task", tasks, ARRAY_SIZE(tasks));
        return r ?: print_cpu_rows(out, "irqs", "irq", irqs, ARRAY_SIZE(irqs));
}

static size_t count_cpus(const json_t *record, const char *key) {
        _cleanup_cpulist_ CpuList list = {};

        return cpulist_parse(record_get(record, key), &list, NULL) < 0 ? 0 : cpulist_count(&list);
}

/* quiet 55 of 56 CPUs   clock tsc   -v lists CPUs   exit 3 */
static void print_footing(const Output *out, int exit_code, bool list_cpus) {
        size_t isolated = count_cpus(out->record, "isolated");
        SHOW(clock, out->record, "clock");

        if (isolated > 0)
                printf("quiet %zu of %zu CPUs   ", count_cpus(out->record, "quiet"), isolated);
        printf("clock %s   %sexit %d\n", clock, list_cpus || isolated == 0 ? "" : "-v lists CPUs   ",
                exit_code);
}

int status_print(const json_t *record, int exit_code, bool verbose, bool list_cpus, bool colour) {
        Output out = { .record = record, .verbose = verbose, .colour = colour };
        int r;

        print_heading(&out);
        print_machine(&out);
        r = print_sets(&out);
        if (r < 0)
                return r;
        putchar('\n');
        print_drifted(&out);
        print_degraded(&out);
        print_findings(&out);
        if (list_cpus)
                r = print_cpus(&out);
        print_footing(&out, exit_code, list_cpus);
        return r;
}
