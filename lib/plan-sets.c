/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-sets.h"

#include "cpuexpr.h"
#include "profile-lines.h"

typedef enum Progress { UNTOUCHED, UNDER_WAY, KNOWN, WRONG } Progress;

typedef struct SetsContext {
        const Profile *profile;
        const World *world;
        const Steps *in_force;
        unsigned flags;
        Plan *plan;
        Progress *progress; /* index as in profile->sets */
} SetsContext;

static int set_evaluate(SetsContext *context, size_t i);

static int set_resolve(void *userdata, const char *name, CpuList *ret) {
        SetsContext *context = userdata;
        const ProfileSet *set = profile_set(context->profile, name);
        size_t i;
        int r;

        if (!set)
                return -ENOENT;
        i = (size_t) (set - context->profile->sets);
        if (context->progress[i] == UNDER_WAY)
                return -ELOOP;
        r = set_evaluate(context, i);
        return r < 0 ? r : cpulist_copy(&context->plan->sets[i].cpus, ret);
}

static int set_expression(
        SetsContext *context, const ProfileSet *set, const char *key, const char *expression, CpuList *ret) {
        CpuExprError error = {};
        int r, refused;

        r = cpuexpr_evaluate(expression, context->world->topology, set_resolve, context, ret, &error);
        if (r != -EINVAL)
                return r;
        refused = plan_refuse(context->plan, "set %s: %s = %s, column %zu: %s", set->name, key, expression,
                error.column, error.message ?: "not a CPU expression");
        cpuexpr_error_done(&error);
        return refused < 0 ? refused : r;
}

/* The CPUs that the set has by the records in force: they tell which ones are only away for the moment. */
static void set_in_force(SetsContext *context, const ProfileSet *set, CpuList *ret) {
        const StepSet *record = steps_find_set(context->in_force, set->name);

        if (!record || cpulist_parse(record->cpus, ret, NULL) < 0)
                *ret = (CpuList){};
}

static int set_configure_away(SetsContext *context, const ProfileSet *set, ProfileSetCpus *cpus) {
        _cleanup_cpulist_ CpuList away = {};

        set_in_force(context, set, &away);
        cpulist_intersect(&away, &context->world->topology->present);
        cpulist_subtract(&away, &context->world->topology->online);
        return cpulist_union(&cpus->configured, &away);
}

static int set_check_online(SetsContext *context, const ProfileSet *set, ProfileSetCpus *cpus) {
        _cleanup_cpulist_ CpuList offline = {};
        _cleanup_free_ char *text = NULL;
        int r = cpulist_copy(&cpus->cpus, &offline);

        if (r < 0)
                return r;
        cpulist_subtract(&offline, &context->world->topology->online);
        if (cpulist_is_empty(&offline))
                return 0;
        cpulist_intersect(&cpus->cpus, &context->world->topology->online);
        if (context->flags & PLAN_MEND)
                return 0;
        r = cpulist_format(&offline, &text);
        return r < 0 ? r : plan_refuse(context->plan, "set %s: CPU %s is offline", set->name, text);
}

static int set_smt(SetsContext *context, const ProfileSet *set, CpuList *cpus) {
        _cleanup_cpulist_ CpuList siblings = {};
        _cleanup_free_ char *text = NULL;
        int r = topology_siblings(context->world->topology, cpus, &siblings);

        if (r < 0 || cpulist_equal(&siblings, cpus))
                return r;
        if (set->smt == SMT_INCLUDE)
                return cpulist_union(cpus, &siblings);
        cpulist_subtract(&siblings, cpus);
        if (cpulist_is_empty(&siblings))
                return 0;
        r = cpulist_format(&siblings, &text);
        if (r < 0)
                return r;
        if (set->smt == SMT_REFUSE)
                return plan_refuse(context->plan,
                        "set %s: CPU %s shares a core with a CPU of the set (smt = refuse)", set->name,
                        text);
        return plan_warn(context->plan,
                "set %s: CPU %s shares a core with a CPU of the set and will disturb it; `smt = include` "
                "takes it in",
                set->name, text);
}

static int set_control(SetsContext *context, const ProfileSet *set, ProfileSetCpus *cpus) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (!set->control_cpus)
                return 0;
        r = set_expression(context, set, "control_cpus", set->control_cpus, &cpus->control_cpus);
        if (r < 0)
                return r;
        /* One that is away just now is no mistake of the profile: the set has lost it, too. */
        if (cpulist_is_subset(&cpus->control_cpus, &cpus->configured)) {
                cpulist_intersect(&cpus->control_cpus, &cpus->cpus);
                return 0;
        }
        r = cpulist_format(&cpus->configured, &text);
        return r < 0 ? r
                     : plan_refuse(context->plan, "set %s: control_cpus = %s goes beyond the set's CPUs %s",
                               set->name, set->control_cpus, text);
}

/* ` (FILE:LINE)` of a set's key, or "" where nobody knows. */
static int set_source(const Profile *profile, const ProfileSet *set, const char *key, char **ret) {
        const ProfileLines lines = { profile->lines, profile->n_lines };
        _cleanup_free_ char *section = NULL;
        const ProfileLine *line;
        int r = util_asprintf(&section, "cpuset %s", set->name);

        if (r < 0)
                return r;
        line = profile_lines_find(&lines, section, key);
        return line ? util_asprintf(ret, " (%s:%u)", line->source.file, line->source.line)
                    : util_asprintf(ret, "%s", "");
}

/* The kernel would say no more than EINVAL, or give the set other memory without a word. */
static int set_check_mems(SetsContext *context, const ProfileSet *set) {
        const CpuList *memory = &context->world->topology->memory_nodes;
        _cleanup_free_ char *text = NULL, *known = NULL, *source = NULL;
        _cleanup_cpulist_ CpuList nodes = {};
        int r;

        if (!set->mems || streq(set->mems, "local"))
                return 0;
        r = cpulist_parse(set->mems, &nodes, NULL);
        if (r < 0)
                return r;
        cpulist_subtract(&nodes, memory);
        if (cpulist_is_empty(&nodes))
                return 0;
        r = cpulist_format(&nodes, &text);
        r = r ?: cpulist_format(memory, &known);
        r = r ?: set_source(context->profile, set, "mems", &source);
        return r
                ?: plan_refuse(context->plan,
                           "set %s: mems = %s%s: NUMA node %s is not there or has no memory; those with "
                           "memory "
                           "are %s",
                           set->name, set->mems, source, text, known);
}

static int set_evaluate_now(SetsContext *context, const ProfileSet *set, ProfileSetCpus *cpus) {
        int r = set_expression(context, set, "cpus", set->cpus, &cpus->cpus);

        if (r < 0)
                return r;
        r = set_smt(context, set, &cpus->cpus);
        r = r ?: cpulist_copy(&cpus->cpus, &cpus->configured);
        r = r ?: set_check_online(context, set, cpus);
        if (r == 0 && context->flags & PLAN_MEND)
                r = set_configure_away(context, set, cpus);
        r = r ?: set_check_mems(context, set);
        return r ?: set_control(context, set, cpus);
}

static int set_evaluate(SetsContext *context, size_t i) {
        const ProfileSet *set = &context->profile->sets[i];
        int r;

        if (context->progress[i] != UNTOUCHED)
                return context->progress[i] == KNOWN ? 0 : -EINVAL;
        context->progress[i] = UNDER_WAY;
        r = set_evaluate_now(context, set, &context->plan->sets[i]);
        context->progress[i] = r < 0 ? WRONG : KNOWN;
        return r;
}

static int refuse_empty(SetsContext *context) {
        for (size_t i = 0; i < context->profile->n_sets; i++) {
                int r;

                if (context->progress[i] != KNOWN || !cpulist_is_empty(&context->plan->sets[i].configured))
                        continue;
                r = plan_refuse(context->plan, "set %s: cpus = %s is no CPU at all on this machine%s",
                        context->profile->sets[i].name, context->profile->sets[i].cpus,
                        cpulist_count(&context->world->topology->online) == 1
                                ? ", which has one CPU online: nothing can be set apart from it"
                                : "");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int refuse_overlap(SetsContext *context, size_t i, size_t j) {
        _cleanup_cpulist_ CpuList both = {};
        _cleanup_free_ char *text = NULL;
        int r = cpulist_copy(&context->plan->sets[i].configured, &both);

        if (r < 0)
                return r;
        cpulist_intersect(&both, &context->plan->sets[j].configured);
        if (cpulist_is_empty(&both))
                return 0;
        r = cpulist_format(&both, &text);
        return r < 0 ? r
                     : plan_refuse(context->plan, "CPU %s is in set %s and in set %s", text,
                               context->profile->sets[i].name, context->profile->sets[j].name);
}

static int refuse_overlaps(SetsContext *context) {
        for (size_t i = 0; i < context->profile->n_sets; i++)
                for (size_t j = 0; j < i; j++) {
                        int r = refuse_overlap(context, j, i);

                        if (r < 0)
                                return r;
                }
        return 0;
}

static int fill_housekeeping(SetsContext *context) {
        Plan *plan = context->plan;
        int r;

        for (size_t i = 0; i < plan->n_sets; i++) {
                r = cpulist_union(&plan->isolated, &plan->sets[i].cpus);
                if (r < 0)
                        return r;
        }
        r = cpulist_copy(&context->world->topology->online, &plan->housekeeping);
        if (r < 0)
                return r;
        cpulist_subtract(&plan->housekeeping, &plan->isolated);
        if (!cpulist_is_empty(&plan->housekeeping))
                return 0;
        return plan_refuse(plan, "no housekeeping CPU is left: the sets take every CPU that is online");
}

static int record_set(const ProfileSet *set, const ProfileSetCpus *cpus, Steps *steps) {
        static const char *const partitions[] = {
                [PARTITION_ISOLATED] = "isolated",
                [PARTITION_ROOT] = "root",
                [PARTITION_NONE] = "none",
        };
        static const char *const ticks[] = {
                [NOHZ_OFF] = "off", [NOHZ_IDLE] = "idle", [NOHZ_FULL] = "full"
        };
        static const char *const switches[] = { "off", "on" };
        _cleanup_free_ char *text = NULL;
        StepSet record = {};
        int r = cpulist_format(&cpus->configured, &text);

        if (r < 0)
                return r;
        record.name = set->name;
        record.cpus = text;
        record.partition = (char *) partitions[set->partition];
        record.nohz = (char *) (set->nohz == PROFILE_UNSET ? "" : ticks[set->nohz]);
        record.rt_push_pull =
                (char *) (set->rt_push_pull == PROFILE_UNSET ? "" : switches[set->rt_push_pull]);
        return steps_add_set(steps, &record);
}

static int record_sets(SetsContext *context) {
        for (size_t i = 0; i < context->plan->n_sets; i++) {
                int r = record_set(
                        &context->profile->sets[i], &context->plan->sets[i], &context->plan->steps);

                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_sets(
        const Profile *profile, const World *world, const Steps *in_force, unsigned flags, Plan *plan) {
        _cleanup_free_ Progress *progress = calloc(profile->n_sets + 1, sizeof(Progress));
        SetsContext context = {
                .profile = profile,
                .world = world,
                .in_force = in_force,
                .flags = flags,
                .plan = plan,
                .progress = progress,
        };
        int r;

        plan->sets = calloc(profile->n_sets + 1, sizeof(ProfileSetCpus));
        if (!progress || !plan->sets)
                return -ENOMEM;
        plan->n_sets = profile->n_sets;
        for (size_t i = 0; i < profile->n_sets; i++) {
                r = set_evaluate(&context, i);
                if (r < 0 && r != -EINVAL)
                        return r;
        }
        r = refuse_empty(&context);
        r = r ?: refuse_overlaps(&context);
        r = r ?: record_sets(&context);
        return r ?: fill_housekeeping(&context);
}
