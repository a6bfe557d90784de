/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager-internal.h"

#include <malloc.h>

#include "audit.h"
#include "counts.h"
#include "log.h"
#include "providers.h"
#include "state.h"

static void manager_log_outcome(const Manager *manager, const SwitchRequest *request, const char *from,
        const char *why, const Outcome *outcome) {
        LogFields fields = { .mode = request->mode, .by = request->by, .why = why && *why ? why : NULL };
        const char *message = outcome->message ?: "", *separator = outcome->message ? "\n" : "";

        switch (outcome->kind) {
        case OUTCOME_DONE:
                if (streq(from, request->mode)) {
                        fields.id = LOG_ID_MENDED;
                        if (outcome->n_ops > 0 || outcome->message)
                                log_fields(LOG_INFO, &fields,
                                        "Mode %s mended: %zu objects looked at again.%s%s", request->mode,
                                        outcome->n_ops, separator, message);
                        return;
                }
                fields.id = LOG_ID_SWITCHED;
                log_fields(LOG_NOTICE, &fields, "Mode %s → %s, by %s: %zu writes, %zu degraded parts.%s%s",
                        from, request->mode, request->by, outcome->n_ops, outcome->n_degraded, separator,
                        message);
                return;
        case OUTCOME_BAD_PROFILE:
        case OUTCOME_NO_SUCH_PROFILE:
        case OUTCOME_REFUSED:
                fields.id = LOG_ID_REFUSED;
                log_fields(LOG_WARNING, &fields, "Mode %s refused; %s stays in force:%s%s", request->mode,
                        from, separator, message);
                return;
        default:
                fields.id = outcome->kind == OUTCOME_INCOMPLETE ? LOG_ID_INCOMPLETE : LOG_ID_FAILED;
                log_fields(LOG_ERR, &fields, "Switch from %s to %s failed:%s%s", from, request->mode,
                        separator, message);
        }
}

void manager_write_state(Manager *manager) {
        int r = state_write(manager->state_file, manager->journal, manager->boot_id);

        if (r < 0)
                log_plain(LOG_WARNING,
                        "%s cannot be written (%s): `rtisoctl status` may speak of the mode before.",
                        manager->state_file, strerror(-r));
}

/* What the counters say now is what `status` counts from. */
static void manager_save_counts(Manager *manager) {
        _cleanup_free_ char *directory = NULL;
        int r = util_asprintf(&directory, "%s/" COUNTS_BEGIN, manager->runtime);

        if (r >= 0)
                r = counts_save(manager->kfs, directory);
        if (r < 0)
                log_plain(LOG_WARNING,
                        "The counters could not be kept (%s): `rtisoctl status` cannot count from the begin "
                        "of the mode.",
                        strerror(-r));
}

static void on_progress(void *userdata, const Step *step, size_t done, size_t total) {
        Manager *manager = userdata;

        if (manager->hooks.progress)
                manager->hooks.progress(manager->userdata, step->id, done, total);
}

int manager_switch(Manager *manager, const SwitchRequest *request, const char *why, Outcome *ret) {
        _cleanup_free_ char *from = strdup(journal_mode(manager->journal));
        Profile *profile = NULL;
        Outcome outcome = {};
        int r;

        if (!from)
                return -ENOMEM;
        if (manager->lost && !request->force)
                return manager_refuse_lost(manager, request->mode, ret);
        if (manager->hooks.begin)
                manager->hooks.begin(manager->userdata, request->mode);
        r = switch_run(manager->kfs, manager->journal, request, on_progress, manager, &outcome, &profile);
        if (r >= 0 && profile) {
                profile_free(manager->profile);
                manager->profile = profile;
        }
        if (r >= 0 && outcome.kind == OUTCOME_DONE && !streq(from, request->mode))
                manager_save_counts(manager);
        if (r >= 0 && outcome.kind == OUTCOME_DONE)
                manager->lost = false;
        if (r >= 0)
                r = manager_say_restored(manager, &outcome);
        manager_write_state(manager);
        if (r >= 0)
                manager_log_outcome(manager, request, from, why, &outcome);
        if (manager->hooks.end)
                manager->hooks.end(manager->userdata, &outcome);
        kfs_rest(manager->kfs);
        /* What planning took is given back: between switches the daemon should be small. */
        (void) malloc_trim(0);
        if (r < 0)
                return r;
        *ret = outcome;
        return 0;
}

void manager_read_conf(Manager *manager) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        Conf conf = {};
        int r = conf_load(manager->kfs, &conf, &errors);

        if (r >= 0) {
                conf_done(&manager->conf);
                manager->conf = conf;
                return;
        }
        for (size_t i = 0; i < errors.n; i++) {
                _cleanup_free_ char *sentence = NULL;

                if (profile_error_sentence(&errors.items[i], &sentence) >= 0)
                        log_plain(LOG_ERR, "%s", sentence);
        }
        log_plain(LOG_ERR, "%s is not used: %s", CONF_FILE, strerror(-r));
}

bool manager_is_idle(const Manager *manager) {
        return streq(journal_mode(manager->journal), "green") && journal_steps(manager->journal)->n == 0;
}

static int manager_open_waiting(Manager *manager, const char *runtime) {
        _cleanup_free_ char *leases = NULL, *confirm = NULL;
        int r;

        r = util_asprintf(&leases, "%s/leases", runtime);
        if (r >= 0)
                r = util_asprintf(&confirm, "%s/confirm", runtime);
        if (r >= 0)
                r = leases_open(leases, manager->event, on_released, manager, &manager->leases);
        if (r >= 0)
                r = confirm_open(confirm, manager->event, on_expired, manager, &manager->confirm);
        return r;
}

int manager_new(const ManagerPaths *paths, sd_event *event, const ManagerHooks *hooks, void *userdata,
        Manager **ret) {
        _cleanup_manager_ Manager *manager = calloc(1, sizeof(Manager));
        int r;

        if (!manager)
                return -ENOMEM;
        manager->event = sd_event_ref(event);
        manager->hooks = *hooks;
        manager->userdata = userdata;
        r = kfs_new(paths->root, &manager->kfs);
        if (r >= 0)
                r = providers_add(manager->kfs);
        if (r >= 0)
                r = sd_event_add_defer(event, &manager->defer, on_queue, manager);
        if (r >= 0)
                r = sd_event_source_set_enabled(manager->defer, SD_EVENT_OFF);
        if (r >= 0)
                r = manager_open_journal(manager, paths->runtime);
        if (r >= 0)
                r = manager_open_waiting(manager, paths->runtime);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(manager);
        return 0;
}

void manager_free(Manager *manager) {
        if (!manager)
                return;
        manager_turn_away(manager);
        (void) sd_event_source_disable_unref(manager->defer);
        (void) sd_event_source_disable_unref(manager->release_timer);
        confirm_free(manager->confirm);
        leases_free(manager->leases);
        profile_free(manager->profile);
        conf_done(&manager->conf);
        journal_free(manager->journal);
        kfs_free(manager->kfs);
        sd_event_unref(manager->event);
        for (size_t i = 0; i < ARRAY_SIZE(manager->watches); i++)
                (void) sd_event_source_disable_unref(manager->watches[i]);
        free(manager->boot_id);
        free(manager->runtime);
        free(manager->state_file);
        free(manager);
}

static int manager_recover(Manager *manager, bool unfinished) {
        _cleanup_(apply_problems_done) ApplyProblems problems = {};
        ApplyOutcome outcome;
        int r = apply_recover(manager->kfs, manager->journal, on_progress, manager, &outcome, &problems);

        if (r < 0 || !unfinished)
                return r;
        log_fields(outcome == APPLY_INCOMPLETE ? LOG_ERR : LOG_NOTICE,
                &(LogFields){ .id = LOG_ID_STARTED, .mode = journal_mode(manager->journal) },
                outcome == APPLY_INCOMPLETE
                        ? "A switch was cut short; undoing it is incomplete, mode %s is in force in part:"
                        : "A switch was cut short and is undone: mode %s is in force as before it.",
                journal_mode(manager->journal));
        for (size_t i = 0; i < problems.n; i++) {
                _cleanup_free_ char *sentence = NULL;

                if (apply_problem_sentence(&problems.items[i], &sentence) >= 0)
                        log_fields(LOG_ERR, &(LogFields){ .step = problems.items[i].id }, "%s", sentence);
        }
        return 0;
}

/* The profile in force, as it was applied: hotplug mends by it. */
static void manager_adopt(Manager *manager) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        const char *mode = journal_mode(manager->journal), *sha = journal_profile_sha256(manager->journal);
        LogFields fields = { .id = LOG_ID_STARTED, .mode = mode };
        int r = profile_load(manager->kfs, mode, &profile, &errors);

        if (r >= 0 && sha && streq(profile->sha256, sha))
                manager->profile = TAKE_PTR(profile);
        log_fields(LOG_NOTICE, &fields, "Mode %s adopted; nothing was written.", mode);
        if (!manager->profile)
                log_fields(LOG_WARNING, &fields,
                        "The profile %s is not what was applied: `rtisoctl mode %s` applies it as it is "
                        "now.",
                        mode, mode);
}

/* Somebody who went green on purpose since boot does not want a restart to undo that. */
static bool manager_enters_boot_mode(const Manager *manager) {
        const char *by = journal_by(manager->journal);

        /* What is there may be the values of a mode, and would be taken for what was found. */
        if (manager->lost || !manager_is_idle(manager) || !manager->conf.mode ||
                streq(manager->conf.mode, "green"))
                return false;
        return !by || !*by || streq(by, BY_BOOT) || streq(by, BY_STOP);
}

static int manager_enter_boot_mode(Manager *manager) {
        SwitchRequest sw = { .mode = manager->conf.mode, .by = BY_BOOT };
        _cleanup_outcome_ Outcome outcome = {};
        int r = manager_switch(manager, &sw, NULL, &outcome);

        if (r < 0)
                return r;
        if (outcome.kind != OUTCOME_DONE)
                log_fields(LOG_ERR, &(LogFields){ .id = LOG_ID_FAILED, .mode = manager->conf.mode },
                        "The mode to enter at boot, %s (%s), could not be entered: the machine stays %s.",
                        manager->conf.mode, CONF_FILE, journal_mode(manager->journal));
        return 0;
}

int manager_start(Manager *manager) {
        bool unfinished = journal_unfinished(manager->journal);
        int r;

        if (journal_problem(manager->journal))
                log_plain(LOG_WARNING, "%s", journal_problem(manager->journal));
        manager_read_conf(manager);
        r = manager_recover(manager, unfinished);
        if (r < 0)
                return r;
        r = manager_find_lost(manager);
        kfs_rest(manager->kfs);
        if (r < 0)
                return r;
        if (!manager_is_idle(manager) && !manager->lost)
                manager_adopt(manager);
        manager_write_state(manager);
        r = manager_enters_boot_mode(manager) ? manager_enter_boot_mode(manager) : 0;
        return r < 0 ? r : manager_release_left(manager);
}

const char *manager_mode(const Manager *manager) {
        return journal_mode(manager->journal);
}

const Profile *manager_profile(const Manager *manager) {
        return manager->profile;
}

Kfs *manager_kfs(Manager *manager) {
        return manager->kfs;
}

Journal *manager_journal(Manager *manager) {
        return manager->journal;
}

const Leases *manager_leases(const Manager *manager) {
        return manager->leases;
}
