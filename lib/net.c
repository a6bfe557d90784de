/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net.h"

#include "backend.h"

#define LOOPBACK_RPS "/sys/class/net/lo/queues/rx-0/rps_cpus"
#define ETHTOOL "net/0/ethtool"

/* One rule of the profile on one device. */
typedef struct NetContext {
        const PlanInput *input;
        Plan *plan;
        const ProfileNet *rule;
        const WorldNet *net;
        CpuList cpus, rps, xps;
        bool has_channels;       /* they are set: queues come and go, and drivers choose masks anew */
        NetChannels now, wanted; /* where has_channels */
} NetContext;

static void context_done(NetContext *context) {
        cpulist_done(&context->cpus);
        cpulist_done(&context->rps);
        cpulist_done(&context->xps);
}

/* The receive or the transmit queues of a device. */
typedef struct QueueKind {
        const char *name, *file;
        const char *spec; /* what the rule says of the masks, or NULL */
        const CpuList *mask;
        unsigned n;      /* there now */
        unsigned coming; /* that the new channel counts add */
        bool optional;   /* a device with one queue has no such mask */
} QueueKind;

static int net_probe(Kfs *kfs, Mechanisms *mechanisms) {
        int r = mechanisms_add_file(mechanisms, kfs, "net", LOOPBACK_RPS, MECHANISM_ABSENT,
                "this kernel spreads no packets over CPUs (CONFIG_RPS)");

        return r
                ?: mechanisms_add_file(mechanisms, kfs, "net channels", ETHTOOL, MECHANISM_ABSENT,
                           "this kernel cannot be asked for channels over netlink (CONFIG_ETHTOOL_NETLINK)");
}

static int net_audit(Kfs *kfs, const Profile *profile, World *world) {
        return net_read(world, profile);
}

/* Channels */

static int missing_reason(const NetContext *context, int error, char **ret) {
        if (error == -EOPNOTSUPP)
                return util_asprintf(ret,
                        "the driver of %s has no channels that could be set, see ethtool -l %s",
                        context->net->name, context->net->name);
        if (error == -EPROTONOSUPPORT)
                return util_asprintf(ret, "%s",
                        "this kernel cannot be asked for channels over netlink (CONFIG_ETHTOOL_NETLINK)");
        return util_asprintf(
                ret, "the channels of %s cannot be read: %s", context->net->name, strerror(-error));
}

/* The count of one kind.  An explicit one that the device cannot have gives -ERANGE and the reason. */
static int choose_count(const NetContext *context, const char *kind, int asked, unsigned found,
        unsigned most, unsigned *ret, char **ret_reason) {
        size_t n = cpulist_count(&context->cpus);
        int r;

        *ret = found;
        if (asked == PROFILE_UNSET)
                return 0;
        *ret = asked == NET_AUTO ? (unsigned) (n < most ? n : most) : (unsigned) asked;
        if (*ret <= most && (asked != NET_AUTO || most > 0))
                return 0;
        r = most == 0 ? util_asprintf(ret_reason, "%s has no %s channels, see ethtool -l %s",
                                context->net->name, kind, context->net->name)
                      : util_asprintf(ret_reason, "%s has at most %u %s channels, see ethtool -l %s",
                                context->net->name, most, kind, context->net->name);
        return r < 0 ? r : -ERANGE;
}

static int choose_counts(const NetContext *context, const NetChannels *found, const NetChannels *most,
        NetChannels *ret, char **ret_reason) {
        const ProfileNet *rule = context->rule;
        int r = choose_count(context, "combined", rule->combined, found->combined, most->combined,
                &ret->combined, ret_reason);

        r = r ?: choose_count(context, "rx", rule->rx, found->rx, most->rx, &ret->rx, ret_reason);
        return r ?: choose_count(context, "tx", rule->tx, found->tx, most->tx, &ret->tx, ret_reason);
}

/* As the rule has it, for what cannot be done. */
static int format_asked(const ProfileNet *rule, char **ret) {
        const struct {
                const char *kind;
                int asked;
        } table[] = { { "combined", rule->combined }, { "rx", rule->rx }, { "tx", rule->tx } };
        _cleanup_strv_ char **words = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *word = NULL;
                int r = 0;

                if (table[i].asked == PROFILE_UNSET)
                        continue;
                r = table[i].asked == NET_AUTO
                        ? util_asprintf(&word, "%s auto", table[i].kind)
                        : util_asprintf(&word, "%s %d", table[i].kind, table[i].asked);
                r = r ?: util_strv_push(&words, word);
                if (r < 0)
                        return r;
        }
        return util_strv_join(words, " ", ret);
}

static int read_counts(NetContext *context, NetChannels *ret_found, NetChannels *ret_most) {
        const WorldValue *value, *most;
        char object[64];

        snprintf(object, sizeof(object), "net/%u/channels", context->net->index);
        value = world_value(context->input->world, object);
        snprintf(object, sizeof(object), "net/%u/channels_max", context->net->index);
        most = world_value(context->input->world, object);
        if (!value || !value->live)
                return value && value->error < 0 ? value->error : -ENODATA;
        if (!most || !most->live)
                return most && most->error < 0 ? most->error : -ENODATA;
        if (net_channels_parse(value->found, ret_found) < 0 ||
                net_channels_parse(value->live, &context->now) < 0 ||
                net_channels_parse(most->live, ret_most) < 0)
                return -EBADMSG;
        return 0;
}

static int add_channels(NetContext *context, StepText *text) {
        _cleanup_free_ char *wanted = NULL;
        int r = net_channels_format(&context->wanted, &wanted);

        if (r < 0)
                return r;
        text->wanted = wanted;
        text->flags |= STEP_TRANSIENT;
        context->has_channels = true;
        return backend_add(context->input, context->plan, text);
}

static int add_missing_channels(NetContext *context, StepText *text, const char *reason) {
        _cleanup_free_ char *asked = NULL;
        int r = format_asked(context->rule, &asked);

        if (r < 0)
                return r;
        text->wanted = asked;
        text->mechanism = MECHANISM_ABSENT;
        text->reason = reason;
        return backend_add_missing(context->input, context->plan, text);
}

static int plan_channels(NetContext *context) {
        const ProfileNet *rule = context->rule;
        _cleanup_free_ char *id = NULL, *object = NULL, *reason = NULL;
        NetChannels found, most;
        StepText text = {
                .kind = VALUE_TEXT,
                .phase = PHASE_CHANNELS,
                .flags = backend_required(context->input->profile, REQUIRE_NET),
        };
        int r;

        if (rule->combined == PROFILE_UNSET && rule->rx == PROFILE_UNSET && rule->tx == PROFILE_UNSET)
                return 0;
        r = util_asprintf(&id, "net/%s/channels", context->net->name);
        r = r ?: util_asprintf(&object, "net/%u/channels", context->net->index);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        r = read_counts(context, &found, &most);
        if (r < 0)
                r = missing_reason(context, r, &reason);
        else
                r = choose_counts(context, &found, &most, &context->wanted, &reason);
        if (r < 0 && r != -ERANGE)
                return r;
        return reason ? add_missing_channels(context, &text, reason) : add_channels(context, &text);
}

/* Queues */

/* One more than the last queue that the steps in force know of: those that the channel counts took away come back
 * with green, and have to be given what they had. */
static unsigned count_recorded(const NetContext *context, const QueueKind *kind) {
        const Steps *in_force = context->input->in_force;
        unsigned n = 0;

        for (size_t i = 0; in_force && i < in_force->n; i++) {
                const char *object = in_force->items[i].object;
                unsigned index, queue;
                char direction;

                if (sscanf(object, "net/%u/%cx-%u/", &index, &direction, &queue) == 3 &&
                        index == context->net->index && direction == *kind->name && queue >= n)
                        n = queue + 1;
        }
        return n;
}

/* What was found without the CPUs of the sets; off (no CPU) stays off, and needs no step: *ret NULL. */
static int trim_mask(const NetContext *context, const char *found, CpuList *ret, bool *ret_asked) {
        _cleanup_cpulist_ CpuList mask = {};
        int r = found ? cpulist_parse_mask(found, &mask) : 0;

        *ret_asked = false;
        if (r < 0 || cpulist_is_empty(&mask))
                return r == -ENOMEM ? r : 0;
        *ret_asked = true;
        return backend_keep_off(&mask, &context->input->housekeeping, ret);
}

static int wanted_mask(
        const NetContext *context, const QueueKind *kind, const char *found, char **ret, bool *ret_asked) {
        const Topology *topology = context->input->world->topology;
        _cleanup_cpulist_ CpuList trimmed = {};
        const CpuList *mask = kind->mask;
        int r = 0;

        *ret_asked = kind->spec != NULL;
        if (kind->spec && streq(kind->spec, "keep_off_sets")) {
                r = trim_mask(context, found, &trimmed, ret_asked);
                mask = &trimmed;
        }
        if (r < 0 || !*ret_asked)
                return r;
        return cpulist_format_mask(mask, (unsigned) cpulist_last(&topology->possible) + 1, ret);
}

/* Has the mode in force set the channels already?  Then a queue without a record came with them. */
static bool is_newcomer(const NetContext *context, const Step *record) {
        char object[64];

        snprintf(object, sizeof(object), "net/%u/channels", context->net->index);
        return !record && steps_find(context->input->in_force, object);
}

/* The rule says nothing of this mask, and the channels that it sets may cost it: it is given back in green, or when the
 * switch fails. Where the mode before had set it, what was found is given back now. */
static int add_kept(const NetContext *context, StepText *text, const char *found) {
        const Step *record = steps_find(context->input->in_force, text->object);

        text->wanted = found ?: record ? record->wanted : NULL;
        if (!context->has_channels || !text->wanted || is_newcomer(context, record))
                return 0;
        text->flags = STEP_TRANSIENT | STEP_VOLATILE;
        if (!record || !record->before || record->flags & STEP_KEPT)
                text->flags |= STEP_KEPT;
        return backend_add(context->input, context->plan, text);
}

static int add_missing_mask(const NetContext *context, const QueueKind *kind, StepText *text, int error) {
        _cleanup_free_ char *reason = NULL;
        int r;

        if (kind->optional && error == -ENOENT)
                return 0;
        r = error == -ENOENT ? util_asprintf(&reason, "this kernel has no such mask for the queues of %s",
                                       context->net->name)
                             : util_asprintf(&reason, "the mask cannot be read: %s", strerror(-error));
        if (r < 0)
                return r;
        text->mechanism = MECHANISM_ABSENT;
        text->reason = reason;
        return backend_add_missing(context->input, context->plan, text);
}

static int plan_queue(const NetContext *context, const QueueKind *kind, unsigned queue) {
        _cleanup_free_ char *id = NULL, *object = NULL, *wanted = NULL;
        const WorldValue *value;
        const char *found;
        bool asked;
        StepText text = {
                .kind = VALUE_CPUMASK,
                .phase = PHASE_QUEUES,
                .flags = STEP_TRANSIENT | backend_required(context->input->profile, REQUIRE_NET),
        };
        int r = util_asprintf(&id, "net/%s/%s-%u/%s", context->net->name, kind->name, queue, kind->file);

        r = r
                ?: util_asprintf(
                           &object, "net/%u/%s-%u/%s", context->net->index, kind->name, queue, kind->file);
        if (r < 0)
                return r;
        text.id = id;
        text.object = object;
        value = world_value(context->input->world, object);
        found = value ? value->found : NULL;
        r = wanted_mask(context, kind, found, &wanted, &asked);
        if (r < 0)
                return r;
        if (!asked)
                return add_kept(context, &text, found);
        text.wanted = wanted;
        text.flags |= context->has_channels ? STEP_VOLATILE : 0;
        if (queue < kind->n && !(value && value->live) && !(kind->optional && kind->coming > 0))
                return add_missing_mask(context, kind, &text, value ? value->error : -ENODATA);
        return backend_add(context->input, context->plan, &text);
}

static int plan_queues(const NetContext *context, const QueueKind *kind) {
        unsigned recorded = count_recorded(context, kind), n = kind->n + kind->coming;
        int r = 0;

        if (recorded > n)
                n = recorded;
        for (unsigned queue = 0; r >= 0 && queue < n; queue++)
                r = plan_queue(context, kind, queue);
        return r;
}

static unsigned growth(unsigned now, unsigned wanted) {
        return wanted > now ? wanted - now : 0;
}

/* The device */

/* `housekeeping`, `none`, or an expression.  `keep_off_sets` depends on what was found. */
static int resolve(const NetContext *context, const char *key, const char *text, CpuList *ret) {
        _cleanup_free_ char *where = NULL;
        int r;

        if (!text || streq(text, "none") || streq(text, "keep_off_sets"))
                return 0;
        if (streq(text, "housekeeping"))
                return cpulist_copy(&context->input->housekeeping, ret);
        r = util_asprintf(&where, "net %s: %s", context->rule->name, key);
        r = r ?: backend_cpus(context->input, context->plan, where, text, ret);
        return r == -EINVAL ? 0 : r;
}

static int plan_device(NetContext *context, const WorldNet *net) {
        const ProfileNet *rule = context->rule;
        QueueKind rx = { "rx", "rps_cpus", rule->rps, &context->rps, net->n_rx, 0, false };
        QueueKind tx = { "tx", "xps_cpus", rule->xps, &context->xps, net->n_tx, 0, true };
        int r;

        context->net = net;
        context->has_channels = false;
        r = plan_channels(context);
        if (context->has_channels) {
                rx.coming = growth(context->now.combined + context->now.rx,
                        context->wanted.combined + context->wanted.rx);
                tx.coming = growth(context->now.combined + context->now.tx,
                        context->wanted.combined + context->wanted.tx);
        }
        r = r ?: plan_queues(context, &rx);
        return r ?: plan_queues(context, &tx);
}

static bool counts_cpus(const ProfileNet *rule) {
        return rule->combined == NET_AUTO || rule->rx == NET_AUTO || rule->tx == NET_AUTO;
}

/* A rule whose devices are not there asks for nothing: not even that its CPUs are. */
static int plan_rule(const PlanInput *input, Plan *plan, const ProfileNet *rule) {
        _cleanup_(context_done) NetContext context = { .input = input, .plan = plan, .rule = rule };
        bool resolved = false;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < input->world->n_nets; i++) {
                if (net_find_rule(input->profile, input->world->nets[i].name) != rule)
                        continue;
                if (!resolved) {
                        r = counts_cpus(rule)
                                ? resolve(&context, "cpus", rule->cpus ?: "housekeeping", &context.cpus)
                                : 0;
                        r = r ?: resolve(&context, "rps", rule->rps, &context.rps);
                        r = r ?: resolve(&context, "xps", rule->xps, &context.xps);
                        resolved = true;
                }
                r = r ?: plan_device(&context, &input->world->nets[i]);
        }
        return r;
}

static int net_plan(const PlanInput *input, Plan *plan) {
        for (size_t i = 0; i < input->profile->n_nets; i++) {
                int r = plan_rule(input, plan, &input->profile->nets[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* A queue that is not there comes back when the channels do.  Of a mask that was only kept nobody can tell whether the
 * driver has chosen it or somebody else: what was found is given back. */
static int net_revert(const Step *step, const char *live, const World *world, char **ret) {
        bool queue = step->phase == PHASE_QUEUES, kept = step->flags & STEP_KEPT;
        const WorldValue *value = world ? world_value(world, step->object) : NULL;

        *ret = NULL;
        if (!step->before || (!live && (!queue || (value && value->error == -ENODEV))))
                return 0;
        if (live && !kept && !step_holds(step, live))
                return 0;
        return util_copy(step->before, ret);
}

const Backend backend_net = {
        .name = "net",
        .probe = net_probe,
        .audit = net_audit,
        .plan = net_plan,
        .revert = net_revert,
};
