/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "explain.h"

#define WIDTH 80
#define INDENT 12

#define CAUSES_SHOWN 3
/* Without -v a culprit is shown that took this part of what was taken from the CPU, and the first few in any case. */
#define SHARE_SHOWN 0.01
#define CULPRITS_SHOWN 3

/* A time in the unit that people would give it in. */
static void format_usec(double usec, char *ret, size_t size) {
        if (usec >= 1e6)
                (void) snprintf(ret, size, "%.2f s", usec / 1e6);
        else if (usec >= 1e4)
                (void) snprintf(ret, size, "%.1f ms", usec / 1e3);
        else
                (void) snprintf(ret, size, usec < 10 ? "%.1f us" : "%.0f us", usec);
}

static void show_usec(const json_t *record, const char *key, char *ret, size_t size) {
        const json_t *value = json_object_get(record, key);

        if (json_is_number(value))
                format_usec(json_number_value(value), ret, size);
        else
                (void) snprintf(ret, size, "-");
}

/* Words in lines of the screen's width behind a label. */
static void print_wrapped(const char *label, const char *text) {
        int column = printf("%*s%s", INDENT, "", label);
        int left = column;

        for (const char *word = text ?: ""; *word;) {
                int length = (int) strcspn(word, " ");

                if (column > left && column + 1 + length > WIDTH) {
                        printf("\n%*s", left, "");
                        column = left;
                } else if (column > left)
                        column += printf(" ");
                column += printf("%.*s", length, word);
                word += length;
                word += strspn(word, " ");
        }
        putchar('\n');
}

static int print_causes(const json_t *culprit) {
        const json_t *causes = json_object_get(culprit, "causes"), *cause;
        const char *label = streq(record_get(culprit, "kind"), "tick") ? "why:  " : "by:   ";
        _cleanup_free_ char *text = NULL;
        size_t i;

        json_array_foreach(causes, i, cause) {
                _cleanup_free_ char *what = NULL, *longer = NULL;
                int r;

                if (i == CAUSES_SHOWN)
                        break;
                r = record_show(cause, "what", &what);
                r = r
                        ?: util_asprintf(&longer, "%s%s%s (%lld)", text ?: "", text ? ", " : "", what,
                                   (long long) json_integer_value(json_object_get(cause, "count")));
                if (r < 0)
                        return r;
                free(text);
                text = TAKE_PTR(longer);
        }
        if (text)
                print_wrapped(label, text);
        return 0;
}

static int print_culprit(const json_t *culprit, bool colour) {
        bool own = json_is_true(json_object_get(culprit, "own"));
        _cleanup_free_ char *name = NULL, *fix = NULL;
        char stolen[32], worst[32];
        int r = record_show(culprit, "name", &name);

        r = r ?: record_show(culprit, "fix", &fix);
        if (r < 0)
                return r;
        show_usec(culprit, "stolen_us", stolen, sizeof(stolen));
        show_usec(culprit, "worst_us", worst, sizeof(worst));
        printf("%10s %10.1f/s %10s  %s%s %s%s%s\n", stolen,
                json_real_value(json_object_get(culprit, "per_second")), worst,
                colour && !own ? "\033[1m" : "", record_get(culprit, "kind"),
                streq(record_get(culprit, "kind"), "tick") ? "" : name, own ? " (the workload's own)" : "",
                colour && !own ? "\033[0m" : "");
        r = print_causes(culprit);
        if (r == 0)
                print_wrapped("do:   ", fix);
        return r;
}

static int print_culprits(const json_t *cpu, bool verbose, bool colour) {
        double least = SHARE_SHOWN * json_real_value(json_object_get(cpu, "stolen_us"));
        const json_t *list = json_object_get(cpu, "culprits"), *culprit;
        size_t i, left_out = 0;

        if (json_array_size(list) > 0)
                printf("%10s %12s %10s  %s\n", "TIME", "RATE", "WORST", "WHAT");
        json_array_foreach(list, i, culprit) {
                const json_t *stolen = json_object_get(culprit, "stolen_us");
                int r;

                if (!verbose && i >= CULPRITS_SHOWN && json_is_real(stolen) &&
                        json_real_value(stolen) < least) {
                        left_out++;
                        continue;
                }
                r = print_culprit(culprit, colour);
                if (r < 0)
                        return r;
        }
        if (left_out > 0)
                printf("%*s%zu more that took little: -v\n", INDENT, "", left_out);
        return 0;
}

static int print_cpu(const json_t *cpu, double seconds, bool verbose, bool colour) {
        const json_t *workload = json_object_get(cpu, "workload");
        long long lost = json_integer_value(json_object_get(cpu, "lost"));
        double stolen_usec = json_real_value(json_object_get(cpu, "stolen_us"));
        char stolen[32], worst[32], ran[32];
        int r;

        show_usec(cpu, "stolen_us", stolen, sizeof(stolen));
        show_usec(cpu, "worst_us", worst, sizeof(worst));
        printf("\nCPU %lld", (long long) json_integer_value(json_object_get(cpu, "cpu")));
        if (*record_get(cpu, "set"))
                printf("  %s", record_get(cpu, "set"));
        if (json_is_object(workload)) {
                _cleanup_free_ char *comm = NULL;

                r = record_show(workload, "comm", &comm);
                if (r < 0)
                        return r;
                show_usec(workload, "ran_us", ran, sizeof(ran));
                printf("  %s ran %s", comm, ran);
        } else
                printf("  no workload");
        printf("  stolen %s (%.2f%%)  worst %s", stolen, seconds > 0 ? stolen_usec / seconds / 1e4 : 0.0,
                worst);
        if (lost > 0)
                printf("  %lld events lost", lost);
        putchar('\n');
        return print_culprits(cpu, verbose, colour);
}

int explain_print(const json_t *record, bool verbose, bool colour) {
        double seconds = json_real_value(json_object_get(record, "seconds"));
        _cleanup_free_ char *host = NULL, *mode = NULL, *kernel = NULL;
        const json_t *cpu;
        size_t i;
        int r = record_show(record, "host", &host);

        r = r ?: record_show(record, "mode", &mode);
        r = r ?: record_show(record, "kernel", &kernel);
        if (r < 0)
                return r;
        printf("%s  %s  watched for %.1f s   %s\n", host, mode, seconds, kernel);
        json_array_foreach(json_object_get(record, "cpus"), i, cpu) {
                r = print_cpu(cpu, seconds, verbose, colour);
                if (r < 0)
                        return r;
        }
        return 0;
}
