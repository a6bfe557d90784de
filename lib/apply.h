/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "journal.h"

#pragma GCC visibility push(default)

/* How one step came out. */
typedef enum StepState {
        STATE_OK,
        STATE_DRIFTED,
        STATE_BOOT,        /* only on the kernel command line */
        STATE_UNSUPPORTED, /* this kernel cannot */
        STATE_REFUSED,     /* the kernel said no */
        _STATE_MAX,
} StepState;

const char *step_state_to_string(StepState state);

/* What went wrong with one object: enough for a sentence that names object, value, errno and what to do. */
typedef struct ApplyProblem {
        char *id, *object, *wanted;
        char *live; /* what it reads instead, or NULL */
        int error;  /* negative errno; -EBADMSG: accepted, and reads otherwise */
        StepState state;
        char *reason; /* the kernel's own reason (`isolated invalid (…)`), or NULL */
} ApplyProblem;

typedef struct ApplyProblems {
        ApplyProblem *items;
        size_t n;
} ApplyProblems;

void apply_problems_done(ApplyProblems *problems);
/* One sentence of a problem: which object, what was wanted, what the kernel (or systemd, irqbalance) said, what to
 * do. */
int apply_problem_sentence(const ApplyProblem *problem, char **ret);

typedef enum ApplyOutcome {
        APPLY_DONE,   /* every required part holds; problems lists what the kernel refused beside */
        APPLY_UNDONE, /* a required step failed and everything is as before; problems[0] is the failure */
        APPLY_INCOMPLETE, /* undone, but for the objects in problems after the first */
} ApplyOutcome;

/* Called before each step, of an undo, too: progress, and the watchdog's trigger.  done of total. */
typedef void (*ApplyProgress)(void *userdata, const Step *step, size_t done, size_t total);

/* Runs a switch: journal, write and read back each op, verify the whole, commit; on a required failure undo
 * in reverse and abort.  Returns 0 with *ret_outcome, or a negative errno where not even the journal could
 * be written (nothing was changed then).  A switch without ops commits only where the records differ, and
 * writes nothing otherwise. */
int apply_switch(Kfs *kfs, Journal *journal, Switch *sw, const char *profile_sha256, const char *by,
        ApplyProgress progress, void *userdata, ApplyOutcome *ret_outcome, ApplyProblems *ret_problems);

/* After a restart: undoes the switch that the journal says was under way.  0 with APPLY_DONE where there was
 * none.  All problems are objects that could not be put back: nothing failed here before them. */
int apply_recover(Kfs *kfs, Journal *journal, ApplyProgress progress, void *userdata,
        ApplyOutcome *ret_outcome, ApplyProblems *ret_problems);

#pragma GCC visibility pop
