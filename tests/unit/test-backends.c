/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "planned.h"

#define GLAD "[profile]\nrequire = partition\n"
#define RT "[cpuset rt]\ncpus = 2-3\n"
#define SYSTEM "sys/devices/system/cpu/"

typedef struct Case {
        const char *lines, *profile, *expected;
} Case;

static void check(const Backend *backend, const Case *table, size_t n) {
        for (size_t i = 0; i < n; i++)
                planned_check(backend, table[i].lines, table[i].profile, table[i].expected);
}

static void test_workqueue(void **state) {
#define MASK "sys/devices/virtual/workqueue/cpumask="
        static const Case table[] = {
                { MASK "f\n", GLAD RT, "workqueue/unbound f -> 00000003\n" },
                { MASK "f\n", "[profile]\nrequire = workqueues\n" RT, "workqueue/unbound* f -> 00000003\n" },
                { MASK "2\n", GLAD RT, "workqueue/unbound 2 -> 00000002\n" },
                { MASK "8\n", GLAD RT, "workqueue/unbound 8 -> 00000003\n" },
                { MASK "00000000,0000000f\n", GLAD RT, "workqueue/unbound 00000000,0000000f -> 00000003\n" },
                { MASK "f\n", GLAD RT "[keep_off_sets]\nworkqueues = no\n", "" },
                { MASK "f\n", GLAD, "" },
                { "", GLAD RT, "workqueue/unbound - ->  absent\n" },
                { "", "[profile]\nrequire = workqueues\n" RT, "workqueue/unbound* - ->  absent\n" },
        };

        check(&backend_workqueue, table, ARRAY_SIZE(table));
}

static void test_watchdog(void **state) {
#define WATCHDOG "proc/sys/kernel/watchdog_cpumask="
        static const Case table[] = {
                { WATCHDOG "0-3\n", GLAD RT, "watchdog/cpumask 0-3 -> 0-1\n" },
                { WATCHDOG "0\n", GLAD RT, "watchdog/cpumask 0 -> 0\n" },
                { WATCHDOG "2\n", GLAD RT, "watchdog/cpumask 2 -> 0-1\n" },
                { WATCHDOG "\n", GLAD RT, "" },
                { WATCHDOG "0-3\n", GLAD RT "[keep_off_sets]\nwatchdog = no\n", "" },
                { WATCHDOG "0-3\n", GLAD, "" },
                { "", GLAD RT, "" },
        };

        check(&backend_watchdog, table, ARRAY_SIZE(table));
}

static void test_features(void **state) {
#define FEATURES "sys/kernel/debug/sched/features=GENTLE NO_RT_ISOLATE NEXT\n"
        static const Case table[] = {
                { FEATURES, GLAD "[sched_features]\nRT_ISOLATE = on\n",
                        "sched_feature/RT_ISOLATE* NO_RT_ISOLATE -> RT_ISOLATE\n" },
                { FEATURES, GLAD "[sched_features]\n-NEXT = off\n", "sched_feature/NEXT NEXT -> NO_NEXT\n" },
                { FEATURES, GLAD "[sched_features]\nNEXT = on\n", "sched_feature/NEXT* NEXT -> NEXT\n" },
                { FEATURES, GLAD "[sched_features]\n-OTHER = on\n",
                        "sched_feature/OTHER - -> OTHER absent\n" },
                { FEATURES, GLAD "[sched_features]\nISOLATE = on\n",
                        "sched_feature/ISOLATE* - -> ISOLATE absent\n" },
                { "", GLAD "[sched_features]\n-NEXT = on\n", "sched_feature/NEXT - -> NEXT absent\n" },
                { FEATURES, GLAD, "" },
        };

        check(&backend_sched_features, table, ARRAY_SIZE(table));
}

static void test_skew(void **state) {
#define SKEW "sys/module/kernel/parameters/skew_tick="
        static const Case table[] = {
                { SKEW "0\n", GLAD "[tick]\nskew_tick = on\n", "tick/skew 0 -> 1\n" },
                { SKEW "1\n", "[profile]\nrequire = skew_tick\n[tick]\nskew_tick = off\n",
                        "tick/skew* 1 -> 0\n" },
                { SKEW "0\n", GLAD, "" },
                { "proc/cmdline=skew_tick=1\n", GLAD "[tick]\nskew_tick = on\n", "" },
                { "proc/cmdline=skew_tick=1\n", GLAD "[tick]\nskew_tick = off\n",
                        "tick/skew - (1) -> 0 boot\n" },
                { "proc/cmdline=quiet\n", GLAD "[tick]\nskew_tick = on\n", "tick/skew - (0) -> 1 boot\n" },
                { "", GLAD "[tick]\nskew_tick = off\n", "" },
        };

        check(&backend_tick, table, ARRAY_SIZE(table));
}

static void test_nohz(void **state) {
#define PATCHED "sys/kernel/cgroup/features=nsdelegate cpuset_nohz cpuset_rt_push_pull\n"
#define FULL SYSTEM "nohz_full="
#define NOHZ(word) RT "nohz = " word "\n"
        static const Case table[] = {
                /* Without the patch: what holds as the machine was booted needs no step. */
                { FULL "(null)\n", GLAD NOHZ("idle"), "" },
                { "", GLAD NOHZ("idle"), "" },
                { FULL "(null)\n", GLAD NOHZ("off"), "cpuset/rt/nohz - (idle) -> off boot\n" },
                { FULL "\n", GLAD NOHZ("full"), "cpuset/rt/nohz - (idle) -> full boot\n" },
                { FULL "2-3\n", GLAD NOHZ("full"), "" },
                { FULL "1-3\n", GLAD NOHZ("full"), "" },
                { FULL "3\n", GLAD NOHZ("full"), "cpuset/rt/nohz - (mixed) -> full boot\n" },
                { FULL "2-3\n", GLAD NOHZ("idle"), "cpuset/rt/nohz - (full) -> idle boot\n" },
                { FULL "2-3\n", "[profile]\nrequire = nohz\n" NOHZ("off"),
                        "cpuset/rt/nohz* - (full) -> off boot\n" },
                { "proc/cmdline=nohz=off\n", GLAD NOHZ("off"), "" },
                { "proc/cmdline=nohz=off\n", GLAD NOHZ("idle"), "cpuset/rt/nohz - (off) -> idle boot\n" },
                /* A CPU that polls keeps its tick. */
                { SYSTEM "cpu0/cpuidle/state0/name=POLL\n", GLAD NOHZ("off") "max_cstate = POLL\n", "" },
                { SYSTEM "cpu0/cpuidle/state0/name=POLL\n", GLAD NOHZ("off") "max_cstate = C1\n",
                        "cpuset/rt/nohz - (idle) -> off boot\n" },
                { "", GLAD NOHZ("off") "max_cstate = POLL\n", "cpuset/rt/nohz - (idle) -> off boot\n" },
                /* With it. */
                { PATCHED, GLAD NOHZ("off"), "cpuset/rt/nohz default (-) -> off\n" },
                { PATCHED, GLAD NOHZ("idle"), "cpuset/rt/nohz default (-) -> idle\n" },
                { PATCHED FULL "2-3\n", GLAD NOHZ("full"), "cpuset/rt/nohz default (-) -> full\n" },
                { PATCHED FULL "3\n", GLAD NOHZ("full"), "cpuset/rt/nohz - (mixed) -> full boot\n" },
                { PATCHED "proc/cmdline=nohz=off\n", GLAD NOHZ("idle"),
                        "cpuset/rt/nohz - (off) -> idle boot\n" },
                { PATCHED, GLAD NOHZ("off") "partition = none\n", "cpuset/rt/nohz - (idle) -> off boot\n" },
                { PATCHED, GLAD RT, "" },
                { "sys/kernel/cgroup/features=xcpuset_nohz\n", GLAD NOHZ("off"),
                        "cpuset/rt/nohz - (idle) -> off boot\n" },
                /* A slice that is there already. */
                { PATCHED "sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.nohz=full\n",
                        GLAD NOHZ("off"), "cpuset/rt/nohz full -> off\n" },
                { PATCHED, GLAD RT "rt_push_pull = off\n", "cpuset/rt/rt_push_pull default (-) -> off\n" },
                { PATCHED, GLAD RT "rt_push_pull = on\n", "cpuset/rt/rt_push_pull default (-) -> on\n" },
                { "", GLAD RT "rt_push_pull = off\n", "cpuset/rt/rt_push_pull - (on) -> off absent\n" },
                { "", GLAD RT "rt_push_pull = on\n", "" },
        };

        check(&backend_tick, table, ARRAY_SIZE(table));
}

static void test_throttling(void **state) {
#define SERVER(cpu, value) "sys/kernel/debug/sched/fair_server/cpu" cpu "/runtime=" value "\n"
#define EXT(cpu, value) "sys/kernel/debug/sched/ext_server/cpu" cpu "/runtime=" value "\n"
#define RUNTIME "proc/sys/kernel/sched_rt_period_us=1000000\nproc/sys/kernel/sched_rt_runtime_us="
#define STARVE "[profile]\nrequire = rt_throttling\naccept_starvation = yes\n"
        static const Case table[] = {
                { SERVER("2", "50000000") SERVER("3", "50000000") SERVER("1", "50000000") RUNTIME "950000\n",
                        GLAD RT "rt_throttling = off\n",
                        "cpu/2/fair_server 50000000 -> 0\ncpu/3/fair_server 50000000 -> 0\n"
                        "rt_throttling 950000 -> -1\n" },
                { SERVER("2", "0") SERVER("3", "0") RUNTIME "950000\n", GLAD RT "rt_throttling = off\n",
                        "cpu/2/fair_server 0 -> 0\ncpu/3/fair_server 0 -> 0\n" },
                { SERVER("2", "50000000") EXT("2", "40000000") SERVER("3", "0") EXT("3", "0"),
                        "[profile]\nrequire = rt_throttling\n" RT "rt_throttling = off\n",
                        "cpu/2/fair_server* 50000000 -> 0\ncpu/2/ext_server* 40000000 -> 0\n"
                        "cpu/3/fair_server* 0 -> 0\ncpu/3/ext_server* 0 -> 0\n" },
                { RUNTIME "950000\n", STARVE RT "rt_throttling = off\n", "rt_throttling* 950000 -> -1\n" },
                { RUNTIME "950000\n", GLAD RT "rt_throttling = off\n",
                        "rt_throttling 950000 -> -1 absent\n" },
                { RUNTIME "-1\n", GLAD RT "rt_throttling = on\n", "rt_throttling -1 -> 950000\n" },
                { RUNTIME "950000\n", GLAD RT "rt_throttling = on\n", "" },
                { RUNTIME "-1\n", GLAD RT, "" },
                { "", GLAD RT "rt_throttling = off\n", "" },
                /* Two sets, one file. */
                { RUNTIME "950000\n",
                        STARVE "[cpuset a]\ncpus = 2\nrt_throttling = off\n[cpuset b]\ncpus = 3\n"
                               "rt_throttling = off\n",
                        "rt_throttling* 950000 -> -1\n" },
        };

        check(&backend_throttling, table, ARRAY_SIZE(table));
}

static void test_timers(void **state) {
        static const Case table[] = {
                { "", GLAD RT "[keep_off_sets]\ntimers = yes\n", "timers/2 1 -> 1\ntimers/3 1 -> 1\n" },
                { "", GLAD "[cpuset rt]\ncpus = 0,3\n[keep_off_sets]\ntimers = yes\n",
                        "timers/0 - -> 1 absent\ntimers/3 1 -> 1\n" },
                { "", GLAD RT, "" },
                { "", GLAD "[keep_off_sets]\ntimers = yes\n", "" },
        };

        check(&backend_timers, table, ARRAY_SIZE(table));
}

static void test_cpufreq(void **state) {
#define POLICY(n, cpus, governor)                                                                           \
        SYSTEM "cpufreq/policy" n "/affected_cpus=" cpus "\n" SYSTEM "cpufreq/policy" n                     \
               "/scaling_governor=" governor "\n"
#define OFFERS(n, words) SYSTEM "cpufreq/policy" n "/scaling_available_governors=" words "\n"
#define PREFERENCE(n, word, words)                                                                          \
        SYSTEM "cpufreq/policy" n "/energy_performance_preference=" word "\n" SYSTEM "cpufreq/policy" n     \
               "/energy_performance_available_preferences=" words "\n"
#define FAST RT "governor = performance\n"
        static const Case table[] = {
                { POLICY("0", "0 1", "schedutil") POLICY("2", "2 3", "schedutil"), GLAD FAST,
                        "cpufreq/policy2/governor schedutil -> performance\n" },
                { POLICY("0", "0", "schedutil") POLICY("2", "2", "performance")
                                POLICY("3", "3", "powersave"),
                        "[profile]\nrequire = cpufreq\n" FAST,
                        "cpufreq/policy2/governor* performance -> performance\n"
                        "cpufreq/policy3/governor* powersave -> performance\n" },
                { POLICY("2", "2 3", "schedutil") OFFERS("2", "performance schedutil"), GLAD FAST,
                        "cpufreq/policy2/governor schedutil -> performance\n" },
                { POLICY("2", "2 3", "userspace") OFFERS("2", "userspace schedutil"), GLAD FAST,
                        "cpufreq/policy2/governor userspace -> performance absent\n" },
                { POLICY("2", "2 3", "powersave")
                                PREFERENCE("2", "balance_power", "default performance balance_power"),
                        GLAD FAST,
                        "cpufreq/policy2/governor powersave -> performance\n"
                        "cpufreq/policy2/epp balance_power -> performance\n" },
                { POLICY("2", "2 3", "powersave") PREFERENCE("2", "balance_power", "balance_power"),
                        GLAD FAST, "cpufreq/policy2/governor powersave -> performance\n" },
                { "", GLAD FAST, "cpufreq/governor - -> performance absent\n" },
                { "", GLAD RT, "" },
                { POLICY("2", "2 3", "schedutil"), GLAD RT, "" },
                { POLICY("0", "0 1", "schedutil"), GLAD FAST, "" },
        };

        check(&backend_cpufreq, table, ARRAY_SIZE(table));
}

static void test_kvm(void **state) {
#define KVM(module, name, value) "/sys/module/" module "/parameters/" name "=" value "\n"
#define CHECK_KVM GLAD "[kvm]\ncheck_options = yes\n"
        static const Case table[] = {
                { KVM("kvm", "halt_poll_ns", "200000"), CHECK_KVM, "kvm/halt_poll_ns 200000 -> 0 boot\n" },
                { KVM("kvm", "halt_poll_ns", "0"), CHECK_KVM, "" },
                { KVM("kvm", "halt_poll_ns", "200000"), GLAD, "" },
                { KVM("kvm", "halt_poll_ns", "200000"), GLAD "[kvm]\ncheck_options = no\n", "" },
                { KVM("kvm", "kvmclock_periodic_sync", "Y") KVM("kvm_intel", "ple_gap", "128")
                                KVM("kvm_intel", "preemption_timer", "Y"),
                        CHECK_KVM, "kvm/kvmclock_periodic_sync Y -> N boot\nkvm/ple_gap 128 -> 0 boot\n" },
                { KVM("kvm_amd", "pause_filter_count", "3000"), CHECK_KVM,
                        "kvm/pause_filter_count 3000 -> 0 boot\n" },
                { KVM("kvm", "nx_huge_pages", "Y") KVM("kvm", "nx_huge_pages_recovery_ratio", "60"),
                        CHECK_KVM, "kvm/nx_huge_pages_recovery_ratio 60 -> 0 boot\n" },
                { KVM("kvm", "nx_huge_pages", "N") KVM("kvm", "nx_huge_pages_recovery_ratio", "60"),
                        CHECK_KVM, "" },
                { "", CHECK_KVM, "" },
        };

        check(&backend_kvm, table, ARRAY_SIZE(table));
}

static void test_idle(void **state) {
#define STATE(cpu, n, name, latency)                                                                        \
        SYSTEM "cpu" cpu "/cpuidle/state" n "/name=" name "\n" SYSTEM "cpu" cpu "/cpuidle/state" n          \
               "/latency=" latency "\n"
#define QOS(cpu, value) SYSTEM "cpu" cpu "/power/pm_qos_resume_latency_us=" value "\n"
#define INTEL                                                                                               \
        STATE("3", "0", "POLL", "0") STATE("3", "1", "C1", "2") STATE("3", "2", "C6", "133") QOS("3", "0")
#define ACPI                                                                                                \
        STATE("3", "0", "POLL", "0")                                                                        \
        STATE("3", "1", "C1_ACPI", "1") STATE("3", "2", "C2_ACPI", "30") QOS("3", "0")
#define ARM STATE("3", "0", "WFI", "1") STATE("3", "1", "cpu-sleep-0", "1000") QOS("3", "0")
#define ONE(state) "[cpuset rt]\ncpus = 3\nmax_cstate = " state "\n"
        static const Case table[] = {
                { INTEL, GLAD ONE("C1"), "cpu/3/resume_latency 0 -> 2\n" },
                { INTEL, "[profile]\nrequire = idle\n" ONE("C6"), "cpu/3/resume_latency* 0 -> 133\n" },
                { INTEL, GLAD ONE("POLL"), "cpu/3/resume_latency 0 -> n/a\n" },
                { INTEL, GLAD ONE("any"), "cpu/3/resume_latency 0 -> 0\n" },
                { INTEL, GLAD ONE("C3"), "cpu/3/resume_latency 0 -> C3 absent\n" },
                { ACPI, GLAD ONE("C1"), "cpu/3/resume_latency 0 -> 1\n" },
                { ACPI, GLAD ONE("C2"), "cpu/3/resume_latency 0 -> 30\n" },
                { ARM, GLAD ONE("C1"), "cpu/3/resume_latency 0 -> 1\n" },
                { ARM, GLAD ONE("POLL"), "cpu/3/resume_latency 0 -> POLL absent\n" },
                { STATE("3", "0", "POLL", "0") STATE("3", "1", "C1", "0") QOS("3", "n/a"), GLAD ONE("C1"),
                        "cpu/3/resume_latency n/a -> 1\n" },
                { QOS("3", "0"), GLAD ONE("C1"), "cpuidle/max_cstate - -> C1 absent\n" },
                { QOS("2", "0") QOS("3", "0"), "[profile]\nrequire = idle\n" RT "max_cstate = C1\n",
                        "cpuidle/max_cstate* - -> C1 absent\n" },
                { STATE("3", "0", "POLL", "0") STATE("3", "1", "C1", "2"), GLAD ONE("C1"),
                        "cpu/3/resume_latency - -> 2 absent\n" },
                { INTEL, GLAD RT, "" },
        };

        check(&backend_idle, table, ARRAY_SIZE(table));
}

static void test_sysctl(void **state) {
        static const Case table[] = {
                { "proc/sys/vm/stat_interval=1\n", GLAD "[sysctl]\nvm.stat_interval = 10\n",
                        "sysctl/vm.stat_interval* 1 -> 10\n" },
                { "proc/sys/kernel/numa_balancing=1\n", GLAD "[sysctl]\n-kernel.numa_balancing = 0\n",
                        "sysctl/kernel.numa_balancing 1 -> 0\n" },
                { "", GLAD "[sysctl]\n-kernel.numa_balancing = 0\n",
                        "sysctl/kernel.numa_balancing - -> 0 absent\n" },
                { "", GLAD "[sysctl]\nkernel.numa_balancing = 0\n",
                        "sysctl/kernel.numa_balancing* - -> 0 absent\n" },
                { "proc/sys/net/ipv4/conf/eth0.100/forwarding=0\n",
                        GLAD "[sysctl]\nnet.ipv4.conf.eth0/100.forwarding = 1\n",
                        "sysctl/net.ipv4.conf.eth0/100.forwarding* 0 -> 1\n" },
                { "proc/sys/net/ipv4/tcp_rmem=4096\t131072\t6291456\n",
                        GLAD "[sysctl]\nnet.ipv4.tcp_rmem = 4096 131072  6291456\n",
                        "sysctl/net.ipv4.tcp_rmem* 4096\t131072\t6291456 -> 4096\t131072\t6291456\n" },
                { "proc/sys/vm/x/y=1\n", GLAD "[sysctl]\n-vm.x = 1\n", "sysctl/vm.x - -> 1 absent\n" },
        };

        check(&backend_sysctl, table, ARRAY_SIZE(table));
}

static void test_sysfs(void **state) {
#define THP "/sys/kernel/mm/transparent_hugepage/enabled"
        static const Case table[] = {
                { "sys/kernel/mm/transparent_hugepage/enabled=always [madvise] never\n",
                        GLAD "[sysfs]\n" THP " = never\n",
                        "sysfs/kernel/mm/transparent_hugepage/enabled* madvise (always [madvise] never) -> "
                        "never\n" },
                { "", GLAD "[sysfs]\n-" THP " = never\n",
                        "sysfs/kernel/mm/transparent_hugepage/enabled - -> never absent\n" },
                { "sys/kernel/mm/ksm/run=1\n", GLAD "[sysfs]\n-/sys/kernel/mm/ksm/run = 0\n",
                        "sysfs/kernel/mm/ksm/run 1 -> 0\n" },
                { "sys/module/kvm/parameters/x=Y\n", GLAD "[sysfs]\n/sys/module/kvm/parameters/x = 0\n",
                        "sysfs/module/kvm/parameters/x* Y -> N\n" },
                { "sys/block/vda/queue/scheduler=[none] mq-deadline\n",
                        GLAD "[sysfs]\n/sys/block/vda/queue/scheduler = mq-deadline\n",
                        "sysfs/block/vda/queue/scheduler* none ([none] mq-deadline) -> mq-deadline\n" },
        };

        check(&backend_sysfs, table, ARRAY_SIZE(table));
}

/* What would take the machine or what was there away. */
static void test_denied(void **state) {
        static const char *const table[] = {
                "/sys/devices/system/cpu/cpu0/online",
                "/sys/devices/system/cpu/cpu3/online",
                "/sys/devices/system/cpu/smt/control",
                "/sys/devices/system/memory/memory33/state",
                "/sys/bus/pci/devices/0000:00:03.0/remove",
                "/sys/bus/pci/devices/0000:00:03.0/driver_override",
                "/sys/bus/pci/devices/0000:00:03.0/reset",
                "/sys/bus/pci/drivers/e1000e/unbind",
                "/sys/bus/pci/rescan",
                "/sys/block/sda/device/delete",
                "/sys/power/state",
                "/sys/power/disk",
                "/sys/kernel/debug/sched/features",
                "/sys/fs/cgroup/system.slice/cpuset.cpus",
                "/sys/class/net/eth0/flags",
                "/sys/class/net/eth0/carrier",
                "/sys/class/net/bond0/bonding/slaves",
                "/sys/class/net/bonding_masters",
                "/sys/bus/pci/devices/0000:00:03.0/enable",
                "/sys/class/scsi_host/host0/scan",
                "/sys/class/nvme/nvme0/delete_controller",
                "/sys/class/rfkill/rfkill0/soft",
                "/sys/devices/system/cpu/cpu3/hotplug/target",
                "/sys/kernel/reboot/mode",
                "/sys/kernel/kexec_crash_size",
                "/sys/block/mmcblk0/force_ro",
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *profile = NULL, *lines = NULL, *text = NULL;
                _cleanup_planned_ Planned planned = {};

                assert_int_equal(util_asprintf(&profile, GLAD "[sysfs]\n%s = 0\n", table[i]), 0);
                assert_int_equal(util_asprintf(&lines, "%s=1\n", table[i] + 1), 0);
                planned_new(&planned, lines);
                planned_read(&planned, &backend_sysfs, profile);
                planned_make(&planned, &backend_sysfs, NULL);
                text = planned_text(&planned);
                if (text[0] != '!' || !strstr(text, table[i]) || planned.plan->steps.n > 0)
                        fail_msg("%s: %s", table[i], text);
        }
}

/* What could not be given back is not taken. */
static void test_one_way(void **state) {
        static const char *const table[][2] = {
                { "kernel.modules_disabled", "/proc/sys/kernel/modules_disabled" },
                { "kernel/modules_disabled", "/proc/sys/kernel/modules_disabled" },
                { "kernel.kexec_load_disabled", "/proc/sys/kernel/kexec_load_disabled" },
                { "kernel.kexec_load_limit_panic", "/proc/sys/kernel/kexec_load_limit_panic" },
                { "kernel/kexec_load_limit_reboot", "/proc/sys/kernel/kexec_load_limit_reboot" },
                { "kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *profile = NULL, *lines = NULL, *text = NULL;
                _cleanup_planned_ Planned planned = {};

                assert_int_equal(util_asprintf(&profile, GLAD "[sysctl]\n-%s = 1\n", table[i][0]), 0);
                assert_int_equal(util_asprintf(&lines, "%s=0\n", table[i][1] + 1), 0);
                planned_new(&planned, lines);
                planned_read(&planned, &backend_sysctl, profile);
                planned_make(&planned, &backend_sysctl, NULL);
                text = planned_text(&planned);
                if (text[0] != '!' || !strstr(text, "reboot") || planned.plan->steps.n > 0)
                        fail_msg("%s: %s", table[i][0], text);
        }
}

/* Of a captured machine without the kernel's own files nothing is known, so nothing is required. */
static void test_captured(void **state) {
        _cleanup_planned_ Planned planned = {};
        _cleanup_free_ char *text = NULL;

        planned_new(&planned, "");
        tree_remove(planned.tree, "proc/sys/kernel/osrelease");
        planned_read(&planned, &backend_workqueue, "[profile]\nrequire = workqueues\n" RT);
        planned_make(&planned, &backend_workqueue, NULL);
        text = planned_text(&planned);
        assert_string_equal(text, "workqueue/unbound - ->  absent\n");
        assert_non_null(strstr(planned.plan->steps.items[0].reason, "captured"));
}

/* Every backend can say what it goes through, with a reason where it is not there, and writes nothing. */
static void test_probe(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();

        tree_put_cpus(tree, 1, 4, 1, false);
        for (const Backend *const *backend = backends; *backend; backend++) {
                Mechanisms mechanisms = {};

                assert_int_equal((*backend)->probe ? (*backend)->probe(tree->kfs, &mechanisms) : 0, 0);
                for (size_t i = 0; i < mechanisms.n; i++)
                        if (!*mechanisms.items[i].name || !*mechanisms.items[i].file ||
                                (mechanisms.items[i].mechanism != MECHANISM_RUNTIME &&
                                        !*mechanisms.items[i].advice))
                                fail_msg("%s: %s", (*backend)->name, mechanisms.items[i].name);
                mechanisms_done(&mechanisms);
        }
        assert_int_equal(kfs_writes(tree->kfs), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_workqueue),
                cmocka_unit_test(test_watchdog),
                cmocka_unit_test(test_features),
                cmocka_unit_test(test_skew),
                cmocka_unit_test(test_nohz),
                cmocka_unit_test(test_throttling),
                cmocka_unit_test(test_timers),
                cmocka_unit_test(test_cpufreq),
                cmocka_unit_test(test_kvm),
                cmocka_unit_test(test_idle),
                cmocka_unit_test(test_sysctl),
                cmocka_unit_test(test_sysfs),
                cmocka_unit_test(test_one_way),
                cmocka_unit_test(test_denied),
                cmocka_unit_test(test_captured),
                cmocka_unit_test(test_probe),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
