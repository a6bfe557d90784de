/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "print.h"
#include "session.h"
#include "workers.h"

/* Threads that each do the same work, without and with a timer of the process's CPU time (ITIMER_PROF,
 * setitimer(2)): what such a timer costs a process of many threads. */

#define CHUNK_NSEC 1000000.0
#define STACK_SIZE (256u * 1024)

/* The clock that ITIMER_PROF goes by: user and system time of the process as the tick counts them, which may differ
 * from what getrusage(2) makes of it.  (include/linux/posix-timers_types.h: CPUCLOCK_PROF of this process) */
#define CLOCK_PROF ((clockid_t) (~0u << 3))

typedef struct ItimerResult {
        double elapsed, user, system; /* seconds */
        double prof;                  /* of that clock */
        long voluntary, preempted;
        uint64_t ticks;
        uint64_t period_ns; /* as getitimer(2) says; 0 without the timer */
        int error;
        bool done;
} ItimerResult;

/* Shared with the process that works. */
typedef struct ItimerRun {
        const Request *request;
        const CpuList *cpus;
        unsigned threads;
        uint64_t chunks, rounds; /* of each thread; of a chunk */
        double round_ns;
        _Atomic(bool) stop, go;
        _Atomic(unsigned) ready, running;
        ItimerResult results[2];
        int error;
} ItimerRun;

typedef struct ItimerThread {
        ItimerRun *run;
        unsigned cpu;
        pthread_t id;
        bool started;
} ItimerThread;

static _Atomic(uint64_t) ticks;

static void on_tick(int signal) {
        atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

static void *work(void *userdata) {
        ItimerThread *thread = userdata;
        ItimerRun *run = thread->run;
        struct timespec wait = { .tv_nsec = 1000000 };
        int r = worker_pin(thread->cpu);

        if (r == 0)
                r = worker_set_priority(run->request->priority);
        if (r < 0)
                run->error = r;
        atomic_fetch_add(&run->ready, 1);
        while (!atomic_load(&run->go))
                (void) nanosleep(&wait, NULL);
        for (uint64_t i = 0;
                r == 0 && i < run->chunks && !atomic_load_explicit(&run->stop, memory_order_relaxed); i++)
                spin(run->rounds);
        return NULL;
}

static double seconds_of(struct timeval tv) {
        return (double) tv.tv_sec + (double) tv.tv_usec / 1e6;
}

static int set_timer(uint64_t period_ns, ItimerResult *result) {
        struct timeval period = { .tv_sec = (time_t) (period_ns / 1000000000),
                .tv_usec = (suseconds_t) (period_ns % 1000000000 / 1000) };
        struct itimerval timer = { .it_interval = period, .it_value = period };

        if (setitimer(ITIMER_PROF, &timer, NULL) < 0)
                return -errno;
        if (period_ns && getitimer(ITIMER_PROF, &timer) < 0)
                return -errno;
        result->period_ns = (uint64_t) (seconds_of(timer.it_interval) * 1e9 + 0.5);
        return 0;
}

static double prof_seconds(void) {
        struct timespec ts = {};

        (void) clock_gettime(CLOCK_PROF, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

/* From the moment that all may begin until all are through. */
static int time_threads(ItimerRun *run, ItimerThread *threads, uint64_t period_ns, ItimerResult *result) {
        struct timespec wait = { .tv_nsec = 1000000 };
        struct rusage before, after;
        ItimerResult unused = {};
        uint64_t begin;
        int r = 0;

        while (atomic_load(&run->ready) < run->threads)
                (void) nanosleep(&wait, NULL);
        if (run->error == 0 && period_ns)
                r = set_timer(period_ns, result);
        (void) getrusage(RUSAGE_SELF, &before);
        atomic_store(&ticks, 0);
        result->prof = prof_seconds();
        begin = clock_ns();
        atomic_store(&run->go, true);
        for (unsigned i = 0; i < run->threads; i++)
                (void) pthread_join(threads[i].id, NULL);
        result->elapsed = (double) (clock_ns() - begin) / 1e9;
        result->prof = prof_seconds() - result->prof;
        (void) getrusage(RUSAGE_SELF, &after);
        result->ticks = atomic_load(&ticks);
        if (period_ns)
                (void) set_timer(0, &unused);
        result->user = seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
        result->system = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
        result->voluntary = after.ru_nvcsw - before.ru_nvcsw;
        result->preempted = after.ru_nivcsw - before.ru_nivcsw;
        return r ?: run->error;
}

static int start_threads(ItimerRun *run, ItimerThread *threads) {
        pthread_attr_t attributes;
        int cpu = -1, r = pthread_attr_init(&attributes);

        if (r == 0)
                r = pthread_attr_setstacksize(&attributes, STACK_SIZE);
        for (unsigned i = 0; i < run->threads && r == 0; i++) {
                cpu = cpulist_next(run->cpus, cpu);
                if (cpu < 0)
                        cpu = cpulist_next(run->cpus, -1);
                threads[i] = (ItimerThread){ .run = run, .cpu = (unsigned) cpu };
                r = pthread_create(&threads[i].id, &attributes, work, &threads[i]);
        }
        return -r;
}

static int run_threads(ItimerRun *run, uint64_t period_ns, ItimerResult *result) {
        _cleanup_free_ ItimerThread *threads = calloc(run->threads, sizeof(*threads));
        int r;

        if (!threads)
                return -ENOMEM;
        atomic_store(&run->ready, 0);
        atomic_store(&run->go, false);
        r = start_threads(run, threads);
        /* With some of them missing nobody is waited for: the process ends. */
        r = r ?: time_threads(run, threads, period_ns, result);
        result->done = r == 0;
        return r;
}

static uint64_t period_of(const Request *request) {
        return request->n_hz > 0 ? 1000000000 / request->hz[0] : request->period_ns;
}

static void itimer_main(void *userdata) {
        struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
        ItimerRun *run = userdata;
        int r;

        (void) mlockall(MCL_CURRENT | MCL_FUTURE);
        (void) sigaction(SIGPROF, &action, NULL);
        run->round_ns = spin_calibrate();
        run->rounds = (uint64_t) (CHUNK_NSEC / run->round_ns);
        run->chunks = (uint64_t) ((double) run->request->duration_ns / CHUNK_NSEC);
        r = run_threads(run, 0, &run->results[0]);
        if (r == 0 && !atomic_load(&run->stop))
                r = run_threads(run, period_of(run->request), &run->results[1]);
        run->error = r;
}

/* The process that asks */

static json_t *result_row(const ItimerResult *result, bool timer) {
        double period = (double) result->period_ns / 1e9;

        return json_pack("{s:s, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:f}", "timer",
                timer ? "with" : "without", "elapsed_s", result->elapsed, "user_s", result->user, "system_s",
                result->system, "voluntary_switches", (json_int_t) result->voluntary, "preemptions",
                (json_int_t) result->preempted, "ticks", (json_int_t) result->ticks, "expected_ticks",
                period > 0 ? json_real(result->prof / period) : json_null(), "period_s", period);
}

static json_t *make_record(const Session *session, const ItimerRun *run) {
        Clock clock = clock_choose(session->machine->kfs, "");
        json_t *record = report_head(&(ReportHead){
                .machine = session->machine,
                .request = session->request,
                .clock = &clock,
                .cpus = session->cpus,
                .seconds = run->results[0].elapsed + run->results[1].elapsed,
                .interrupted = *session->interrupted,
                .locked = true,
        });
        json_t *rows = json_array();

        for (size_t i = 0; rows && i < ARRAY_SIZE(run->results); i++)
                if (run->results[i].done)
                        (void) json_array_append_new(rows, result_row(&run->results[i], i == 1));
        if (!record || !rows || json_object_set_new(record, "rows", rows) < 0 ||
                json_object_set_new(record, "threads", json_integer(run->threads)) < 0 ||
                json_object_set(
                        record, "all", json_array_get(rows, json_array_size(rows) - 1) ?: json_null()) < 0) {
                json_decref(record);
                return NULL;
        }
        return record;
}

/* One process is in one set's slice, or in none. */
static int choose_slice(const Session *session, const char **ret) {
        const MeasureSet *found = NULL;
        bool first = true;

        CPULIST_FOREACH (cpu, session->cpus) {
                const MeasureSet *set = measure_sets_find(session->sets, (unsigned) cpu);

                if (set && !set->shut)
                        set = NULL;
                if (!first && set != found) {
                        cli_error("the threads of one process cannot be in set %s and outside of it: --cpus "
                                  "says where "
                                  "they are to be",
                                (set ?: found)->name);
                        return EXIT_REFUSED;
                }
                found = set;
                first = false;
        }
        *ret = found ? found->name : NULL;
        return EXIT_HOLDS;
}

static int wait_for(const Session *session, ItimerRun *run, pid_t pid) {
        struct timespec look = { .tv_nsec = 100000000 };
        uint64_t begin = clock_ns(), shown = begin;
        int status = 0;

        while (waitpid(pid, &status, WNOHANG) == 0) {
                if (*session->interrupted)
                        atomic_store(&run->stop, true);
                (void) nanosleep(&look, NULL);
                if (clock_ns() - shown < 1000000000)
                        continue;
                shown = clock_ns();
                /* Two rounds of it. */
                session_progress(session, (double) (shown - begin) / 2e9, -1, 0);
        }
        session_progress_end(session);
        if (WIFSIGNALED(status) || run->error < 0) {
                cli_error("the work could not be done: %s",
                        run->error < 0 ? strerror(-run->error) : strsignal(WTERMSIG(status)));
                return EXIT_REFUSED;
        }
        return EXIT_HOLDS;
}

int session_run_itimer(const Session *session, json_t **ret) {
        _cleanup_free_ char *why = NULL;
        const char *slice;
        ItimerRun *run;
        pid_t pid;
        int r = choose_slice(session, &slice);

        if (r != EXIT_HOLDS)
                return r;
        run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (run == MAP_FAILED)
                return -ENOMEM;
        run->request = session->request;
        run->cpus = session->cpus;
        run->threads = session->request->threads ?: (unsigned) cpulist_count(session->cpus);
        r = worker_fork(session->machine->kfs, slice, itimer_main, run, &pid, &why);
        if (r < 0 && why) {
                cli_error("%s", why);
                r = EXIT_REFUSED;
        }
        r = r ?: wait_for(session, run, pid);
        if (r == EXIT_HOLDS) {
                *ret = make_record(session, run);
                r = *ret ? EXIT_HOLDS : -ENOMEM;
        }
        if (r == EXIT_HOLDS && !cli_has(session->cli, OPTION_JSON))
                print_begin(*ret);
        (void) munmap(run, sizeof(*run));
        return r;
}
