/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net.h"
#include "planned.h"
#include "providers.h"
#include "test.h"

#define RT "[cpuset rt]\ncpus = 2-3\n"
#define GLAD "[profile]\nrequire = partition\n" RT
#define STRICT "[profile]\nrequire = net\n" RT
#define NET(keys) "[net a]\nmatch = eth*\n" keys
#define INDEX "sys/class/net/eth0/ifindex=2\n"
#define RX(n, mask) "sys/class/net/eth0/queues/rx-" n "/rps_cpus=" mask "\n"
#define TX(n, mask) "sys/class/net/eth0/queues/tx-" n "/xps_cpus=" mask "\n"
#define CHANNELS(now, most) "run/ethtool/2/channels=" now "\nrun/ethtool/2/channels_max=" most "\n"
/* A card as they come: two channels of four, one transmit queue for each CPU, and no RPS. */
#define TWO CHANNELS("combined 2 rx 0 tx 0", "combined 4 rx 0 tx 0")
#define CARD INDEX RX("0", "0") RX("1", "0") TX("0", "5") TX("1", "a")

static void test_channels(void **state) {
        static const struct {
                const char *text;
                int error;
        } table[] = {
                { "combined 4 rx 0 tx 0", 0 },
                { "combined 0 rx 12 tx 3", 0 },
                { "combined 4 rx 0", -EINVAL },
                { "combined 4 rx 0 tx", -EINVAL },
                { "combined 4 rx 0 tx 0 other 1", -EINVAL },
                { "rx 4 tx 0 combined 1", -EINVAL },
                { "", -EINVAL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                NetChannels channels;
                _cleanup_free_ char *text = NULL;
                int r = net_channels_parse(table[i].text, &channels);

                if (r != table[i].error)
                        fail_msg("%s: %d", table[i].text, r);
                if (r < 0)
                        continue;
                assert_int_equal(net_channels_format(&channels, &text), 0);
                assert_string_equal(text, table[i].text);
        }
}

static void test_provider(void **state) {
        static const struct {
                const char *object, *write;
                int error;
                const char *live; /* what it reads then */
        } table[] = {
                { "net/2/rx-0/rps_cpus", NULL, 0, "0" },
                { "net/2/tx-1/xps_cpus", NULL, 0, "a" },
                { "net/2/rx-0/rps_cpus", "3", 0, "3" },
                { "net/2/tx-1/xps_cpus", "1", 0, "1" },
                { "net/2/channels", NULL, 0, "combined 2 rx 0 tx 0" },
                { "net/2/channels", "combined 1 rx 0 tx 0", 0, "combined 1 rx 0 tx 0" },
                { "net/2/channels", "1", -EINVAL, "combined 1 rx 0 tx 0" },
                { "net/2/channels_max", "combined 9 rx 0 tx 0", -EACCES, "combined 4 rx 0 tx 0" },
                /* Another device, which has no channels; one that is gone; a queue that is. */
                { "net/3/rx-0/rps_cpus", NULL, 0, "f" },
                { "net/3/channels", NULL, -EOPNOTSUPP, NULL },
                { "net/3/channels", "combined 1 rx 0 tx 0", -EOPNOTSUPP, NULL },
                { "net/4/channels", NULL, -ENODEV, NULL },
                { "net/4/rx-0/rps_cpus", NULL, -ENODEV, NULL },
                { "net/2/rx-2/rps_cpus", NULL, -ENOENT, NULL },
                { "net/2/rx-2/rps_cpus", "1", -ENOENT, NULL },
                { "net/0/ethtool", NULL, -ENOENT, NULL },
                /* None of the objects. */
                { "net/2/rx-0/xps_cpus", NULL, -EINVAL, NULL },
                { "net/2/rx-0/rps_cpus2", NULL, -EINVAL, NULL },
                { "net/2/../eth1/rx-0/rps_cpus", NULL, -EINVAL, NULL },
                { "net/eth0/channels", NULL, -EINVAL, NULL },
                { "net/2", NULL, -EINVAL, NULL },
        };
        _cleanup_tree_ Tree *tree = tree_new();

        tree_fill(tree,
                CARD TWO "sys/class/net/eth1/ifindex=3\nsys/class/net/eth1/queues/rx-0/rps_cpus=f\n"
                         "sys/class/net/bonding_masters=bond0\n");
        assert_int_equal(providers_add(tree->kfs), 0);
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *live = NULL;
                int r = table[i].write ? kfs_write(tree->kfs, table[i].object, table[i].write)
                                       : kfs_read(tree->kfs, table[i].object, &live);

                if (r != table[i].error)
                        fail_msg("%s: %d, not %d", table[i].object, r, table[i].error);
                free(TAKE_PTR(live));
                if (table[i].live &&
                        (kfs_read(tree->kfs, table[i].object, &live) < 0 || !streq(live, table[i].live)))
                        fail_msg("%s: reads %s", table[i].object, live);
        }
}

/* It is the number that is kept, not the name. */
static void test_renamed(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *live = NULL;

        tree_fill(tree, "sys/class/net/lan0/ifindex=2\nsys/class/net/lan0/queues/rx-0/rps_cpus=c\n");
        assert_int_equal(providers_add(tree->kfs), 0);
        assert_int_equal(kfs_set(tree->kfs, "net/2/rx-0/rps_cpus", VALUE_CPUMASK, "3", NULL, &live), 1);
        free(TAKE_PTR(live));
        assert_int_equal(kfs_read(tree->kfs, "/sys/class/net/lan0/queues/rx-0/rps_cpus", &live), 0);
        assert_string_equal(live, "3");
}

static void test_masks(void **state) {
        static const struct {
                const char *lines, *profile, *expected;
        } table[] = {
                { CARD, GLAD NET("rps = housekeeping\n"),
                        "net/eth0/rx-0/rps_cpus 0 -> 00000003\nnet/eth0/rx-1/rps_cpus 0 -> 00000003\n" },
                { CARD, STRICT NET("rps = set:rt\n"),
                        "net/eth0/rx-0/rps_cpus* 0 -> 0000000c\nnet/eth0/rx-1/rps_cpus* 0 -> 0000000c\n" },
                { CARD, GLAD NET("xps = 0, 2\n"),
                        "net/eth0/tx-0/xps_cpus 5 -> 00000005\nnet/eth0/tx-1/xps_cpus a -> 00000005\n" },
                { CARD, GLAD NET("xps = none\n"),
                        "net/eth0/tx-0/xps_cpus 5 -> 00000000\nnet/eth0/tx-1/xps_cpus a -> 00000000\n" },
                { CARD, "[profile]\n" NET("rps = housekeeping\n"),
                        "net/eth0/rx-0/rps_cpus 0 -> 0000000f\nnet/eth0/rx-1/rps_cpus 0 -> 0000000f\n" },
                /* What was found without the sets; all that were in a set: housekeeping; off stays off. */
                { INDEX RX("0", "f") RX("1", "c") RX("2", "1") RX("3", "0"),
                        GLAD NET("rps = keep_off_sets\n"),
                        "net/eth0/rx-0/rps_cpus f -> 00000003\nnet/eth0/rx-1/rps_cpus c -> 00000003\n"
                        "net/eth0/rx-2/rps_cpus 1 -> 00000001\n" },
                { CARD, GLAD NET("rps = keep_off_sets\n"), "" },
                { CARD, GLAD NET("xps = keep_off_sets\n"),
                        "net/eth0/tx-0/xps_cpus 5 -> 00000001\nnet/eth0/tx-1/xps_cpus a -> 00000002\n" },
                /* One transmit queue has no mask; a kernel without RPS is named. */
                { INDEX RX("0", "0") "sys/class/net/eth0/queues/tx-0/tx_timeout=0\n",
                        GLAD NET("xps = housekeeping\n"), "" },
                { INDEX "sys/class/net/eth0/queues/rx-0/x=0\n", GLAD NET("rps = housekeeping\n"),
                        "net/eth0/rx-0/rps_cpus - -> 00000003 absent\n" },
                /* No such device, no queue, no rule; the last rule counts. */
                { "", STRICT NET("rps = housekeeping\ncombined = 1\ncpus = node:7\n"), "" },
                { "sys/class/net/lo/ifindex=1\nsys/class/net/lo/queues/rx-0/rps_cpus=0\n",
                        GLAD NET("rps = node:7\n"), "" },
                { CARD, GLAD, "" },
                { CARD, GLAD NET("rps = 1\nxps = 1\n") "[net z]\nmatch = lo eth0\nrps = 0\n",
                        "net/eth0/rx-0/rps_cpus 0 -> 00000001\nnet/eth0/rx-1/rps_cpus 0 -> 00000001\n" },
                { CARD, GLAD NET("rps = core:9\n"),
                        "net/eth0/rx-0/rps_cpus 0 -> 00000000\nnet/eth0/rx-1/rps_cpus 0 -> 00000000\n"
                        "! net a: rps = core:9, column 6: there is no core 9 with CPUs: this machine has "
                        "0-3\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                planned_check(&backend_net, table[i].lines, table[i].profile, table[i].expected);
}

static void test_counts(void **state) {
/* Masks that the rule says nothing of are kept for the way back. */
#define KEPT                                                                                                \
        "net/eth0/rx-0/rps_cpus 0 -> 0\nnet/eth0/rx-1/rps_cpus 0 -> 0\nnet/eth0/tx-0/xps_cpus 5 -> 5\n"     \
        "net/eth0/tx-1/xps_cpus a -> a\n"
        static const struct {
                const char *lines, *profile, *expected;
        } table[] = {
                { CARD TWO, GLAD NET("combined = 1\n"),
                        "net/eth0/channels combined 2 rx 0 tx 0 -> combined 1 rx 0 tx 0\n" KEPT },
                { CARD TWO, STRICT NET("combined = 2\n"),
                        "net/eth0/channels* combined 2 rx 0 tx 0 -> combined 2 rx 0 tx 0\n" KEPT },
                /* One for each CPU of cpus, or of housekeeping; never more than the device has. */
                { CARD TWO, GLAD NET("combined = auto\n"),
                        "net/eth0/channels combined 2 rx 0 tx 0 -> combined 2 rx 0 tx 0\n" KEPT },
                { CARD TWO, GLAD NET("combined = auto\ncpus = 3\n"),
                        "net/eth0/channels combined 2 rx 0 tx 0 -> combined 1 rx 0 tx 0\n" KEPT },
                { CARD CHANNELS("combined 2 rx 0 tx 0", "combined 3 rx 0 tx 0"),
                        GLAD NET("combined = auto\ncpus = all\n"),
                        "net/eth0/channels combined 2 rx 0 tx 0 -> combined 3 rx 0 tx 0\n" KEPT },
                { CARD CHANNELS("combined 0 rx 2 tx 2", "combined 0 rx 4 tx 4"),
                        GLAD NET("rx = 1\ntx = 4\n"),
                        "net/eth0/channels combined 0 rx 2 tx 2 -> combined 0 rx 1 tx 4\n" KEPT },
                /* Queues that come get the masks, too. */
                { CARD TWO, STRICT NET("combined = 3\nrps = 1\nxps = none\n"),
                        "net/eth0/channels* combined 2 rx 0 tx 0 -> combined 3 rx 0 tx 0\n"
                        "net/eth0/rx-0/rps_cpus* 0 -> 00000002\nnet/eth0/rx-1/rps_cpus* 0 -> 00000002\n"
                        "net/eth0/rx-2/rps_cpus* - -> 00000002\n"
                        "net/eth0/tx-0/xps_cpus* 5 -> 00000000\nnet/eth0/tx-1/xps_cpus* a -> 00000000\n"
                        "net/eth0/tx-2/xps_cpus* - -> 00000000\n" },
                /* What the device cannot do. */
                { CARD TWO, GLAD NET("combined = 5\n"),
                        "net/eth0/channels combined 2 rx 0 tx 0 -> combined 5 absent\n" },
                { CARD TWO, STRICT NET("rx = 1\ntx = auto\n"),
                        "net/eth0/channels* combined 2 rx 0 tx 0 -> rx 1 tx auto absent\n" },
                { CARD, GLAD NET("combined = auto\n"), "net/eth0/channels - -> combined auto absent\n" },
                { CARD CHANNELS("what", "combined 4 rx 0 tx 0"), GLAD NET("combined = 1\n"),
                        "net/eth0/channels what -> combined 1 absent\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                planned_check(&backend_net, table[i].lines, table[i].profile, table[i].expected);
}

static void test_reasons(void **state) {
        static const struct {
                const char *lines, *keys, *reason;
        } table[] = {
                { CARD TWO, "combined = 5\n", "eth0 has at most 4 combined channels, see ethtool -l eth0" },
                { CARD TWO, "rx = 1\n", "eth0 has no rx channels, see ethtool -l eth0" },
                { CARD TWO, "tx = auto\n", "eth0 has no tx channels, see ethtool -l eth0" },
                { CARD, "combined = 1\n",
                        "the driver of eth0 has no channels that could be set, see ethtool -l eth0" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_planned_ Planned planned = {};
                _cleanup_free_ char *profile = NULL;

                assert_int_equal(util_asprintf(&profile, "%s%s", GLAD NET(""), table[i].keys), 0);
                planned_new(&planned, table[i].lines);
                planned_read(&planned, &backend_net, profile);
                planned_make(&planned, &backend_net, NULL);
                assert_int_equal(planned.plan->steps.n, 1);
                assert_string_equal(planned.plan->steps.items[0].reason, table[i].reason);
        }
}

/* A step in force, as the journal has it. */
static void add_record(Steps *steps, const char *object, const char *before, unsigned flags) {
        Step step = {
                .id = strdup(object),
                .object = strdup(object),
                .kind = VALUE_CPUMASK,
                .before = strdup(before),
                .wanted = strdup("3"),
                .phase = PHASE_QUEUES,
                .flags = flags | STEP_TRANSIENT,
        };

        assert_true(step.id && step.object && step.before && step.wanted);
        assert_int_equal(steps_add(steps, &step), 0);
}

/* In a mode that took a queue away: it is not forgotten, and what the mode before gave a queue is not kept. */
static void test_in_force(void **state) {
        static const struct {
                const char *object;
                unsigned flags; /* in force */
                const char *keys, *id, *before;
                unsigned expected; /* flags */
        } table[] = {
                { "net/2/rx-1/rps_cpus", STEP_KEPT, "combined = 1\n", "net/eth0/rx-1/rps_cpus", "8",
                        STEP_KEPT | STEP_VOLATILE | STEP_TRANSIENT },
                { "net/2/rx-1/rps_cpus", 0, "combined = 1\n", "net/eth0/rx-1/rps_cpus", "8",
                        STEP_VOLATILE | STEP_TRANSIENT },
                { "net/2/rx-0/rps_cpus", 0, "combined = 1\n", "net/eth0/rx-0/rps_cpus", "8",
                        STEP_VOLATILE | STEP_TRANSIENT },
                { "net/2/rx-1/rps_cpus", STEP_KEPT, "combined = 1\nrps = 1\n", "net/eth0/rx-1/rps_cpus", "8",
                        STEP_VOLATILE | STEP_TRANSIENT },
                { "net/2/rx-1/rps_cpus", 0, "rps = 1\n", "net/eth0/rx-1/rps_cpus", "8", STEP_TRANSIENT },
                { "net/2/rx-1/rps_cpus", 0, "xps = 1\n", "net/eth0/rx-1/rps_cpus", NULL, 0 },
                { "net/7/rx-1/rps_cpus", 0, "combined = 1\n", "net/eth0/rx-1/rps_cpus", NULL, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_planned_ Planned planned = {};
                _cleanup_steps_ Steps in_force = {};
                _cleanup_free_ char *profile = NULL;
                const Step *step;

                add_record(&in_force, table[i].object, "8", table[i].flags);
                assert_int_equal(util_asprintf(&profile, "%s%s", GLAD NET(""), table[i].keys), 0);
                planned_new(&planned,
                        INDEX RX("0", "0") CHANNELS("combined 1 rx 0 tx 0", "combined 4 rx 0 tx 0"));
                planned_read(&planned, &backend_net, profile);
                assert_int_equal(world_read(planned.world, table[i].object), 0);
                planned_make(&planned, &backend_net, &in_force);
                step = steps_find_id(&planned.plan->steps, table[i].id);
                if (!step != !table[i].before)
                        fail_msg("row %zu: there is %s step", i, step ? "a" : "no");
                if (!step)
                        continue;
                assert_string_equal(step->before, table[i].before);
                if (step->flags != table[i].expected)
                        fail_msg("row %zu: flags %x, not %x", i, step->flags, table[i].expected);
        }
}

static void test_irqs(void **state) {
#define IRQ(n, name)                                                                                        \
        "proc/irq/" n "/smp_affinity_list=0-3\nproc/irq/" n "/effective_affinity_list=0\n"                  \
        "sys/kernel/irq/" n "/actions=" name "\n"
#define MSI(n) "sys/class/net/eth0/device/msi_irqs/" n "=msix\n"
        static const struct {
                const char *lines, *profile, *expected;
        } table[] = {
                /* Those of receive queues, one by one; not those of its administration. */
                { INDEX MSI("30") MSI("31") MSI("32") IRQ("30", "ice-eth0-TxRx-0") IRQ("31",
                          "ice-eth0-TxRx-1") IRQ("32", "ice-0000:3b:00.0:misc") IRQ("33", "ice-eth1-TxRx-0"),
                        GLAD NET("cpus = set:rt\n"),
                        "irq/30/affinity 0-3 -> 2\nirq/31/affinity 0-3 -> 3\n"
                        "irq/32/affinity 0-3 -> 0-1\nirq/33/affinity 0-3 -> 0-1\n" },
                { INDEX "sys/bus/virtio/devices/virtio3/net/eth0/x=\n" IRQ("30", "virtio3-config") IRQ("31",
                          "virtio3-input.0") IRQ("32", "virtio3-output.0") IRQ("33", "virtio30-input.0"),
                        GLAD NET("cpus = 3\n"),
                        "irq/30/affinity 0-3 -> 0-1\nirq/31/affinity 0-3 -> 3\n"
                        "irq/32/affinity 0-3 -> 0-1\nirq/33/affinity 0-3 -> 0-1\n" },
                { INDEX IRQ("30", "eth0") IRQ("31", "eth0-rx-0") IRQ("32", "eth0.5-rx-0"),
                        STRICT NET("cpus = 2\n"),
                        "irq/30/affinity 0-3 -> 0-1\nirq/31/affinity* 0-3 -> 2\nirq/32/affinity 0-3 -> "
                        "0-1\n" },
                /* A rule by name beats that of the device. */
                { INDEX IRQ("31", "eth0-rx-0"),
                        GLAD "[irq a]\nmatch = eth0-rx-0\ncpus = 3\n" NET("cpus = 2\n"),
                        "irq/31/affinity 0-3 -> 3\n" },
                /* Housekeeping, also where other interrupts may stay on the sets. */
                { INDEX IRQ("31", "eth0-rx-0") IRQ("32", "ahci"),
                        GLAD "[keep_off_sets]\nirqs = no\n" NET("cpus = housekeeping\n"),
                        "irq/31/affinity 0-3 -> 0-1\n" },
                { IRQ("31", "eth0-rx-0"), GLAD "[keep_off_sets]\nirqs = no\n" NET("cpus = node:7\n"), "" },
                { INDEX IRQ("31", "eth0-rx-0"), GLAD "[keep_off_sets]\nirqs = no\n" NET("cpus = core:9\n"),
                        "! net a: cpus = core:9, column 6: there is no core 9 with CPUs: this machine has "
                        "0-3\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_planned_ Planned planned = {};
                _cleanup_free_ char *text = NULL;
                const char *steps;

                planned_new(&planned, table[i].lines);
                planned_read(&planned, &backend_net, table[i].profile);
                assert_int_equal(backend_irq.audit(planned.tree->kfs, planned.profile, planned.world), 0);
                planned_make(&planned, &backend_irq, NULL);
                text = planned_text(&planned);
                /* A machine without a default mask: one step says so. */
                steps = util_startswith(text, "irq/default") ? strchr(text, '\n') + 1 : text;
                if (!streq(steps, table[i].expected))
                        fail_msg("row %zu: %s, not %s", i, steps, table[i].expected);
        }
}

static void test_revert(void **state) {
        static const struct {
                Phase phase;
                unsigned flags;
                const char *before, *wanted, *live, *expected;
        } table[] = {
                { PHASE_QUEUES, 0, "f", "3", "00000003", "f" },
                { PHASE_QUEUES, 0, "f", "3", "1", NULL },
                /* It comes back with the channels. */
                { PHASE_QUEUES, 0, "f", "3", NULL, "f" },
                { PHASE_QUEUES, 0, NULL, "3", "3", NULL },
                { PHASE_QUEUES, STEP_KEPT, "f", "f", "1", "f" },
                { PHASE_QUEUES, STEP_KEPT, "f", "f", NULL, "f" },
                { PHASE_CHANNELS, 0, "combined 4 rx 0 tx 0", "combined 1 rx 0 tx 0", "combined 1 rx 0 tx 0",
                        "combined 4 rx 0 tx 0" },
                { PHASE_CHANNELS, 0, "combined 4 rx 0 tx 0", "combined 1 rx 0 tx 0", "combined 2 rx 0 tx 0",
                        NULL },
                { PHASE_CHANNELS, 0, "combined 4 rx 0 tx 0", "combined 1 rx 0 tx 0", NULL, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                const Step step = {
                        .id = (char *) "net/eth0",
                        .kind = table[i].phase == PHASE_QUEUES ? VALUE_CPUMASK : VALUE_TEXT,
                        .phase = table[i].phase,
                        .flags = table[i].flags,
                        .before = (char *) table[i].before,
                        .wanted = (char *) table[i].wanted,
                };

                planned_check_revert(&backend_net, &step, table[i].live, table[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_channels),
                cmocka_unit_test(test_provider),
                cmocka_unit_test(test_renamed),
                cmocka_unit_test(test_masks),
                cmocka_unit_test(test_counts),
                cmocka_unit_test(test_reasons),
                cmocka_unit_test(test_in_force),
                cmocka_unit_test(test_irqs),
                cmocka_unit_test(test_revert),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
