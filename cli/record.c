/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"

#include <libsmartcols.h>

#include "text.h"

/* What people have in front of them. */
#define TABLE_WIDTH 80

json_t *record_text(const char *text) {
        _cleanup_free_ char *valid = NULL;

        if (!text)
                return json_null();
        if (text_utf8(text, &valid) < 0)
                return NULL;
        return json_string(valid);
}

json_t *record_cpus(const CpuList *list) {
        _cleanup_free_ char *text = NULL;

        if (cpulist_format(list, &text) < 0)
                return NULL;
        return json_string(text);
}

int record_put(json_t *record, const char *key, json_t *value) {
        return json_object_set_new(record, key, value) < 0 ? -ENOMEM : 0;
}

json_t *record_finish(json_t *record, int r) {
        if (r < 0) {
                json_decref(record);
                return NULL;
        }
        return record;
}

const char *record_get(const json_t *record, const char *key) {
        return json_string_value(json_object_get(record, key)) ?: "";
}

int record_show(const json_t *record, const char *key, char **ret) {
        const json_t *value = json_object_get(record, key);

        switch (value ? json_typeof(value) : JSON_NULL) {
        case JSON_STRING:
                return text_printable(*json_string_value(value) ? json_string_value(value) : "-", ret);
        case JSON_INTEGER: return util_asprintf(ret, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        case JSON_REAL: return util_asprintf(ret, "%.1f", json_real_value(value));
        case JSON_TRUE: return util_asprintf(ret, "yes");
        case JSON_FALSE: return util_asprintf(ret, "no");
        default: return util_asprintf(ret, "-");
        }
}

int record_print_json(const json_t *record, bool one_line) {
        int r = json_dumpf(
                record, stdout, JSON_REAL_PRECISION(9) | (one_line ? JSON_COMPACT : JSON_INDENT(1)));

        return r < 0 || fputc('\n', stdout) == EOF ? -EIO : 0;
}

const char *record_colour(const char *word) {
        static const struct {
                const char *word, *colour;
        } colours[] = {
                { "drifted", "\033[1;31m" },
                { "error", "\033[1;31m" },
                { "refused", "\033[33m" },
                { "boot", "\033[33m" },
                { "absent", "\033[33m" },
                { "unsupported", "\033[33m" },
                { "warning", "\033[33m" },
                { "runtime", "\033[32m" },
                { "isolated", "\033[32m" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
                if (streq(word, colours[i].word))
                        return colours[i].colour;
        return NULL;
}

static int fill_cell(struct libscols_line *line, size_t i, const json_t *row, const Column *column) {
        _cleanup_free_ char *text = NULL;
        int r = record_show(row, column->key, &text);

        if (r < 0)
                return r;
        if (column->flags & COLUMN_STATE && record_colour(text)) {
                r = scols_cell_set_color(scols_line_get_cell(line, i), record_colour(text));
                if (r < 0)
                        return r;
        }
        return scols_line_refer_data(line, i, TAKE_PTR(text));
}

static int fill_table(
        struct libscols_table *table, const json_t *rows, const Column *columns, size_t n_columns) {
        const json_t *row;
        size_t i;

        for (i = 0; i < n_columns; i++)
                if (!scols_table_new_column(table, columns[i].heading, 0,
                            (columns[i].flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0) |
                                    (columns[i].flags & COLUMN_CUT ? SCOLS_FL_TRUNC : 0)))
                        return -ENOMEM;
        json_array_foreach(rows, i, row) {
                struct libscols_line *line = scols_table_new_line(table, NULL);

                if (!line)
                        return -ENOMEM;
                for (size_t j = 0; j < n_columns; j++) {
                        int r = fill_cell(line, j, row, &columns[j]);

                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int record_print_table(const json_t *rows, const Column *columns, size_t n_columns, bool colour) {
        struct libscols_table *table;
        int r;

        if (json_array_size(rows) == 0)
                return 0;
        table = scols_new_table();
        if (!table)
                return -ENOMEM;
        (void) scols_table_enable_colors(table, colour);
        (void) scols_table_enable_minout(table, true);
        for (size_t i = 0; i < n_columns; i++)
                if (columns[i].flags & COLUMN_CUT) {
                        (void) scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
                        (void) scols_table_set_termwidth(table, TABLE_WIDTH);
                }
        r = fill_table(table, rows, columns, n_columns);
        if (r == 0)
                r = scols_print_table(table);
        scols_unref_table(table);
        return r < 0 ? r : 0;
}
