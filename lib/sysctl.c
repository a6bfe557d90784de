/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* `net.ipv4.conf.eth0/100.forwarding` is below net/ipv4/conf/eth0.100; where a slash comes first, slashes
 * part the words and dots are dots. (sysctl.d(5)) */
static int make_object(const char *key, char **ret) {
        bool dots_first = key[strcspn(key, "./")] == '.';
        _cleanup_free_ char *object = NULL;
        int r = util_asprintf(&object, "/proc/sys/%s", key);

        if (r < 0)
                return r;
        for (char *p = object + strlen("/proc/sys/"); dots_first && *p; p++)
                *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
        *ret = TAKE_PTR(object);
        return 0;
}

/* A path of empty or dotted words would leave /proc/sys. */
static bool leaves_tree(const char *object) {
        _cleanup_strv_ char **words = NULL;

        return strstr(object, "//") || util_strv_split(object, "/", &words) < 0 ||
                util_strv_contains(words, "..") || util_strv_contains(words, ".");
}

/* What the kernel takes once and never gives back before a reboot. (Documentation/admin-guide/sysctl/kernel.rst) */
static const char *const one_way[] = {
        "/proc/sys/kernel/kexec_load_disabled",
        "/proc/sys/kernel/kexec_load_limit_panic",
        "/proc/sys/kernel/kexec_load_limit_reboot",
        "/proc/sys/kernel/modules_disabled",
        "/proc/sys/kernel/unprivileged_bpf_disabled",
        "/proc/sys/kernel/yama/ptrace_scope",
};

static bool is_one_way(const char *object) {
        for (size_t i = 0; i < ARRAY_SIZE(one_way); i++)
                if (streq(object, one_way[i]))
                        return true;
        return false;
}

static int sysctl_probe(Kfs *kfs, Mechanisms *mechanisms) {
        return mechanisms_add_file(mechanisms, kfs, "sysctl", "/proc/sys/kernel/osrelease", MECHANISM_ABSENT,
                "/proc is not mounted");
}

static int sysctl_audit(Kfs *kfs, const Profile *profile, World *world) {
        for (size_t i = 0; profile && i < profile->n_sysctls; i++) {
                _cleanup_free_ char *object = NULL;
                int r = make_object(profile->sysctls[i].key, &object);

                if (r >= 0 && !leaves_tree(object))
                        r = world_read(world, object);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const char *missing_reason(const PlanInput *input, const char *object) {
        const WorldValue *value = world_value(input->world, object);

        if (value && value->error == -EISDIR)
                return "that is a folder of settings, not one";
        if (value && value->error != -ENOENT && value->error != -ENOTDIR && value->error != 0)
                return "it cannot be read, so what is there could not be given back";
        return "this kernel has no such setting (a module that is not loaded, perhaps)";
}

/* The kernel parts the numbers of a list by tabs, people by blanks. */
static int as_read(const char *live, const char *wanted, char **ret) {
        _cleanup_strv_ char **words = NULL;
        int r;

        if (!live || !strchr(live, '\t'))
                return util_asprintf(ret, "%s", wanted);
        r = util_strv_split(wanted, " \t", &words);
        return r ?: util_strv_join(words, "\t", ret);
}

static int plan_setting(const PlanInput *input, Plan *plan, const ProfileSetting *setting, int order) {
        _cleanup_free_ char *id = NULL, *object = NULL, *wanted = NULL;
        StepText text = {
                .kind = VALUE_NUMBER,
                .phase = PHASE_VALUES,
                .order = order,
                .flags = setting->optional ? 0 : STEP_REQUIRED,
        };
        int r = make_object(setting->key, &object);

        r = r ?: util_asprintf(&id, "sysctl/%s", setting->key);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        if (leaves_tree(object))
                return plan_refuse(plan, "%s:%u: [sysctl] %s is not below /proc/sys",
                        setting->source.file ?: input->profile->name, setting->source.line, setting->key);
        if (is_one_way(object))
                return plan_refuse(plan,
                        "%s:%u: [sysctl] %s cannot be given back before a reboot: it belongs into sysctl.d",
                        setting->source.file ?: input->profile->name, setting->source.line, setting->key);
        if (steps_find(&plan->steps, object))
                return plan_refuse(plan,
                        "%s:%u: [sysctl] %s: another section of the profile sets it already",
                        setting->source.file ?: input->profile->name, setting->source.line, setting->key);
        r = as_read(world_live(input->world, object), setting->value, &wanted);
        if (r < 0)
                return r;
        text.wanted = wanted;
        if (backend_present(input->world, object))
                return backend_add(input, plan, &text);
        text.mechanism = MECHANISM_ABSENT;
        text.reason = missing_reason(input, object);
        return backend_add_missing(input, plan, &text);
}

static int sysctl_plan(const PlanInput *input, Plan *plan) {
        for (size_t i = 0; i < input->profile->n_sysctls; i++) {
                int r = plan_setting(input, plan, &input->profile->sysctls[i], (int) i);

                if (r < 0)
                        return r;
        }
        return 0;
}

const Backend backend_sysctl = {
        .name = "sysctl",
        .probe = sysctl_probe,
        .audit = sysctl_audit,
        .plan = sysctl_plan,
};
