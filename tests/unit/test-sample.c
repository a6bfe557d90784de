/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample.h"
#include "test.h"
#include "tree.h"

#define STAT(cpu1)                                                                                          \
        "proc/stat",                                                                                        \
                "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\ncpu1 " cpu1 " 0 0 0\nintr 1 2 3\n"

static void test_busy_and_interrupts(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_sample_ Sample before = {}, after = {};

        tree_put(tree, STAT("100 0 0 100 0 0 0"));
        /* CPU 3 is offline in between: its column is the third. */
        tree_put(tree, "proc/interrupts",
                "           CPU0       CPU1       CPU4\n"
                " 25:         10         20         30   PCI-MSI 1-edge eth0\n"
                "LOC:          1          2          3   Local timer interrupts\n"
                "ERR:          7\n");
        assert_int_equal(sample_take(tree->kfs, &before), 0);
        tree_put(tree, STAT("130 0 0 150 20 0 0"));
        tree_put(tree, "proc/interrupts",
                "           CPU0       CPU1       CPU4\n"
                " 25:         10         29         30   PCI-MSI 1-edge eth0\n"
                "LOC:          1          3          3   Local timer interrupts\n"
                "ERR:         99\n");
        assert_int_equal(sample_take(tree->kfs, &after), 0);
        before.at = 1000000;
        after.at = 3000000;
        assert_true(sample_busy(&before, &after, 1) > 0.299 && sample_busy(&before, &after, 1) < 0.301);
        assert_true(sample_busy(&before, &after, 0) < 0); /* nothing has passed for it */
        assert_true(sample_busy(&before, &after, 77) < 0);
        assert_true(sample_interrupts(&before, &after, 1) > 4.99 &&
                sample_interrupts(&before, &after, 1) < 5.01);
        assert_true(sample_interrupts(&before, &after, 0) < 0.01);
        assert_true(sample_interrupts(&before, &after, 77) < 0.01);
}

/* What a hypervisor took, and the CPU's own timer, by its row or by the name of its interrupt. */
static void test_steal_and_timer(void **state) {
        static const char *const rows[] = {
                "LOC:  %u  5   Local timer interrupts",
                " 11:  %u  5   GICv3  27 Level  arch_timer",
                "  5:  %u  5   RISC-V INTC  5 Edge  riscv-timer",
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_sample_ Sample before = {}, after = {};

                for (unsigned n = 0; n < 2; n++) {
                        _cleanup_free_ char *row = NULL, *text = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                        assert_int_equal(util_asprintf(&row, rows[i], 100 + 50 * n), 0);
#pragma GCC diagnostic pop
                        assert_int_equal(
                                util_asprintf(
                                        &text, "  CPU0  CPU1\n%s\n 26:  7  7   PCI-MSI 1-edge eth0\n", row),
                                0);
                        tree_put(tree, "proc/interrupts", text);
                        tree_put(tree, "proc/stat",
                                n ? "cpu0 0 0 0 75 0 0 0 25 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n"
                                  : "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n");
                        assert_int_equal(sample_take(tree->kfs, n ? &after : &before), 0);
                }
                before.at = 0;
                after.at = 2000000;
                assert_true(after.has_timer);
                assert_true(
                        sample_timer(&before, &after, 0) > 24.9 && sample_timer(&before, &after, 0) < 25.1);
                assert_true(sample_timer(&before, &after, 1) < 0.1);
                assert_true(
                        sample_steal(&before, &after, 0) > 0.24 && sample_steal(&before, &after, 0) < 0.26);
                assert_true(sample_steal(&before, &after, 1) < 0.01);
        }
}

static void test_nothing_there(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_sample_ Sample sample = {};

        assert_int_equal(sample_take(tree->kfs, &sample), 0);
        assert_int_equal(sample.n, 0);
}

/* A captured file that says anything must not make us allocate without bound. */
static void test_absurd(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_sample_ Sample sample = {};

        tree_put(tree, "proc/stat", "cpu4294967295 1 2 3 4\ncpu2 1 2 3 4\n");
        tree_put(tree, "proc/interrupts", "CPU4294967295 CPU2\n 1: 5 6\n 2:\n");
        assert_int_equal(sample_take(tree->kfs, &sample), 0);
        assert_int_equal(sample.n, 3);
        assert_int_equal(sample.interrupts[2], 6);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_busy_and_interrupts),
                cmocka_unit_test(test_steal_and_timer),
                cmocka_unit_test(test_nothing_there),
                cmocka_unit_test(test_absurd),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
