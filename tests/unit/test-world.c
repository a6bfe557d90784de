/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <sched.h>
#include <time.h>

#include "work.h"
#include "world-read.h"

#define REST(flags, start)                                                                                  \
        " 1 1 0 -1 " flags " 0 0 0 0 7 3 0 0 20 0 1 0 " start                                               \
        " 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 2 5 1 0 0 0\n"

static void test_stat(void **state) {
        static const struct {
                const char *text;
                int error;
                const char *comm;
                char status;
                int ppid;
                bool kernel, fixed;
        } table[] = {
                { "7 (sleep) S 3" REST("4194304", "99"), 0, "sleep", 'S', 3, false, false },
                { "7 (a b) R 3" REST("0", "99"), 0, "a b", 'R', 3, false, false },
                { "7 (x) R 1 1) S 3" REST("0", "99"), 0, "x) R 1 1", 'S', 3, false, false },
                { "7 (((())) S 3" REST("0", "99"), 0, "((())", 'S', 3, false, false },
                { "7 (a\nb) S 3" REST("0", "99"), 0, "a\nb", 'S', 3, false, false },
                { "7 () S 3" REST("0", "99"), 0, "", 'S', 3, false, false },
                { "7 (kthreadd) S 0" REST("2129984", "99"), 0, "kthreadd", 'S', 0, true, false },
                { "7 (migration/1) S 2" REST("69238848", "99"), 0, "migration/1", 'S', 2, true, true },
                { "7 (sleep) S 3 1 1", -EBADMSG, NULL, 0, 0, false, false },
                { "7 (sleep)", -EBADMSG, NULL, 0, 0, false, false },
                { "7 )sleep( S 3", -EBADMSG, NULL, 0, 0, false, false },
                { "", -EBADMSG, NULL, 0, 0, false, false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                WorldTask task = {};
                int r = world_parse_stat(table[i].text, &task);

                if (r != table[i].error)
                        fail_msg("\"%s\": %d", table[i].text, r);
                if (r < 0)
                        continue;
                if (!streq(task.comm, table[i].comm) || task.state != table[i].status ||
                        task.ppid != table[i].ppid || task.kernel != table[i].kernel ||
                        task.fixed != table[i].fixed)
                        fail_msg("\"%s\": %s %c %d %d %d", table[i].text, task.comm, task.state, task.ppid,
                                task.kernel, task.fixed);
                assert_int_equal(task.tid, 7);
                assert_int_equal(task.start, 99);
                assert_int_equal(task.runtime_ns, 100000000);
                assert_int_equal(task.last_cpu, 2);
                assert_int_equal(task.priority, 5);
                assert_int_equal(task.policy, SCHED_FIFO);
                free(task.comm);
        }
}

static void test_allowed(void **state) {
        static const struct {
                const char *text;
                int error;
                const char *list;
        } table[] = {
                { "Name:\ta\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n", 0, "0-3" },
                { "Cpus_allowed_list:\t1,64-65\n", 0, "1,64-65" },
                { "Name:\ta\\nCpus_allowed_list:\t7\nCpus_allowed_list:\t1\n", 0, "1" },
                { "Name:\ta\n", -ENODATA, NULL },
                { "", -ENODATA, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList list = {};
                _cleanup_free_ char *text = NULL;
                int r = world_parse_allowed(table[i].text, &list);

                assert_int_equal(cpulist_format(&list, &text), 0);
                if (r != table[i].error || !streq(text, table[i].list ?: ""))
                        fail_msg("\"%s\": %d, %s", table[i].text, r, text);
        }
}

static void test_cgroup(void **state) {
        static const struct {
                const char *text, *path;
        } table[] = {
                { "0::/system.slice/x.service\n", "/system.slice/x.service" },
                { "0::/\n", "/" },
                { "12:cpuset:/a\n1:name=systemd:/b\n0::/c d\n", "/c d" },
                { "12:cpuset:/a\n", "" },
                { "", "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *path = NULL;

                assert_int_equal(world_parse_cgroup(table[i].text, &path), 0);
                if (!streq(path, table[i].path))
                        fail_msg("\"%s\": %s", table[i].text, path);
        }
}

static World *read_world(Tree *tree) {
        World *world = NULL;

        assert_int_equal(world_new(tree->kfs, &world), 0);
        assert_int_equal(world_read_cgroups(world), 0);
        assert_int_equal(world_read_tasks(world), 0);
        return world;
}

static void test_tasks(void **state) {
        _cleanup_tree_ Tree *tree = work_tree(false);
        _cleanup_world_ World *world = NULL;
        _cleanup_free_ char *live = NULL;

        work_put_task(
                tree, (WorkTask){ .pid = 9, .comm = "nine", .cpus = "0-7", .cgroup = "/system.slice" });
        work_put_task(tree,
                (WorkTask){ .pid = 9, .tid = 12, .comm = "thread", .cpus = "2", .cgroup = "/system.slice" });
        work_put_task(tree, (WorkTask){ .pid = 10, .ppid = 9, .comm = "ten", .cpus = "1", .cgroup = "/" });
        tree_put(tree, "/proc/11/task/11/stat", "11 (gone meanwhile");
        tree_put(tree, "/proc/version", "Linux\n");
        world = read_world(tree);
        assert_int_equal(world->n_tasks, 3);
        assert_string_equal(world->tasks[0].comm, "nine");
        assert_string_equal(world->tasks[1].comm, "thread");
        assert_int_equal(world->tasks[1].pid, 9);
        assert_string_equal(world->tasks[1].cgroup, "/system.slice");
        assert_int_equal(world->tasks[2].ppid, 9);
        assert_int_equal(cpulist_format(&world->tasks[0].live, &live), 0);
        assert_string_equal(live, "0-7"); /* with those that are away */
        assert_true(cpulist_equal(&world->tasks[0].live, &world->tasks[0].found));
}

static void test_cgroups(void **state) {
        _cleanup_tree_ Tree *tree = work_tree(true);
        _cleanup_world_ World *world = NULL;
        const WorldCgroup *group;

        work_put_group(tree, "/machine.slice", "0-1", NULL);
        work_put_group(tree, "/machine.slice/a b", "", "isolated invalid (Parent is not a partition root)");
        tree_put(tree, "/sys/fs/cgroup/odd.file", "1\n");
        work_put_task(
                tree, (WorkTask){ .pid = 9, .comm = "x", .cpus = "1", .cgroup = "/machine.slice/a b" });
        world = read_world(tree);
        assert_string_equal(world->cgroup_root, "/sys/fs/cgroup");
        assert_false(world->cgroup_hybrid);
        assert_int_equal(world->n_cgroups, 4);
        group = world_cgroup(world, "/");
        assert_non_null(group);
        assert_string_equal(group->isolated, "");
        assert_null(group->cpus);
        assert_string_equal(group->controllers, "cpuset cpu memory");
        group = world_cgroup(world, "/machine.slice");
        assert_string_equal(group->cpus, "0-1");
        assert_true(group->populated);
        assert_false(group->has_tasks);
        group = world_cgroup(world, "/machine.slice/a b");
        assert_string_equal(group->partition, "isolated invalid (Parent is not a partition root)");
        assert_true(group->has_tasks);
        assert_null(world_cgroup(world, "/system.slice")->cpus);
}

static void test_kinds_of_machines(void **state) {
        static const struct {
                const char *files;
                bool known, hybrid;
        } table[] = {
                { "/sys/fs/cgroup/cgroup.controllers=cpuset cpu", true, false },
                { "/sys/fs/cgroup/cgroup.controllers=cpu memory", false, false },
                { "/sys/fs/cgroup/cgroup.controllers=memory\n/sys/fs/cgroup/cpuset/tasks=1", false, true },
                { "/sys/fs/cgroup/unified/cgroup.procs=1\n/sys/fs/cgroup/cpuset/tasks=1", false, true },
                { "/sys/fs/cgroup/cpuset/tasks=1", false, true },
                { "/proc/version=Linux", true, false }, /* a captured tree: not known */
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_world_ World *world = NULL;

                tree_put_cpus(tree, 1, 2, 1, false);
                tree_fill(tree, table[i].files);
                world = read_world(tree);
                if (!!world->cgroup_root != table[i].known || world->cgroup_hybrid != table[i].hybrid)
                        fail_msg("%s: %s, %d", table[i].files, world->cgroup_root ?: "-",
                                world->cgroup_hybrid);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stat),
                cmocka_unit_test(test_allowed),
                cmocka_unit_test(test_cgroup),
                cmocka_unit_test(test_tasks),
                cmocka_unit_test(test_cgroups),
                cmocka_unit_test(test_kinds_of_machines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
