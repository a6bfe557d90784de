/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* One folder for each group of CPUs that share a clock. (Documentation/admin-guide/pm/cpufreq.rst; the
 * energy preference: intel_pstate.rst, amd-pstate.rst there) */
#define POLICIES "/sys/devices/system/cpu/cpufreq"
#define ABSENT "no cpufreq driver: the clock is the firmware's or the hypervisor's business"

static const char *const files[] = {
        "affected_cpus",
        "energy_performance_available_preferences",
        "energy_performance_preference",
        "scaling_available_governors",
        "scaling_governor",
};

static int cpufreq_probe(Kfs *kfs, Mechanisms *mechanisms) {
        return mechanisms_add_file(
                mechanisms, kfs, "cpufreq", POLICIES "/policy0/scaling_governor", MECHANISM_ABSENT, ABSENT);
}

static bool asked(const Profile *profile) {
        for (size_t i = 0; i < profile->n_sets; i++)
                if (profile->sets[i].governor)
                        return true;
        return false;
}

static int cpufreq_audit(Kfs *kfs, const Profile *profile, World *world) {
        _cleanup_strv_ char **names = NULL;
        int r;

        if (!profile || !asked(profile))
                return 0;
        r = kfs_list(kfs, POLICIES, &names);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        STRV_FOREACH (name, names)
                for (size_t i = 0; i < ARRAY_SIZE(files) && util_startswith(*name, "policy"); i++) {
                        r = world_readf(world, POLICIES "/%s/%s", *name, files[i]);
                        if (r < 0)
                                return r;
                }
        return 0;
}

typedef struct CpufreqPolicy {
        const PlanInput *input;
        Plan *plan;
        const char *name; /* `policy0` */
        CpuList cpus;
        const ProfileSet *set; /* whose CPUs it has, or NULL */
        char *disturbs;
} CpufreqPolicy;

static const char *policy_live(const CpufreqPolicy *policy, const char *file) {
        _cleanup_free_ char *object = NULL;

        if (util_asprintf(&object, POLICIES "/%s/%s", policy->name, file) < 0)
                return NULL;
        return world_live(policy->input->world, object);
}

/* `0 1 2`, or a cpulist: whatever the kernel prints. */
static int parse_cpus(const char *text, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = {};
        _cleanup_strv_ char **words = NULL;
        int r = util_strv_split(text, " ,", &words);

        STRV_FOREACH (word, words) {
                _cleanup_cpulist_ CpuList part = {};

                if (r >= 0)
                        r = cpulist_parse(*word, &part, NULL);
                if (r >= 0)
                        r = cpulist_union(&list, &part);
        }
        if (r < 0)
                return r;
        *ret = cpulist_take(&list);
        return 0;
}

static bool offers(const char *words, const char *word) {
        _cleanup_strv_ char **split = NULL;

        /* A driver that does not tell what it offers is asked by writing. */
        return !words || (util_strv_split(words, " \n", &split) >= 0 && util_strv_contains(split, word));
}

static int add_value(CpufreqPolicy *policy, const char *what, const char *file, StepText *text) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        int r;

        r = util_asprintf(&id, "cpufreq/%s/%s", policy->name, what);
        r = r ?: util_asprintf(&object, POLICIES "/%s/%s", policy->name, file);
        if (r < 0)
                return r;
        text->id = id;
        text->object = object;
        text->kind = VALUE_TEXT;
        text->phase = PHASE_POWER;
        text->disturbs = policy->disturbs;
        text->set = policy->set->name;
        return text->mechanism == MECHANISM_RUNTIME ? backend_add(policy->input, policy->plan, text)
                                                    : backend_add_missing(policy->input, policy->plan, text);
}

static int plan_governor(CpufreqPolicy *policy) {
        const char *available = policy_live(policy, "scaling_available_governors");
        _cleanup_free_ char *reason = NULL;
        StepText text = {
                .wanted = policy->set->governor,
                .order = 1,
                .flags = backend_required(policy->input->profile, REQUIRE_CPUFREQ),
        };
        int r;

        if (!offers(available, policy->set->governor)) {
                r = util_asprintf(&reason, "the cpufreq driver offers no governor %s, only: %s",
                        policy->set->governor, available);
                if (r < 0)
                        return r;
                text.reason = reason;
                text.mechanism = MECHANISM_ABSENT;
        }
        return add_value(policy, "governor", "scaling_governor", &text);
}

/* Written before the governor and given back after it: under the governor `performance` some drivers take
 * no other preference, and set this one by themselves. */
static int plan_preference(CpufreqPolicy *policy) {
        StepText text = { .wanted = "performance", .flags = STEP_VOLATILE };

        if (!streq(policy->set->governor, "performance") ||
                !policy_live(policy, "energy_performance_preference") ||
                !offers(policy_live(policy, "energy_performance_available_preferences"), "performance"))
                return 0;
        return add_value(policy, "epp", "energy_performance_preference", &text);
}

/* Which set the policy's CPUs are in, and which others feel the change. */
static int policy_look(CpufreqPolicy *policy) {
        const char *cpus = policy_live(policy, "affected_cpus");
        _cleanup_cpulist_ CpuList others = {};
        _cleanup_free_ char *text = NULL;
        int r = cpus ? parse_cpus(cpus, &policy->cpus) : -EINVAL;

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        CPULIST_FOREACH (cpu, &policy->cpus) {
                const ProfileSet *set = backend_set_of(policy->input, (unsigned) cpu);

                if (!policy->set && set && set->governor)
                        policy->set = set;
        }
        r = cpulist_copy(&policy->cpus, &others);
        if (r < 0)
                return r;
        cpulist_subtract(&others, &policy->input->isolated);
        if (cpulist_is_empty(&others))
                return 0;
        r = cpulist_format(&others, &text);
        return r ?: util_asprintf(&policy->disturbs, "CPUs %s, which share the clock", text);
}

static void policy_done(CpufreqPolicy *policy) {
        cpulist_done(&policy->cpus);
        free(policy->disturbs);
}

static int plan_policy(const PlanInput *input, Plan *plan, const char *name) {
        _cleanup_(policy_done) CpufreqPolicy policy = { .input = input, .plan = plan, .name = name };
        int r = policy_look(&policy);

        if (r < 0 || !policy.set)
                return r;
        r = plan_governor(&policy);
        return r ?: plan_preference(&policy);
}

static int plan_absent(const PlanInput *input, Plan *plan) {
        for (size_t i = 0; i < input->profile->n_sets; i++) {
                StepText text = {
                        .id = "cpufreq/governor",
                        .object = POLICIES,
                        .wanted = input->profile->sets[i].governor,
                        .phase = PHASE_POWER,
                        .flags = backend_required(input->profile, REQUIRE_CPUFREQ),
                        .mechanism = MECHANISM_ABSENT,
                        .reason = ABSENT,
                };

                if (text.wanted)
                        return backend_add_missing(input, plan, &text);
        }
        return 0;
}

static int cpufreq_plan(const PlanInput *input, Plan *plan) {
        bool any = false;

        if (!asked(input->profile))
                return 0;
        for (size_t i = 0; i < input->world->n_values; i++) {
                const char *rest = util_startswith(input->world->values[i].object, POLICIES "/");
                size_t n = rest ? strcspn(rest, "/") : 0;
                _cleanup_free_ char *name = NULL;
                int r;

                if (!rest || !streq(rest + n, "/scaling_governor"))
                        continue;
                any = true;
                name = strndup(rest, n);
                r = name ? plan_policy(input, plan, name) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return any ? 0 : plan_absent(input, plan);
}

const Backend backend_cpufreq = {
        .name = "cpufreq",
        .probe = cpufreq_probe,
        .audit = cpufreq_audit,
        .plan = cpufreq_plan,
};
