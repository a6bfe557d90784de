/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* The CPUs that the lockup detectors watch, a cpulist.  (Documentation/admin-guide/lockup-watchdogs.rst) */
#define CPUMASK "/proc/sys/kernel/watchdog_cpumask"

static int watchdog_probe(Kfs *kfs, Mechanisms *mechanisms) {
        return mechanisms_add_file(mechanisms, kfs, "watchdog", CPUMASK, MECHANISM_ABSENT,
                "this kernel has no lockup detectors, so they disturb nobody");
}

static int watchdog_audit(Kfs *kfs, const Profile *profile, World *world) {
        return world_read(world, CPUMASK);
}

static int watchdog_plan(const PlanInput *input, Plan *plan) {
        const WorldValue *value = world_value(input->world, CPUMASK);
        _cleanup_free_ char *wanted = NULL, *within = NULL;
        _cleanup_cpulist_ CpuList found = {}, list = {};
        StepText text = {
                .id = "watchdog/cpumask",
                .object = CPUMASK,
                .kind = VALUE_WITHIN,
                .phase = PHASE_WATCHDOG,
        };
        int r;

        if (!input->profile->keep_watchdog || cpulist_is_empty(&input->isolated) || !value || !value->live)
                return 0;
        r = cpulist_parse(value->found, &found, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (cpulist_is_empty(&found))
                return 0; /* nobody is watched: that stays so */
        r = backend_keep_off(&found, &input->housekeeping, &list);
        r = r ?: cpulist_format(&list, &wanted);
        r = r ?: cpulist_format(&input->housekeeping, &within);
        if (r < 0)
                return r;
        text.wanted = wanted;
        text.within = within;
        return backend_add(input, plan, &text);
}

const Backend backend_watchdog = {
        .name = "watchdog",
        .probe = watchdog_probe,
        .audit = watchdog_audit,
        .plan = watchdog_plan,
};
