/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "cpuset.h"
#include "task.h"

static int record_tid(const Step *step) {
        return atoi(step->object + strlen("task/"));
}

static bool is_affinity(const Step *step) {
        return util_startswith(step->object, "task/") && step->backend && streq(step->backend, "task") &&
                streq(strrchr(step->object, '/'), "/affinity");
}

static int compare_records(const void *a, const void *b) {
        return record_tid(*(const Step *const *) a) - record_tid(*(const Step *const *) b);
}

/* Ten thousand threads each look for their record. */
static int index_records(TaskPlan *context) {
        const Steps *in_force = context->input->in_force;

        context->records = calloc(in_force ? in_force->n + 1 : 1, sizeof(Step *));
        if (!context->records)
                return -ENOMEM;
        for (size_t i = 0; in_force && i < in_force->n; i++)
                if (is_affinity(&in_force->items[i]))
                        context->records[context->n_records++] = &in_force->items[i];
        if (context->n_records > 0)
                qsort(context->records, context->n_records, sizeof(Step *), compare_records);
        return 0;
}

int task_plan_init(TaskPlan *context, const PlanInput *input, Plan *plan) {
        _cleanup_cpulist_ CpuList within = {};
        int r;

        *context = (TaskPlan){ .input = input, .plan = plan };
        context->used = calloc(input->profile->n_sets + 1, sizeof(bool));
        if (!context->used)
                return -ENOMEM;
        for (size_t i = 0; input->in_force && i < input->in_force->n_sets; i++)
                context->was_shut = context->was_shut || !streq(input->in_force->sets[i].partition, "none");
        for (size_t i = 0; i < input->profile->n_sets; i++) {
                if (!cpuset_has_partition(input, i))
                        continue;
                r = cpulist_union(&context->shut, &input->sets[i].configured);
                if (r < 0)
                        return r;
        }
        r = cpulist_copy(&input->world->topology->online, &context->open);
        r = r ?: cpulist_copy(&input->world->topology->possible, &within);
        r = r ?: cpulist_copy(&input->world->topology->present, &context->away);
        if (r < 0)
                return r;
        cpulist_subtract(&context->away, &input->world->topology->online);
        cpulist_subtract(&context->open, &context->shut);
        /* A mask may have CPUs that are away as long as they are not the sets'. */
        cpulist_subtract(&within, &context->shut);
        r = cpulist_format(&within, &context->within);
        return r ?: index_records(context);
}

void task_plan_done(TaskPlan *context) {
        cpulist_done(&context->shut);
        cpulist_done(&context->open);
        cpulist_done(&context->away);
        cpulist_done(&context->full);
        free(context->cgroup);
        free(context->within);
        free(context->records);
        free(context->used);
}

const Step *task_record(const TaskPlan *context, const WorldTask *task) {
        size_t low = 0, high = context->n_records;

        while (low < high) {
                size_t middle = (low + high) / 2;
                int order = task->tid - record_tid(context->records[middle]);
                uint64_t start;

                if (order == 0) {
                        const char *object = context->records[middle]->object;

                        if (sscanf(object, "task/%*d/%" SCNu64 "/", &start) != 1 || start != task->start)
                                return NULL;
                        return context->records[middle];
                }
                if (order > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

/* The leading thread of a process, by bisection: tasks ascend by process and thread. */
static const WorldTask *find_process(const World *world, int pid) {
        size_t low = 0, high = world->n_tasks;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (world->tasks[middle].pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < world->n_tasks && world->tasks[low].pid == pid; low++)
                if (world->tasks[low].tid == pid)
                        return &world->tasks[low];
        return NULL;
}

/* Of a thread the leading one is the nearest, then the processes above it.  No chain is longer than there are
 * tasks. */
const Step *task_ancestor_record(const TaskPlan *context, const WorldTask *task) {
        const World *world = context->input->world;
        int pid = task->tid == task->pid ? task->ppid : task->pid;

        for (size_t i = 0; pid > 0 && i < world->n_tasks; i++) {
                const WorldTask *above = find_process(world, pid);
                const Step *record = above ? task_record(context, above) : NULL;

                if (record || !above)
                        return record;
                pid = above->ppid;
        }
        return NULL;
}

int task_has_pinned_ancestor(TaskPlan *context, const WorldTask *process) {
        const World *world = context->input->world;
        int pid = process->ppid;

        for (size_t i = 0; pid > 0 && i < world->n_tasks; i++) {
                const WorldTask *above = find_process(world, pid);
                int r;

                if (!above || above->kernel)
                        return 0;
                r = task_record(context, above) ? 1 : task_is_pinned(context, above, &above->live);
                if (r != 0)
                        return r;
                pid = above->ppid;
        }
        return 0;
}

int task_found(const TaskPlan *context, const WorldTask *task, CpuList *ret) {
        const Step *record = task_record(context, task) ? NULL : task_ancestor_record(context, task);
        _cleanup_cpulist_ CpuList given = {}, before = {};
        int r;

        if (!record || !record->before)
                return cpulist_copy(&task->found, ret);
        r = cpulist_parse(record->wanted, &given, NULL);
        r = r ?: cpulist_parse(record->before, &before, NULL);
        if (r < 0)
                return r;
        if (!cpulist_equal(&given, &task->live))
                return cpulist_copy(&task->found, ret);
        *ret = cpulist_take(&before);
        return 0;
}

int task_online_part(const TaskPlan *context, const CpuList *cpus, CpuList *ret) {
        int r = cpulist_copy(cpus, ret);

        cpulist_intersect(ret, &context->input->world->topology->online);
        return r;
}

/* What a task of the group has that is not pinned.  In the root's cpuset, where no mode was, that is every CPU: there
 * a mask keeps those that are away. */
static int full_of(const TaskPlan *context, const char *cgroup, CpuList *ret) {
        const World *world = context->input->world;
        int r = cpuset_effective(world, cgroup, ret);

        if (r < 0)
                return r;
        cpulist_intersect(ret, &world->topology->online);
        return context->was_shut || cpuset_has_own(world, cgroup) ? 0 : cpulist_union(ret, &context->away);
}

int task_is_pinned(TaskPlan *context, const WorldTask *task, const CpuList *cpus) {
        if (!context->cgroup || !streq(context->cgroup, task->cgroup)) {
                _cleanup_cpulist_ CpuList full = {};
                char *copy = strdup(task->cgroup);
                int r;

                if (!copy)
                        return -ENOMEM;
                free(context->cgroup);
                context->cgroup = copy;
                r = full_of(context, *copy ? copy : "/", &full);
                if (r < 0)
                        return r;
                cpulist_done(&context->full);
                context->full = cpulist_take(&full);
        }
        return !cpulist_is_subset(&context->full, cpus);
}
