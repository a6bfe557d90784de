/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* One word for each feature: `NAME`, or `NO_NAME` where it is off. */
#define FEATURES "/sys/kernel/debug/sched/features"

static int features_probe(Kfs *kfs, Mechanisms *mechanisms) {
        int r = mechanisms_add_file(mechanisms, kfs, "sched_features", FEATURES, MECHANISM_ABSENT,
                "mount debugfs on /sys/kernel/debug; a kernel without CONFIG_SCHED_DEBUG, or one that is "
                "locked "
                "down, has no such file");

        return r
                ?: mechanisms_add_file(mechanisms, kfs, "RT_ISOLATE", FEATURES "#RT_ISOLATE",
                           MECHANISM_ABSENT, "needs a kernel with the RT_ISOLATE patch (see kernel/README)");
}

static int features_audit(Kfs *kfs, const Profile *profile, World *world) {
        for (size_t i = 0; profile && i < profile->n_features; i++) {
                int r = world_readf(world, FEATURES "#%s", profile->features[i].key);

                r = r ?: world_read(world, FEATURES);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const char *missing_reason(const World *world) {
        if (world->lockdown)
                return "the kernel is locked down, which closes debugfs (see kernel_lockdown(7))";
        if (!world_live(world, FEATURES))
                return FEATURES " is not there: mount debugfs, or take a kernel with CONFIG_SCHED_DEBUG";
        return "this kernel has no such scheduler feature (" FEATURES " names those it has)";
}

static int plan_feature(const PlanInput *input, Plan *plan, const ProfileSetting *setting) {
        _cleanup_free_ char *id = NULL, *object = NULL, *wanted = NULL;
        StepText text = {
                .kind = VALUE_TEXT,
                .phase = PHASE_TICK,
                .flags = setting->optional ? 0 : STEP_REQUIRED,
        };
        int r;

        r = util_asprintf(&id, "sched_feature/%s", setting->key);
        r = r ?: util_asprintf(&object, FEATURES "#%s", setting->key);
        r = r ?: util_asprintf(&wanted, "%s%s", streq(setting->value, "on") ? "" : "NO_", setting->key);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        text.wanted = wanted;
        if (!backend_present(input->world, object)) {
                text.mechanism = MECHANISM_ABSENT;
                text.reason = missing_reason(input->world);
                return backend_add_missing(input, plan, &text);
        }
        text.disturbs = "every CPU for some microseconds: the kernel changes its own code";
        return backend_add(input, plan, &text);
}

static int features_plan(const PlanInput *input, Plan *plan) {
        for (size_t i = 0; i < input->profile->n_features; i++) {
                int r = plan_feature(input, plan, &input->profile->features[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

const Backend backend_sched_features = {
        .name = "sched_features",
        .probe = features_probe,
        .audit = features_audit,
        .plan = features_plan,
};
