/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "report.h"
#include "sets.h"

/* One measurement in the mode in force. */
typedef struct Session {
        const Cli *cli;
        const Request *request;
        const Machine *machine;
        const MeasureSets *sets; /* of the mode in force */
        const CpuList *cpus;
        const volatile int *interrupted; /* set by a signal: ends it, and what there is is told */
} Session;

/* Measures, with lines meanwhile where people read them, and makes the record.  EXIT_HOLDS, EXIT_REFUSED where an
 * error was told, or a negative errno. */
int session_run(const Session *session, json_t **ret);
/* The same for itimer. (itimer.c) */
int session_run_itimer(const Session *session, json_t **ret);

/* A line on the terminal that shows how far it is; worst_ns below 0: none is known. */
void session_progress(const Session *session, double seconds, double worst_ns, unsigned worst_cpu);
void session_progress_end(const Session *session);
