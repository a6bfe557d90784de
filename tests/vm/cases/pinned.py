# SPDX-License-Identifier: LGPL-2.1-or-later
"""Work that is on the sets' CPUs already, and work that is in a set."""

import contextlib
import os
import time

import kernel
from actors import SPIN, allowed_cpus, drop_in, green, mode, profile, program, service
from case import case, rtisoctl, run, wait_for
from snapshot import cgroup_files, diff, snapshot

THREADS = """
import os, threading, time
def vcpu(cpu):
    os.sched_setaffinity(0, {cpu})
    time.sleep(100000)
for cpu in (2, 3):
    threading.Thread(target=vcpu, args=(cpu,)).start()
"""


def refused(before, *names):
    """Rows about a refusal of low-jitter that must tell these names."""
    said = rtisoctl("mode", "low-jitter", status=1)
    for name in names:
        yield f"it names {name}", name in said and said, said
    yield "what differs", diff(before, snapshot()), []
    yield "the mode", rtisoctl("mode").strip(), "green"


@case
def a_pinned_task_is_refused():
    with program("sleep", "100000", cpus={1, 3}) as pid:
        yield from refused(snapshot(), str(pid), "sleep")


@case
def a_service_with_allowed_cpus_is_refused():
    with service("inset", "sleep", "100000", AllowedCPUs="2"):
        yield from refused(snapshot(), "inset.service")


@case
def a_virtual_machine_is_refused():
    with service("qemu-guest1", "python3", "-c", THREADS, Slice="machine.slice"):
        wait_for("its threads are pinned",
                 lambda: any(t.affinity == {3} for t in kernel.user_tasks()))
        yield from refused(snapshot(), "qemu-guest1")


@case
def pinned_work_is_adopted():
    with drop_in("low-jitter", "[profile]\npinned = adopt\n"):
        with program("sleep", "100000", cpus={1, 3}) as pid:
            before = snapshot()
            with mode("low-jitter"):
                task = kernel.Task(pid, pid)
                yield "its group", "rtisol-rt.slice" in task.cgroup, True
                yield "its CPUs", task.affinity, {1, 3}
            yield "its CPUs afterwards", os.sched_getaffinity(pid), {1, 3}
            yield "what differs", diff(before, snapshot()), []


@case
def ignored_when_told():
    with drop_in("low-jitter", "[profile]\npinned = ignore\n"):
        with program("sleep", "100000", cpus={1, 3}) as pid:
            with mode("low-jitter"):
                yield "isolated all the same", kernel.isolated(), {1, 2, 3}
            yield "its CPUs afterwards", os.sched_getaffinity(pid), {1, 3}


@contextlib.contextmanager
def busy_set(*argv):
    rtisoctl("mode", "low-jitter")
    try:
        with service("busy", *argv, Slice="rtisol-rt.slice") as pid:
            time.sleep(2)
            yield pid
    finally:
        green()


@case
def green_refuses_while_work_runs_in_a_set():
    for what, argv in (("a FIFO task", ("chrt", "-f", "10", "sleep", "100000")),
                       ("a polling task", ("taskset", "-c", "2", "sh", "-c", SPIN))):
        with busy_set(*argv) as pid:
            said = rtisoctl("mode", "green", status=1)
            yield f"{what} is named", str(pid) in said and said, said
            yield f"{what}: isolated", kernel.isolated(), {1, 2, 3}
            rtisoctl("mode", "green", "--force")
            yield f"{what}: forced", kernel.isolated(), set()
            yield f"{what} is alive", os.path.exists(f"/proc/{pid}"), True


@case
def a_sleeper_does_not_hold_green_back():
    with busy_set("sleep", "100000") as pid:
        rtisoctl("mode", "green")
        yield "not isolated", kernel.isolated(), set()
        yield "alive", os.path.exists(f"/proc/{pid}"), True


@case
def a_slice_in_use_goes_with_a_later_green():
    before = snapshot()
    with busy_set("sleep", "100000") as pid:
        rtisoctl("mode", "green")
        yield "it stays with its work", os.path.exists(f"/proc/{pid}"), True
    rtisoctl("mode", "green")
    yield "what differs once it is empty", diff(before, snapshot()), []


@case
def an_unconfirmed_mode_goes_back():
    before = snapshot()
    rtisoctl("mode", "low-jitter", "--confirm", "5")
    yield "isolated", kernel.isolated(), {1, 2, 3}
    wait_for("back by itself", lambda: kernel.isolated() == set(), 30)
    wait_for("the switch is through", lambda: rtisoctl("mode").strip() == "green", 30)
    time.sleep(1)
    yield "what differs", diff(before, snapshot()), []


@case
def a_confirmed_mode_stays():
    with mode("low-jitter", "--confirm", "5"):
        rtisoctl("mode", "low-jitter", "--confirmed")
        time.sleep(8)
        yield "isolated", kernel.isolated(), {1, 2, 3}


@case
def without_a_partition_cgroups_are_left_alone():
    text = "[profile]\ndescription = kubelet's CPUs\ninclude = base\n[cpuset rt]\ncpus = 2-3\npartition = none\n"
    with profile("pods", text), allowed_cpus("pods.slice", "2-3"), \
            service("pod", "sleep", "100000", Slice="pods.slice"):
        before, during, whole = {}, {}, snapshot()
        cgroup_files(before)
        with mode("pods"):
            cgroup_files(during)
            yield "cgroup files that differ", diff(before, during), []
            yield ("interrupts on the CPUs",
                   [irq for irq in kernel.irqs() if kernel.irq_affinity(irq) & {2, 3}
                    and kernel.irq_movable(irq)], [])
        yield "what differs afterwards", diff(whole, snapshot()), []


@case
def a_unit_without_a_process_keeps_its_slice():
    """RemainAfterExit= and Restart= with a pause: nothing runs, and stopping the slice would stop them."""
    for name, properties in (("remains", {"Type": "oneshot", "RemainAfterExit": "yes"}),
                             ("restarts", {"Restart": "always", "RestartSec": "300"})):
        unit = f"test-{name}.service"
        with mode("low-jitter"):
            run("systemd-run", "--slice=rtisol-rt.slice", f"--unit={unit}",
                *[f"--property={key}={value}" for key, value in properties.items()], "true")
            wait_for(f"{unit} has no process", lambda: run(
                "systemctl", "show", "--value", "--property=SubState", unit).stdout.strip()
                in ("exited", "auto-restart"))
            said = rtisoctl("mode", "green")
        state = run("systemctl", "show", "--value", "--property=ActiveState", unit).stdout.strip()
        yield f"{name}: it goes on", state in ("active", "activating") or state, True
        yield f"{name}: green says so", "rtisol-rt.slice" in said and said, said
        yield f"{name}: nothing is isolated", kernel.isolated(), set()
        run("systemctl", "stop", unit)
        rtisoctl("mode", "green")
        yield f"{name}: then the slice goes", os.path.exists(f"{kernel.CGROUP}/rtisol.slice"), False
