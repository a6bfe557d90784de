/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply-op.h"
#include "journal-json.h"

/* A switch in progress.  Functions that work on it return 1 where a required step failed: then the last
 * problem is the failure, and all is to be undone. */
typedef struct Run {
        Kfs *kfs;
        Switch *sw;
        ApplyProblems *problems;
        bool *watched; /* steps of sw->in_force without an op that held before, and may not be lost */
        size_t n_watched;
        bool settled; /* the volatile ones were all read behind the last write */
} Run;

#define RUN_FAILED 1

/* What the way back could not put back keeps its record, so that green can be tried again.  When a group that
 * stays goes at last, the kernel changes affinities once more: their records stay, too. */
static int run_keep_record(Run *run, const Op *op, const char *live, int error) {
        _cleanup_free_ char *why = NULL;
        int r = util_asprintf(&why, "could not be put back to %s (%s)", op->target,
                error == -EBADMSG ? "it reads otherwise" : strerrordesc_np(-error));

        r = r ?: record_left(&run->sw->in_force, &op->step, live, why);
        for (size_t i = 0; r >= 0 && op->step.phase == PHASE_CGROUP && i < run->sw->n_ops; i++) {
                const Op *other = &run->sw->ops[i];

                if (other->back && other->step.flags & STEP_VOLATILE && other->step.phase != PHASE_CGROUP)
                        r = record_left(&run->sw->in_force, &other->step, other->target,
                                "a control group could not be put back");
        }
        return r;
}

/* The record of the mode tells that the kernel refused this one. */
static int run_mark_refused(Run *run, const Op *op, int error) {
        Step *record = steps_find(&run->sw->in_force, op->step.object);
        char *reason;
        int r;

        if (!record)
                return 0;
        r = util_asprintf(
                &reason, "%s (%s)", strerrorname_np(-error) ?: "?", strerrordesc_np(-error) ?: "?");
        if (r < 0)
                return r;
        free(record->reason);
        record->reason = reason;
        record->refused = error;
        return 0;
}

/* The mode goes on without this one: what the write may have done all the same is taken back, except where the
 * kernel changes the value by itself. */
static int run_degrade(Run *run, const Op *op, const char *live, int error) {
        _cleanup_free_ char *now = NULL;
        int r;

        if (op->back)
                return run_keep_record(run, op, live, error);
        r = op->step.flags & (STEP_ACTION | STEP_VOLATILE) ? 0 : op_undo(run->kfs, op, &now);
        if (r < 0 && !error_is_gone(r))
                return RUN_FAILED;
        return run_mark_refused(run, op, error);
}

static bool op_is_required(const Op *op, int error) {
        if (op->step.flags & STEP_TOLERANT && error_is_refusal(error))
                return false;
        /* A group that somebody works in stays. */
        if (op->back && op->step.phase == PHASE_CGROUP && error == -EBUSY)
                return false;
        return op->step.flags & STEP_REQUIRED;
}

static int run_op(Run *run, const Op *op) {
        _cleanup_free_ char *live = NULL;
        int error = op_do(run->kfs, op, &live), r;

        if (error == OP_LACKS_CPUS)
                return record_lacking(&run->sw->in_force, op, live);
        if (error >= 0)
                return 0;
        if (error == -ENOMEM)
                return error;
        if (error_is_gone(error) && (op->back || op->step.flags & STEP_TRANSIENT))
                return 0;
        r = problems_add(run->problems, &op->step, op->target, live, error);
        if (r < 0)
                return r;
        return op_is_required(op, error) ? RUN_FAILED : run_degrade(run, op, live, error);
}

static int run_ops(Run *run, ApplyProgress progress, void *userdata, size_t *ret_begun) {
        for (size_t i = 0; i < run->sw->n_ops; i++) {
                int r;

                if (progress)
                        progress(userdata, &run->sw->ops[i].step, i, run->sw->n_ops);
                *ret_begun = i + 1;
                r = run_op(run, &run->sw->ops[i]);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* What the kernel changed by itself while later ops were done is put right. */
static int run_volatile(Run *run) {
        uint64_t writes = kfs_writes(run->kfs);

        for (size_t i = 0; i < run->sw->n_ops; i++) {
                const Op *op = &run->sw->ops[i];
                int r;

                if (!(op->step.flags & STEP_VOLATILE) || problems_find(run->problems, op->step.object))
                        continue;
                r = run_op(run, op);
                if (r != 0)
                        return r;
        }
        run->settled = kfs_writes(run->kfs) == writes;
        return 0;
}

static bool switch_writes(const Switch *sw, const char *object) {
        for (size_t i = 0; i < sw->n_ops; i++)
                if (streq(sw->ops[i].step.object, object))
                        return true;
        return false;
}

static bool switch_stirs(const Switch *sw) {
        for (size_t i = 0; i < sw->n_ops; i++)
                if (sw->ops[i].step.phase == PHASE_CGROUP || sw->ops[i].step.phase == PHASE_TIMERS)
                        return true;
        return false;
}

/* A switch that changes groups or takes CPUs away may cost others their partition or their affinity.  What has
 * drifted before is not this switch's business. */
static int run_watch(Run *run) {
        const Steps *steps = &run->sw->in_force;

        run->watched = calloc(steps->n + 1, sizeof(bool));
        if (!run->watched)
                return -ENOMEM;
        run->n_watched = steps->n;
        for (size_t i = 0; switch_stirs(run->sw) && i < steps->n; i++) {
                const Step *step = &steps->items[i];
                _cleanup_free_ char *live = NULL;

                if (!(step->flags & STEP_VOLATILE || step->kind == VALUE_PARTITION) ||
                        step->flags & STEP_ACTION || step->mechanism != MECHANISM_RUNTIME ||
                        switch_writes(run->sw, step->object))
                        continue;
                run->watched[i] = kfs_read(run->kfs, step->object, &live) >= 0 && step_holds(step, live);
        }
        return 0;
}

static bool step_is_verified(const Run *run, size_t i) {
        const Step *step = &run->sw->in_force.items[i];

        if (step->mechanism != MECHANISM_RUNTIME || step->flags & STEP_ACTION)
                return false;
        if (problems_find(run->problems, step->object))
                return false;
        if (i < run->n_watched && run->watched[i])
                return true;
        return !(run->settled && step->flags & STEP_VOLATILE) && switch_writes(run->sw, step->object);
}

static int verify_step(Run *run, const Step *step) {
        _cleanup_free_ char *live = NULL;
        int error = kfs_read(run->kfs, step->object, &live), r;

        if (error >= 0 && step_holds(step, live))
                return 0;
        if (error == -ENOMEM)
                return error;
        if (error_is_gone(error) && step->flags & STEP_TRANSIENT)
                return 0;
        r = problems_add(run->problems, step, step->wanted, live, error < 0 ? error : -EBADMSG);
        if (r < 0)
                return r;
        return step->flags & STEP_REQUIRED && !(step->flags & STEP_TOLERANT) ? RUN_FAILED : 0;
}

static int run_verify(Run *run) {
        for (size_t i = 0; i < run->sw->in_force.n; i++) {
                int r = step_is_verified(run, i) ? verify_step(run, &run->sw->in_force.items[i]) : 0;

                if (r != 0)
                        return r;
        }
        return 0;
}

/* The failure stays; what a switch that did not come about would have lacked is of no interest. */
static void problems_keep_failure(ApplyProblems *problems) {
        if (problems->n == 0)
                return;
        for (size_t i = 0; i + 1 < problems->n; i++)
                apply_problem_done(&problems->items[i]);
        problems->items[0] = problems->items[problems->n - 1];
        problems->n = 1;
}

/* The journal is an object like others to whoever reads the problems. */
static int problems_add_journal(
        ApplyProblems *problems, const Journal *journal, const char *mode, int error) {
        Step step = { .id = (char *) "journal", .object = (char *) journal_file(journal) };

        return problems_add(problems, &step, mode, NULL, error);
}

static int run_undo(Kfs *kfs, Journal *journal, size_t n_begun, const char *mode, ApplyProgress progress,
        void *userdata, ApplyProblems *problems, ApplyOutcome *ret_outcome) {
        size_t left = 0;
        int r = apply_undo(kfs, journal, n_begun, progress, userdata, problems, &left);

        *ret_outcome = left > 0 ? APPLY_INCOMPLETE : APPLY_UNDONE;
        if (r >= 0)
                return 0;
        /* The switch stays unfinished in the journal, and is undone again by the next one or the next start.
         */
        *ret_outcome = APPLY_INCOMPLETE;
        return problems_add_journal(problems, journal, mode, r);
}

/* What the kernel refused for good is not tried again while the mode stays: the records remember. */
static const Step *refused_before(const Journal *journal, const Op *op) {
        const Step *record = steps_find(journal_steps(journal), op->step.object);

        if (op->back || !record ||
                (record->refused != -EIO && record->refused != -EPERM && record->refused != -EOPNOTSUPP))
                return NULL;
        return streq(record->wanted, op->step.wanted) ? record : NULL;
}

static int run_skip_refused(Run *run, const Journal *journal) {
        Switch *sw = run->sw;
        size_t kept = 0;
        int r = 0;

        for (size_t i = 0; i < sw->n_ops; i++) {
                Op *op = &sw->ops[i];
                const Step *record = r < 0 ? NULL : refused_before(journal, op);

                if (!record) {
                        sw->ops[kept++] = *op;
                        continue;
                }
                r = problems_add(run->problems, &op->step, op->target, op->was, record->refused);
                r = r ?: run_mark_refused(run, op, record->refused);
                op_done(op);
        }
        sw->n_ops = kept;
        return r;
}

static bool switch_is_idle(Kfs *kfs, const Switch *sw) {
        for (size_t i = 0; i < sw->n_ops; i++)
                if (!op_holds(kfs, &sw->ops[i]))
                        return false;
        return true;
}

static bool records_differ(const Journal *journal, const Switch *sw, const char *profile_sha256) {
        _cleanup_json_ json_t *a = journal_steps_to_json(journal_steps(journal)),
                              *b = journal_steps_to_json(&sw->in_force);

        return !streq(journal_mode(journal), sw->to) ||
                !streq(journal_profile_sha256(journal), profile_sha256 ?: "") || !json_equal(a, b);
}

/* Between journal_begin() and here nothing returns early: what was begun is committed or undone. */
static int run_switch(Run *run, Journal *journal, const char *profile_sha256, const char *by,
        ApplyProgress progress, void *userdata, ApplyOutcome *ret_outcome) {
        size_t begun = 0;
        int r = run_ops(run, progress, userdata, &begun);

        r = r ?: run_volatile(run);
        r = r ?: run_verify(run);
        if (r == 0) {
                r = journal_commit(journal, run->sw, profile_sha256, by);
                *ret_outcome = APPLY_DONE;
        }
        if (r == 0)
                return 0;
        if (r < 0)
                r = problems_add_journal(run->problems, journal, run->sw->to, r);
        problems_keep_failure(run->problems);
        return r < 0 ? r
                     : run_undo(run->kfs, journal, begun, run->sw->from, progress, userdata, run->problems,
                               ret_outcome);
}

int apply_switch(Kfs *kfs, Journal *journal, Switch *sw, const char *profile_sha256, const char *by,
        ApplyProgress progress, void *userdata, ApplyOutcome *ret_outcome, ApplyProblems *ret_problems) {
        ApplyProblems problems = {};
        ApplyOutcome outcome = APPLY_DONE;
        Run run = { kfs, sw, &problems, NULL, 0 };
        int r = apply_recover(kfs, journal, progress, userdata, &outcome, &problems);

        if (r < 0 || outcome == APPLY_INCOMPLETE)
                goto finish;
        apply_problems_done(&problems);
        outcome = APPLY_DONE;
        r = run_skip_refused(&run, journal);
        if (r < 0)
                goto finish;
        if (switch_is_idle(kfs, sw)) {
                if (records_differ(journal, sw, profile_sha256))
                        r = journal_commit(journal, sw, profile_sha256, by);
                goto finish;
        }
        r = run_watch(&run);
        r = r ?: journal_begin(journal, sw);
        if (r >= 0)
                r = run_switch(&run, journal, profile_sha256, by, progress, userdata, &outcome);
finish:
        free(run.watched);
        if (r < 0) {
                apply_problems_done(&problems);
                return r;
        }
        *ret_outcome = outcome;
        *ret_problems = problems;
        return 0;
}

int apply_recover(Kfs *kfs, Journal *journal, ApplyProgress progress, void *userdata,
        ApplyOutcome *ret_outcome, ApplyProblems *ret_problems) {
        const Switch *sw = journal_unfinished(journal);
        _cleanup_free_ char *from = NULL;
        ApplyProblems problems = {};
        ApplyOutcome outcome = APPLY_DONE;
        int r = 0;

        if (sw) {
                from = strdup(sw->from);
                r = from ? run_undo(kfs, journal, sw->n_ops, from, progress, userdata, &problems, &outcome)
                         : -ENOMEM;
        }
        if (r < 0) {
                apply_problems_done(&problems);
                return r;
        }
        *ret_outcome = outcome;
        *ret_problems = problems;
        return 0;
}
