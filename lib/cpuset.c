/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuset.h"

#include <inttypes.h>

#include "world-read.h"

/* Facts about the tree of control groups */

bool cpuset_is_below(const char *path, const char *group) {
        const char *rest = util_startswith(path, group);

        return rest && (*rest == '\0' || *rest == '/');
}

bool cpuset_is_remote(const World *world) {
        for (size_t i = 0; i < world->n_cgroups; i++)
                if (world->cgroups[i].exclusive || world->cgroups[i].isolated)
                        return true;
        return false;
}

/* The nearest group that has a cpuset, from this one up; NULL where none has. */
static const WorldCgroup *nearest_cpuset(const World *world, const char *cgroup) {
        _cleanup_free_ char *path = strdup(cgroup);

        while (path && *path) {
                const WorldCgroup *group = world_cgroup(world, path);
                char *slash = strrchr(path, '/');

                if (group && group->effective && *group->effective)
                        return group;
                if (!slash || streq(path, "/"))
                        break;
                slash[slash == path] = '\0';
        }
        return NULL;
}

int cpuset_effective(const World *world, const char *cgroup, CpuList *ret) {
        const WorldCgroup *group = nearest_cpuset(world, cgroup);

        return group ? cpulist_parse(group->effective, ret, NULL)
                     : cpulist_copy(&world->topology->online, ret);
}

bool cpuset_has_own(const World *world, const char *cgroup) {
        const WorldCgroup *group = nearest_cpuset(world, cgroup);

        return group && !streq(group->path, "/");
}

/* A task whose process has a record in force is moved back before its slice's turn comes. */
static bool task_will_leave(const World *world, const WorldTask *task, uint64_t leader_start) {
        _cleanup_free_ char *object = NULL;

        return util_asprintf(&object, "task/%d/%" PRIu64 "/cgroup", task->pid, leader_start) >= 0 &&
                world_value(world, object);
}

bool cpuset_is_in_use(const World *world, const char *path) {
        uint64_t leader_start = 0;

        for (size_t i = 0; i < world->n_tasks; i++) {
                const WorldTask *task = &world->tasks[i];

                if (task->tid == task->pid)
                        leader_start = task->start;
                if (task->state == 'Z' || task->state == 'X' || !cpuset_is_below(task->cgroup, path))
                        continue;
                if (!task_will_leave(world, task, leader_start))
                        return true;
        }
        return false;
}

/* The backend */

static int cpuset_probe(Kfs *kfs, Mechanisms *mechanisms) {
        _cleanup_world_ World *world = NULL;
        int r = world_new(kfs, &world);

        r = r ?: world_read_cgroups(world);
        if (r < 0)
                return r;
        if (!world->cgroup_root)
                return mechanisms_add(mechanisms, "cpuset partitions", MECHANISM_ABSENT,
                        "cpuset.cpus.partition",
                        world->cgroup_hybrid
                                ? "cpuset is on cgroup v1 here: boot with systemd.unified_cgroup_hierarchy=1"
                                : "a kernel with CONFIG_CPUSETS and cgroup v2 at /sys/fs/cgroup");
        return mechanisms_add(mechanisms, "cpuset partitions", MECHANISM_RUNTIME,
                cpuset_is_remote(world) ? "cpuset.cpus.partition, remote (cpuset.cpus.exclusive)"
                                        : "cpuset.cpus.partition, local",
                "");
}

/* Does systemd know partitions?  Any slice tells. */
#define KNOWS_PARTITIONS "unit/-.slice/partition"

static int audit_slice(World *world, const char *unit, const char *path) {
        int r = world_readf(world, "unit/%s", unit);

        if (r == 0 && world_live(world, KNOWS_PARTITIONS))
                r = world_readf(world, "unit/%s/partition", unit);
        r = r ?: world_readf(world, "/sys/fs/cgroup%s/cpuset.cpus.partition", path);
        return r ?: world_readf(world, "/sys/fs/cgroup%s/cpuset.cpus.exclusive", path);
}

static int audit_set(World *world, const char *set) {
        _cleanup_free_ char *unit = NULL, *path = NULL, *tasks = NULL;
        int r = cpuset_unit(set, &unit);

        r = r ?: cpuset_path(set, &path);
        r = r ?: cpuset_tasks_unit(set, &tasks);
        r = r ?: audit_slice(world, unit, path);
        return r ?: world_readf(world, "unit/%s", tasks);
}

static int cpuset_audit(Kfs *kfs, const Profile *profile, World *world) {
        bool partition = false;
        int r = world_read_cgroups(world);

        for (size_t i = 0; r >= 0 && profile && i < profile->n_sets; i++) {
                if (profile->sets[i].partition == PARTITION_NONE)
                        continue;
                partition = true;
                r = world_read(world, KNOWS_PARTITIONS);
                r = r ?: audit_set(world, profile->sets[i].name);
        }
        if (r < 0 || !partition)
                return r;
        r = world_read(world, CPUSET_CONTROLLER);
        return r ?: audit_slice(world, CPUSET_PARENT_UNIT, CPUSET_PARENT_PATH);
}

static int cpuset_plan(const PlanInput *input, Plan *plan) {
        _cleanup_(cpuset_plan_done) CpusetPlan context = {};
        int r = cpuset_plan_init(&context, input, plan);

        if (r < 0 || cpulist_is_empty(&context.shut))
                return r;
        if (!input->world->cgroup_root)
                return plan_refuse(plan, "%s",
                        input->world->cgroup_hybrid ? "this machine has its cpusets on cgroup v1, which has "
                                                      "no partitions: boot with "
                                                      "systemd.unified_cgroup_hierarchy=1"
                                                    : "there is no cgroup v2 hierarchy with the cpuset "
                                                      "controller at /sys/fs/cgroup");
        r = cpuset_plan_check(&context);
        return r ?: cpuset_plan_steps(&context);
}

/* The way back */

static int give(const char *value, char **ret) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

/* What keeps running in a slice gets all CPUs; a list cannot be emptied under it. */
static int widened_value(const World *world, const char *live, char **ret) {
        _cleanup_free_ char *cpus = NULL, *mems = NULL;
        const char *limit = strstr(live, " mems=");
        int r = cpulist_format(&world->topology->online, &cpus);

        if (r >= 0 && limit && limit[strlen(" mems=")])
                r = cpulist_format(&world->topology->memory_nodes, &mems);
        return r ?: cpuset_unit_value(cpus, mems ?: "", ret);
}

static int unit_revert(const Step *step, const char *live, const World *world, char **ret) {
        const char *unit = step->object + strlen("unit/"), *before = step->before ?: "absent";
        _cleanup_free_ char *path = NULL;
        bool in_use;
        int r;

        if (!live || streq(live, "absent") || streq(live, before)) {
                *ret = NULL;
                return 0;
        }
        r = cpuset_unit_path(unit, &path);
        if (r < 0)
                return r;
        in_use = cpuset_is_in_use(world, path);
        /* A slice without a list has none to widen. */
        if (in_use && (streq(before, "absent") || util_startswith(before, "cpus= ")))
                return util_startswith(live, "cpus= ") ? give(live, ret) : widened_value(world, live, ret);
        return give(before, ret);
}

/* A group that has anything to do with cpusets, other than by us. */
static bool controller_is_wanted(const World *world) {
        for (size_t i = 0; i < world->n_cgroups; i++) {
                const WorldCgroup *cgroup = &world->cgroups[i];

                if (streq(cgroup->path, "/") || cpuset_is_below(cgroup->path, CPUSET_PARENT_PATH))
                        continue;
                if ((cgroup->cpus && *cgroup->cpus) || (cgroup->mems && *cgroup->mems) ||
                        (cgroup->partition && !streq(cgroup->partition, "member")))
                        return true;
        }
        return false;
}

static int controller_revert(const Step *step, const char *live, const World *world, char **ret) {
        bool off = live && streq(live, "on") && step->before && streq(step->before, "off");

        *ret = NULL;
        if (!off || controller_is_wanted(world) || cpuset_is_in_use(world, CPUSET_PARENT_PATH))
                return 0;
        return give("off", ret);
}

/* Whatever the kernel made of our partitions and lists meanwhile, the slice is ours: it gets what it had. */
static int file_revert(const Step *step, const char *live, char **ret) {
        *ret = NULL;
        if (!live || !step->before || value_equal(step->kind, live, step->before))
                return 0;
        return give(step->before, ret);
}

/* A neighbour that somebody gave another list meanwhile keeps it. */
static int neighbour_revert(const Step *step, const char *live, char **ret) {
        *ret = NULL;
        if (!live || !step->before || !value_equal(step->kind, live, step->wanted))
                return 0;
        return give(step->before, ret);
}

static int cpuset_revert(const Step *step, const char *live, const World *world, char **ret) {
        if (util_startswith(step->object, "unit/"))
                return strchr(step->object + strlen("unit/"), '/') ? file_revert(step, live, ret)
                                                                   : unit_revert(step, live, world, ret);
        if (streq(step->object, CPUSET_CONTROLLER))
                return controller_revert(step, live, world, ret);
        if (step->order == CPUSET_ORDER_NARROW || step->order == CPUSET_ORDER_WIDEN)
                return neighbour_revert(step, live, ret);
        return file_revert(step, live, ret);
}

const Backend backend_cpuset = {
        .name = "cpuset",
        .probe = cpuset_probe,
        .audit = cpuset_audit,
        .plan = cpuset_plan,
        .revert = cpuset_revert,
};
