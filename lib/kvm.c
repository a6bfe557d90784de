/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* Options of the kvm modules.  They belong to every guest of the host, and some protect it: they are looked at, and
 * what a guest with deadlines would want otherwise is told.  Nothing is written. */
#define HUGE_PAGES "/sys/module/kvm/parameters/nx_huge_pages"

typedef struct KvmOption {
        const char *module, *name, *wanted;
        const char *unless, *is; /* not told while that file reads so; NULL: always */
        const char *why;         /* what it does to a guest as it is */
} KvmOption;

/* (Documentation/admin-guide/kernel-parameters.txt, Documentation/virt/kvm/halt-polling.rst) */
static const KvmOption options[] = {
        { "kvm", "halt_poll_ns", "0", NULL, NULL,
                "a virtual CPU that halts goes on polling for so long, and threads of lower priority wait" },
        { "kvm", "kvmclock_periodic_sync", "N", NULL, NULL,
                "a worker has the virtual CPUs leave the guest every five minutes to set their clocks" },
        { "kvm", "nx_huge_pages_recovery_ratio", "0", HUGE_PAGES, "N",
                "a thread joins huge pages of guests again that were split, and they fault anew; with 0 "
                "they stay "
                "split, and guests are protected as before" },
        { "kvm_intel", "ple_gap", "0", NULL, NULL,
                "a virtual CPU that spins leaves the guest to give way, where nobody waits for its CPU" },
        { "kvm_intel", "preemption_timer", "Y", NULL, NULL,
                "the timers of a guest are timers of the host, with an interrupt of their own" },
        { "kvm_amd", "pause_filter_count", "0", NULL, NULL,
                "a virtual CPU that spins leaves the guest to give way, where nobody waits for its CPU" },
};

static int option_object(const KvmOption *option, char **ret) {
        return util_asprintf(ret, "/sys/module/%s/parameters/%s", option->module, option->name);
}

static int kvm_audit(Kfs *kfs, const Profile *profile, World *world) {
        int r = 0;

        if (!profile || !profile->check_kvm_options)
                return 0;
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *object = NULL;

                r = option_object(&options[i], &object);
                r = r ?: world_read(world, object);
        }
        return r ?: world_read(world, HUGE_PAGES);
}

static bool is_said(const World *world, const KvmOption *option, const char *live) {
        const char *other = option->unless ? world_live(world, option->unless) : NULL;

        return live && !streq(live, option->wanted) && !(other && streq(other, option->is));
}

static int plan_option(const PlanInput *input, Plan *plan, const KvmOption *option, const char *object) {
        _cleanup_free_ char *id = NULL, *reason = NULL;
        const char *live = world_live(input->world, object);
        StepText text = {
                .object = object,
                .kind = VALUE_TEXT,
                .wanted = option->wanted,
                .phase = PHASE_VALUES,
                .mechanism = MECHANISM_BOOT,
        };
        int r;

        if (!is_said(input->world, option, live))
                return 0;
        r = util_asprintf(&id, "kvm/%s", option->name);
        r = r
                ?: util_asprintf(&reason,
                           "it reads %s: %s.  %s.%s=%s on the kernel command line, or `options %s %s=%s` in "
                           "/etc/modprobe.d, changes it for all guests",
                           live, option->why, option->module, option->name, option->wanted, option->module,
                           option->name, option->wanted);
        if (r < 0)
                return r;
        text.id = id;
        text.reason = reason;
        return backend_add(input, plan, &text);
}

/* An option that is not there is that of another processor, or of a module that no guest needs. */
static int kvm_plan(const PlanInput *input, Plan *plan) {
        int r = 0;

        for (size_t i = 0; input->profile->check_kvm_options && r >= 0 && i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *object = NULL;

                r = option_object(&options[i], &object);
                r = r ?: plan_option(input, plan, &options[i], object);
        }
        return r;
}

const Backend backend_kvm = {
        .name = "kvm",
        .audit = kvm_audit,
        .plan = kvm_plan,
};
