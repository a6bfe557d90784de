/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit.h"

/* What the findings are made of besides steps, tasks and interrupts: read once, so that finding is pure. */

/* A user task that may run on an isolated CPU, at two moments. */
typedef struct TaskLook {
        size_t task; /* index into world->tasks */
        uint64_t first_at,
                first_ns;        /* when it was looked at first (µs, monotonic), and its time till then */
        char first_state, state; /* at the second one */
        int last_cpu;
        double share; /* of a CPU's time in between; -1: not known */
} TaskLook;

/* A process with a thread that may run on an isolated CPU. */
typedef struct ProcessFacts {
        size_t leader;      /* index into world->tasks */
        CpuList cpus;       /* isolated ones that its threads may run on */
        char *timer;        /* the CPU time timer that it has, in words; NULL: none that can be seen */
        uint64_t *node_kib; /* its own memory on each node; NULL: not known */
        size_t n_nodes;
} ProcessFacts;

/* A folder of sysfs that says something by being there. */
typedef struct NamedFact {
        char *name, *path, *value;
} NamedFact;

/* A process that holds performance counters. */
typedef struct PerfSession {
        size_t leader;
        size_t n_events;
} PerfSession;

typedef struct AuditFacts {
        char *clock, *clocks;   /* current and available clock sources, or NULL */
        NamedFact *livepatches; /* in transition */
        size_t n_livepatches;
        NamedFact *injections; /* cooling devices that make CPUs idle, at work */
        size_t n_injections;
        PerfSession *sessions;
        size_t n_sessions;
        TaskLook *looks;
        size_t n_looks;
        ProcessFacts *processes;
        size_t n_processes;
        bool has_smi;                 /* both counts could be read */
        uint64_t smi_first, smi_last; /* system management interrupts, as a housekeeping CPU counts them */
        bool throttled;               /* real-time tasks do not get all of a CPU, as far as the whole goes */
        bool fair_servers;            /* …: each CPU has a server that decides it */
        CpuList servers_off;
} AuditFacts;

int audit_facts_read(Kfs *kfs, Audit *audit, AuditFacts **ret);
/* The second look, a while after the first. */
int audit_facts_again(Kfs *kfs, const Audit *audit, AuditFacts *facts);
void audit_facts_free(AuditFacts *facts);

/* A sentence for what cannot be seen, once. */
int audit_unseen(Audit *audit, const char *format, ...) _printf_(2, 3);

/* audit-process.c: fills facts->looks and facts->processes; and the second look at the tasks. */
int audit_read_processes(Kfs *kfs, Audit *audit, AuditFacts *facts);
int audit_read_tasks_again(Kfs *kfs, const Audit *audit, AuditFacts *facts);
/* facts->sessions */
int audit_read_sessions(Kfs *kfs, Audit *audit, AuditFacts *facts);
void audit_process_done(ProcessFacts *process);

/* Exposed for tests: the CPU clock among the timers of /proc/PID/timers, or NULL; the private memory on each
 * node in a numa_maps file, in KiB. */
const char *audit_parse_timers(const char *text);
int audit_parse_numa_maps(const char *text, uint64_t **ret, size_t *ret_n);
