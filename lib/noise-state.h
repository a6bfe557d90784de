/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "noise.h"

/* What the accounting keeps: for noise-*.c alone. */

#define FRAMES_MAX 16

/* Who made something happen: a thread, or what had interrupted it. */
typedef struct Who {
        bool set;
        int pid;
        unsigned cpu;
        char name[40]; /* of what interrupted; "" */
} Who;

typedef struct Cause {
        Who who;
        uint64_t count;
} Cause;

typedef struct Culprit {
        NoiseKind kind;
        char *name;
        int owner; /* the thread that the row of a task, system call or page fault is about */
        uint64_t number, count, ns, worst_ns;
        Cause *causes;
        size_t n_causes;
} Culprit;

/* Something that was entered and not left yet. */
typedef struct Frame {
        NoiseEventType entry;
        size_t culprit;    /* in the CPU's table */
        uint64_t ns;       /* of its own, so far */
        bool has_inner;    /* It was there for this culprit, */
        size_t inner;      /* which is to be charged for the interrupt itself, too. */
        uint64_t inner_ns; /* What that one took alone. */
} Frame;

typedef struct Task {
        int pid; /* the idle task of CPU n is -(n + 1) */
        char comm[NOISE_COMM_SIZE];
        bool known, kernel, belongs;
        Frame frames[FRAMES_MAX];
        size_t n_frames;
        unsigned cpu;      /* where it ran last: the frames' culprits are that one's */
        uint64_t slice_ns; /* run since it got the CPU */
        Who waker;
} Task;

typedef struct Cpu {
        unsigned cpu;
        Task *current; /* NULL: not known yet */
        uint64_t at;   /* accounted up to here */
        uint64_t idle_ns, lost;
        Who sender; /* who sent the last interrupt to this CPU */
        Culprit *culprits;
        size_t n_culprits;
} Cpu;

/* Who armed a timer or queued a work item. */
typedef struct Origin {
        uint64_t address;
        Who who;
} Origin;

#define ORIGINS 16384u

struct Noise {
        uint64_t start;
        Cpu *cpus; /* by number */
        size_t n_cpus;
        Task **tasks; /* by pid */
        size_t n_tasks;
        Origin *origins; /* one place for each hash: what is newer replaces what was there */
        Who flusher;     /* who flushed translations on other CPUs last */
};

int noise_get_task(Noise *noise, int pid, Task **ret);
const Task *noise_find_task(const Noise *noise, int pid);
/* Everything up to `at` is charged to who has the CPU. */
int noise_advance(Cpu *cpu, uint64_t at);
/* Leaves all frames of a CPU's task down to and with number n. */
void noise_leave(Cpu *cpu, Task *task, size_t n);
