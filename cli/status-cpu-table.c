/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>

#include "status-table.h"

/* So many CPUs are listed one by one, with each of their threads; of more, what is alike is one row. */
#define EACH_MAX 4
/* Columns in front of one that is cut at the terminal's edge, and in a row that has none. */
#define CPUS_WIDTH 14
#define CPUS_NARROW 9
#define NAME_WIDTH 22

/* `nvme0q12` as `nvme0q*`, `mlx5_comp12@pci:0000:06:00.0` as `mlx5_comp*@pci:0000:06:00.0`: the last number before a
 * device's address, which tells one of a row from the other. */
static char *name_pattern(const char *name) {
        size_t end = strcspn(name, "@"), start;
        char *text = NULL;

        while (end > 0 && !isdigit((unsigned char) name[end - 1]))
                end--;
        start = end;
        while (start > 0 && isdigit((unsigned char) name[start - 1]))
                start--;
        /* What stands behind the number of a kernel worker's CPU is the work that it does just now. */
        if (util_startswith(name, "kworker/"))
                return strdup(name[strlen("kworker/")] == 'u' ? "kworker/u*" : "kworker/*");
        if (end == 0 || util_asprintf(&text, "%.*s*%s", (int) start, name, name + end) < 0)
                return strdup(name);
        return text;
}

static char *task_key(const json_t *task, bool each) {
        _cleanup_free_ char *pattern = name_pattern(record_get(task, "comm"));
        char *key = NULL;
        int r;

        if (each)
                r = util_asprintf(
                        &key, "%lld", (long long) json_integer_value(json_object_get(task, "tid")));
        else if (pattern)
                r = util_asprintf(&key, "%s|%s|%lld|%s", pattern, record_get(task, "policy"),
                        (long long) json_integer_value(json_object_get(task, "priority")),
                        record_get(task, "why"));
        else
                r = -ENOMEM;
        return r < 0 ? NULL : key;
}

static char *irq_key(const json_t *irq, bool each) {
        _cleanup_free_ char *pattern = name_pattern(record_get(irq, "name"));
        char *key = NULL;
        int r;

        if (each)
                r = util_asprintf(&key, "%lld", (long long) json_integer_value(json_object_get(irq, "irq")));
        else if (pattern)
                r = util_asprintf(&key, "%s|%d", pattern, json_is_true(json_object_get(irq, "movable")));
        else
                r = -ENOMEM;
        return r < 0 ? NULL : key;
}

/* What the numbers of two CPUs of a group are added up in. */
static int add_number(json_t *row, const json_t *item, const char *key) {
        json_t *sum = json_object_get(row, key);

        if (!json_is_integer(sum))
                return 0;
        return record_put(row, key,
                json_integer(json_integer_value(sum) + json_integer_value(json_object_get(item, key))));
}

/* Affinities that differ within a row: each thing is where it is. */
static int join_text(json_t *row, const json_t *item, const char *key) {
        if (streq(record_get(row, key), record_get(item, key)))
                return 0;
        return record_put(row, key, json_string("own"));
}

typedef struct Kind {
        const char *list, *number, *name;
        char *(*key)(const json_t *item, bool each);
} Kind;

static const Kind task_kind = { "tasks", "tid", "comm", task_key };
static const Kind irq_kind = { "irqs", "irq", "name", irq_key };

static int start_row(json_t *groups, const char *key, const Kind *kind, const json_t *item) {
        json_t *row = json_copy((json_t *) item);
        int r = row ? json_object_set_new(groups, key, row) : -1;

        if (r < 0)
                return -ENOMEM;
        r = record_put(row, "on", json_array());
        return r ?: record_put(row, "seen", json_pack("{}"));
}

static int join_row(json_t *row, const Kind *kind, const json_t *item, bool each) {
        _cleanup_free_ char *pattern = each ? NULL : name_pattern(record_get(item, kind->name));
        int r = 0;

        if (!each && json_object_size(json_object_get(row, "seen")) > 1)
                r = record_put(row, kind->name, record_text(pattern ?: "?"));
        r = r ?: join_text(row, item, "affinity");
        r = r ?: kind == &irq_kind ? join_text(row, item, "effective") : 0;
        return r ?: add_number(row, item, "since_mode");
}

static int add_item(json_t *groups, const Kind *kind, const json_t *item, json_t *cpu, bool each) {
        _cleanup_free_ char *key = kind->key(item, each), *number = NULL;
        json_t *row = key ? json_object_get(groups, key) : NULL;
        bool first = !row;
        int r = key ? 0 : -ENOMEM;

        if (first)
                r = r ?: start_row(groups, key, kind, item);
        r = r
                ?: util_asprintf(&number, "%lld",
                           (long long) json_integer_value(json_object_get(item, kind->number)));
        if (r < 0)
                return r;
        row = json_object_get(groups, key);
        if (json_array_append(json_object_get(row, "on"), cpu) < 0)
                return -ENOMEM;
        r = record_put(json_object_get(row, "seen"), number, json_true());
        return r ?: first ? 0 : join_row(row, kind, item, each);
}

/* What is wider leaves no room for the rest of a row: without its middle, since the end of an interrupt's name may tell
 * the device. */
static int shorten_name(json_t *row, const char *key) {
        const char *name = record_get(row, key);
        size_t n = strlen(name), half = NAME_WIDTH / 2 - 1;
        _cleanup_free_ char *text = NULL;
        int r;

        if (n <= NAME_WIDTH)
                return 0;
        r = util_asprintf(&text, "%.*s..%s", (int) half, name, name + n - half);
        return r < 0 ? r : record_put(row, key, record_text(text));
}

/* CPUs that are scattered: how many, and `--json` has them. */
static json_t *cpus_cell(const CpuList *cpus, size_t width) {
        _cleanup_free_ char *text = NULL;
        char count[32];

        if (cpulist_format(cpus, &text) < 0)
                return NULL;
        if (strlen(text) <= width)
                return json_string(text);
        (void) snprintf(count, sizeof(count), "%zu CPUs", cpulist_count(cpus));
        return json_string(count);
}

static int shorten_cpus(json_t *row, const char *key, size_t width) {
        _cleanup_cpulist_ CpuList cpus = {};

        return cpulist_parse(record_get(row, key), &cpus, NULL) < 0
                ? 0
                : record_put(row, key, cpus_cell(&cpus, width));
}

/* The CPUs and the numbers of a row, as they are shown. */
static int finish_row(json_t *row, const Kind *kind) {
        size_t i, n = json_object_size(json_object_get(row, "seen"));
        _cleanup_cpulist_ CpuList cpus = {};
        const json_t *cpu;
        char text[32];
        int r = 0;

        json_array_foreach(json_object_get(row, "on"), i, cpu) r =
                r ?: cpulist_add(&cpus, (unsigned) json_integer_value(cpu));
        r = r ?: record_put(row, "cpu", cpus_cell(&cpus, CPUS_WIDTH));
        if (n > 1) {
                (void) snprintf(text, sizeof(text), "x%zu", n);
                r = r ?: record_put(row, kind->number, json_string(text));
        }
        (void) snprintf(text, sizeof(text), "%s %lld", record_get(row, "policy"),
                (long long) json_integer_value(json_object_get(row, "priority")));
        if (kind == &task_kind && json_integer_value(json_object_get(row, "priority")) == 0)
                text[strlen(record_get(row, "policy"))] = '\0';
        r = r ?: record_put(row, "how", json_string(text));
        r = r ?: shorten_name(row, kind->name);
        r = r ?: shorten_cpus(row, "affinity", kind == &irq_kind ? CPUS_NARROW : CPUS_WIDTH);
        r = r ?: kind == &irq_kind ? shorten_cpus(row, "effective", CPUS_NARROW) : 0;
        return r
                ?: record_put(row, "right",
                           json_string(json_is_false(json_object_get(row, "expected")) ? "NO" : "yes"));
}

static int print_rows(
        const json_t *record, const Kind *kind, const Column *columns, size_t n, bool each, bool colour) {
        _cleanup_record_ json_t *groups = json_object(), *rows = json_array();
        const char *key;
        json_t *cpu, *item;
        size_t i, j;
        int r = groups && rows ? 0 : -ENOMEM;

        json_array_foreach(json_object_get(record, "cpus"), i, cpu)
                json_array_foreach(json_object_get(cpu, kind->list), j, item) r =
                        r ?: add_item(groups, kind, item, json_object_get(cpu, "cpu"), each);
        json_object_foreach(groups, key, item) {
                r = r ?: finish_row(item, kind);
                r = r ?: json_array_append(rows, item);
        }
        if (r < 0)
                return r;
        if (json_array_size(rows) > 0)
                putchar('\n');
        return record_print_table(rows, columns, n, colour);
}

/* The CPUs */

/* `TIMER 3  RCU 9`: kinds that came since the mode began. */
static json_t *softirqs_text(const json_t *sums) {
        _cleanup_free_ char *text = strdup("");
        const char *name;
        json_t *value;

        json_object_foreach((json_t *) sums, name, value) {
                _cleanup_free_ char *before = TAKE_PTR(text);

                if (!before ||
                        util_asprintf(&text, json_integer_value(value) > 0 ? "%s%s%s %lld" : "%s", before,
                                *before ? "  " : "", name, (long long) json_integer_value(value)) < 0)
                        return NULL;
        }
        if (json_object_size(sums) == 0)
                return json_null();
        return !text ? NULL : record_text(*text ? text : "none");
}

static int cpu_row(const json_t *cpu, json_t **ret) {
        const json_t *frequency = json_object_get(cpu, "frequency");
        json_t *row = json_pack("{s:O, s:O, s:O, s:O, s:o, s:O, s:o}", "set", json_object_get(cpu, "set"),
                "node", json_object_get(cpu, "node"), "online", json_object_get(cpu, "online"), "idle",
                json_object_get(cpu, "idle"), "tick",
                json_string(record_get(json_object_get(cpu, "tick"), "state")), "latency",
                json_object_get(cpu, "resume_latency"), "governor",
                json_string(json_is_object(frequency) ? record_get(frequency, "governor") : ""));
        json_int_t khz =
                json_is_object(frequency) ? json_integer_value(json_object_get(frequency, "max_khz")) : 0;
        int r = row ? 0 : -ENOMEM;

        if (khz > 0)
                r = r ?: record_put(row, "mhz", json_integer(khz / 1000));
        if (r < 0) {
                json_decref(row);
                return r;
        }
        *ret = row;
        return 0;
}

/* Adds one CPU to the rows: to one that is like it, where that is asked for. */
static int add_cpu(json_t *groups, const json_t *cpu, bool each) {
        _cleanup_record_ json_t *row = NULL;
        _cleanup_free_ char *key = NULL;
        json_t *group, *value, *sums;
        const char *name;
        int r = cpu_row(cpu, &row);

        if (r < 0)
                return r;
        key = each ? NULL : json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS);
        if (!key &&
                util_asprintf(&key, "%lld", (long long) json_integer_value(json_object_get(cpu, "cpu"))) < 0)
                return -ENOMEM;
        group = json_object_get(groups, key);
        if (!group) {
                r = record_put(row, "on", json_array());
                r = r ?: record_put(row, "near", json_array());
                r = r ?: record_put(row, "sums", json_object());
                r = r ?: json_object_set(groups, key, row);
                group = json_object_get(groups, key);
        }
        r = r ?: json_array_append(json_object_get(group, "on"), json_object_get(cpu, "cpu"));
        r = r ?: json_array_append(json_object_get(group, "near"), json_object_get(cpu, "siblings"));
        sums = json_object_get(group, "sums");
        json_object_foreach(json_object_get(cpu, "softirqs"), name, value) {
                json_int_t sum = json_integer_value(json_object_get(sums, name));

                r = r ?: record_put(sums, name, json_integer(sum + json_integer_value(value)));
        }
        return r;
}

static int finish_cpu(json_t *row) {
        _cleanup_cpulist_ CpuList cpus = {}, siblings = {};
        const json_t *item;
        size_t i;
        int r = 0;

        json_array_foreach(json_object_get(row, "on"), i, item) r =
                r ?: cpulist_add(&cpus, (unsigned) json_integer_value(item));
        json_array_foreach(json_object_get(row, "near"), i, item) {
                _cleanup_cpulist_ CpuList near = {};

                r = r ?: cpulist_parse(json_string_value(item) ?: "", &near, NULL);
                r = r ?: cpulist_union(&siblings, &near);
        }
        r = r ?: record_put(row, "cpu", cpus_cell(&cpus, CPUS_WIDTH));
        r = r ?: record_put(row, "siblings", cpus_cell(&siblings, CPUS_WIDTH));
        return r ?: record_put(row, "softirqs", softirqs_text(json_object_get(row, "sums")));
}

static int print_cpus(const json_t *record, bool each, bool colour) {
        static const Column columns[] = { { "CPU", "cpu", COLUMN_RIGHT }, { "SET", "set" },
                { "NODE", "node", COLUMN_RIGHT }, { "SIBLINGS", "siblings" }, { "ONLINE", "online" },
                { "TICK", "tick" }, { "IDLE", "idle" }, { "GOVERNOR", "governor" },
                { "MHZ", "mhz", COLUMN_RIGHT }, { "SOFTIRQS", "softirqs", COLUMN_CUT } };
        _cleanup_record_ json_t *groups = json_object(), *rows = json_array();
        const char *key;
        json_t *item;
        size_t i;
        int r = groups && rows ? 0 : -ENOMEM;

        json_array_foreach(json_object_get(record, "cpus"), i, item) r = r ?: add_cpu(groups, item, each);
        json_object_foreach(groups, key, item) {
                r = r ?: finish_cpu(item);
                r = r ?: json_array_append(rows, item);
        }
        if (r < 0)
                return r;
        if (json_array_size(rows) > 0)
                putchar('\n');
        return record_print_table(rows, columns, ARRAY_SIZE(columns), colour);
}

int status_print_cpus(const json_t *record, bool colour) {
        static const Column tasks[] = { { "CPU", "cpu", COLUMN_RIGHT }, { "TASK", "comm" },
                { "TID", "tid", COLUMN_RIGHT }, { "POLICY", "how" }, { "AFFINITY", "affinity" },
                { "OK", "right" }, { "WHY", "why", COLUMN_CUT } };
        static const Column irqs[] = { { "CPU", "cpu", COLUMN_RIGHT }, { "IRQ", "irq", COLUMN_RIGHT },
                { "NAME", "name" }, { "AFFINITY", "affinity" }, { "EFFECTIVE", "effective" },
                { "MOVABLE", "movable" }, { "SINCE MODE", "since_mode", COLUMN_RIGHT } };
        bool each = json_array_size(json_object_get(record, "cpus")) <= EACH_MAX;
        int r = print_cpus(record, each, colour);

        r = r ?: print_rows(record, &task_kind, tasks, ARRAY_SIZE(tasks), each, colour);
        return r ?: print_rows(record, &irq_kind, irqs, ARRAY_SIZE(irqs), each, colour);
}
