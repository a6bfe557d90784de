/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

static int timers_probe(Kfs *kfs, Mechanisms *mechanisms) {
        bool can = kfs_is_writable(kfs, "/sys/devices/system/cpu/cpu1/online");

        return mechanisms_add(mechanisms, "timers", can ? MECHANISM_RUNTIME : MECHANISM_ABSENT,
                "/sys/devices/system/cpu/cpuN/online",
                can ? "" : "no CPU of this machine can be taken away (or not by this user)");
}

static int timers_audit(Kfs *kfs, const Profile *profile, World *world) {
        for (size_t i = 0; profile && profile->keep_timers && i < world->topology->n_cpus; i++) {
                int r = world_readf(
                        world, "/sys/devices/system/cpu/cpu%u/online", world->topology->cpus[i].cpu);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int plan_cycle(const PlanInput *input, Plan *plan, unsigned cpu) {
        _cleanup_free_ char *id = NULL, *object = NULL, *file = NULL;
        StepText text = {
                .kind = VALUE_NUMBER,
                .wanted = "1",
                .phase = PHASE_TIMERS,
                .order = (int) cpu,
                .flags = STEP_ACTION,
        };
        int r;

        r = util_asprintf(&id, "timers/%u", cpu);
        r = r ?: util_asprintf(&object, "cycle/%u", cpu);
        r = r ?: util_asprintf(&file, "/sys/devices/system/cpu/cpu%u/online", cpu);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        if (!backend_present(input->world, file)) {
                text.mechanism = MECHANISM_ABSENT;
                text.reason =
                        "this CPU cannot be taken away, so timers that are queued on it stay until they "
                        "have expired";
                return backend_add_missing(input, plan, &text);
        }
        text.before = text.now = "1";
        text.disturbs = "every CPU for a moment: taking a CPU away stops the machine";
        return backend_add(input, plan, &text);
}

static int timers_plan(const PlanInput *input, Plan *plan) {
        if (!input->profile->keep_timers)
                return 0;
        CPULIST_FOREACH (cpu, &input->isolated) {
                int r = plan_cycle(input, plan, (unsigned) cpu);

                if (r < 0)
                        return r;
        }
        return 0;
}

const Backend backend_timers = {
        .name = "timers",
        .probe = timers_probe,
        .audit = timers_audit,
        .plan = timers_plan,
};
