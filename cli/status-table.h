/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "record.h"

/* Prints a status record for people, in 80 columns as far as names allow. 0, or a negative errno. */
int status_print(const json_t *record, int exit_code, bool verbose, bool list_cpus, bool colour);

/* The CPUs that the record lists, with their tasks and interrupts; what is alike on many CPUs is one row. */
int status_print_cpus(const json_t *record, bool colour);

/* The record for node_exporter's textfile collector. 0, or -EIO. */
int status_print_metrics(const json_t *record, int exit_code);
