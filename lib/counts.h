/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

#pragma GCC visibility push(default)

/* A table as /proc/interrupts and /proc/softirqs are: CPUs head the columns, names begin the rows.
 * (Documentation/filesystems/proc.rst) */
typedef struct Counts {
        char **names; /* `26`, `LOC`, `NET_RX` */
        size_t n_rows, n_cpus;
        uint64_t *counts; /* of row i and CPU number c: [i * n_cpus + c] */
} Counts;

void counts_done(Counts *counts);
#define _cleanup_counts_ _cleanup_(counts_done)

/* Rows with fewer numbers than columns (`ERR: 7`) belong to no CPU and are left out. -EBADMSG where the first
 * line is no heading. */
int counts_parse(const char *text, Counts *ret);
int counts_read(Kfs *kfs, const char *file, Counts *ret);

/* The row of a name, or -1; its count on a CPU, 0 where there is none. */
ssize_t counts_row(const Counts *counts, const char *name);
uint64_t counts_get(const Counts *counts, ssize_t row, unsigned cpu);

/* What the counters said when the mode began: copies of the kernel's own files, which the daemon leaves for
 * everybody in this folder of its runtime directory. */
#define COUNTS_BEGIN "begin"

/* Copies the counters' files into a folder, which is made; what cannot be copied is not there afterwards:
 * nothing known beats counts of another mode. */
int counts_save(Kfs *kfs, const char *directory);

#pragma GCC visibility pop
