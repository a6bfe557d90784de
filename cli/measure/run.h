/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "clock.h"
#include "series.h"

/* What the command shares with the processes and threads that measure: one piece of memory, all of it there before
 * anything is measured. */

typedef enum MeasureKind {
        MEASURE_PERT,
        MEASURE_JITTER,
        MEASURE_FRAME,
        MEASURE_ITIMER,
} MeasureKind;

typedef enum LaneState {
        LANE_NEW,
        LANE_READY, /* waits for the start */
        LANE_RUNNING,
        LANE_DONE,
        LANE_FAILED, /* lane->error and lane->what say why */
} LaneState;

/* How many seconds the reader may be late, and how many frame numbers are kept. */
#define LANE_INTERVALS 16u
#define LANE_FLIERS 8u

/* What the kernel counted for a thread while it measured. (getrusage(2), RUSAGE_THREAD) */
typedef struct Evidence {
        long faults;               /* page faults */
        long voluntary, preempted; /* context switches */
} Evidence;

/* One CPU that is measured: written by its thread alone, and read by others through `state` and `published`. */
typedef struct Lane {
        unsigned cpu;
        const char *set;         /* the set that it is in, or NULL */
        bool enter;              /* only what is in the set's slice may run there */
        unsigned hz;             /* how often; 0 where period_ns says it */
        uint64_t period_ns;      /* about, where hz is not 0 */
        unsigned group;          /* of CPUs with one frequency */
        _Atomic(unsigned) state; /* LaneState */
        int error, tid;
        const char *what; /* that failed */
        Pert pert;
        uint64_t rounds; /* a frame's work */
        double work_ns;  /* what that takes undisturbed */
        Interval total, current;
        Histogram histogram;
        uint64_t cycles, missed; /* timers or frames; those whose time was over before they could begin */
        uint64_t worst;          /* the frame that ended latest */
        double latest;           /* and how late, in ns */
        uint64_t transition; /* the frame that last was a flier and the one before was not, or the reverse */
        uint64_t fliers[LANE_FLIERS]; /* their numbers: the first ones */
        unsigned n_fliers;
        bool flying;
        Evidence evidence;
        _Atomic(unsigned) published; /* how many intervals were ever put into the ring */
        Interval ring[LANE_INTERVALS];
} Lane;

typedef struct Run {
        MeasureKind kind;
        Clock clock;
        uint64_t duration_ns; /* 0: until stopped */
        uint64_t loops;       /* cycles of a timer or frame after which it ends; 0: by the time */
        double tolerance_ns;  /* 0: pert finds its own */
        double load;          /* part of a frame that its work takes */
        int priority;         /* FIFO; 0: as other programs */
        bool locked;          /* memory could be locked */
        _Atomic(bool) stop, go;
        uint64_t start_ns; /* CLOCK_MONOTONIC; set before `go` */
        size_t n;
        Lane lanes[];
} Run;

/* Room for n CPUs, shared with children and zeroed; NULL without memory. */
Run *run_new(size_t n);
void run_free(Run *run);
DEFINE_CLEANUP_POINTER(Run, run_free)
#define _cleanup_run_ _cleanup_(run_freep)

/* When cycle number n of a lane is due, since the start: exact for whole frequencies. */
static inline uint64_t lane_due(const Lane *lane, uint64_t n) {
        return lane->hz ? (uint64_t) ((__uint128_t) n * 1000000000 / lane->hz) : n * lane->period_ns;
}

/* Puts what was seen since the last time into the ring and into the total, and begins anew.  now: seconds since the
 * start. */
void lane_publish(Lane *lane, double now);
/* The interval behind the first `read` of them; false where there is none.  *read goes on, also over those that
 * were overwritten before they were read. */
bool lane_take(const Lane *lane, unsigned *read, Interval *ret);

/* What a thread does before the start: how long a round of its loop takes, or its work. */
int lane_calibrate(Run *run, Lane *lane);
/* Measures until the time is over or run->stop.  No allocation, no page fault, and no system call but, for timers
 * and frames, the one that waits for the next. */
void lane_measure(Run *run, Lane *lane);

/* Rounds of a loop that touches nothing. */
static inline void spin(uint64_t rounds) {
        for (uint64_t i = 0; i < rounds; i++)
                __asm__ volatile("" : "+r"(i));
}
/* How many nanoseconds a round takes where nothing disturbs it: the best of some tries. */
double spin_calibrate(void);
