/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"

#include "../unit/test.h"
#include "../unit/work.h"
#include "providers.h"

#define KTHREAD 0x00200000u
#define FIXED 0x04000000u

static const WorkTask tasks[] = {
        { 1, 0, 0, "systemd", "0-3", "/init.scope", 0, 0, 50 },
        { 2, 0, 0, "kthreadd", "0-3", "/", KTHREAD, 0, 1 },
        { 3, 0, 2, "ksoftirqd/0", "0", "/", KTHREAD | FIXED, 0, 1 },
        { 4, 0, 2, "ksoftirqd/2", "2", "/", KTHREAD | FIXED, 0, 1 },
        { 5, 0, 2, "rcuc/2", "2", "/", KTHREAD | FIXED, 0, 1 },
        { 6, 0, 2, "rcu_preempt", "0-3", "/", KTHREAD, 0, 9 },
        { 7, 0, 2, "kauditd", "0,3", "/", KTHREAD, 0, 1 },
        { 8, 0, 2, "kworker/2:0", "2", "/", KTHREAD | FIXED, 0, 1 },
        { 9, 0, 2, "irq/25-snd_hda", "0-3", "/", KTHREAD, 0, 1 },
        { 300, 0, 1, "journald", "0-3", "/system.slice/journald.service", 0, 0, 20 },
        { 301, 0, 1, "pinned", "0", "/system.slice/pinned.service", 0, 0, 5 },
        { 400, 0, 300, "worker", "0-3", "/user.slice", 0, 0, 5 },
        { 400, 401, 300, "worker-2", "0-3", "/user.slice", 0, 0, 5 },
};

static const char *const files[][2] = {
        { "/proc/cmdline", "root=/dev/vda1 ro" },
        { "/proc/sys/kernel/random/boot_id", "1a2b" },
        { "/proc/sys/kernel/numa_balancing", "1" },
        { "/proc/sys/kernel/timer_migration", "0" },
        { "/proc/sys/kernel/watchdog_cpumask", "0-3" },
        { "/proc/sys/kernel/sched_rt_runtime_us", "950000" },
        { "/proc/sys/kernel/sched_rt_period_us", "1000000" },
        { "/proc/sys/vm/stat_interval", "1" },
        { "/proc/irq/default_smp_affinity", "f" },
        { "/proc/irq/1/smp_affinity_list", "0-3" },
        { "/proc/irq/24/smp_affinity_list", "2" },
        { "/proc/irq/25/smp_affinity_list", "0-3" },
        { "/proc/irq/26/smp_affinity_list", "0,3" },
        { "/sys/kernel/irq/1/actions", "i8042" },
        { "/sys/kernel/irq/24/actions", "virtio1-req.0" },
        { "/sys/kernel/irq/25/actions", "snd_hda_intel:card0" },
        { "/sys/kernel/irq/26/actions", "eth0-rx-0" },
        { "/sys/devices/virtual/workqueue/cpumask", "d" },
        { "/sys/kernel/debug/sched/features", "PLACE_LAG NO_RT_ISOLATE NO_HRTICK" },
        { "/sys/kernel/debug/sched/preempt", "none (voluntary) full" },
        { "/sys/module/kernel/parameters/skew_tick", "0" },
        { "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never" },
        { "/sys/kernel/mm/ksm/run", "1" },
        { "/sys/kernel/security/lockdown", "[none] integrity confidentiality" },
};

static void put_line(Tree *tree, const char *path, const char *text) {
        _cleanup_free_ char *line = NULL;

        assert_int_equal(util_asprintf(&line, "%s\n", text), 0);
        tree_put(tree, path, line);
}

static void build_cpu(Tree *tree, unsigned cpu, MachineKind kind) {
        static const char *const states[][2] = { { "POLL", "0" }, { "C1", "2" }, { "C6", "133" } };

        for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
                tree_putf(tree, states[i][0], "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/name", cpu, i);
                tree_putf(
                        tree, states[i][1], "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/latency", cpu, i);
        }
        tree_putf(tree, cpu == 3 ? "100\n" : "0\n",
                "/sys/devices/system/cpu/cpu%u/power/pm_qos_resume_latency_us", cpu);
        tree_putf(tree, cpu == 1 ? "ondemand\n" : "powersave\n",
                "/sys/devices/system/cpu/cpufreq/policy%u/scaling_governor", cpu);
        tree_putf(tree, "performance powersave ondemand\n",
                "/sys/devices/system/cpu/cpufreq/policy%u/scaling_available_governors", cpu);
        tree_putf(tree, (char[]){ (char) ('0' + cpu), '\n', '\0' },
                "/sys/devices/system/cpu/cpufreq/policy%u/affected_cpus", cpu);
        if (kind == MACHINE_REMOTE)
                tree_putf(tree, "50000000\n", "/sys/kernel/debug/sched/fair_server/cpu%u/runtime", cpu);
}

static void build_profiles(Tree *tree) {
        _cleanup_kfs_ Kfs *source = NULL;
        _cleanup_strv_ char **names = NULL;

        assert_int_equal(kfs_new(SOURCE_DIR, &source), 0);
        assert_int_equal(kfs_list(source, "/profiles", &names), 0);
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *text = NULL;

                if (!strstr(*name, ".ini"))
                        continue;
                assert_int_equal(kfs_readf(source, &text, "/profiles/%s", *name), 0);
                tree_putf(tree, text, "%s/%s", "/etc/rtisold/profiles", *name);
        }
}

void machine_build(Tree *tree, MachineKind kind) {
        tree_put_cpus(tree, 1, 4, 1, false);
        put_line(tree, "/proc/sys/kernel/osrelease", kind == MACHINE_LOCAL ? "6.1.0" : "6.12.0");
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                put_line(tree, files[i][0], files[i][1]);
        for (unsigned cpu = 0; cpu < 4; cpu++)
                build_cpu(tree, cpu, kind);
        put_line(tree, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids");
        put_line(tree, "/sys/fs/cgroup/cgroup.subtree_control", "cpu memory pids");
        tree_put(tree, "/sys/fs/cgroup/cgroup.procs", "");
        tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
        if (kind == MACHINE_REMOTE)
                tree_put(tree, "/sys/fs/cgroup/cpuset.cpus.isolated", "\n");
        work_put_group(tree, "/init.scope", NULL, NULL);
        work_put_group(tree, "/user.slice", NULL, NULL);
        work_put_group(tree, "/system.slice", NULL, NULL);
        work_put_group(tree, "/system.slice/journald.service", NULL, NULL);
        work_put_group(tree, "/system.slice/pinned.service", NULL, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
                work_put_task(tree, tasks[i]);
        build_profiles(tree);
}

/* The kernel */

static void put_allowed(const char *root, const WorkTask *task, const char *cpus) {
        int tid = task->tid ?: task->pid;
        _cleanup_free_ char *object = NULL;
        _cleanup_kfs_ Kfs *kfs = NULL;

        assert_int_equal(kfs_new(root, &kfs), 0);
        assert_int_equal(providers_add(kfs), 0);
        assert_int_equal(util_asprintf(&object, "task/%d/%d/affinity", tid, 100 + tid), 0);
        (void) kfs_write(kfs, object, cpus);
}

static void move_tasks(const char *root, bool isolated, bool forget) {
        _cleanup_kfs_ Kfs *kfs = NULL;

        assert_int_equal(kfs_new(root, &kfs), 0);
        assert_int_equal(kfs_write(kfs, "/sys/fs/cgroup/cpuset.cpus.effective", isolated ? "0" : "0-3"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
                bool kernel = tasks[i].flags & KTHREAD;

                if (tasks[i].flags & FIXED)
                        continue;
                put_allowed(root, &tasks[i], isolated ? "0" : kernel || forget ? "0-3" : tasks[i].cpus);
        }
}

static bool ends_in(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n >= m && streq(text + n - m, end);
}

static bool is_there(const char *root, const char *object) {
        _cleanup_kfs_ Kfs *kfs = NULL;

        assert_int_equal(kfs_new(root, &kfs), 0);
        return kfs_exists(kfs, object);
}

static void kernel(const char *root, const char *object, const char *value, bool forget) {
        /* A partition goes with its group. */
        if (!value && !is_there(root, object))
                move_tasks(root, false, forget);
        if (value && ends_in(object, "/cpuset.cpus.partition"))
                move_tasks(root, !streq(value, "member"), forget);
        if (forget && streq(object, "/sys/fs/cgroup/cgroup.subtree_control"))
                move_tasks(root, false, true);
}

void machine_kernel_local(const char *root, const char *object, const char *value) {
        kernel(root, object, value, true);
}

void machine_kernel_remote(const char *root, const char *object, const char *value) {
        kernel(root, object, value, false);
}
