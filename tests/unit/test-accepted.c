/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "accepted.h"
#include "test.h"
#include "tree.h"

static void assert_file(Tree *tree, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(kfs_read_raw(tree->kfs, ACCEPTED_FILE, &text, NULL), 0);
        assert_string_equal(text, expected);
}

static void test_file(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *path = NULL;
        _cleanup_strv_ char **patterns = NULL;

        assert_int_equal(accepted_read(tree->kfs, &patterns), 0);
        assert_int_equal(util_strv_length(patterns), 0);
        assert_int_equal(util_asprintf(&path, "%s" ACCEPTED_FILE, tree->root), 0);
        assert_int_equal(accepted_add(path, "irq-unmovable:nvme*", "by ops"), 1);
        assert_int_equal(accepted_add(path, "irq-unmovable:nvme*", "once more"), 0);
        assert_int_equal(accepted_add(path, "steal:*", NULL), 1);
        assert_file(tree, "irq-unmovable:nvme*  # by ops\nsteal:*\n");
        assert_int_equal(accepted_remove(path, "irq-unmovable:*"), 0);
        assert_int_equal(accepted_remove(path, "irq-unmovable:nvme*"), 1);
        assert_file(tree, "steal:*\n");
}

static void test_keeps_comments(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *path = NULL;

        tree_put(tree, "etc/rtisold/accepted", "# mine\n\na:b # why\n");
        assert_int_equal(util_asprintf(&path, "%s" ACCEPTED_FILE, tree->root), 0);
        assert_int_equal(accepted_add(path, "a:b", NULL), 0);
        assert_int_equal(accepted_add(path, "c:d", NULL), 1);
        assert_file(tree, "# mine\n\na:b # why\nc:d\n");
}

static void test_matches(void **state) {
        static const struct {
                const char *pattern, *id;
                bool matches;
        } cases[] = {
                { "clock-source:hpet", "clock-source:hpet", true },
                { "clock-source", "clock-source:hpet", false },
                { "irq-unmovable:*", "irq-unmovable:nvme0q3", true },
                { "kthread-on-set:irq/*", "kthread-on-set:irq/26-eth0/x", true },
                { "a:c#2", "a:c#2", true },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_strv_ char **patterns = NULL;

                tree_put(tree, "etc/rtisold/accepted", cases[i].pattern);
                assert_int_equal(accepted_read(tree->kfs, &patterns), 0);
                assert_int_equal(accepted_matches(patterns, cases[i].id), cases[i].matches);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_file),
                cmocka_unit_test(test_keeps_comments),
                cmocka_unit_test(test_matches),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
