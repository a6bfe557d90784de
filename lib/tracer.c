/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tracer.h"

#include <signal.h>
#include <time.h>

#include "tracer-events.h"

#define INSTANCE "rtisold-explain-"
/* Of one read.  Where a workload makes events faster than they are read, a read would never end, nor what it keeps
 * ever be enough: recording pauses until what there is has been accounted. */
#define READ_MAX 100000

/* A recorded event that waits until nothing older can come; its name is the events'. */
typedef struct Pending {
        NoiseEvent event;
        uint64_t order; /* of its arrival: the same moment twice stays in order */
} Pending;

struct Tracer {
        struct tracefs_instance *instance;
        CpuList cpus;
        Events events;
        Pending *pending;
        size_t n_pending, room;
        uint64_t order;
        size_t n_read; /* in this read */
        bool stopped, paused;
};

void tracer_close(Tracer *tracer) {
        if (tracer->instance) {
                (void) tracefs_instance_destroy(tracer->instance);
                tracefs_instance_free(tracer->instance);
        }
        events_done(&tracer->events);
        cpulist_done(&tracer->cpus);
        free(tracer->pending);
        free(tracer);
}

uint64_t tracer_now(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* When a process started, as the kernel counts it: a number that is used again is another process. */
static uint64_t start_time(Kfs *kfs, int pid) {
        _cleanup_free_ char *text = NULL;
        unsigned long long start = 0;
        const char *end;

        if (kfs_readf(kfs, &text, "/proc/%d/stat", pid) < 0)
                return 0;
        end = strrchr(text, ')');
        if (!end ||
                sscanf(end + 1,
                        " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                        &start) != 1)
                return 0;
        return start;
}

/* An instance of somebody who was killed records for ever. */
static void remove_left(Kfs *kfs) {
        char **names = tracefs_instances("^" INSTANCE);

        for (char **name = names; name && *name; name++) {
                struct tracefs_instance *instance;
                unsigned long long start;
                int pid;

                if (sscanf(*name, INSTANCE "%d-%llu", &pid, &start) != 2 || start_time(kfs, pid) == start)
                        continue;
                instance = tracefs_instance_create(*name);
                if (!instance)
                        continue;
                (void) tracefs_instance_destroy(instance);
                tracefs_instance_free(instance);
        }
        tracefs_list_free(names);
}

/* `(FIELD >= 2 && FIELD <= 15) || FIELD == 34`; the field CPU is where an event is recorded. */
static int cpu_condition(const CpuList *cpus, const char *field, char **ret) {
        _cleanup_free_ char *condition = strdup("");

        for (int first = cpulist_next(cpus, -1); condition && first >= 0;) {
                _cleanup_free_ char *longer = NULL;
                const char * or = *condition ? " || " : "";
                int last = first, r;

                while (cpulist_has(cpus, (unsigned) last + 1))
                        last++;
                r = first == last ? util_asprintf(&longer, "%s%s%s == %d", condition, or, field, first)
                                  : util_asprintf(&longer, "%s%s(%s >= %d && %s <= %d)", condition, or,
                                            field, first, field, last);
                if (r < 0)
                        return r;
                free(condition);
                condition = TAKE_PTR(longer);
                first = cpulist_next(cpus, last);
        }
        if (!condition)
                return -ENOMEM;
        *ret = TAKE_PTR(condition);
        return 0;
}

static int enable_event(Tracer *tracer, const TracedEvent *event) {
        const EventSpec *spec = &event->spec;
        _cleanup_free_ char *condition = NULL;
        int r = 0;

        if (spec->filter == FILTER_ON_CPU)
                r = cpu_condition(&tracer->cpus, "CPU", &condition);
        else if (spec->filter == FILTER_ABOUT_CPU)
                r = cpu_condition(&tracer->cpus, spec->target, &condition);
        else if (spec->filter == FILTER_CONDITION)
                r = util_copy(spec->condition, &condition);
        if (r < 0)
                return r;
        if (condition &&
                tracefs_event_file_write(tracer->instance, spec->system, spec->event, "filter", condition) <
                        0)
                return -errno;
        return tracefs_event_enable(tracer->instance, spec->system, spec->event) < 0 ? -errno : 0;
}

static int make_instance(Kfs *kfs, Tracer *tracer, char **ret_problem) {
        _cleanup_free_ char *name = NULL;
        int r = util_asprintf(
                &name, INSTANCE "%d-%llu", getpid(), (unsigned long long) start_time(kfs, getpid()));

        if (r < 0)
                return r;
        tracer->instance = tracefs_instance_create(name);
        if (!tracer->instance) {
                r = errno > 0 ? -errno : -EIO;
                (void) util_asprintf(ret_problem, "the instance %s cannot be made in %s: %s", name,
                        tracefs_tracing_dir() ?: "/sys/kernel/tracing", strerror(-r));
                return r;
        }
        /* Its own clock is ours, so that the ends of the watch can be told. */
        if (tracefs_trace_off(tracer->instance) < 0 ||
                tracefs_instance_file_write(tracer->instance, "trace_clock", "mono") < 0) {
                r = errno > 0 ? -errno : -EIO;
                (void) util_asprintf(
                        ret_problem, "the instance %s of tracefs takes no settings: %s", name, strerror(-r));
                return r;
        }
        return 0;
}

int tracer_open(Kfs *kfs, const CpuList *cpus, Tracer **ret, char **ret_problem) {
        _cleanup_tracer_ Tracer *tracer = calloc(1, sizeof(Tracer));
        int r = tracer ? cpulist_copy(cpus, &tracer->cpus) : -ENOMEM;

        if (r < 0)
                return r;
        tracefs_set_loglevel(TEP_LOG_NONE);
        if (!tracefs_tracing_dir()) {
                r = errno > 0 ? -errno : -ENOENT;
                (void) util_asprintf(
                        ret_problem, "tracefs cannot be reached at /sys/kernel/tracing: %s", strerror(-r));
                return r;
        }
        remove_left(kfs);
        r = events_find(kfs, &tracer->events);
        if (r < 0) {
                (void) util_asprintf(ret_problem,
                        r == -EPERM
                                ? "the kernel hides the names of its functions (kernel.kptr_restrict): %s"
                                : "the kernel's events cannot be read from /sys/kernel/tracing/events: %s",
                        strerror(-r));
                return r;
        }
        r = make_instance(kfs, tracer, ret_problem);
        for (size_t i = 0; r == 0 && i < tracer->events.n; i++) {
                const EventSpec *spec = &tracer->events.items[i].spec;

                r = enable_event(tracer, &tracer->events.items[i]);
                if (r < 0)
                        (void) util_asprintf(ret_problem,
                                "the event %s/%s of tracefs cannot be switched on: %s", spec->system,
                                spec->event, strerror(-r));
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(tracer);
        return 0;
}

int tracer_start(Tracer *tracer) {
        return tracefs_trace_on(tracer->instance) < 0 ? -errno : 0;
}

int tracer_stop(Tracer *tracer) {
        tracer->stopped = true;
        return tracefs_trace_off(tracer->instance) < 0 ? -errno : 0;
}

bool tracer_names_calls(const Tracer *tracer) {
        return events_have(&tracer->events, "csd");
}

int tracer_comm(const Tracer *tracer, int pid, char **ret) {
        /* `812 sh` on a line, for the threads that were seen last; the same for all instances. */
        _cleanup_free_ char *text = tracefs_instance_file_read(NULL, "saved_cmdlines", NULL);
        char *state = NULL;

        for (char *line = text ? strtok_r(text, "\n", &state) : NULL; line;
                line = strtok_r(NULL, "\n", &state)) {
                char *comm;

                if (strtol(line, &comm, 10) == pid && *comm == ' ')
                        return util_copy(comm + 1, ret);
        }
        return -ESRCH;
}

static int add_pending(Tracer *tracer, const NoiseEvent *event) {
        if (tracer->n_pending == tracer->room) {
                size_t room = tracer->room ? tracer->room * 2 : 1024;
                Pending *grown = reallocarray(tracer->pending, room, sizeof(Pending));

                if (!grown)
                        return -ENOMEM;
                tracer->pending = grown;
                tracer->room = room;
        }
        tracer->pending[tracer->n_pending++] = (Pending){ *event, tracer->order++ };
        return 0;
}

static int take_record(struct tep_event *tep, struct tep_record *record, int cpu, void *userdata) {
        Tracer *tracer = userdata;
        const TracedEvent *event = events_get(&tracer->events, tep->id);
        NoiseEvent decoded;
        int r = 0;

        if (tracer->n_read++ == READ_MAX && !tracer->stopped) {
                tracer->paused = true;
                (void) tracefs_trace_off(tracer->instance);
        }
        if (!event)
                return 0;
        record->cpu = cpu;
        events_decode(&tracer->events, event, record, &decoded);
        /* -1: it is not known how many. */
        if (record->missed_events != 0) {
                NoiseEvent lost = { .type = NOISE_LOST,
                        .at = record->ts,
                        .cpu = (unsigned) cpu,
                        .pid = decoded.pid,
                        .number = record->missed_events > 0 ? (uint64_t) record->missed_events : 1 };

                r = add_pending(tracer, &lost);
        }
        return r < 0 ? r : add_pending(tracer, &decoded);
}

static int compare_pending(const void *a, const void *b) {
        const Pending *left = a, *right = b;

        if (left->event.at != right->event.at)
                return left->event.at < right->event.at ? -1 : 1;
        return left->order < right->order ? -1 : left->order > right->order;
}

/* Accounts what is older than anything that can still come. */
static int account(Tracer *tracer, Noise *noise, uint64_t complete) {
        size_t n = 0;
        int r = 0;

        if (tracer->n_pending == 0)
                return 0;
        qsort(tracer->pending, tracer->n_pending, sizeof(Pending), compare_pending);
        for (; r == 0 && n < tracer->n_pending && tracer->pending[n].event.at < complete; n++)
                r = noise_event(noise, &tracer->pending[n].event);
        tracer->n_pending -= n;
        memmove(tracer->pending, tracer->pending + n, tracer->n_pending * sizeof(Pending));
        return r;
}

/* Records again after a pause.  What happened in it was not recorded, and nobody knows how much. */
static int go_on(Tracer *tracer, Noise *noise) {
        int r = 0;

        CPULIST_FOREACH (cpu, &tracer->cpus) {
                NoiseEvent lost = {
                        .type = NOISE_LOST, .at = tracer_now(), .cpu = (unsigned) cpu, .number = 1
                };

                r = r ?: noise_event(noise, &lost);
        }
        tracer->paused = false;
        return r ?: tracer_start(tracer);
}

int tracer_read(Tracer *tracer, Noise *noise) {
        /* Whatever was recorded before now is in the buffers that are read next, of all CPUs. */
        uint64_t complete = tracer_now();
        int r;

        tracer->n_read = 0;
        errno = 0;
        if (tracefs_iterate_raw_events(tracer->events.tep, tracer->instance, NULL, 0, take_record, tracer) <
                0)
                return errno > 0 ? -errno : -EIO;
        r = account(tracer, noise, tracer->stopped || tracer->paused ? UINT64_MAX : complete);
        return r == 0 && tracer->paused ? go_on(tracer, noise) : r;
}
