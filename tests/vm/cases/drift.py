# SPDX-License-Identifier: LGPL-2.1-or-later
"""What others do to a mode, and that status says so by name."""

import json
import os
import time

import kernel
from actors import daemon, green, hotplug, mode
from case import Skip, case, rtisoctl, run, wait_for

SETS = {1, 2, 3}
SLICE = "rtisol.slice/rtisol-rt.slice"


def status():
    done = run("rtisoctl", "status", check=False)
    return done.returncode, done.stdout + done.stderr


def drifted_steps():
    """The ids of the steps that status calls drifted."""
    steps = json.loads(run("rtisoctl", "status", "--json", check=False).stdout)["steps"]
    return {step["id"] for step in steps if step["state"] == "drifted"}


def drifted(*names):
    """Rows about a status that must say `drifted` and tell these names."""
    code, text = status()
    yield "exit status", code, 3
    for name in names:
        yield f"status names {name}", name in text and text, text


@case
def nothing_has_drifted():
    with mode("low-jitter"):
        yield "exit status", status()[0], 0


@case
def a_rival_moves_an_interrupt():
    for name in ("i8042", "virtio2-input"):
        irq = kernel.irq_of(name)
        with mode("low-jitter"):
            kernel.write(f"/proc/irq/{irq}/smp_affinity_list", "3")
            yield from drifted(f"irq/{irq}/affinity {name}")
            rtisoctl("mode", "low-jitter")
            yield f"{name}: mended", kernel.irq_affinity(irq), {0}
            yield f"{name}: status", status()[0], 0


@case
def a_rival_changes_a_sysctl():
    with mode("low-jitter"):
        before = kernel.sysctl("vm.stat_interval")
        kernel.write("/proc/sys/vm/stat_interval", "99")
        yield from drifted("vm.stat_interval")
        rtisoctl("mode", "low-jitter")
        yield "mended", kernel.sysctl("vm.stat_interval"), before


@case
def events_of_cpus_that_stay():
    """As a package that is upgraded has udev play them once more: no reason to mend what others did."""
    with mode("low-jitter"):
        kernel.write("/proc/sys/vm/stat_interval", "99")
        run("udevadm", "trigger", "--settle", "--subsystem-match=cpu", "--action=add")
        time.sleep(2)
        yield "it stays", kernel.sysctl("vm.stat_interval"), "99"
        yield from drifted("vm.stat_interval")


@case
def a_rival_dissolves_the_partition():
    with mode("low-jitter"):
        kernel.write(f"{kernel.CGROUP}/{SLICE}/cpuset.cpus.partition", "member")
        yield from drifted("rt", "partition")
        rtisoctl("mode", "low-jitter")
        yield "mended", kernel.isolated(), SETS


@case
def systemd_reloads():
    with mode("low-jitter"):
        run("systemctl", "daemon-reload")
        code, text = status()
        holds = kernel.isolated() == SETS
        yield "status agrees with the kernel", code, 0 if holds else 3
        yield "isolated, or said not to be", holds or "rtisol" in text, True


@case
def systemd_reexecutes():
    with mode("low-jitter"):
        run("systemctl", "daemon-reexec")
        code, _ = status()
        yield "status agrees with the kernel", code, 0 if kernel.isolated() == SETS else 3


@case
def irqbalance_runs():
    with mode("low-jitter"):
        run("irqbalance", "--oneshot", "--foreground", check=False)
        touched = [irq for irq in kernel.irqs()
                   if kernel.irq_affinity(irq) & SETS and kernel.irq_movable(irq)]
        code, _ = status()
        yield "status agrees with the kernel", code, 3 if touched else 0
        yield ("it names what irqbalance moved",
               [n for n in touched if f"irq/{n}/affinity" not in drifted_steps()], [])


@case
def irqbalance_runs_all_the_time():
    run("systemctl", "start", "irqbalance.service")
    try:
        wait_for("irqbalance listens", lambda: run(
            "sh", "-c", "ls /run/irqbalance", check=False).stdout != "", 30)
        with mode("low-jitter"):
            run("sleep", "25")              # two of its rounds
            touched = [irq for irq in kernel.irqs()
                       if kernel.irq_affinity(irq) & SETS and kernel.irq_movable(irq)]
            code, _ = status()
            yield "status agrees with the kernel", code, 3 if touched else 0
            yield "it was told to keep off", touched, []
    finally:
        run("systemctl", "stop", "irqbalance.service", check=False)


@case
def a_cpu_goes_and_comes_back():
    with mode("low-jitter"):
        try:
            hotplug(3, False)
            wait_for("the set is 1-2", lambda: kernel.isolated() >= {1, 2}, 30)
            yield "the rest stays isolated", kernel.isolated() & kernel.online(), {1, 2}
        finally:
            hotplug(3, True)
        wait_for("CPU 3 is back in its set", lambda: kernel.isolated() == SETS, 30)
        yield "the slice has it", kernel.cgroup(SLICE, "cpuset.cpus.effective"), "1-3"
        wait_for("nothing has drifted", lambda: status()[0] == 0, 30)
        yield "exit status", status()[0], 0


@case
def a_device_comes_later():
    """A module whose interrupt is requested in the mode lands elsewhere."""
    with mode("low-jitter"):
        before = set(kernel.irqs())
        run("modprobe", "-r", "i2c-i801", check=False)
        run("modprobe", "i2c-i801", check=False)
        new = [irq for irq in kernel.irqs() if irq not in before or "i801" in kernel.irq_name(irq)]
        yield "interrupts on the set", [i for i in new if kernel.irq_affinity(i) & SETS], []


@case
def a_link_goes_up():
    """Its interrupts are requested now, and no udev event tells."""
    if not os.path.exists("/sys/class/net/eth0"):
        raise Skip("no network card")
    with mode("low-jitter"):
        run("ip", "link", "set", "eth0", "up")
        try:
            queues = [i for i in kernel.irqs() if kernel.irq_name(i).startswith("eth0")]
            yield "interrupts of its queues", len(queues) > 1, True
            wait_for("they are off the set",
                     lambda: not [i for i in queues if kernel.irq_affinity(i) & SETS])
            yield "exit status", status()[0], 0
        finally:
            run("ip", "link", "set", "eth0", "down")


@case
def the_daemon_lives():
    yield "its pid", daemon() > 0, True
    green()
