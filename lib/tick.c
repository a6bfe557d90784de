/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tick.h"

#include "backend.h"
#include "cmdline.h"

#define SKEW_TICK "/sys/module/kernel/parameters/skew_tick"
#define NOHZ_FULL_FILE "/sys/devices/system/cpu/nohz_full"
#define CGROUP_FEATURES "/sys/kernel/cgroup/features"
/* One word for each file of the patch series, so that they can be told before there is a cgroup. */
#define NOHZ_FEATURE "cpuset_nohz"
#define PUSH_PULL_FEATURE "cpuset_rt_push_pull"
#define FIRST_STATE "/sys/devices/system/cpu/cpu0/cpuidle/state0/name"
#define PATCH "a kernel with the patches of kernel/README"

const char *tick_nohz_to_string(int nohz) {
        switch (nohz) {
        case NOHZ_OFF: return "off";
        case NOHZ_IDLE: return "idle";
        case NOHZ_FULL: return "full";
        default: return NULL;
        }
}

static bool booted_with_nohz_off(const World *world) {
        _cleanup_free_ char *value = NULL;

        return cmdline_get(world->cmdline, "nohz", &value) >= 0 &&
                (streq(value, "off") || streq(value, "0"));
}

const char *tick_as_booted(const World *world, const CpuList *cpus) {
        const char *text = world_live(world, NOHZ_FULL_FILE);
        _cleanup_cpulist_ CpuList full = {};

        if (booted_with_nohz_off(world))
                return "off";
        /* `(null)` where there are none. */
        if (!text || cpulist_parse(text, &full, NULL) < 0)
                return "idle";
        if (cpulist_is_subset(cpus, &full))
                return "full";
        return cpulist_intersects(cpus, &full) ? "mixed" : "idle";
}

/* One word a line. */
static bool has_word(const char *text, const char *word) {
        _cleanup_strv_ char **words = NULL;

        return text && util_strv_split(text, " \t\n", &words) >= 0 && util_strv_contains(words, word);
}

static int probe_skew(Kfs *kfs, Mechanisms *mechanisms) {
        if (kfs_exists(kfs, SKEW_TICK))
                return mechanisms_add_file(mechanisms, kfs, "skew_tick", SKEW_TICK, MECHANISM_BOOT, "");
        return mechanisms_add_boot(mechanisms, kfs, "skew_tick", (const char *const[]){ "skew_tick", NULL },
                NULL, SKEW_TICK, "skew_tick=1 on the kernel command line, or " PATCH);
}

static int tick_probe(Kfs *kfs, Mechanisms *mechanisms) {
        _cleanup_free_ char *features = NULL;
        int r;

        r = kfs_read(kfs, CGROUP_FEATURES, &features);
        if (r == -ENOMEM)
                return r;
        r = probe_skew(kfs, mechanisms);
        if (r < 0)
                return r;
        r = has_word(features, NOHZ_FEATURE)
                ? mechanisms_add(mechanisms, "nohz", MECHANISM_RUNTIME, "cpuset.cpus.nohz", "")
                : mechanisms_add_boot(mechanisms, kfs, "nohz",
                          (const char *const[]){ "nohz_full", "nohz", NULL }, NULL, "cpuset.cpus.nohz",
                          "nohz_full=CPULIST or nohz=off on the kernel command line, or " PATCH);
        if (r < 0)
                return r;
        return has_word(features, PUSH_PULL_FEATURE)
                ? mechanisms_add(
                          mechanisms, "rt_push_pull", MECHANISM_RUNTIME, "cpuset.cpus.rt_push_pull", "")
                : mechanisms_add(mechanisms, "rt_push_pull", MECHANISM_ABSENT, "cpuset.cpus.rt_push_pull",
                          "needs " PATCH);
}

static int set_object(const World *world, const char *set, const char *file, char **ret) {
        return util_asprintf(ret, "%s/rtisol.slice/rtisol-%s.slice/%s",
                world->cgroup_root ?: "/sys/fs/cgroup", set, file);
}

static int tick_audit(Kfs *kfs, const Profile *profile, World *world) {
        int r;

        r = world_read(world, SKEW_TICK);
        r = r ?: world_read(world, NOHZ_FULL_FILE);
        r = r ?: world_read(world, CGROUP_FEATURES);
        r = r ?: world_read(world, FIRST_STATE);
        for (size_t i = 0; r >= 0 && profile && i < profile->n_sets; i++) {
                for (const char *const *file = (const char *const[]){ "cpuset.cpus.nohz",
                             "cpuset.cpus.rt_push_pull", NULL };
                        *file && r >= 0; file++) {
                        _cleanup_free_ char *object = NULL;

                        r = set_object(world, profile->sets[i].name, *file, &object);
                        r = r ?: world_read(world, object);
                }
        }
        return r;
}

static int plan_skew(const PlanInput *input, Plan *plan) {
        const World *world = input->world;
        bool on = input->profile->skew_tick, booted;
        _cleanup_free_ char *value = NULL;
        StepText text = {
                .id = "tick/skew",
                .object = SKEW_TICK,
                .kind = VALUE_NUMBER,
                .wanted = on ? "1" : "0",
                .phase = PHASE_TICK,
                .flags = backend_required(input->profile, REQUIRE_SKEW_TICK),
        };
        int r;

        if (backend_present(world, SKEW_TICK) && world_value(world, SKEW_TICK)->writable)
                return backend_add(input, plan, &text);
        r = cmdline_get(world->cmdline, "skew_tick", &value);
        if (r == -ENOMEM)
                return r;
        booted = r >= 0 && !streq(value, "0");
        if (booted == on)
                return 0; /* as booted */
        text.mechanism = MECHANISM_BOOT;
        text.now = booted ? "1" : "0";
        text.reason = on ? "skew_tick=1 on the kernel command line, or " PATCH
                         : "take skew_tick=1 off the kernel command line, or run " PATCH;
        return backend_add_missing(input, plan, &text);
}

/* One of the patch's files in the set's cgroup: a new cpuset has `default`. */
static int add_set_file(
        const PlanInput *input, Plan *plan, const ProfileSet *set, const char *file, StepText *text) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        const WorldValue *value;
        int r;

        r = util_asprintf(&id, "cpuset/%s/%s", set->name, util_startswith(file, "cpuset.cpus."));
        r = r ?: set_object(input->world, set->name, file, &object);
        if (r < 0)
                return r;
        value = world_value(input->world, object);
        text->id = id;
        text->object = object;
        text->kind = VALUE_PARTITION;
        text->phase = PHASE_TICK;
        text->set = set->name;
        if (text->mechanism != MECHANISM_RUNTIME)
                return backend_add_missing(input, plan, text);
        text->before = value && value->found ? value->found : "default";
        text->now = value ? value->live : NULL;
        return backend_add(input, plan, text);
}

/* In a POLL state the kernel keeps the tick: without a patch that is the one way to a tick that always
 * runs. */
static bool polls(const World *world, const ProfileSet *set) {
        const char *state = world_live(world, FIRST_STATE);

        return set->max_cstate && streq(set->max_cstate, "POLL") && state && streq(state, "POLL");
}

static const char *nohz_reason(int wanted, const char *booted) {
        if (streq(booted, "off"))
                return "take nohz=off off the kernel command line: with it, no tick ever stops";
        if (wanted == NOHZ_FULL)
                return "nohz_full=CPULIST on the kernel command line prepares CPUs for it (rtisoctl "
                       "kernel-args)";
        if (wanted == NOHZ_IDLE)
                return "take these CPUs out of nohz_full= on the kernel command line, or run " PATCH;
        return "a tick that always runs needs nohz=off on the kernel command line (then on all CPUs), "
               "or " PATCH;
}

static int plan_nohz(const PlanInput *input, Plan *plan, size_t i) {
        const ProfileSet *set = &input->profile->sets[i];
        const char *booted = tick_as_booted(input->world, &input->sets[i].cpus);
        const char *wanted = tick_nohz_to_string(set->nohz);
        bool file = has_word(world_live(input->world, CGROUP_FEATURES), NOHZ_FEATURE) &&
                set->partition != PARTITION_NONE;
        StepText text = {
                .wanted = wanted,
                .flags = backend_required(input->profile, REQUIRE_NOHZ),
        };

        if (!wanted)
                return 0;
        /* The patch, too, stops the tick of running CPUs only where the kernel was prepared for it. */
        if (file &&
                (set->nohz == NOHZ_OFF || (!streq(booted, "off") && set->nohz == NOHZ_IDLE) ||
                        streq(booted, "full")))
                return add_set_file(input, plan, set, "cpuset.cpus.nohz", &text);
        if (streq(booted, wanted) ||
                (set->nohz == NOHZ_OFF && streq(booted, "idle") && polls(input->world, set)))
                return 0; /* as booted */
        text.mechanism = MECHANISM_BOOT;
        text.now = booted;
        text.reason = nohz_reason(set->nohz, booted);
        return add_set_file(input, plan, set, "cpuset.cpus.nohz", &text);
}

static int plan_push_pull(const PlanInput *input, Plan *plan, size_t i) {
        const ProfileSet *set = &input->profile->sets[i];
        StepText text = {
                .wanted = set->rt_push_pull ? "on" : "off",
                .flags = backend_required(input->profile, REQUIRE_RT_PUSH_PULL),
        };

        if (set->rt_push_pull == PROFILE_UNSET)
                return 0;
        if (set->partition != PARTITION_NONE &&
                has_word(world_live(input->world, CGROUP_FEATURES), PUSH_PULL_FEATURE))
                return add_set_file(input, plan, set, "cpuset.cpus.rt_push_pull", &text);
        if (set->rt_push_pull)
                return 0; /* so it is on every kernel that cannot change it */
        text.mechanism = MECHANISM_ABSENT;
        text.now = "on";
        text.reason = set->partition == PARTITION_NONE
                ? "it goes through the set's partition, and the set has none"
                : "needs " PATCH;
        return add_set_file(input, plan, set, "cpuset.cpus.rt_push_pull", &text);
}

static int tick_plan(const PlanInput *input, Plan *plan) {
        int r = input->profile->skew_tick == PROFILE_UNSET ? 0 : plan_skew(input, plan);

        for (size_t i = 0; r >= 0 && i < input->profile->n_sets; i++) {
                r = plan_nohz(input, plan, i);
                r = r ?: plan_push_pull(input, plan, i);
        }
        return r;
}

const Backend backend_tick = {
        .name = "tick",
        .probe = tick_probe,
        .audit = tick_audit,
        .plan = tick_plan,
};
