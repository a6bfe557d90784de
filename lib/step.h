/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"
#include "value.h"

#pragma GCC visibility push(default)

typedef enum Mechanism {
        MECHANISM_RUNTIME,
        MECHANISM_BOOT,
        MECHANISM_ABSENT,
        _MECHANISM_MAX,
} Mechanism;

/* When a step is done, within one switch.  The table in step.c gives each phase its place on the way in and
 * its place on the way back (they differ: see there). */
typedef enum Phase {
        PHASE_IRQ_DEFAULT, /* first both ways: an interrupt requested meanwhile must not get the old mask */
        PHASE_VALUES,      /* sysctl, sysfs */
        PHASE_SERVER,      /* fair server, throttling: refused by the kernel once the CPU is isolated */
        PHASE_WATCHDOG,
        PHASE_TIMERS, /* CPU cycled off and on, before slices exist and interrupts are placed */
        PHASE_CGROUP, /* slices, siblings narrowed, partitions; `order` says which first */
        PHASE_TASK,   /* user tasks: affinity and cgroup */
        PHASE_KTHREAD,
        PHASE_WORKQUEUE,
        PHASE_CHANNELS, /* a device's queues and their interrupts come and go with these */
        PHASE_IRQ,
        PHASE_QUEUES,   /* what CPUs a device's queues are for */
        PHASE_TICK,     /* skew, nohz, push/pull, features */
        PHASE_PRIORITY, /* kernel threads' policies */
        PHASE_POWER,    /* frequency, idle states */
        _PHASE_MAX,
} Phase;

typedef enum StepFlags {
        /* A failure undoes the switch; without it, a failure is reported as degraded. */
        STEP_REQUIRED = 1 << 0,
        /* The kernel may refuse this one object (EIO, EPERM, ENOSPC, EBUSY: an interrupt that cannot move)
         * without a failure of the whole, required or not. */
        STEP_TOLERANT = 1 << 1,
        /* The object may vanish at any time (a task, an interrupt): that is no error. */
        STEP_TRANSIENT = 1 << 2,
        /* The kernel changes the value by itself when cgroups or CPUs change (affinities on kernels that
         * forget a task's own mask): looked at again when its turn comes, both ways. */
        STEP_VOLATILE = 1 << 3,
        /* An act, not a state (a CPU cycled): done on the way in only and when no mode before did it; never
         * undone, never compared. */
        STEP_ACTION = 1 << 4,
        /* Makes something (a slice): the way back removes it, unless it is in use. */
        STEP_RECREATE = 1 << 5,
        /* Done once and not kept in the records: a task that came later gets its ancestor's pin back in
           green. */
        STEP_UNRECORDED = 1 << 6,
        /* In the records: an undo could not put it back, so what it reads is nobody's will. */
        STEP_LEFT = 1 << 7,
        /* In the records: made up from what was found, since the true one was lost. */
        STEP_MADE_UP = 1 << 8,
        /* Nothing is asked of it: another step may cost it, and the way back gives what was found. */
        STEP_KEPT = 1 << 9,
} StepFlags;

/* One change to one kernel object: what it was before any mode, what it is now, what it should be. */
typedef struct Step {
        char *id;     /* stable: `irq/25/affinity`, design section 5 */
        char *object; /* as kfs names it */
        ValueKind kind;
        char *before; /* the first value seen since green */
        char *now;    /* read when the plan was made; NULL where it could not be read */
        char *wanted;
        char *within; /* VALUE_WITHIN only: the cpulist that live values must stay in */
        Phase phase;
        int order; /* within the phase, ascending on the way in, descending on the way back */
        unsigned flags;
        Mechanism mechanism;
        char *reason;   /* where mechanism is not runtime: why, and what to do; in the records also what the
                           kernel said to a step that it refused */
        int refused;    /* in the records: the errno (negative) of a refusal that the mode was entered
                           without, -ECANCELED where it was left out on request; 0 where the step was done */
        char *disturbs; /* whom the write disturbs beyond the CPUs that change, or NULL */
        char *set;      /* the set it is for, or NULL */
        char *backend;  /* the name of the backend that planned it; filled by plan_make() */
} Step;

/* A set as the mode has it: what `status` tells of it without a look at the profile, which may have changed
 * since. */
typedef struct StepSet {
        char *name;
        char *cpus;         /* cpulist, with CPUs that are away just now */
        char *partition;    /* isolated | root | none */
        char *nohz;         /* off | idle | full, or "" where the profile leaves it */
        char *rt_push_pull; /* on | off, or "" */
} StepSet;

/* The steps of a mode, and its sets. */
typedef struct Steps {
        Step *items;
        size_t n;
        StepSet *sets;
        size_t n_sets;
} Steps;

void step_done(Step *step);
void steps_done(Steps *steps);
#define _cleanup_steps_ _cleanup_(steps_done)

int step_copy(const Step *step, Step *ret);
/* Appends, taking the strings out of *step (also on failure). */
int steps_add(Steps *steps, Step *step);
/* Appends a copy. */
int steps_add_set(Steps *steps, const StepSet *set);
const StepSet *steps_find_set(const Steps *steps, const char *name);
/* By object, which is unique in a list. NULL where there is none. */
Step *steps_find(const Steps *steps, const char *object);
Step *steps_find_id(const Steps *steps, const char *id);

/* Does a live value (NULL: gone) hold what the step wants? */
bool step_holds(const Step *step, const char *live);

const char *mechanism_to_string(Mechanism mechanism);
const char *phase_to_string(Phase phase);
Phase phase_from_string(const char *word);
/* Places on the way in and on the way back. */
int phase_rank(Phase phase, bool back);

#pragma GCC visibility pop
