/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session.h"

#include <sched.h>

#include "print.h"
#include "workers.h"

#define LOOK_NSEC 100000000
/* A thread whose time is over has this long to say so. */
#define GRACE_SECONDS 10

/* The command's own thread stays away from what is measured, where there is another CPU. */
typedef struct Retreat {
        cpu_set_t *found;
        size_t size;
} Retreat;

#define RETREAT_CPUS 65536

static void retreat_done(Retreat *retreat) {
        if (!retreat->found)
                return;
        (void) sched_setaffinity(0, retreat->size, retreat->found);
        CPU_FREE(retreat->found);
}

static void retreat(const CpuList *cpus, Retreat *ret) {
        size_t size = CPU_ALLOC_SIZE(RETREAT_CPUS);
        cpu_set_t *found = CPU_ALLOC(RETREAT_CPUS), *left = CPU_ALLOC(RETREAT_CPUS);

        if (found && left && sched_getaffinity(0, size, found) == 0) {
                memcpy(left, found, size);
                CPULIST_FOREACH (cpu, cpus)
                        CPU_CLR_S((size_t) cpu, size, left);
                if (CPU_COUNT_S(size, left) > 0 && sched_setaffinity(0, size, left) == 0) {
                        *ret = (Retreat){ .found = found, .size = size };
                        found = NULL;
                }
        }
        CPU_FREE(found);
        CPU_FREE(left);
}

/* Lines meanwhile */

static bool shows_lines(const Session *session) {
        return !cli_has(session->cli, OPTION_JSON) && !cli_has(session->cli, OPTION_QUIET) &&
                session->request->kind <= MEASURE_JITTER;
}

static bool shows_progress(const Session *session) {
        return !cli_has(session->cli, OPTION_QUIET) && isatty(STDERR_FILENO);
}

static void format_seconds(double seconds, char buffer[static 32]) {
        unsigned long s = (unsigned long) seconds;

        (void) snprintf(buffer, 32, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
}

void session_progress(const Session *session, double seconds, double worst_ns, unsigned worst_cpu) {
        double duration = (double) session->request->duration_ns / 1e9;
        char at[32], of[32];

        if (!shows_progress(session))
                return;
        format_seconds(seconds, at);
        format_seconds(duration, of);
        if (duration > 0 && session->request->loops == 0)
                fprintf(stderr, "\r\033[K%3.0f%%  %s of %s", seconds / duration * 100, at, of);
        else
                fprintf(stderr, "\r\033[K%s, ^C ends it", at);
        if (worst_ns >= 0)
                fprintf(stderr, "  worst %.1f us on CPU %u", worst_ns / 1000, worst_cpu);
}

void session_progress_end(const Session *session) {
        if (shows_progress(session))
                fputs("\r\033[K", stderr);
}

typedef struct Watch {
        const Session *session;
        Run *run;
        unsigned *read; /* how many intervals of each lane were read */
        double worst;
        unsigned worst_cpu;
        uint64_t shown; /* when the progress was shown */
} Watch;

static int print_interval(const Watch *watch, const Lane *lane, const Interval *interval) {
        _cleanup_record_ json_t *row = report_interval(watch->run->kind, lane, interval);

        if (!row)
                return -ENOMEM;
        print_row(watch->session->request->name, row, true);
        return 0;
}

static int watch_lane(Watch *watch, size_t i, bool *ret_any) {
        const Lane *lane = &watch->run->lanes[i];
        Interval interval;
        int r = 0;

        while (r == 0 && lane_take(lane, &watch->read[i], &interval)) {
                if (interval.all.n > 0 && interval.all.max > watch->worst) {
                        watch->worst = interval.all.max;
                        watch->worst_cpu = lane->cpu;
                }
                if (!shows_lines(watch->session))
                        continue;
                if (!*ret_any)
                        session_progress_end(watch->session);
                *ret_any = true;
                r = print_interval(watch, lane, &interval);
        }
        return r;
}

static int watch_lanes(Watch *watch) {
        bool any = false;
        int r = 0;

        for (size_t i = 0; i < watch->run->n && r == 0; i++)
                r = watch_lane(watch, i, &any);
        /* What went wrong is told where the command ends. */
        if (any && fflush(stdout) != 0)
                return EXIT_REFUSED;
        if (r == 0 && clock_ns() - watch->shown > 1000000000) {
                watch->shown = clock_ns();
                session_progress(watch->session, (double) (watch->shown - watch->run->start_ns) / 1e9,
                        watch->worst, watch->worst_cpu);
        }
        return r;
}

/* Until all are through, or have had time enough. */
static int watch_until_end(Watch *watch, Workers *workers) {
        const Session *session = watch->session;
        struct timespec look = { .tv_nsec = LOOK_NSEC };
        uint64_t end = UINT64_MAX;
        int r = 0;

        if (session->request->duration_ns && !session->request->loops)
                end = watch->run->start_ns + session->request->duration_ns;
        while (r == 0 && workers_run(workers) && !*session->interrupted && clock_ns() < end) {
                (void) nanosleep(&look, NULL);
                r = watch_lanes(watch);
        }
        if (*session->interrupted || r != 0)
                atomic_store(&watch->run->stop, true);
        for (int i = 0; r == 0 && i < GRACE_SECONDS * 10 && workers_run(workers); i++) {
                (void) nanosleep(&look, NULL);
                r = watch_lanes(watch);
        }
        atomic_store(&watch->run->stop, true);
        for (int i = 0; i < GRACE_SECONDS * 10 && workers_run(workers); i++)
                (void) nanosleep(&look, NULL);
        session_progress_end(session);
        return r == 0 ? watch_lanes(watch) : r;
}

/* What is to be done, for each CPU */

/* Groups of frequencies get their CPUs in order, as many as each other. */
static void set_frequency(const Request *request, size_t i, size_t n, Lane *lane) {
        lane->group = request->n_hz > 0 ? (unsigned) (i * request->n_hz / n) : 0;
        lane->hz = request->n_hz > 0 ? request->hz[lane->group] : 0;
        lane->period_ns = lane->hz ? 1000000000 / lane->hz : request->period_ns;
}

static Run *make_run(const Session *session) {
        const Request *request = session->request;
        Run *run = run_new(cpulist_count(session->cpus));
        size_t i = 0;

        if (!run)
                return NULL;
        run->kind = request->kind;
        run->duration_ns = request->duration_ns;
        run->loops = request->loops;
        run->tolerance_ns = request->tolerance_ns;
        run->load = request->load;
        run->priority = request->priority;
        /* Timers are set by the kernel's own clock: what they are late is told by that. */
        run->clock = clock_choose(session->machine->kfs, request->kind == MEASURE_PERT ? CLOCK_MACHINE : "");
        clock_measure(&run->clock);
        CPULIST_FOREACH (cpu, session->cpus) {
                const MeasureSet *set = measure_sets_find(session->sets, (unsigned) cpu);
                Lane *lane = &run->lanes[i];

                lane->cpu = (unsigned) cpu;
                lane->set = set ? set->name : NULL;
                lane->enter = set && set->shut;
                set_frequency(request, i++, run->n, lane);
        }
        return run;
}

static json_t *make_head(const Session *session, const Run *run) {
        return report_head(&(ReportHead){
                .machine = session->machine,
                .request = session->request,
                .clock = &run->clock,
                .cpus = session->cpus,
                .seconds = run->start_ns ? (double) (clock_ns() - run->start_ns) / 1e9 : 0,
                .interrupted = *session->interrupted,
                .locked = run->locked,
        });
}

static int make_record(const Session *session, const Run *run, double seconds, json_t **ret) {
        _cleanup_record_ json_t *record = make_head(session, run);
        json_t *rows = report_rows(run), *all = report_all(run);

        if (!record || !rows || !all) {
                json_decref(rows);
                json_decref(all);
                return -ENOMEM;
        }
        if (json_object_set_new(record, "seconds", json_real(seconds)) < 0 ||
                json_object_set_new(record, "all", all) < 0 || json_object_set_new(record, "rows", rows) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(record);
        return EXIT_HOLDS;
}

static void print_first_lines(const Session *session, const Run *run) {
        _cleanup_record_ json_t *head = make_head(session, run);

        if (cli_has(session->cli, OPTION_JSON) || !head)
                return;
        print_begin(head);
        if (shows_lines(session))
                print_headings(session->request->name, true);
        (void) fflush(stdout);
}

/* A real-time loop on every CPU leaves none for those who would end it. */
static int check_room(const Session *session) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);

        if (session->request->kind != MEASURE_PERT || session->request->priority == 0 ||
                (long) cpulist_count(session->cpus) < online)
                return EXIT_HOLDS;
        cli_error("a loop of real-time priority on every CPU would leave none for anybody else: leave out "
                  "one with "
                  "--cpus, or the --priority");
        return EXIT_REFUSED;
}

static int measure(const Session *session, Run *run) {
        _cleanup_workers_ Workers *workers = NULL;
        _cleanup_free_ unsigned *read = calloc(run->n, sizeof(*read));
        _cleanup_(retreat_done) Retreat back = {};
        _cleanup_free_ char *why = NULL;
        Watch watch = { .session = session, .run = run, .read = read, .worst = -1 };
        int r;

        if (!read)
                return -ENOMEM;
        r = workers_start(session->machine->kfs, run, session->interrupted, &workers, &why);
        if (r < 0 && why) {
                cli_error("%s", why);
                return EXIT_REFUSED;
        }
        if (r < 0)
                return r == -EINTR ? EXIT_HOLDS : r;
        print_first_lines(session, run);
        retreat(session->cpus, &back);
        workers_go(run);
        watch.shown = run->start_ns;
        return watch_until_end(&watch, workers);
}

int session_run(const Session *session, json_t **ret) {
        _cleanup_run_ Run *run = NULL;
        double seconds = 0;
        int r = check_room(session);

        if (r != EXIT_HOLDS)
                return r;
        run = make_run(session);
        if (!run)
                return -ENOMEM;
        r = measure(session, run);
        if (r != EXIT_HOLDS)
                return r;
        for (size_t i = 0; i < run->n; i++)
                if (run->lanes[i].total.seconds > seconds)
                        seconds = run->lanes[i].total.seconds;
        return make_record(session, run, seconds, ret);
}
