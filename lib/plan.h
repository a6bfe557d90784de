/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"

#pragma GCC visibility push(default)

/* Reads all that plan_make() for this profile looks at, through every backend's audit.  in_force: the steps
 * of the mode in force, whose `before` values are overlaid; may be NULL. */
int plan_audit(Kfs *kfs, const Profile *profile, const Steps *in_force, World **ret);

typedef enum PlanFlags {
        PLAN_MEND =
                1 << 0, /* the profile is in force: a CPU of a set that is away is left out, not refused */
} PlanFlags;

/* Pure.  Evaluates the sets, refuses what design section 2 refuses, and asks every backend for its steps,
 * which come back in the order of the way in.  0 also where there are refusals (a CPU expression that is
 * wrong on this machine is one); -ENOMEM. */
int plan_make(const Profile *profile, const World *world, const Steps *in_force, unsigned flags, Plan **ret);
void plan_free(Plan *plan);
DEFINE_CLEANUP_POINTER(Plan, plan_free)
#define _cleanup_plan_ _cleanup_(plan_freep)

/* One write of a switch. */
typedef struct Op {
        Step step;    /* as it will be in the journal once the switch is through (target mode's, or for a way
                         back the old one's) */
        char *was;    /* live when the switch was planned; what an undo puts back.  NULL: was not there */
        char *target; /* what to write */
        bool back;    /* the object is no longer asked for: target is what was found */
} Op;

void op_done(Op *op);

typedef struct Switch {
        char *from, *to; /* modes */
        Op *ops;         /* in the order they are done; only those whose live value differs, or may come to
                            (VOLATILE) */
        size_t n_ops;
        Steps in_force;    /* the records once all is done: every step of the new mode with its `before` */
        char **left_alone; /* objects somebody else changed meanwhile: one sentence each */
        Steps left_out;    /* due, and left out because they disturb others: `reason` says so */
} Switch;

typedef enum SwitchFlags {
        SWITCH_NO_DISTURB = 1 << 0, /* leave out steps that disturb other CPUs */
        SWITCH_UNASKED =
                1 << 1, /* nobody asks for the mode just now: what was left out on request stays so */
} SwitchFlags;

/* Pure: what to write to go from the steps in force to the plan (design section 4: only what differs;
 * exactly back). */
int plan_switch(const Plan *plan, const char *from, const Steps *in_force, const World *world,
        unsigned flags, Switch **ret);
/* Refuses what a switch on request leaves out although the profile requires it: adds to the plan's refusals. */
int plan_refuse_left_out(Plan *plan, const Switch *sw);
void switch_free(Switch *sw);
DEFINE_CLEANUP_POINTER(Switch, switch_free)
#define _cleanup_switch_ _cleanup_(switch_freep)

#pragma GCC visibility pop
