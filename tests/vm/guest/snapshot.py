# SPDX-License-Identifier: LGPL-2.1-or-later
"""Everything a mode switch may touch, for comparing before and after."""

import glob
import os

import kernel

# Counters and measurements: they change by themselves.  On cgroup.threads and
# the like see below: who is in a group is compared task by task.
VOLATILE = ("stat", "events", "current", "peak", "pressure", "procs", "threads", "usage", "numa_stat")
SETTINGS = """
    /proc/irq/default_smp_affinity
    /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/sched_rt_period_us
    /proc/sys/kernel/numa_balancing /proc/sys/kernel/timer_migration
    /proc/sys/kernel/watchdog /proc/sys/kernel/nmi_watchdog /proc/sys/kernel/soft_watchdog
    /proc/sys/kernel/watchdog_cpumask /proc/sys/kernel/watchdog_thresh
    /proc/sys/vm/stat_interval /proc/sys/kernel/sched_*
    /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag
    /sys/kernel/mm/transparent_hugepage/khugepaged/defrag
    /sys/kernel/mm/ksm/run /sys/module/kernel/parameters/skew_tick
    /sys/kernel/debug/sched/features /sys/kernel/debug/sched/preempt
    /sys/kernel/debug/sched/fair_server/cpu*/runtime
    /sys/devices/system/cpu/cpu*/online
    /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us
    /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
    /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference
    /sys/class/net/*/queues/*/rps_cpus /sys/class/net/*/queues/*/xps_cpus
    /sys/bus/workqueue/devices/*/cpumask
""".split()

# Written by nobody but the kernel, when a thread happens to run (rescuers).
KERNELS_OWN = ("kworker/", "mm_percpu_wq", "kblockd", "ata_sff")


def cgroup_files(found):
    for folder, _, files in os.walk(kernel.CGROUP):
        for file in files:
            if file.endswith(VOLATILE) or any(part in file for part in ("pressure", "memory.stat")):
                continue
            value = kernel.read(f"{folder}/{file}", "")
            found[f"{folder}/{file}"] = value


def irq_files(found):
    for irq in kernel.irqs():
        path = f"/proc/irq/{irq}/smp_affinity_list"
        found[path] = kernel.read(path, "")


def task_values(found):
    """Where each task may run, and how.  Threads bound to a CPU by the kernel
    follow it through hotplug, and an interrupt's thread follows the interrupt
    when that comes next: of these only the policy is ours."""
    for task in kernel.tasks():
        if task.kernel and task.comm.startswith(KERNELS_OWN):
            continue
        follows = task.bound or task.kernel and task.comm.startswith("irq/")
        where = "follows" if follows else kernel.cpulist(task.affinity)
        found[f"task {task.tid}@{task.start} {task.comm if task.kernel else ''}".strip()] = (
            f"{where} {task.policy} {task.priority} {task.cgroup}")


def settings(found):
    for pattern in SETTINGS:
        for path in glob.glob(pattern):
            found[path] = kernel.read(path, "")


def snapshot():
    found = {}
    for source in (settings, irq_files, cgroup_files, task_values):
        source(found)
    return found


def diff(before, after):
    """Lines that tell what differs.  A task, device or group that has gone or
    come since is no difference: switching creates none that green leaves."""
    lines = [f"{key}: {before[key]!r} became {after[key]!r}"
             for key in sorted(before.keys() & after.keys()) if before[key] != after[key]]
    lines += [f"{key}: has gone" for key in sorted(before.keys() - after.keys())
              if not key.startswith("task ")]
    lines += [f"{key}: has come with {after[key]!r}" for key in sorted(after.keys() - before.keys())
              if not key.startswith("task ") and "/rtisol" in key]
    return lines
