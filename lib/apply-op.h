/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply.h"

/* One op done or undone: what apply.c and apply-undo.c share. */

/* The value was taken as far as the kernel takes it now: a task's mask has all it should have but CPUs that are
 * away. */
#define OP_LACKS_CPUS 1

/* Makes the op's object hold its target, trying again for a moment where the kernel is only busy.  0,
 * OP_LACKS_CPUS, or the errno of kfs_set(); *ret_live is what it reads where that is known. */
int op_do(Kfs *kfs, const Op *op, char **ret_live);
/* Puts back what was there when the switch was planned; returns likewise. */
int op_undo(Kfs *kfs, const Op *op, char **ret_live);
/* Does the object hold the op's target now? */
bool op_holds(Kfs *kfs, const Op *op);

/* The object went away: -ENOENT, -ESRCH, -ENODEV. */
bool error_is_gone(int error);
/* A refusal that a STEP_TOLERANT step puts up with. */
bool error_is_refusal(int error);

/* Adds a problem of a step, telling what the kernel says in a partition's file as its reason.  wanted is
 * what it should read. */
int problems_add(ApplyProblems *problems, const Step *step, const char *wanted, const char *live, int error);
void apply_problem_done(ApplyProblem *problem);
const ApplyProblem *problems_find(const ApplyProblems *problems, const char *object);

/* Undoes the journal's unfinished switch and closes it there: ops with an index of n_begun or more were
 * never begun, and only what the kernel may have changed by itself is looked at.  Objects that could not be
 * put back are added to problems, and their number is *ret_left. */
int apply_undo(Kfs *kfs, Journal *journal, size_t n_begun, ApplyProgress progress, void *userdata,
        ApplyProblems *problems, size_t *ret_left);

/* A record for an object that could not be put back: green finds it under what it reads now. */
int record_left(Steps *steps, const Step *step, const char *live, const char *why);
/* One for a task that gets the rest of its CPUs when they are back. */
int record_lacking(Steps *steps, const Op *op, const char *live);
