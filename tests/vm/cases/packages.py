# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages on a clean machine: installed, upgraded with a mode in force, purged."""

import json
import os
import re

import kernel
from actors import PROFILES, SPIN, daemon, main_pid, service, touched, written
from case import case, rtisoctl, run, wait_for
from debs import dpkg, packages, purge, traces
from snapshot import diff, snapshot

NEWER = "/run/newer"
SLICE = "rtisol.slice/rtisol-rt.slice"


def version():
    return run("dpkg-query", "-W", "-f", "${Version}", "rtisold").stdout


def make_newer():
    """The same packages, one version on."""
    for package in packages():
        folder = f"{NEWER}/{os.path.basename(package)}.d"
        os.makedirs(NEWER, exist_ok=True)
        run("dpkg-deb", "--raw-extract", package, folder)
        control = kernel.read(f"{folder}/DEBIAN/control")
        kernel.write(f"{folder}/DEBIAN/control", re.sub(re.escape(version()), version() + "+next", control) + "\n")
        run("dpkg-deb", "-Znone", "--build", folder, f"{NEWER}/{os.path.basename(package)}")


def state_of_set():
    """What the kernel says of the set and of the interrupts."""
    return {name: kernel.cgroup(SLICE, name) for name in
            ("cpuset.cpus", "cpuset.cpus.effective", "cpuset.cpus.partition", "cpuset.mems", "cgroup.procs")} | {
        "isolated": kernel.isolated(), "irqs": {irq: kernel.irq_affinity(irq) for irq in kernel.irqs()}}


def status():
    return json.loads(run("rtisoctl", "status", "--json", check=False).stdout)


def task_state(pid):
    task = kernel.Task(pid, pid)
    return task.start, task.affinity, task.cpu, task.policy, task.cgroup


@case
def installing():
    yield "the packages are here", len(packages()), 3
    yield "the machine is clean", traces(), []
    dpkg("--install", *packages())
    yield "the daemon runs", run("systemctl", "is-active", "rtisold").stdout.strip(), "active"
    yield "it starts at boot", run("systemctl", "is-enabled", "rtisold").stdout.strip(), "enabled"
    yield "nothing is isolated", (rtisoctl("mode").strip(), kernel.isolated()), ("green", set())


@case
def upgrading_in_a_mode():
    make_newer()
    old = version()
    before = snapshot()
    rtisoctl("mode", "low-jitter")
    with service("workload", "taskset", "-c", "2", "sh", "-c", SPIN, Slice="rtisol-rt.slice") as pid:
        wait_for("it runs on its CPU", lambda: kernel.Task(pid, pid).affinity == {2})
        state, task, inside, old_daemon = state_of_set(), task_state(pid), snapshot(), daemon()
        there = {f"({t.tid}," for t in kernel.tasks()}
        partitions = [f"{kernel.CGROUP}/{group}/cpuset.cpus.partition" for group in (SLICE, "rtisol.slice")]
        with touched(*partitions) as changes, written(old_daemon, init=False) as writes:
            dpkg("--install", *packages(NEWER))
        yield "it is another version", (version() != old, daemon() != old_daemon), (True, True)
        yield "the daemon runs", run("systemctl", "is-active", "rtisold").stdout.strip(), "active"
        # systemd writes what it has written before when packages make it reload; the kernel takes no notice.  Kernel
        # threads that come meanwhile are kept off the set as ever.
        yield "neither daemon has written to what was there", [line for line in writes if not line.startswith(
            "sched_setaffinity(") or any(tid in line for tid in there)], []
        yield "no partition was written or has changed", changes, []
        yield "the set", state_of_set(), state
        yield "the task in it", (main_pid("workload"), task_state(pid)), (pid, task)
        yield "what differs", diff(inside, snapshot()), []
        yield "the mode", rtisoctl("mode").strip(), "low-jitter"
        yield "it holds", [s["id"] for s in status()["steps"] if s["state"] == "drifted"], []
    yield "and back: nothing to say", rtisoctl("mode", "green"), ""
    yield "and back", diff(before, snapshot()), []


@case
def what_runs_keeps_the_package():
    rtisoctl("mode", "low-jitter")
    with service("busy", "chrt", "-f", "10", "sleep", "100000", Slice="rtisol-rt.slice") as pid:
        wait_for("it runs as FIFO", lambda: kernel.Task(pid, pid).policy == "fifo")
        done = dpkg("--purge", "rtisold", check=False)
        yield "it is refused", done.returncode != 0, True
        yield "and said why", "rtisoctl mode green --force" in done.stderr, True
        yield "the mode", (rtisoctl("mode").strip(), kernel.isolated()), ("low-jitter", {1, 2, 3})
    rtisoctl("mode", "green")


@case
def purging():
    before = snapshot()
    rtisoctl("mode", "low-jitter")
    os.makedirs(f"{PROFILES}/dpdk.ini.d", exist_ok=True)
    kernel.write(f"{PROFILES}/dpdk.ini.d/10-site.ini", "[cpuset rt]\ncpus = 2\n")
    run("systemctl", "stop", "rtisold")         # it is started to give the CPUs back
    purge()
    yield "nothing is left", traces(), []
    yield "nothing is isolated", kernel.isolated(), set()
    yield "what differs", [line for line in diff(before, snapshot()) if "/rtisold.service/" not in line], []
