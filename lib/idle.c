/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* The deepest idle state of one CPU by the time it may take to leave it, in µs: `0` is no limit, and
 * `n/a` no delay at all, which only a polling state keeps. (Documentation/ABI/testing/sysfs-devices-
 * power, Documentation/admin-guide/pm/cpuidle.rst) */
#define CPU "/sys/devices/system/cpu/cpu%u/"
#define RESUME_LATENCY CPU "power/pm_qos_resume_latency_us"
#define MAX_STATES 16
#define NO_DRIVER "no cpuidle driver: how this CPU idles is the hypervisor's business or fixed (idle=poll)"

typedef struct IdleState {
        const char *name;
        uint64_t latency;
} IdleState;

static int idle_probe(Kfs *kfs, Mechanisms *mechanisms) {
        bool driver = kfs_exists(kfs, "/sys/devices/system/cpu/cpu0/cpuidle/state0/latency");

        return mechanisms_add_file(mechanisms, kfs, "idle",
                driver ? "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"
                       : "/sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
                MECHANISM_ABSENT, NO_DRIVER);
}

static bool asked(const Profile *profile) {
        for (size_t i = 0; i < profile->n_sets; i++)
                if (profile->sets[i].max_cstate)
                        return true;
        return false;
}

static int read_cpu(World *world, unsigned cpu) {
        int r = world_readf(world, RESUME_LATENCY, cpu);

        for (unsigned state = 0; r >= 0 && state < MAX_STATES; state++) {
                _cleanup_free_ char *object = NULL;

                r = util_asprintf(&object, CPU "cpuidle/state%u/name", cpu, state);
                r = r ?: world_read(world, object);
                if (r < 0 || !world_live(world, object))
                        break;
                r = world_readf(world, CPU "cpuidle/state%u/latency", cpu, state);
        }
        return r;
}

static int idle_audit(Kfs *kfs, const Profile *profile, World *world) {
        if (!profile || !asked(profile))
                return 0;
        for (size_t i = 0; i < world->topology->n_cpus; i++) {
                int r = read_cpu(world, world->topology->cpus[i].cpu);

                if (r < 0)
                        return r;
        }
        return 0;
}

static const char *state_file(const World *world, unsigned cpu, unsigned state, const char *file) {
        _cleanup_free_ char *object = NULL;

        if (util_asprintf(&object, CPU "cpuidle/state%u/%s", cpu, state, file) < 0)
                return NULL;
        return world_live(world, object);
}

static size_t read_states(const World *world, unsigned cpu, IdleState *states) {
        size_t n = 0;

        while (n < MAX_STATES) {
                const char *latency = state_file(world, cpu, (unsigned) n, "latency");

                states[n].name = state_file(world, cpu, (unsigned) n, "name");
                if (!states[n].name || !latency || util_parse_u64(latency, &states[n].latency) < 0)
                        break;
                n++;
        }
        return n;
}

/* `C1` is also what a driver calls C1_ACPI, or the shallowest state that is not a polling one, whatever
 * its name. */
static const IdleState *find_state(const IdleState *states, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++) {
                const char *rest = strncasecmp(states[i].name, name, strlen(name)) == 0
                        ? states[i].name + strlen(name)
                        : NULL;

                if (rest && (!*rest || strcasecmp(rest, "_ACPI") == 0))
                        return &states[i];
        }
        for (size_t i = 0; i < n && streq(name, "C1"); i++)
                if (!streq(states[i].name, "POLL"))
                        return &states[i];
        return NULL;
}

/* What to write for max_cstate; NULL where the CPU has no such state. */
static int make_latency(const IdleState *states, size_t n, const char *max_cstate, char **ret) {
        const IdleState *state = find_state(states, n, max_cstate);

        if (strcasecmp(max_cstate, "any") == 0)
                return util_asprintf(ret, "0");
        if (!state) {
                *ret = NULL;
                return 0;
        }
        if (streq(state->name, "POLL"))
                return util_asprintf(ret, "n/a");
        /* 0 would be no limit. */
        return util_asprintf(ret, "%lu", (unsigned long) (state->latency ?: 1));
}

static int states_reason(const IdleState *states, size_t n, const char *max_cstate, char **ret) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *joined = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = util_strv_push(&names, states[i].name);
        r = r ?: util_strv_join(names, " ", &joined);
        return r ?: util_asprintf(ret, "this CPU has no idle state %s, only: %s", max_cstate, joined);
}

static int plan_cpu(const PlanInput *input, Plan *plan, const ProfileSet *set, unsigned cpu) {
        _cleanup_free_ char *id = NULL, *object = NULL, *wanted = NULL, *reason = NULL;
        IdleState states[MAX_STATES];
        size_t n = read_states(input->world, cpu, states);
        StepText text = {
                .kind = VALUE_NUMBER,
                .phase = PHASE_POWER,
                .order = (int) cpu,
                .flags = backend_required(input->profile, REQUIRE_IDLE),
                .set = set->name,
        };
        int r;

        r = util_asprintf(&id, "cpu/%u/resume_latency", cpu);
        r = r ?: util_asprintf(&object, RESUME_LATENCY, cpu);
        r = r ?: make_latency(states, n, set->max_cstate, &wanted);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        text.wanted = wanted;
        if (wanted && n > 0 && backend_present(input->world, object))
                return backend_add(input, plan, &text);
        if (n > 0) {
                r = states_reason(states, n, set->max_cstate, &reason);
                if (r < 0)
                        return r;
        }
        text.wanted = wanted ?: set->max_cstate;
        text.mechanism = MECHANISM_ABSENT;
        text.reason = n == 0 ? NO_DRIVER
                : wanted     ? "this kernel has no limit for the idle states of one CPU"
                             : reason;
        return backend_add_missing(input, plan, &text);
}

static bool has_driver(const PlanInput *input) {
        CPULIST_FOREACH (cpu, &input->isolated)
                if (state_file(input->world, (unsigned) cpu, 0, "name"))
                        return true;
        return false;
}

/* Said once, not for every CPU. */
static int plan_no_driver(const PlanInput *input, Plan *plan, const ProfileSet *set) {
        const StepText text = {
                .id = "cpuidle/max_cstate",
                .object = "/sys/devices/system/cpu/cpuidle",
                .wanted = set->max_cstate,
                .phase = PHASE_POWER,
                .flags = backend_required(input->profile, REQUIRE_IDLE),
                .mechanism = MECHANISM_ABSENT,
                .reason = NO_DRIVER,
        };

        return steps_find(&plan->steps, text.object) ? 0 : backend_add_missing(input, plan, &text);
}

static int plan_set(const PlanInput *input, Plan *plan, size_t i) {
        const ProfileSet *set = &input->profile->sets[i];

        if (!has_driver(input))
                return plan_no_driver(input, plan, set);
        CPULIST_FOREACH (cpu, &input->sets[i].cpus) {
                int r = plan_cpu(input, plan, set, (unsigned) cpu);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int idle_plan(const PlanInput *input, Plan *plan) {
        for (size_t i = 0; i < input->profile->n_sets; i++) {
                int r = input->profile->sets[i].max_cstate ? plan_set(input, plan, i) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

const Backend backend_idle = {
        .name = "idle",
        .probe = idle_probe,
        .audit = idle_audit,
        .plan = idle_plan,
};
