/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "drift.h"
#include "settle.h"

#include <malloc.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <time.h>

#include "log.h"

#define PARTITION_SUFFIX "/cpuset.cpus.partition"
/* Longer than hotplug waits: a CPU that went away is mended before it is called drift. */
#define SETTLE_USEC UINT64_C(1000000)
#define FRESH_USEC UINT64_C(1000000)

struct Drift {
        sd_event *event;
        Kfs *kfs;
        const Journal *journal;
        DriftChanged changed;
        void *userdata;
        sd_event_source *io, *timer;
        DriftReport report;
        uint64_t looked; /* when the report was made; 0: never */
};

static void report_done(DriftReport *report) {
        for (size_t i = 0; i < report->n_drifted; i++) {
                free(report->drifted[i].step);
                free(report->drifted[i].wanted);
                free(report->drifted[i].live);
                free(report->drifted[i].writer);
        }
        free(report->drifted);
        for (size_t i = 0; i < report->n_degraded; i++) {
                free(report->degraded[i].step);
                free(report->degraded[i].state);
                free(report->degraded[i].reason);
        }
        free(report->degraded);
        *report = (DriftReport){};
}

static int report_add_drifted(DriftReport *report, const AuditStep *step) {
        Drifted *drifted;
        int r = GROW(report->drifted, report->n_drifted);

        if (r < 0)
                return r;
        drifted = &report->drifted[report->n_drifted++];
        *drifted = (Drifted){ strdup(step->step->id), strdup(step->step->wanted ?: ""),
                strdup(step->live ?: ""), strdup(step->writer ?: "") };
        return drifted->step && drifted->wanted && drifted->live && drifted->writer ? 0 : -ENOMEM;
}

static int report_add_degraded(DriftReport *report, const AuditStep *step) {
        Degraded *degraded;
        int r = GROW(report->degraded, report->n_degraded);

        if (r < 0)
                return r;
        degraded = &report->degraded[report->n_degraded++];
        *degraded = (Degraded){ strdup(step->step->id), strdup(step_state_to_string(step->state)),
                strdup(step->reason ?: "") };
        return degraded->step && degraded->state && degraded->reason ? 0 : -ENOMEM;
}

static int report_make(const Drift *drift, DriftReport *ret) {
        _cleanup_audit_ Audit *audit = NULL;
        _cleanup_(report_done) DriftReport report = {};
        int r = audit_make(drift->kfs, journal_steps(drift->journal), journal_mode(drift->journal), &audit);

        for (size_t i = 0; r >= 0 && i < audit->n_steps; i++)
                switch (audit->steps[i].state) {
                case STATE_OK: break;
                case STATE_DRIFTED: r = report_add_drifted(&report, &audit->steps[i]); break;
                default: r = report_add_degraded(&report, &audit->steps[i]);
                }
        if (r < 0)
                return r;
        *ret = report;
        report = (DriftReport){};
        return 0;
}

static const Drifted *report_find(const DriftReport *report, const char *step) {
        for (size_t i = 0; i < report->n_drifted; i++)
                if (streq(report->drifted[i].step, step))
                        return &report->drifted[i];
        return NULL;
}

static void log_drift(const DriftReport *old, const DriftReport *new, const char *mode) {
        for (size_t i = 0; i < new->n_drifted; i++) {
                const Drifted *drifted = &new->drifted[i];
                LogFields fields = { .id = LOG_ID_DRIFT, .mode = mode, .step = drifted->step };

                if (!report_find(old, drifted->step))
                        log_fields(LOG_WARNING, &fields, "%s has drifted: wanted %s, live %s%s%s.",
                                drifted->step, drifted->wanted, drifted->live,
                                *drifted->writer ? ", written by " : "", drifted->writer);
        }
        for (size_t i = 0; i < old->n_drifted; i++)
                if (!report_find(new, old->drifted[i].step))
                        log_fields(LOG_INFO,
                                &(LogFields){
                                        .id = LOG_ID_DRIFT, .mode = mode, .step = old->drifted[i].step },
                                "%s has not drifted any more.", old->drifted[i].step);
}

static bool reports_differ(const DriftReport *a, const DriftReport *b) {
        if (a->n_drifted != b->n_drifted)
                return true;
        for (size_t i = 0; i < a->n_drifted; i++)
                if (!report_find(b, a->drifted[i].step))
                        return true;
        return false;
}

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static int drift_look(Drift *drift) {
        DriftReport report;
        bool differ;
        int r = report_make(drift, &report);

        if (r < 0)
                return r;
        log_drift(&drift->report, &report, journal_mode(drift->journal));
        differ = reports_differ(&drift->report, &report);
        report_done(&drift->report);
        drift->report = report;
        drift->looked = now_usec();
        kfs_rest(drift->kfs);
        /* What looking took is given back: at rest the daemon should be small. */
        (void) malloc_trim(0);
        return differ;
}

int drift_report(Drift *drift, const DriftReport **ret) {
        if (drift->looked == 0 || now_usec() - drift->looked > FRESH_USEC) {
                int r = drift_look(drift);
                if (r < 0)
                        return r;
        }
        *ret = &drift->report;
        return 0;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Drift *drift = userdata;
        int r = drift_look(drift);

        if (r < 0)
                log_plain(LOG_WARNING, "The machine cannot be looked at for drift: %s.", strerror(-r));
        if (r > 0)
                drift->changed(drift->userdata);
        return 0;
}

static void discard_events(int fd) {
        char buffer[4096];

        while (read(fd, buffer, sizeof(buffer)) > 0)
                ;
}

static int on_partition(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Drift *drift = userdata;

        discard_events(fd);
        settle_start(drift->timer, SETTLE_USEC);
        return 0;
}

int drift_new(sd_event *event, Kfs *kfs, const Journal *journal, DriftChanged changed, void *userdata,
        Drift **ret) {
        _cleanup_drift_ Drift *drift = calloc(1, sizeof(Drift));
        int r;

        if (!drift)
                return -ENOMEM;
        *drift = (Drift){ .event = sd_event_ref(event),
                .kfs = kfs,
                .journal = journal,
                .changed = changed,
                .userdata = userdata };
        r = settle_new(event, on_settled, drift, &drift->timer);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(drift);
        return 0;
}

void drift_free(Drift *drift) {
        if (!drift)
                return;
        (void) sd_event_source_disable_unref(drift->io);
        (void) sd_event_source_disable_unref(drift->timer);
        report_done(&drift->report);
        sd_event_unref(drift->event);
        free(drift);
}

/* Changes made by the kernel itself and those made by writers both come as modifications. */
static int watch_partition(const Drift *drift, int inotify, const char *object) {
        _cleanup_close_ int fd = kfs_open(drift->kfs, object);
        char path[32];

        if (fd < 0)
                return fd;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return inotify_add_watch(inotify, path, IN_MODIFY) < 0 ? -errno : 0;
}

static bool is_partition(const char *object) {
        size_t n = strlen(object), suffix = strlen(PARTITION_SUFFIX);

        return n > suffix && streq(object + n - suffix, PARTITION_SUFFIX);
}

int drift_watch(Drift *drift) {
        const Steps *steps = journal_steps(drift->journal);
        int fd, r;

        drift->io = sd_event_source_disable_unref(drift->io);
        drift->looked = 0;
        fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (fd < 0)
                return -errno;
        for (size_t i = 0; i < steps->n; i++)
                if (steps->items[i].mechanism == MECHANISM_RUNTIME && is_partition(steps->items[i].object))
                        (void) watch_partition(drift, fd, steps->items[i].object);
        r = sd_event_add_io(drift->event, &drift->io, fd, EPOLLIN, on_partition, drift);
        if (r < 0) {
                (void) close(fd);
                return r;
        }
        (void) sd_event_source_set_io_fd_own(drift->io, 1);
        return 0;
}
