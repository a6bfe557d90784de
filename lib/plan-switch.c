/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan.h"

#include <stdarg.h>

typedef struct SwitchContext {
        const Plan *plan;
        const Steps *in_force;
        const World *world;
        unsigned flags;
        Switch *sw;
} SwitchContext;

static int switch_add_op(Switch *sw, const Step *step, const char *was, const char *target, bool back) {
        Op op = { .back = back };
        int r = step_copy(step, &op.step);

        if (r < 0)
                return r;
        op.was = was ? strdup(was) : NULL;
        op.target = strdup(target);
        r = (was && !op.was) || !op.target ? -ENOMEM : GROW(sw->ops, sw->n_ops);
        if (r < 0) {
                op_done(&op);
                return r;
        }
        sw->ops[sw->n_ops++] = op;
        return 0;
}

static int switch_add_record(Switch *sw, const Step *step) {
        Step copy = {};
        int r;

        if (step->flags & STEP_UNRECORDED)
                return 0;
        r = step_copy(step, &copy);
        return r < 0 ? r : steps_add(&sw->in_force, &copy);
}

static int switch_leave_alone(Switch *sw, const char *format, ...) _printf_(2, 3);
static int switch_leave_alone(Switch *sw, const char *format, ...) {
        _cleanup_free_ char *sentence = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&sentence, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        return util_strv_push(&sw->left_alone, sentence);
}

/* What the mode in force put there, and no balancer since, goes on to what the new mode wants, also where it would be
 * within bounds: else a machine that gets CPUs back would leave them without interrupts. */
static bool step_is_ours_to_move(const SwitchContext *context, const Step *step) {
        const Step *record = step->kind == VALUE_WITHIN ? steps_find(context->in_force, step->object) : NULL;

        if (!record || record->mechanism != MECHANISM_RUNTIME || !step->now)
                return false;
        return value_equal(step->kind, step->now, record->wanted) &&
                !value_equal(step->kind, step->now, step->wanted);
}

static bool step_is_due(const SwitchContext *context, const Step *step) {
        if (step->mechanism != MECHANISM_RUNTIME)
                return false;
        if (step->flags & STEP_ACTION) {
                const Step *record = steps_find(context->in_force, step->object);

                return !record || record->refused == -ECANCELED;
        }
        return step->flags & STEP_VOLATILE || !step_holds(step, step->now) ||
                step_is_ours_to_move(context, step);
}

static bool is_left_out(const SwitchContext *context, const Step *step) {
        const Step *record = steps_find(context->in_force, step->object);

        if (!step->disturbs)
                return false;
        return context->flags & SWITCH_NO_DISTURB ||
                (context->flags & SWITCH_UNASKED && record && record->refused == -ECANCELED);
}

/* The record of a step that was left out: what was found, what is asked for, and that it is not so on request.  An
 * object that the mode before has changed still reads what that one gave it. */
static int record_left_out(const SwitchContext *context, const Step *step, const char *target,
        const char *why, const Step *record) {
        Step copy = {};
        int r = step_copy(record ?: step, &copy);

        if (r < 0)
                return r;
        copy.flags |= record && record->refused == 0 ? STEP_LEFT : 0;
        copy.refused = -ECANCELED;
        free(copy.wanted);
        free(TAKE_PTR(copy.within));
        free(copy.reason);
        copy.wanted = strdup(target);
        copy.reason = strdup(why);
        if (!copy.wanted || !copy.reason) {
                step_done(&copy);
                return -ENOMEM;
        }
        return steps_add(&context->sw->in_force, &copy);
}

/* target: what would have been written. */
static int switch_leave_out(const SwitchContext *context, const Step *step, const char *target) {
        const Step *record = steps_find(context->in_force, step->object);
        _cleanup_free_ char *why = NULL;
        Step copy = {};
        int r = util_asprintf(&why, "left out, because it disturbs %s (--no-disturb)", step->disturbs);

        if (r < 0)
                return r;
        if (record && context->flags & SWITCH_UNASKED)
                r = switch_add_record(context->sw, record);
        else
                r = record_left_out(context, step, target, why, record);
        r = r ?: step_copy(step, &copy);
        if (r < 0)
                return r;
        free(copy.reason);
        copy.reason = TAKE_PTR(why);
        return steps_add(&context->sw->left_out, &copy);
}

int plan_refuse_left_out(Plan *plan, const Switch *sw) {
        for (size_t i = 0; i < sw->left_out.n; i++) {
                const Step *step = &sw->left_out.items[i];
                int r;

                if (!(step->flags & STEP_REQUIRED))
                        continue;
                r = plan_refuse(plan,
                        "%s: the profile requires it, and --no-disturb cannot leave it out: it disturbs %s. "
                        "Go "
                        "without --no-disturb, or make it optional in the profile",
                        step->id, step->disturbs);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The way in: what the new mode asks for and does not hold yet. */
static int switch_in(const SwitchContext *context, const Step *step) {
        bool due = step_is_due(context, step);
        int r;

        if (due && is_left_out(context, step))
                return switch_leave_out(context, step, step->wanted);
        r = switch_add_record(context->sw, step);
        if (r < 0 || !due)
                return r;
        r = switch_add_op(context->sw, step, step->now, step->wanted, false);
        /* Written to the value itself: it may be within bounds already. */
        if (r >= 0 && step_is_ours_to_move(context, step))
                free(TAKE_PTR(context->sw->ops[context->sw->n_ops - 1].step.within));
        return r;
}

/* What an object gets that the new mode does not ask for, and that still has what the old mode gave it. */
static int record_target(const SwitchContext *context, const Step *record, const char *live, char **ret) {
        const Backend *backend = record->backend ? backend_find(record->backend) : NULL;
        bool left = record->flags & STEP_LEFT && live && record->before &&
                record->phase != PHASE_CGROUP; /* those give back whatever is there */
        char *target;

        if (backend && backend->revert && !left)
                return backend->revert(record, live, context->world, ret);
        if (!left && (!live || !record->before || !value_equal(record->kind, live, record->wanted))) {
                *ret = NULL;
                return 0;
        }
        target = strdup(record->before);
        if (!target)
                return -ENOMEM;
        *ret = target;
        return 0;
}

/* Not what the mode gave it.  The kernel may change a volatile value while cgroups are taken apart: what is there
 * now, somebody else's or what was found, is then put there again. */
static int switch_keep_live(const SwitchContext *context, const Step *record, const char *live) {
        int r;

        /* A queue that came with the channels goes with them, and has to be as it is where they have to stay. */
        if (!live || (!record->before && record->phase != PHASE_QUEUES))
                return 0;
        if (record->before && !value_equal(record->kind, live, record->before)) {
                r = switch_leave_alone(context->sw,
                        "%s reads %s, which is neither what was found (%s) nor what %s gave it (%s): "
                        "somebody else "
                        "changed it, and it is left so",
                        record->object, live, record->before, context->sw->from, record->wanted);
                if (r < 0)
                        return r;
        }
        return record->flags & STEP_VOLATILE ? switch_add_op(context->sw, record, live, live, true) : 0;
}

static int world_error(const World *world, const char *object) {
        const WorldValue *value = world_value(world, object);

        return value ? value->error : -ENOENT;
}

/* A slice that somebody works in stays for now.  Its record stays too, so that the next way back removes it. */
static int switch_keep_in_use(const SwitchContext *context, const Step *record, const char *target) {
        Step copy = {};
        int r;

        if (!(record->flags & STEP_RECREATE) || !record->before ||
                value_equal(record->kind, target, record->before))
                return 0;
        r = switch_leave_alone(context->sw,
                "%s is in use and stays until it is empty and green is asked for again", record->object);
        r = r ?: step_copy(record, &copy);
        if (r < 0)
                return r;
        free(copy.wanted);
        copy.wanted = strdup(target);
        if (!copy.wanted) {
                step_done(&copy);
                return -ENOMEM;
        }
        return steps_add(&context->sw->in_force, &copy);
}

/* The way back: a record whose object the new mode does not ask for. */
static int switch_back(const SwitchContext *context, const Step *record) {
        const char *live = world_live(context->world, record->object);
        _cleanup_free_ char *target = NULL;
        int r;

        if (record->mechanism != MECHANISM_RUNTIME || record->flags & STEP_ACTION)
                return 0;
        /* The clock of a CPU that is away cannot be read (EBUSY), and comes back with what the mode gave it. */
        if (!live && world_error(context->world, record->object) == -EBUSY)
                return switch_add_record(context->sw, record);
        r = record_target(context, record, live, &target);
        if (r < 0)
                return r;
        if (!target)
                return switch_keep_live(context, record, live);
        r = switch_keep_in_use(context, record, target);
        if (r < 0)
                return r;
        if (live && value_equal(record->kind, live, target) && !(record->flags & STEP_VOLATILE))
                return 0;
        if (is_left_out(context, record))
                return switch_leave_out(context, record, target);
        return switch_add_op(context->sw, record, live, target, true);
}

/* Default affinity of new interrupts first; then all ways back, in their order; then the ways in. */
static int op_stage(const Op *op) {
        if (op->step.phase == PHASE_IRQ_DEFAULT)
                return 0;
        return op->back ? 1 : 2;
}

static int compare_ops(const void *a, const void *b) {
        const Op *x = a, *y = b;
        int order = op_stage(x) - op_stage(y);

        if (order == 0)
                order = phase_rank(x->step.phase, x->back) - phase_rank(y->step.phase, y->back);
        if (order == 0)
                order = x->back ? y->step.order - x->step.order : x->step.order - y->step.order;
        return order ?: strverscmp(x->step.object, y->step.object);
}

static int switch_fill(const SwitchContext *context) {
        int r;

        for (size_t i = 0; i < context->plan->steps.n_sets; i++) {
                r = steps_add_set(&context->sw->in_force, &context->plan->steps.sets[i]);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < context->plan->steps.n; i++) {
                r = switch_in(context, &context->plan->steps.items[i]);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; context->in_force && i < context->in_force->n; i++) {
                const Step *record = &context->in_force->items[i];

                if (steps_find(&context->plan->steps, record->object))
                        continue;
                r = switch_back(context, record);
                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_switch(const Plan *plan, const char *from, const Steps *in_force, const World *world,
        unsigned flags, Switch **ret) {
        _cleanup_switch_ Switch *sw = calloc(1, sizeof(Switch));
        SwitchContext context = { plan, in_force, world, flags, sw };
        int r;

        if (!sw)
                return -ENOMEM;
        sw->from = strdup(from);
        sw->to = strdup(plan->mode);
        if (!sw->from || !sw->to)
                return -ENOMEM;
        r = switch_fill(&context);
        if (r < 0)
                return r;
        if (sw->n_ops > 0)
                qsort(sw->ops, sw->n_ops, sizeof(Op), compare_ops);
        *ret = TAKE_PTR(sw);
        return 0;
}
