/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon.h"

#include <malloc.h>
#include <signal.h>
#include <time.h>

#include "balancer.h"
#include "bus.h"
#include "drift.h"
#include "hotplug.h"
#include "log.h"
#include "netwatch.h"
#include "notify.h"
#include "protocol.h"
#include "tasks.h"

/* Whoever is told of a step wakes up for it, which takes longer than most steps do: the first is told, and after so long
 * the next. */
#define PROGRESS_USEC UINT64_C(500000)

struct Daemon {
        sd_event *event;
        Manager *manager;
        Drift *drift;
        Bus *bus;
        Hotplug *hotplug;
        NetWatch *net;
        Balancer *balancer;
        Tasks *tasks;
        sd_event_source *signals[3];
        size_t done;        /* steps when the last one began, told or not */
        uint64_t told_usec; /* when a step was told; 0: none yet in this switch */
};

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static void on_begin(void *userdata, const char *mode) {
        Daemon *daemon = userdata;

        daemon->told_usec = 0;
        daemon->done = 0;
        notify_begin(mode);
}

/* An undo begins at nought again. */
static bool progress_is_due(const Daemon *daemon, size_t done, uint64_t now) {
        return daemon->told_usec == 0 || done < daemon->done || now - daemon->told_usec >= PROGRESS_USEC;
}

static void on_progress(void *userdata, const char *step, size_t done, size_t total) {
        unsigned percent = total ? (unsigned) (done * 100 / total) : 100;
        Daemon *daemon = userdata;
        uint64_t now = now_usec();
        bool due = progress_is_due(daemon, done, now);

        daemon->done = done;
        if (!due)
                return;
        daemon->told_usec = now;
        notify_progress(step, done, total);
        if (daemon->bus)
                bus_progress(daemon->bus, step, percent);
}

static void daemon_follow(Daemon *daemon) {
        int r = daemon->drift ? drift_watch(daemon->drift) : 0;

        if (r < 0)
                log_plain(LOG_WARNING,
                        "Partitions cannot be watched (%s): drift is seen only when somebody asks.",
                        strerror(-r));
        if (daemon->tasks)
                tasks_follow(daemon->tasks);
        if (daemon->bus)
                bus_changed(daemon->bus);
}

static void on_end(void *userdata, const Outcome *outcome) {
        Daemon *daemon = userdata;

        if (daemon->hotplug)
                (void) hotplug_ignore(daemon->hotplug, &outcome->cycled);
        notify_end(manager_mode(daemon->manager), outcome->n_degraded);
        daemon_follow(daemon);
}

static void on_removed(void *userdata) {
        Daemon *daemon = userdata;
        int r = daemon->bus ? bus_listen_again(daemon->bus) : 0;

        if (r < 0)
                log_plain(LOG_WARNING, "The private socket was removed and cannot be made again: %s.",
                        strerror(-r));
}

static void on_drift(void *userdata) {
        Daemon *daemon = userdata;

        bus_changed(daemon->bus);
}

static void on_hotplug(void *userdata, bool cpus) {
        Daemon *daemon = userdata;

        (void) manager_mend(daemon->manager, cpus ? SCOPE_CPUS : SCOPE_NEW);
}

static void on_balancer(void *userdata) {
        on_hotplug(userdata, false);
}

static void on_net(void *userdata) {
        on_hotplug(userdata, false);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Daemon *daemon = userdata;

        if (info->ssi_signo == SIGHUP)
                return manager_reload(daemon->manager, NULL, NULL);
        notify_stopping();
        return manager_stop(daemon->manager);
}

static int daemon_add_signals(Daemon *daemon) {
        static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                int r = sd_event_add_signal(
                        daemon->event, &daemon->signals[i], numbers[i], on_signal, daemon);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Each of these is worth having without the others: what is missing is said. */
static void daemon_watch_machine(Daemon *daemon) {
        static const char *const what[] = { "the system bus", "hotplug", "network links",
                "an irqbalance that starts" };
        int errors[] = {
                bus_connect(daemon->bus),
                hotplug_new(
                        daemon->event, manager_kfs(daemon->manager), on_hotplug, daemon, &daemon->hotplug),
                net_watch_new(daemon->event, on_net, daemon, &daemon->net),
                balancer_new(daemon->event, "/run", on_balancer, daemon, &daemon->balancer),
        };

        for (size_t i = 0; i < ARRAY_SIZE(what); i++)
                if (errors[i] < 0)
                        log_plain(LOG_WARNING, "There is nothing to be heard of %s: %s.", what[i],
                                strerror(-errors[i]));
}

static int daemon_start(Daemon *daemon, const DaemonOptions *options) {
        int r = drift_new(daemon->event, manager_kfs(daemon->manager), manager_journal(daemon->manager),
                on_drift, daemon, &daemon->drift);

        if (r >= 0)
                r = bus_new(daemon->event, daemon->manager, daemon->drift, &daemon->bus);
        if (r >= 0)
                r = bus_listen(daemon->bus, options->socket, options->uid);
        if (r >= 0)
                r = tasks_new(daemon->event, daemon->manager, options->machine, &daemon->tasks);
        if (r < 0)
                return r;
        /* Before the boot mode is entered: what comes while it is would be missed otherwise. */
        if (options->machine)
                daemon_watch_machine(daemon);
        else if (options->bus)
                r = bus_connect(daemon->bus);
        if (r < 0)
                return r;
        r = manager_start(daemon->manager);
        if (r < 0)
                return r;
        daemon_follow(daemon);
        return 0;
}

int daemon_new(const DaemonOptions *options, sd_event *event, Daemon **ret) {
        static const ManagerHooks hooks = { on_begin, on_progress, on_end, on_removed };
        _cleanup_daemon_ Daemon *daemon = calloc(1, sizeof(Daemon));
        int r;

        if (!daemon)
                return -ENOMEM;
        daemon->event = sd_event_ref(event);
        r = manager_new(&options->paths, event, &hooks, daemon, &daemon->manager);
        if (r >= 0)
                r = daemon_add_signals(daemon);
        if (r >= 0)
                r = daemon_start(daemon, options);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(daemon);
        return 0;
}

void daemon_free(Daemon *daemon) {
        if (!daemon)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(daemon->signals); i++)
                (void) sd_event_source_disable_unref(daemon->signals[i]);
        tasks_free(daemon->tasks);
        balancer_free(daemon->balancer);
        net_watch_free(daemon->net);
        hotplug_free(daemon->hotplug);
        bus_free(daemon->bus);
        drift_free(daemon->drift);
        manager_free(daemon->manager);
        sd_event_unref(daemon->event);
        free(daemon);
}

Manager *daemon_manager(Daemon *daemon) {
        return daemon->manager;
}

static int block_signals(void) {
        sigset_t signals;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGHUP);
        return sigprocmask(SIG_BLOCK, &signals, NULL) < 0 ? -errno : 0;
}

int daemon_run(void (*ready)(Daemon *daemon)) {
        static const DaemonOptions options = {
                .paths = { .runtime = RTISOL_RUNTIME_DIR }, .socket = RTISOL_PRIVATE_SOCKET, .machine = true
        };
        __attribute__((cleanup(sd_event_unrefp))) sd_event *event = NULL;
        _cleanup_daemon_ Daemon *daemon = NULL;
        int r = block_signals();

        if (r >= 0)
                r = sd_event_new(&event);
        if (r >= 0)
                r = daemon_new(&options, event, &daemon);
        if (r < 0)
                return r;
        if (ready)
                ready(daemon);
        /* What starting took is given back: at rest the daemon should be small. */
        (void) malloc_trim(0);
        notify_ready();
        return sd_event_loop(event);
}
