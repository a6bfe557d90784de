/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-keys.h"

#define FIELD(type, member) offsetof(type, member)
#define FIELDS(rows) rows, ARRAY_SIZE(rows)
#define ARRAY(array, n, type) offsetof(Profile, array), offsetof(Profile, n), sizeof(type)

/* In the order of the enums in profile.h. */
static const char *const partitions[] = { "isolated", "root", "none", NULL };
static const char *const ticks[] = { "off", "idle", "full", NULL };
static const char *const smts[] = { "warn", "include", "refuse", NULL };
static const char *const pinned[] = { "refuse", "adopt", "ignore", NULL };
static const char *const policies[] = { "other", "batch", "idle", "fifo", "rr", NULL };
static const char *const yes_no[] = { "yes", "no", NULL };
static const char *const on_off[] = { "on", "off", NULL };
static const char *const mechanisms[] = { "partition", "irqs", "kthreads", "workqueues", "skew_tick", "nohz",
        "rt_push_pull", "rt_throttling", "idle", "cpufreq", "net", NULL };

const char *profile_require_to_string(ProfileRequire bit) {
        for (unsigned i = 0; mechanisms[i]; i++)
                if (bit == 1u << i)
                        return mechanisms[i];
        return NULL;
}

static const KeyRow profile_rows[] = {
        { "description", value_parse_text, FIELD(Profile, description), KEY_QUOTES },
        { "include", value_parse_profile_names, KEY_NO_FIELD },
        { "require", value_parse_bits, FIELD(Profile, require), .words = mechanisms },
        { "pinned", value_parse_choice, FIELD(Profile, pinned), .words = pinned },
        { "accept_starvation", value_parse_bool, FIELD(Profile, accept_starvation), .words = yes_no },
};

static const KeyRow cpuset_rows[] = {
        { "cpus", value_parse_cpus, FIELD(ProfileSet, cpus), KEY_NEEDED },
        { "control_cpus", value_parse_cpus, FIELD(ProfileSet, control_cpus) },
        { "partition", value_parse_choice, FIELD(ProfileSet, partition), .words = partitions },
        { "mems", value_parse_mems, FIELD(ProfileSet, mems) },
        { "nohz", value_parse_choice, FIELD(ProfileSet, nohz), .words = ticks },
        { "rt_push_pull", value_parse_switch, FIELD(ProfileSet, rt_push_pull), .words = on_off },
        { "rt_throttling", value_parse_switch, FIELD(ProfileSet, rt_throttling), .words = on_off },
        { "max_cstate", value_parse_cstate, FIELD(ProfileSet, max_cstate) },
        { "governor", value_parse_governor, FIELD(ProfileSet, governor) },
        { "smt", value_parse_choice, FIELD(ProfileSet, smt), .words = smts },
};

/* What sets have unless they say otherwise.  Its lines go to the sets' own before values are taken from them. */
static const KeyRow every_set_rows[] = {
        { "partition", value_parse_choice, KEY_NO_FIELD, .words = partitions },
        { "mems", value_parse_mems, KEY_NO_FIELD },
        { "nohz", value_parse_choice, KEY_NO_FIELD, .words = ticks },
        { "rt_push_pull", value_parse_switch, KEY_NO_FIELD, .words = on_off },
        { "rt_throttling", value_parse_switch, KEY_NO_FIELD, .words = on_off },
        { "max_cstate", value_parse_cstate, KEY_NO_FIELD },
        { "governor", value_parse_governor, KEY_NO_FIELD },
        { "smt", value_parse_choice, KEY_NO_FIELD, .words = smts },
};

static const KeyRow tick_rows[] = {
        { "skew_tick", value_parse_switch, FIELD(Profile, skew_tick), .words = on_off },
};

static const KeyRow keep_off_rows[] = {
        { "kthreads", value_parse_bool, FIELD(Profile, keep_kthreads), .words = yes_no },
        { "except", value_parse_list, FIELD(Profile, except) },
        { "workqueues", value_parse_bool, FIELD(Profile, keep_workqueues), .words = yes_no },
        { "irqs", value_parse_bool, FIELD(Profile, keep_irqs), .words = yes_no },
        { "timers", value_parse_bool, FIELD(Profile, keep_timers), .words = yes_no },
        { "watchdog", value_parse_bool, FIELD(Profile, keep_watchdog), .words = yes_no },
        { "rcu", value_parse_bool, FIELD(Profile, keep_rcu), .words = yes_no },
};

static const KeyRow kvm_rows[] = {
        { "check_options", value_parse_bool, FIELD(Profile, check_kvm_options), .words = yes_no },
};

static const KeyRow irq_rows[] = {
        { "match", value_parse_patterns, FIELD(ProfileIrq, match), KEY_NEEDED },
        { "cpus", value_parse_cpus, FIELD(ProfileIrq, cpus), KEY_NEEDED },
};

static const char *const net_cpus[] = { "housekeeping", NULL };
static const char *const net_masks[] = { "housekeeping", "keep_off_sets", "none", NULL };

static const KeyRow net_rows[] = {
        { "match", value_parse_patterns, FIELD(ProfileNet, match), KEY_NEEDED },
        { "cpus", value_parse_cpus_or_word, FIELD(ProfileNet, cpus), .words = net_cpus },
        { "combined", value_parse_channels, FIELD(ProfileNet, combined) },
        { "rx", value_parse_channels, FIELD(ProfileNet, rx) },
        { "tx", value_parse_channels, FIELD(ProfileNet, tx) },
        { "rps", value_parse_cpus_or_word, FIELD(ProfileNet, rps), .words = net_masks },
        { "xps", value_parse_cpus_or_word, FIELD(ProfileNet, xps), .words = net_masks },
};

static const KeyRow kthread_rows[] = {
        { "match", value_parse_patterns, FIELD(ProfileKthread, match), KEY_NEEDED },
        { "policy", value_parse_word, FIELD(ProfileKthread, policy), KEY_NEEDED, policies },
        { "priority", value_parse_priority, FIELD(ProfileKthread, priority) },
};

static const KeyRow task_rows[] = {
        { "match", value_parse_comms, FIELD(ProfileTask, match) },
        { "unit", value_parse_unit, FIELD(ProfileTask, unit) },
        { "set", value_parse_set_name, FIELD(ProfileTask, set), KEY_NEEDED },
        { "thread", value_parse_comms, FIELD(ProfileTask, thread) },
        { "cpus", value_parse_cpus, FIELD(ProfileTask, cpus) },
};

static void init_set(void *element) {
        ProfileSet *set = element;

        set->nohz = set->rt_push_pull = set->rt_throttling = PROFILE_UNSET;
}

static void init_net(void *element) {
        ProfileNet *net = element;

        net->combined = net->rx = net->tx = PROFILE_UNSET;
}

static int check_feature(ProfileLine *line, char **ret_why) {
        const char *name = profile_key_name(line->key);

        if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] || !*name)
                return value_wrong(ret_why,
                        "\"%s\" is no scheduler feature; their names are those in sched/features, such as "
                        "RT_ISOLATE",
                        name);
        if (util_startswith(name, "NO_"))
                return value_wrong(ret_why, "a feature is named without NO_; write %s = off", name + 3);
        if (!*line->value || value_find_word(line->value, on_off) >= 0)
                return 0;
        return value_not_allowed(line->value, on_off, ret_why);
}

/* Does a path name a file below its folder: no part empty, `.` or `..`? */
static bool is_plain_path(const char *path) {
        for (const char *p = path;; p++) {
                size_t n = strcspn(p, "/");

                if (n == 0 || (n == 1 && *p == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                p += n;
                if (!*p)
                        return true;
        }
}

static void swap_separators(char *name) {
        for (char *p = name; *p; p++)
                *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
}

/* As sysctl.d: where a slash comes first, slashes separate and dots are a part of the names; they change places. */
static int check_sysctl(ProfileLine *line, char **ret_why) {
        char *name = line->key + (*line->key == '-');
        char first = name[strcspn(name, "./")];
        _cleanup_free_ char *path = strdup(name);

        if (!path)
                return -ENOMEM;
        if (first == '/')
                swap_separators(name);
        else
                swap_separators(path);
        if (!first || !is_plain_path(path))
                return value_wrong(ret_why, "this is no sysctl; write its name as in vm.stat_interval");
        return 0;
}

static int check_sysfs(ProfileLine *line, char **ret_why) {
        const char *path = profile_key_name(line->key), *below = util_startswith(path, "/sys/");

        if (!below || !is_plain_path(below))
                return value_wrong(ret_why,
                        "this is no file below /sys; write its whole path, without . and .., such as "
                        "/sys/kernel/mm/transparent_hugepage/enabled");
        return 0;
}

static const SectionRow section_rows[] = {
        { "profile", NULL, FIELDS(profile_rows) },
        { "cpuset", value_check_set_name, FIELDS(cpuset_rows), NULL, ARRAY(sets, n_sets, ProfileSet),
                init_set },
        { PROFILE_EVERY_SET, NULL, FIELDS(every_set_rows) },
        { "tick", NULL, FIELDS(tick_rows) },
        { "sched_features", NULL, NULL, 0, check_feature, ARRAY(features, n_features, ProfileSetting) },
        { "keep_off_sets", NULL, FIELDS(keep_off_rows) },
        { "irq", value_check_rule_name, FIELDS(irq_rows), NULL, ARRAY(irqs, n_irqs, ProfileIrq) },
        { "net", value_check_rule_name, FIELDS(net_rows), NULL, ARRAY(nets, n_nets, ProfileNet), init_net },
        { "kthread", value_check_rule_name, FIELDS(kthread_rows), NULL,
                ARRAY(kthreads, n_kthreads, ProfileKthread) },
        { "task", value_check_rule_name, FIELDS(task_rows), NULL, ARRAY(tasks, n_tasks, ProfileTask) },
        { "kvm", NULL, FIELDS(kvm_rows) },
        { "sysctl", NULL, NULL, 0, check_sysctl, ARRAY(sysctls, n_sysctls, ProfileSetting) },
        { "sysfs", NULL, NULL, 0, check_sysfs, ARRAY(sysfs, n_sysfs, ProfileSetting) },
};

const KeyTable profile_keys = { section_rows, ARRAY_SIZE(section_rows) };

bool profile_needs_key(const char *section, const char *key) {
        const char *name;
        const SectionRow *row = keys_section(&profile_keys, section, &name);
        const KeyRow *key_row = row ? keys_row(row, key) : NULL;

        return key_row && key_row->flags & KEY_NEEDED;
}
