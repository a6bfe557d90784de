/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuset.h"

bool cpuset_has_partition(const PlanInput *input, size_t set) {
        return input->profile->sets[set].partition != PARTITION_NONE;
}

int cpuset_plan_init(CpusetPlan *context, const PlanInput *input, Plan *plan) {
        int r;

        *context = (CpusetPlan){
                .input = input,
                .plan = plan,
                .remote = cpuset_is_remote(input->world),
                .required = backend_required(input->profile, REQUIRE_PARTITION),
        };
        for (size_t i = 0; i < input->profile->n_sets; i++) {
                if (!cpuset_has_partition(input, i))
                        continue;
                r = cpulist_union(&context->shut, &input->sets[i].configured);
                if (r < 0)
                        return r;
        }
        r = cpulist_copy(&input->world->topology->online, &context->open);
        if (r < 0)
                return r;
        cpulist_subtract(&context->open, &context->shut);
        return 0;
}

void cpuset_plan_done(CpusetPlan *context) {
        cpulist_done(&context->shut);
        cpulist_done(&context->open);
}

ssize_t cpuset_find_set(const PlanInput *input, const CpuList *cpus) {
        for (size_t i = 0; i < input->profile->n_sets; i++)
                if (cpuset_has_partition(input, i) && cpulist_intersects(&input->sets[i].configured, cpus))
                        return (ssize_t) i;
        return -1;
}

const char *cpuset_found_cpus(const PlanInput *input, const WorldCgroup *cgroup) {
        _cleanup_free_ char *object = NULL;
        const Step *record;

        if (util_asprintf(&object, "/sys/fs/cgroup%s/cpuset.cpus", cgroup->path) < 0)
                return cgroup->cpus;
        record = steps_find(input->in_force, object);
        return record && record->before ? record->before : cgroup->cpus;
}

/* Slices */

/* The NUMA nodes of the set's CPUs, as far as they have memory. */
static int local_mems(const PlanInput *input, const CpuList *cpus, char **ret) {
        _cleanup_cpulist_ CpuList nodes = {};
        int r = 0;

        CPULIST_FOREACH (cpu, cpus) {
                const TopologyCpu *info = topology_cpu(input->world->topology, (unsigned) cpu);

                if (r >= 0 && info && info->node >= 0)
                        r = cpulist_add(&nodes, (unsigned) info->node);
        }
        cpulist_intersect(&nodes, &input->world->topology->memory_nodes);
        return r < 0 ? r : cpulist_format(&nodes, ret);
}

/* What the profile asks for, as the kernel prints it; without `mems =`, what was found. */
static int set_mems(const PlanInput *input, size_t set, const char *found, char **ret) {
        const char *mems = input->profile->sets[set].mems;
        _cleanup_cpulist_ CpuList nodes = {};
        int r;

        if (!mems || !*mems)
                return util_asprintf(ret, "%s", found);
        if (streq(mems, "local"))
                return local_mems(input, &input->sets[set].configured, ret);
        r = cpulist_parse(mems, &nodes, NULL);
        return r < 0 ? r : cpulist_format(&nodes, ret);
}

/* The part behind `mems=` of what a slice read before any mode; "" where it was not there. */
static const char *found_mems(const PlanInput *input, const char *object) {
        const WorldValue *value = world_value(input->world, object);
        const char *mems = value && value->found ? strstr(value->found, " mems=") : NULL;

        return mems ? mems + strlen(" mems=") : "";
}

static int add_unit(CpusetPlan *context, const char *id, const char *unit, const char *cpus,
        const char *mems, int order, const char *set) {
        _cleanup_free_ char *object = NULL, *wanted = NULL;
        const WorldValue *value;
        StepText text = {
                .id = id,
                .kind = VALUE_TEXT,
                .phase = PHASE_CGROUP,
                .order = order,
                .flags = STEP_RECREATE | context->required,
                .set = set,
        };
        int r;

        r = util_asprintf(&object, "unit/%s", unit);
        r = r ?: cpuset_unit_value(cpus, mems, &wanted);
        if (r < 0)
                return r;
        value = world_value(context->input->world, object);
        text.object = object;
        text.wanted = wanted;
        text.before = value && value->found ? value->found : "absent";
        text.now = value && value->live ? value->live : "absent";
        return backend_add(context->input, context->plan, &text);
}

/* The parent of a remote partition stays a member without limits of its own. */
static int add_parent_unit(CpusetPlan *context) {
        _cleanup_free_ char *cpus = NULL;
        int r = context->remote ? util_asprintf(&cpus, "%s", "") : cpulist_format(&context->shut, &cpus);

        return r
                ?: add_unit(context, "cpuset/rtisol/slice", CPUSET_PARENT_UNIT, cpus,
                           found_mems(context->input, "unit/" CPUSET_PARENT_UNIT), CPUSET_ORDER_PARENT,
                           NULL);
}

static int add_set_unit(CpusetPlan *context, size_t set, int order) {
        const ProfileSet *profile_set = &context->input->profile->sets[set];
        _cleanup_free_ char *id = NULL, *unit = NULL, *object = NULL, *cpus = NULL, *mems = NULL;
        int r;

        r = util_asprintf(&id, "cpuset/%s/slice", profile_set->name);
        r = r ?: cpuset_unit(profile_set->name, &unit);
        r = r ?: util_asprintf(&object, "unit/%s", unit);
        r = r ?: cpulist_format(&context->input->sets[set].configured, &cpus);
        r = r ?: set_mems(context->input, set, found_mems(context->input, object), &mems);
        return r ?: add_unit(context, id, unit, cpus, mems, order, profile_set->name);
}

/* Files of the slices */

static int add_file(CpusetPlan *context, const char *set, const char *path, const char *file,
        const char *what, const char *fresh, const char *wanted, ValueKind kind, int order) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        const WorldValue *value;
        StepText text = {
                .kind = kind,
                .wanted = wanted,
                .phase = PHASE_CGROUP,
                .order = order,
                /* What is done to other groups may change it. */
                .flags = STEP_VOLATILE | context->required,
                .set = set,
        };
        int r;

        r = util_asprintf(&id, "cpuset/%s/%s", set ?: "rtisol", what);
        r = r ?: util_asprintf(&object, "/sys/fs/cgroup%s/%s", path, file);
        if (r < 0)
                return r;
        value = world_value(context->input->world, object);
        text.id = id;
        text.object = object;
        text.before = value && value->found ? value->found : fresh;
        text.now = value ? value->live : NULL;
        return backend_add(context->input, context->plan, &text);
}

static int add_partition(
        CpusetPlan *context, const char *set, const char *path, const char *wanted, int order) {
        return add_file(context, set, path, "cpuset.cpus.partition", "partition", "member", wanted,
                VALUE_PARTITION, order);
}

static int add_exclusive(
        CpusetPlan *context, const char *set, const char *path, const CpuList *cpus, int order) {
        _cleanup_free_ char *wanted = NULL;
        int r = cpulist_format(cpus, &wanted);

        return r
                ?: add_file(context, set, path, "cpuset.cpus.exclusive", "exclusive", "", wanted,
                           VALUE_CPULIST, order);
}

/* From systemd 261 on the partition is a property of the slice, too: what it does not know of, it would undo when
 * its configuration is read anew. */
static int add_property(
        CpusetPlan *context, const char *set, const char *unit, const char *wanted, int order) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        const WorldValue *value;
        StepText text = {
                .wanted = wanted,
                .phase = PHASE_CGROUP,
                .order = order,
                .flags = context->required,
                .set = set,
        };
        int r;

        if (!world_live(context->input->world, "unit/-.slice/partition"))
                return 0;
        r = util_asprintf(&id, "cpuset/%s/property", set ?: "rtisol");
        r = r ?: util_asprintf(&object, "unit/%s/partition", unit);
        if (r < 0)
                return r;
        value = world_value(context->input->world, object);
        text.id = id;
        text.object = object;
        text.before = value && value->found && *value->found ? value->found : "member";
        text.now = value ? value->live : NULL;
        return backend_add(context->input, context->plan, &text);
}

static int add_set_files(CpusetPlan *context, size_t set, int rank) {
        const ProfileSet *profile_set = &context->input->profile->sets[set];
        const char *wanted = profile_set->partition == PARTITION_ROOT ? "root" : "isolated";
        _cleanup_free_ char *path = NULL, *unit = NULL;
        int r = cpuset_path(profile_set->name, &path);

        r = r ?: cpuset_unit(profile_set->name, &unit);
        if (r >= 0 && context->remote)
                r = add_exclusive(context, profile_set->name, path, &context->input->sets[set].configured,
                        CPUSET_ORDER_SETS + 3 * rank + 2);
        r = r
                ?: add_partition(
                           context, profile_set->name, path, wanted, CPUSET_ORDER_PARTITION + 1 + 2 * rank);
        return r
                ?: add_property(
                           context, profile_set->name, unit, wanted, CPUSET_ORDER_PARTITION + 2 + 2 * rank);
}

static int add_parent_files(CpusetPlan *context) {
        int r;

        if (context->remote)
                return add_exclusive(
                        context, NULL, CPUSET_PARENT_PATH, &context->shut, CPUSET_ORDER_PARENT_EXCLUSIVE);
        r = add_partition(context, NULL, CPUSET_PARENT_PATH, "root", CPUSET_ORDER_PARTITION);
        return r ?: add_property(context, NULL, CPUSET_PARENT_UNIT, "root", CPUSET_ORDER_PARTITION);
}

/* The order of the sets: one that gives up a CPU comes before the one that gets it. */

static int live_cpus(CpusetPlan *context, size_t set, CpuList *ret) {
        _cleanup_free_ char *path = NULL;
        const WorldCgroup *cgroup;
        int r = cpuset_path(context->input->profile->sets[set].name, &path);

        if (r < 0)
                return r;
        cgroup = world_cgroup(context->input->world, path);
        r = cgroup && cgroup->cpus ? cpulist_parse(cgroup->cpus, ret, NULL) : 0;
        return r == -ENOMEM ? r : 0;
}

/* Would giving this set its CPUs take one from a set that still has it? */
static bool must_wait(CpusetPlan *context, size_t set, const CpuList *live, const bool *done) {
        for (size_t other = 0; other < context->input->profile->n_sets; other++)
                if (other != set && !done[other] &&
                        cpulist_intersects(&context->input->sets[set].configured, &live[other]))
                        return true;
        return false;
}

/* The number of sets where all are done. */
static size_t next_set(CpusetPlan *context, const CpuList *live, const bool *done, bool *ret_waits) {
        size_t n = context->input->profile->n_sets, first = n;

        for (size_t set = 0; set < n; set++) {
                if (done[set])
                        continue;
                *ret_waits = must_wait(context, set, live, done);
                if (!*ret_waits)
                        return set;
                if (first == n)
                        first = set;
        }
        return first;
}

/* Sets that exchange CPUs wait for each other.  Local partitions are invalid for that moment, and valid again when
 * their state is looked at afterwards; meanwhile the partition above them keeps everybody else out.  Remote ones take
 * no CPU that is another's (EINVAL), and what one of them gave up first would be everybody's for that moment. */
static int refuse_exchange(CpusetPlan *context, size_t set, bool waits) {
        if (!waits || !context->remote)
                return 0;
        return plan_refuse(context->plan,
                "set %s gets CPUs of another set that gets CPUs of it: this kernel cannot exchange them "
                "while "
                "they stay isolated. Go green in between",
                context->input->profile->sets[set].name);
}

static int add_sets(CpusetPlan *context) {
        size_t n = context->input->profile->n_sets;
        _cleanup_free_ CpuList *live = calloc(n + 1, sizeof(CpuList));
        _cleanup_free_ bool *done = calloc(n + 1, sizeof(bool));
        int r = live && done ? 0 : -ENOMEM, rank = 0;
        bool waits = false;

        for (size_t set = 0; r >= 0 && set < n; set++) {
                done[set] = !cpuset_has_partition(context->input, set);
                r = done[set] ? 0 : live_cpus(context, set, &live[set]);
        }
        for (size_t set; r >= 0 && (set = next_set(context, live, done, &waits)) < n; rank++) {
                r = refuse_exchange(context, set, waits);
                r = r ?: add_set_unit(context, set, CPUSET_ORDER_SETS + 3 * rank);
                r = r ?: add_set_files(context, set, rank);
                done[set] = true;
        }
        for (size_t set = 0; live && set < n; set++)
                cpulist_done(&live[set]);
        return r;
}

/* Neighbours */

/* Groups beside rtisol.slice, whose lists must not overlap a local partition's. */
static bool is_neighbour(const WorldCgroup *cgroup) {
        return cgroup->path[0] == '/' && cgroup->path[1] && !strchr(cgroup->path + 1, '/') &&
                !streq(cgroup->path, CPUSET_PARENT_PATH);
}

/* Narrowed before the partitions are made; widened, by a switch to a smaller set, after they have shrunk.  A group that
 * this mode could leave alone keeps its step while its old one is in force: its way back comes with that of the
 * partitions. */
static int add_neighbour(CpusetPlan *context, const WorldCgroup *cgroup) {
        _cleanup_free_ char *id = NULL, *object = NULL, *wanted = NULL;
        _cleanup_cpulist_ CpuList cpus = {}, live = {};
        const char *found = cpuset_found_cpus(context->input, cgroup);
        StepText text = {
                .kind = VALUE_CPULIST,
                .before = found,
                .now = cgroup->cpus,
                .phase = PHASE_CGROUP,
                .flags = context->required,
        };
        int r = cpulist_parse(found, &cpus, NULL);

        r = r ?: cpulist_parse(cgroup->cpus, &live, NULL);
        r = r ?: util_asprintf(&id, "cpuset%s/cpus", cgroup->path);
        r = r ?: util_asprintf(&object, "/sys/fs/cgroup%s/cpuset.cpus", cgroup->path);
        if (r < 0)
                return r;
        if (!cpulist_intersects(&cpus, &context->shut) && !steps_find(context->input->in_force, object))
                return 0;
        cpulist_subtract(&cpus, &context->shut);
        r = cpulist_format(&cpus, &wanted);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        text.wanted = wanted;
        text.order = cpulist_is_subset(&cpus, &live) ? CPUSET_ORDER_NARROW : CPUSET_ORDER_WIDEN;
        return backend_add(context->input, context->plan, &text);
}

static int add_neighbours(CpusetPlan *context) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < context->input->world->n_cgroups; i++) {
                const WorldCgroup *cgroup = &context->input->world->cgroups[i];

                if (is_neighbour(cgroup) && cgroup->cpus && *cpuset_found_cpus(context->input, cgroup))
                        r = add_neighbour(context, cgroup);
        }
        return r;
}

/* Where systemd runs it enables the controller for the slices it makes, and disables it with the last one. */
static int add_controller(CpusetPlan *context) {
        StepText text = {
                .id = "cpuset/controller",
                .object = CPUSET_CONTROLLER,
                .wanted = "on",
                .phase = PHASE_CGROUP,
                .order = CPUSET_ORDER_CONTROLLER,
                .flags = context->required,
        };

        if (context->input->world->systemd || context->input->world->n_cgroups == 0)
                return 0;
        return backend_add(context->input, context->plan, &text);
}

int cpuset_plan_tasks_slice(const PlanInput *input, Plan *plan, const char *set) {
        CpusetPlan context = {
                .input = input,
                .plan = plan,
                .required = backend_required(input->profile, REQUIRE_PARTITION),
        };
        _cleanup_free_ char *id = NULL, *unit = NULL;
        int r = util_asprintf(&id, "cpuset/%s/tasks", set);

        r = r ?: cpuset_tasks_unit(set, &unit);
        return r ?: add_unit(&context, id, unit, "", "", CPUSET_ORDER_TASKS, set);
}

int cpuset_plan_steps(CpusetPlan *context) {
        int r = add_controller(context);

        if (r >= 0 && !context->remote)
                r = add_neighbours(context);
        r = r ?: add_parent_unit(context);
        r = r ?: add_parent_files(context);
        return r ?: add_sets(context);
}
