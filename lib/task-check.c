/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <sched.h>

#include "cpuset.h"
#include "plan.h"
#include "task.h"

int task_printable_comm(const WorldTask *task, char **ret) {
        char *text = calloc(4, strlen(task->comm) + 1), *end = text;

        if (!text)
                return -ENOMEM;
        for (const char *p = task->comm; *p; p++)
                if (*p >= ' ' && *p <= '~')
                        *end++ = *p;
                else
                        end += snprintf(end, 5, "\\x%02x", (unsigned char) *p);
        *ret = text;
        return 0;
}

/* Work inside the sets */

static size_t first_inside(const TaskProcess *process) {
        for (size_t i = 0; i < process->n; i++)
                if (process->inside[i])
                        return i;
        return 0;
}

/* A rule of the profile that says where this program belongs; -1. */
static ssize_t rule_set(const TaskPlan *context, const TaskProcess *process) {
        const Profile *profile = context->input->profile;

        for (size_t i = 0; i < profile->n_tasks; i++) {
                const ProfileTask *rule = &profile->tasks[i];
                const ProfileSet *set = profile_set(profile, rule->set);

                if (!set || rule->unit || !rule->match ||
                        !cpuset_has_partition(context->input, (size_t) (set - profile->sets)))
                        continue;
                if (profile_matches(rule->match, process->threads[0].comm))
                        return set - profile->sets;
        }
        return -1;
}

static int refuse_pinned(TaskPlan *context, const TaskProcess *process, const char *set) {
        size_t first = first_inside(process);
        const WorldTask *thread = &process->threads[first], *leader = &process->threads[0];
        _cleanup_free_ char *comm = NULL, *name = NULL, *cpus = NULL, *who = NULL, *more = NULL;
        int r = task_printable_comm(leader, &comm);

        r = r ?: task_printable_comm(thread, &name);
        r = r ?: cpulist_format(&process->found[first], &cpus);
        if (r >= 0 && thread->tid != thread->pid)
                r = util_asprintf(&who, ", thread %d %s", thread->tid, name);
        if (r >= 0 && process->n_inside > 1)
                r = util_asprintf(&more, " (and %zu more of its threads)", process->n_inside - 1);
        return r
                ?: plan_refuse(context->plan,
                           "process %d %s%s (%s) is pinned to CPUs %s, all inside set %s%s: move it, end "
                           "it, or have "
                           "`pinned = adopt` or `pinned = ignore` in the profile",
                           thread->pid, comm, who ?: "", *thread->cgroup ? thread->cgroup : "/", cpus, set,
                           more ?: "");
}

static int refuse_apart(TaskPlan *context, const TaskProcess *process, ssize_t a, ssize_t b) {
        const ProfileSet *sets = context->input->profile->sets;
        _cleanup_free_ char *comm = NULL;
        int r = task_printable_comm(&process->threads[0], &comm);

        return r
                ?: plan_refuse(context->plan,
                           "process %d %s has threads pinned inside set %s and inside set %s: it cannot be "
                           "moved into "
                           "both",
                           process->threads[0].pid, comm, sets[a].name, sets[b].name);
}

/* The one set that all its pinned threads are in. */
static int common_set(TaskPlan *context, const TaskProcess *process, ssize_t *ret_set) {
        ssize_t set = -1;

        for (size_t i = 0; i < process->n; i++) {
                ssize_t other =
                        process->inside[i] ? cpuset_find_set(context->input, &process->found[i]) : set;

                if (set >= 0 && other != set)
                        return refuse_apart(context, process, set, other);
                set = other;
        }
        *ret_set = set;
        return 0;
}

int task_plan_inside(TaskPlan *context, const TaskProcess *process, ssize_t *ret_set) {
        const Profile *profile = context->input->profile;
        ssize_t set = cpuset_find_set(context->input, &process->found[first_inside(process)]);
        ssize_t rule = rule_set(context, process);

        *ret_set = -1;
        if (rule >= 0)
                *ret_set = rule;
        else if (profile->pinned == PINNED_REFUSE)
                return refuse_pinned(context, process, profile->sets[set].name);
        else if (profile->pinned == PINNED_ADOPT)
                return common_set(context, process, ret_set);
        return 0;
}

/* Real-time threads on control CPUs */

static bool is_fixed_priority(const WorldTask *task) {
        return task->policy == SCHED_FIFO || task->policy == SCHED_RR;
}

/* The control CPUs that a list is confined to with the first of them in it: the set's index, or -1. */
static ssize_t control_of(const PlanInput *input, const CpuList *cpus) {
        for (size_t i = 0; i < input->profile->n_sets; i++) {
                const CpuList *control = &input->sets[i].control_cpus;

                if (!cpulist_is_empty(control) && cpulist_is_subset(cpus, control) &&
                        cpulist_has(cpus, (unsigned) cpulist_next(control, -1)))
                        return (ssize_t) i;
        }
        return -1;
}

static int tell_control(const PlanInput *input, Plan *plan, const WorldTask *task, size_t set) {
        int first = cpulist_next(&input->sets[set].control_cpus, -1);
        _cleanup_free_ char *comm = NULL, *text = NULL;
        int r = task_printable_comm(task, &comm);

        r = r
                ?: util_asprintf(&text,
                           "thread %d %s of process %d is real-time (%s %d) and would run on CPU %d, the "
                           "first "
                           "of the control CPUs of set %s: what starts there would never run. Pin it to "
                           "another CPU of the set, or take its priority away",
                           task->tid, comm, task->pid, task->policy == SCHED_FIFO ? "fifo" : "rr",
                           task->priority, first, input->profile->sets[set].name);
        if (r < 0)
                return r;
        return input->flags & PLAN_MEND ? plan_warn(plan, "%s", text) : plan_refuse(plan, "%s", text);
}

static int check_control(const PlanInput *input, Plan *plan, const WorldTask *task) {
        _cleanup_free_ char *object = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        const Step *step;
        ssize_t set;
        int r = util_asprintf(&object, "task/%d/%" PRIu64 "/affinity", task->tid, task->start);

        if (r < 0)
                return r;
        step = steps_find(&plan->steps, object);
        if (!step)
                return 0;
        r = cpulist_parse(step->wanted, &cpus, NULL);
        if (r < 0 || cpulist_is_empty(&cpus))
                return r;
        set = control_of(input, &cpus);
        return set < 0 ? 0 : tell_control(input, plan, task, (size_t) set);
}

int task_plan_check_control(const PlanInput *input, Plan *plan) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < input->world->n_tasks; i++)
                if (!input->world->tasks[i].kernel && is_fixed_priority(&input->world->tasks[i]))
                        r = check_control(input, plan, &input->world->tasks[i]);
        return r;
}

/* Work that holds green back */

static bool is_realtime(const WorldTask *task) {
        return is_fixed_priority(task) || task->policy == 6 /* SCHED_DEADLINE */;
}

/* By bisection: tasks ascend by process and thread. */
static const WorldTask *find_thread(const World *world, const WorldTask *like) {
        size_t low = 0, high = world ? world->n_tasks : 0;

        while (low < high) {
                size_t middle = (low + high) / 2;
                const WorldTask *task = &world->tasks[middle];
                int order = like->pid - task->pid ?: like->tid - task->tid;

                if (order == 0)
                        return task->start == like->start ? task : NULL;
                if (order > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

static bool is_polling(const WorldTask *task, const World *earlier, uint64_t elapsed_ns) {
        const WorldTask *then = find_thread(earlier, task);

        return then && elapsed_ns > 0 && task->runtime_ns > then->runtime_ns &&
                task->runtime_ns - then->runtime_ns > elapsed_ns / 5 * 4;
}

static int add_blocker(char ***strv, const WorldTask *task) {
        _cleanup_free_ char *comm = NULL, *sentence = NULL;
        int r = task_printable_comm(task, &comm);

        r = r
                ?: util_asprintf(&sentence, "process %d %s runs in %s as a %s task", task->pid, comm,
                           task->cgroup, is_realtime(task) ? "real-time" : "polling");
        return r ?: util_strv_push(strv, sentence);
}

static bool is_inside(const WorldTask *task) {
        return !task->kernel && cpuset_is_below(task->cgroup, CPUSET_PARENT_PATH);
}

bool task_any_inside(const World *world) {
        for (size_t i = 0; i < world->n_tasks; i++)
                if (is_inside(&world->tasks[i]))
                        return true;
        return false;
}

int task_green_blockers(const World *now, const World *earlier, uint64_t elapsed_ns, char ***ret) {
        _cleanup_strv_ char **blockers = NULL;
        int named = -1, r = 0;

        for (size_t i = 0; r >= 0 && i < now->n_tasks; i++) {
                const WorldTask *task = &now->tasks[i];

                if (task->pid == named || !is_inside(task))
                        continue;
                if (!is_realtime(task) && !is_polling(task, earlier, elapsed_ns))
                        continue;
                named = task->pid;
                r = add_blocker(&blockers, task);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(blockers);
        return 0;
}
