/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"
#include "step.h"
#include "world.h"

/* A mechanism of this kernel, for `doctor` and for plans. */
typedef struct MechanismInfo {
        char *name; /* `skew_tick`, `managed irqs` */
        Mechanism mechanism;
        char *file;   /* the file it goes through, or the boot parameter */
        char *advice; /* what to do to get it, "" where it is there */
} MechanismInfo;

typedef struct Mechanisms {
        MechanismInfo *items;
        size_t n;
} Mechanisms;

void mechanisms_done(Mechanisms *mechanisms);
/* Copies its texts. */
int mechanisms_add(
        Mechanisms *mechanisms, const char *name, Mechanism mechanism, const char *file, const char *advice);

/* What planning starts from: all of it is read-only, none of it does IO. */
typedef struct PlanInput {
        const Profile *profile;
        const World *world;
        const ProfileSetCpus *sets; /* index as in profile->sets; sets without CPUs are refused earlier */
        CpuList isolated;           /* every CPU in a set */
        CpuList housekeeping;       /* online and in no set */
        const Steps *in_force;      /* the steps of the mode now in force */
        unsigned flags;             /* PlanFlags */
} PlanInput;

/* Why a switch is refused before its first write. */
typedef struct Refusal {
        char *what; /* one line of the list shown: "CPU 2 is in set a and in set b" */
} Refusal;

/* What planning gives. */
typedef struct Plan {
        char *mode;
        Steps steps; /* every step of the mode, also those that hold already and those of missing mechanisms
                      */
        Refusal *refusals;
        size_t n_refusals;
        char **warnings;
        CpuList isolated, housekeeping;
        ProfileSetCpus *sets;
        size_t n_sets;
} Plan;

int plan_refuse(Plan *plan, const char *format, ...) _printf_(2, 3);
int plan_warn(Plan *plan, const char *format, ...) _printf_(2, 3);

/* A kernel subsystem.  A new mechanism is one new file with such a table and one row in backends[]. */
typedef struct Backend {
        const char *name;
        /* Which mechanisms this kernel has; reads only. */
        int (*probe)(Kfs *kfs, Mechanisms *mechanisms);
        /* Reads what this backend's plan looks at into world.  profile may be NULL (`status` in green,
         * `doctor`). */
        int (*audit)(Kfs *kfs, const Profile *profile, World *world);
        /* Pure: adds its steps, refusals and warnings. */
        int (*plan)(const PlanInput *input, Plan *plan);
        /* Pure: what the way back writes for one of its steps whose live value is `live` (NULL: gone).  *ret
         * NULL: leave as it is.  NULL function: step->before where live still holds the step, else leave it.
         */
        int (*revert)(const Step *step, const char *live, const World *world, char **ret);
} Backend;

extern const Backend *const backends[]; /* NULL at the end */

extern const Backend backend_cpuset, backend_task, backend_irq, backend_kthread, backend_workqueue,
        backend_sched_features, backend_tick, backend_throttling, backend_timers, backend_watchdog,
        backend_cpufreq, backend_idle, backend_sysctl, backend_sysfs, backend_kvm, backend_net;

/* The backend of that name, or NULL. */
const Backend *backend_find(const char *name);

/* Is the mechanism in `require =`?  Then STEP_REQUIRED, else 0. */
unsigned backend_required(const Profile *profile, ProfileRequire bit);
/* The CPUs an object with these found CPUs is wanted on: found ∩ housekeeping, or housekeeping when that
 * is empty. */
int backend_keep_off(const CpuList *found, const CpuList *housekeeping, CpuList *ret);

/* A step as a backend describes it: the fields of Step, of texts that need not outlive the call. */
typedef struct StepText {
        const char *id, *object;
        ValueKind kind;
        const char *before, *now; /* NULL: as the world has them */
        const char *wanted, *within;
        Phase phase;
        int order;
        unsigned flags;
        Mechanism mechanism;
        const char *reason, *disturbs, *set;
} StepText;

/* Adds a step; where before and now are NULL, they are those of world->values. */
int backend_add(const PlanInput *input, Plan *plan, const StepText *text);
/* Adds a step for a mechanism that is not there (text->mechanism is boot or absent): it is never written.
 * Of a captured tree that lacks the kernel's own files nothing is known: then it is not required, and its
 * reason says so. */
int backend_add_missing(const PlanInput *input, Plan *plan, const StepText *text);

/* Is an object there, as far as world_read() saw?  True, too, for what this user may not read. */
bool backend_present(const World *world, const char *object);

/* Evaluates a CPU expression of a profile's rule, where `set:NAME` gives the sets of the plan. What is
 * wrong is refused, named by `where` (`irq nic: cpus`), and gives -EINVAL. */
int backend_cpus(
        const PlanInput *input, Plan *plan, const char *where, const char *expression, CpuList *ret);

/* The set that a CPU is in, or NULL. */
const ProfileSet *backend_set_of(const PlanInput *input, unsigned cpu);

/* Adds a mechanism that is there where its file can be read; `missing` and advice are for where it is
 * not. */
int mechanisms_add_file(Mechanisms *mechanisms, Kfs *kfs, const char *name, const char *file,
        Mechanism missing, const char *advice);
/* Adds one that only the kernel command line gives: where the kernel was booted with one of the keys (NULL at the end),
 * that word is its file and there is nothing to advise.  A flag (may be NULL) must be among those of the value. */
int mechanisms_add_boot(Mechanisms *mechanisms, Kfs *kfs, const char *name, const char *const *keys,
        const char *flag, const char *file, const char *advice);
