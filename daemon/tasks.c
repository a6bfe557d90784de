/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tasks.h"
#include "settle.h"

#include "log.h"
#include "place.h"
#include "procevents.h"
#include "world-read.h"

/* A kernel thread gets its name, and its CPUs, a moment after it was made. */
#define SETTLE_USEC UINT64_C(200000)
/* More new ones at once than this, and everything is looked at. */
#define PENDING_MAX 64

struct Tasks {
        sd_event *event;
        Manager *manager;
        ProcEvents *events;
        sd_event_source *timer;
        int pending[PENDING_MAX];
        size_t n_pending;
        bool machine, failed;
};

static unsigned wanted_events(const Profile *profile) {
        unsigned wanted = 0;

        if (!profile || profile->n_sets == 0)
                return 0;
        if (profile->keep_kthreads)
                wanted |= PROC_EVENTS_KTHREAD;
        if (profile->n_tasks > 0)
                wanted |= PROC_EVENTS_EXEC;
        for (size_t i = 0; i < profile->n_sets; i++)
                if (profile->sets[i].control_cpus)
                        wanted |= PROC_EVENTS_EXEC;
        for (size_t i = 0; i < profile->n_tasks; i++)
                if (profile->tasks[i].thread)
                        wanted |= PROC_EVENTS_COMM;
        return wanted;
}

void tasks_exec(Tasks *tasks, int pid) {
        const Profile *profile = manager_profile(tasks->manager);
        _cleanup_free_ char *comm = NULL, *text = NULL, *cgroup = NULL;
        Kfs *kfs = manager_kfs(tasks->manager);

        /* One that has ended already is nobody's business. */
        if (!profile || kfs_readf(kfs, &comm, "/proc/%d/comm", pid) < 0 ||
                kfs_readf(kfs, &text, "/proc/%d/cgroup", pid) < 0 || world_parse_cgroup(text, &cgroup) < 0)
                return;
        if (place_concerns(profile, comm, cgroup))
                (void) manager_place(tasks->manager, pid);
}

void tasks_comm(Tasks *tasks, int pid, const char *comm) {
        const Profile *profile = manager_profile(tasks->manager);

        for (size_t i = 0; profile && i < profile->n_tasks; i++)
                if (profile->tasks[i].thread && profile_matches(profile->tasks[i].thread, comm)) {
                        tasks_exec(tasks, pid);
                        return;
                }
}

void tasks_kthread(Tasks *tasks, int tid) {
        if (tasks->n_pending < PENDING_MAX)
                tasks->pending[tasks->n_pending++] = tid;
        settle_start(tasks->timer, SETTLE_USEC);
}

/* Workers are made and unmade all the time, and their pool says where they run. */
static bool kthread_matters(Kfs *kfs, int tid) {
        _cleanup_free_ char *stat = NULL;
        WorldTask task = {};
        bool matters;

        if (kfs_readf(kfs, &stat, "/proc/%d/stat", tid) < 0 || world_parse_stat(stat, &task) < 0)
                return false;
        matters = !task.fixed && !util_startswith(task.comm, "kworker/");
        free(task.comm);
        return matters;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Tasks *tasks = userdata;
        bool matter = tasks->n_pending == PENDING_MAX;

        for (size_t i = 0; !matter && i < tasks->n_pending; i++)
                matter = kthread_matters(manager_kfs(tasks->manager), tasks->pending[i]);
        tasks->n_pending = 0;
        if (matter)
                (void) manager_mend(tasks->manager, SCOPE_NEW);
        return 0;
}

static void on_exec(void *userdata, int pid) {
        tasks_exec(userdata, pid);
}

static void on_comm(void *userdata, int pid, int tid, const char *comm) {
        tasks_comm(userdata, pid, comm);
}

static void on_kthread(void *userdata, int tid) {
        tasks_kthread(userdata, tid);
}

static void on_lost(void *userdata) {
        Tasks *tasks = userdata;

        log_plain(LOG_INFO, "Process events were lost: everything is looked at.");
        (void) manager_mend(tasks->manager, SCOPE_NEW);
}

void tasks_follow(Tasks *tasks) {
        static const ProcEventsHandlers handlers = { on_exec, on_comm, on_kthread, on_lost };
        unsigned wanted = tasks->machine ? wanted_events(manager_profile(tasks->manager)) : 0;
        int r;

        if (wanted == 0) {
                proc_events_free(tasks->events);
                tasks->events = NULL;
                return;
        }
        r = tasks->events ? proc_events_want(tasks->events, wanted)
                          : proc_events_new(tasks->event, wanted, &handlers, tasks, &tasks->events);
        if (r < 0 && !tasks->failed)
                log_plain(LOG_WARNING,
                        "Process events cannot be had (%s): what starts during the mode is placed only at "
                        "the "
                        "next `rtisoctl mode`.",
                        strerror(-r));
        tasks->failed = r < 0;
}

int tasks_new(sd_event *event, Manager *manager, bool machine, Tasks **ret) {
        _cleanup_tasks_ Tasks *tasks = calloc(1, sizeof(Tasks));
        int r;

        if (!tasks)
                return -ENOMEM;
        *tasks = (Tasks){ .event = sd_event_ref(event), .manager = manager, .machine = machine };
        r = settle_new(event, on_settled, tasks, &tasks->timer);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(tasks);
        return 0;
}

void tasks_free(Tasks *tasks) {
        if (!tasks)
                return;
        proc_events_free(tasks->events);
        (void) sd_event_source_disable_unref(tasks->timer);
        sd_event_unref(tasks->event);
        free(tasks);
}
