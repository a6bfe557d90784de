/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "cpuset.h"
#include "plan.h"
#include "task.h"

/* The name of a set that the CPUs touch. */
static const char *set_name(const CpusetPlan *context, const CpuList *cpus) {
        ssize_t set = cpuset_find_set(context->input, cpus);

        return set < 0 ? "" : context->input->profile->sets[set].name;
}

/* ` (sleep, pid 812)`, or "" for a group without tasks. */
static int name_task(const World *world, const char *path, char **ret) {
        for (size_t i = 0; i < world->n_tasks; i++) {
                _cleanup_free_ char *comm = NULL;
                int r;

                if (!cpuset_is_below(world->tasks[i].cgroup, path))
                        continue;
                r = task_printable_comm(&world->tasks[i], &comm);
                return r ?: util_asprintf(ret, " (%s, pid %d)", comm, world->tasks[i].pid);
        }
        return util_asprintf(ret, "%s", "");
}

static int refuse_inside(
        CpusetPlan *context, const WorldCgroup *cgroup, const char *found, const char *set) {
        _cleanup_free_ char *task = NULL;
        int r = name_task(context->input->world, cgroup->path, &task);

        return r
                ?: plan_refuse(context->plan,
                           "%s%s has cpuset.cpus = %s, all inside set %s: its work would be moved to other "
                           "CPUs. "
                           "Give it other CPUs (AllowedCPUs=), or end it",
                           cgroup->path, task, found, set);
}

/* The mode is in force: the set has these CPUs already, whoever asked for them since, and is mended all the same. */
static int warn_inside(CpusetPlan *context, const WorldCgroup *cgroup, const char *found, const char *set) {
        _cleanup_free_ char *task = NULL;
        int r = cgroup->populated ? name_task(context->input->world, cgroup->path, &task) : 0;

        if (r < 0 || !cgroup->populated)
                return r;
        return plan_warn(context->plan,
                "%s%s has cpuset.cpus = %s, all inside set %s: its work runs on other CPUs while the mode "
                "is in "
                "force",
                cgroup->path, task, found, set);
}

static int warn_narrowed(
        CpusetPlan *context, const WorldCgroup *cgroup, const char *found, const CpuList *left) {
        _cleanup_free_ char *text = NULL;
        int r = cpulist_format(left, &text);

        return r
                ?: plan_warn(context->plan,
                           "%s has cpuset.cpus = %s and is left with %s while the mode is in force",
                           cgroup->path, found, text);
}

/* A list that is left with nothing would be that of the group above: the group's work loses its CPUs without a word.
 * Beside rtisol.slice the kernel takes no such list at all, tasks or not. */
static int check_cgroup(CpusetPlan *context, const WorldCgroup *cgroup) {
        const char *found = cpuset_found_cpus(context->input, cgroup), *set;
        _cleanup_cpulist_ CpuList cpus = {}, left = {};
        bool neighbour = !strchr(cgroup->path + 1, '/');
        int r = cpulist_parse(found, &cpus, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!cpulist_intersects(&cpus, &context->shut))
                return 0;
        set = set_name(context, &cpus);
        r = cpulist_copy(&cpus, &left);
        if (r < 0)
                return r;
        cpulist_intersect(&left, &context->open);
        if (!cpulist_is_empty(&left))
                return cgroup->populated ? warn_narrowed(context, cgroup, found, &left) : 0;
        if (!neighbour && context->input->flags & PLAN_MEND)
                return warn_inside(context, cgroup, found, set);
        if (neighbour || (cgroup->populated && context->input->profile->pinned == PINNED_REFUSE))
                return refuse_inside(context, cgroup, found, set);
        return 0;
}

static bool is_set_of_plan(const CpusetPlan *context, const char *path) {
        _cleanup_free_ char *name = NULL;

        if (!cpuset_is_inside(path, &name) || !name)
                return false;
        for (size_t i = 0; i < context->input->profile->n_sets; i++)
                if (cpuset_has_partition(context->input, i) &&
                        streq(context->input->profile->sets[i].name, name))
                        return true;
        return false;
}

/* Below a local partition all CPUs belong to the sets: whoever else is there would have none. */
static int check_below_parent(CpusetPlan *context, const WorldCgroup *cgroup) {
        _cleanup_free_ char *task = NULL;
        int r;

        if (context->remote || is_set_of_plan(context, cgroup->path) ||
                !cpuset_is_in_use(context->input->world, cgroup->path))
                return 0;
        r = name_task(context->input->world, cgroup->path, &task);
        return r
                ?: plan_refuse(context->plan,
                           "%s%s is in use and is no set of this mode: below " CPUSET_PARENT_UNIT
                           " it would have no CPU left. End or move what runs there",
                           cgroup->path, task);
}

int cpuset_plan_check(CpusetPlan *context) {
        const World *world = context->input->world;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < world->n_cgroups; i++) {
                const WorldCgroup *cgroup = &world->cgroups[i];
                const char *below = util_startswith(cgroup->path, CPUSET_PARENT_PATH "/");

                if (below && !strchr(below, '/'))
                        r = check_below_parent(context, cgroup);
                else if (!cpuset_is_below(cgroup->path, CPUSET_PARENT_PATH) && cgroup->cpus && *cgroup->cpus)
                        r = check_cgroup(context, cgroup);
        }
        return r;
}
