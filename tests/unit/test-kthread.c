/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "planned.h"

#define RT "[profile]\nrequire = partition\n[cpuset rt]\ncpus = 2-3\n"

#define EXCEPTED(comm)                                                                                      \
        "? kernel thread " comm                                                                             \
        ": excepted by the profile, and the kernel itself takes it off the sets' CPUs when the partition "  \
        "is made; what serves a set has to be made after the switch, or belong to a control group of its "  \
        "owner\n"

typedef struct Task {
        const char *comm, *affinity;
        bool user, fixed;
} Task;

static void add_task(World *world, int tid, const Task *task) {
        WorldTask *added;

        assert_int_equal(GROW(world->tasks, world->n_tasks), 0);
        added = &world->tasks[world->n_tasks++];
        *added = (WorldTask){
                .tid = tid, .pid = tid, .start = 7, .kernel = !task->user, .fixed = task->fixed
        };
        added->comm = strdup(task->comm);
        added->cgroup = strdup("/");
        assert_int_equal(cpulist_parse(task->affinity, &added->live, NULL), 0);
        assert_int_equal(cpulist_copy(&added->live, &added->found), 0);
}

/* Kernel thread 100 and those after it, on CPUs 0-3 of which 2-3 are a set. */
static void check(const Task *tasks, size_t n, const char *profile, const char *expected) {
        _cleanup_planned_ Planned planned = {};
        _cleanup_free_ char *text = NULL;

        planned_new(&planned, "");
        planned_read(&planned, &backend_kthread, profile);
        for (size_t i = 0; i < n; i++) {
                add_task(planned.world, (int) (100 + i), &tasks[i]);
        }
        assert_int_equal(backend_kthread.audit(planned.tree->kfs, planned.profile, planned.world), 0);
        planned_make(&planned, &backend_kthread, NULL);
        text = planned_text(&planned);
        if (!streq(text, expected))
                fail_msg("%s, %s: expected\n%s\nplanned\n%s", tasks[0].comm, profile, expected, text);
}

static void test_one(void **state) {
        static const struct {
                Task task;
                const char *profile, *expected;
        } table[] = {
                { { "kauditd", "0-3" }, RT, "kthread/kauditd/affinity 0-3 -> 0-1\n" },
                { { "kauditd", "3" }, RT, "kthread/kauditd/affinity 3 -> 0-1\n" },
                { { "kauditd", "1,3" }, RT, "kthread/kauditd/affinity 1,3 -> 1\n" },
                { { "kauditd", "0" }, RT, "kthread/kauditd/affinity 0 -> 0\n" },
                { { "kthreadd", "0-3" }, RT, "kthread/kthreadd/affinity 0-3 -> 0-1\n" },
                { { "irq/9-acpi", "1" }, RT, "kthread/irq/9-acpi/affinity 1 -> 1\n" },
                { { "jbd2/vda1-8", "0-3" }, RT, "kthread/jbd2/vda1-8/affinity 0-3 -> 0-1\n" },
                { { "rcuop/3", "0-3" }, RT, "kthread/rcuop/3/affinity 0-3 -> 0-1\n" },
                /* Those that cannot be moved, or belong to one CPU or to nobody but their owner. */
                { { "ksoftirqd/3", "3", .fixed = true }, RT, "" },
                { { "kblockd", "0-3", .fixed = true }, RT, "" },
                { { "idle_inject/3", "3" }, RT, "" },
                { { "bash", "0-3", .user = true }, RT, "" },
                { { "vhost-4711", "0-3" }, RT "[keep_off_sets]\nexcept = ice-ptp* vhost-*\n",
                        EXCEPTED("vhost-4711") },
                { { "vhost-4711", "0-1" }, RT "[keep_off_sets]\nexcept = vhost-*\n", "" },
                { { "vhost-4711", "0-3" }, RT "partition = none\n[keep_off_sets]\nexcept = vhost-*\n", "" },
                { { "xvhost-4711", "0-3" }, RT "[keep_off_sets]\nexcept = ice-ptp* vhost-*\n",
                        "kthread/xvhost-4711/affinity 0-3 -> 0-1\n" },
                { { "napi/eth0-8193", "0-3" }, RT "[keep_off_sets]\nexcept = napi/*\n",
                        EXCEPTED("napi/eth0-8193") },
                /* Only what was asked for. */
                { { "kauditd", "0-3" }, RT "[keep_off_sets]\nkthreads = no\n", "" },
                { { "rcuop/3", "0-3" }, RT "[keep_off_sets]\nkthreads = no\n",
                        "kthread/rcuop/3/affinity 0-3 -> 0-1\n" },
                { { "rcuog/3", "0-3" }, RT "[keep_off_sets]\nrcu = no\n", "" },
                { { "kauditd", "0-3" }, "[profile]\n", "" },
                { { "kauditd", "0-3" }, "[profile]\nrequire = kthreads\n[cpuset rt]\ncpus = 3\n",
                        "kthread/kauditd/affinity* 0-3 -> 0-2\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                check(&table[i].task, 1, table[i].profile, table[i].expected);
}

/* An id names one step. */
static void test_same_names(void **state) {
        static const Task tasks[] = { { "nfsd", "0-3" }, { "nfsd", "0-3" }, { "nfsd", "2" } };

        check(tasks, ARRAY_SIZE(tasks), RT,
                "kthread/nfsd/affinity 0-3 -> 0-1\nkthread/nfsd:101/affinity 0-3 -> 0-1\n"
                "kthread/nfsd:102/affinity 2 -> 0-1\n");
}

/* The thread of an interrupt that belongs on a set stays with it. */
static void test_irq_threads(void **state) {
        static const char rule[] = RT "[irq nic]\nmatch = eth0-*\ncpus = set:rt\n";
        static const Task tasks[] = { { "irq/30-eth0-rx-0", "2" }, { "irq/31-other", "3" } };
        _cleanup_planned_ Planned planned = {};
        _cleanup_free_ char *text = NULL;

        planned_new(&planned,
                "proc/irq/30/smp_affinity_list=2\nsys/kernel/irq/30/actions=eth0-rx-0\n"
                "proc/irq/31/smp_affinity_list=3\nsys/kernel/irq/31/actions=other\n");
        planned_read(&planned, &backend_irq, rule);
        for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
                add_task(planned.world, (int) (100 + i), &tasks[i]);
        planned_make(&planned, &backend_kthread, NULL);
        text = planned_text(&planned);
        assert_string_equal(text, "kthread/irq/31-other/affinity 3 -> 0-1\n");
}

static void test_priorities(void **state) {
#define RULE "[kthread softirq]\nmatch = ksoftirqd/* ktimers/*\npolicy = fifo\npriority = 2\n"
        static const struct {
                Task task;
                const char *profile, *expected;
        } table[] = {
                { { "ksoftirqd/3", "3", .fixed = true }, "[profile]\nrequire = partition\n" RULE,
                        "kthread/ksoftirqd/3/policy - -> fifo 2\n" },
                { { "ktimers/0", "0", .fixed = true }, "[profile]\nrequire = kthreads\n" RULE,
                        "kthread/ktimers/0/policy* - -> fifo 2\n" },
                { { "rcuc/0", "0", .fixed = true }, "[profile]\n" RULE, "" },
                /* A program that has such a name is none. */
                { { "ksoftirqd/3", "3", .user = true }, "[profile]\n" RULE, "" },
                /* The first rule that matches. */
                { { "ksoftirqd/3", "3", .fixed = true },
                        "[profile]\nrequire = partition\n[kthread a]\nmatch = *\npolicy = other\n" RULE,
                        "kthread/ksoftirqd/3/policy - -> other 0\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                check(&table[i].task, 1, table[i].profile, table[i].expected);
}

static void test_revert(void **state) {
        static const struct {
                const char *id, *before, *wanted, *within, *live, *expected;
                ValueKind kind;
        } table[] = {
                { "affinity", "0-3", "0-1", "0-1", "0-1", "0-3", VALUE_WITHIN },
                { "affinity", "3", "0-1", "0-1", "0-1", "3", VALUE_WITHIN },
                /* The kernel moved it, within what was left. */
                { "affinity", "1", "1", "0-1", "0", "1", VALUE_WITHIN },
                { "affinity", "0-3", "0-1", "0-1", "0-3", NULL, VALUE_WITHIN },
                { "affinity", "0-3", "0-1", "0-1", NULL, NULL, VALUE_WITHIN },
                { "policy", "other 0", "fifo 2", NULL, "fifo 2", "other 0", VALUE_TEXT },
                { "policy", "other 0", "fifo 2", NULL, "fifo 3", NULL, VALUE_TEXT },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                const Step step = {
                        .id = (char *) table[i].id,
                        .kind = table[i].kind,
                        .before = (char *) table[i].before,
                        .wanted = (char *) table[i].wanted,
                        .within = (char *) table[i].within,
                };

                planned_check_revert(&backend_kthread, &step, table[i].live, table[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one),
                cmocka_unit_test(test_same_names),
                cmocka_unit_test(test_irq_threads),
                cmocka_unit_test(test_priorities),
                cmocka_unit_test(test_revert),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
