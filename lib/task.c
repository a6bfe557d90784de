/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "task.h"

#include <inttypes.h>

#include "cpuset.h"
#include "place.h"
#include "world-read.h"

/* User tasks.  Control groups keep them off the sets; what is left to do is to know where they were pinned.  Some
 * kernels keep a task's own mask through all that happens to its cpuset, others (6.1) forget it with every change of
 * the tree.  Which kind this is can only be seen by looking: so every pinned task has a step, which writes where the
 * live mask is not the wanted one when its turn comes. */

static int add_step(TaskPlan *context, const WorldTask *task, const char *what, StepText *text) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        int r;

        r = util_asprintf(&id, "task/%d/%s", task->tid, what);
        r = r ?: util_asprintf(&object, "task/%d/%" PRIu64 "/%s", task->tid, task->start, what);
        if (r < 0)
                return r;
        text->id = id;
        text->object = object;
        text->flags |= STEP_TRANSIENT;
        return backend_add(context->input, context->plan, text);
}

static int add_affinity(TaskPlan *context, const WorldTask *task, const CpuList *found,
        const CpuList *wanted, const char *within, unsigned flags, const char *set) {
        _cleanup_free_ char *before = NULL, *now = NULL, *target = NULL;
        StepText text = {
                .kind = within ? VALUE_WITHIN : VALUE_CPULIST,
                .within = within,
                .phase = PHASE_TASK,
                .flags = STEP_VOLATILE | flags,
                .set = set,
        };
        int r = cpulist_format(found, &before);

        r = r ?: cpulist_format(&task->live, &now);
        r = r ?: cpulist_format(wanted, &target);
        if (r < 0)
                return r;
        text.before = before;
        text.now = now;
        text.wanted = target;
        return add_step(context, task, "affinity", &text);
}

/* Outside the sets */

/* It was given other CPUs while the mode was in force, by itself or by an admin: the value before any mode is no longer
 * what it should get back. */
static int was_changed(TaskPlan *context, const WorldTask *task, const Step *record) {
        _cleanup_cpulist_ CpuList given = {};
        int r = cpulist_parse(record->wanted, &given, NULL);

        if (r < 0 || cpulist_equal(&given, &task->live))
                return r;
        return task_is_pinned(context, task, &task->live);
}

static int keep_off(TaskPlan *context, const WorldTask *task, const CpuList *found) {
        const Step *record = task_record(context, task);
        _cleanup_cpulist_ CpuList wanted = {}, online = {};
        unsigned flags = 0;
        int r = record ? was_changed(context, task, record) : 0;
        bool changed = r > 0;

        if (changed)
                found = &task->live;
        r = r < 0 ? r : task_online_part(context, found, &online);
        if (r < 0)
                return r;
        /* What came later and stays as narrow as it is can be worked out again from what it looks like. */
        if (changed ||
                (!record && context->was_shut && cpulist_is_subset(&online, &context->open) &&
                        !cpulist_equal(&online, &context->open)))
                flags |= STEP_UNRECORDED;
        r = backend_keep_off(found, &context->open, &wanted);
        return r ?: add_affinity(context, task, found, &wanted, context->within, flags, NULL);
}

/* In a mode without partitions: the records are given back one by one, and here is what has none. */
static int give_back(TaskPlan *context, const WorldTask *task, const CpuList *found) {
        int r = cpulist_equal(found, &task->live) ? task_is_pinned(context, task, &task->live) : 1;

        if (r < 0 || task_record(context, task))
                return r < 0 ? r : 0;
        /* The kernel gives back by itself what it took; of CPUs that are away just now it forgets to. */
        if (r == 0 && cpulist_is_empty(&context->away))
                return 0;
        if (r == 0)
                found = &context->input->world->topology->possible;
        return add_affinity(context, task, found, found, NULL, STEP_UNRECORDED, NULL);
}

/* Inside the sets */

static int adopt_thread(
        TaskPlan *context, const WorldTask *task, const CpuList *found, bool pinned, ssize_t set) {
        const ProfileSetCpus *cpus = &context->input->sets[set];
        const CpuList *control = &cpus->control_cpus;
        _cleanup_cpulist_ CpuList wanted = {};
        _cleanup_free_ char *within = NULL;
        int r;

        if (!pinned && cpulist_is_empty(control))
                return 0;
        r = cpulist_copy(pinned ? found : control, &wanted);
        if (r < 0)
                return r;
        cpulist_intersect(&wanted, &cpus->cpus);
        if (cpulist_is_empty(&wanted))
                r = cpulist_union(&wanted, cpulist_is_empty(control) ? &cpus->cpus : control);
        r = r ?: cpulist_format(&cpus->cpus, &within);
        return r
                ?: add_affinity(context, task, found, &wanted, within, 0,
                           context->input->profile->sets[set].name);
}

/* First on the way back, so that the slice is empty when its turn comes. */
static int adopt_process(TaskPlan *context, const TaskProcess *process, ssize_t set) {
        const WorldTask *leader = &process->threads[0];
        const char *name = context->input->profile->sets[set].name;
        _cleanup_free_ char *wanted = NULL;
        StepText text = {
                .kind = VALUE_TEXT,
                .before = leader->cgroup,
                .now = leader->cgroup,
                .phase = PHASE_CGROUP,
                .order = CPUSET_ORDER_ADOPT,
                .set = name,
        };
        int r = cpuset_tasks_path(name, &wanted);

        text.wanted = wanted;
        r = r ?: add_step(context, leader, "cgroup", &text);
        for (size_t i = 0; r >= 0 && i < process->n; i++)
                r = adopt_thread(context, &process->threads[i], &process->found[i], process->pinned[i], set);
        context->used[set] = true;
        return r;
}

/* The index of the set whose slice a cgroup is in, where this mode has it; -1. */
static ssize_t set_of_cgroup(const TaskPlan *context, const char *cgroup) {
        for (size_t i = 0; i < context->input->profile->n_sets; i++) {
                _cleanup_free_ char *path = NULL;

                if (cpuset_has_partition(context->input, i) &&
                        cpuset_path(context->input->profile->sets[i].name, &path) >= 0 &&
                        cpuset_is_below(cgroup, path))
                        return (ssize_t) i;
        }
        return -1;
}

/* A thread that pinned itself inside its set is still there when the set gets other CPUs. */
static int keep_inside(TaskPlan *context, const TaskProcess *process, ssize_t set) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < process->n; i++) {
                const WorldTask *thread = &process->threads[i];
                _cleanup_cpulist_ CpuList wanted = {};

                r = task_is_pinned(context, thread, &thread->live);
                if (r <= 0)
                        continue;
                r = cpulist_copy(&thread->live, &wanted);
                cpulist_intersect(&wanted, &context->input->sets[set].cpus);
                if (r >= 0 && !cpulist_is_empty(&wanted))
                        r = add_affinity(
                                context, thread, &thread->live, &wanted, NULL, STEP_UNRECORDED, NULL);
        }
        return r;
}

static const Step *cgroup_record(const TaskPlan *context, const WorldTask *leader) {
        _cleanup_free_ char *object = NULL;

        if (util_asprintf(&object, "task/%d/%" PRIu64 "/cgroup", leader->tid, leader->start) < 0)
                return NULL;
        return steps_find(context->input->in_force, object);
}

static int plan_inside(TaskPlan *context, const TaskProcess *process) {
        ssize_t set = set_of_cgroup(context, process->threads[0].cgroup);

        if (set < 0)
                return 0;
        return cgroup_record(context, &process->threads[0]) ? adopt_process(context, process, set)
                                                            : keep_inside(context, process, set);
}

/* Processes */

static int plan_outside(TaskPlan *context, const TaskProcess *process) {
        ssize_t set = -1;
        int r = process->n_inside > 0 ? task_plan_inside(context, process, &set) : 0;

        if (r >= 0 && set >= 0)
                return adopt_process(context, process, set);
        for (size_t i = 0; r >= 0 && i < process->n; i++)
                if (cpulist_is_empty(&context->shut))
                        r = context->was_shut ? give_back(context, &process->threads[i], &process->found[i])
                                              : 0;
                else if (process->pinned[i])
                        r = keep_off(context, &process->threads[i], &process->found[i]);
        return r;
}

/* A thread of a cpuset that is all inside a set counts as pinned there where it is to be adopted; otherwise the cpuset
 * itself was refused, or is left to the kernel. */
static int look_at_thread(TaskPlan *context, TaskProcess *process, size_t i, bool pinned_ancestor) {
        const WorldTask *thread = &process->threads[i];
        const Step *record = task_record(context, thread);
        _cleanup_cpulist_ CpuList online = {};
        int pinned, r = task_found(context, thread, &process->found[i]);

        r = r ?: task_online_part(context, &process->found[i], &online);
        if (r < 0)
                return r;
        pinned = task_is_pinned(context, thread, &thread->live);
        if (pinned < 0)
                return pinned;
        process->pinned[i] =
                pinned || record || pinned_ancestor || !cpulist_equal(&process->found[i], &thread->live);
        process->inside[i] = !cpulist_is_empty(&online) && cpulist_is_subset(&online, &context->shut) &&
                (pinned || record || context->input->profile->pinned == PINNED_ADOPT);
        process->n_inside += process->inside[i];
        return 0;
}

/* Threads of a process with a pinned one are recorded, too: a later thread is then known by having no record. */
static int look_at_process(TaskPlan *context, TaskProcess *process) {
        int above = task_has_pinned_ancestor(context, &process->threads[0]);

        if (above == 0 && process->n > 1)
                above = task_record(context, &process->threads[0])
                        ? 1
                        : task_is_pinned(context, &process->threads[0], &process->threads[0].live);
        for (size_t i = 0; above >= 0 && i < process->n; i++) {
                int r = look_at_thread(context, process, i, above > 0);

                if (r < 0)
                        return r;
        }
        return above < 0 ? above : 0;
}

static int plan_process(TaskPlan *context, const WorldTask *threads, size_t n) {
        _cleanup_free_ CpuList *found = calloc(n, sizeof(CpuList));
        _cleanup_free_ bool *pinned = calloc(n, sizeof(bool)), *inside = calloc(n, sizeof(bool));
        TaskProcess process = {
                .threads = threads, .n = n, .found = found, .pinned = pinned, .inside = inside
        };
        int r = found && pinned && inside ? look_at_process(context, &process) : -ENOMEM;

        if (r >= 0)
                r = cpuset_is_below(threads[0].cgroup, CPUSET_PARENT_PATH) ? plan_inside(context, &process)
                                                                           : plan_outside(context, &process);
        for (size_t i = 0; found && i < n; i++)
                cpulist_done(&found[i]);
        return r;
}

static bool is_of_interest(const WorldTask *task) {
        return !task->kernel && task->state != 'Z' && task->state != 'X' && !cpulist_is_empty(&task->live);
}

static int plan_processes(TaskPlan *context) {
        const World *world = context->input->world;
        int r = 0;

        for (size_t i = 0, n; r >= 0 && i < world->n_tasks; i += n) {
                n = 1;
                if (!is_of_interest(&world->tasks[i]))
                        continue;
                while (i + n < world->n_tasks && world->tasks[i + n].pid == world->tasks[i].pid &&
                        is_of_interest(&world->tasks[i + n]))
                        n++;
                r = plan_process(context, &world->tasks[i], n);
        }
        return r;
}

/* The slices for what is put into the sets, now or by a rule later. */
static int add_slices(TaskPlan *context) {
        const Profile *profile = context->input->profile;
        int r = 0;

        for (size_t i = 0; i < profile->n_tasks; i++) {
                const ProfileSet *set = profile_set(profile, profile->tasks[i].set);

                if (set && set->partition != PARTITION_NONE)
                        context->used[set - profile->sets] = true;
        }
        for (size_t i = 0; r >= 0 && i < profile->n_sets; i++)
                if (context->used[i])
                        r = cpuset_plan_tasks_slice(context->input, context->plan, profile->sets[i].name);
        return r;
}

static int task_plan(const PlanInput *input, Plan *plan) {
        _cleanup_(task_plan_done) TaskPlan context = {};
        int r = task_plan_init(&context, input, plan);

        if (r >= 0 && (!cpulist_is_empty(&context.shut) || context.was_shut)) {
                r = plan_processes(&context);
                r = r ?: add_slices(&context);
        }
        r = r < 0 ? r : place_plan(input, plan);
        return r < 0 ? r : task_plan_check_control(input, plan);
}

static int task_audit(Kfs *kfs, const Profile *profile, World *world) {
        return world_read_tasks(world);
}

static int task_probe(Kfs *kfs, Mechanisms *mechanisms) {
        return mechanisms_add(mechanisms, "tasks", MECHANISM_RUNTIME, "sched_setaffinity(2)", "");
}

/* The kernel may have given it all CPUs of its group meanwhile, and with them what was lost is given back; any other
 * value is somebody's will. */
static int affinity_revert(const Step *step, const char *live, const World *world, char **ret) {
        const WorldTask *task = NULL;
        _cleanup_cpulist_ CpuList full = {}, now = {};
        int r;

        *ret = NULL;
        if (!live || !step->before)
                return 0;
        for (size_t i = 0; !task && i < world->n_tasks; i++)
                if (world->tasks[i].tid == atoi(step->object + strlen("task/")))
                        task = &world->tasks[i];
        r = cpuset_effective(world, task && *task->cgroup ? task->cgroup : "/", &full);
        r = r ?: cpulist_parse(live, &now, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!value_equal(VALUE_CPULIST, live, step->wanted) && !cpulist_is_subset(&full, &now))
                return 0;
        *ret = strdup(step->before);
        return *ret ? 0 : -ENOMEM;
}

static int task_revert(const Step *step, const char *live, const World *world, char **ret) {
        if (streq(strrchr(step->object, '/'), "/affinity"))
                return affinity_revert(step, live, world, ret);
        *ret = NULL;
        if (!live || !step->before || !streq(live, step->wanted))
                return 0;
        *ret = strdup(step->before);
        return *ret ? 0 : -ENOMEM;
}

const Backend backend_task = {
        .name = "task",
        .probe = task_probe,
        .audit = task_audit,
        .plan = task_plan,
        .revert = task_revert,
};
