/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "covers.h"

#include <stdarg.h>

/* The sentence of a difference; 0, which is the answer. */
static int differ(char **ret_why, const char *format, ...) _printf_(2, 3);
static int differ(char **ret_why, const char *format, ...) {
        va_list ap;
        int r;

        if (!ret_why)
                return 0;
        va_start(ap, format);
        r = util_vasprintf(ret_why, format, ap);
        va_end(ap);
        return r;
}

static bool same(const char *a, const char *b) {
        return streq(a ?: "", b ?: "");
}

/* What one set has for a key and what the other needs; `needed` NULL: nothing. */
static int compare_word(
        const char *set, const char *key, const char *has, const char *needed, char **ret_why) {
        if (!needed || same(has, needed))
                return 1;
        return differ(ret_why, "set %s: %s is %s, not %s", set, key, has ?: "as found", needed);
}

static const char *word_of(int value, const char *const *words) {
        return value == PROFILE_UNSET ? NULL : words[value];
}

/* An idle state's place among those whose order is known; names of drivers have none. */
static int cstate_rank(const char *state) {
        if (!state || streq(state, "any"))
                return 2;
        return streq(state, "POLL") ? 0 : streq(state, "C1") ? 1 : -1;
}

static int compare_cstate(const ProfileSet *set, const ProfileSet *other, char **ret_why) {
        int has = cstate_rank(set->max_cstate), needed = cstate_rank(other->max_cstate);

        if (needed == 2 || (has >= 0 && needed >= 0 && has <= needed))
                return 1;
        return compare_word(other->name, "max_cstate", set->max_cstate, other->max_cstate, ret_why);
}

static int compare_modes(const ProfileSet *set, const ProfileSet *other, char **ret_why) {
        static const char *const partitions[] = { "isolated", "root", "none" };
        static const char *const ticks[] = { "off", "idle", "full" }, *const switches[] = { "off", "on" };
        const struct {
                const char *key, *has, *needed;
        } table[] = {
                { "partition", partitions[set->partition], partitions[other->partition] },
                { "nohz", word_of(set->nohz, ticks), word_of(other->nohz, ticks) },
                { "rt_push_pull", word_of(set->rt_push_pull, switches),
                        word_of(other->rt_push_pull, switches) },
                { "rt_throttling", word_of(set->rt_throttling, switches),
                        word_of(other->rt_throttling, switches) },
                { "governor", set->governor, other->governor },
                { "mems", set->mems, other->mems },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                int r = compare_word(other->name, table[i].key, table[i].has, table[i].needed, ret_why);

                if (r <= 0)
                        return r;
        }
        return compare_cstate(set, other, ret_why);
}

static int compare_cpus(const char *set, const char *key, const CpuList *has, const CpuList *needed,
        bool more_is_good, char **ret_why) {
        _cleanup_free_ char *has_text = NULL, *needed_text = NULL;
        int r;

        if (more_is_good ? cpulist_is_subset(needed, has) : cpulist_equal(needed, has))
                return 1;
        r = cpulist_format(has, &has_text);
        r = r ?: cpulist_format(needed, &needed_text);
        return r ?: differ(ret_why, "set %s: %s is %s, not %s", set, key, has_text, needed_text);
}

static int compare_set(const ProfileSet *set, const ProfileSetCpus *cpus, const ProfileSet *other,
        const ProfileSetCpus *other_cpus, char **ret_why) {
        int r = compare_cpus(other->name, "cpus", &cpus->configured, &other_cpus->configured, true, ret_why);

        if (r > 0)
                r = compare_cpus(other->name, "control_cpus", &cpus->control_cpus, &other_cpus->control_cpus,
                        false, ret_why);
        return r > 0 ? compare_modes(set, other, ret_why) : r;
}

static int compare_sets(const Profile *profile, const Plan *plan, const Profile *other,
        const Plan *other_plan, char **ret_why) {
        int r = 1;

        for (size_t i = 0; r > 0 && i < other->n_sets; i++) {
                const ProfileSet *set = profile_set(profile, other->sets[i].name);

                if (!set)
                        return differ(ret_why, "it has no set %s", other->sets[i].name);
                r = compare_set(set, &plan->sets[set - profile->sets], &other->sets[i], &other_plan->sets[i],
                        ret_why);
        }
        return r;
}

static const ProfileSetting *find_setting(const ProfileSetting *settings, size_t n, const char *key) {
        for (size_t i = 0; i < n; i++)
                if (streq(settings[i].key, key))
                        return &settings[i];
        return NULL;
}

static int compare_settings(
        const ProfileSetting *has, size_t n, const ProfileSetting *needed, size_t n_needed, char **ret_why) {
        for (size_t i = 0; i < n_needed; i++) {
                const ProfileSetting *setting = find_setting(has, n, needed[i].key);

                if (!setting || !streq(setting->value, needed[i].value))
                        return differ(ret_why, "%s is %s, not %s", needed[i].key,
                                setting ? setting->value : "as found", needed[i].value);
                if (setting->optional && !needed[i].optional)
                        return differ(ret_why, "%s is optional in it", needed[i].key);
        }
        return 1;
}

static int compare_keep(const Profile *profile, const Profile *other, char **ret_why) {
        const struct {
                const char *key;
                bool has, needed;
        } table[] = {
                { "kthreads", profile->keep_kthreads, other->keep_kthreads },
                { "workqueues", profile->keep_workqueues, other->keep_workqueues },
                { "irqs", profile->keep_irqs, other->keep_irqs },
                { "timers", profile->keep_timers, other->keep_timers },
                { "watchdog", profile->keep_watchdog, other->keep_watchdog },
                { "rcu", profile->keep_rcu, other->keep_rcu },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (table[i].needed && !table[i].has)
                        return differ(ret_why, "%s are not kept off its sets", table[i].key);
        STRV_FOREACH (pattern, profile->except)
                if (!util_strv_contains(other->except, *pattern))
                        return differ(ret_why, "kernel threads %s may stay on its sets", *pattern);
        return 1;
}

static bool has_irq_rule(const Profile *profile, const ProfileIrq *rule) {
        for (size_t i = 0; i < profile->n_irqs; i++)
                if (streq(profile->irqs[i].match, rule->match) && streq(profile->irqs[i].cpus, rule->cpus))
                        return true;
        return false;
}

static bool has_net_rule(const Profile *profile, const ProfileNet *rule) {
        for (size_t i = 0; i < profile->n_nets; i++) {
                const ProfileNet *net = &profile->nets[i];

                if (streq(net->match, rule->match) && same(net->cpus, rule->cpus) &&
                        same(net->rps, rule->rps) && same(net->xps, rule->xps) &&
                        net->combined == rule->combined && net->rx == rule->rx && net->tx == rule->tx)
                        return true;
        }
        return false;
}

static bool has_kthread_rule(const Profile *profile, const ProfileKthread *rule) {
        for (size_t i = 0; i < profile->n_kthreads; i++)
                if (streq(profile->kthreads[i].match, rule->match) &&
                        streq(profile->kthreads[i].policy, rule->policy) &&
                        profile->kthreads[i].priority == rule->priority)
                        return true;
        return false;
}

static bool has_task_rule(const Profile *profile, const ProfileTask *rule) {
        for (size_t i = 0; i < profile->n_tasks; i++) {
                const ProfileTask *task = &profile->tasks[i];

                if (same(task->match, rule->match) && same(task->unit, rule->unit) &&
                        same(task->set, rule->set) && same(task->thread, rule->thread) &&
                        same(task->cpus, rule->cpus))
                        return true;
        }
        return false;
}

static int compare_rules(const Profile *profile, const Profile *other, char **ret_why) {
        for (size_t i = 0; i < other->n_irqs; i++)
                if (!has_irq_rule(profile, &other->irqs[i]))
                        return differ(ret_why, "it lacks the rule [irq %s]", other->irqs[i].name);
        for (size_t i = 0; i < other->n_nets; i++)
                if (!has_net_rule(profile, &other->nets[i]))
                        return differ(ret_why, "it lacks the rule [net %s]", other->nets[i].name);
        for (size_t i = 0; i < other->n_kthreads; i++)
                if (!has_kthread_rule(profile, &other->kthreads[i]))
                        return differ(ret_why, "it lacks the rule [kthread %s]", other->kthreads[i].name);
        for (size_t i = 0; i < other->n_tasks; i++)
                if (!has_task_rule(profile, &other->tasks[i]))
                        return differ(ret_why, "it lacks the rule [task %s]", other->tasks[i].name);
        return 1;
}

static int compare_machine(const Profile *profile, const Profile *other, char **ret_why) {
        unsigned missing = other->require & ~profile->require;
        int r;

        if (missing)
                return differ(
                        ret_why, "it does not require %s", profile_require_to_string(missing & -missing));
        if (other->skew_tick != PROFILE_UNSET && other->skew_tick != profile->skew_tick)
                return differ(ret_why, "skew_tick is %s, not %s",
                        profile->skew_tick == PROFILE_UNSET ? "as found"
                                : profile->skew_tick        ? "on"
                                                            : "off",
                        other->skew_tick ? "on" : "off");
        r = compare_settings(
                profile->features, profile->n_features, other->features, other->n_features, ret_why);
        if (r > 0)
                r = compare_settings(
                        profile->sysctls, profile->n_sysctls, other->sysctls, other->n_sysctls, ret_why);
        if (r > 0)
                r = compare_settings(
                        profile->sysfs, profile->n_sysfs, other->sysfs, other->n_sysfs, ret_why);
        return r;
}

int covers(const Profile *profile, const Plan *plan, const Profile *other, const Plan *other_plan,
        char **ret_why) {
        int r = compare_sets(profile, plan, other, other_plan, ret_why);

        if (r > 0)
                r = compare_machine(profile, other, ret_why);
        if (r > 0 && other->n_sets > 0)
                r = compare_keep(profile, other, ret_why);
        return r > 0 ? compare_rules(profile, other, ret_why) : r;
}
