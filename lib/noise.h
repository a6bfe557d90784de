/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"

/* From a list of what happened on CPUs to who took them, for how long, and what to do about it.  Pure: events come
 * from a tracer (tracer.h) or from a test's table. */

typedef enum NoiseEventType {
        /* On the CPU that is interrupted; what was entered is left in reverse order. */
        NOISE_IRQ_ENTRY, /* name: the action's, number: the interrupt's */
        NOISE_IRQ_EXIT,
        NOISE_VECTOR_ENTRY, /* interrupts that belong to no device; name: local_timer, reschedule, … */
        NOISE_VECTOR_EXIT,
        NOISE_SOFTIRQ_ENTRY, /* name: TIMER, NET_RX, … */
        NOISE_SOFTIRQ_EXIT,
        NOISE_HRTIMER_ENTRY, /* name: the function's, address: the timer's */
        NOISE_HRTIMER_EXIT,
        NOISE_TIMER_ENTRY,
        NOISE_TIMER_EXIT,
        NOISE_CALL_ENTRY, /* a function called by another CPU; name */
        NOISE_CALL_EXIT,
        NOISE_CALL_NAME, /* what the interrupt under way was found to be for, where nothing tells of the call; name */
        NOISE_WORK_ENTRY, /* name: the function's, address: the work item's */
        NOISE_WORK_EXIT,
        NOISE_SYSCALL_ENTRY, /* name */
        NOISE_SYSCALL_EXIT,
        NOISE_NMI,        /* name: the handler's; number: ns that it took */
        NOISE_TICK_STOP,  /* name: the kernel's reason; number: 1 where the tick was stopped */
        NOISE_PAGE_FAULT, /* name: the place, `user` or a function of the kernel */
        NOISE_SWITCH,     /* target_pid, target_comm: the task that goes on */
        /* On any CPU; target: the CPU it is about. */
        NOISE_TIMER_ARM,  /* address: the timer's; target is not known */
        NOISE_WORK_QUEUE, /* address: the work item's */
        NOISE_WAKING,     /* target_pid, target_comm: the task woken */
        NOISE_IPI_SEND,   /* name: the function's that the target is made to call, or NULL */
        NOISE_LOST,       /* number: events of this CPU that were not recorded before this one */
        _NOISE_EVENT_TYPE_MAX,
} NoiseEventType;

#define NOISE_COMM_SIZE 16
/* The name of a call that makes other CPUs forget translations of addresses, for NOISE_IPI_SEND without a target and
 * NOISE_CALL_NAME. */
#define NOISE_FLUSH "flush_tlb_func"

typedef struct NoiseEvent {
        NoiseEventType type;
        uint64_t at;      /* monotonic, ns */
        unsigned cpu;     /* where it was recorded */
        int pid;          /* of the thread that was current there; 0: idle */
        bool interrupt;   /* and it was interrupted: what happened is none of its doing */
        const char *name; /* or NULL; only has to live during the call */
        uint64_t address, number;
        unsigned target;
        int target_pid;
        char target_comm[NOISE_COMM_SIZE];
} NoiseEvent;

typedef enum NoiseKind {
        NOISE_KIND_TICK,
        NOISE_KIND_TIMER,
        NOISE_KIND_SOFTIRQ,
        NOISE_KIND_INTERRUPT,
        NOISE_KIND_IPI,
        NOISE_KIND_WORK,
        NOISE_KIND_TASK,
        NOISE_KIND_NMI,
        NOISE_KIND_SYSCALL,    /* of the workload itself, as is: */
        NOISE_KIND_PAGE_FAULT, /* counted only: the kernel does not say how long one takes */
        _NOISE_KIND_MAX,
} NoiseKind;

/* `tick`, `timer`, …, `page-fault`. */
const char *noise_kind_to_string(NoiseKind kind);

/* Who made a culprit come, or for a tick: why it was not stopped. */
typedef struct NoiseCause {
        char *what;
        uint64_t count;
} NoiseCause;

typedef struct NoiseCulprit {
        NoiseKind kind;
        char *name;
        int pid;                      /* of a task, 0 where there were several of that name */
        uint64_t number;              /* of an interrupt */
        uint64_t count, ns, worst_ns; /* the time is its own: what interrupts it has a row for itself */
        NoiseCause *causes;           /* the most frequent first */
        size_t n_causes;
} NoiseCulprit;

typedef struct NoiseCpu {
        unsigned cpu;
        int workload; /* the thread that ran most, 0 where there was none */
        char *workload_comm;
        uint64_t workload_ns, idle_ns;
        uint64_t stolen_ns;     /* all culprits but the workload's own */
        uint64_t worst_ns;      /* the longest of them in one piece */
        uint64_t lost;          /* events that were not recorded */
        NoiseCulprit *culprits; /* by time, the most first */
        size_t n_culprits;
} NoiseCpu;

typedef struct NoiseReport {
        uint64_t start, ns; /* since when, and how long, was watched */
        NoiseCpu *cpus;
        size_t n_cpus;
} NoiseReport;

void noise_report_done(NoiseReport *report);
#define _cleanup_noise_report_ _cleanup_(noise_report_done)

static inline bool noise_is_own(const NoiseCulprit *culprit) {
        return culprit->kind == NOISE_KIND_SYSCALL || culprit->kind == NOISE_KIND_PAGE_FAULT;
}

/* The accounting. */
typedef struct Noise Noise;

/* start: when the CPUs began to be watched, ns. */
int noise_new(const CpuList *cpus, uint64_t start, Noise **ret);
void noise_free(Noise *noise);
DEFINE_CLEANUP_POINTER(Noise, noise_free)
#define _cleanup_noise_ _cleanup_(noise_freep)

/* Events must come in the order of their time.  One that does not fit (an exit without an entry, because events were
 * lost or the watch began in between) is passed over.  -ENOMEM. */
int noise_event(Noise *noise, const NoiseEvent *event);

/* What is known of a thread from elsewhere: its name, whether it is the kernel's, and whether it belongs to the
 * watched CPUs (it is in their set's slice).  noise_next_unknown() gives threads that nothing was told of yet, 0 at
 * the end. */
int noise_task(Noise *noise, int pid, const char *comm, bool kernel, bool belongs);
int noise_next_unknown(Noise *noise);

/* The workload of a CPU is the thread that ran most there among those that belong to it. */
int noise_finish(Noise *noise, uint64_t end, NoiseReport *ret);

/* What an advice depends on. */
typedef struct NoiseFacts {
        CpuList nohz_full;  /* CPUs that the kernel was booted with */
        CpuList wants_tick; /* CPUs of sets whose profile wants the tick to run */
        bool tick_file;     /* this kernel has cpuset.cpus.nohz */
        bool fair_server;   /* this kernel has /sys/kernel/debug/sched/fair_server */
        bool names_calls;   /* this kernel tells which function a CPU was made to call */
} NoiseFacts;

void noise_facts_done(NoiseFacts *facts);

/* Why the tick was not stopped where the kernel never even asked; NULL where it did. */
const char *noise_tick_reason(const NoiseCpu *cpu, const NoiseFacts *facts);

/* A sentence that says what to do. */
int noise_advice(const NoiseCpu *cpu, const NoiseCulprit *culprit, const NoiseFacts *facts, char **ret);
