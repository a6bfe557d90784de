/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "irq.h"
#include "planned.h"

#define RT "[cpuset rt]\ncpus = 2-3\n"
#define GLAD "[profile]\nrequire = partition\n" RT
#define DEFAULT "proc/irq/default_smp_affinity=f\n"
#define IRQ(n, affinity, effective, name)                                                                   \
        "proc/irq/" n "/smp_affinity_list=" affinity "\nproc/irq/" n "/effective_affinity_list=" effective  \
        "\nsys/kernel/irq/" n "/actions=" name "\n"

static void test_keep_off(void **state) {
        static const struct {
                const char *lines, *profile, *expected;
        } table[] = {
                /* An interrupt is wanted on what was found without the sets, or on housekeeping. */
                { DEFAULT IRQ("25", "0-3", "1", "eth0"), RT,
                        "irq/default* f -> 00000003\nirq/25/affinity* 0-3 -> 0-1\n" },
                { DEFAULT IRQ("25", "2", "2", "eth0"), RT,
                        "irq/default* f -> 00000003\nirq/25/affinity* 2 -> 0-1\n" },
                { DEFAULT IRQ("25", "1-2", "2", "eth0"), RT,
                        "irq/default* f -> 00000003\nirq/25/affinity* 1-2 -> 1\n" },
                { DEFAULT IRQ("25", "1", "1", "eth0"), RT,
                        "irq/default* f -> 00000003\nirq/25/affinity* 1 -> 1\n" },
                { DEFAULT IRQ("9", "0-3", "", "") IRQ("100", "3", "3", "x"), GLAD,
                        "irq/default f -> 00000003\nirq/9/affinity 0-3 -> 0-1\nirq/100/affinity 3 -> "
                        "0-1\n" },
                /* Without a handler: nothing to undo a switch for. */
                { DEFAULT IRQ("25", "0-3", "1", "eth0") IRQ("26", "0-3", "3", ""), RT,
                        "irq/default* f -> 00000003\nirq/25/affinity* 0-3 -> 0-1\nirq/26/affinity 0-3 -> "
                        "0-1\n" },
                /* The default mask: an admin's narrower one stays, in words as wide as the machine needs. */
                { "proc/irq/default_smp_affinity=1\n", GLAD, "irq/default 1 -> 00000001\n" },
                { "proc/irq/default_smp_affinity=c\n", GLAD, "irq/default c -> 00000003\n" },
                { "proc/irq/default_smp_affinity=ffffffff,ffffffff\n", GLAD,
                        "irq/default ffffffff,ffffffff -> 00000003\n" },
                /* Nothing to keep off, or nobody asked. */
                { DEFAULT IRQ("25", "0-3", "1", "eth0"), "[profile]\n", "" },
                { DEFAULT IRQ("25", "0-3", "1", "eth0"), RT "[keep_off_sets]\nirqs = no\n", "" },
                /* A kernel without the files. */
                { "", GLAD, "irq/default - -> 0-1 absent\n" },
                /* irqbalance is told, on top of what it was told before. */
                { DEFAULT "run/irqbalance/banned=\n", GLAD,
                        "irq/default f -> 00000003\nirq/irqbalance  -> 2-3\n" },
                { DEFAULT "run/irqbalance/banned=1\n", GLAD,
                        "irq/default f -> 00000003\nirq/irqbalance 1 -> 1-3\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                planned_check(&backend_irq, table[i].lines, table[i].profile, table[i].expected);
}

/* What cannot be moved counts only where it fires on a set, and where the kernel was not told at boot. */
static void test_unmovable(void **state) {
#define MANAGED "sys/kernel/debug/irq/irqs/25=IRQD_AFFINITY_MANAGED\n"
        static const struct {
                const char *lines, *expected;
        } table[] = {
                { DEFAULT MANAGED IRQ("25", "3", "3", "nvme0q4"),
                        "irq/default f -> 00000003\nirq/25/affinity 3 -> 0-1 boot\n" },
                { DEFAULT MANAGED IRQ("25", "0-3", "1", "nvme0q1"), "irq/default f -> 00000003\n" },
                { DEFAULT MANAGED IRQ("25", "2-3", "", "nvme0q1"), "irq/default f -> 00000003\n" },
                { DEFAULT MANAGED IRQ("25", "3", "3", "nvme0q4") "proc/cmdline=isolcpus=managed_irq,2-3\n",
                        "irq/default f -> 00000003\n" },
                { DEFAULT MANAGED IRQ("25", "3", "3", "nvme0q4") "proc/cmdline=isolcpus=managed_irq,2\n",
                        "irq/default f -> 00000003\nirq/25/affinity 3 -> 0-1 boot\n" },
                /* The timer's and the cascade's own, which every PC has. */
                { DEFAULT IRQ("0", "0-3", "0", "timer")
                                IRQ("2", "0-3", "", "") "sys/kernel/irq/2/chip_name=XT-PIC\n",
                        "irq/default f -> 00000003\n" },
                { DEFAULT IRQ("0", "0-3", "2", "timer"),
                        "irq/default f -> 00000003\nirq/0/affinity 0-3 -> 0-1\n" },
                { DEFAULT MANAGED IRQ("25", "3", "3", "nvme0q4") "proc/cmdline=isolcpus=2-3\n",
                        "irq/default f -> 00000003\nirq/25/affinity 3 -> 0-1 boot\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                planned_check(&backend_irq, table[i].lines, GLAD, table[i].expected);
}

static void test_rules(void **state) {
#define THREE                                                                                               \
        IRQ("30", "0-3", "0", "eth0-rx-0")                                                                  \
        IRQ("31", "0-3", "0", "eth0-rx-1") IRQ("32", "0", "0", "eth0-rx-2")
        static const struct {
                const char *lines, *profile, *expected;
        } table[] = {
                { DEFAULT THREE, GLAD "[irq nic]\nmatch = eth0-rx-*\ncpus = set:rt\n",
                        "irq/default f -> 00000003\nirq/30/affinity 0-3 -> 2\nirq/31/affinity 0-3 -> 3\n"
                        "irq/32/affinity 0 -> 2\n" },
                { DEFAULT THREE, "[profile]\nrequire = partition\n[irq nic]\nmatch = *-1\ncpus = 3\n",
                        "irq/31/affinity 0-3 -> 3\n" },
                { DEFAULT THREE IRQ("33", "3", "3", "eth1"),
                        GLAD "[irq nic]\nmatch = eth0-rx-1 eth0-rx-2\ncpus = 2\n",
                        "irq/default f -> 00000003\nirq/30/affinity 0-3 -> 0-1\nirq/31/affinity 0-3 -> 2\n"
                        "irq/32/affinity 0 -> 2\nirq/33/affinity 3 -> 0-1\n" },
                /* Shared by two devices; the name is matched, not a part of the list. */
                { DEFAULT IRQ("9", "0-3", "0", "acpi,eth0-rx-7"),
                        GLAD "[irq nic]\nmatch = eth0-rx-*\ncpus = 3\n",
                        "irq/default f -> 00000003\nirq/9/affinity 0-3 -> 3\n" },
                { DEFAULT IRQ("9", "0-3", "0", "acpi,eth0-rx-7"),
                        GLAD "[irq nic]\nmatch = acpi*7\ncpus = 3\n",
                        "irq/default f -> 00000003\nirq/9/affinity 0-3 -> 0-1\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                planned_check(&backend_irq, table[i].lines, table[i].profile, table[i].expected);
}

static void test_wrong_rule(void **state) {
        _cleanup_planned_ Planned planned = {};
        _cleanup_free_ char *text = NULL;

        planned_new(&planned, DEFAULT);
        planned_read(&planned, &backend_irq, GLAD "[irq nic]\nmatch = eth0\ncpus = node:7\n");
        planned_make(&planned, &backend_irq, NULL);
        text = planned_text(&planned);
        if (!strstr(text, "! irq nic: cpus = node:7, column 6: "))
                fail_msg("%s", text);
}

static void test_vectors(void **state) {
        static const struct {
                const char *vectors, *refusal;
        } table[] = {
                { "| CPU | avl | man | mac | act | vectors\n 0 1 0 0 8 33-40\n 1 0 0 0 9 33\n 2 9 0 0 0 0\n",
                        "! the housekeeping CPUs 0-1 have 1 interrupt vectors left, and 2 interrupts have "
                        "to move "
                        "there: " },
                { "| CPU | avl | man | mac | act | vectors\n 0 1 0 0 8 33-40\n 1 1 0 0 9 33\n", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_planned_ Planned planned = {};
                _cleanup_free_ char *text = NULL;

                planned_new(&planned,
                        DEFAULT IRQ("30", "0-3", "2", "a") IRQ("31", "3", "3", "b")
                                IRQ("32", "0-3", "1", "c"));
                tree_put(planned.tree, "sys/kernel/debug/irq/domains/VECTOR", table[i].vectors);
                planned_read(&planned, &backend_irq, GLAD);
                planned_make(&planned, &backend_irq, NULL);
                text = planned_text(&planned);
                if (table[i].refusal ? !strstr(text, table[i].refusal) : !!strchr(text, '!'))
                        fail_msg("%s: %s", table[i].vectors, text);
        }
}

static void test_revert(void **state) {
        static const struct {
                ValueKind kind;
                const char *before, *wanted, *within, *live, *expected;
        } table[] = {
                { VALUE_WITHIN, "0-3", "0-1", "0-1", "0-1", "0-3" },
                { VALUE_WITHIN, "2", "0-1", "0-1", "0-1", "2" },
                /* A balancer moved it: what was found is given back all the same. */
                { VALUE_WITHIN, "0-3", "0-1", "0-1", "1", "0-3" },
                /* Somebody put it on the set. */
                { VALUE_WITHIN, "0-3", "0-1", "0-1", "3", NULL },
                { VALUE_WITHIN, "0-3", "0-1", "0-1", "1-2", NULL },
                { VALUE_WITHIN, "0-3", "0-1", "0-1", NULL, NULL },
                /* Never moved by the mode: it stays where somebody put it. */
                { VALUE_WITHIN, "1", "1", "0-1", "0", NULL },
                { VALUE_WITHIN, "1", "1", "0-1", "1", "1" },
                { VALUE_CPULIST, "0-3", "2", NULL, "2", "0-3" },
                { VALUE_CPULIST, "0-3", "2", NULL, "3", NULL },
                { VALUE_CPUMASK, "f", "3", NULL, "3", "f" },
                { VALUE_CPUMASK, "f", "3", NULL, "00000003", "f" },
                { VALUE_CPUMASK, "f", "3", NULL, "1", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                const Step step = {
                        .id = (char *) "irq/25/affinity",
                        .kind = table[i].kind,
                        .before = (char *) table[i].before,
                        .wanted = (char *) table[i].wanted,
                        .within = (char *) table[i].within,
                };

                planned_check_revert(&backend_irq, &step, table[i].live, table[i].expected);
        }
}

/* In force, the value before is what was found then. */
static void test_in_force(void **state) {
        _cleanup_planned_ Planned planned = {};
        _cleanup_steps_ Steps in_force = {};
        _cleanup_free_ char *text = NULL;
        const Step records[] = {
                { .id = (char *) "irq/25/affinity",
                        .object = (char *) "/proc/irq/25/smp_affinity_list",
                        .before = (char *) "1-3",
                        .phase = PHASE_IRQ },
                { .id = (char *) "irq/default",
                        .object = (char *) "/proc/irq/default_smp_affinity",
                        .before = (char *) "f",
                        .phase = PHASE_IRQ_DEFAULT },
        };

        for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
                Step copy = {};

                assert_int_equal(step_copy(&records[i], &copy), 0);
                assert_int_equal(steps_add(&in_force, &copy), 0);
        }
        planned_new(&planned, "proc/irq/default_smp_affinity=3\n" IRQ("25", "0", "0", "eth0"));
        planned_read(&planned, &backend_irq, GLAD);
        planned_make(&planned, &backend_irq, &in_force);
        text = planned_text(&planned);
        assert_string_equal(text, "irq/default f (3) -> 00000003\nirq/25/affinity 1-3 (0) -> 1\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_keep_off),
                cmocka_unit_test(test_unmovable),
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_wrong_rule),
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_revert),
                cmocka_unit_test(test_in_force),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
