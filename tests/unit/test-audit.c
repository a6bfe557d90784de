/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "accepted.h"
#include "audit-facts.h"
#include "providers.h"
#include "test.h"
#include "tree.h"

#define KTHREAD 0x00200000
#define FIXED 0x04000000
#define SLICE "/rtisol.slice/rtisol-rt.slice"

typedef struct FakeTask {
        int tid;
        const char *comm;
        unsigned flags;
        char state;
        int cpu, policy, priority;
        const char *affinity, *cgroup;
} FakeTask;

static void put_stat(Tree *tree, const FakeTask *task, unsigned ticks) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(
                util_asprintf(&text,
                        "%d (%s) %c 1 0 0 0 -1 %u 0 0 0 0 %u 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                        "17 %d %d %d 0 0 0\n",
                        task->tid, task->comm, task->state, task->flags, ticks, task->cpu, task->priority,
                        task->policy),
                0);
        tree_putf(tree, text, "proc/%d/task/%d/stat", task->tid, task->tid);
}

static void put_task(Tree *tree, const FakeTask *task) {
        _cleanup_free_ char *allowed = NULL, *group = NULL;

        put_stat(tree, task, 0);
        assert_int_equal(util_asprintf(&allowed, "Cpus_allowed_list:\t%s\n", task->affinity), 0);
        tree_putf(tree, allowed, "proc/%d/task/%d/status", task->tid, task->tid);
        assert_int_equal(util_asprintf(&group, "0::%s\n", task->cgroup ?: "/"), 0);
        tree_putf(tree, group, "proc/%d/cgroup", task->tid);
}

/* CPUs 0-1 on node 0, 2-3 on node 1; 2-3 are the set rt, and nothing disturbs them. */
static Tree *quiet_machine(void) {
        static const FakeTask tasks[] = {
                { 26, "ksoftirqd/2", KTHREAD | FIXED, 'S', 2, 0, 0, "2", NULL },
                { 90, "worker", 0, 'S', 2, 0, 0, "2-3", SLICE "/x.service" },
                { 91, "cron", 0, 'S', 0, 0, 0, "0-1", "/system.slice/cron.service" },
        };
        Tree *tree = tree_new();

        tree_put_cpus(tree, 2, 2, 1, false);
        for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
                put_task(tree, &tasks[i]);
        tree_fill(tree,
                "sys/fs/cgroup/cgroup.controllers=cpuset\n"
                "sys/fs/cgroup/cpuset.cpus.effective=0-1\n"
                "sys/fs/cgroup/rtisol.slice/cpuset.cpus.partition=root\n"
                "sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.partition=isolated\n"
                "sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.effective=2-3\n"
                "sys/devices/system/clocksource/clocksource0/current_clocksource=tsc\n"
                "sys/devices/system/clocksource/clocksource0/available_clocksource=tsc hpet\n"
                "proc/sys/kernel/sched_rt_runtime_us=950000\n");
        tree_put(tree, "proc/stat",
                "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\ncpu3 0 0 0 0 "
                "0 0 0 0 "
                "0 0\n");
        assert_int_equal(providers_add(tree->kfs), 0);
        return tree;
}

static void look(Tree *tree, unsigned msec, Audit **ret) {
        _cleanup_steps_ Steps steps = {};
        StepSet set = { (char *) "rt", (char *) "2-3", (char *) "isolated", (char *) "", (char *) "" };
        _cleanup_strv_ char **accepted = NULL;

        assert_int_equal(accepted_read(tree->kfs, &accepted), 0);
        assert_int_equal(steps_add_set(&steps, &set), 0);
        assert_int_equal(audit_look(tree->kfs,
                                 &(AuditInput){ .in_force = &steps,
                                         .mode = "low-jitter",
                                         .accepted = accepted,
                                         .look_msec = msec },
                                 ret),
                0);
}

/* Each change of the quiet machine gives this one finding: `ID | CPUS | FIX`; "" gives none. */
static void expect(Tree *tree, unsigned msec, const char *expected) {
        _cleanup_audit_ Audit *audit = NULL;
        _cleanup_free_ char *got = strdup("");

        look(tree, msec, &audit);
        for (size_t i = 0; i < audit->n_findings; i++) {
                const Finding *finding = &audit->findings[i];
                _cleanup_free_ char *before = TAKE_PTR(got);

                assert_int_equal(util_asprintf(&got, "%s%s%s | %s | %s", before, *before ? "\n" : "",
                                         finding->id, finding->cpus, finding->fix),
                        0);
        }
        assert_string_equal(got, expected);
}

static void test_quiet(void **state) {
        _cleanup_tree_ Tree *tree = quiet_machine();

        expect(tree, 0, "");
        expect(tree, 1, "");
}

static void test_files(void **state) {
        static const struct {
                const char *files, *expected;
        } cases[] = {
                { "sys/devices/system/clocksource/clocksource0/current_clocksource=hpet",
                        "clock-source:hpet | 2-3 | echo tsc > "
                        "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
                { "sys/devices/system/clocksource/clocksource0/current_clocksource=acpi_pm\n"
                  "sys/devices/system/clocksource/clocksource0/available_clocksource=acpi_pm",
                        "clock-source:acpi_pm | 2-3 | tsc=reliable on the kernel command line, where the "
                        "processor's "
                        "TSC is" },
                { "sys/kernel/livepatch/fix_1/transition=0", "" },
                { "sys/kernel/livepatch/fix_1/transition=1",
                        "livepatch:fix_1 | 2-3 | echo 0 > /sys/kernel/livepatch/fix_1/enabled" },
                { "sys/kernel/livepatch/a;b/transition=1",
                        "livepatch:a;b | 2-3 | take the patch back, or stop the task that it waits for" },
                { "sys/class/thermal/cooling_device3/type=intel_powerclamp\n"
                  "sys/class/thermal/cooling_device3/cur_state=-1",
                        "" },
                { "sys/class/thermal/cooling_device3/type=Processor\n"
                  "sys/class/thermal/cooling_device3/cur_state=3",
                        "" },
                { "sys/class/thermal/cooling_device3/type=intel_powerclamp\n"
                  "sys/class/thermal/cooling_device3/cur_state=20",
                        "idle-injection:intel_powerclamp | 2-3 | echo 0 > "
                        "/sys/class/thermal/cooling_device3/cur_state" },
                { "sys/fs/cgroup/rtisol.slice/cpuset.cpus.partition=root invalid (why)",
                        "partition-invalid:rtisol-rt.slice | 2-3 | rtisoctl mode low-jitter" },
                { "sys/devices/system/cpu/cpu3/topology/thread_siblings_list=1,3",
                        "sibling-outside:1 | 3 | echo 0 > /sys/devices/system/cpu/cpu1/online" },
                { "proc/irq/30/smp_affinity_list=0-3\nsys/kernel/irq/30/actions=eth0",
                        "irq-on-set:eth0 | 2-3 | echo 0-1 > /proc/irq/30/smp_affinity_list" },
                { "proc/irq/30/smp_affinity_list=1\nproc/irq/30/effective_affinity_list=3\n"
                  "sys/kernel/irq/30/actions=eth0",
                        "irq-pending:eth0 | 3 | nothing to do: effective_affinity follows with the next "
                        "one" },
                { "proc/90/timers=ID: 0\nproc/90/limits=Max cpu time              unlimited   unlimited  "
                  "seconds",
                        "" },
                { "proc/90/timers=ClockID: -722",
                        "cpu-timer:worker | 2-3 | let the program use CLOCK_MONOTONIC for timer_create(2), "
                        "or end it" },
                { "proc/90/limits=Max cpu time              60                   unlimited            "
                  "seconds",
                        "cpu-timer:worker | 2-3 | prlimit --pid 90 --cpu=unlimited" },
                { "proc/90/numa_maps=7f00 default anon=400 dirty=400 N1=400 kernelpagesize_kB=4", "" },
                { "proc/90/numa_maps=7f00 default file=/lib/x mapped=900 N0=900 kernelpagesize_kB=4", "" },
                { "proc/90/numa_maps=7f00 default anon=400 dirty=400 N0=400 kernelpagesize_kB=4",
                        "memory-remote:worker | 2-3 | migratepages 90 0 1" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_tree_ Tree *tree = quiet_machine();

                tree_fill(tree, cases[i].files);
                expect(tree, 0, cases[i].expected);
        }
}

static void test_tasks(void **state) {
        static const struct {
                FakeTask task;
                const char *expected;
        } cases[] = {
                { { 70, "packetd", 0, 'S', 0, 0, 0, "0-2", "/system.slice/p.service" },
                        "user-task-on-set:packetd | 2 | taskset -pc 0-1 70" },
                { { 70, "packetd", 0, 'Z', 0, 0, 0, "0-2", "/system.slice/p.service" }, "" },
                { { 70, "kauditd", KTHREAD, 'S', 0, 0, 0, "0-3", NULL },
                        "kthread-on-set:kauditd | 2-3 | taskset -pc 0-1 70" },
                { { 70, "kworker/u8:1-ev", KTHREAD | FIXED, 'I', 0, 0, 0, "0-3", NULL },
                        "kthread-on-set:kworker/u8:1-ev | 2-3 | echo 00000003 > "
                        "/sys/devices/virtual/workqueue/cpumask" },
                { { 70, "kblockd", KTHREAD | FIXED, 'I', 0, 0, 0, "0-3", NULL }, "" },
                { { 70, "rcuc/3", KTHREAD, 'S', 3, 1, 1, "3", NULL }, "" },
                { { 70, "kauditd", KTHREAD, 'S', 3, 0, 0, "0-1", NULL }, "" }, /* ran there last */
                { { 70, "irqbalance", 0, 'S', 0, 0, 0, "0-1", "/system.slice/irqbalance.service" },
                        "rival:irqbalance | 2-3 | systemctl stop irqbalance.service" },
                { { 70, "tuned", 0, 'S', 0, 0, 0, "0-1", "/user.slice/session-1.scope" },
                        "rival:tuned | 2-3 | kill 70" },
                { { 70, "tuned", 0, 'S', 0, 0, 0, "0-1", "/system.slice/a;reboot;.service" },
                        "rival:tuned | 2-3 | kill 70" },
                { { 70, "tuned", KTHREAD, 'S', 0, 0, 0, "0-1", "/" }, "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_tree_ Tree *tree = quiet_machine();

                put_task(tree, &cases[i].task);
                expect(tree, 0, cases[i].expected);
        }
}

/* What is seen only by looking twice: the machine changes when something is read the second or third time. */
typedef struct Later {
        Tree *tree;
        const char *object; /* its read number `at` finds the machine changed */
        int at, reads;
        void (*change)(Tree *tree);
} Later;

static int on_access(void *userdata, KfsMoment moment, const char *object, const char *value) {
        Later *later = userdata;

        if (moment == KFS_BEFORE_READ && streq(object, later->object) && ++later->reads == later->at)
                later->change(later->tree);
        return 0;
}

static const FakeTask spinner = { 70, "pollster", 0, 'R', 3, 1, 40, "3", SLICE };

static void spend(Tree *tree) {
        put_stat(tree, &spinner, 100000);
}

static void test_spinner(void **state) {
        static const struct {
                const char *throttling, *expected;
        } cases[] = {
                { "proc/sys/kernel/sched_rt_runtime_us=950000",
                        "rt-throttling:pollster | 3 | chrt --other --pid 0 70" },
                { "proc/sys/kernel/sched_rt_runtime_us=-1",
                        "fifo-spinner:pollster | 3 | chrt --other --pid 0 70" },
                { "sys/kernel/debug/sched/fair_server/cpu2/runtime=50000000\n"
                  "sys/kernel/debug/sched/fair_server/cpu3/runtime=0",
                        "fifo-spinner:pollster | 3 | chrt --other --pid 0 70" },
                { "sys/kernel/debug/sched/fair_server/cpu2/runtime=50000000\n"
                  "sys/kernel/debug/sched/fair_server/cpu3/runtime=50000000\n"
                  "proc/sys/kernel/sched_rt_runtime_us=-1",
                        "rt-throttling:pollster | 3 | chrt --other --pid 0 70" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_tree_ Tree *tree = quiet_machine();
                Later later = { tree, "/proc/70/task/70/stat", 3, 0, spend };

                put_task(tree, &spinner);
                tree_fill(tree, cases[i].throttling);
                expect(tree, 1, ""); /* it is ready to run, and does not */
                kfs_hook(tree->kfs, on_access, &later);
                expect(tree, 1, cases[i].expected);
                assert_int_equal(later.reads, 3);
        }
}

static void test_stack(void **state) {
        static const FakeTask tasks[] = {
                { 70, "one", 0, 'R', 3, 0, 0, "2-3", SLICE },
                { 71, "two", 0, 'R', 3, 0, 0, "2-3", SLICE },
                { 72, "three", 0, 'R', 2, 0, 0, "2-3", SLICE },
        };
        _cleanup_tree_ Tree *tree = quiet_machine();

        put_task(tree, &tasks[0]);
        expect(tree, 1, "");
        put_task(tree, &tasks[1]);
        expect(tree, 1, "stacked-tasks:two | 3 | taskset -pc 2 71");
        put_task(tree, &tasks[2]);
        expect(tree, 1,
                "stacked-tasks:two | 3 | start fewer threads, or give the set more CPUs: all are in use");
}

static void steal(Tree *tree) {
        tree_put(tree, "proc/stat", "cpu0 0 0 0 9 0 0 0 9 0 0\ncpu3 0 0 0 90 0 0 0 10 0 0\n");
}

static void test_steal(void **state) {
        _cleanup_tree_ Tree *tree = quiet_machine();
        Later later = { tree, "/proc/stat", 2, 0, steal };

        kfs_hook(tree->kfs, on_access, &later);
        expect(tree, 1,
                "steal:hypervisor | 3 | on the host, give the virtual CPU a CPU of its own: virsh vcpupin "
                "DOMAIN VCPU "
                "CPU");
}

/* The count is at offset 0x34 of the file. */
static void put_smi(Tree *tree, char count) {
        char text[0x34 + 9];

        memset(text, '.', 0x34);
        memcpy(text + 0x34, (char[]){ count, 1, 1, 1, 1, 1, 1, 1, 0 }, 9);
        tree_put(tree, "dev/cpu/0/msr", text);
}

static void one_more_smi(Tree *tree) {
        put_smi(tree, 9);
}

static void test_smi(void **state) {
        _cleanup_tree_ Tree *tree = quiet_machine();
        Later later = { tree, "/dev/cpu/0/msr", 2, 0, one_more_smi };

        put_smi(tree, 7);
        expect(tree, 1, "");
        kfs_hook(tree->kfs, on_access, &later);
        expect(tree, 1,
                "smi:firmware | 2-3 | turn off in the firmware's setup what needs them (USB emulation, "
                "power capping, "
                "memory error logging)");
}

static void packets(Tree *tree) {
        tree_put(tree, "proc/softirqs",
                "  CPU0 CPU1 CPU2 CPU3\nTIMER: 900 900 900 900\nNET_RX: 9 900 0 900\n");
}

/* Counted between the two looks; what comes with the tick, and what comes to others, is none. */
static void test_noise(void **state) {
        _cleanup_tree_ Tree *tree = quiet_machine();
        Later later = { tree, "/proc/softirqs", 3, 0, packets };

        tree_put(tree, "proc/softirqs", "  CPU0 CPU1 CPU2 CPU3\nTIMER: 1 1 1 1\nNET_RX: 0 0 0 0\n");
        expect(tree, 1, "");
        kfs_hook(tree->kfs, on_access, &later);
        expect(tree, 1,
                "noise:NET_RX | 3 | packets are handled here: move the network card's interrupts, clear "
                "rps_cpus and xps_cpus of the set, and keep the workload off loopback sockets");
}

/* An interrupt that nobody can move is told of once it has come since the mode began. */
static void test_counts_since(void **state) {
        static const struct {
                const char *began, *expected;
        } cases[] = {
                { "     CPU0 CPU1 CPU2 CPU3\n 30:  5 0 0 7  MSI 1-edge nvme0q3\n", "" },
                { "     CPU0 CPU1 CPU2 CPU3\n 30:  5 0 0 6  MSI 1-edge nvme0q3\n",
                        "irq-unmovable:nvme0q3 | 3 | isolcpus=managed_irq,2-3 on the kernel command line "
                        "keeps it off "
                        "from the next boot" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_tree_ Tree *tree = quiet_machine();

                tree_fill(tree,
                        "proc/irq/30/smp_affinity_list=3\nproc/irq/30/effective_affinity_list=3\n"
                        "sys/kernel/debug/irq/irqs/30=IRQD_AFFINITY_MANAGED");
                tree_put(tree, "proc/interrupts",
                        "     CPU0 CPU1 CPU2 CPU3\n 30:  9 0 0 7  MSI 1-edge nvme0q3\n");
                tree_put(tree, "run/rtisold/begin/interrupts", cases[i].began);
                expect(tree, 0, cases[i].expected);
        }
}

static void test_accepted(void **state) {
        _cleanup_tree_ Tree *tree = quiet_machine();
        _cleanup_audit_ Audit *audit = NULL;

        tree_fill(tree,
                "sys/kernel/livepatch/fix_1/transition=1\n"
                "sys/devices/system/clocksource/clocksource0/current_clocksource=hpet");
        tree_put(tree, "etc/rtisold/accepted", "# ours\n\nlivepatch:fix_*  # till Monday\nclock-source\n");
        look(tree, 0, &audit);
        assert_int_equal(audit->n_findings, 2);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(audit->findings[i].accepted, streq(audit->findings[i].code, "livepatch"));
}

static void test_parse(void **state) {
        static const struct {
                const char *timers, *expected;
        } timers[] = {
                { "", NULL }, { "ID: 0\nsignal: 14/0\nnotify: signal/pid.9\nClockID: 1\n", NULL },
                { "ID: 0\nClockID: 0\nID: 1\nClockID: -6\n", "a timer on its CPU time" },
                { "ClockID: 2\n", "a timer on its CPU time" },
                { "ClockID: 3\n", "a timer on a thread's CPU time" },
                { "ClockID: -2\n", "a timer on a thread's CPU time" },
                { "ClockID: -5\n", NULL }, /* a descriptor's */
        };
        _cleanup_free_ uint64_t *nodes = NULL;
        size_t n;

        for (size_t i = 0; i < ARRAY_SIZE(timers); i++) {
                const char *got = audit_parse_timers(timers[i].timers);

                assert_string_equal(got ?: "none", timers[i].expected ?: "none");
        }
        assert_int_equal(audit_parse_numa_maps("1 default heap anon=2 N0=2 kernelpagesize_kB=4\n"
                                               "2 bind:3 file=/dev/hugepages/x huge dirty=1 N3=1 "
                                               "kernelpagesize_kB=2048\n"
                                               "3 default file=/lib/libc.so mapped=99 mapmax=40 N0=99\n"
                                               "4 default stack:5 anon=1 N99999=1 N0=1\n",
                                 &nodes, &n),
                0);
        assert_int_equal(n, 4);
        assert_int_equal(nodes[0], 12);
        assert_int_equal(nodes[1], 0);
        assert_int_equal(nodes[3], 2048);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_quiet),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_tasks),
                cmocka_unit_test(test_spinner),
                cmocka_unit_test(test_stack),
                cmocka_unit_test(test_steal),
                cmocka_unit_test(test_smi),
                cmocka_unit_test(test_noise),
                cmocka_unit_test(test_counts_since),
                cmocka_unit_test(test_accepted),
                cmocka_unit_test(test_parse),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
