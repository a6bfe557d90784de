/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "machine.h"
#include "record.h"

/* What a status is made of. */
typedef struct StatusInput {
        const Machine *machine;
        const Audit *audit;
        const CpuList *cpus; /* those to list with their tasks and interrupts */
        bool daemon;
        json_t *leases; /* borrowed */
        bool silent;    /* there is a daemon, and it does not answer */
} StatusInput;

/* `status --json`, version 1 (design section 5).  NULL for lack of memory. */
json_t *status_record(const StatusInput *input);

/* status-cpu.c: the list of CPUs with all that is on each; and the deepest idle state of one. */
json_t *status_cpus_record(const StatusInput *input);
json_t *status_idle_record(const Machine *machine, int cpu);

/* The exit code that the record stands for: the first that applies of 3, 8, and with strict 4 and 5. */
int status_exit(const json_t *record, bool strict);
