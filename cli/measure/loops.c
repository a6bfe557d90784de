/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mman.h>
#include <sys/resource.h>

#include "run.h"

#define SECOND_NSEC 1000000000u
/* For how long a tight loop is watched to learn how long a round takes. */
#define CALIBRATE_NSEC 200000000u
#define SPIN_ROUNDS 200000u
#define SPIN_TRIES 30

Run *run_new(size_t n) {
        size_t size = sizeof(Run) + n * sizeof(Lane);
        Run *run =
                mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

        if (run == MAP_FAILED)
                return NULL;
        run->n = n;
        return run;
}

void run_free(Run *run) {
        (void) munmap(run, sizeof(Run) + run->n * sizeof(Lane));
}

void lane_publish(Lane *lane, double now) {
        unsigned published = atomic_load_explicit(&lane->published, memory_order_relaxed);
        Interval *current = &lane->current;

        current->seconds = now - current->begin;
        lane->ring[published % LANE_INTERVALS] = *current;
        atomic_store_explicit(&lane->published, published + 1, memory_order_release);
        interval_merge(&lane->total, current);
        *current = (Interval){ .begin = now, .threshold = current->threshold };
}

bool lane_take(const Lane *lane, unsigned *read, Interval *ret) {
        unsigned published = atomic_load_explicit(&lane->published, memory_order_acquire);

        if (published == *read)
                return false;
        /* One less than there are: the oldest may be being overwritten. */
        if (published - *read >= LANE_INTERVALS)
                *read = published - (LANE_INTERVALS - 1);
        *ret = lane->ring[*read % LANE_INTERVALS];
        (*read)++;
        return true;
}

static bool stopped(const Run *run) {
        return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

/* Calibration */

double spin_calibrate(void) {
        uint64_t best = UINT64_MAX;

        for (int i = 0; i < SPIN_TRIES; i++) {
                uint64_t begin = clock_ns(), time;

                spin(SPIN_ROUNDS);
                time = clock_ns() - begin;
                if (time < best)
                        best = time;
        }
        return best > 0 ? (double) best / SPIN_ROUNDS : 1;
}

/* The histogram is the lane's, borrowed: it is empty again afterwards. */
static int calibrate_pert(const Run *run, Lane *lane) {
        uint64_t begin = clock_read(run->clock.kind), last = begin;
        uint64_t end = begin + clock_ticks(&run->clock, CALIBRATE_NSEC);
        int r;

        while (last < end && !stopped(run)) {
                uint64_t now = clock_read(run->clock.kind);

                histogram_add(&lane->histogram, now - last);
                last = now;
        }
        r = pert_calibrate(&lane->histogram, run->clock.ns_per_tick, run->tolerance_ns, &lane->pert);
        lane->histogram = (Histogram){};
        return r;
}

int lane_calibrate(Run *run, Lane *lane) {
        double round;

        if (run->kind == MEASURE_PERT)
                return calibrate_pert(run, lane);
        lane->current.threshold = run->tolerance_ns;
        if (run->kind != MEASURE_FRAME)
                return 0;
        round = spin_calibrate();
        lane->rounds = (uint64_t) (run->load * (double) lane->period_ns / round);
        lane->work_ns = (double) lane->rounds * round;
        return 0;
}

/* The tight loop */

/* What the loop does with what it has seen is no perturbation: the clock is read anew behind it. */
static void loop_pert(Run *run, Lane *lane) {
        const ClockKind kind = run->clock.kind;
        const double seconds_per_tick = run->clock.ns_per_tick / 1e9;
        const uint64_t second = clock_ticks(&run->clock, SECOND_NSEC), begin = clock_read(kind);
        const uint64_t end =
                run->duration_ns ? begin + clock_ticks(&run->clock, run->duration_ns) : UINT64_MAX;
        uint64_t next = begin + second, last = begin;
        Pert pert = lane->pert;

        while (!stopped(run)) {
                uint64_t now = clock_read(kind);

                if (now - last > pert.limit) {
                        pert_add(&pert, now - last, &lane->current, &lane->histogram);
                        if (now < next && now < end) {
                                last = clock_read(kind);
                                continue;
                        }
                }
                last = now;
                if (now < next && now < end)
                        continue;
                if (now >= end)
                        break;
                lane_publish(lane, (double) (now - begin) * seconds_per_tick);
                while (next <= now)
                        next += second;
                last = clock_read(kind);
        }
        lane_publish(lane, (double) (last - begin) * seconds_per_tick);
}

/* Timers and frames */

static void wait_until(const Run *run, uint64_t ns) {
        struct timespec ts = { .tv_sec = (time_t) (ns / SECOND_NSEC), .tv_nsec = (long) (ns % SECOND_NSEC) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR && !stopped(run))
                ;
}

/* Is cycle n still to be done? */
static bool goes_on(const Run *run, const Lane *lane, uint64_t n) {
        if (stopped(run))
                return false;
        if (run->loops)
                return n < run->loops;
        return !run->duration_ns || lane_due(lane, n + 1) <= run->duration_ns;
}

/* The first cycle that is not over before it begins; those between are missed, and the CPU gets to rest. */
static uint64_t next_cycle(const Run *run, Lane *lane, uint64_t n, uint64_t now) {
        uint64_t next = n + 1;

        while (lane_due(lane, next + 1) <= now && goes_on(run, lane, next)) {
                next++;
                lane->missed++;
        }
        return next;
}

/* Cycle n was so much too late. */
static void take_cycle(Lane *lane, uint64_t n, double late) {
        bool flies = late > lane->current.threshold;

        if (lane->cycles == 0 || late > lane->latest) {
                lane->latest = late;
                lane->worst = n;
        }
        interval_add(&lane->current, late);
        histogram_add(&lane->histogram, late > 0 ? (uint64_t) late : 0);
        if (flies && lane->n_fliers < LANE_FLIERS)
                lane->fliers[lane->n_fliers++] = n;
        if (lane->cycles > 0 && flies != lane->flying)
                lane->transition = n;
        lane->flying = flies;
        lane->cycles++;
}

static void loop_cycles(Run *run, Lane *lane) {
        const uint64_t start = run->start_ns;
        uint64_t next_second = SECOND_NSEC, now = 0;

        for (uint64_t n = 0; goes_on(run, lane, n); n = next_cycle(run, lane, n, now)) {
                uint64_t due = lane_due(lane, n);
                double late;

                wait_until(run, start + due);
                if (stopped(run))
                        break;
                if (lane->rounds)
                        spin(lane->rounds);
                now = clock_ns() - start;
                late = (double) now - (double) due - lane->work_ns;
                take_cycle(lane, n, late);
                if (now < next_second)
                        continue;
                lane_publish(lane, (double) now / 1e9);
                while (next_second <= now)
                        next_second += SECOND_NSEC;
        }
        lane_publish(lane, (double) now / 1e9);
}

void lane_measure(Run *run, Lane *lane) {
        struct rusage before, after;

        (void) getrusage(RUSAGE_THREAD, &before);
        if (run->kind == MEASURE_PERT)
                loop_pert(run, lane);
        else
                loop_cycles(run, lane);
        (void) getrusage(RUSAGE_THREAD, &after);
        lane->evidence = (Evidence){
                .faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
                .voluntary = after.ru_nvcsw - before.ru_nvcsw,
                .preempted = after.ru_nivcsw - before.ru_nivcsw,
        };
}
