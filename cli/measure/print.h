/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../record.h"

/* Measurements as text, of their records (report.h). */

/* What is measured, where, with which clock; before the first line. */
void print_begin(const json_t *head);
/* The headings of a kind's rows; timed: a column for the time comes first. */
void print_headings(const char *kind, bool timed);
void print_row(const char *kind, const json_t *row, bool timed);
/* The whole: a row for each CPU, what was wrong with the measurement, and the histogram (with `each`, one for each
 * CPU, too). */
void print_report(const json_t *record, bool each);
/* Two side by side with their ratio; with `each`, every CPU, too. */
void print_compare(const json_t *record, bool each);

/* A histogram as bars: pieces of 1, 2 and 5 by tens, as wide as the logarithm of their counts. */
void print_histogram(FILE *file, const json_t *histogram);
