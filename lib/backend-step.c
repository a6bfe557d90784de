/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"
#include "cpuexpr.h"

unsigned backend_required(const Profile *profile, ProfileRequire bit) {
        return profile->require & bit ? STEP_REQUIRED : 0;
}

int backend_keep_off(const CpuList *found, const CpuList *housekeeping, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = {};
        int r = cpulist_copy(found, &list);

        if (r < 0)
                return r;
        cpulist_intersect(&list, housekeeping);
        if (cpulist_is_empty(&list)) {
                r = cpulist_union(&list, housekeeping);
                if (r < 0)
                        return r;
        }
        *ret = cpulist_take(&list);
        return 0;
}

bool backend_present(const World *world, const char *object) {
        const WorldValue *value = world_value(world, object);

        return value && (value->live || value->error == -EACCES || value->error == -EPERM);
}

int backend_add(const PlanInput *input, Plan *plan, const StepText *text) {
        const WorldValue *value = world_value(input->world, text->object);
        bool given = text->before || text->now;
        Step step = {
                .kind = text->kind,
                .phase = text->phase,
                .order = text->order,
                .flags = text->flags,
                .mechanism = text->mechanism,
        };
        int r = 0;

        r = r ?: util_copy(text->id, &step.id);
        r = r ?: util_copy(text->object, &step.object);
        r = r ?: util_copy(given || !value ? text->before : value->found, &step.before);
        r = r ?: util_copy(given || !value ? text->now : value->live, &step.now);
        r = r ?: util_copy(text->wanted, &step.wanted);
        r = r ?: util_copy(text->within, &step.within);
        r = r ?: util_copy(text->reason, &step.reason);
        r = r ?: util_copy(text->disturbs, &step.disturbs);
        r = r ?: util_copy(text->set, &step.set);
        if (r < 0) {
                step_done(&step);
                return r;
        }
        return steps_add(&plan->steps, &step);
}

int backend_add_missing(const PlanInput *input, Plan *plan, const StepText *text) {
        _cleanup_free_ char *reason = NULL;
        StepText copy = *text;
        int r;

        if (!input->world->kernel) {
                r = util_asprintf(&reason, "not known of this captured machine; where it is missing: %s",
                        text->reason);
                if (r < 0)
                        return r;
                copy.reason = reason;
                copy.flags &= ~(unsigned) STEP_REQUIRED;
        }
        return backend_add(input, plan, &copy);
}

static int set_resolve(void *userdata, const char *name, CpuList *ret) {
        const PlanInput *input = userdata;

        for (size_t i = 0; i < input->profile->n_sets; i++)
                if (streq(input->profile->sets[i].name, name))
                        return cpulist_copy(&input->sets[i].cpus, ret);
        return -ENOENT;
}

int backend_cpus(
        const PlanInput *input, Plan *plan, const char *where, const char *expression, CpuList *ret) {
        CpuExprError error = {};
        int r, refused;

        r = cpuexpr_evaluate(expression, input->world->topology, set_resolve, (void *) input, ret, &error);
        if (r != -EINVAL)
                return r;
        refused = plan_refuse(plan, "%s = %s, column %zu: %s", where, expression, error.column,
                error.message ?: "not a CPU expression");
        cpuexpr_error_done(&error);
        return refused < 0 ? refused : r;
}

const ProfileSet *backend_set_of(const PlanInput *input, unsigned cpu) {
        for (size_t i = 0; i < input->profile->n_sets; i++)
                if (cpulist_has(&input->sets[i].cpus, cpu))
                        return &input->profile->sets[i];
        return NULL;
}
