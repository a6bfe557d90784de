/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "place.h"

#include <inttypes.h>

#include "cpuexpr.h"
#include "cpuset.h"

/* The last element of a cgroup path is its unit; a process may be in a group below the unit's. */
static bool cgroup_is_of_unit(const char *cgroup, const char *unit) {
        size_t n = strlen(unit);

        for (const char *p = strstr(cgroup, unit); p; p = strstr(p + 1, unit))
                if (p > cgroup && p[-1] == '/' && (p[n] == '/' || p[n] == '\0'))
                        return true;
        return false;
}

static bool rule_matches(const ProfileTask *rule, const char *comm, const char *cgroup) {
        if (rule->match && !profile_matches(rule->match, comm))
                return false;
        return !rule->unit || cgroup_is_of_unit(cgroup, rule->unit);
}

/* The first rule that matches says which set the process belongs to. */
static const ProfileTask *find_rule(const Profile *profile, const char *comm, const char *cgroup) {
        for (size_t i = 0; i < profile->n_tasks; i++)
                if (rule_matches(&profile->tasks[i], comm, cgroup))
                        return &profile->tasks[i];
        return NULL;
}

bool place_concerns(const Profile *profile, const char *comm, const char *cgroup) {
        return find_rule(profile, comm, cgroup) || cpuset_is_inside(cgroup, NULL);
}

static int resolve_set(void *userdata, const char *name, CpuList *ret) {
        const PlanInput *input = userdata;
        const ProfileSet *set = profile_set(input->profile, name);

        return set ? cpulist_copy(&input->sets[set - input->profile->sets].cpus, ret) : -ENOENT;
}

/* What is decided about one process. */
typedef struct Place {
        const PlanInput *input;
        const ProfileTask *rule;   /* or NULL */
        const char *comm, *cgroup; /* the process's name, and where it was before it was moved */
        const ProfileSet *set;
        const ProfileSetCpus *cpus;
        Steps *steps;
} Place;

static bool is_housekeeping_wide(const PlanInput *input, const CpuList *affinity) {
        return cpulist_is_subset(&input->housekeeping, affinity);
}

/* A task that may run everywhere it is let has pinned itself nowhere: what it is given back is every CPU, or it
 * would stay out of the set for ever. */
static int format_before(const Place *place, const WorldTask *task, char **ret) {
        bool free = is_housekeeping_wide(place->input, &task->found) ||
                cpulist_equal(&task->found, &place->cpus->cpus);

        return cpulist_format(free ? &place->input->world->topology->possible : &task->found, ret);
}

static int add_step(Place *place, const WorldTask *task, const char *what, Step *step) {
        int r;

        r = util_asprintf(&step->object, "task/%d/%" PRIu64 "/%s", task->tid, task->start, what);
        if (r >= 0)
                r = util_asprintf(&step->id, "task/%d/%s", task->tid, what);
        if (r >= 0) {
                step->set = strdup(place->set->name);
                step->backend = strdup("task");
                r = step->set && step->backend ? 0 : -ENOMEM;
        }
        step->flags |= STEP_TRANSIENT;
        if (r < 0) {
                step_done(step);
                return r;
        }
        return steps_add(place->steps, step);
}

/* Moving comes with the cgroups, so that on the way back a task has left the set before its affinity is put
 * back. */
static int add_move(Place *place, const WorldTask *process) {
        Step step = { .kind = VALUE_TEXT, .phase = PHASE_CGROUP, .order = CPUSET_ORDER_ADOPT };

        step.now = strdup(process->cgroup);
        step.before = strdup(process->cgroup);
        if (!step.now || !step.before || cpuset_tasks_path(place->set->name, &step.wanted) < 0) {
                step_done(&step);
                return -ENOMEM;
        }
        return add_step(place, process, "cgroup", &step);
}

static int add_affinity(Place *place, const WorldTask *task, const CpuList *wanted, ValueKind kind) {
        Step step = { .kind = kind, .phase = PHASE_TASK, .flags = STEP_VOLATILE };
        int r = cpulist_format(&task->live, &step.now);

        if (r >= 0)
                r = format_before(place, task, &step.before);
        if (r >= 0)
                r = cpulist_format(wanted, &step.wanted);
        if (r >= 0 && kind == VALUE_WITHIN)
                r = cpulist_format(wanted, &step.within);
        if (r < 0) {
                step_done(&step);
                return r;
        }
        return add_step(place, task, "affinity", &step);
}

/* The first of the process's rules that says where such a thread goes: one rule may be about its workers and another
 * one about the rest. */
static const ProfileTask *find_thread_rule(const Place *place, const WorldTask *task) {
        for (size_t i = 0; place->rule && i < place->input->profile->n_tasks; i++) {
                const ProfileTask *rule = &place->input->profile->tasks[i];

                if (!rule->cpus || !streq(rule->set, place->set->name) ||
                        !rule_matches(rule, place->comm, place->cgroup))
                        continue;
                if (!rule->thread || profile_matches(rule->thread, task->comm))
                        return rule;
        }
        return NULL;
}

/* Empty where the expression is wrong here: that was refused when the mode was planned. */
static int evaluate_rule(const Place *place, const ProfileTask *rule, CpuList *ret) {
        int r;

        if (!rule)
                return 0;
        r = cpuexpr_evaluate(
                rule->cpus, place->input->world->topology, resolve_set, (void *) place->input, ret, NULL);
        return r == -EINVAL ? 0 : r;
}

/* Where a process is in the set already, a thread with an affinity of its own has pinned itself; one that
 * comes from outside comes with what it had there. */
static bool is_unpinned(const Place *place, const WorldTask *task) {
        if (!cpuset_is_inside(task->cgroup, NULL))
                return is_housekeeping_wide(place->input, &task->found);
        return cpulist_equal(&task->live, &place->cpus->cpus) ||
                (cpulist_equal(&task->live, &place->cpus->control_cpus) &&
                        cpulist_is_subset(&place->cpus->cpus, &task->found));
}

static int place_thread(Place *place, const WorldTask *task) {
        _cleanup_cpulist_ CpuList wanted = {};
        int r = evaluate_rule(place, find_thread_rule(place, task), &wanted);

        if (r < 0)
                return r;
        /* A thread that pins itself within what it was given has done what it was given it for. */
        if (!cpulist_is_empty(&wanted))
                return add_affinity(place, task, &wanted, VALUE_WITHIN);
        if (!cpulist_is_empty(&place->cpus->control_cpus) && is_unpinned(place, task))
                return add_affinity(place, task, &place->cpus->control_cpus, VALUE_CPULIST);
        return 0;
}

/* Processes inside a set that no rule is about stay where they are. */
static const ProfileSet *find_set(const PlanInput *input, const ProfileTask *rule, const char *cgroup) {
        _cleanup_free_ char *name = NULL;

        if (rule)
                return profile_set(input->profile, rule->set);
        return cpuset_is_inside(cgroup, &name) && name ? profile_set(input->profile, name) : NULL;
}

static bool wants_move(const Place *place, const WorldTask *process) {
        _cleanup_free_ char *inside = NULL;

        if (!place->rule || place->set->partition == PARTITION_NONE)
                return false;
        /* Somebody who started it in a unit of the set chose a better place than ours. */
        return !cpuset_is_inside(process->cgroup, &inside) || !inside || !streq(inside, place->set->name);
}

/* The record of a process that was moved. */
static const Step *find_moved(const PlanInput *input, const WorldTask *process) {
        _cleanup_free_ char *object = NULL;

        if (!input->in_force ||
                util_asprintf(&object, "task/%d/%" PRIu64 "/cgroup", process->tid, process->start) < 0)
                return NULL;
        return steps_find(input->in_force, object);
}

int place_process(const PlanInput *input, const WorldTask *tasks, size_t n, Steps *ret) {
        _cleanup_steps_ Steps steps = {};
        const WorldTask *process = tasks;
        Place place = { .input = input, .steps = &steps };
        const Step *moved;
        int r = 0;

        if (n == 0 || process->kernel)
                return 0;
        /* A unit's process that was moved out of it is still the unit's. */
        moved = find_moved(input, process);
        place.comm = process->comm;
        place.cgroup = moved && moved->before ? moved->before : process->cgroup;
        place.rule = find_rule(input->profile, place.comm, place.cgroup);
        place.set = find_set(input, place.rule, process->cgroup);
        if (!place.set)
                return 0;
        place.cpus = &input->sets[place.set - input->profile->sets];
        /* The step of one that was moved has to stay, or the next switch takes it out again. */
        if (wants_move(&place, process) || (moved && place.rule && place.set->partition != PARTITION_NONE))
                r = add_move(&place, process);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = place_thread(&place, &tasks[i]);
        if (r < 0)
                return r;
        for (size_t i = 0; i < steps.n; i++) {
                r = steps_add(ret, &steps.items[i]);
                if (r < 0)
                        return r;
        }
        steps.n = 0;
        return 0;
}

static void swap_text(char **a, char **b) {
        char *text = *a;

        *a = *b;
        *b = text;
}

static void replace_wanted(Step *planned, Step *rule) {
        swap_text(&planned->wanted, &rule->wanted);
        swap_text(&planned->within, &rule->within);
        planned->kind = rule->kind;
        planned->flags &= ~(unsigned) STEP_UNRECORDED;
        step_done(rule);
}

static int add_to_plan(Plan *plan, Steps *steps) {
        int r = 0;

        for (size_t i = 0; i < steps->n; i++) {
                Step *planned = steps_find(&plan->steps, steps->items[i].object);

                if (planned)
                        replace_wanted(planned, &steps->items[i]);
                else if (r >= 0)
                        r = steps_add(&plan->steps, &steps->items[i]);
        }
        return r < 0 ? r : 0;
}

int place_plan(const PlanInput *input, Plan *plan) {
        const World *world = input->world;

        for (size_t i = 0, n; i < world->n_tasks; i += n) {
                _cleanup_steps_ Steps steps = {};
                int r;

                for (n = 1; i + n < world->n_tasks && world->tasks[i + n].pid == world->tasks[i].pid; n++)
                        ;
                if (input->profile->n_tasks == 0 && !cpuset_is_inside(world->tasks[i].cgroup, NULL))
                        continue;
                r = place_process(input, &world->tasks[i], n, &steps);
                if (r >= 0)
                        r = add_to_plan(plan, &steps);
                if (r < 0)
                        return r;
        }
        return 0;
}
