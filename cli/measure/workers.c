/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "workers.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cpuset.h"
#include "unit-systemd.h"

#define STACK_SIZE (256u * 1024)
#define STACK_TOUCHED (64u * 1024)
#define POLL_NSEC 10000000
/* A CPU may be so busy that its thread does not get to run; one of many under emulation takes its time. */
#define READY_NSEC (60 * UINT64_C(1000000000))
#define READY_PER_CPU_NSEC UINT64_C(3000000000)
/* From here on nobody prepares anything any more. */
#define START_NSEC UINT64_C(50000000)
#define START_PER_CPU_NSEC UINT64_C(2000000)

struct Workers {
        Run *run;
        pid_t *pids;
        size_t n;
};

static void sleep_ns(long ns) {
        struct timespec wait = { .tv_nsec = ns };

        (void) nanosleep(&wait, NULL);
}

/* Processes */

static int start_of(Kfs *kfs, pid_t pid, uint64_t *ret) {
        _cleanup_free_ char *stat = NULL;
        const char *p;
        int r = kfs_readf(kfs, &stat, "/proc/%d/stat", (int) pid);

        if (r < 0)
                return r;
        /* Behind the name, which may hold anything, the start is the 20th. */
        p = strrchr(stat, ')');
        return p &&
                        sscanf(p + 1,
                                " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                "%*s %" SCNu64,
                                ret) == 1
                ? 0
                : -EPROTO;
}

/* Without systemd the process goes into the set's control group itself. */
static int enter_group(Kfs *kfs, const char *set, pid_t pid) {
        _cleanup_free_ char *path = NULL, *object = NULL;
        uint64_t start;
        int r = start_of(kfs, pid, &start);

        r = r ?: cpuset_path(set, &path);
        r = r ?: util_asprintf(&object, "task/%d/%" PRIu64 "/cgroup", (int) pid, start);
        return r ?: kfs_write(kfs, object, path);
}

static int enter_scope(const char *set, pid_t pid) {
        _cleanup_free_ char *unit = NULL, *slice = NULL;
        int r = util_asprintf(&unit, "rtisol-measure-%d.scope", (int) pid);

        r = r ?: cpuset_unit(set, &slice);
        return r ?: systemd_scope_start(unit, slice, "rtisoctl measure", (unsigned) pid);
}

static int enter_set(Kfs *kfs, const char *set, pid_t pid, char **ret_why) {
        int r = kfs_exists(kfs, "/run/systemd/system") ? enter_scope(set, pid) : enter_group(kfs, set, pid);

        if (r < 0)
                (void) util_asprintf(ret_why,
                        "the CPUs of set %s are only for what runs in its slice, and a process could not be "
                        "put there: "
                        "%s%s",
                        set, strerror(-r), r == -EACCES || r == -EPERM ? " (only root may)" : "");
        return r;
}

_Noreturn static void worker_main(int pipe_end, pid_t parent, void (*function)(void *), void *userdata) {
        static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
        char byte;

        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                (void) signal(ignored[i], SIG_IGN);
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || read(pipe_end, &byte, 1) != 1)
                _exit(1);
        function(userdata);
        _exit(0);
}

static void reap(pid_t pid) {
        (void) kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

int worker_fork(Kfs *kfs, const char *set, void (*function)(void *userdata), void *userdata, pid_t *ret,
        char **ret_why) {
        pid_t parent = getpid(), pid;
        int ends[2], r = 0;

        if (pipe(ends) < 0)
                return -errno;
        pid = fork();
        if (pid == 0) {
                (void) close(ends[1]);
                worker_main(ends[0], parent, function, userdata);
        }
        r = pid < 0 ? -errno : 0;
        (void) close(ends[0]);
        if (r == 0 && set)
                r = enter_set(kfs, set, pid, ret_why);
        /* It begins when it is where it belongs. */
        if (r == 0 && write(ends[1], "", 1) != 1)
                r = -errno;
        (void) close(ends[1]);
        if (r < 0 && pid > 0)
                reap(pid);
        if (r == 0)
                *ret = pid;
        return r;
}

/* Threads */

int worker_pin(unsigned cpu) {
        cpu_set_t *set = CPU_ALLOC(cpu + 1);
        size_t size = CPU_ALLOC_SIZE(cpu + 1);
        int r;

        if (!set)
                return -ENOMEM;
        CPU_ZERO_S(size, set);
        CPU_SET_S(cpu, size, set);
        r = sched_setaffinity(0, size, set) < 0 ? -errno : 0;
        CPU_FREE(set);
        return r;
}

int worker_set_priority(int priority) {
        struct sched_param param = { .sched_priority = priority };

        if (priority == 0)
                return 0;
        return sched_setscheduler(0, SCHED_FIFO, &param) < 0 ? -errno : 0;
}

typedef struct Thread {
        Run *run;
        Lane *lane;
        pthread_t id;
        bool started;
} Thread;

static void lane_fail(Lane *lane, const char *what, int error) {
        lane->what = what;
        lane->error = error;
        atomic_store(&lane->state, LANE_FAILED);
}

/* So that the loop meets no page of it that is not there. */
static void touch_stack(void) {
        volatile char room[STACK_TOUCHED];

        for (size_t i = 0; i < sizeof(room); i += 1024)
                room[i] = 0;
}

static int lane_prepare(Run *run, Lane *lane, const char **ret_what) {
        int r;

        *ret_what = "no thread can be pinned there";
        r = worker_pin(lane->cpu);
        if (r < 0)
                return r;
        *ret_what = "no real-time priority can be had";
        r = worker_set_priority(run->priority);
        if (r < 0)
                return r;
        touch_stack();
        *ret_what = "its loop could not be calibrated";
        return lane_calibrate(run, lane);
}

static void *thread_main(void *userdata) {
        static const char *const names[] = { "pert", "jitter", "frame", "itimer" };
        Thread *thread = userdata;
        Run *run = thread->run;
        Lane *lane = thread->lane;
        const char *what;
        char name[16];
        int r;

        (void) snprintf(name, sizeof(name), "%s/%u", names[run->kind], lane->cpu % 100000);
        (void) pthread_setname_np(pthread_self(), name);
        lane->tid = gettid();
        r = lane_prepare(run, lane, &what);
        if (r < 0) {
                lane_fail(lane, what, r);
                return NULL;
        }
        atomic_store(&lane->state, LANE_READY);
        while (!atomic_load(&run->go) && !atomic_load(&run->stop))
                sleep_ns(POLL_NSEC);
        atomic_store(&lane->state, LANE_RUNNING);
        while (!atomic_load(&run->stop) && clock_ns() < run->start_ns)
                sleep_ns(1000000);
        lane_measure(run, lane);
        atomic_store(&lane->state, LANE_DONE);
        return NULL;
}

static void thread_start(Thread *thread) {
        pthread_attr_t attributes;
        int r = pthread_attr_init(&attributes);

        if (r == 0)
                r = pthread_attr_setstacksize(&attributes, STACK_SIZE);
        if (r == 0)
                r = pthread_create(&thread->id, &attributes, thread_main, thread);
        thread->started = r == 0;
        if (r != 0)
                lane_fail(thread->lane, "no thread can be started", -r);
}

/* What one process does. */
typedef struct Part {
        Run *run;
        const char *set; /* that it is in the slice of, or NULL */
} Part;

static const char *lane_slice(const Lane *lane) {
        return lane->enter ? lane->set : NULL;
}

static bool part_has(const Part *part, const Lane *lane) {
        const char *slice = lane_slice(lane);

        return part->set && slice ? streq(part->set, slice) : part->set == slice;
}

/* Shared pages are mapped for writing by the first write only, and each process has its own map of them. */
static void touch_run(Run *run) {
        size_t size = sizeof(*run) + run->n * sizeof(Lane);

        for (size_t i = 0; i < size; i += 1024)
                (void) atomic_fetch_or((_Atomic(unsigned char) *) run + i, 0);
}

static void part_main(void *userdata) {
        const Part *part = userdata;
        Run *run = part->run;
        Thread *threads = calloc(run->n, sizeof(*threads));

        if (!threads)
                _exit(1);
        if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
                run->locked = true;
        touch_run(run);
        for (size_t i = 0; i < run->n; i++)
                if (part_has(part, &run->lanes[i])) {
                        threads[i] = (Thread){ .run = run, .lane = &run->lanes[i] };
                        thread_start(&threads[i]);
                }
        for (size_t i = 0; i < run->n; i++)
                if (threads[i].started)
                        (void) pthread_join(threads[i].id, NULL);
        free(threads);
}

/* All of them */

static int start_part(Workers *workers, Kfs *kfs, const char *set, char **ret_why) {
        Part part = { .run = workers->run, .set = set };
        pid_t pid = 0;
        int r = worker_fork(kfs, set, part_main, &part, &pid, ret_why);

        if (r == 0)
                workers->pids[workers->n++] = pid;
        return r;
}

static bool is_first_of_part(const Run *run, size_t i) {
        Part part = { .set = lane_slice(&run->lanes[i]) };

        for (size_t j = 0; j < i; j++)
                if (part_has(&part, &run->lanes[j]))
                        return false;
        return true;
}

static int start_parts(Workers *workers, Kfs *kfs, char **ret_why) {
        const Run *run = workers->run;
        int r = 0;

        for (size_t i = 0; i < run->n && r == 0; i++)
                if (is_first_of_part(run, i))
                        r = start_part(workers, kfs, lane_slice(&run->lanes[i]), ret_why);
        return r;
}

/* A process that ended before its threads were through has failed for all of them. */
static bool any_ended(Workers *workers) {
        bool ended = false;

        for (size_t i = 0; i < workers->n; i++)
                if (workers->pids[i] > 0 && waitpid(workers->pids[i], NULL, WNOHANG) == workers->pids[i]) {
                        workers->pids[i] = 0;
                        ended = true;
                }
        return ended;
}

static const Lane *find_state(const Run *run, LaneState state) {
        for (size_t i = 0; i < run->n; i++)
                if (atomic_load(&run->lanes[i].state) == state)
                        return &run->lanes[i];
        return NULL;
}

static int tell_failed(const Lane *lane, char **ret_why) {
        const char *hint = "";

        if (lane->error == -EPERM)
                hint = ": root may, or --priority 0 does without";
        else if (lane->error == -EINVAL)
                hint = ": it is offline, or not among the CPUs that this process may use";
        (void) util_asprintf(ret_why, "CPU %u cannot be measured: %s (%s)%s", lane->cpu, lane->what,
                strerror(-lane->error), hint);
        return lane->error;
}

static int wait_ready(Workers *workers, const volatile int *interrupted, char **ret_why) {
        uint64_t limit = READY_NSEC + workers->run->n * READY_PER_CPU_NSEC, end = clock_ns() + limit;
        const Lane *lane;

        while ((lane = find_state(workers->run, LANE_NEW))) {
                const Lane *failed = find_state(workers->run, LANE_FAILED);

                if (failed)
                        return tell_failed(failed, ret_why);
                if (*interrupted)
                        return -EINTR;
                if (any_ended(workers)) {
                        (void) util_asprintf(ret_why, "a process that was to measure ended by itself");
                        return -ECHILD;
                }
                if (clock_ns() > end) {
                        (void) util_asprintf(ret_why,
                                "CPU %u cannot be measured: a thread pinned there did not get to run for "
                                "%" PRIu64 " s",
                                lane->cpu, limit / 1000000000);
                        return -ETIMEDOUT;
                }
                sleep_ns(POLL_NSEC);
        }
        lane = find_state(workers->run, LANE_FAILED);
        return lane ? tell_failed(lane, ret_why) : 0;
}

int workers_start(Kfs *kfs, Run *run, const volatile int *interrupted, Workers **ret, char **ret_why) {
        _cleanup_workers_ Workers *workers = calloc(1, sizeof(*workers));
        int r;

        if (!workers)
                return -ENOMEM;
        workers->run = run;
        workers->pids = calloc(run->n, sizeof(*workers->pids));
        if (!workers->pids)
                return -ENOMEM;
        r = start_parts(workers, kfs, ret_why);
        if (r == 0)
                r = wait_ready(workers, interrupted, ret_why);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(workers);
        return 0;
}

void workers_go(Run *run) {
        run->start_ns = clock_ns() + START_NSEC + run->n * START_PER_CPU_NSEC;
        atomic_store(&run->go, true);
}

bool workers_run(Workers *workers) {
        (void) any_ended(workers);
        for (size_t i = 0; i < workers->n; i++)
                if (workers->pids[i] > 0)
                        return true;
        return false;
}

void workers_free(Workers *workers) {
        atomic_store(&workers->run->stop, true);
        for (size_t i = 0; i < workers->n; i++)
                if (workers->pids[i] > 0)
                        reap(workers->pids[i]);
        free(workers->pids);
        free(workers);
}
