/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "backend.h"

/* Kernels with deadline servers: a server for each CPU gives other tasks their share; 0 ns turns it off.
 * (Documentation/scheduler/sched-deadline.rst and its debugfs files) Others throttle real-time tasks on
 * all CPUs at once. (Documentation/scheduler/sched-rt-group.rst) */
#define SERVERS "/sys/kernel/debug/sched/"
#define RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"
#define PERIOD "/proc/sys/kernel/sched_rt_period_us"

static const char *const servers[] = { "fair_server", "ext_server" };

static int throttling_probe(Kfs *kfs, Mechanisms *mechanisms) {
        int r;

        r = mechanisms_add_file(mechanisms, kfs, "rt_throttling of one set",
                SERVERS "fair_server/cpu0/runtime", MECHANISM_ABSENT,
                "this kernel has no fair servers (or debugfs is not mounted): throttling goes off for all "
                "CPUs at "
                "once, with accept_starvation = yes");
        return r
                ?: mechanisms_add_file(mechanisms, kfs, "rt_throttling", RUNTIME, MECHANISM_ABSENT,
                           "this kernel does not throttle real-time tasks");
}

static int throttling_audit(Kfs *kfs, const Profile *profile, World *world) {
        bool asked = false;
        int r;

        r = world_read(world, RUNTIME);
        r = r ?: world_read(world, PERIOD);
        for (size_t i = 0; profile && i < profile->n_sets; i++)
                asked = asked || profile->sets[i].rt_throttling == 0;
        for (size_t i = 0; r >= 0 && asked && i < world->topology->n_cpus; i++)
                for (size_t j = 0; r >= 0 && j < ARRAY_SIZE(servers); j++)
                        r = world_readf(
                                world, SERVERS "%s/cpu%u/runtime", servers[j], world->topology->cpus[i].cpu);
        return r;
}

/* Adds the step of one server of one CPU: 1, or 0 where there is no such server. */
static int plan_server(
        const PlanInput *input, Plan *plan, const char *set, const char *server, unsigned cpu) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        StepText text = {
                .kind = VALUE_NUMBER,
                .wanted = "0",
                .phase = PHASE_SERVER,
                .order = 1,
                .set = set,
                .flags = backend_required(input->profile, REQUIRE_RT_THROTTLING),
        };
        int r;

        r = util_asprintf(&id, "cpu/%u/%s", cpu, server);
        r = r ?: util_asprintf(&object, SERVERS "%s/cpu%u/runtime", server, cpu);
        if (r < 0)
                return r;
        if (!backend_present(input->world, object))
                return 0;
        text.id = id;
        text.object = object;
        r = backend_add(input, plan, &text);
        return r < 0 ? r : 1;
}

/* 1 where every CPU of the set has its server. */
static int plan_servers(const PlanInput *input, Plan *plan, size_t i) {
        const ProfileSet *set = &input->profile->sets[i];
        bool all = true;

        CPULIST_FOREACH (cpu, &input->sets[i].cpus) {
                for (size_t j = 0; j < ARRAY_SIZE(servers); j++) {
                        int r = plan_server(input, plan, set->name, servers[j], (unsigned) cpu);

                        if (r < 0)
                                return r;
                        all = all && (r > 0 || j > 0);
                }
        }
        return all;
}

/* Does the plan turn a server off; one that is not off yet? */
static bool has_server(const Plan *plan, bool due) {
        for (size_t i = 0; i < plan->steps.n; i++) {
                const Step *step = &plan->steps.items[i];

                if (util_startswith(step->object, SERVERS) && step->phase == PHASE_SERVER &&
                        !(due && step_holds(step, step->now)))
                        return true;
        }
        return false;
}

/* A server's new value is weighed against what deadline tasks of its root domain may have. Kernels forget
 * the servers in that sum whenever partitions change, and then refuse every change of one (EBUSY), on
 * isolated CPUs and others, unless the sum is not kept: -1. It cannot be kept again before the servers
 * are back, so that is first on the way in and last on the way back. With servers this file throttles
 * nobody. */
static int plan_door(const PlanInput *input, Plan *plan) {
        const Step *record = steps_find(input->in_force, RUNTIME);
        StepText text = {
                .id = "rt_throttling",
                .object = RUNTIME,
                .kind = VALUE_NUMBER,
                .wanted = "-1",
                .phase = PHASE_SERVER,
                .flags = backend_required(input->profile, REQUIRE_RT_THROTTLING),
        };
        bool open = record && streq(record->wanted, "-1");

        if (steps_find(&plan->steps, RUNTIME) || !backend_present(input->world, RUNTIME) ||
                !has_server(plan, !open))
                return 0;
        return backend_add(input, plan, &text);
}

static int plan_global(const PlanInput *input, Plan *plan, const char *set) {
        StepText text = {
                .id = "rt_throttling",
                .object = RUNTIME,
                .kind = VALUE_NUMBER,
                .wanted = "-1",
                .phase = PHASE_SERVER,
                .set = set,
                .flags = backend_required(input->profile, REQUIRE_RT_THROTTLING),
        };

        if (steps_find(&plan->steps, RUNTIME) || !backend_present(input->world, RUNTIME))
                return 0;
        if (input->profile->accept_starvation)
                return backend_add(input, plan, &text);
        text.mechanism = MECHANISM_ABSENT;
        text.reason = "this kernel throttles on all CPUs or on none: with accept_starvation = yes in "
                      "[profile] it goes "
                      "off everywhere, and a real-time task that never sleeps may then starve everything "
                      "else on its "
                      "CPU";
        return backend_add_missing(input, plan, &text);
}

/* Off is what somebody made it: a profile that asks for throttling gets the kernel's own share back. */
static int plan_on(const PlanInput *input, Plan *plan) {
        const WorldValue *runtime = world_value(input->world, RUNTIME);
        const char *period = world_live(input->world, PERIOD);
        _cleanup_free_ char *wanted = NULL;
        StepText text = {
                .id = "rt_throttling",
                .object = RUNTIME,
                .kind = VALUE_NUMBER,
                .phase = PHASE_SERVER,
                .flags = backend_required(input->profile, REQUIRE_RT_THROTTLING),
        };
        uint64_t us;
        int r;

        if (!runtime || !runtime->found || !streq(runtime->found, "-1") || !period ||
                util_parse_u64(period, &us) < 0 || steps_find(&plan->steps, RUNTIME))
                return 0;
        r = util_asprintf(&wanted, "%" PRIu64, us / 100 * 95);
        if (r < 0)
                return r;
        text.wanted = wanted;
        return backend_add(input, plan, &text);
}

static int throttling_plan(const PlanInput *input, Plan *plan) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < input->profile->n_sets; i++) {
                if (input->profile->sets[i].rt_throttling != 0)
                        continue;
                r = plan_servers(input, plan, i);
                if (r == 0)
                        r = plan_global(input, plan, input->profile->sets[i].name);
        }
        if (r >= 0)
                r = plan_door(input, plan);
        for (size_t i = 0; r >= 0 && i < input->profile->n_sets; i++)
                if (input->profile->sets[i].rt_throttling == 1)
                        r = plan_on(input, plan);
        return r < 0 ? r : 0;
}

const Backend backend_throttling = {
        .name = "throttling",
        .probe = throttling_probe,
        .audit = throttling_audit,
        .plan = throttling_plan,
};
