/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "counts.h"
#include "test.h"
#include "tree.h"

static void test_parse(void **state) {
        _cleanup_counts_ Counts counts = {};
        ssize_t row;

        assert_int_equal(counts_parse("           CPU0       CPU1       CPU4\n"
                                      " 25:         10         20         30   PCI-MSI 1-edge eth0\n"
                                      "LOC:          1          2          3   Local timer interrupts\n"
                                      "ERR:          7\n"
                                      "cut:          7          8\n",
                                 &counts),
                0);
        assert_int_equal(counts.n_rows, 2);
        row = counts_row(&counts, "25");
        assert_int_equal(row, 0);
        assert_int_equal(counts_get(&counts, row, 4), 30);
        assert_int_equal(counts_get(&counts, row, 2), 0);
        assert_int_equal(counts_get(&counts, row, 99), 0);
        assert_int_equal(counts_get(&counts, counts_row(&counts, "LOC"), 1), 2);
        assert_int_equal(counts_row(&counts, "ERR"), -1);
        assert_int_equal(counts_get(&counts, -1, 0), 0);
}

static void test_wrong(void **state) {
        static const char *const texts[] = { "", "\n", "x\n1: 2\n", "CPU4294967295\n 1: 5\n", "CPUx\n" };

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                _cleanup_counts_ Counts counts = {};

                assert_int_equal(counts_parse(texts[i], &counts), -EBADMSG);
                assert_int_equal(counts.n_rows, 0);
        }
}

/* What is there no more takes the copy of an earlier mode with it. */
static void test_save(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *folder = NULL, *text = NULL;

        tree_put(tree, "run/rtisold/x", "");
        tree_put(tree, "proc/interrupts", "CPU0\n 1: 5\n");
        tree_put(tree, "proc/softirqs", "CPU0\n RCU: 5\n");
        assert_int_equal(util_asprintf(&folder, "%s/run/rtisold/" COUNTS_BEGIN, tree->root), 0);
        assert_int_equal(counts_save(tree->kfs, folder), 0);
        assert_int_equal(kfs_read(tree->kfs, "/run/rtisold/" COUNTS_BEGIN "/interrupts", &text), 0);
        assert_string_equal(text, "CPU0\n 1: 5");
        tree_remove(tree, "proc/interrupts");
        assert_int_equal(counts_save(tree->kfs, folder), 0);
        assert_false(kfs_exists(tree->kfs, "/run/rtisold/" COUNTS_BEGIN "/interrupts"));
        assert_true(kfs_exists(tree->kfs, "/run/rtisold/" COUNTS_BEGIN "/softirqs"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_wrong),
                cmocka_unit_test(test_save),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
