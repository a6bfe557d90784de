/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "switch.h"

#include <time.h>

#include "audit.h"
#include "task.h"
#include "world-read.h"

/* Long beside the tick that CPU time is counted in, short beside what somebody waits for. */
#define POLLING_SAMPLE_USEC 250000

typedef struct Run {
        Kfs *kfs;
        Journal *journal;
        const SwitchRequest *request;
        Outcome outcome;
        Profile *loaded;
} Run;

static int run_say_profile_errors(Run *run, const ProfileErrors *errors) {
        for (size_t i = 0; i < errors->n; i++) {
                _cleanup_free_ char *sentence = NULL;
                int r = profile_error_sentence(&errors->items[i], &sentence);

                if (r >= 0)
                        r = outcome_say(&run->outcome, "%s", sentence);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Any failure but that of memory becomes an outcome with a sentence. */
static int run_fail(Run *run, OutcomeKind kind, int error, const char *what) {
        if (error == -ENOMEM)
                return error;
        run->outcome.kind = kind;
        return outcome_say(&run->outcome, "%s: %s", what, strerror(-error));
}

/* The way back is never barred by a file: green is entered without what its files ask for. */
static int run_load_plain_green(Run *run, const ProfileErrors *errors) {
        int r = run_say_profile_errors(run, errors);

        r = r ?: profile_load_plain_green(run->kfs, &run->loaded);
        if (r < 0)
                return r;
        return outcome_add_degraded(&run->outcome, "profile/green", step_state_to_string(STATE_REFUSED),
                "its files have errors: green is entered as it comes with rtisold, without what they ask "
                "for");
}

static int run_load(Run *run) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        const char *mode = run->request->mode;
        int r = profile_load(run->kfs, mode, &run->loaded, &errors);

        if (r < 0 && r != -ENOMEM && streq(mode, "green"))
                return run_load_plain_green(run, &errors);
        switch (r) {
        case -EINVAL: run->outcome.kind = OUTCOME_BAD_PROFILE; return run_say_profile_errors(run, &errors);
        case -ENOENT:
                run->outcome.kind = OUTCOME_NO_SUCH_PROFILE;
                return outcome_say(&run->outcome,
                        "There is no profile '%s'; `rtisoctl profile list` shows those there are.", mode);
        case -ESHUTDOWN:
                run->outcome.kind = OUTCOME_NO_SUCH_PROFILE;
                return outcome_say(&run->outcome,
                        "The profile '%s' is masked: its file is empty or a link to /dev/null.", mode);
        default: return r < 0 ? run_fail(run, OUTCOME_NOT_BEGUN, r, "The profile cannot be read") : 0;
        }
}

static int run_refuse(Run *run, const Plan *plan) {
        run->outcome.kind = OUTCOME_REFUSED;
        for (size_t i = 0; i < plan->n_refusals; i++) {
                int r = outcome_say(&run->outcome, "%s", plan->refusals[i].what);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Parts of the plan that this kernel cannot do now, those that it refused, and those left out on request. */
static int run_note_degraded(Run *run, const Plan *plan, const Switch *sw, const ApplyProblems *problems) {
        for (size_t i = 0; i < plan->steps.n; i++) {
                const Step *step = &plan->steps.items[i];
                int r;

                if (step->mechanism == MECHANISM_RUNTIME)
                        continue;
                r = outcome_add_degraded(&run->outcome, step->id,
                        step_state_to_string(
                                step->mechanism == MECHANISM_BOOT ? STATE_BOOT : STATE_UNSUPPORTED),
                        step->reason);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < problems->n; i++) {
                _cleanup_free_ char *sentence = NULL;
                int r = apply_problem_sentence(&problems->items[i], &sentence);

                if (r >= 0)
                        r = outcome_add_degraded(&run->outcome, problems->items[i].id,
                                step_state_to_string(problems->items[i].state), sentence);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < sw->left_out.n; i++) {
                int r = outcome_add_degraded(&run->outcome, sw->left_out.items[i].id,
                        step_state_to_string(STATE_REFUSED), sw->left_out.items[i].reason);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int run_say_problems(Run *run, const ApplyProblems *problems) {
        for (size_t i = 0; i < problems->n; i++) {
                _cleanup_free_ char *sentence = NULL;
                int r = apply_problem_sentence(&problems->items[i], &sentence);

                if (r >= 0)
                        r = outcome_say(&run->outcome, "%s", sentence);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int run_note_cycled(Run *run, const Switch *sw) {
        for (size_t i = 0; i < sw->n_ops; i++) {
                const char *number = util_startswith(sw->ops[i].step.object, "cycle/");
                unsigned cpu;
                int r;

                if (!number || util_parse_unsigned(number, &cpu) < 0)
                        continue;
                r = cpulist_add(&run->outcome.cycled, cpu);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int run_fail_journal(Run *run, int error) {
        if (error == -ENOMEM)
                return error;
        run->outcome.kind = OUTCOME_NOT_BEGUN;
        return outcome_say(&run->outcome,
                "The journal %s cannot be written (%s); nothing was changed. Make its folder writable "
                "again, or "
                "make room there, and do not restart rtisold before: what was found before mode %s is known "
                "to "
                "it alone.",
                journal_file(run->journal), strerror(-error), journal_mode(run->journal));
}

static int run_apply(Run *run, const Profile *profile, const Plan *plan, Switch *sw, ApplyProgress progress,
        void *userdata) {
        _cleanup_(apply_problems_done) ApplyProblems problems = {};
        ApplyOutcome outcome;
        int r;

        r = run_note_cycled(run, sw);
        if (r < 0)
                return r;
        run->outcome.n_ops = sw->n_ops;
        r = apply_switch(run->kfs, run->journal, sw, profile->sha256, run->request->by, progress, userdata,
                &outcome, &problems);
        if (r < 0)
                return run_fail_journal(run, r);
        if (outcome == APPLY_DONE) {
                STRV_FOREACH (sentence, sw->left_alone) {
                        r = outcome_say(&run->outcome, "%s", *sentence);
                        if (r < 0)
                                return r;
                }
                return run_note_degraded(run, plan, sw, &problems);
        }
        run->outcome.kind = outcome == APPLY_UNDONE ? OUTCOME_FAILED : OUTCOME_INCOMPLETE;
        r = run_say_problems(run, &problems);
        if (r < 0)
                return r;
        return outcome_say(&run->outcome,
                outcome == APPLY_UNDONE
                        ? "Everything was undone: the machine is as before."
                        : "The undo is incomplete: the objects named after the first are not "
                          "as before; their records are kept, and `rtisoctl mode green` tries "
                          "them again.");
}

/* Tasks alone, and when that was: who polls is seen only over some time. */
static int read_tasks(Kfs *kfs, World **ret, uint64_t *ret_ns) {
        _cleanup_world_ World *world = NULL;
        struct timespec now;
        int r = world_new(kfs, &world);

        if (r >= 0)
                r = world_read_tasks(world);
        if (r < 0)
                return r;
        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        *ret_ns = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
        *ret = TAKE_PTR(world);
        return 0;
}

/* Green would take the CPUs from under work that cannot stand it. */
static int run_check_busy(Run *run, const Profile *profile, const World *world, const Steps *in_force) {
        _cleanup_world_ World *earlier = NULL, *now = NULL;
        _cleanup_strv_ char **busy = NULL;
        uint64_t start, end;
        int r;

        if (profile->n_sets > 0 || run->request->force || in_force->n_sets == 0 || !task_any_inside(world))
                return 0;
        r = read_tasks(run->kfs, &earlier, &start);
        if (r < 0)
                return r;
        (void) usleep(POLLING_SAMPLE_USEC);
        r = read_tasks(run->kfs, &now, &end);
        if (r >= 0)
                r = task_green_blockers(now, earlier, end - start, &busy);
        if (r < 0)
                return r;
        STRV_FOREACH (sentence, busy) {
                run->outcome.kind = OUTCOME_REFUSED;
                r = outcome_say(&run->outcome, "%s", *sentence);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int run_switch(Run *run, const Profile *profile, ApplyProgress progress, void *userdata) {
        const SwitchRequest *request = run->request;
        const Steps *in_force = journal_steps(run->journal);
        bool mend = streq(journal_mode(run->journal), profile->name);
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_switch_ Switch *sw = NULL;
        int r;

        r = plan_audit(run->kfs, profile, in_force, &world);
        if (r < 0)
                return run_fail(run, OUTCOME_NOT_BEGUN, r, "The machine's state cannot be read");
        r = plan_make(profile, world, in_force, mend ? PLAN_MEND : 0, &plan);
        if (r < 0)
                return run_fail(run, OUTCOME_NOT_BEGUN, r, "No plan could be made");
        if (plan->n_refusals > 0)
                return run_refuse(run, plan);
        r = run_check_busy(run, profile, world, in_force);
        if (r < 0 || run->outcome.kind != OUTCOME_DONE)
                return r;
        STRV_FOREACH (warning, plan->warnings) {
                r = outcome_say(&run->outcome, "%s", *warning);
                if (r < 0)
                        return r;
        }
        r = plan_switch(plan, journal_mode(run->journal), in_force, world,
                (request->no_disturb ? SWITCH_NO_DISTURB : 0) | (request->unasked ? SWITCH_UNASKED : 0),
                &sw);
        if (r >= 0 && !request->unasked)
                r = plan_refuse_left_out(plan, sw);
        if (r < 0)
                return run_fail(run, OUTCOME_NOT_BEGUN, r, "No plan could be made");
        if (plan->n_refusals > 0)
                return run_refuse(run, plan);
        r = switch_narrow(sw, in_force, request->scope);
        if (r < 0)
                return r;
        return run_apply(run, profile, plan, sw, progress, userdata);
}

int switch_run(Kfs *kfs, Journal *journal, const SwitchRequest *request, ApplyProgress progress,
        void *userdata, Outcome *ret, Profile **ret_profile) {
        Run run = { .kfs = kfs, .journal = journal, .request = request };
        _cleanup_profile_ Profile *loaded = NULL;
        int r;

        r = request->profile ? 0 : run_load(&run);
        loaded = run.loaded;
        if (r >= 0 && run.outcome.kind == OUTCOME_DONE)
                r = run_switch(&run, request->profile ?: loaded, progress, userdata);
        if (r < 0) {
                outcome_done(&run.outcome);
                return r;
        }
        if (ret_profile)
                *ret_profile = run.outcome.kind == OUTCOME_DONE ? TAKE_PTR(loaded) : NULL;
        *ret = run.outcome;
        return 0;
}

static bool op_in_scope(const Op *op, const Steps *in_force, SwitchScope scope) {
        if (scope != SCOPE_NEW)
                return true;
        /* A device that was reset has its old interrupt numbers with new affinities, and its old queues with new
         * masks. */
        if (op->step.phase == PHASE_IRQ || (op->step.phase == PHASE_QUEUES && !op->back))
                return true;
        return !steps_find(in_force, op->step.object);
}

int switch_narrow(Switch *sw, const Steps *in_force, SwitchScope scope) {
        size_t kept = 0;
        int r = 0;

        for (size_t i = 0; i < sw->n_ops; i++) {
                if (op_in_scope(&sw->ops[i], in_force, scope)) {
                        sw->ops[kept++] = sw->ops[i];
                        continue;
                }
                /* What is not given back now is given back later: green has to know of it still. */
                if (r >= 0 && sw->ops[i].back && !steps_find(&sw->in_force, sw->ops[i].step.object))
                        r = steps_add(&sw->in_force, &sw->ops[i].step);
                step_done(&sw->ops[i].step);
                free(sw->ops[i].was);
                free(sw->ops[i].target);
        }
        sw->n_ops = kept;
        return r < 0 ? r : 0;
}
