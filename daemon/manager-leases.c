/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "log.h"
#include "manager-internal.h"
#include "strictest.h"

/* The first look at the way back is at once; each further one waits twice as long, up to a minute. */
#define RELEASE_AGAIN_USEC 250000
#define RELEASE_DOUBLED 8
/* So many looks (about fifteen seconds) what runs in the sets is given to end: a command that dies with its caller
 * takes a moment, and its slice can be removed behind it. */
#define RELEASE_PATIENCE 6

/* The modes that are leased, and one more, which may be NULL. */
static int leased_modes(const Manager *manager, const char *more, char ***ret) {
        _cleanup_strv_ char **modes = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < leases_count(manager->leases); i++)
                r = util_strv_push(&modes, leases_get(manager->leases, i)->mode);
        if (r == 0 && more)
                r = util_strv_push(&modes, more);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(modes);
        return 0;
}

/* The mode that serves all leases and one more (may be NULL): the mode before them where that does, else the strictest
 * of the leased ones, else the mode in force where that does.  *ret stays where there is none. */
static int find_target(const Manager *manager, const char *more, char **ret, char **ret_why) {
        const char *in_force = journal_mode(manager->journal), *base = leases_base(manager->leases);
        _cleanup_strv_ char **modes = NULL;
        _cleanup_free_ char *mode = NULL, *why = NULL;
        int r = leased_modes(manager, more, &modes);

        if (r < 0)
                return r;
        if (!modes)
                return util_copy(base, ret);
        r = strictest_find(manager->kfs, modes, base ?: in_force, &mode, &why);
        if (r == 0 && !mode)
                r = strictest_find(manager->kfs, modes, in_force, &mode, ret_why);
        if (r == 0)
                *ret = TAKE_PTR(mode);
        return r;
}

static int refuse_leased(const Lease *lease, const char *why, Outcome *ret) {
        return manager_refuse(ret, "Mode %s is leased by process %u%s%s%s; --force ends its lease.%s%s",
                lease->mode, lease->pid, *lease->why ? " (" : "", lease->why, *lease->why ? ")" : "",
                why ? " " : "", why ?: "");
}

/* A mode that somebody leases is not taken away without force, except by one that is at least as strict. */
int manager_check_leases(Manager *manager, const Request *request, Outcome *ret) {
        _cleanup_strv_ char **modes = NULL;
        _cleanup_free_ char *why = NULL;
        int r;

        leases_settle(manager->leases);
        if (leases_count(manager->leases) == 0 || request->force)
                return 0;
        r = leased_modes(manager, NULL, &modes);
        if (r == 0)
                r = strictest_satisfies(manager->kfs, request->mode, modes, &why);
        return r == 0 ? refuse_leased(leases_get(manager->leases, 0), why, ret) : r < 0 ? r : 0;
}

/* Behind a switch that somebody asked for: where the last release leads to, and who lost his lease to it. */
int manager_settle_leases(Manager *manager, const char *mode) {
        _cleanup_strv_ char **modes = NULL;
        _cleanup_free_ char *why = NULL;
        const Lease *lease = leases_get(manager->leases, 0);
        int r;

        /* A release that waits in the queue has nothing to go back to any more. */
        if (!lease)
                return leases_set_base(manager->leases, NULL);
        r = leased_modes(manager, NULL, &modes);
        if (r == 0)
                r = strictest_satisfies(manager->kfs, mode, modes, &why);
        if (r < 0)
                return r;
        if (r > 0)
                return leases_set_base(manager->leases, mode);
        log_fields(LOG_WARNING, &(LogFields){ .id = LOG_ID_LEASE, .mode = lease->mode },
                "%zu leases, the first of mode %s, ended by force.", leases_count(manager->leases),
                lease->mode);
        leases_drop(manager->leases);
        return 0;
}

static int on_release_again(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        manager->release_timer = sd_event_source_disable_unref(manager->release_timer);
        return manager_release_left(manager);
}

static int release_later(Manager *manager) {
        unsigned doubled =
                manager->release_tries < RELEASE_DOUBLED ? manager->release_tries : RELEASE_DOUBLED;

        manager->release_tries++;
        manager->release_timer = sd_event_source_disable_unref(manager->release_timer);
        return sd_event_add_time_relative(manager->event, &manager->release_timer, CLOCK_MONOTONIC,
                (uint64_t) RELEASE_AGAIN_USEC << doubled, 0, on_release_again, manager);
}

/* Does anything run in the sets still, that may be about to end? */
static bool release_is_early(const Manager *manager) {
        _cleanup_free_ char *events = NULL;

        return leases_count(manager->leases) == 0 && manager->release_tries < RELEASE_PATIENCE &&
                kfs_read(manager->kfs, "/sys/fs/cgroup/rtisol.slice/cgroup.events", &events) >= 0 &&
                strstr(events, "populated 1");
}

int manager_do_release(Manager *manager, Outcome *ret) {
        _cleanup_free_ char *target = NULL, *why = NULL;
        SwitchRequest sw = { .by = BY_LEASE };
        int r;

        if (!leases_base(manager->leases))
                return 0;
        leases_settle(manager->leases);
        r = find_target(manager, NULL, &target, &why);
        if (r < 0)
                return r;
        if (target && !streq(target, journal_mode(manager->journal))) {
                if (release_is_early(manager))
                        return release_later(manager);
                sw.mode = target;
                r = manager_switch(manager, &sw, "a lease was released", ret);
                /* What runs there may not be disturbed (real-time tasks) or the kernel said no: the way back
                 * stays known, also to a daemon that is killed in the switch. */
                if (r < 0 || ret->kind != OUTCOME_DONE)
                        return release_later(manager);
        }
        return leases_count(manager->leases) > 0 ? 0 : leases_set_base(manager->leases, NULL);
}

static int refuse_lease(const Manager *manager, const char *mode, const char *why, Outcome *ret) {
        const Lease *other = leases_get(manager->leases, 0);

        return manager_refuse(ret, "Mode %s is leased by process %u already; %s has to wait. %s",
                other->mode, other->pid, mode, why ?: "");
}

int manager_do_lease(Manager *manager, const Request *request, Outcome *ret, int *ret_fd) {
        _cleanup_free_ char *before = strdup(journal_mode(manager->journal)), *target = NULL, *why = NULL;
        const char *mode = *request->mode ? request->mode : before;
        SwitchRequest sw = { .by = request->by };
        _cleanup_outcome_ Outcome back = {};
        int r;

        if (!before)
                return -ENOMEM;
        leases_settle(manager->leases);
        r = leases_count(manager->leases) > 0 ? find_target(manager, mode, &target, &why)
                                              : util_copy(mode, &target);
        if (r < 0)
                return r;
        if (!target)
                return refuse_lease(manager, mode, why, ret);
        /* Before the switch: a daemon killed in it or behind it must know the way back. */
        if (!leases_base(manager->leases))
                r = leases_set_base(manager->leases, before);
        if (r < 0)
                return r;
        sw.mode = target;
        r = manager_switch(manager, &sw, request->why, ret);
        if (r >= 0 && ret->kind == OUTCOME_DONE)
                r = leases_add(manager->leases, mode, request->why, request->pid, ret_fd);
        if (r < 0 || ret->kind != OUTCOME_DONE) {
                (void) manager_do_release(manager, &back);
                return r;
        }
        log_fields(LOG_INFO,
                &(LogFields){ .id = LOG_ID_LEASE, .mode = mode, .by = request->by, .why = request->why },
                "Mode %s leased by process %u (%s).", mode, request->pid, request->by);
        return 0;
}
