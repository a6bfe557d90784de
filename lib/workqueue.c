/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* The mask of all unbound workqueues. Each that has a mask of its own (WQ_SYSFS) works on that one ∩ this
 * one, or on this one where they have no CPU in common: so theirs need no change, and get none.
 * (Documentation/core-api/workqueue.rst) */
#define CPUMASK "/sys/devices/virtual/workqueue/cpumask"
#define MISSING "this kernel does not let the CPUs of unbound workqueues be chosen"

static int workqueue_probe(Kfs *kfs, Mechanisms *mechanisms) {
        return mechanisms_add_file(mechanisms, kfs, "workqueues", CPUMASK, MECHANISM_ABSENT, MISSING);
}

static int workqueue_audit(Kfs *kfs, const Profile *profile, World *world) {
        return world_read(world, CPUMASK);
}

static int plan_mask(const PlanInput *input, Plan *plan, StepText *text) {
        const WorldValue *value = world_value(input->world, CPUMASK);
        _cleanup_cpulist_ CpuList found = {}, list = {};
        _cleanup_free_ char *wanted = NULL;
        int r = cpulist_parse_mask(value->found ?: "", &found);

        if (r == -ENOMEM)
                return r;
        r = backend_keep_off(&found, &input->housekeeping, &list);
        r = r
                ?: cpulist_format_mask(
                           &list, (unsigned) cpulist_last(&input->world->topology->possible) + 1, &wanted);
        if (r < 0)
                return r;
        text->wanted = wanted;
        return backend_add(input, plan, text);
}

static int workqueue_plan(const PlanInput *input, Plan *plan) {
        StepText text = {
                .id = "workqueue/unbound",
                .object = CPUMASK,
                .kind = VALUE_CPUMASK,
                .phase = PHASE_WORKQUEUE,
                /* Kernels on which it follows partitions change it by themselves. */
                .flags = STEP_VOLATILE | backend_required(input->profile, REQUIRE_WORKQUEUES),
        };

        if (!input->profile->keep_workqueues || cpulist_is_empty(&input->isolated))
                return 0;
        if (backend_present(input->world, CPUMASK))
                return plan_mask(input, plan, &text);
        text.wanted = "";
        text.mechanism = MECHANISM_ABSENT;
        text.reason = MISSING;
        return backend_add_missing(input, plan, &text);
}

const Backend backend_workqueue = {
        .name = "workqueue",
        .probe = workqueue_probe,
        .audit = workqueue_audit,
        .plan = workqueue_plan,
};
