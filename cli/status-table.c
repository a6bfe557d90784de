/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status-table.h"

#include <time.h>

#include "text.h"

/* What people have in front of them; and where the text behind a mark begins. */
#define WIDTH 80
#define INDENT 10

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

/* How wide a text is on a terminal, as far as bytes tell. */
static size_t text_width(const char *text) {
        size_t n = 0;

        for (; *text; text++)
                n += ((unsigned char) *text & 0xc0) != 0x80;
        return n;
}

/* Prints lines that are broken at blanks; what has no blank is not broken. */
static void print_wrapped(const char *text) {
        size_t column = 0;

        while (*text) {
                size_t n = strcspn(text, " ");
                _cleanup_free_ char *word = strndup(text, n);
                size_t width = text_width(word ?: "");

                if (column > 0 && column + 1 + width > WIDTH) {
                        putchar('\n');
                        column = 0;
                }
                if (column == 0)
                        column = (size_t) printf("%*s", INDENT, "");
                else {
                        putchar(' ');
                        column++;
                }
                fputs(word ?: "", stdout);
                column += width;
                text += n;
                text += strspn(text, " ");
        }
        putchar('\n');
}

/* `2-15,34-47`, or how many they are where that would be long. */
static int cpus_in_short(const CpuList *cpus, char **ret) {
        _cleanup_free_ char *text = NULL;
        int r = cpulist_format(cpus, &text);

        if (r < 0)
                return r;
        if (strlen(text) > 20)
                return util_asprintf(ret, "%zu CPUs", cpulist_count(cpus));
        return util_asprintf(ret, "CPU %s", *text ? text : "-");
}

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
                /* What drifted is counted as a step. */
                bool counts = !severity ||
                        (streq(record_get(finding, "severity"), severity) &&
                                !streq(record_get(finding, "code"), "drifted"));

                n += counts && json_is_true(json_object_get(finding, "accepted")) == accepted;
        }
        return n;
}

/* `06:12` for today, else with the day; local time.  "" where it is not known. */
static void format_since(const json_t *record, char text[static 40]) {
        struct tm tm = {}, today;
        time_t then, now = time(NULL);

        *text = '\0';
        if (!strptime(record_get(record, "since"), "%Y-%m-%dT%H:%M:%S", &tm))
                return;
        then = timegm(&tm);
        if (!localtime_r(&then, &tm) || !localtime_r(&now, &today))
                return;
        (void) strftime(text, 40,
                tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday ? "  since %H:%M"
                                                                           : "  since %F %H:%M",
                &tm);
}

/* `DRIFTED 1`, `ERRORS 2`: in the heading only where there are any. */
static int print_count(const Output *out, const char *word, size_t n, const char *colour) {
        char text[64];

        if (n == 0)
                return 0;
        (void) snprintf(text, sizeof(text), "%s %zu", word, n);
        printf("  ");
        print_coloured(out, colour, text);
        return 2 + (int) strlen(text);
}

/* `6.12.117  since 06:12 by ops`, on a line of its own where the first is full. */
static void print_kernel(const Output *out, int column) {
        _cleanup_free_ char *text = NULL;
        SHOW(kernel, out->record, "kernel");
        SHOW(by, out->record, "by");
        char since[40];
        bool named = *record_get(out->record, "by");

        format_since(out->record, since);
        if (util_asprintf(&text, "%s%s%s%s", kernel, since, named ? " by " : "", named ? by : "") < 0)
                return;
        printf("%s%s\n", (size_t) column + 3 + text_width(text) > WIDTH ? "\n" : "   ", text);
}

/* nfv07  dpdk  DRIFTED 1  degraded 1   6.12.117  since 06:12 by ops */
static void print_heading(const Output *out) {
        size_t drifted = count_state(out->record, "drifted");
        size_t errors = count_findings(out->record, "error", false);
        size_t degraded = count_state(out->record, "boot") + count_state(out->record, "unsupported") +
                count_state(out->record, "refused");
        SHOW(host, out->record, "host");
        SHOW(mode, out->record, "mode");
        int column;

        column = printf("%s  %s", host, mode);
        if (drifted + errors == 0) {
                printf("  ");
                print_coloured(out, record_colour("runtime"), "ok");
                column += 4;
        }
        column += print_count(out, "DRIFTED", drifted, record_colour("drifted"));
        column += print_count(out, "ERRORS", errors, record_colour("error"));
        column += print_count(out, "degraded", degraded, NULL);
        column += print_count(out, "accepted", count_findings(out->record, NULL, true), NULL);
        print_kernel(out, column);
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

/* A number and its unit, or what null is shown as. */
static json_t *unit_text(const json_t *set, const char *key, const char *unit) {
        const json_t *value = json_object_get(set, key);
        char text[64];

        (void) snprintf(text, sizeof(text), "%.0f %s", json_number_value(value), unit);
        return json_is_number(value) ? json_string(text) : json_null();
}

/* The set's row: what is nested or has a unit is put into words. */
static json_t *set_row(const json_t *set) {
        const json_t *nohz = json_object_get(set, "nohz"), *busy = json_object_get(set, "busy");
        json_t *row = json_copy((json_t *) set);
        char text[64];

        if (!row)
                return NULL;
        if (strlen(record_get(set, "cpus")) > 20) {
                (void) snprintf(text, sizeof(text), "%lld CPUs",
                        (long long) json_integer_value(json_object_get(set, "count")));
                if (json_object_set_new(row, "cpus", json_string(text)) < 0) {
                        json_decref(row);
                        return NULL;
                }
        }
        (void) snprintf(text, sizeof(text), json_is_null(busy) ? "-" : "%lld/%lld",
                (long long) json_integer_value(busy),
                (long long) json_integer_value(json_object_get(set, "count")));
        if (json_object_set_new(row, "tick", json_string(record_get(nohz, "live"))) < 0 ||
                json_object_set_new(row, "busy_text", json_string(text)) < 0 ||
                json_object_set_new(row, "stolen_text", unit_text(set, "stolen_us_per_second", "us/s")) <
                        0 ||
                json_object_set_new(row, "worst_text", unit_text(set, "worst_us", "us")) < 0) {
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
                { "STOLEN", "stolen_text", COLUMN_RIGHT },
                { "WORST", "worst_text", COLUMN_RIGHT },
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

/* `irq/37/affinity eth0-rx-1`; its width. */
static int print_step(const json_t *step) {
        SHOW(id, step, "id");
        SHOW(name, step, "name");

        return printf(
                "%s%s%s", id, *record_get(step, "name") ? " " : "", *record_get(step, "name") ? name : "");
}

static void print_drifted(const Output *out) {
        SHOW(mode, out->record, "mode");
        const json_t *step;
        size_t i, n = 0;

        json_array_foreach(json_object_get(out->record, "steps"), i, step) {
                SHOW(wanted, step, "wanted");
                SHOW(live, step, "live");
                SHOW(writer, step, "writer");
                _cleanup_free_ char *values = NULL;

                if (!streq(record_get(step, "state"), "drifted") || (n++ >= SHOWN_MAX && !out->verbose))
                        continue;
                print_mark(out, "!!", "DRIFT", record_colour("drifted"));
                if (util_asprintf(&values, "wanted %s  live %s", wanted,
                            json_is_null(json_object_get(step, "live")) ? "gone" : live) < 0)
                        return;
                printf("%s%s\n          ",
                        (size_t) print_step(step) + 2 + text_width(values) > WIDTH - INDENT ? "\n          "
                                                                                            : "  ",
                        values);
                if (*record_get(step, "writer"))
                        printf("writer: %s   ", writer);
                printf("fix: rtisoctl mode %s\n", mode);
        }
        if (!out->verbose)
                print_more(n, "that drifted");
}

/* Does the site live with it? */
static bool step_is_accepted(const Output *out, const json_t *step) {
        const json_t *finding;
        size_t i;

        json_array_foreach(json_object_get(out->record, "findings"), i, finding) {
                const char *id = util_startswith(record_get(finding, "id"), "boot-only:");

                if (id && streq(id, record_get(step, "id")))
                        return json_is_true(json_object_get(finding, "accepted"));
        }
        return false;
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
                                step_is_accepted(out, step) || (!out->verbose && !step_leads(steps, i, &n)))
                                continue;
                        print_mark(out, "!", words[w].word, record_colour(words[w].state));
                        print_step(step);
                        if (n > 1)
                                printf(" and %zu more", n - 1);
                        putchar('\n');
                        print_wrapped(reason);
                }
}

/* What is shown among the steps, or is accepted. */
static bool finding_is_hidden(const json_t *finding) {
        const char *code = record_get(finding, "code");

        return json_is_true(json_object_get(finding, "accepted")) || streq(code, "drifted") ||
                streq(code, "boot-only");
}

/* Is this the first that is shown of its kind?  Then *ret_n says how many there are, on which CPUs. */
static bool finding_leads(const json_t *findings, size_t index, size_t *ret_n, CpuList *ret_cpus) {
        const json_t *first = json_array_get(findings, index), *finding;
        size_t i, n = 0;

        json_array_foreach(findings, i, finding) {
                _cleanup_cpulist_ CpuList cpus = {};

                if (!streq(record_get(finding, "code"), record_get(first, "code")) ||
                        finding_is_hidden(finding))
                        continue;
                if (i < index)
                        return false;
                n++;
                if (cpulist_parse(record_get(finding, "cpus"), &cpus, NULL) == 0)
                        (void) cpulist_union(ret_cpus, &cpus);
        }
        *ret_n = n;
        return true;
}

static void print_fix(const json_t *finding) {
        _cleanup_free_ char *line = NULL;
        SHOW(fix, finding, "fix");

        /* A command is taken as it is. */
        if (!json_is_null(json_object_get(finding, "command")))
                printf("%*sfix: %s\n", INDENT, "", fix);
        else if (util_asprintf(&line, "fix: %s", fix) == 0)
                print_wrapped(line);
}

static void print_finding(const Output *out, const json_t *finding, size_t n, const CpuList *cpus) {
        const char *severity = record_get(finding, "severity");
        bool error = streq(severity, "error"), info = streq(severity, "info");
        SHOW(subject, finding, "subject");
        SHOW(why, finding, "why");
        _cleanup_free_ char *where = NULL;

        if (cpus_in_short(cpus, &where) < 0)
                return;
        print_mark(out,
                error          ? "!!"
                        : info ? "-"
                               : "!",
                error          ? "ERROR"
                        : info ? "INFO"
                               : "WARN",
                record_colour(severity));
        printf("%s  %s", where, subject);
        if (n > 1)
                printf(" and %zu more", n - 1);
        putchar('\n');
        print_wrapped(why);
        print_fix(finding);
        if (n > 1 && !json_is_null(json_object_get(finding, "command")))
                printf("%*sand so on: -v tells the commands of the others\n", INDENT, "");
}

/* How many of its kind are shown before this one. */
static size_t count_before(const json_t *findings, size_t index) {
        const json_t *one = json_array_get(findings, index);
        size_t n = 0;

        for (size_t i = 0; i < index; i++) {
                const json_t *finding = json_array_get(findings, i);

                n += !finding_is_hidden(finding) &&
                        streq(record_get(finding, "code"), record_get(one, "code"));
        }
        return n;
}

/* With -v each by itself, as far as anybody reads on. */
static void print_each(const Output *out, const json_t *findings, size_t index) {
        const json_t *finding = json_array_get(findings, index);
        _cleanup_cpulist_ CpuList cpus = {};
        size_t before = count_before(findings, index);

        if (before == SHOWN_MAX)
                printf("%*sand more of this kind: --json has them all\n", INDENT, "");
        if (before < SHOWN_MAX && cpulist_parse(record_get(finding, "cpus"), &cpus, NULL) == 0)
                print_finding(out, finding, 1, &cpus);
}

static void print_findings(const Output *out) {
        const json_t *findings = json_object_get(out->record, "findings"), *finding;
        size_t i;

        json_array_foreach(findings, i, finding) {
                _cleanup_cpulist_ CpuList cpus = {};
                size_t n = 1;

                if (finding_is_hidden(finding))
                        continue;
                if (out->verbose)
                        print_each(out, findings, i);
                else if (finding_leads(findings, i, &n, &cpus))
                        print_finding(out, finding, n, &cpus);
        }
}

/* What nobody, or not this user, can see; without -v one line, so that nobody takes silence for quiet. */
static void print_unseen(const Output *out) {
        const json_t *list = json_object_get(out->record, "unseen"), *item;
        _cleanup_free_ char *line = strdup("not seen:");
        size_t i;

        json_array_foreach(list, i, item) {
                _cleanup_free_ char *before = TAKE_PTR(line);

                if (!before ||
                        util_asprintf(&line, "%s%s %s", before, i > 0 ? ";" : "", json_string_value(item)) <
                                0)
                        return;
        }
        if (i > 0 && line) {
                print_mark(out, "-", "HIDDEN", NULL);
                putchar('\n');
                print_wrapped(line);
        }
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
        print_unseen(&out);
        if (list_cpus)
                r = status_print_cpus(record, colour);
        print_footing(&out, exit_code, list_cpus);
        return r;
}
