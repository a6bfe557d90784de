/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply.h"
#include "state.h"

#pragma GCC visibility push(default)

/* One step as it stands: the record and what is live. */
typedef struct AuditStep {
        const Step *step; /* in the records given */
        char *live;       /* NULL: gone, or not readable by this user */
        StepState state;
        char *reason, *writer;
} AuditStep;

typedef struct Finding {
        const char *code;     /* `irq-unmovable` */
        const char *severity; /* error | warning | info */
        char *cpus, *subject, *why, *fix;
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
        AuditStep *steps;
        size_t n_steps;
        AuditSet *sets;
        size_t n_sets;
        Finding *findings;
        size_t n_findings;
        CpuList isolated, housekeeping;
        size_t n_drifted, n_boot, n_unsupported, n_refused;
} Audit;

/* Compares the records with the machine; reads only.  Works without privileges: what cannot be read has live
 * NULL. */
int audit_make(Kfs *kfs, const Steps *in_force, const char *mode, Audit **ret);
void audit_free(Audit *audit);
DEFINE_CLEANUP_POINTER(Audit, audit_free)
#define _cleanup_audit_ _cleanup_(audit_freep)

/* Has the task a right to be on that CPU: it was put into the CPU's set, or it is a kernel thread of that very CPU? */
bool audit_task_is_expected(const Audit *audit, const WorldTask *task, unsigned cpu);

/* `ok`, `drifted` or `degraded`: what the whole comes to. */
const char *audit_verdict(const Audit *audit);

/* Tasks and interrupts that may run on a CPU, indexes into audit->world. */
int audit_cpu_tasks(const Audit *audit, unsigned cpu, size_t **ret, size_t *ret_n);
int audit_cpu_irqs(const Audit *audit, unsigned cpu, size_t **ret, size_t *ret_n);

#pragma GCC visibility pop
