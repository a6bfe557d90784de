/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "enter.h"
#include "test.h"
#include "tree.h"

#define SLICE "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice"
#define TASKS SLICE "/rtisol-rt-tasks.slice"

/* Without systemd: which groups there are, and which one gets the process. */
static void test_groups(void **state) {
        static const struct {
                const char *lines, *group;
                int error;
        } rows[] = {
                { "/sys/fs/cgroup/cgroup.procs=\n", NULL, -ENOENT },
                { SLICE "/cgroup.procs=\n", SLICE, 0 },
                { SLICE "/cgroup.procs=\n" TASKS "/cgroup.procs=\n", TASKS, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *pids = NULL;
                int r;

                tree_fill(tree, rows[i].lines);
                r = enter_set(tree->kfs, "rt", 4711, "sleep");
                if (r != rows[i].error)
                        fail_msg("line %zu: %d", i, r);
                if (!rows[i].group)
                        continue;
                assert_int_equal(kfs_readf(tree->kfs, &pids, "%s/cgroup.procs", rows[i].group), 0);
                if (!streq(pids, "4711"))
                        fail_msg("line %zu: %s", i, pids);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
