/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply-op.h"

/* An undo in progress. */
typedef struct Undo {
        Kfs *kfs;
        const Switch *sw;
        size_t n_begun;
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

static int undo_op(Undo *undo, size_t i) {
        const Op *op = &undo->sw->ops[i];
        _cleanup_free_ char *live = NULL;
        int r;

        if (i >= undo->n_begun && !(op->step.flags & STEP_VOLATILE))
                return 0;
        r = op_undo(undo->kfs, op, &live);
        if (r >= 0 || error_is_gone(r))
                return 0;
        if (!live)
                (void) kfs_read(undo->kfs, op->step.object, &live);
        r = problems_add(undo->problems, &op->step, op->was ?: op->target, live, r);
        return r ?: record_left(&undo->left, &op->step, live, "could not be put back after a failed switch");
}

/* What is undone in one go through the ops, last op first. */
typedef enum UndoPass {
        UNDO_ACTIONS, /* a CPU that is away cannot be given anything */
        UNDO_FIRST,   /* an interrupt requested meanwhile must get the old mask */
        UNDO_STATES,
        UNDO_VOLATILE, /* once all is back that makes the kernel change them by itself */
        _UNDO_MAX,
} UndoPass;

static UndoPass op_pass(const Op *op) {
        if (op->step.flags & STEP_ACTION)
                return UNDO_ACTIONS;
        if (op->step.flags & STEP_VOLATILE)
                return UNDO_VOLATILE;
        return op->step.phase == PHASE_IRQ_DEFAULT ? UNDO_FIRST : UNDO_STATES;
}

static int undo_pass(Undo *undo, UndoPass pass) {
        for (size_t i = undo->sw->n_ops; i-- > 0;) {
                int r = op_pass(&undo->sw->ops[i]) == pass ? undo_op(undo, i) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int apply_undo(Kfs *kfs, Journal *journal, size_t n_begun, ApplyProblems *problems, size_t *ret_left) {
        Undo undo = { kfs, journal_unfinished(journal), n_begun, problems, {} };
        size_t before = problems->n;
        int r = 0;

        for (unsigned pass = 0; r >= 0 && pass < _UNDO_MAX; pass++)
                r = undo_pass(&undo, (UndoPass) pass);
        if (r >= 0) {
                *ret_left = problems->n - before;
                r = journal_abort(journal, &undo.left);
        }
        steps_done(&undo.left);
        return r;
}
