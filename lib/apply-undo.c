/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply-op.h"

/* What is undone in one go through the ops, last op first. */
typedef enum UndoPass {
        UNDO_ACTIONS,    /* a CPU that is away cannot be given anything */
        UNDO_FIRST,      /* an interrupt requested meanwhile must get the old mask */
        UNDO_STATES,     /* all that stays as it is put */
        UNDO_CGROUPS,    /* partitions, once those around them are back */
        UNDO_AFFINITIES, /* and what the kernel changes by itself when they come and go */
        _UNDO_MAX,
} UndoPass;

/* An undo in progress. */
typedef struct Undo {
        Kfs *kfs;
        const Switch *sw;
        size_t n_begun;
        ApplyProgress progress;
        void *userdata;
        ApplyProblems *problems;
        Steps left;
} Undo;

int record_left(Steps *steps, const Step *step, const char *live, const char *why) {
        Step copy = {};
        int r;

        if (step->flags & (STEP_ACTION | STEP_UNRECORDED) || steps_find(steps, step->object))
                return 0;
        r = step_copy(step, &copy);
        if (r < 0)
                return r;
        free(TAKE_PTR(copy.reason));
        copy.reason = strdup(why);
        if (live) {
                free(copy.wanted);
                copy.wanted = strdup(live);
                free(TAKE_PTR(copy.within));
        }
        if (!copy.reason || !copy.wanted) {
                step_done(&copy);
                return -ENOMEM;
        }
        return steps_add(steps, &copy);
}

int record_lacking(Steps *steps, const Op *op, const char *live) {
        Step step = op->step;

        /* A task that came later has no record otherwise. */
        step.flags &= ~(unsigned) STEP_UNRECORDED;
        return record_left(steps, &step, live, "gets the CPUs that are away when they are back");
}

static int undo_op(Undo *undo, size_t i, UndoPass pass) {
        const Op *op = &undo->sw->ops[i];
        _cleanup_free_ char *live = NULL;
        int r;

        if (i >= undo->n_begun && !(op->step.flags & STEP_VOLATILE))
                return 0;
        r = op_undo(undo->kfs, op, &live);
        if (r == OP_LACKS_CPUS)
                return record_lacking(&undo->left, op, live);
        if (r >= 0 || error_is_gone(r))
                return 0;
        /* There is a second look at these. */
        if (pass == UNDO_STATES && op->step.flags & STEP_VOLATILE)
                return 0;
        if (!live)
                (void) kfs_read(undo->kfs, op->step.object, &live);
        r = problems_add(undo->problems, &op->step, op->was ?: op->target, live, r);
        return r ?: record_left(&undo->left, &op->step, live, "could not be put back after a failed switch");
}

static bool op_is_in_pass(const Op *op, UndoPass pass) {
        bool is_volatile = op->step.flags & STEP_VOLATILE, is_cgroup = op->step.phase == PHASE_CGROUP;

        if (op->step.flags & STEP_ACTION)
                return pass == UNDO_ACTIONS;
        switch (pass) {
        case UNDO_ACTIONS: return false;
        case UNDO_FIRST: return op->step.phase == PHASE_IRQ_DEFAULT;
        /* Partitions have their place among the groups, and are looked at again. */
        case UNDO_STATES: return (!is_volatile || is_cgroup) && op->step.phase != PHASE_IRQ_DEFAULT;
        case UNDO_CGROUPS: return is_volatile && is_cgroup;
        case UNDO_AFFINITIES: return is_volatile && !is_cgroup;
        case _UNDO_MAX: break;
        }
        return false;
}

static int undo_pass(Undo *undo, UndoPass pass) {
        for (size_t i = undo->sw->n_ops; i-- > 0;) {
                int r;

                if (!op_is_in_pass(&undo->sw->ops[i], pass))
                        continue;
                /* The way back takes as long as the way there: whoever waits has to hear of it. */
                if (undo->progress)
                        undo->progress(undo->userdata, &undo->sw->ops[i].step, undo->sw->n_ops - i - 1,
                                undo->sw->n_ops);
                r = undo_op(undo, i, pass);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Where a group stays, the kernel will change affinities once more when that goes at last: their records stay,
 * too. */
static int keep_affinities(Undo *undo) {
        bool group_left = false;
        int r = 0;

        for (size_t i = 0; i < undo->left.n; i++)
                group_left |= undo->left.items[i].phase == PHASE_CGROUP;
        for (size_t i = 0; r >= 0 && group_left && i < undo->sw->n_ops; i++) {
                const Op *op = &undo->sw->ops[i];

                if (op->was && op_is_in_pass(op, UNDO_AFFINITIES))
                        r = record_left(&undo->left, &op->step, op->was,
                                "a control group could not be put back after a failed switch");
        }
        return r;
}

int apply_undo(Kfs *kfs, Journal *journal, size_t n_begun, ApplyProgress progress, void *userdata,
        ApplyProblems *problems, size_t *ret_left) {
        Undo undo = { kfs, journal_unfinished(journal), n_begun, progress, userdata, problems, {} };
        size_t before = problems->n;
        int r = 0;

        for (unsigned pass = 0; r >= 0 && pass < _UNDO_MAX; pass++)
                r = undo_pass(&undo, (UndoPass) pass);
        r = r ?: keep_affinities(&undo);
        if (r >= 0) {
                *ret_left = problems->n - before;
                r = journal_abort(journal, &undo.left);
        }
        steps_done(&undo.left);
        return r;
}
