/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernel-args.h"

#include <ctype.h>
#include <stdarg.h>

#include "cmdline.h"

#define SKEW_TICK "/sys/module/kernel/parameters/skew_tick"
#define CGROUP_FEATURES "/sys/kernel/cgroup/features"

typedef struct Context {
        const Profile *profile;
        const Plan *plan;
        const World *world;
        char *others; /* the running command line without our own words */
        CpuList full, ticking, sets,
                off; /* CPUs of sets with nohz = full, off or idle, all, and with rcu = yes */
        KernelArgs *args;
} Context;

static void context_done(Context *context) {
        free(context->others);
        cpulist_done(&context->full);
        cpulist_done(&context->ticking);
        cpulist_done(&context->sets);
        cpulist_done(&context->off);
}

void kernel_args_done(KernelArgs *args) {
        util_strv_free(args->words);
        util_strv_free(args->missing);
        util_strv_free(args->problems);
        util_strv_free(args->notes);
        *args = (KernelArgs){};
}

static int say(char ***list, const char *format, ...) _printf_(2, 3);
static int say(char ***list, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&text, format, ap);
        va_end(ap);
        return r < 0 ? r : util_strv_push(list, text);
}

static int config_file(const World *world, char **ret) {
        return world->kernel ? util_asprintf(ret, "/boot/config-%s", world->kernel) : -ENOENT;
}

int kernel_args_read(World *world) {
        _cleanup_free_ char *config = NULL;
        int r = world_read(world, SKEW_TICK);

        r = r ?: world_read(world, CGROUP_FEATURES);
        if (r == 0 && world->kernel)
                r = config_file(world, &config) ?: world_read(world, config);
        return r;
}

/* Was this kernel built without it?  A kernel that does not tell may have it. */
static bool config_lacks(const World *world, const char *option) {
        _cleanup_free_ char *file = NULL, *line = NULL;
        const char *text = config_file(world, &file) < 0 ? NULL : world_live(world, file);

        return text && util_asprintf(&line, "%s=y", option) == 0 && !strstr(text, line);
}

static int add_word(Context *context, const char *option, const char *key, const CpuList *cpus) {
        _cleanup_free_ char *list = NULL;
        int r;

        if (cpulist_is_empty(cpus))
                return 0;
        r = cpulist_format(cpus, &list);
        if (r < 0)
                return r;
        if (config_lacks(context->world, option))
                return say(&context->args->notes, "%s%s is left out: this kernel is built without %s", key,
                        list, option);
        return say(&context->args->words, "%s%s", key, list);
}

static bool skew_is_runtime(const World *world) {
        const WorldValue *value = world_value(world, SKEW_TICK);

        return value && value->live && value->writable;
}

static bool nohz_is_runtime(const World *world) {
        const char *features = world_live(world, CGROUP_FEATURES);

        return features && strstr(features, "cpuset_nohz");
}

static int gather_sets(Context *context) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < context->profile->n_sets; i++) {
                const ProfileSet *set = &context->profile->sets[i];
                const CpuList *cpus = &context->plan->sets[i].configured;

                r = cpulist_union(&context->sets, cpus);
                if (r == 0 && set->nohz == NOHZ_FULL)
                        r = cpulist_union(&context->full, cpus);
                else if (r == 0 && set->nohz != PROFILE_UNSET)
                        r = cpulist_union(&context->ticking, cpus);
        }
        if (r == 0 && context->profile->keep_rcu)
                r = cpulist_copy(&context->sets, &context->off);
        /* nohz_full= takes its CPUs' callbacks away as well. */
        cpulist_subtract(&context->off, &context->full);
        return r;
}

/* A tick that never stops is one switch for all CPUs, unless the kernel can keep it for some; where a set polls in
 * idle the tick goes on by itself. */
static bool wants_nohz_off(const Context *context) {
        for (size_t i = 0; i < context->profile->n_sets; i++) {
                const ProfileSet *set = &context->profile->sets[i];

                if (set->nohz == NOHZ_OFF && !nohz_is_runtime(context->world) &&
                        !(set->max_cstate && streq(set->max_cstate, "POLL")))
                        return true;
        }
        return false;
}

static int add_words(Context *context) {
        KernelArgs *args = context->args;
        int r = 0;

        if (context->profile->keep_irqs)
                r = add_word(context, "CONFIG_CPU_ISOLATION", "isolcpus=managed_irq,", &context->sets);
        r = r ?: add_word(context, "CONFIG_NO_HZ_FULL", "nohz_full=", &context->full);
        r = r ?: add_word(context, "CONFIG_RCU_NOCB_CPU", "rcu_nocbs=", &context->off);
        if (r == 0 && context->profile->skew_tick == 1 && !skew_is_runtime(context->world))
                r = say(&args->words, "skew_tick=1");
        if (r == 0 && wants_nohz_off(context))
                r = say(&args->words, "nohz=off");
        return r;
}

/* Contradictions */

static int check_profile(Context *context) {
        bool idle = false;

        for (size_t i = 0; i < context->profile->n_sets; i++)
                idle = idle || context->profile->sets[i].nohz == NOHZ_IDLE;
        if (!wants_nohz_off(context) || (cpulist_is_empty(&context->full) && !idle))
                return 0;
        return say(&context->args->problems,
                "a set wants nohz = off, which on this kernel is nohz=off for all CPUs, and another wants a "
                "tick that "
                "stops: have one of them, or max_cstate = POLL for the first, or a kernel with the patches "
                "of "
                "kernel/README");
}

/* Reads `KEY=` of the rest of the command line as CPUs; false where it is not there or no list. */
static bool get_cpus(const Context *context, const char *key, CpuList *ret) {
        _cleanup_free_ char *value = NULL;

        return cmdline_get(context->others, key, &value) >= 0 && cpulist_parse(value, ret, NULL) >= 0;
}

static int check_irqaffinity(Context *context) {
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_free_ char *both = NULL;
        int r;

        if (!context->profile->keep_irqs || !get_cpus(context, "irqaffinity", &cpus) ||
                !cpulist_intersects(&cpus, &context->sets))
                return 0;
        cpulist_intersect(&cpus, &context->sets);
        r = cpulist_format(&cpus, &both);
        return r
                ?: say(&context->args->problems,
                           "irqaffinity= on the command line sends interrupts to CPU %s, which the profile "
                           "keeps them "
                           "off: take it off, or the CPU out of it",
                           both);
}

static bool has_flag(const char *value, const char *flag) {
        size_t n = strlen(flag);

        while (isalpha((unsigned char) *value)) {
                size_t length = strcspn(value, ",");

                if (length == n && strncmp(value, flag, n) == 0)
                        return true;
                value += length + (value[length] == ',');
        }
        return false;
}

static int check_isolcpus(Context *context) {
        _cleanup_free_ char *value = NULL, *wanted = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        int r = cmdline_get(context->others, "isolcpus", &value);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (!isalpha((unsigned char) *value) || has_flag(value, "domain"))
                return say(&context->args->problems,
                        "isolcpus=%s on the command line isolates CPUs for good, which partitions then "
                        "cannot have: "
                        "take it off",
                        value);
        if (!has_flag(value, "managed_irq") || !context->profile->keep_irqs)
                return 0;
        r = cmdline_isolcpus(context->others, "managed_irq", &cpus);
        if (r < 0 || cpulist_equal(&cpus, &context->sets))
                return r;
        r = cpulist_format(&context->sets, &wanted);
        return r
                ?: say(&context->args->problems,
                           "isolcpus=%s is on the command line already, and the kernel takes no second "
                           "isolcpus= for "
                           "other CPUs (%s): take it off",
                           value, wanted);
}

static int check_nohz_full(Context *context) {
        _cleanup_free_ char *value = NULL, *cpus = NULL;
        _cleanup_cpulist_ CpuList list = {};
        int r;

        if (!get_cpus(context, "nohz_full", &list))
                return 0;
        r = cmdline_get(context->others, "nohz_full", &value);
        if (r < 0)
                return r;
        if (!cpulist_is_empty(&context->full) && !cpulist_equal(&list, &context->full)) {
                r = cpulist_format(&context->full, &cpus);
                return r
                        ?: say(&context->args->problems,
                                   "nohz_full=%s is on the command line already, and the kernel takes no "
                                   "second one "
                                   "for other CPUs (%s): take it off",
                                   value, cpus);
        }
        if (nohz_is_runtime(context->world) || !cpulist_intersects(&list, &context->ticking))
                return 0;
        return say(&context->args->problems,
                "nohz_full=%s on the command line stops the tick of CPUs for which the profile wants it: "
                "take it off",
                value);
}

static bool has_partition(const Profile *profile) {
        for (size_t i = 0; i < profile->n_sets; i++)
                if (profile->sets[i].partition != PARTITION_NONE)
                        return true;
        return false;
}

/* Words that say the opposite of ours, or take away what the profile stands on. */
static int check_words(Context *context) {
        const Profile *profile = context->profile;
        bool partition = has_partition(profile), stops = !cpulist_is_empty(&context->full);
        const struct {
                const char *key, *value;
                bool matters;
                const char *why;
        } table[] = {
                { "nohz", "off", stops, "no tick ever stops" },
                { "nohz", "0", stops, "no tick ever stops" },
                { "skew_tick", "0", profile->skew_tick == 1, "ticks are not skewed" },
                { "skew_tick", "1", profile->skew_tick == 0 && !skew_is_runtime(context->world),
                        "ticks are skewed, which the profile does not want" },
                { "cgroup_disable", "cpuset", partition, "there are no partitions" },
                { "systemd.unified_cgroup_hierarchy", "0", partition, "there is no cgroup v2 for the sets" },
                { "systemd.legacy_systemd_cgroup_controller", "1", partition,
                        "there is no cgroup v2 for the sets" },
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *value = NULL;

                if (!table[i].matters || cmdline_get(context->others, table[i].key, &value) < 0 ||
                        !streq(value, table[i].value))
                        continue;
                r = say(&context->args->problems, "with %s=%s on the command line %s: take it off",
                        table[i].key, table[i].value, table[i].why);
        }
        return r;
}

/* CPUs that the kernel does not bring up cannot be isolated at boot. */
static int check_number(Context *context) {
        static const char *const keys[] = { "maxcpus", "nr_cpus" };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keys); i++) {
                _cleanup_free_ char *value = NULL;
                unsigned n;

                if (cpulist_is_empty(&context->sets) || cmdline_get(context->others, keys[i], &value) < 0 ||
                        util_parse_unsigned(value, &n) < 0 || (int) n > cpulist_last(&context->sets))
                        continue;
                r = say(&context->args->problems,
                        "with %s=%s on the command line CPU %d, which the profile isolates, is not brought "
                        "up: take it "
                        "off",
                        keys[i], value, cpulist_last(&context->sets));
        }
        return r;
}

static int check_all(Context *context) {
        static int (*const checks[])(Context *) = { check_profile, check_irqaffinity, check_isolcpus,
                check_nohz_full, check_words, check_number };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
                r = checks[i](context);
        return r;
}

/* Without the words that give way. */
static int without(const char *cmdline, char *const *own, char **ret) {
        _cleanup_strv_ char **words = NULL, **kept = NULL;
        int r = util_strv_split(cmdline ?: "", " \t\n", &words);

        STRV_FOREACH (word, words)
                if (r == 0 && !(own && util_strv_contains((char *const *) own, *word)))
                        r = util_strv_push(&kept, *word);
        return r ?: util_strv_join(kept, " ", ret);
}

static int find_missing(Context *context) {
        _cleanup_strv_ char **booted = NULL;
        int r = util_strv_split(context->world->cmdline ?: "", " \t\n", &booted);

        STRV_FOREACH (word, context->args->words)
                if (r == 0 && !(booted && util_strv_contains(booted, *word)))
                        r = util_strv_push(&context->args->missing, *word);
        return r;
}

int kernel_args_make(
        const Profile *profile, const Plan *plan, const World *world, char *const *own, KernelArgs *ret) {
        _cleanup_kernel_args_ KernelArgs args = {};
        _cleanup_(context_done)
                Context context = { .profile = profile, .plan = plan, .world = world, .args = &args };
        int r = without(world->cmdline, own, &context.others);

        r = r ?: gather_sets(&context);
        r = r ?: add_words(&context);
        r = r ?: check_all(&context);
        r = r ?: find_missing(&context);
        if (r < 0)
                return r;
        *ret = args;
        args = (KernelArgs){};
        return 0;
}
