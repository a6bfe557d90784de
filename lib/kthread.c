/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "backend.h"
#include "irq.h"
#include "plan.h"

typedef struct KthreadContext {
        const PlanInput *input;
        Plan *plan;
        char *within; /* all CPUs but the sets', as a cpulist: a mask may have CPUs that are away */
        const WorldTask *excepted; /* the first of those that the kernel itself takes off the partitions */
        size_t n_excepted;
} KthreadContext;

static int kthread_probe(Kfs *kfs, Mechanisms *mechanisms) {
        int r;

        r = mechanisms_add(mechanisms, "kthreads", MECHANISM_RUNTIME, "sched_setaffinity(2)", "");
        return r
                ?: mechanisms_add_boot(mechanisms, kfs, "rcu offload",
                           (const char *const[]){ "rcu_nocbs", "nohz_full", NULL }, NULL, "rcu_nocbs=",
                           "RCU callbacks leave the sets' CPUs only with rcu_nocbs=CPULIST or "
                           "nohz_full=CPULIST on the kernel command line; their threads (rcuo*) are kept "
                           "off the sets at run time");
}

/* `ksoftirqd/3` on CPU 3 alone: a thread of that CPU's own. The kernel marks most of them so that nobody
 * can move them; these are the others. */
static bool is_per_cpu(const WorldTask *task) {
        const char *slash = strrchr(task->comm, '/');
        unsigned cpu;

        return slash && util_parse_unsigned(slash + 1, &cpu) >= 0 && cpulist_count(&task->found) == 1 &&
                cpulist_has(&task->found, cpu);
}

static bool is_rcu_callback(const WorldTask *task) {
        return util_startswith(task->comm, "rcuo");
}

static bool is_excepted(const Profile *profile, const WorldTask *task) {
        STRV_FOREACH (pattern, profile->except)
                if (profile_matches(*pattern, task->comm))
                        return true;
        return false;
}

/* `irq/30-eth0-rx-0`: it goes where its interrupt goes, and that one belongs on a set. */
static bool serves_rule(const PlanInput *input, const WorldTask *task) {
        const WorldIrq *irq;
        unsigned number;

        if (sscanf(task->comm, "irq/%u-", &number) != 1)
                return false;
        irq = world_irq(input->world, number);
        return irq && irq_find_rule(input->profile, irq);
}

static bool is_kept_off(const PlanInput *input, const WorldTask *task) {
        const Profile *profile = input->profile;

        if (!task->kernel || task->fixed || is_per_cpu(task) || is_excepted(profile, task) ||
                serves_rule(input, task))
                return false;
        return is_rcu_callback(task) ? profile->keep_rcu : profile->keep_kthreads;
}

static int kthread_audit(Kfs *kfs, const Profile *profile, World *world) {
        for (size_t i = 0; i < world->n_tasks; i++) {
                const WorldTask *task = &world->tasks[i];

                for (size_t j = 0; profile && task->kernel && j < profile->n_kthreads; j++) {
                        int r;

                        if (!profile_matches(profile->kthreads[j].match, task->comm))
                                continue;
                        r = world_readf(world, "task/%d/%" PRIu64 "/policy", task->tid, task->start);
                        if (r < 0)
                                return r;
                        break;
                }
        }
        return 0;
}

/* `kthread/COMM/affinity`; where that name is taken, `kthread/COMM:TID/affinity`. */
static int make_id(const Plan *plan, const WorldTask *task, const char *what, char **ret) {
        _cleanup_free_ char *id = NULL;
        int r = util_asprintf(&id, "kthread/%s/%s", task->comm, what);

        if (r < 0)
                return r;
        if (steps_find_id(&plan->steps, id))
                return util_asprintf(ret, "kthread/%s:%d/%s", task->comm, task->tid, what);
        *ret = TAKE_PTR(id);
        return 0;
}

static int add_kthread(KthreadContext *context, const WorldTask *task, const char *what, StepText *text) {
        _cleanup_free_ char *id = NULL, *object = NULL;
        int r;

        r = make_id(context->plan, task, what, &id);
        r = r ?: util_asprintf(&object, "task/%d/%" PRIu64 "/%s", task->tid, task->start, what);
        if (r < 0)
                return r;
        text->id = id;
        text->object = object;
        text->flags |= STEP_TRANSIENT | backend_required(context->input->profile, REQUIRE_KTHREADS);
        return backend_add(context->input, context->plan, text);
}

/* The kernel itself takes CPUs that go away out of some threads' masks: what has all that are online is pinned
 * nowhere, and gets all CPUs back. */
static const CpuList *found_cpus(const PlanInput *input, const WorldTask *task) {
        const Topology *topology = input->world->topology;

        if (cpulist_equal(&topology->present, &topology->online))
                return &task->found;
        return cpulist_equal(&task->found, &topology->online) ? &topology->possible : &task->found;
}

static int plan_affinity(KthreadContext *context, const WorldTask *task) {
        _cleanup_free_ char *before = NULL, *now = NULL, *wanted = NULL;
        _cleanup_cpulist_ CpuList list = {};
        StepText text = {
                .kind = VALUE_WITHIN,
                .within = context->within,
                .phase = PHASE_KTHREAD,
                /* The kernel itself moves these threads when partitions come and go. */
                .flags = STEP_VOLATILE,
        };
        int r;

        r = backend_keep_off(&task->found, &context->input->housekeeping, &list);
        r = r ?: cpulist_format(&list, &wanted);
        r = r ?: cpulist_format(found_cpus(context->input, task), &before);
        r = r ?: cpulist_format(&task->live, &now);
        if (r < 0)
                return r;
        text.wanted = wanted;
        text.before = before;
        text.now = now;
        return add_kthread(context, task, "affinity", &text);
}

static int plan_policy(KthreadContext *context, const WorldTask *task, const ProfileKthread *rule) {
        _cleanup_free_ char *wanted = NULL;
        StepText text = { .kind = VALUE_TEXT, .phase = PHASE_PRIORITY };
        int r = util_asprintf(&wanted, "%s %d", rule->policy, rule->priority);

        if (r < 0)
                return r;
        text.wanted = wanted;
        return add_kthread(context, task, "policy", &text);
}

/* The kernel takes what is in the root group off partitions by itself, and lets nobody put it back there. */
static bool kernel_moves(const PlanInput *input, const WorldTask *task) {
        if (!task->kernel || task->fixed || is_per_cpu(task) ||
                !(streq(task->cgroup, "/") || !*task->cgroup))
                return false;
        for (size_t i = 0; i < input->profile->n_sets; i++)
                if (input->profile->sets[i].partition != PARTITION_NONE &&
                        cpulist_intersects(&task->found, &input->sets[i].cpus))
                        return true;
        return false;
}

static void note_excepted(KthreadContext *context, const WorldTask *task) {
        if (!is_excepted(context->input->profile, task) || !kernel_moves(context->input, task))
                return;
        if (context->n_excepted++ == 0)
                context->excepted = task;
}

static int warn_excepted(const KthreadContext *context) {
        _cleanup_free_ char *more = NULL;
        int r;

        if (context->n_excepted == 0 || context->input->flags & PLAN_MEND)
                return 0;
        r = context->n_excepted > 1 ? util_asprintf(&more, " and %zu more", context->n_excepted - 1) : 0;
        return r
                ?: plan_warn(context->plan,
                           "kernel thread %s%s: excepted by the profile, and the kernel itself takes it off "
                           "the "
                           "sets' CPUs when the partition is made; what serves a set has to be made after "
                           "the "
                           "switch, or belong to a control group of its owner",
                           context->excepted->comm, more ?: "");
}

static int off_sets(const PlanInput *input, char **ret) {
        _cleanup_cpulist_ CpuList cpus = {};
        int r = cpulist_copy(&input->world->topology->possible, &cpus);

        for (size_t i = 0; i < input->profile->n_sets; i++)
                cpulist_subtract(&cpus, &input->sets[i].configured);
        return r < 0 ? r : cpulist_format(&cpus, ret);
}

static int kthread_plan(const PlanInput *input, Plan *plan) {
        const Profile *profile = input->profile;
        _cleanup_free_ char *within = NULL;
        KthreadContext context = { .input = input, .plan = plan };
        int r = off_sets(input, &within);

        context.within = within;
        for (size_t i = 0; r >= 0 && i < input->world->n_tasks; i++) {
                const WorldTask *task = &input->world->tasks[i];

                note_excepted(&context, task);
                if (!cpulist_is_empty(&input->isolated) && is_kept_off(input, task))
                        r = plan_affinity(&context, task);
                for (size_t j = 0; r >= 0 && task->kernel && j < profile->n_kthreads; j++)
                        if (profile_matches(profile->kthreads[j].match, task->comm)) {
                                r = plan_policy(&context, task, &profile->kthreads[j]);
                                break;
                        }
        }
        return r ?: warn_excepted(&context);
}

/* All that are online where others are away: the kernel's own doing when a CPU went. */
static bool is_what_is_online(const World *world, const char *live) {
        _cleanup_cpulist_ CpuList cpus = {};

        return world && cpulist_parse(live, &cpus, NULL) >= 0 &&
                cpulist_equal(&cpus, &world->topology->online) &&
                !cpulist_equal(&cpus, &world->topology->present);
}

/* The kernel may have widened or narrowed it meanwhile: what was found is given back as long as it is off
 * the sets. */
static int kthread_revert(const Step *step, const char *live, const World *world, char **ret) {
        char *target = NULL;

        if (live && step->before && (step_holds(step, live) || is_what_is_online(world, live))) {
                target = strdup(step->before);
                if (!target)
                        return -ENOMEM;
        }
        *ret = target;
        return 0;
}

const Backend backend_kthread = {
        .name = "kthread",
        .probe = kthread_probe,
        .audit = kthread_audit,
        .plan = kthread_plan,
        .revert = kthread_revert,
};
