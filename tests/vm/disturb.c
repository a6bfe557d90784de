/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A disturbance of known size and rate, as an interrupt thread would be one: a FIFO thread on one CPU that is busy for
 * BUSY microseconds, again every PERIOD microseconds.
 *
 *   rtisold-disturb CPU BUSY PERIOD */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PRIORITY 90

static uint64_t now_ns(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}

static int settle(unsigned cpu) {
        struct sched_param param = { .sched_priority = PRIORITY };
        cpu_set_t *set = CPU_ALLOC(cpu + 1);
        size_t size = CPU_ALLOC_SIZE(cpu + 1);
        int r;

        if (!set)
                return -1;
        CPU_ZERO_S(size, set);
        CPU_SET_S(cpu, size, set);
        r = sched_setaffinity(0, size, set);
        CPU_FREE(set);
        if (r < 0 || sched_setscheduler(0, SCHED_FIFO, &param) < 0)
                return -1;
        return mlockall(MCL_CURRENT | MCL_FUTURE);
}

static void wait_until(uint64_t ns) {
        struct timespec ts = { .tv_sec = (time_t) (ns / 1000000000), .tv_nsec = (long) (ns % 1000000000) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
                ;
}

int main(int argc, char **argv) {
        uint64_t busy, period, due;

        if (argc != 4) {
                fprintf(stderr, "usage: rtisold-disturb CPU BUSY PERIOD\n");
                return 2;
        }
        busy = strtoull(argv[2], NULL, 10) * 1000;
        period = strtoull(argv[3], NULL, 10) * 1000;
        if (settle((unsigned) strtoul(argv[1], NULL, 10)) < 0) {
                perror("rtisold-disturb");
                return 1;
        }
        for (due = now_ns() + period;; due += period) {
                uint64_t begin;

                wait_until(due);
                begin = now_ns();
                while (now_ns() - begin < busy)
                        ;
        }
}
