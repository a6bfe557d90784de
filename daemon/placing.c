/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "placing.h"

#include "log.h"
#include "place.h"
#include "plan-sets.h"
#include "world-read.h"

/* Is this the record of a process that placing put somewhere, and that is gone? */
static bool is_stale(Kfs *kfs, const Step *record) {
        _cleanup_free_ char *live = NULL;
        int r;

        if (!util_startswith(record->object, "task/") || !(record->flags & STEP_TRANSIENT))
                return false;
        r = kfs_read(kfs, record->object, &live);
        return r == -ESRCH || r == -ENOENT;
}

static int copy_record(const Step *record, Steps *ret) {
        Step copy = {};
        int r = step_copy(record, &copy);

        return r < 0 ? r : steps_add(ret, &copy);
}

/* Everything that is in force stays so, but for processes that ended: they would pile up. */
static int copy_records(Kfs *kfs, const Steps *in_force, const Steps *placed, Steps *ret) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < in_force->n_sets; i++)
                r = steps_add_set(ret, &in_force->sets[i]);
        for (size_t i = 0; r >= 0 && i < in_force->n; i++)
                if (!steps_find(placed, in_force->items[i].object) && !is_stale(kfs, &in_force->items[i]))
                        r = copy_record(&in_force->items[i], ret);
        for (size_t i = 0; r >= 0 && i < placed->n; i++)
                r = copy_record(&placed->items[i], ret);
        return r < 0 ? r : 0;
}

static int keep_before(Step *step, const Steps *in_force) {
        const Step *record = steps_find(in_force, step->object);
        char *before;

        if (!record || !record->before)
                return 0;
        before = strdup(record->before);
        if (!before)
                return -ENOMEM;
        free(step->before);
        step->before = before;
        return 0;
}

static int add_op(Switch *sw, const Step *step) {
        Op op = { .was = step->now ? strdup(step->now) : NULL, .target = strdup(step->wanted) };
        int r = (step->now && !op.was) || !op.target ? -ENOMEM : step_copy(step, &op.step);

        if (r >= 0)
                r = GROW(sw->ops, sw->n_ops);
        if (r < 0) {
                step_done(&op.step);
                free(op.was);
                free(op.target);
                return r;
        }
        sw->ops[sw->n_ops++] = op;
        return 0;
}

/* Moves first: a process is given CPUs of the set when it is in the set. */
static int make_switch(Kfs *kfs, const Steps *in_force, const char *mode, Steps *placed, Switch **ret) {
        _cleanup_switch_ Switch *sw = calloc(1, sizeof(Switch));
        int r;

        if (!sw)
                return -ENOMEM;
        sw->from = strdup(mode);
        sw->to = strdup(mode);
        r = sw->from && sw->to ? 0 : -ENOMEM;
        for (size_t i = 0; r >= 0 && i < placed->n; i++)
                r = keep_before(&placed->items[i], in_force);
        for (Phase phase = PHASE_CGROUP; r >= 0 && phase <= PHASE_TASK; phase++)
                for (size_t i = 0; r >= 0 && i < placed->n; i++)
                        if (placed->items[i].phase == phase &&
                                !step_holds(&placed->items[i], placed->items[i].now))
                                r = add_op(sw, &placed->items[i]);
        if (r >= 0)
                r = copy_records(kfs, in_force, placed, &sw->in_force);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(sw);
        return 0;
}

/* The process alone, as the mode sees it. */
static int decide(Kfs *kfs, const Profile *profile, const Steps *in_force, int pid, Steps *ret) {
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
        PlanInput input = { .profile = profile, .in_force = in_force, .flags = PLAN_MEND };
        int r;

        if (!plan)
                return -ENOMEM;
        r = world_new(kfs, &world);
        if (r >= 0)
                r = world_read_process(world, pid);
        if (r >= 0)
                r = world_overlay(world, in_force);
        if (r >= 0)
                r = plan_sets(profile, world, in_force, PLAN_MEND, plan);
        if (r < 0 || plan->n_refusals > 0)
                return r < 0 ? r : 0;
        input.world = world;
        input.sets = plan->sets;
        input.isolated = plan->isolated;
        input.housekeeping = plan->housekeeping;
        return place_process(&input, world->tasks, world->n_tasks, ret);
}

static int say_problems(const ApplyProblems *problems) {
        for (size_t i = 0; i < problems->n; i++) {
                _cleanup_free_ char *sentence = NULL;
                int r = apply_problem_sentence(&problems->items[i], &sentence);

                if (r < 0)
                        return r;
                log_fields(LOG_WARNING, &(LogFields){ .id = LOG_ID_PLACED, .step = problems->items[i].id },
                        "%s", sentence);
        }
        return 0;
}

static void say_placed(const Switch *sw) {
        for (size_t i = 0; i < sw->n_ops; i++)
                log_fields(LOG_INFO,
                        &(LogFields){ .id = LOG_ID_PLACED, .mode = sw->to, .step = sw->ops[i].step.id },
                        "%s: %s → %s (set %s).", sw->ops[i].step.id, sw->ops[i].was ?: "?",
                        sw->ops[i].target, sw->ops[i].step.set);
}

int placing_run(Kfs *kfs, Journal *journal, const Profile *profile, int pid, Outcome *ret) {
        _cleanup_(apply_problems_done) ApplyProblems problems = {};
        _cleanup_steps_ Steps placed = {};
        _cleanup_switch_ Switch *sw = NULL;
        ApplyOutcome outcome;
        int r = decide(kfs, profile, journal_steps(journal), pid, &placed);

        if (r < 0 || placed.n == 0)
                return r == -ENOENT || r == -ESRCH ? 0 : r;
        r = make_switch(kfs, journal_steps(journal), journal_mode(journal), &placed, &sw);
        if (r < 0 || sw->n_ops == 0)
                return r;
        r = apply_switch(kfs, journal, sw, journal_profile_sha256(journal), journal_by(journal), NULL, NULL,
                &outcome, &problems);
        if (r < 0)
                return r;
        ret->n_ops = sw->n_ops;
        if (outcome == APPLY_DONE)
                say_placed(sw);
        else
                ret->kind = outcome == APPLY_UNDONE ? OUTCOME_FAILED : OUTCOME_INCOMPLETE;
        return say_problems(&problems);
}
