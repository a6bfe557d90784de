/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply.h"

/* How a request came out: what the bus turns into a reply or a named error. */
typedef enum OutcomeKind {
        OUTCOME_DONE,
        OUTCOME_BAD_PROFILE,
        OUTCOME_NO_SUCH_PROFILE,
        OUTCOME_REFUSED,    /* before the first write */
        OUTCOME_NOT_BEGUN,  /* failed before the first write */
        OUTCOME_FAILED,     /* and undone */
        OUTCOME_INCOMPLETE, /* failed, and the undo is incomplete */
        _OUTCOME_MAX,
} OutcomeKind;

/* A part of the mode that does not hold. */
typedef struct Degraded {
        char *step, *state, *reason;
} Degraded;

typedef struct Outcome {
        OutcomeKind kind;
        char *message; /* all sentences, one a line; NULL where there is nothing to say */
        Degraded *degraded;
        size_t n_degraded;
        size_t n_ops;   /* how many objects the switch wrote or looked at again */
        CpuList cycled; /* CPUs that the switch took offline and back: their uevents are our own */
} Outcome;

void outcome_done(Outcome *outcome);
#define _cleanup_outcome_ _cleanup_(outcome_done)

/* Adds one sentence to the message; control characters in it are escaped. */
int outcome_say(Outcome *outcome, const char *format, ...) _printf_(2, 3);
int outcome_add_degraded(Outcome *outcome, const char *step, const char *state, const char *reason);
