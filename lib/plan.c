/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan.h"

#include <stdarg.h>

#include "plan-sets.h"

void plan_free(Plan *plan) {
        if (!plan)
                return;
        free(plan->mode);
        steps_done(&plan->steps);
        for (size_t i = 0; i < plan->n_refusals; i++)
                free(plan->refusals[i].what);
        free(plan->refusals);
        util_strv_free(plan->warnings);
        for (size_t i = 0; i < plan->n_sets; i++) {
                cpulist_done(&plan->sets[i].cpus);
                cpulist_done(&plan->sets[i].configured);
                cpulist_done(&plan->sets[i].control_cpus);
        }
        free(plan->sets);
        cpulist_done(&plan->isolated);
        cpulist_done(&plan->housekeeping);
        free(plan);
}

int plan_refuse(Plan *plan, const char *format, ...) {
        _cleanup_free_ char *what = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&what, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        r = GROW(plan->refusals, plan->n_refusals);
        if (r < 0)
                return r;
        plan->refusals[plan->n_refusals++].what = TAKE_PTR(what);
        return 0;
}

int plan_warn(Plan *plan, const char *format, ...) {
        _cleanup_free_ char *what = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&what, format, ap);
        va_end(ap);
        return r < 0 ? r : util_strv_push(&plan->warnings, what);
}

int plan_audit(Kfs *kfs, const Profile *profile, const Steps *in_force, World **ret) {
        _cleanup_world_ World *world = NULL;
        int r = world_new(kfs, &world);

        if (r < 0)
                return r;
        for (const Backend *const *backend = backends; *backend; backend++) {
                r = (*backend)->audit ? (*backend)->audit(kfs, profile, world) : 0;
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; in_force && i < in_force->n; i++) {
                if (in_force->items[i].mechanism != MECHANISM_RUNTIME)
                        continue;
                r = world_read(world, in_force->items[i].object);
                if (r < 0)
                        return r;
        }
        r = world_overlay(world, in_force);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(world);
        return 0;
}

/* The value before is the first one seen since green: mending and switching never replace it. */
static int step_keep_before(Step *step, const Steps *in_force) {
        const Step *record = steps_find(in_force, step->object);
        char *before = NULL;
        int r;

        if (!record || record->mechanism != MECHANISM_RUNTIME)
                return 0;
        /* A slice that was there before, and that somebody has stopped since, is not made again for him. */
        if (record->flags & STEP_RECREATE && step->now && streq(step->now, "absent"))
                r = util_copy("absent", &before);
        else
                r = util_copy(record->before, &before);
        if (r < 0)
                return r;
        free(step->before);
        step->before = before;
        return 0;
}

static int plan_finish_step(Plan *plan, Step *step, const char *backend, const Steps *in_force) {
        int r;

        free(step->backend);
        step->backend = strdup(backend);
        if (!step->backend)
                return -ENOMEM;
        if (step->mechanism != MECHANISM_RUNTIME && step->flags & STEP_REQUIRED) {
                r = plan_refuse(plan, "%s: the profile requires it and this kernel cannot do it now: %s",
                        step->id, step->reason ?: "no such mechanism");
                if (r < 0)
                        return r;
        }
        return step_keep_before(step, in_force);
}

static int plan_backend(const Backend *backend, const PlanInput *input, Plan *plan) {
        size_t before = plan->steps.n;
        int r;

        if (!backend->plan)
                return 0;
        r = backend->plan(input, plan);
        if (r < 0)
                return r;
        for (size_t i = before; i < plan->steps.n; i++) {
                r = plan_finish_step(plan, &plan->steps.items[i], backend->name, input->in_force);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compare_way_in(const void *a, const void *b) {
        const Step *x = a, *y = b;
        int order = phase_rank(x->phase, false) - phase_rank(y->phase, false);

        if (order == 0)
                order = x->order - y->order;
        return order ?: strverscmp(x->object, y->object);
}

int plan_make(
        const Profile *profile, const World *world, const Steps *in_force, unsigned flags, Plan **ret) {
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
        PlanInput input = { .profile = profile, .world = world, .in_force = in_force, .flags = flags };
        int r;

        if (!plan)
                return -ENOMEM;
        plan->mode = strdup(profile->name);
        if (!plan->mode)
                return -ENOMEM;
        r = plan_sets(profile, world, in_force, flags, plan);
        if (r < 0)
                return r;
        if (plan->n_refusals > 0) {
                *ret = TAKE_PTR(plan);
                return 0;
        }
        input.sets = plan->sets;
        input.isolated = plan->isolated;
        input.housekeeping = plan->housekeeping;
        for (const Backend *const *backend = backends; *backend; backend++) {
                r = plan_backend(*backend, &input, plan);
                if (r < 0)
                        return r;
        }
        if (plan->steps.n > 0)
                qsort(plan->steps.items, plan->steps.n, sizeof(Step), compare_way_in);
        *ret = TAKE_PTR(plan);
        return 0;
}
