/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/inotify.h>
#include <sys/stat.h>

#include "cpuset.h"
#include "log.h"
#include "manager-internal.h"
#include "state.h"
#include "world-read.h"

/* The record of what is in force: where it is, and what can be done where it is gone. */

/* Watching */

static void manager_log_restored(Manager *manager) {
        log_plain(LOG_WARNING,
                "%s was removed while a mode was in force; it is written anew, nothing is lost.",
                journal_file(manager->journal));
}

static int manager_watch_journal(Manager *manager);

/* 1 where something had to be put back. */
static int manager_put_back(Manager *manager) {
        _cleanup_free_ char *leases = NULL;
        bool gone = access(manager->state_file, F_OK) < 0;
        int r = journal_keep(manager->journal);

        if (r >= 0 && gone)
                manager_write_state(manager);
        if (util_asprintf(&leases, "%s/leases", manager->runtime) >= 0)
                (void) mkdir(leases, 0700);
        return r < 0 ? r : r > 0 || gone;
}

/* Somebody removed something there.  A daemon killed before the next switch must find the journal.  What goes on being
 * removed (`rm -r` has not ended) is seen by watches that are there before the last look. */
static int on_removed(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        Manager *manager = userdata;
        int r = 1;

        if (event->mask & IN_IGNORED)
                return 0;
        for (unsigned tries = 0; r != 0 && tries < 8; tries++) {
                bool watched = manager_watch_journal(manager) >= 0;

                r = manager_put_back(manager);
                r = r == 0 && !watched ? 1 : r;
        }
        if (journal_take_restored(manager->journal))
                manager_log_restored(manager);
        if (r < 0)
                log_plain(LOG_ERR,
                        "%s was removed and cannot be written anew (%s). Make its folder again, and do not "
                        "restart "
                        "rtisold before: what was found before mode %s is known to it alone.",
                        journal_file(manager->journal), strerror(-r), journal_mode(manager->journal));
        if (manager->hooks.removed)
                manager->hooks.removed(manager->userdata);
        return 0;
}

static int manager_watch(Manager *manager, sd_event_source **source, const char *directory) {
        *source = sd_event_source_disable_unref(*source);
        return sd_event_add_inotify(manager->event, source, directory,
                IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR, on_removed, manager);
}

/* A folder that was made anew is another one to the kernel. */
static int manager_watch_journal(Manager *manager) {
        _cleanup_free_ char *directory = NULL;
        int r = util_asprintf(&directory, "%s/journal", manager->runtime);

        if (r >= 0)
                r = manager_watch(manager, &manager->watches[0], manager->runtime);
        if (r >= 0)
                r = manager_watch(manager, &manager->watches[1], directory);
        return r < 0 ? r : 0;
}

int manager_say_restored(Manager *manager, Outcome *outcome) {
        if (!journal_take_restored(manager->journal))
                return 0;
        manager_log_restored(manager);
        return outcome_say(outcome,
                "%s was removed while a mode was in force; it is written anew, nothing is lost.",
                journal_file(manager->journal));
}

/* Opening */

/* The state file beside the journal says what was in force after the last switch, records and all. */
static int manager_adopt_state(Manager *manager) {
        _cleanup_state_ State state = {};
        int r = state_read(manager->state_file, manager->boot_id, &state);

        if (r == -EPROTO)
                manager->lost = true;
        if (r < 0 || (state.since == 0 && state.steps.n == 0))
                return r == -ENOMEM ? r : 0;
        r = journal_adopt(
                manager->journal, state.mode, state.by, state.profile_sha256, state.since, &state.steps);
        if (r < 0)
                return r;
        if (manager_is_idle(manager))
                return 0;
        manager->lost = false;
        log_fields(LOG_WARNING, &(LogFields){ .id = LOG_ID_STARTED, .mode = state.mode },
                "%s is gone; what is in force is taken from %s, which was written after the last switch (to "
                "%s): if "
                "one was cut short since, what it changed is not known. `rtisoctl status` compares with the "
                "kernel.",
                journal_file(manager->journal), manager->state_file, state.mode);
        return 0;
}

int manager_open_journal(Manager *manager, const char *runtime) {
        _cleanup_free_ char *directory = NULL;
        int r;

        r = util_asprintf(&directory, "%s/journal", runtime);
        r = r ?: util_copy(runtime, &manager->runtime);
        r = r ?: util_asprintf(&manager->state_file, "%s/state.json", runtime);
        if (r < 0)
                return r;
        if ((mkdir(runtime, 0755) < 0 && errno != EEXIST) || (mkdir(directory, 0700) < 0 && errno != EEXIST))
                return -errno;
        r = kfs_read(manager->kfs, "/proc/sys/kernel/random/boot_id", &manager->boot_id);
        if (r < 0)
                return r;
        r = journal_open(directory, manager->boot_id, &manager->journal);
        if (r < 0)
                return r;
        manager->lost = r > 0;
        r = journal_is_on_disk(manager->journal) ? 0 : manager_adopt_state(manager);
        if (r >= 0 && manager_watch_journal(manager) < 0)
                log_plain(LOG_WARNING, "%s cannot be watched: its removal is seen at the next switch only.",
                        directory);
        return r < 0 ? r : 0;
}

/* Lost */

static bool is_known(const Steps *in_force, const char *path) {
        _cleanup_free_ char *object = NULL;
        const Step *record;

        if (util_asprintf(&object, "/sys/fs/cgroup%s/cpuset.cpus.partition", path) < 0)
                return false;
        record = steps_find(in_force, object);
        return record && !(record->flags & STEP_MADE_UP);
}

static int copy_records(const Steps *steps, Steps *ret) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < steps->n; i++) {
                Step copy = {};

                r = step_copy(&steps->items[i], &copy);
                r = r ?: steps_add(ret, &copy);
        }
        return r < 0 ? r : 0;
}

/* What can be said of the slices is put on record, so that green takes them apart. */
static int manager_make_up(Manager *manager, const World *world) {
        const Journal *journal = manager->journal;
        _cleanup_steps_ Steps steps = {};
        int r = copy_records(journal_steps(journal), &steps);

        r = r ?: cpuset_make_up(world, journal_steps(journal), &steps);
        if (r < 0 || steps.n == journal_steps(journal)->n)
                return r;
        return journal_adopt(manager->journal, "green", "", "", 0, &steps);
}

int manager_find_lost(Manager *manager) {
        _cleanup_world_ World *world = NULL;
        _cleanup_strv_ char **paths = NULL;
        int r = world_new(manager->kfs, &world);

        r = r ?: world_read_cgroups(world);
        r = r ?: cpuset_unexplained(world, journal_steps(manager->journal), &paths);
        if (r < 0)
                return r;
        STRV_FOREACH (path, paths) {
                if (is_known(journal_steps(manager->journal), *path))
                        continue;
                manager->lost = true;
                log_fields(LOG_ERR, &(LogFields){ .id = LOG_ID_INCOMPLETE },
                        "The control group %s is a partition, and no record tells of the mode that made it: "
                        "what it "
                        "changed is not known. Reboot, or have `rtisoctl mode green --force` take it apart; "
                        "interrupts, "
                        "kernel threads and settings then stay as they are.",
                        *path);
        }
        return manager->lost && streq(journal_mode(manager->journal), "green")
                ? manager_make_up(manager, world)
                : 0;
}

int manager_refuse_lost(Manager *manager, const char *mode, Outcome *ret) {
        ret->kind = OUTCOME_REFUSED;
        return outcome_say(ret,
                "What a mode changed since boot is not known, since its record %s was lost: going to %s now "
                "would take "
                "what that mode left for what was found: reboot, or add --force; `rtisoctl status` tells "
                "what is "
                "isolated.",
                journal_file(manager->journal), mode);
}
