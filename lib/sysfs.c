/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* What no profile may write: it would take away CPUs, memory, devices or the way to the machine, or what
 * was there could not be given back. A prefix that ends in a slash means all below it; a name alone means
 * that file anywhere. */
static const struct {
        const char *prefix, *name, *why;
} denied[] = {
        { "/sys/kernel/debug/", NULL,
                "debugfs has no promises; scheduler features have a section of their own" },
        { "/sys/kernel/tracing/", NULL, "tracing disturbs every CPU" },
        { "/sys/kernel/security/", NULL, "security policies are not a profile's business" },
        { "/sys/fs/selinux/", NULL, "security policies are not a profile's business" },
        { "/sys/fs/cgroup/", NULL, "cgroups have a section of their own, [cpuset NAME]" },
        { "/sys/kernel/config/", NULL, "it makes and removes kernel objects" },
        { "/sys/firmware/", NULL, "it changes the firmware for good" },
        { "/sys/power/", NULL, "it puts the machine to sleep or off" },
        { "/sys/devices/system/cpu/smt/", NULL, "it takes CPUs away" },
        { "/sys/devices/system/cpu/hotplug/", NULL, "it takes CPUs away" },
        { "/sys/devices/system/memory/", NULL, "it takes memory away" },
        { "/sys/kernel/reboot/", NULL, "it decides how the machine goes down" },
        { "/sys/kernel/livepatch/", NULL, "it changes the kernel's code" },
        { NULL, "online", "it takes a CPU or memory away" },
        { NULL, "state", "it takes memory or a device away" },
        { NULL, "authorized", "it takes a device away" },
        { NULL, "bind", "it changes a device's driver" },
        { NULL, "bonding_masters", "it makes and removes network links" },
        { NULL, "carrier", "it takes a network link down" },
        { NULL, "delete", "it takes a device away" },
        { NULL, "delete_controller", "it takes a device away" },
        { NULL, "driver_override", "it changes a device's driver" },
        { NULL, "drivers_probe", "it changes a device's driver" },
        { NULL, "eject", "it takes a device away" },
        { NULL, "enable", "it switches a device off" },
        { NULL, "flags", "it takes a network link down" },
        { NULL, "force_ro", "it makes a disk read-only" },
        { NULL, "kexec_crash_size", "memory that a crash kernel lost does not come back before a reboot" },
        { NULL, "new_id", "it changes a device's driver" },
        { NULL, "probe", "it makes devices" },
        { NULL, "release", "it takes hardware away" },
        { NULL, "remove", "it takes a device away" },
        { NULL, "remove_id", "it changes a device's driver" },
        { NULL, "rescan", "it makes devices" },
        { NULL, "reset", "it resets a device" },
        { NULL, "reset_controller", "it resets a device" },
        { NULL, "scan", "it makes devices" },
        { NULL, "slaves", "it takes network links away" },
        { NULL, "soft", "it switches a radio off" },
        { NULL, "sriov_numvfs", "it makes and removes devices" },
        { NULL, "target", "it takes a CPU away" },
        { NULL, "uevent", "it has udev treat the device as new" },
        { NULL, "unbind", "it takes a device from its driver" },
};

/* The one file of debugfs that a profile may write: how willingly the kernel lets go of a CPU, on kernels
 * that can change it (Documentation/admin-guide/kernel-parameters.txt, preempt=). It reads `none
 * voluntary (full)`. */
#define PREEMPT "/sys/kernel/debug/sched/preempt"

static const char *deny_reason(const char *object) {
        _cleanup_strv_ char **words = NULL;
        const char *name = strrchr(object, '/');

        if (!util_startswith(object, "/sys/") || strstr(object, "//") || strchr(object, '#') || !name[1] ||
                util_strv_split(object, "/", &words) < 0 || util_strv_contains(words, "..") ||
                util_strv_contains(words, "."))
                return "it is not a path below /sys";
        if (streq(object, PREEMPT))
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
                if (denied[i].prefix ? util_startswith(object, denied[i].prefix) != NULL
                                     : streq(name + 1, denied[i].name))
                        return denied[i].why;
        return NULL;
}

static int make_object(const char *key, char **ret) {
        return util_asprintf(ret, "%s%s", *key == '/' ? "" : "/sys/", key);
}

static int sysfs_probe(Kfs *kfs, Mechanisms *mechanisms) {
        return mechanisms_add(mechanisms, "sysfs", MECHANISM_RUNTIME, "/sys", "");
}

static int sysfs_audit(Kfs *kfs, const Profile *profile, World *world) {
        for (size_t i = 0; profile && i < profile->n_sysfs; i++) {
                _cleanup_free_ char *object = NULL;
                int r = make_object(profile->sysfs[i].key, &object);

                if (r >= 0 && !deny_reason(object))
                        r = world_read(world, object);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const char *missing_reason(const WorldValue *value) {
        if (value && value->error != -ENOENT && value->error != -ENOTDIR && value->error != 0)
                return "it cannot be read, so what is there could not be given back";
        return "there is no such file on this machine";
}

/* A switch that reads Y or N takes 0 and 1, too, but never reads so. */
static const char *as_read(const char *live, const char *wanted) {
        static const char *const yes[] = { "1", "y", "Y", "on" }, *const no[] = { "0", "n", "N", "off" };

        for (size_t i = 0; live && (streq(live, "Y") || streq(live, "N")) && i < ARRAY_SIZE(yes); i++) {
                if (streq(wanted, yes[i]))
                        return "Y";
                if (streq(wanted, no[i]))
                        return "N";
        }
        return wanted;
}

static int plan_present(const PlanInput *input, Plan *plan, const WorldValue *value, StepText *text) {
        bool preempt = streq(text->object, PREEMPT);
        bool choice = value->live && strpbrk(value->live, preempt ? "(" : "[") &&
                strpbrk(value->live, preempt ? ")" : "]");
        _cleanup_free_ char *before = NULL;
        int r = choice && value->found ? value_choice(value->found, &before) : 0;

        if (r < 0)
                return r;
        if (preempt)
                text->disturbs = "every CPU for some microseconds: the kernel changes its own code";
        text->kind = choice ? VALUE_CHOICE : VALUE_NUMBER;
        text->wanted = as_read(value->live, text->wanted);
        text->before = before ?: value->found;
        text->now = value->live;
        return backend_add(input, plan, text);
}

static int plan_setting(const PlanInput *input, Plan *plan, const ProfileSetting *setting, int order) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        const WorldValue *value;
        const char *why;
        StepText text = {
                .wanted = setting->value,
                .phase = PHASE_VALUES,
                .order = order,
                .flags = setting->optional ? 0 : STEP_REQUIRED,
        };
        int r = make_object(setting->key, &object);

        r = r ?: util_asprintf(&id, "sysfs%s", object ? util_startswith(object, "/sys") ?: object : "");
        if (r < 0)
                return r;
        why = deny_reason(object);
        if (why)
                return plan_refuse(plan, "%s:%u: [sysfs] %s may not be written by a profile: %s",
                        setting->source.file ?: input->profile->name, setting->source.line, setting->key,
                        why);
        if (steps_find(&plan->steps, object))
                return plan_refuse(plan, "%s:%u: [sysfs] %s: another section of the profile sets it already",
                        setting->source.file ?: input->profile->name, setting->source.line, setting->key);
        text.id = id;
        text.object = object;
        value = world_value(input->world, object);
        if (backend_present(input->world, object))
                return plan_present(input, plan, value, &text);
        text.mechanism = MECHANISM_ABSENT;
        text.reason = missing_reason(value);
        return backend_add_missing(input, plan, &text);
}

static int sysfs_plan(const PlanInput *input, Plan *plan) {
        for (size_t i = 0; i < input->profile->n_sysfs; i++) {
                int r = plan_setting(input, plan, &input->profile->sysfs[i], (int) i + 1000);

                if (r < 0)
                        return r;
        }
        return 0;
}

const Backend backend_sysfs = {
        .name = "sysfs",
        .probe = sysfs_probe,
        .audit = sysfs_audit,
        .plan = sysfs_plan,
};
