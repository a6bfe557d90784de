/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager-internal.h"

#include "log.h"

static void request_free(Request *request) {
        if (!request)
                return;
        free(request->mode);
        free(request->by);
        free(request->why);
        free(request);
}
DEFINE_CLEANUP_POINTER(Request, request_free)

static int request_new(RequestKind kind, const char *mode, const char *by, const char *why, Request **ret) {
        _cleanup_(request_freep) Request *request = calloc(1, sizeof(Request));

        if (!request)
                return -ENOMEM;
        request->kind = kind;
        request->mode = strdup(mode ?: "");
        request->by = strdup(by ?: "");
        request->why = strdup(why ?: "");
        if (!request->mode || !request->by || !request->why)
                return -ENOMEM;
        *ret = TAKE_PTR(request);
        return 0;
}

static int manager_queue(Manager *manager, Request *request) {
        int r = sd_event_source_set_enabled(manager->defer, SD_EVENT_ON);

        if (r < 0) {
                request_free(request);
                return r;
        }
        if (manager->last)
                manager->last->next = request;
        else
                manager->first = request;
        manager->last = request;
        return 0;
}

static Request *manager_next(Manager *manager) {
        Request *request = manager->first;

        if (!request)
                return NULL;
        manager->first = request->next;
        if (!manager->first)
                manager->last = NULL;
        return request;
}

/* One request each time round, so that the bus is heard between two. */
int on_queue(sd_event_source *source, void *userdata) {
        Manager *manager = userdata;
        _cleanup_(request_freep) Request *request = manager_next(manager);
        _cleanup_outcome_ Outcome outcome = {};
        int fd = -1, r;

        if (!manager->first)
                (void) sd_event_source_set_enabled(source, SD_EVENT_OFF);
        if (!request)
                return 0;
        r = manager_run(manager, request, &outcome, &fd);
        if (r < 0) {
                outcome_done(&outcome);
                outcome.kind = OUTCOME_NOT_BEGUN;
                (void) outcome_say(&outcome, "The daemon could not do it: %s.", strerror(-r));
                log_plain(LOG_ERR, "%s", outcome.message ?: "Out of memory.");
        } else if (request->kind == REQUEST_MEND && outcome.kind == OUTCOME_REFUSED)
                log_plain(LOG_WARNING, "%s", outcome.message);
        if (request->done)
                request->done(request->userdata, &outcome, fd);
        else if (fd >= 0)
                (void) close(fd);
        return 0;
}

int manager_release_left(Manager *manager) {
        Request *request;
        int r;

        if (!leases_base(manager->leases))
                return 0;
        r = request_new(REQUEST_RELEASE, NULL, BY_LEASE, NULL, &request);
        return r < 0 ? r : manager_queue(manager, request);
}

void on_released(void *userdata, const Lease *lease) {
        Manager *manager = userdata;

        log_fields(LOG_INFO, &(LogFields){ .id = LOG_ID_LEASE, .mode = lease->mode, .why = lease->why },
                "Lease of mode %s by process %u released.", lease->mode, lease->pid);
        manager->release_tries = 0;
        (void) manager_release_left(manager);
}

void on_expired(void *userdata, const char *mode) {
        Manager *manager = userdata;
        ModeOptions options = {
                .by = BY_CONFIRM,
                .why = "the switch was not confirmed in time",
                .force = true,
                .expired = true,
        };

        log_fields(LOG_WARNING, &(LogFields){ .mode = mode, .by = BY_CONFIRM },
                "Mode %s was not confirmed in time: going back to %s.", journal_mode(manager->journal),
                mode);
        (void) manager_set_mode(manager, mode, &options, NULL, NULL);
}

void manager_turn_away(Manager *manager) {
        for (Request *request = manager_next(manager); request; request = manager_next(manager)) {
                _cleanup_outcome_ Outcome outcome = { .kind = OUTCOME_NOT_BEGUN };

                (void) outcome_say(&outcome, "The daemon is stopping.");
                if (request->done)
                        request->done(request->userdata, &outcome, -1);
                request_free(request);
        }
}

int manager_set_mode(
        Manager *manager, const char *mode, const ModeOptions *options, RequestDone done, void *userdata) {
        Request *request;
        int r = request_new(REQUEST_MODE, mode, options->by, options->why, &request);

        if (r < 0)
                return r;
        request->force = options->force;
        request->no_disturb = options->no_disturb;
        request->confirmed = options->confirmed;
        request->expired = options->expired;
        request->confirm = options->confirm;
        request->done = done;
        request->userdata = userdata;
        return manager_queue(manager, request);
}

int manager_lease(Manager *manager, const char *mode, const char *why, const char *by, unsigned pid,
        RequestDone done, void *userdata) {
        Request *request;
        int r = request_new(REQUEST_LEASE, mode, by, why, &request);

        if (r < 0)
                return r;
        request->pid = pid;
        request->done = done;
        request->userdata = userdata;
        return manager_queue(manager, request);
}

int manager_reload(Manager *manager, RequestDone done, void *userdata) {
        Request *request;
        int r = request_new(REQUEST_RELOAD, NULL, NULL, NULL, &request);

        if (r < 0)
                return r;
        request->done = done;
        request->userdata = userdata;
        return manager_queue(manager, request);
}

int manager_mend(Manager *manager, SwitchScope scope) {
        Request *request;
        int r;

        for (request = manager->first; request; request = request->next)
                if (request->kind == REQUEST_MEND) {
                        if (scope < request->scope)
                                request->scope = scope;
                        return 0;
                }
        r = request_new(REQUEST_MEND, NULL, NULL, NULL, &request);
        if (r < 0)
                return r;
        request->scope = scope;
        return manager_queue(manager, request);
}

int manager_place(Manager *manager, int pid) {
        Request *request;
        int r = request_new(REQUEST_PLACE, NULL, NULL, NULL, &request);

        if (r < 0)
                return r;
        request->pid = (unsigned) pid;
        return manager_queue(manager, request);
}

int manager_stop(Manager *manager) {
        Request *request;
        int r = request_new(REQUEST_STOP, NULL, NULL, NULL, &request);

        return r < 0 ? r : manager_queue(manager, request);
}
