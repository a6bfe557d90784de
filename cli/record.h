/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "cpulist.h"

/* Every verb that reports builds one record, as JSON has it, and everything it prints is made of that: --json
 * prints the whole record, and tables show keys of lists in it. */

static inline void record_decrefp(json_t **record) {
        json_decref(*record);
}
#define _cleanup_record_ _cleanup_(record_decrefp)

/* Strings that may hold anything; NULL is null. These give NULL only for lack of memory. */
json_t *record_text(const char *text);
json_t *record_cpus(const CpuList *list);

/* Takes the value; 0, or -ENOMEM where it is NULL. */
int record_put(json_t *record, const char *key, json_t *value);
/* Takes record; NULL where r says that it could not be filled. */
json_t *record_finish(json_t *record, int r);

/* The text of a member for people: numbers as they are, true as `yes`, null and what is not there as `-`,
 * control characters escaped. */
int record_show(const json_t *record, const char *key, char **ret);
/* The text itself, "" where there is none. */
const char *record_get(const json_t *record, const char *key);

/* Prints a record: on one line where so asked (NDJSON), else indented.  0, or -EIO. */
int record_print_json(const json_t *record, bool one_line);

typedef enum ColumnFlags {
        COLUMN_RIGHT = 1 << 0,
        COLUMN_STATE = 1 << 1, /* coloured by what it says */
        COLUMN_CUT = 1 << 2,   /* cut off where the table would be wider than 80 columns */
} ColumnFlags;

typedef struct Column {
        const char *heading, *key;
        unsigned flags;
} Column;

/* Prints a list of records as a table, without trailing blanks.  Nothing for an empty list. */
int record_print_table(const json_t *rows, const Column *columns, size_t n_columns, bool colour);

/* The escape sequence for a state's or severity's word, or NULL. */
const char *record_colour(const char *word);
