/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "log.h"
#include "manager-internal.h"
#include "placing.h"
#include "text.h"

/* Far more than a log wants to tell. */
#define WHY_MAX 512

int manager_refuse(Outcome *ret, const char *format, ...) {
        _cleanup_free_ char *sentence = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&sentence, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        ret->kind = OUTCOME_REFUSED;
        return outcome_say(ret, "%s", sentence);
}

static int manager_confirmed(Manager *manager, const Request *request, Outcome *ret) {
        const char *mode = journal_mode(manager->journal);

        if (!confirm_mode(manager->confirm))
                return manager_refuse(ret, "No switch waits to be confirmed; mode %s is in force.", mode);
        if (*request->mode && !streq(request->mode, mode))
                return manager_refuse(
                        ret, "What waits to be confirmed is mode %s, not %s.", mode, request->mode);
        confirm_disarm(manager->confirm);
        log_fields(LOG_NOTICE, &(LogFields){ .mode = mode, .by = request->by }, "Mode %s confirmed by %s.",
                mode, request->by);
        return 0;
}

/* How long until a way back that failed is tried again, in seconds. */
#define EXPIRED_AGAIN 60

static int manager_do_mode(Manager *manager, const Request *request, Outcome *ret) {
        SwitchRequest sw = { .mode = request->mode,
                .by = request->by,
                .force = request->force,
                .no_disturb = request->no_disturb };
        bool waited = confirm_mode(manager->confirm);
        int r;

        if (request->confirmed)
                return manager_confirmed(manager, request, ret);
        /* Somebody confirmed, or switched, while it waited in the queue. */
        if (request->expired && !confirm_is_over(manager->confirm))
                return 0;
        r = manager_check_leases(manager, request, ret);
        if (r < 0 || ret->kind != OUTCOME_DONE)
                return r;
        /* Before the switch: a daemon killed in it must know the way back.  Where something waits already it knows, and
         * the time that the one who waits has is not another's to move before his switch is through. */
        if (request->confirm > 0 && !waited) {
                r = confirm_arm(manager->confirm, journal_mode(manager->journal), request->confirm);
                if (r < 0)
                        return r;
        }
        r = manager_switch(manager, &sw, request->why, ret);
        if (r < 0 || ret->kind != OUTCOME_DONE) {
                if (request->confirm > 0 && !waited)
                        confirm_disarm(manager->confirm);
                if (request->expired)
                        (void) confirm_arm(manager->confirm, request->mode, EXPIRED_AGAIN);
                return r;
        }
        r = manager_settle_leases(manager, request->mode);
        if (r < 0)
                return r;
        if (request->confirm > 0)
                return confirm_arm(manager->confirm, request->mode, request->confirm);
        confirm_disarm(manager->confirm);
        return 0;
}

static int manager_do_reload(Manager *manager, const Request *request, Outcome *ret) {
        _cleanup_free_ char *mode = strdup(journal_mode(manager->journal));
        _cleanup_free_ char *by = strdup(journal_by(manager->journal) ?: "");
        SwitchRequest sw = { .mode = mode, .by = by, .unasked = true };

        if (!mode || !by)
                return -ENOMEM;
        manager_read_conf(manager);
        return manager_is_idle(manager) ? 0 : manager_switch(manager, &sw, "reload", ret);
}

static int manager_do_mend(Manager *manager, const Request *request, Outcome *ret) {
        _cleanup_free_ char *by = strdup(journal_by(manager->journal) ?: "");
        /* Nobody asked just now: nothing that disturbs others is done at the next new thread. */
        SwitchRequest sw = {
                .by = by,
                .scope = request->scope,
                .profile = manager->profile,
                .no_disturb = true,
                .unasked = true,
        };

        if (!by)
                return -ENOMEM;
        if (manager_is_idle(manager))
                return 0;
        if (!manager->profile)
                return manager_refuse(ret,
                        "The profile %s has changed since it was applied: nothing is mended before "
                        "`rtisoctl mode %s` applies it as it is now.",
                        journal_mode(manager->journal), journal_mode(manager->journal));
        sw.mode = manager->profile->name;
        return manager_switch(manager, &sw, NULL, ret);
}

/* A program that started.  Nobody is told of it but the log: what is in force is what it was. */
static int manager_do_place(Manager *manager, const Request *request, Outcome *ret) {
        int r = manager->profile
                ? placing_run(manager->kfs, manager->journal, manager->profile, (int) request->pid, ret)
                : 0;

        if (ret->n_ops > 0)
                manager_write_state(manager);
        return r;
}

static int manager_do_stop(Manager *manager, Outcome *ret) {
        SwitchRequest sw = { .mode = "green", .by = BY_STOP };
        int r = 0;

        if (manager->conf.on_stop == ON_STOP_GREEN && !manager_is_idle(manager))
                r = manager_switch(manager, &sw, "on_stop = green", ret);
        (void) sd_event_exit(manager->event, 0);
        return r;
}

/* Names and reasons come from anybody and go to the log.  An empty name is the mode in force. */
static int check_request(const Request *request, Outcome *ret) {
        _cleanup_free_ char *why = NULL, *printable = NULL;
        int r = *request->mode ? profile_check_name(request->mode, &why) : 0;

        if (r == -EINVAL) {
                ret->kind = OUTCOME_NO_SUCH_PROFILE;
                return outcome_say(ret, "name not allowed: %s", why);
        }
        if (r >= 0 && strlen(request->why) > WHY_MAX)
                return manager_refuse(ret, "The reason is longer than %d bytes.", WHY_MAX);
        r = r ?: text_printable(request->why, &printable);
        if (r >= 0 && !streq(request->why, printable))
                return manager_refuse(ret, "The reason has control characters: it is one line of text.");
        return r;
}

int manager_run(Manager *manager, const Request *request, Outcome *ret, int *ret_fd) {
        int r = check_request(request, ret);

        if (r < 0 || ret->kind != OUTCOME_DONE)
                return r;
        switch (request->kind) {
        case REQUEST_MODE: return manager_do_mode(manager, request, ret);
        case REQUEST_LEASE: return manager_do_lease(manager, request, ret, ret_fd);
        case REQUEST_RELEASE: return manager_do_release(manager, ret);
        case REQUEST_RELOAD: return manager_do_reload(manager, request, ret);
        case REQUEST_MEND: return manager_do_mend(manager, request, ret);
        case REQUEST_PLACE: return manager_do_place(manager, request, ret);
        case REQUEST_STOP: return manager_do_stop(manager, ret);
        }
        return -EINVAL;
}
