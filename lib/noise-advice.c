/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>

#include "noise.h"

/* What an advice asks of the machine. */
typedef enum Need {
        NEED_NOTHING,
        NEED_NOT_BOOTED,  /* it is not */
        NEED_TICK_WANTED, /* its set wants the tick to run */
        NEED_FAIR_SERVER,
        NEED_TICK_FILE,
        NEED_NO_NAMES, /* the kernel does not name the functions that a CPU is made to call */
} Need;

/* The first row that fits gives the advice.  name and cause are shell patterns, NULL for any. */
static const struct Advice {
        NoiseKind kind;
        const char *name, *cause;
        Need need;
        const char *sentence;
} advices[] = {
        /* clang-format off */
        { NOISE_KIND_TICK, NULL, NULL, NEED_TICK_WANTED,
          "the profile wants the tick to run here; `nohz = full` in the set's section stops it" },
        { NOISE_KIND_TICK, NULL, "SCHED", NEED_FAIR_SERVER,
          "keep one runnable task on the CPU; a lone real-time task shares it with the kernel's fair server until "
          "`rt_throttling = off`" },
        { NOISE_KIND_TICK, NULL, "SCHED", NEED_NOTHING,
          "more than one task wants to run: keep one runnable task on the CPU (rows of kind task name the others)" },
        { NOISE_KIND_TICK, NULL, "POSIX_TIMER", NEED_NOTHING,
          "a CPU-time timer is armed in the workload: disarm setitimer(ITIMER_PROF or ITIMER_VIRTUAL), "
          "timer_create() on a CPU clock, RLIMIT_CPU and RLIMIT_RTTIME" },
        { NOISE_KIND_TICK, NULL, "PERF_EVENTS", NEED_NOTHING,
          "a performance counter is open on the CPU: stop perf there, and keep kernel.watchdog_cpumask off the set "
          "(`watchdog = yes`)" },
        { NOISE_KIND_TICK, NULL, "CLOCK_UNSTABLE", NEED_NOTHING,
          "the kernel found the time-stamp counter unstable and needs the tick everywhere: see dmesg; tsc=reliable on "
          "the kernel command line where the hardware is known to be good" },
        { NOISE_KIND_TICK, NULL, "RCU*", NEED_NOTHING,
          "RCU waits for this CPU: boot with rcu_nocbs= for it (`rtisoctl kernel-args`) and look for callbacks that the "
          "workload's system calls queue" },
        { NOISE_KIND_TICK, NULL, NULL, NEED_NOT_BOOTED,
          "the tick of a busy CPU stops only where the kernel was booted with nohz_full= for it: "
          "`rtisoctl kernel-args` tells the command line" },
        { NOISE_KIND_TICK, NULL, NULL, NEED_TICK_FILE,
          "set `nohz = full` for the set: cpuset.cpus.nohz holds the tick here" },
        { NOISE_KIND_TICK, NULL, NULL, NEED_NOTHING,
          "the kernel stops it while one task runs and nothing else needs it: rows of other kinds say what does" },

        { NOISE_KIND_INTERRUPT, "local_timer", NULL, NEED_NOTHING,
          "the timer came with nothing due: a timer was cancelled or moved after the hardware was set" },
        { NOISE_KIND_INTERRUPT, "*timer*", NULL, NEED_NOTHING,
          "a timer of this CPU: rows of kind tick and timer tell which" },
        { NOISE_KIND_INTERRUPT, NULL, NULL, NEED_NOTHING,
          "move it: `irqs = yes` and `rtisoctl mode NAME` again; where the kernel moves it by itself (one queue for each "
          "CPU), fewer queues (ethtool -L) or isolcpus=managed_irq, on the kernel command line" },

        { NOISE_KIND_SOFTIRQ, "TIMER", NULL, NEED_NOTHING,
          "timers are due on this CPU: rows of kind timer name them; `timers = yes` moves those that were queued before "
          "the mode" },
        { NOISE_KIND_SOFTIRQ, "HRTIMER", NULL, NEED_NOTHING,
          "high-resolution timers are due on this CPU: rows of kind timer name them" },
        { NOISE_KIND_SOFTIRQ, "NET_*", NULL, NEED_NOTHING,
          "packets are handled here: move the network card's interrupts, clear rps_cpus and xps_cpus of the set, and keep "
          "the workload off loopback sockets" },
        { NOISE_KIND_SOFTIRQ, "BLOCK", NULL, NEED_NOTHING,
          "requests to disks end here: keep the workload's input and output on other CPUs, or rq_affinity at 0" },
        { NOISE_KIND_SOFTIRQ, "IRQ_POLL", NULL, NEED_NOTHING, "a storage controller is polled here: move its interrupt" },
        { NOISE_KIND_SOFTIRQ, "TASKLET", NULL, NEED_NOTHING, "a driver's interrupt left work behind: move that interrupt" },
        { NOISE_KIND_SOFTIRQ, "HI", NULL, NEED_NOTHING, "a driver's interrupt left work behind: move that interrupt" },
        { NOISE_KIND_SOFTIRQ, "SCHED", NULL, NEED_NOTHING,
          "the load balancer looks at this CPU: `partition = isolated` takes it out of balancing" },
        { NOISE_KIND_SOFTIRQ, "RCU", NULL, NEED_NOTHING,
          "RCU callbacks run here: boot with rcu_nocbs= for the CPU (`rtisoctl kernel-args`), then `rcu = yes` keeps their "
          "threads away" },

        { NOISE_KIND_SOFTIRQ, NULL, NULL, NEED_NOTHING,
          "a soft interrupt of a kind that is not known here: look at who raises it" },

        { NOISE_KIND_IPI, NOISE_FLUSH, NULL, NEED_NOTHING,
          "another CPU changed an address space that is in use here: do not map, unmap or protect memory in threads of the "
          "workload elsewhere; transparent_hugepage and numa_balancing do it, too" },
        { NOISE_KIND_IPI, "ipi_mb", NULL, NEED_NOTHING, "somebody calls membarrier(2): leave the workload unregistered for it" },
        { NOISE_KIND_IPI, "ipi_sync*", NULL, NEED_NOTHING, "somebody calls membarrier(2) in the workload's process" },
        { NOISE_KIND_IPI, "do_sync_core", NULL, NEED_NOTHING,
          "the kernel's code was changed: tracing and probes being switched, a module or BPF program loaded, a static key; do "
          "it before the workload starts" },
        { NOISE_KIND_IPI, "rcu_*", NULL, NEED_NOTHING,
          "somebody asked for an expedited grace period of RCU: kernel.rcu_normal (/sys/kernel/rcu_normal) = 1" },
        { NOISE_KIND_IPI, "*perf*", NULL, NEED_NOTHING, "perf reads or changes a counter of this CPU: stop it" },
        { NOISE_KIND_IPI, "remote_function", NULL, NEED_NOTHING, "perf reads or changes a counter of this CPU: stop it" },
        { NOISE_KIND_IPI, "aperfmperf*", NULL, NEED_NOTHING,
          "somebody reads the CPU's frequency (/proc/cpuinfo, cpufreq): keep monitoring off the set" },
        { NOISE_KIND_IPI, "__rdmsr*", NULL, NEED_NOTHING, "somebody reads the CPU's registers (turbostat, msr): stop it" },
        { NOISE_KIND_IPI, "__wrmsr*", NULL, NEED_NOTHING, "somebody writes the CPU's registers (a governor, msr): stop it" },
        { NOISE_KIND_IPI, "invalidate_bh_lru", NULL, NEED_NOTHING,
          "a file system was mounted or a disk removed after this CPU had read from one" },
        { NOISE_KIND_IPI, "reschedule", NULL, NEED_NOTHING,
          "another CPU woke a task here: rows of kind task say which, and who woke it" },
        { NOISE_KIND_IPI, "irq_work", NULL, NEED_NOTHING, "the kernel put off work out of an interrupt: printk, perf or tracing" },
        { NOISE_KIND_IPI, "call_function*", NULL, NEED_NO_NAMES,
          "another CPU made this one call a function, and this kernel does not tell which; a newer one that has "
          "events/csd in tracefs does" },
        { NOISE_KIND_IPI, NULL, NULL, NEED_NOTHING, "another CPU made this one call a function: look at who sent it" },

        { NOISE_KIND_WORK, "vmstat_update", NULL, NEED_NOTHING,
          "statistics of memory are folded after this CPU allocated or freed: raise vm.stat_interval, and let the workload "
          "allocate nothing" },
        { NOISE_KIND_WORK, "refresh_vm_stats", NULL, NEED_NOTHING, "somebody writes to vm.stat_refresh: stop that program" },
        { NOISE_KIND_WORK, "lru_add_drain*", NULL, NEED_NOTHING,
          "somebody locks, migrates or compacts memory (mlockall, memory hot-plug, cpuset.mems): do it before the workload "
          "starts" },
        { NOISE_KIND_WORK, "drain_*", NULL, NEED_NOTHING,
          "memory got scarce and CPUs' reserves are fetched: leave more free (vm.min_free_kbytes)" },
        { NOISE_KIND_WORK, "mce_*", NULL, NEED_NOTHING,
          "machine checks are polled for: /sys/devices/system/machinecheck/machinecheckN/check_interval sets how often" },
        { NOISE_KIND_WORK, NULL, NULL, NEED_NOTHING,
          "it was queued for this very CPU: keep off it who queued it; what may run anywhere stays away with "
          "`workqueues = yes`" },

        { NOISE_KIND_TIMER, "hrtimer_wakeup", NULL, NEED_NOTHING,
          "a task sleeps on this CPU until a time: the cause says which; a workload that polls needs none" },
        { NOISE_KIND_TIMER, "posix_timer_fn", NULL, NEED_NOTHING, "a timer_create() timer of a task on this CPU" },
        { NOISE_KIND_TIMER, "it_real_fn", NULL, NEED_NOTHING, "an alarm() or ITIMER_REAL of a task on this CPU" },
        { NOISE_KIND_TIMER, "timerfd_*", NULL, NEED_NOTHING, "a timerfd that was armed on this CPU" },
        { NOISE_KIND_TIMER, "sched_rt_period_timer", NULL, NEED_NOTHING,
          "real-time throttling counts: `rt_throttling = off` where the workload may take the whole CPU" },
        { NOISE_KIND_TIMER, "*dl_*", NULL, NEED_FAIR_SERVER,
          "the kernel's fair server guards a real-time task: `rt_throttling = off` ends it for the set" },
        { NOISE_KIND_TIMER, "watchdog_timer_fn", NULL, NEED_NOTHING,
          "the lockup detector watches this CPU: `watchdog = yes` keeps it on the housekeeping CPUs" },
        { NOISE_KIND_TIMER, "clocksource_watchdog", NULL, NEED_NOTHING,
          "the kernel compares clocks on every CPU in turn: tsc=reliable on the kernel command line where the hardware is "
          "known to be good" },
        { NOISE_KIND_TIMER, "perf_*", NULL, NEED_NOTHING, "perf shares counters of this CPU out in turns: stop it" },
        { NOISE_KIND_TIMER, "mce_timer_fn", NULL, NEED_NOTHING,
          "machine checks are polled for: /sys/devices/system/machinecheck/machinecheckN/check_interval sets how often" },
        { NOISE_KIND_TIMER, "tcp_*", NULL, NEED_NOTHING,
          "a connection was used on this CPU: keep the workload's sockets elsewhere; `timers = yes` moves what is queued" },
        { NOISE_KIND_TIMER, "delayed_work_timer_fn", NULL, NEED_NOTHING,
          "work was put off on this CPU: rows of kind work name it; `timers = yes` moves what was queued before the mode" },
        { NOISE_KIND_TIMER, NULL, NULL, NEED_NOTHING,
          "armed by who is named as the cause; one that was queued before the mode goes away with `timers = yes`" },

        { NOISE_KIND_TASK, "ksoftirqd/*", NULL, NEED_NOTHING,
          "it runs soft interrupts that were too many at once: rows of kind softirq name them" },
        { NOISE_KIND_TASK, "ktimers/*", NULL, NEED_NOTHING, "it runs due timers of this CPU: rows of kind timer name them" },
        { NOISE_KIND_TASK, "migration/*", NULL, NEED_NOTHING,
          "the kernel stopped or moved a task here: somebody changes affinities, or the code of the kernel" },
        { NOISE_KIND_TASK, "kworker/*", NULL, NEED_NOTHING, "it runs work items of this CPU: rows of kind work name them" },
        { NOISE_KIND_TASK, "rcu*", NULL, NEED_NOTHING,
          "it runs RCU callbacks: rcu_nocbs= on the kernel command line, and `rcu = yes`" },
        { NOISE_KIND_TASK, "irq/*", NULL, NEED_NOTHING,
          "the thread of an interrupt: it follows the interrupt, move that (`irqs = yes`)" },
        { NOISE_KIND_TASK, "kcompactd*", NULL, NEED_NOTHING, "memory is compacted: vm.compaction_proactiveness = 0" },
        { NOISE_KIND_TASK, "khugepaged", NULL, NEED_NOTHING,
          "huge pages are put together: transparent_hugepage/enabled = never, or `kthreads = yes`" },
        { NOISE_KIND_TASK, NULL, NULL, NEED_NOTHING,
          "pin it to other CPUs, or start it outside of the set's slice" },

        { NOISE_KIND_NMI, "perf_*", NULL, NEED_NOTHING,
          "a performance counter overflowed: perf, or the lockup detector (`watchdog = yes`)" },
        { NOISE_KIND_NMI, NULL, NULL, NEED_NOTHING, "firmware, a watchdog or a crash dump asked for it" },
        { NOISE_KIND_SYSCALL, NULL, NULL, NEED_NOTHING,
          "the workload's own doing: leave system calls out of its loop" },
        { NOISE_KIND_PAGE_FAULT, NULL, NULL, NEED_NOTHING,
          "the workload touches memory for the first time: mlockall(MCL_CURRENT | MCL_FUTURE), and touch it all beforehand" },
        /* clang-format on */
};

void noise_facts_done(NoiseFacts *facts) {
        cpulist_done(&facts->nohz_full);
        cpulist_done(&facts->wants_tick);
}

static bool need_holds(Need need, unsigned cpu, const NoiseFacts *facts) {
        switch (need) {
        case NEED_NOT_BOOTED: return !cpulist_has(&facts->nohz_full, cpu);
        case NEED_TICK_WANTED: return cpulist_has(&facts->wants_tick, cpu);
        case NEED_FAIR_SERVER: return facts->fair_server;
        case NEED_TICK_FILE: return facts->tick_file;
        case NEED_NO_NAMES: return !facts->names_calls;
        default: return true;
        }
}

static bool matches(const char *pattern, const char *text) {
        return !pattern || (text && fnmatch(pattern, text, 0) == 0);
}

int noise_advice(const NoiseCpu *cpu, const NoiseCulprit *culprit, const NoiseFacts *facts, char **ret) {
        const char *cause = culprit->n_causes > 0 ? culprit->causes[0].what : NULL;

        for (size_t i = 0; i < ARRAY_SIZE(advices); i++) {
                const struct Advice *advice = &advices[i];

                if (advice->kind == culprit->kind && matches(advice->name, culprit->name) &&
                        matches(advice->cause, cause) && need_holds(advice->need, cpu->cpu, facts))
                        return util_copy(advice->sentence, ret);
        }
        return -ENOENT;
}

const char *noise_tick_reason(const NoiseCpu *cpu, const NoiseFacts *facts) {
        if (cpulist_has(&facts->nohz_full, cpu->cpu))
                return NULL;
        return cpulist_has(&facts->wants_tick, cpu->cpu) ? "the profile wants it"
                                                         : "not booted as nohz_full=";
}
