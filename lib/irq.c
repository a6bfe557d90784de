/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "irq.h"

#include "backend.h"
#include "cmdline.h"
#include "net.h"

#define DEFAULT_AFFINITY "/proc/irq/default_smp_affinity"
#define IRQBALANCE "irqbalance/banned"
#define VECTORS "/sys/kernel/debug/irq/domains/VECTOR"

/* What planning looks at for every interrupt. */
typedef struct IrqContext {
        const PlanInput *input;
        Plan *plan;
        char *within;      /* housekeeping, as a cpulist */
        CpuList managed;   /* CPUs that managed interrupts were kept off at boot */
        CpuList *rules;    /* where each [irq NAME] and then each [net NAME] puts its interrupts */
        size_t n_rules;    /* those of profile->irqs, and then those of profile->nets */
        int *next;         /* the CPU that each rule gave last, or -1 */
        uint64_t n_moving; /* interrupts that will need a vector on the housekeeping CPUs */
} IrqContext;

static void context_done(IrqContext *context) {
        for (size_t i = 0; context->rules && i < context->n_rules; i++)
                cpulist_done(&context->rules[i]);
        free(context->rules);
        free(context->next);
        free(context->within);
        cpulist_done(&context->managed);
}

static int irq_probe(Kfs *kfs, Mechanisms *mechanisms) {
        int r;

        r = mechanisms_add_file(mechanisms, kfs, "irqs", DEFAULT_AFFINITY, MECHANISM_ABSENT,
                "this kernel has one CPU, or /proc is not mounted");
        r = r
                ?: mechanisms_add_boot(mechanisms, kfs, "managed irqs",
                           (const char *const[]){ "isolcpus", NULL }, "managed_irq", "isolcpus=managed_irq,",
                           "interrupts that the kernel spreads by itself (NVMe queues) stay off the sets "
                           "only with "
                           "isolcpus=managed_irq,CPULIST on the kernel command line");
        r = r
                ?: mechanisms_add_file(mechanisms, kfs, "irqbalance", IRQBALANCE, MECHANISM_ABSENT,
                           "no irqbalance is running, and none is needed");
        return r
                ?: mechanisms_add_file(mechanisms, kfs, "irq vectors", VECTORS, MECHANISM_ABSENT,
                           "this kernel does not tell how many interrupt vectors are free "
                           "(CONFIG_GENERIC_IRQ_DEBUGFS)");
}

static int irq_audit(Kfs *kfs, const Profile *profile, World *world) {
        int r = irq_read(world);

        r = r ?: world_read(world, IRQBALANCE);
        return r ?: world_read(world, VECTORS);
}

static bool name_matches(const char *patterns, const char *names) {
        _cleanup_strv_ char **split = NULL;

        if (util_strv_split(names, ",", &split) < 0)
                return false;
        STRV_FOREACH (name, split)
                if (profile_matches(patterns, util_strip(*name)))
                        return true;
        return false;
}

const ProfileIrq *irq_find_rule(const Profile *profile, const WorldIrq *irq) {
        for (size_t i = 0; i < profile->n_irqs; i++)
                if (name_matches(profile->irqs[i].match, irq->name))
                        return &profile->irqs[i];
        return NULL;
}

/* The next CPU of a rule's list, from the start again after the last. */
static int rule_next(IrqContext *context, size_t i) {
        int cpu = cpulist_next(&context->rules[i], context->next[i]);

        if (cpu < 0)
                cpu = cpulist_next(&context->rules[i], -1);
        context->next[i] = cpu;
        return cpu;
}

static const CpuList *irq_where(const WorldIrq *irq) {
        return irq->has_effective ? &irq->effective : &irq->live;
}

static bool irq_movable(const WorldIrq *irq) {
        return irq->writable && !irq->managed;
}

static int add_irq(IrqContext *context, const WorldIrq *irq, StepText *text) {
        _cleanup_free_ char *id = NULL, *object = NULL, *before = NULL, *now = NULL;
        int r;

        r = util_asprintf(&id, "irq/%u/affinity", irq->irq);
        r = r ?: util_asprintf(&object, "/proc/irq/%u/smp_affinity_list", irq->irq);
        r = r ?: cpulist_format(&irq->found, &before);
        r = r ?: cpulist_format(&irq->live, &now);
        if (r < 0)
                return r;
        text->id = id;
        text->object = object;
        text->before = before;
        text->now = now;
        text->phase = PHASE_IRQ;
        text->flags |= STEP_TOLERANT | STEP_TRANSIENT;
        /* One without a handler fires nowhere, and the kernel may go on reading a move that the handler did not live to
         * see: no reason to undo a switch. */
        if (text->mechanism == MECHANISM_RUNTIME && *irq->name)
                text->flags |= backend_required(context->input->profile, REQUIRE_IRQS);
        return backend_add(context->input, context->plan, text);
}

/* One that cannot be moved matters only where it fires on a set. */
static int plan_unmovable(IrqContext *context, const WorldIrq *irq) {
        _cleanup_cpulist_ CpuList where = {};
        StepText text = {
                .kind = VALUE_WITHIN,
                .wanted = context->within,
                .within = context->within,
                .mechanism = MECHANISM_BOOT,
                .reason = "the kernel spreads this interrupt over the CPUs by itself: boot with "
                          "isolcpus=managed_irq,CPULIST (rtisoctl kernel-args)",
        };
        int r = cpulist_copy(irq_where(irq), &where);

        if (r < 0)
                return r;
        cpulist_subtract(&where, &context->managed);
        if (!cpulist_intersects(&where, &context->input->isolated))
                return 0;
        if (!irq->managed)
                text.reason =
                        "this kernel does not let the interrupt be moved; where it is one that the kernel "
                        "spreads by itself, boot with isolcpus=managed_irq,CPULIST (rtisoctl kernel-args)";
        return add_irq(context, irq, &text);
}

static int plan_on_set(IrqContext *context, const WorldIrq *irq, size_t rule) {
        _cleanup_free_ char *wanted = NULL;
        bool net = rule >= context->input->profile->n_irqs;
        StepText text = {
                .kind = VALUE_CPULIST,
                .flags = net ? backend_required(context->input->profile, REQUIRE_NET) : 0,
        };
        int cpu = rule_next(context, rule);
        int r;

        if (cpu < 0)
                return 0;
        r = util_asprintf(&wanted, "%d", cpu);
        if (r < 0)
                return r;
        text.wanted = wanted;
        return add_irq(context, irq, &text);
}

static int plan_keep_off(IrqContext *context, const WorldIrq *irq) {
        _cleanup_cpulist_ CpuList list = {};
        _cleanup_free_ char *wanted = NULL;
        StepText text = { .kind = VALUE_WITHIN, .within = context->within };
        int r = backend_keep_off(&irq->found, &context->input->housekeeping, &list);

        r = r ?: cpulist_format(&list, &wanted);
        if (r < 0)
                return r;
        if (cpulist_intersects(irq_where(irq), &context->input->isolated))
                context->n_moving++;
        text.wanted = wanted;
        return add_irq(context, irq, &text);
}

/* Older kernels refuse these only when they are written, and every PC has them: the first CPU's timer,
 * and the line that ties the two old controllers together, which never fires. */
static bool irq_is_fixture(const IrqContext *context, const WorldIrq *irq) {
        if (irq->irq == 0 && streq(irq->name, "timer"))
                return !cpulist_intersects(irq_where(irq), &context->input->isolated);
        return streq(irq->chip, "XT-PIC") && !*irq->name;
}

/* The rule that an interrupt falls under, and its place among the context's; NULL: none that has a CPU. */
static const CpuList *find_rule(const IrqContext *context, const WorldIrq *irq, size_t *ret) {
        const Profile *profile = context->input->profile;
        const ProfileIrq *named = irq_find_rule(profile, irq);
        const ProfileNet *net = named ? NULL : net_find_irq_rule(profile, context->input->world, irq);

        if (!named && !net)
                return NULL;
        *ret = named ? (size_t) (named - profile->irqs) : profile->n_irqs + (size_t) (net - profile->nets);
        return cpulist_is_empty(&context->rules[*ret]) ? NULL : &context->rules[*ret];
}

static int plan_by_rule(IrqContext *context, const WorldIrq *irq, size_t rule) {
        if (irq_movable(irq))
                return plan_on_set(context, irq, rule);
        return cpulist_is_subset(irq_where(irq), &context->rules[rule]) ? 0 : plan_unmovable(context, irq);
}

static int plan_irq(IrqContext *context, const WorldIrq *irq) {
        bool keep_off = context->input->profile->keep_irqs && !cpulist_is_empty(&context->input->isolated);
        size_t rule = 0;
        const CpuList *cpus;

        if (cpulist_is_empty(&irq->live))
                return 0; /* it has no affinity file */
        cpus = find_rule(context, irq, &rule);
        /* That of a device which is to stay on the housekeeping CPUs needs no place of its own among them. */
        if (cpus && rule >= context->input->profile->n_irqs &&
                cpulist_equal(cpus, &context->input->housekeeping))
                keep_off = true;
        else if (cpus)
                return plan_by_rule(context, irq, rule);
        if (!keep_off || irq_is_fixture(context, irq))
                return 0;
        return irq_movable(irq) ? plan_keep_off(context, irq) : plan_unmovable(context, irq);
}

static int plan_default(IrqContext *context) {
        const World *world = context->input->world;
        _cleanup_cpulist_ CpuList list = {};
        _cleanup_free_ char *wanted = NULL;
        StepText text = {
                .id = "irq/default",
                .object = DEFAULT_AFFINITY,
                .kind = VALUE_CPUMASK,
                .phase = PHASE_IRQ_DEFAULT,
                .flags = backend_required(context->input->profile, REQUIRE_IRQS),
        };
        int r;

        if (!backend_present(world, DEFAULT_AFFINITY)) {
                text.mechanism = MECHANISM_ABSENT;
                text.wanted = context->within;
                text.reason = "/proc/irq/default_smp_affinity is not there: interrupts cannot be moved";
                return backend_add_missing(context->input, context->plan, &text);
        }
        r = backend_keep_off(&world->irq_default_found, &context->input->housekeeping, &list);
        r = r
                ?: cpulist_format_mask(
                           &list, (unsigned) cpulist_last(&world->topology->possible) + 1, &wanted);
        if (r < 0)
                return r;
        text.wanted = wanted;
        return backend_add(context->input, context->plan, &text);
}

static int plan_irqbalance(IrqContext *context) {
        const WorldValue *value = world_value(context->input->world, IRQBALANCE);
        _cleanup_cpulist_ CpuList banned = {};
        _cleanup_free_ char *wanted = NULL;
        StepText text = {
                .id = "irq/irqbalance",
                .object = IRQBALANCE,
                .kind = VALUE_CPULIST,
                .phase = PHASE_IRQ,
                .order = -1,
                .flags = STEP_TRANSIENT,
        };
        int r;

        if (!value || !value->live)
                return 0;
        r = cpulist_parse(value->found, &banned, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = cpulist_union(&banned, &context->input->isolated);
        r = r ?: cpulist_format(&banned, &wanted);
        if (r < 0)
                return r;
        text.wanted = wanted;
        return backend_add(context->input, context->plan, &text);
}

static int check_vectors(IrqContext *context) {
        const char *text = world_live(context->input->world, VECTORS);
        uint64_t n_free;
        int r = text ? irq_free_vectors(text, &context->input->housekeeping, &n_free) : -ENODATA;

        if (r < 0 || context->n_moving <= n_free)
                return 0;
        return plan_refuse(context->plan,
                "the housekeeping CPUs %s have %lu interrupt vectors left, and %lu interrupts have to move "
                "there: "
                "leave more housekeeping CPUs, or give devices fewer queues (ethtool -L)",
                context->within, (unsigned long) n_free, (unsigned long) context->n_moving);
}

/* The kernel refuses (EINVAL) a mask without a CPU that is online. */
static int fill_rule(IrqContext *context, size_t rule, const char *where, const char *cpus) {
        int r = backend_cpus(context->input, context->plan, where, cpus, &context->rules[rule]);

        cpulist_intersect(&context->rules[rule], &context->input->world->topology->online);
        return r == -EINVAL ? 0 : r;
}

/* A rule whose devices are not there asks for nothing. */
static int fill_net_rule(IrqContext *context, size_t i) {
        const ProfileNet *net = &context->input->profile->nets[i];
        size_t rule = context->input->profile->n_irqs + i;
        _cleanup_free_ char *where = NULL;

        if (!net->cpus || !net_has_device(context->input->profile, context->input->world, net))
                return 0;
        if (streq(net->cpus, "housekeeping"))
                return cpulist_copy(&context->input->housekeeping, &context->rules[rule]);
        if (util_asprintf(&where, "net %s: cpus", net->name) < 0)
                return -ENOMEM;
        return fill_rule(context, rule, where, net->cpus);
}

static int fill_rules(IrqContext *context) {
        const Profile *profile = context->input->profile;
        int r = 0;

        context->n_rules = profile->n_irqs + profile->n_nets;
        context->rules = calloc(context->n_rules ?: 1, sizeof(CpuList));
        context->next = calloc(context->n_rules ?: 1, sizeof(int));
        if (!context->rules || !context->next)
                return -ENOMEM;
        for (size_t i = 0; i < context->n_rules; i++)
                context->next[i] = -1;
        for (size_t i = 0; r >= 0 && i < profile->n_irqs; i++) {
                _cleanup_free_ char *where = NULL;

                r = util_asprintf(&where, "irq %s: cpus", profile->irqs[i].name);
                r = r ?: fill_rule(context, i, where, profile->irqs[i].cpus);
        }
        for (size_t i = 0; r >= 0 && i < profile->n_nets; i++)
                r = fill_net_rule(context, i);
        return r;
}

static int context_fill(IrqContext *context) {
        int r = cpulist_format(&context->input->housekeeping, &context->within);

        r = r ?: cmdline_isolcpus(context->input->world->cmdline, "managed_irq", &context->managed);
        return r ?: fill_rules(context);
}

static int irq_plan(const PlanInput *input, Plan *plan) {
        _cleanup_(context_done) IrqContext context = { .input = input, .plan = plan };
        bool keep_off = input->profile->keep_irqs && !cpulist_is_empty(&input->isolated);
        int r = context_fill(&context);

        if (r >= 0 && keep_off) {
                r = plan_default(&context);
                r = r ?: plan_irqbalance(&context);
        }
        for (size_t i = 0; r >= 0 && i < input->world->n_irqs; i++)
                r = plan_irq(&context, &input->world->irqs[i]);
        return r < 0 ? r : check_vectors(&context);
}

/* A balancer may have moved it among the CPUs it was left: what was found is given back all the same. One
 * that was never moved by a mode is left where somebody put it. */
static int irq_revert(const Step *step, const char *live, const World *world, char **ret) {
        bool moved = step->kind != VALUE_WITHIN || !step->before ||
                !value_equal(VALUE_CPULIST, step->before, step->wanted);
        char *target;

        if (!live || !step->before || !step_holds(step, live) ||
                (!moved && !value_equal(VALUE_CPULIST, live, step->wanted))) {
                *ret = NULL;
                return 0;
        }
        target = strdup(step->before);
        if (!target)
                return -ENOMEM;
        *ret = target;
        return 0;
}

const Backend backend_irq = {
        .name = "irq",
        .probe = irq_probe,
        .audit = irq_audit,
        .plan = irq_plan,
        .revert = irq_revert,
};
