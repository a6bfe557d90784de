/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "kfs.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The clock of the tight loop. */
typedef enum ClockKind {
        CLOCK_KIND_GETTIME, /* clock_gettime(CLOCK_MONOTONIC) */
        CLOCK_KIND_TSC,     /* x86-64's time-stamp counter */
        CLOCK_KIND_CNTVCT,  /* arm64's virtual counter */
} ClockKind;

typedef struct Clock {
        ClockKind kind;
        bool call; /* reading it is a system call */
        double ns_per_tick;
        char why[96]; /* of the choice, for people */
} Clock;

static inline uint64_t clock_ns(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}

static inline uint64_t clock_read(ClockKind kind) {
#if defined(__x86_64__)
        if (kind == CLOCK_KIND_TSC)
                return __rdtsc();
#elif defined(__aarch64__)
        if (kind == CLOCK_KIND_CNTVCT) {
                uint64_t value;

                __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
                return value;
        }
#endif
        return clock_ns();
}

#if defined(__x86_64__)
#define CLOCK_MACHINE "x86_64"
#elif defined(__aarch64__)
#define CLOCK_MACHINE "aarch64"
#else
#define CLOCK_MACHINE ""
#endif

/* Chooses by what the kernel says of the machine's clocks: a TSC only where the kernel keeps time by it, or lists
 * it and the processor says that it never stops; one that was found unstable is not listed.  machine:
 * CLOCK_MACHINE.  Does not say yet how fast it is. (Documentation/ABI/testing/sysfs-devices-system-clocksource) */
Clock clock_choose(Kfs *kfs, const char *machine);
/* How fast it is, against CLOCK_MONOTONIC; takes a tenth of a second. */
void clock_measure(Clock *clock);

/* `tsc`, `cntvct`, `clock_gettime`. */
const char *clock_name(const Clock *clock);
static inline uint64_t clock_ticks(const Clock *clock, uint64_t ns) {
        return (uint64_t) ((double) ns / clock->ns_per_tick);
}
