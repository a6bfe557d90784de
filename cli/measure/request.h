/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli.h"
#include "run.h"

#define REQUEST_FREQUENCIES 8u

/* What is to be measured, as the options say. */
typedef struct Request {
        MeasureKind kind;
        const char *name; /* of the kind */
        unsigned hz[REQUEST_FREQUENCIES];
        size_t n_hz;
        uint64_t period_ns; /* where --interval gave it: n_hz is 0 then */
        uint64_t duration_ns, loops;
        double tolerance_ns; /* 0: none was given to pert */
        double load;         /* part of a frame */
        unsigned threads;    /* itimer; 0: one for each CPU */
        int priority;
        char *modes[2]; /* --compare; NULL without it */
} Request;

void request_done(Request *request);
#define _cleanup_request_ _cleanup_(request_done)

/* EXIT_HOLDS, EXIT_USAGE where an error was told, or -ENOMEM. */
int request_parse(const Cli *cli, Request *ret);

/* `90`, `90s`, `10m`, `1h`, `1h30m`, `2d`: seconds without a letter; -EINVAL, -ERANGE. */
int request_parse_duration(const char *text, uint64_t *ret_ns);
