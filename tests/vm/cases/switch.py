# SPDX-License-Identifier: LGPL-2.1-or-later
"""To low-jitter on four CPUs and back: what the kernel says."""

import json
import os

import kernel
from actors import daemon, drop_in, green, mode, program, service, testpmd, threads, workers
from case import case, rtisoctl, run, wait_for
from snapshot import diff, snapshot

SETS = {1, 2, 3}
SLICE = "rtisol.slice/rtisol-rt.slice"


def inside(task):
    return "rtisol-rt.slice" in task.cgroup


def strays(tasks):
    """Tasks that may run on a set and are not of its slice."""
    return [task for task in tasks if not inside(task) and task.affinity & SETS]


def interrupts_on_sets():
    return [f"{irq} {kernel.irq_name(irq)}" for irq in kernel.irqs()
            if kernel.irq_affinity(irq) & SETS and kernel.irq_movable(irq)]


def ran_on(pid, seconds=1.5):
    """CPUs on which a spinning task was seen."""
    import time
    seen, end = set(), time.monotonic() + seconds
    while time.monotonic() < end:
        seen.add(kernel.Task(pid, pid).cpu)
    return seen


@case
def the_kernel_agrees():
    with mode("low-jitter"):
        yield "the mode's name", rtisoctl("mode").strip(), "low-jitter"
        yield "partition of the set", kernel.partition(SLICE), "isolated"
        yield "its CPUs", kernel.cgroup(SLICE, "cpuset.cpus.effective"), "1-3"
        yield "every level above is valid", [s for s in kernel.chain(SLICE) if "invalid" in s], []
        yield "the root lost the CPUs", kernel.root_cpus(), {0}
        yield "isolated, in the kernel's words", kernel.isolated(), SETS
        yield "user tasks on the set", strays(kernel.user_tasks()), []
        yield "unbound kernel threads on the set", strays(kernel.unbound_kthreads()), []
        yield "interrupts on the set", interrupts_on_sets(), []
        yield ("interrupts come elsewhere by default",
               kernel.mask(kernel.read("/proc/irq/default_smp_affinity")) & SETS, set())
        yield "unbound work", kernel.workqueue_cpus(), {0}
        yield "throttling stays on", int(kernel.sysctl("kernel.sched_rt_runtime_us")) > 0, True
        yield "watchdogs on housekeeping CPUs", kernel.cpus(kernel.sysctl("kernel.watchdog_cpumask")), {0}


@case
def features_as_asked():
    """One that every kernel has, and one that none has."""
    found = kernel.features()["LB_MIN"]
    rule = f"[sched_features]\nLB_MIN = {'off' if found else 'on'}\n-UNHEARD_OF = on\n"
    with drop_in("low-jitter", rule), mode("low-jitter"):
        yield "in the mode", kernel.features()["LB_MIN"], not found
    yield "after it", kernel.features()["LB_MIN"], found


@case
def what_starts_later_stays_off():
    with mode("low-jitter"):
        with program("sh", "-c", "while :; do :; done") as pid:
            yield "a child of this test", ran_on(pid), {0}
        with service("later", "sh", "-c", "while :; do :; done") as pid:
            yield "a service", ran_on(pid), {0}
        run("modprobe", "dummy", "numdummies=1", check=False)
        yield "unbound kernel threads that came since", strays(kernel.unbound_kthreads()), []


@case
def the_forwarder_runs_in_the_slice():
    with mode("low-jitter"), service("forwarder", *testpmd(SETS), Slice="rtisol-rt.slice"):
        wait_for("forwarding threads", lambda: len(workers()) == 2, 60)
        found = workers()
        yield "its group", {inside(task) for task in found}, {True}
        wait_for("both forward", lambda: [task.cpu for task in workers()] == [2, 3], 20)
        yield "where its workers are pinned", [task.affinity for task in found], [{2}, {3}]
        yield "and run", [task.cpu for task in workers()], [2, 3]


@case
def a_rule_places_what_started_outside():
    """As the rule's CPUs are its, the forwarder asks for them and gets them."""
    rule = "[task testpmd]\nmatch = dpdk-testpmd\nset = rt\n"
    with drop_in("low-jitter", rule), mode("low-jitter"), service("outside", *testpmd({2, 3})):
        wait_for("its worker runs", workers, 90)
        yield "the worker's group", [inside(task) for task in workers()], [True]
        yield "its CPU", [task.affinity for task in workers()], [{3}]
        yield "the main thread's group", [inside(task) for task in threads("dpdk-testpmd")], [True]


THREADS = """
import threading, time
def name(text):
    with open("/proc/thread-self/comm", "w") as f:
        f.write(text)
def quiet():
    name("quiet-1")
    time.sleep(100000)
name("placed")
time.sleep(1)
threading.Thread(target=quiet).start()
"""


@case
def a_rule_places_a_thread_by_its_name():
    rule = "[task quiet]\nmatch = placed\nset = rt\nthread = quiet-*\ncpus = 3\n"
    with drop_in("low-jitter", rule), mode("low-jitter"), service("named", "python3", "-c", THREADS):
        wait_for("the process is in its slice", lambda: any(map(inside, threads("placed"))), 60)
        wait_for("the thread is on its CPU",
                 lambda: [task.affinity for task in threads("quiet")] == [{3}], 60)
        yield "the thread's group", [inside(task) for task in threads("quiet")], [True]


@case
def exactly_back():
    for name in ("low-jitter", "dpdk", "kvm-host", "kvm-guest", "audio"):
        before = snapshot()
        with mode(name):
            pass
        yield f"{name}: what differs", diff(before, snapshot()), []


@case
def status_in_json():
    with mode("low-jitter"):
        status = json.loads(run("rtisoctl", "status", "--json").stdout)
        yield "version", status["version"], 1
        yield "mode", status["mode"], "low-jitter"
        yield "the set's CPUs", [s["cpus"] for s in status["sets"]], ["1-3"]
        yield "housekeeping", status["housekeeping"], "0"
        yield "kernel", status["kernel"], kernel.release()
        yield "without the daemon's help it says so", status["daemon"], True
    status = json.loads(run("rtisoctl", "status", "--json").stdout)
    yield "mode afterwards", status["mode"], "green"


@case
def stopping_the_daemon_leaves_the_mode():
    rtisoctl("mode", "low-jitter")
    try:
        run("systemctl", "stop", "rtisold.service")
        yield "isolated", kernel.isolated(), SETS
        yield "status without it", rtisoctl("status") != "", True
        run("systemctl", "start", "rtisold.service")
        yield "adopted", rtisoctl("mode").strip(), "low-jitter"
        yield "still isolated", kernel.isolated(), SETS
    finally:
        run("systemctl", "start", "rtisold.service", check=False)
        green()


@case
def the_daemon_is_one_process():
    yield "its threads", len(os.listdir(f"/proc/{daemon()}/task")), 1
