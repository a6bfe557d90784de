/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply.h"
#include "counts.h"
#include "noise-counters.h"
#include "profile.h"
#include "sample.h"
#include "state.h"

#pragma GCC visibility push(default)

/* One step as it stands: the record and what is live. */
typedef struct AuditStep {
        const Step *step; /* in the records given */
        char *live;       /* NULL: gone, or not readable by this user */
        StepState state;
        char *reason, *writer;
} AuditStep;

/* Something that disturbs isolated CPUs, or may.  The kinds are told in rtisol-findings(7). */
typedef struct Finding {
        const char *code;     /* `irq-unmovable` */
        const char *severity; /* error | warning | info */
        char *id;             /* `irq-unmovable:virtio1-req.3`: the same at every look, for `accept` */
        char *cpus, *subject, *why;
        char *fix;       /* the command that mends it, or what to do where no command can */
        bool is_command; /* fix is to be given to a shell as it is */
        bool accepted;
} Finding;

typedef struct AuditSet {
        CpuList members;
        char *name, *cpus, *slice, *partition, *partition_reason;
        char *nohz_wanted, *nohz_live, *push_pull_wanted, *push_pull_live;
        StepState nohz_state, push_pull_state;
} AuditSet;

typedef struct Audit {
        World *world;
        const Steps *in_force; /* borrowed */
        AuditStep *steps;
        size_t n_steps;
        AuditSet *sets;
        size_t n_sets;
        Finding *findings;
        size_t n_findings;
        CpuList isolated, housekeeping;
        size_t n_drifted, n_boot, n_unsupported, n_refused;
        char *mode;
        const Profile *profile;                  /* as applied; borrowed, NULL where not known */
        struct AuditFacts *facts;                /* what the findings are made of; NULL after audit_make() */
        Sample before, after;                    /* the two looks; empty where there was but one */
        NoiseCounters noise_before, noise_after; /* the same of what was taken from CPUs */
        Counts began, softirqs_began; /* the counters when the mode began; empty where not known */
        Counts softirqs;
        char **unseen; /* what this user, or anybody on this machine, cannot see: a sentence each */
} Audit;

typedef struct AuditInput {
        const Steps *in_force;
        const char *mode;
        const Profile *profile; /* the mode's, where it is as it was applied; or NULL */
        char *const *accepted;  /* patterns on the ids of findings, or NULL */
        unsigned look_msec;     /* how far apart the two looks are; 0: one look */
} AuditInput;

/* Compares the records with the machine; reads only.  Works without privileges: what cannot be read has live
 * NULL. */
int audit_make(Kfs *kfs, const Steps *in_force, const char *mode, Audit **ret);
/* The same with all that can be found out: looks at the machine twice (and waits in between) to see what runs
 * all the time, and reads what belongs to no step. */
int audit_look(Kfs *kfs, const AuditInput *input, Audit **ret);
void audit_free(Audit *audit);
DEFINE_CLEANUP_POINTER(Audit, audit_free)
#define _cleanup_audit_ _cleanup_(audit_freep)

/* Has the task a right to be on that CPU: it was put into the CPU's set, or it is a kernel thread of that very CPU? */
bool audit_task_is_expected(const Audit *audit, const WorldTask *task, unsigned cpu);

/* Why it is there, and why that is expected or is not: a few words. */
const char *audit_task_why(const Audit *audit, const WorldTask *task, unsigned cpu);
/* The set that a CPU is in, or NULL. */
const AuditSet *audit_set_of(const Audit *audit, unsigned cpu);
/* Is the task in that set's slice? */
bool audit_is_in_slice(const WorldTask *task, const AuditSet *set);
/* The step of an interrupt, or NULL; and how often it came to a CPU since the mode began, -1 where not known. */
const AuditStep *audit_irq_step(const Audit *audit, unsigned irq);
int64_t audit_irq_count(const Audit *audit, const WorldIrq *irq, unsigned cpu);

/* `ok`, `drifted` or `degraded`: what the whole comes to. */
const char *audit_verdict(const Audit *audit);

/* Tasks that may run on a CPU or ran there last, and interrupts that are routed there; indexes into
 * audit->world. */
int audit_cpu_tasks(const Audit *audit, unsigned cpu, size_t **ret, size_t *ret_n);
int audit_cpu_irqs(const Audit *audit, unsigned cpu, size_t **ret, size_t *ret_n);

#pragma GCC visibility pop
