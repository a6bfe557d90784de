/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "status-table.h"
#include "text.h"

/* OpenMetrics text that is also the older Prometheus text: all are gauges (what is counted since the mode began starts
 * anew with each mode), since the two write counters in ways that the other does not read. */

static void head(const char *name, const char *help) {
        printf("# HELP rtisol_%s %s\n# TYPE rtisol_%s gauge\n", name, help, name);
}

/* A label's value: backslash, quote and newline are escaped, and what is no UTF-8. */
static void print_label(const char *name, const char *value, bool first) {
        _cleanup_free_ char *valid = NULL;

        if (text_utf8(value, &valid) < 0)
                return;
        printf("%s%s=\"", first ? "" : ",", name);
        for (const char *p = valid; *p; p++)
                if (*p == '\n')
                        fputs("\\n", stdout);
                else if (*p == '"' || *p == '\\')
                        printf("\\%c", *p);
                else
                        putchar(*p);
        putchar('"');
}

static void sample1(const char *name, const char *label, const char *value, double number) {
        printf("rtisol_%s{", name);
        print_label(label, value, true);
        printf("} %.15g\n", number);
}

static void sample2(const char *name, const char *label, const char *value, const char *label2,
        const char *value2, double number) {
        printf("rtisol_%s{", name);
        print_label(label, value, true);
        print_label(label2, value2, false);
        printf("} %.15g\n", number);
}

static double since_seconds(const json_t *record) {
        struct tm tm = {};

        return strptime(record_get(record, "since"), "%Y-%m-%dT%H:%M:%S", &tm) ? (double) timegm(&tm) : 0;
}

static void print_mode(const json_t *record, int exit_code) {
        head("mode_info", "The mode in force; the value is always 1.");
        sample2("mode_info", "mode", record_get(record, "mode"), "by", record_get(record, "by"), 1);
        head("mode_since_timestamp_seconds", "When it was entered; 0 where nothing is in force.");
        printf("rtisol_mode_since_timestamp_seconds %.15g\n", since_seconds(record));
        head("status",
                "The exit code of rtisoctl status: 0 all required parts hold, 3 drifted, 8 a finding of "
                "severity "
                "error.");
        printf("rtisol_status %d\n", exit_code);
        head("daemon_running", "Is rtisold running?");
        printf("rtisol_daemon_running %d\n", json_is_true(json_object_get(record, "daemon")));
}

static void print_steps(const json_t *record) {
        static const char *const states[] = { "ok", "drifted", "boot", "unsupported", "refused" };
        const json_t *step;
        size_t i;

        head("steps", "Steps of the mode, by how they stand.");
        for (size_t s = 0; s < ARRAY_SIZE(states); s++) {
                double n = 0;

                json_array_foreach(json_object_get(record, "steps"), i, step) n +=
                        streq(record_get(step, "state"), states[s]);
                sample1("steps", "state", states[s], n);
        }
}

/* Is there an earlier one of its kind? */
static bool is_repeated(const json_t *findings, size_t index) {
        for (size_t i = 0; i < index; i++)
                if (streq(record_get(json_array_get(findings, i), "code"),
                            record_get(json_array_get(findings, index), "code")))
                        return true;
        return false;
}

static double count_code(const json_t *findings, const char *key, const char *value, bool accepted) {
        const json_t *finding;
        double n = 0;
        size_t i;

        json_array_foreach(findings, i, finding) n += streq(record_get(finding, key), value) &&
                json_is_true(json_object_get(finding, "accepted")) == accepted;
        return n;
}

static void print_findings(const json_t *record) {
        static const char *const severities[] = { "error", "warning", "info" };
        const json_t *findings = json_object_get(record, "findings"), *finding;
        size_t i;

        head("findings", "What disturbs isolated CPUs and is not accepted, by severity.");
        for (size_t s = 0; s < ARRAY_SIZE(severities); s++)
                sample1("findings", "severity", severities[s],
                        count_code(findings, "severity", severities[s], false));
        head("findings_of_kind",
                "The same by kind, as rtisol-findings(7) has them, and those that are accepted.");
        json_array_foreach(findings, i, finding) {
                const char *code = record_get(finding, "code");

                if (is_repeated(findings, i))
                        continue;
                for (int accepted = 0; accepted < 2; accepted++)
                        sample2("findings_of_kind", "code", code, "accepted", accepted ? "true" : "false",
                                count_code(findings, "code", code, accepted));
        }
}

/* One number of each set; a set that lacks it has no line. */
static void print_set_numbers(
        const json_t *record, const char *name, const char *key, double scale, const char *help) {
        const json_t *set;
        size_t i;

        head(name, help);
        json_array_foreach(json_object_get(record, "sets"), i, set) {
                const json_t *value = json_object_get(set, key);

                if (json_is_number(value))
                        sample1(name, "set", record_get(set, "name"), json_number_value(value) * scale);
        }
}

static void print_sets(const json_t *record) {
        const json_t *set;
        size_t i;

        print_set_numbers(record, "set_cpus", "count", 1, "CPUs of the set.");
        print_set_numbers(
                record, "set_busy_cpus", "busy", 1, "CPUs of the set that are busy most of the time.");
        print_set_numbers(record, "set_interrupts_per_second", "irqs_per_second", 1,
                "Interrupts of all CPUs of the set, their timers' too.");
        print_set_numbers(record, "set_stolen_seconds_per_second", "stolen_us_per_second", 1e-6,
                "Time taken from what runs on the set's CPUs, as far as the kernel counts it.");
        head("set_isolated", "Does the set's partition hold?");
        json_array_foreach(json_object_get(record, "sets"), i, set) sample1(
                "set_isolated", "set", record_get(set, "name"), !*record_get(set, "partition_reason"));
}

static void print_cpus(const json_t *record) {
        const json_t *cpus = json_object_get(record, "cpus"), *cpu;
        _cleanup_cpulist_ CpuList quiet = {};
        char number[16];
        size_t i;

        (void) cpulist_parse(record_get(record, "quiet"), &quiet, NULL);
        head("cpu_quiet", "Does nothing that is found disturb the isolated CPU?");
        json_array_foreach(cpus, i, cpu) {
                json_int_t n = json_integer_value(json_object_get(cpu, "cpu"));

                (void) snprintf(number, sizeof(number), "%lld", (long long) n);
                sample2("cpu_quiet", "cpu", number, "set", record_get(cpu, "set"),
                        cpulist_has(&quiet, (unsigned) n));
        }
        head("cpu_timer_interrupts_per_second", "Interrupts of the isolated CPU's own timer.");
        json_array_foreach(cpus, i, cpu) {
                const json_t *rate = json_object_get(json_object_get(cpu, "tick"), "per_second");

                (void) snprintf(number, sizeof(number), "%lld",
                        (long long) json_integer_value(json_object_get(cpu, "cpu")));
                if (json_is_number(rate))
                        sample1("cpu_timer_interrupts_per_second", "cpu", number, json_number_value(rate));
        }
}

static void print_softirqs(const json_t *record) {
        const json_t *cpu;
        const char *name;
        json_t *value;
        size_t i;

        head("cpu_softirqs", "Softirqs of the isolated CPU since the mode began.");
        json_array_foreach(json_object_get(record, "cpus"), i, cpu) {
                char number[16];

                (void) snprintf(number, sizeof(number), "%lld",
                        (long long) json_integer_value(json_object_get(cpu, "cpu")));
                json_object_foreach(json_object_get(cpu, "softirqs"), name, value) sample2(
                        "cpu_softirqs", "cpu", number, "kind", name, (double) json_integer_value(value));
        }
}

int status_print_metrics(const json_t *record, int exit_code) {
        print_mode(record, exit_code);
        print_steps(record);
        print_findings(record);
        print_sets(record);
        print_cpus(record);
        print_softirqs(record);
        return puts("# EOF") < 0 ? -EIO : 0;
}
