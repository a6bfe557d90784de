/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuset.h"

#include "test.h"
#include "work.h"

#define HEAD "[profile]\nrequire = partition\n[keep_off_sets]\nirqs = no\nworkqueues = no\nwatchdog = no\n"
#define RT(cpus) HEAD "[cpuset rt]\ncpus = " cpus "\n"
#define TWO(a, b) HEAD "[cpuset a]\ncpus = " a "\n[cpuset b]\ncpus = " b "\n"
#define GREEN HEAD

static void test_names(void **state) {
        static const struct {
                const char *unit;
                int error;
                const char *path;
        } table[] = {
                { "rtisol.slice", 0, "/rtisol.slice" },
                { "rtisol-rt.slice", 0, "/rtisol.slice/rtisol-rt.slice" },
                { "rtisol-rt-tasks.slice", 0, "/rtisol.slice/rtisol-rt.slice/rtisol-rt-tasks.slice" },
                { "rtisol_x.slice", 0, "/rtisol_x.slice" },
                { "x.service", -EINVAL, NULL },
                { "-.slice", -EINVAL, NULL },
                { "a-.slice", -EINVAL, NULL },
                { "a--b.slice", -EINVAL, NULL },
                { ".slice", -EINVAL, NULL },
                { "../x.slice", -EINVAL, NULL },
                { "a", -EINVAL, NULL },
                { "", -EINVAL, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *path = NULL;
                int r = cpuset_unit_path(table[i].unit, &path);

                if (r != table[i].error || !streq(path ?: "", table[i].path ?: ""))
                        fail_msg("%s: %d, %s", table[i].unit, r, path);
        }
}

static void test_inside(void **state) {
        static const struct {
                const char *cgroup, *set;
        } table[] = {
                { "/rtisol.slice/rtisol-rt.slice", "rt" },
                { "/rtisol.slice/rtisol-rt.slice/x.service", "rt" },
                { "/rtisol.slice/rtisol-a_1.slice/rtisol-a_1-tasks.slice", "a_1" },
                { "/rtisol.slice", NULL },
                { "/rtisol.slice/x.service", NULL },
                { "/rtisol.slice/rtisol-rt.slicer", NULL },
                { "/system.slice/rtisol-rt.slice", NULL },
                { "/", NULL },
                { "", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *set = NULL;

                if (cpuset_is_inside(table[i].cgroup, &set) != !!table[i].set ||
                        !streq(set ?: "", table[i].set ?: ""))
                        fail_msg("%s: %s", table[i].cgroup, set ?: "-");
        }
}

/* From green, on both kinds of kernel */

typedef struct Group {
        const char *path, *cpus;
} Group;

static void test_plan(void **state) {
        static const struct {
                const char *what, *profile;
                bool remote;
                Group groups[4];
                const char *steps;
        } table[] = {
                { "local", RT("1-3"), false, {},
                        "cpuset/controller: off → on\n"
                        "cpuset/rtisol/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/rt/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/rtisol/partition: - → root\n"
                        "cpuset/rt/partition: - → isolated\n" },
                { "remote", RT("1-3"), true, {},
                        "cpuset/controller: off → on\n"
                        "cpuset/rtisol/slice: absent → cpus= mems=\n"
                        "cpuset/rt/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/rtisol/exclusive: - → 1-3\n"
                        "cpuset/rt/exclusive: - → 1-3\n"
                        "cpuset/rt/partition: - → isolated\n" },
                { "two sets", TWO("1", "2-3") "partition = root\nmems = local\n", false, {},
                        "cpuset/controller: off → on\n"
                        "cpuset/rtisol/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/a/slice: absent → cpus=1 mems=\n"
                        "cpuset/b/slice: absent → cpus=2-3 mems=0\n"
                        "cpuset/rtisol/partition: - → root\n"
                        "cpuset/a/partition: - → isolated\n"
                        "cpuset/b/partition: - → root\n" },
                { "no partition", RT("1-3") "partition = none\n", false, { { "/pods.slice", "1-3" } }, "" },
                { "neighbours of a local partition", RT("1-3"), false,
                        { { "/machine.slice", "0-3" }, { "/a.slice", "0" }, { "/b.slice", "" },
                                { "/machine.slice/vm.scope", "0-3" } },
                        "cpuset/controller: off → on\n"
                        "cpuset/machine.slice/cpus: 0-3 → 0\n"
                        "cpuset/rtisol/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/rt/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/rtisol/partition: - → root\n"
                        "cpuset/rt/partition: - → isolated\n" },
                { "neighbours of a remote one", RT("1-3"), true, { { "/machine.slice", "0-3" } },
                        "cpuset/controller: off → on\n"
                        "cpuset/rtisol/slice: absent → cpus= mems=\n"
                        "cpuset/rt/slice: absent → cpus=1-3 mems=\n"
                        "cpuset/rtisol/exclusive: - → 1-3\n"
                        "cpuset/rt/exclusive: - → 1-3\n"
                        "cpuset/rt/partition: - → isolated\n" },
                { "nothing asked", GREEN, false, {}, "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(table[i].remote);
                _cleanup_plan_ Plan *plan = NULL;

                for (const Group *group = table[i].groups;
                        group < table[i].groups + ARRAY_SIZE(table[i].groups) && group->path; group++)
                        work_put_group(tree, group->path, group->cpus, NULL);
                plan = work_plan(tree, table[i].profile, NULL, NULL);
                work_compare(table[i].what, work_refusals(plan), "");
                work_compare(table[i].what, work_steps(plan, "cpuset"), table[i].steps);
        }
}

static void test_systemd_has_the_controller(void **state) {
        _cleanup_tree_ Tree *tree = work_tree(false);
        _cleanup_plan_ Plan *plan = NULL;

        tree_put(tree, "/run/systemd/system/x", "");
        plan = work_plan(tree, RT("1-3"), NULL, NULL);
        assert_null(steps_find_id(&plan->steps, "cpuset/controller"));
        assert_non_null(steps_find_id(&plan->steps, "cpuset/rt/partition"));
}

/* From one mode to another */

static void test_switch_plan(void **state) {
        static const struct {
                const char *what, *from, *to;
                bool remote;
                const char *steps;
        } table[] = {
                { "the same", RT("1-3"), RT("1-3"), false,
                        "cpuset/controller: on → on\n"
                        "cpuset/wide.slice/cpus: 0 → 0\n"
                        "cpuset/rtisol/slice: cpus=1-3 mems= → cpus=1-3 mems=\n"
                        "cpuset/rt/slice: cpus=1-3 mems= → cpus=1-3 mems=\n"
                        "cpuset/rtisol/partition: root → root\n"
                        "cpuset/rt/partition: isolated → isolated\n" },
                { "a CPU is given up: the neighbour gets it last", RT("1-3"), RT("2-3"), false,
                        "cpuset/controller: on → on\n"
                        "cpuset/rtisol/slice: cpus=1-3 mems= → cpus=2-3 mems=\n"
                        "cpuset/rt/slice: cpus=1-3 mems= → cpus=2-3 mems=\n"
                        "cpuset/rtisol/partition: root → root\n"
                        "cpuset/rt/partition: isolated → isolated\n"
                        "cpuset/wide.slice/cpus: 0 → 0-1\n" },
                { "a CPU is taken: the neighbour gives it first", RT("2-3"), RT("1-3"), false,
                        "cpuset/controller: on → on\n"
                        "cpuset/wide.slice/cpus: 0-1 → 0\n"
                        "cpuset/rtisol/slice: cpus=2-3 mems= → cpus=1-3 mems=\n"
                        "cpuset/rt/slice: cpus=2-3 mems= → cpus=1-3 mems=\n"
                        "cpuset/rtisol/partition: root → root\n"
                        "cpuset/rt/partition: isolated → isolated\n" },
                { "who gives a CPU goes before who gets it", TWO("1", "2"), TWO("1-2", "3"), true,
                        "cpuset/controller: on → on\n"
                        "cpuset/rtisol/slice: cpus= mems= → cpus= mems=\n"
                        "cpuset/b/slice: cpus=2 mems= → cpus=3 mems=\n"
                        "cpuset/rtisol/exclusive: 1-2 → 1-3\n"
                        "cpuset/b/exclusive: 2 → 3\n"
                        "cpuset/a/slice: cpus=1 mems= → cpus=1-2 mems=\n"
                        "cpuset/a/exclusive: 1 → 1-2\n"
                        "cpuset/b/partition: isolated → isolated\n"
                        "cpuset/a/partition: isolated → isolated\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(table[i].remote);
                _cleanup_steps_ Steps in_force = {};
                _cleanup_plan_ Plan *plan = NULL;

                work_put_group(tree, "/wide.slice", "0-3", NULL);
                work_switch(tree, table[i].from, &in_force);
                plan = work_plan(tree, table[i].to, &in_force, NULL);
                work_compare(table[i].what, work_refusals(plan), "");
                work_compare(table[i].what, work_steps(plan, "cpuset"), table[i].steps);
        }
}

static void test_exchange(void **state) {
        _cleanup_tree_ Tree *tree = work_tree(true);
        _cleanup_steps_ Steps in_force = {};
        _cleanup_plan_ Plan *plan = NULL;

        work_switch(tree, TWO("1", "2-3"), &in_force);
        plan = work_plan(tree, TWO("2", "1,3"), &in_force, NULL);
        work_compare("exchange", work_refusals(plan),
                "set a gets CPUs of another set that gets CPUs of it: this kernel cannot exchange them "
                "while they stay isolated. Go green in between\n");
}

/* There and back, on files: everything is as before */

static void test_back(void **state) {
        static const struct {
                const char *what, *first, *second;
                bool remote, systemd, wide;
        } table[] = {
                { "local", RT("1-3"), NULL, false, false, false },
                { "local, beside a wide group", RT("1-3"), NULL, false, false, true },
                { "remote", RT("1-3"), NULL, true, false, false },
                { "local, systemd's tree", RT("1-3"), NULL, false, true, true },
                { "remote, systemd's tree", RT("1-3"), NULL, true, true, true },
                { "smaller", RT("1-3"), RT("2"), false, false, true },
                { "larger", RT("2"), RT("1-3"), false, false, true },
                { "other sets", TWO("1", "2-3"), RT("1-3"), false, false, false },
                { "exchanged", TWO("1", "2-3"), TWO("2-3", "1"), false, false, true },
                { "passed on, remote", TWO("1", "2"), TWO("2", "3"), true, false, false },
                { "no partition", RT("1-3"), RT("1-3") "partition = none\n", false, false, true },
                { "a rule's slice", RT("1-3") "[task x]\nmatch = x\nset = rt\n", NULL, false, false, false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(table[i].remote);
                _cleanup_steps_ Steps in_force = {};
                _cleanup_free_ char *before = NULL;

                if (table[i].wide) {
                        work_put_group(tree, "/wide.slice", "0-3", NULL);
                        tree_put(tree, "/sys/fs/cgroup/cgroup.subtree_control", "cpuset memory\n");
                }
                if (table[i].systemd)
                        tree_put(tree, "/run/systemd/system/x", "");
                before = work_files(tree, "/sys/fs/cgroup");
                work_switch(tree, table[i].first, &in_force);
                if (table[i].second)
                        work_switch(tree, table[i].second, &in_force);
                work_switch(tree, GREEN, &in_force);
                work_compare(table[i].what, work_files(tree, "/sys/fs/cgroup"), before);
                assert_int_equal(in_force.n, 0);
        }
}

static void read_value(Tree *tree, const char *object, const char *wanted) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(kfs_read(tree->kfs, object, &text), 0);
        if (!streq(text, wanted))
                fail_msg("%s is %s, not %s", object, text, wanted);
}

static void test_in_use(void **state) {
        static const struct {
                bool remote;
                const char *set, *parent;
        } table[] = {
                { false, "cpus=0-3 mems=", "cpus=0-3 mems=" },
                { true, "cpus=0-3 mems=", "cpus= mems=" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(table[i].remote);
                _cleanup_steps_ Steps in_force = {};

                work_switch(tree, RT("1-3"), &in_force);
                read_value(tree, "unit/rtisol-rt.slice", "cpus=1-3 mems=");
                work_put_task(tree,
                        (WorkTask){ .pid = 9,
                                .comm = "x",
                                .cpus = "1-3",
                                .cgroup = "/rtisol.slice/rtisol-rt.slice" });
                assert_int_equal(kfs_write(tree->kfs, "unit/rtisol-rt.slice", "absent"), -EBUSY);
                work_switch(tree, GREEN, &in_force);
                read_value(tree, "unit/rtisol-rt.slice", table[i].set);
                read_value(tree, "unit/rtisol.slice", table[i].parent);
                read_value(
                        tree, "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.partition", "member");
                work_switch(tree, RT("1-3"), &in_force);
                read_value(tree, "unit/rtisol-rt.slice", "cpus=1-3 mems=");
                work_switch(tree, GREEN, &in_force);
                read_value(tree, "unit/rtisol-rt.slice", table[i].set);
        }
}

/* Slices that were there before, with work in them, stay; once their owner has stopped them, no later mode makes them
 * again for him. */
static void test_stopped_since(void **state) {
        for (int remote = 0; remote < 2; remote++) {
                _cleanup_tree_ Tree *tree = work_tree(remote);
                _cleanup_steps_ Steps in_force = {};

                assert_int_equal(kfs_write(tree->kfs, "unit/rtisol.slice", "cpus= mems="), 0);
                assert_int_equal(kfs_write(tree->kfs, "unit/rtisol-rt.slice", "cpus= mems="), 0);
                work_put_task(tree,
                        (WorkTask){ .pid = 9,
                                .comm = "x",
                                .cpus = "0-3",
                                .cgroup = "/rtisol.slice/rtisol-rt.slice" });
                work_switch(tree, RT("1-3"), &in_force);
                work_switch(tree, GREEN, &in_force);
                assert_int_not_equal(in_force.n, 0);
                tree_put(tree, "proc/9/cgroup", "0::/\n");
                tree_put(tree, "sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cgroup.events", "populated 0\n");
                tree_put(tree, "sys/fs/cgroup/rtisol.slice/cgroup.events", "populated 0\n");
                assert_int_equal(kfs_write(tree->kfs, "unit/rtisol-rt.slice", "absent"), 0);
                assert_int_equal(kfs_write(tree->kfs, "unit/rtisol.slice", "absent"), 0);
                work_switch(tree, RT("1-3"), &in_force);
                work_switch(tree, GREEN, &in_force);
                read_value(tree, "unit/rtisol-rt.slice", "absent");
                read_value(tree, "unit/rtisol.slice", "absent");
                assert_int_equal(in_force.n, 0);
        }
}

/* Changed by somebody else meanwhile */

static void test_foreign_changes(void **state) {
        static const struct {
                const char *path, *value, *wanted;
        } table[] = {
                { "/sys/fs/cgroup/wide.slice/cpuset.cpus", "0-1", "0-1" }, /* an admin's: left */
                { "/sys/fs/cgroup/wide.slice/cpuset.cpus", "0-3",
                        "0-3" }, /* systemd's, after daemon-reload */
                { "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.partition",
                        "isolated invalid (x)", NULL },
                { "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus", "1", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_steps_ Steps in_force = {};

                work_put_group(tree, "/wide.slice", "0-3", NULL);
                work_switch(tree, RT("1-3"), &in_force);
                tree_put(tree, table[i].path, table[i].value);
                work_switch(tree, GREEN, &in_force);
                if (table[i].wanted)
                        read_value(tree, table[i].path, table[i].wanted);
                else
                        assert_false(kfs_exists(tree->kfs, table[i].path));
                assert_false(kfs_exists(tree->kfs, "/sys/fs/cgroup/rtisol.slice"));
        }
}

/* Refusals */

static void test_refusals(void **state) {
        static const struct {
                const char *what, *profile;
                bool remote;
                Group group;
                bool used;
                const char *refusals;
        } table[] = {
                { "a service", RT("1-3"), true, { "/system.slice/a.service", "2" }, true,
                        "/system.slice/a.service (worker, pid 9) has cpuset.cpus = 2, all inside set rt: "
                        "its work would "
                        "be moved to other CPUs. Give it other CPUs (AllowedCPUs=), or end it\n" },
                { "one without tasks", RT("1-3"), true, { "/system.slice/a.service", "2" }, false, "" },
                { "one that keeps a CPU", RT("1-2"), true, { "/system.slice/a.service", "2-3" }, true, "" },
                { "one to be adopted", RT("1-3"), true, { "/system.slice/a.service", "0" }, true, "" },
                { "a neighbour left with nothing", RT("1-3"), false, { "/vm.slice", "2" }, false,
                        "/vm.slice has cpuset.cpus = 2, all inside set rt: its work would be moved to other "
                        "CPUs. Give "
                        "it other CPUs (AllowedCPUs=), or end it\n" },
                { "somebody else below rtisol.slice", RT("1-3"), false,
                        { "/rtisol.slice/rtisol-old.slice", "0-3" }, true,
                        "/rtisol.slice/rtisol-old.slice (worker, pid 9) is in use and is no set of this "
                        "mode: below "
                        "rtisol.slice it would have no CPU left. End or move what runs there\n" },
                { "and where that does no harm", RT("1-3"), true,
                        { "/rtisol.slice/rtisol-old.slice", "0-3" }, true, "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(table[i].remote);
                _cleanup_plan_ Plan *plan = NULL;

                work_put_group(tree, table[i].group.path, table[i].group.cpus, NULL);
                if (table[i].used)
                        work_put_task(tree,
                                (WorkTask){ .pid = 9,
                                        .comm = "worker",
                                        .cpus = table[i].group.cpus,
                                        .cgroup = table[i].group.path });
                plan = work_plan(tree, table[i].profile, NULL, NULL);
                work_compare(table[i].what, work_refusals(plan), table[i].refusals);
        }
}

static void test_machines(void **state) {
        static const struct {
                const char *path, *refusal;
        } table[] = {
                { "/sys/fs/cgroup/cpuset/tasks",
                        "this machine has its cpusets on cgroup v1, which has no partitions: boot with "
                        "systemd.unified_cgroup_hierarchy=1\n" },
                { "/sys/fs/cgroup/cgroup.controllers",
                        "there is no cgroup v2 hierarchy with the cpuset controller at /sys/fs/cgroup\n" },
                { "/proc/version", "" }, /* a captured tree */
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_plan_ Plan *plan = NULL;

                tree_put_cpus(tree, 1, 4, 1, false);
                tree_put(tree, table[i].path, "cpu memory\n");
                plan = work_plan(tree, RT("1-3"), NULL, NULL);
                work_compare(table[i].path, work_refusals(plan), table[i].refusal);
        }
}

/* What `status` says */

static void test_state(void **state) {
        static const struct {
                const char *what, *root, *isolated, *parent, *own, *effective, *partition, *reason;
        } table[] = {
                { "holds, local", "0", NULL, "root", "isolated", "1-3", "isolated", NULL },
                { "holds, remote", "0", "1-3", "member", "isolated", "1-3", "isolated", NULL },
                { "the kernel says why", "0-3", NULL, "root",
                        "isolated invalid (Parent is not a partition root)", "0-3", "isolated invalid",
                        "Parent is not a partition root" },
                { "a level above", "0-3", NULL, "root invalid (Cpu list in cpuset.cpus not exclusive)",
                        "isolated", "1-3", "isolated",
                        "rtisol.slice above it is invalid: Cpu list in cpuset.cpus not exclusive" },
                { "the root has its CPUs", "0-3", NULL, "root", "isolated", "1-3", "isolated",
                        "the root's cpuset.cpus.effective still has CPUs 1-3" },
                { "not in the root's isolated list", "0", "1", "member", "isolated", "1-3", "isolated",
                        "the root's cpuset.cpus.isolated is \"1\", without all of 1-3" },
                { "a member", "0-3", NULL, "root", "member", "1-3", "member",
                        "its cpuset.cpus.partition is member, not isolated" },
                { "fewer CPUs", "0,3", NULL, "root", "isolated", "1-2", "isolated",
                        "its cpuset.cpus.effective is \"1-2\", not 1-3" },
                { "gone", "0-3", NULL, "root", NULL, NULL, "", "its slice is gone" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_free_ char *partition = NULL, *reason = NULL;
                _cleanup_world_ World *world = NULL;
                StepSet set = { (char *) "rt", (char *) "1-3", (char *) "isolated", (char *) "",
                        (char *) "" };

                tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.effective", table[i].root);
                if (table[i].isolated)
                        tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.isolated", table[i].isolated);
                work_put_group(tree, "/rtisol.slice", "1-3", table[i].parent);
                if (table[i].own) {
                        work_put_group(tree, "/rtisol.slice/rtisol-rt.slice", "1-3", table[i].own);
                        tree_put(tree, "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.effective",
                                table[i].effective);
                }
                assert_int_equal(plan_audit(tree->kfs, NULL, NULL, &world), 0);
                assert_int_equal(cpuset_set_state(world, &set, &partition, &reason), 0);
                if (!streq(partition, table[i].partition) || !streq(reason ?: "-", table[i].reason ?: "-"))
                        fail_msg("%s: %s, %s", table[i].what, partition, reason ?: "-");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_inside),
                cmocka_unit_test(test_plan),
                cmocka_unit_test(test_systemd_has_the_controller),
                cmocka_unit_test(test_switch_plan),
                cmocka_unit_test(test_exchange),
                cmocka_unit_test(test_back),
                cmocka_unit_test(test_in_use),
                cmocka_unit_test(test_stopped_since),
                cmocka_unit_test(test_foreign_changes),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_machines),
                cmocka_unit_test(test_state),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
