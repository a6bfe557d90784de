/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "task.h"

#include <sched.h>

#include "test.h"
#include "work.h"

#define HEAD "[profile]\nrequire = partition\n"
#define QUIET "[keep_off_sets]\nirqs = no\nworkqueues = no\nwatchdog = no\n"
#define RT(cpus) HEAD QUIET "[cpuset rt]\ncpus = " cpus "\n"
#define PINNED(what, cpus) HEAD "pinned = " what "\n" QUIET "[cpuset rt]\ncpus = " cpus "\n"
#define GREEN HEAD QUIET
#define SYSTEM .cgroup = "/system.slice"

static const struct {
        const char *what, *profile;
        WorkTask tasks[4];
        const char *steps, *refusals;
} plan_cases[] = {
        { "not pinned", RT("1-3"), { { .pid = 9, .comm = "a", .cpus = "0-3", SYSTEM } }, "", "" },
        { "pinned outside", RT("2-3"), { { .pid = 9, .comm = "a", .cpus = "0", SYSTEM } },
                "task/9/affinity: 0 → 0\n", "" },
        { "pinned across", RT("1-3"), { { .pid = 9, .comm = "a", .cpus = "0,3", SYSTEM } },
                "task/9/affinity: 0,3 → 0\n", "" },
        { "a thread pinned across", RT("1-3"),
                { { .pid = 9, .comm = "a", .cpus = "0-3", SYSTEM },
                        { .pid = 9, .tid = 10, .comm = "b", .cpus = "0,3", SYSTEM } },
                "task/10/affinity: 0,3 → 0\n", "" },
        { "its children are known from later ones", RT("1-3"),
                { { .pid = 9, .comm = "a", .cpus = "0,3", SYSTEM },
                        { .pid = 10, .ppid = 9, .comm = "b", .cpus = "0-3", SYSTEM },
                        { .pid = 11, .ppid = 10, .comm = "c", .cpus = "0-3", SYSTEM },
                        { .pid = 12, .ppid = 1, .comm = "d", .cpus = "0-3", SYSTEM } },
                "task/9/affinity: 0,3 → 0\n"
                "task/10/affinity: 0-3 → 0\n"
                "task/11/affinity: 0-3 → 0\n",
                "" },
        { "a kernel thread is not our business", RT("1-3"),
                { { .pid = 9, .comm = "a", .cpus = "1", .cgroup = "/", .flags = 0x200000 } }, "", "" },
        { "pinned inside", RT("1-3"), { { .pid = 9, .comm = "worker", .cpus = "1,3", SYSTEM } }, "",
                "process 9 worker (/system.slice) is pinned to CPUs 1,3, all inside set rt: move "
                "it, end it, or "
                "have `pinned = adopt` or `pinned = ignore` in the profile\n" },
        { "threads pinned inside", RT("1-3"),
                { { .pid = 9, .comm = "qemu", .cpus = "0-3", SYSTEM },
                        { .pid = 9, .tid = 10, .comm = "CPU 0/\nKVM", .cpus = "2", SYSTEM },
                        { .pid = 9, .tid = 11, .comm = "CPU 1/KVM", .cpus = "3", SYSTEM } },
                "",
                "process 9 qemu, thread 10 CPU 0/\\x0aKVM (/system.slice) is pinned to CPUs 2, all "
                "inside set "
                "rt (and 1 more of its threads): move it, end it, or have `pinned = adopt` or "
                "`pinned = ignore` "
                "in the profile\n" },
        { "ignored", PINNED("ignore", "1-3"), { { .pid = 9, .comm = "a", .cpus = "1,3", SYSTEM } },
                "task/9/affinity: 1,3 → 0\n", "" },
        { "adopted", PINNED("adopt", "1-3"),
                { { .pid = 9, .comm = "a", .cpus = "0-3", SYSTEM },
                        { .pid = 9, .tid = 10, .comm = "b", .cpus = "1,3", SYSTEM },
                        { .pid = 12, .comm = "c", .cpus = "0,1", SYSTEM } },
                "cpuset/rt/tasks: absent → cpus= mems=\n"
                "task/9/cgroup: /system.slice → "
                "/rtisol.slice/rtisol-rt.slice/rtisol-rt-tasks.slice\n"
                "task/10/affinity: 1,3 → 1,3\n"
                "task/12/affinity: 0-1 → 0\n",
                "" },
        { "adopted, with control CPUs", PINNED("adopt", "1-3") "control_cpus = 1\n",
                { { .pid = 9, .comm = "a", .cpus = "0-3", SYSTEM },
                        { .pid = 9, .tid = 10, .comm = "b", .cpus = "3", SYSTEM } },
                "cpuset/rt/tasks: absent → cpus= mems=\n"
                "task/9/cgroup: /system.slice → "
                "/rtisol.slice/rtisol-rt.slice/rtisol-rt-tasks.slice\n"
                "task/9/affinity: 0-3 → 1\n"
                "task/10/affinity: 3 → 3\n",
                "" },
        { "real-time on the first control CPU", PINNED("adopt", "1-3") "control_cpus = 1-2\n",
                { { .pid = 9, .comm = "vm", .cpus = "0-3", SYSTEM },
                        { .pid = 9,
                                .tid = 10,
                                .comm = "CPU 0/KVM",
                                .cpus = "1",
                                .policy = SCHED_FIFO,
                                SYSTEM },
                        { .pid = 9,
                                .tid = 11,
                                .comm = "CPU 1/KVM",
                                .cpus = "2",
                                .policy = SCHED_FIFO,
                                SYSTEM },
                        { .pid = 9,
                                .tid = 12,
                                .comm = "CPU 2/KVM",
                                .cpus = "1-3",
                                .policy = SCHED_RR,
                                SYSTEM } },
                "cpuset/rt/tasks: absent → cpus= mems=\n"
                "task/9/cgroup: /system.slice → "
                "/rtisol.slice/rtisol-rt.slice/rtisol-rt-tasks.slice\n"
                "task/9/affinity: 0-3 → 1-2\n"
                "task/10/affinity: 1 → 1\n"
                "task/11/affinity: 2 → 2\n"
                "task/12/affinity: 1-3 → 1-3\n",
                "thread 10 CPU 0/KVM of process 9 is real-time (fifo 10) and would run on CPU 1, "
                "the first "
                "of the control CPUs of set rt: what starts there would never run. Pin it to "
                "another CPU of "
                "the set, or take its priority away\n" },
        { "a rule adopts", RT("1-3") "[task x]\nmatch = work*\nset = rt\n",
                { { .pid = 9, .comm = "worker", .cpus = "1,3", SYSTEM } },
                "cpuset/rt/tasks: absent → cpus= mems=\n"
                "task/9/cgroup: /system.slice → "
                "/rtisol.slice/rtisol-rt.slice/rtisol-rt-tasks.slice\n"
                "task/9/affinity: 1,3 → 1,3\n",
                "" },
        { "into two sets", HEAD "pinned = adopt\n" QUIET "[cpuset a]\ncpus = 1\n[cpuset b]\ncpus = 2\n",
                { { .pid = 9, .comm = "a", .cpus = "1", SYSTEM },
                        { .pid = 9, .tid = 10, .comm = "b", .cpus = "2", SYSTEM } },
                "",
                "process 9 a has threads pinned inside set a and inside set b: it cannot be moved "
                "into both\n" },
        { "nothing is narrowed by partition = none", RT("1-3") "partition = none\n",
                { { .pid = 9, .comm = "a", .cpus = "1,3", SYSTEM } }, "", "" },
        { "green", GREEN, { { .pid = 9, .comm = "a", .cpus = "1,3", SYSTEM } }, "", "" },
};

static void test_plan(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(plan_cases); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_plan_ Plan *plan = NULL;

                for (size_t j = 0; j < ARRAY_SIZE(plan_cases[i].tasks) && plan_cases[i].tasks[j].pid; j++)
                        work_put_task(tree, plan_cases[i].tasks[j]);
                plan = work_plan(tree, plan_cases[i].profile, NULL, NULL);
                work_compare(plan_cases[i].what, work_refusals(plan), plan_cases[i].refusals);
                if (*plan_cases[i].refusals)
                        continue;
                work_compare(plan_cases[i].what, work_steps(plan, "task"), plan_cases[i].steps);
        }
}

/* A cpuset's own limit is no pin of the tasks in it. */
static void test_group_limit(void **state) {
        static const struct {
                const char *cpus, *task, *steps;
        } table[] = {
                { "0-1", "0-1", "" },
                { "0-1", "0", "task/9/affinity: 0 → 0\n" },
                { "0-1", "0-3", "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_plan_ Plan *plan = NULL;

                work_put_group(tree, "/system.slice/a.service", table[i].cpus, NULL);
                work_put_task(tree,
                        (WorkTask){ .pid = 9,
                                .comm = "a",
                                .cpus = table[i].task,
                                .cgroup = "/system.slice/a.service" });
                plan = work_plan(tree, RT("2-3"), NULL, NULL);
                work_compare(table[i].task, work_steps(plan, "task"), table[i].steps);
        }
}

static void set_mask(Tree *tree, int tid, const char *cpus) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(util_asprintf(&text, "Cpus_allowed_list:\t%s\n", cpus), 0);
        tree_putf(tree, text, "/proc/%d/status", tid);
        tree_putf(tree, text, "/proc/%d/task/%d/status", tid, tid);
}

static void read_mask(Tree *tree, const char *what, int tid, const char *wanted) {
        _cleanup_free_ char *object = NULL, *text = NULL;

        assert_int_equal(util_asprintf(&object, "task/%d/%d/affinity", tid, 100 + tid), 0);
        assert_int_equal(kfs_read(tree->kfs, object, &text), 0);
        if (!streq(text, wanted))
                fail_msg("%s: %d is on %s, not %s", what, tid, text, wanted);
}

/* The folder of a process and its thread have one status each; a write goes to the thread's own. */
static void copy_mask(Tree *tree, int tid) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(kfs_readf(tree->kfs, &text, "/proc/%d/status", tid), 0);
        tree_putf(tree, text, "/proc/%d/task/%d/status", tid, tid);
}

/* What becomes of a mask in a mode and after it, on a kernel that leaves all masks to us. */
static void test_back(void **state) {
        static const struct {
                const char *what, *found, *inside, *changed, *back;
        } table[] = {
                { "given back", "0,3", "0", NULL, "0,3" },
                { "kept where it was", "0", "0", NULL, "0" },
                { "forgotten by the kernel meanwhile", "0,3", "0", "0-1", "0,3" },
                { "changed by somebody", "0,3", "0", "1", "1" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_steps_ Steps in_force = {};

                work_put_task(tree, (WorkTask){ .pid = 9, .comm = "a", .cpus = table[i].found, SYSTEM });
                work_switch(tree, RT("2-3"), &in_force);
                read_mask(tree, table[i].what, 9, table[i].inside);
                copy_mask(tree, 9);
                tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.effective", "0-1\n");
                if (table[i].changed)
                        set_mask(tree, 9, table[i].changed);
                work_switch(tree, GREEN, &in_force);
                read_mask(tree, table[i].what, 9, table[i].back);
        }
}

static void set_online(Tree *tree, bool all) {
        tree_put(tree, "/sys/devices/system/cpu/online", all ? "0-3\n" : "0-2\n");
        tree_put(tree, "/sys/devices/system/cpu/cpu3/online", all ? "1\n" : "0\n");
        tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.effective", all ? "0-3\n" : "0-2\n");
}

/* CPU 3 is away at the switch, or at the way back: nobody loses it, and nothing is called a refusal that is none.  What
 * the kernel takes out of a mask meanwhile is given back once the CPU has returned. */
static void test_away(void **state) {
        static const struct {
                const char *what, *found;
                bool kernel, cpuset;
                const char *inside; /* in the mode */
                const char *forgot; /* what the kernel makes of that, or NULL */
                const char *back, *later;
        } table[] = {
                { "a kernel thread", "0-3", true, false, "0", NULL, "0-3", "0-3" },
                { "one that the kernel puts on what is left", "0-3", true, false, "0", "0-2", "0-3", "0-3" },
                { "one that was pinned", "0,3", true, false, "0", NULL, "0,3", "0,3" },
                { "one that was pinned to others", "1", true, false, "0", NULL, "1", "1" },
                { "a pinned task", "0,3", false, false, "0", NULL, "0,3", "0,3" },
                { "one in a cpuset", "0,3", false, true, "0", NULL, "0", "0,3" },
                { "one that is not pinned", "0-3", false, false, "0-3", NULL, "0-3", "0-3" },
                { "one that is not pinned, and narrowed", "0-3", false, false, "0-3", "0-2", "0-3", "0-3" },
                { "the same in a cpuset", "0-3", false, true, "0-3", "0-2", "0-2", "0-3" },
        };

        for (size_t i = 0; i < 2 * ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_steps_ Steps in_force = {};
                size_t row = i / 2;
                WorkTask task = { .pid = 9,
                        .comm = "a",
                        .cpus = table[row].found,
                        .cgroup = table[row].kernel ? "/" : "/system.slice",
                        .flags = table[row].kernel ? 0x200000 : 0 };

                if (table[row].cpuset)
                        work_put_group(tree, "/system.slice", "", NULL);
                work_put_task(tree, task);
                set_online(tree, i % 2);
                work_switch(tree, i % 2 ? RT("1-3") : RT("1-2"), &in_force);
                read_mask(tree, table[row].what, 9, table[row].inside);
                copy_mask(tree, 9);
                set_online(tree, false);
                if (table[row].forgot)
                        set_mask(tree, 9, table[row].forgot);
                work_switch(tree, GREEN, &in_force);
                read_mask(tree, table[row].what, 9, table[row].back);
                copy_mask(tree, 9);
                set_online(tree, true);
                work_switch(tree, GREEN, &in_force);
                read_mask(tree, table[row].what, 9, table[row].later);
                assert_int_equal(in_force.n, 0);
        }
}

/* Pinned to a set's CPU and to one that is away is pinned inside the set. */
static void test_pinned_inside_and_away(void **state) {
        _cleanup_tree_ Tree *tree = work_tree(false);
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_free_ char *refusals = NULL;

        work_put_task(tree, (WorkTask){ .pid = 9, .comm = "a", .cpus = "2-3", SYSTEM });
        set_online(tree, false);
        plan = work_plan(tree, RT("1-2"), NULL, NULL);
        refusals = work_refusals(plan);
        assert_non_null(strstr(refusals, "is pinned to CPUs 2-3, all inside set rt"));
}

/* The lines that have this in them. */
static char *lines_of(char *text, const char *with) {
        _cleanup_free_ char *all = text;
        _cleanup_strv_ char **lines = NULL;
        char *kept = NULL, *longer;

        assert_int_equal(util_strv_split(all, "\n", &lines), 0);
        assert_int_equal(util_asprintf(&kept, "%s", ""), 0);
        STRV_FOREACH (line, lines) {
                if (!strstr(*line, with))
                        continue;
                assert_int_equal(util_asprintf(&longer, "%s%s\n", kept, *line), 0);
                free(kept);
                kept = longer;
        }
        return kept;
}

/* Tasks that come while the mode is in force */
static void test_later(void **state) {
        static const struct {
                const char *what;
                WorkTask task;
                const char *green, *smaller;
        } table[] = {
                { "a child of a pinned one", { .pid = 20, .ppid = 9, .comm = "b", .cpus = "0", SYSTEM },
                        "!task/20/affinity: 0 → 0,3\n", "task/20/affinity: 0 → 0\n" },
                { "a grandchild", { .pid = 20, .ppid = 10, .comm = "b", .cpus = "0", SYSTEM },
                        "!task/20/affinity: 0 → 0,3\n", "task/20/affinity: 0 → 0\n" },
                { "a child that pinned itself", { .pid = 20, .ppid = 9, .comm = "b", .cpus = "1", SYSTEM },
                        "!task/20/affinity: 1 → 1\n", "!task/20/affinity: 1 → 1\n" },
                { "a child of one that is not pinned",
                        { .pid = 20, .ppid = 8, .comm = "b", .cpus = "0-1", SYSTEM }, "", "" },
                { "its child that pinned itself", { .pid = 20, .ppid = 8, .comm = "b", .cpus = "1", SYSTEM },
                        "!task/20/affinity: 1 → 1\n", "!task/20/affinity: 1 → 1\n" },
                { "a thread of a pinned process", { .pid = 9, .tid = 20, .comm = "b", .cpus = "0", SYSTEM },
                        "!task/20/affinity: 0 → 0,3\n", "task/20/affinity: 0 → 0\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_plan_ Plan *green = NULL, *smaller = NULL;
                _cleanup_steps_ Steps in_force = {};

                work_put_task(tree, (WorkTask){ .pid = 8, .comm = "s", .cpus = "0-3", SYSTEM });
                work_put_task(tree, (WorkTask){ .pid = 9, .comm = "a", .cpus = "0,3", SYSTEM });
                work_switch(tree, RT("2-3"), &in_force);
                copy_mask(tree, 9);
                set_mask(tree, 8, "0-1");
                tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.effective", "0-1\n");
                if (table[i].task.ppid == 10)
                        work_put_task(tree,
                                (WorkTask){ .pid = 10, .ppid = 9, .comm = "m", .cpus = "0,3", SYSTEM });
                work_put_task(tree, table[i].task);
                green = work_plan(tree, GREEN, &in_force, NULL);
                smaller = work_plan(tree, RT("3"), &in_force, NULL);
                work_compare(table[i].what, lines_of(work_steps(green, "task"), "task/20/"), table[i].green);
                work_compare(
                        table[i].what, lines_of(work_steps(smaller, "task"), "task/20/"), table[i].smaller);
        }
}

/* What holds green back */

static void test_blockers(void **state) {
        static const struct {
                const char *what;
                WorkTask task;
                unsigned later; /* ticks of ten milliseconds, of the hundred that passed */
                const char *sentences;
        } table[] = {
                { "asleep", { .pid = 9, .comm = "a", .cgroup = "/rtisol.slice/rtisol-rt.slice" }, 0, "" },
                { "busy now and then", { .pid = 9, .comm = "a", .cgroup = "/rtisol.slice/rtisol-rt.slice" },
                        50, "" },
                { "polling", { .pid = 9, .comm = "a", .cgroup = "/rtisol.slice/rtisol-rt.slice/x.service" },
                        99,
                        "process 9 a runs in /rtisol.slice/rtisol-rt.slice/x.service as a polling task\n" },
                { "polling elsewhere", { .pid = 9, .comm = "a", SYSTEM }, 99, "" },
                { "real-time",
                        { .pid = 9,
                                .comm = "a b)",
                                .policy = SCHED_FIFO,
                                .cgroup = "/rtisol.slice/rtisol-rt.slice" },
                        0, "process 9 a b) runs in /rtisol.slice/rtisol-rt.slice as a real-time task\n" },
                { "real-time elsewhere", { .pid = 9, .comm = "a", .policy = SCHED_RR, SYSTEM }, 0, "" },
                { "of the kernel",
                        { .pid = 9,
                                .comm = "a",
                                .policy = SCHED_FIFO,
                                .flags = 0x200000,
                                .cgroup = "/rtisol.slice/rtisol-rt.slice" },
                        99, "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_world_ World *earlier = NULL, *now = NULL;
                _cleanup_strv_ char **blockers = NULL;
                WorkTask task = table[i].task;
                char *text = NULL;

                task.cpus = "1";
                work_put_task(tree, task);
                assert_int_equal(plan_audit(tree->kfs, NULL, NULL, &earlier), 0);
                task.ticks = table[i].later;
                work_put_task(tree, task);
                assert_int_equal(plan_audit(tree->kfs, NULL, NULL, &now), 0);
                assert_int_equal(task_green_blockers(now, earlier, 1000000000, &blockers), 0);
                assert_int_equal(
                        util_asprintf(&text, "%s%s", blockers ? blockers[0] : "", blockers ? "\n" : ""), 0);
                work_compare(table[i].what, text, table[i].sentences);
        }
}

static void test_any_inside(void **state) {
        static const struct {
                const char *what;
                WorkTask task;
                bool inside;
        } table[] = {
                { "elsewhere", { .pid = 9, .comm = "a", SYSTEM }, false },
                { "in a slice of a like name", { .pid = 9, .comm = "a", .cgroup = "/rtisol.slice2" },
                        false },
                { "in a set", { .pid = 9, .comm = "a", .cgroup = "/rtisol.slice/rtisol-rt.slice" }, true },
                { "of the kernel",
                        { .pid = 9,
                                .comm = "a",
                                .flags = 0x200000,
                                .cgroup = "/rtisol.slice/rtisol-rt.slice" },
                        false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = work_tree(false);
                _cleanup_world_ World *world = NULL;
                WorkTask task = table[i].task;

                task.cpus = "1";
                work_put_task(tree, task);
                assert_int_equal(plan_audit(tree->kfs, NULL, NULL, &world), 0);
                if (task_any_inside(world) != table[i].inside)
                        fail_msg("%s", table[i].what);
        }
}

/* Ten thousand threads are read with a few system calls each. */
static int count_reads(void *userdata, KfsMoment moment, const char *object, const char *value) {
        *(size_t *) userdata += moment == KFS_BEFORE_READ;
        return 0;
}

static void test_reads_per_thread(void **state) {
        _cleanup_tree_ Tree *tree = work_tree(false);
        _cleanup_world_ World *few = NULL, *many = NULL;
        size_t n_few = 0, n_many = 0;

        work_put_task(tree, (WorkTask){ .pid = 9, .comm = "a", .cpus = "0", SYSTEM });
        kfs_hook(tree->kfs, count_reads, &n_few);
        assert_int_equal(plan_audit(tree->kfs, NULL, NULL, &few), 0);
        for (int tid = 10; tid < 110; tid++)
                work_put_task(tree, (WorkTask){ .pid = 9, .tid = tid, .comm = "a", .cpus = "0", SYSTEM });
        kfs_hook(tree->kfs, count_reads, &n_many);
        assert_int_equal(plan_audit(tree->kfs, NULL, NULL, &many), 0);
        assert_int_equal(many->n_tasks, few->n_tasks + 100);
        assert_in_range(n_many - n_few, 200, 200);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plan),
                cmocka_unit_test(test_group_limit),
                cmocka_unit_test(test_back),
                cmocka_unit_test(test_away),
                cmocka_unit_test(test_pinned_inside_and_away),
                cmocka_unit_test(test_later),
                cmocka_unit_test(test_blockers),
                cmocka_unit_test(test_any_inside),
                cmocka_unit_test(test_reads_per_thread),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
