# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who else is on the machine: services, pinned programs, admins, strace."""

import contextlib
import ctypes
import glob
import os
import re
import signal
import subprocess
import time

import kernel
from case import rtisoctl, run, wait_for

PROFILES = "/etc/rtisold/profiles"
SPIN = "while :; do :; done"
KEYBOARD = 1                    # an IO-APIC interrupt that every PC has


@contextlib.contextmanager
def service(unit, *argv, **properties):
    """A transient service; `AllowedCPUs="2"` and the like are its properties."""
    options = [f"--property={key}={value}" for key, value in properties.items()]
    run("systemd-run", f"--unit={unit}", *options, "--", *argv)
    try:
        wait_for(f"{unit} runs", lambda: main_pid(unit))
        yield main_pid(unit)
    finally:
        run("systemctl", "kill", "--signal=KILL", unit, check=False)
        run("systemctl", "stop", unit, check=False)
        run("systemctl", "reset-failed", unit, check=False)


def main_pid(unit):
    return int(run("systemctl", "show", "--property=MainPID", "--value", unit).stdout)


@contextlib.contextmanager
def program(*argv, cpus=None):
    """A program of this test, pinned to CPUS first."""
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    child = subprocess.Popen(argv, preexec_fn=pin, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield child.pid
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def pinned_kthread(comm, cpus):
    tid = next(t.tid for t in kernel.unbound_kthreads() if t.comm == comm)
    before = os.sched_getaffinity(tid)
    os.sched_setaffinity(tid, cpus)
    try:
        yield tid
    finally:
        os.sched_setaffinity(tid, before)


def hotplug(cpu, online):
    kernel.write(f"/sys/devices/system/cpu/cpu{cpu}/online", "1" if online else "0")


@contextlib.contextmanager
def allowed_cpus(unit, cpus):
    """AllowedCPUs= of a slice, as `systemctl set-property --runtime` does it."""
    run("systemctl", "set-property", "--runtime", unit, f"AllowedCPUs={cpus}")
    try:
        yield
    finally:
        run("systemctl", "revert", unit, check=False)
        run("systemctl", "set-property", "--runtime", unit, "AllowedCPUs=", check=False)
        run("systemctl", "revert", unit, check=False)


@contextlib.contextmanager
def file(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    kernel.write(path, text)
    try:
        yield
    finally:
        os.unlink(path)


def drop_in(profile, text):
    return file(f"{PROFILES}/{profile}.ini.d/50-test.ini", text)


def profile(name, text):
    return file(f"{PROFILES}/{name}.ini", text)


@contextlib.contextmanager
def mode(name, *options):
    """A mode for the length of a block; green after it, whatever happens."""
    rtisoctl("mode", name, *options)
    try:
        yield
    finally:
        green()


def green():
    run("rtisoctl", "mode", "green", "--force", check=False)


@contextlib.contextmanager
def value(path, odd):
    """A kernel file with another value than usual."""
    before = kernel.read(path)
    kernel.write(path, odd)
    try:
        yield
    finally:
        kernel.write(path, before)


def testpmd(cpus):
    """dpdk-testpmd forwarding between null devices; the first CPU is its
    main thread's.  It ends when its input does."""
    first, *workers = sorted(cpus)
    lcores = ",".join([f"0@{first}"] + [f"{n}@{cpu}" for n, cpu in enumerate(workers, 1)])
    return ("sh", "-c", f"sleep 100000 | exec dpdk-testpmd --lcores {lcores} --no-huge --no-pci "
            "--no-telemetry --vdev net_null0 --vdev net_null1 -m 128 "
            f"-- --total-num-mbufs=8192 --no-mlockall --auto-start --nb-cores={max(len(workers), 1)}")


def workers():
    """The forwarding threads, as DPDK 22.11 and 24.11 name them."""
    return sorted(threads(("rte-worker", "dpdk-worker")), key=lambda task: task.comm)


def threads(comm):
    """Threads whose name begins with COMM, or one of them."""
    return [task for task in kernel.user_tasks() if task.comm.startswith(comm)]


# Who writes to the kernel

WRITE_OPEN = re.compile(r'open(?:at|at2)?\(.*(?:O_WRONLY|O_RDWR).*= \d+<(/(?:proc|sys)/[^>]*)>')
TASK_CALL = re.compile(r"(sched_set(?:affinity|scheduler|attr|param)\(\d+.*\)) += 0")
NOT_OURS = re.compile(r"/sys/fs/cgroup/(system\.slice|init\.scope|user\.slice)/[^ ]*|/proc/(self|\d+)/|"
                      r"/sys/fs/cgroup/[^ ]*(cgroup\.procs|memory\.|pids\.|io\.|cpu\.)")


@contextlib.contextmanager
def written(*pids, init=True):
    """The kernel files that these processes and their children write to, and
    the tasks that they re-pin.  PID 1 is watched too: it writes for others, and
    on its own account at a reload, which INIT leaves out and not its children.
    A log for each task, as a call is cut in two where tasks share one."""
    log = "/run/strace.log"
    for old in glob.glob(f"{log}.*"):
        os.unlink(old)
    found = []
    argv = ["strace", "-ff", "-y", "-qq", "-o", log,
            "-e", "trace=open,openat,openat2,sched_setaffinity,sched_setscheduler,sched_setattr,sched_setparam"]
    for pid in (1, *pids):
        argv += ["-p", str(pid)]
    tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    try:
        wait_for("strace is attached", lambda: all(
            "TracerPid:\t0" not in kernel.read(f"/proc/{pid}/status") for pid in (1, *pids)))
        yield found
        time.sleep(0.5)
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
    logs = [path for path in sorted(glob.glob(f"{log}.*")) if init or path != f"{log}.1"]
    for line in "\n".join(map(kernel.read, logs)).splitlines():
        match = WRITE_OPEN.search(line) or TASK_CALL.search(line)
        if match and not NOT_OURS.match(match[1]):
            found.append(match[1])


@contextlib.contextmanager
def touched(*paths):
    """Those of some kernel files that anybody writes to, or that the kernel says has changed (inotify(7))."""
    libc, found = ctypes.CDLL(None, use_errno=True), []
    fd = libc.inotify_init1(os.O_NONBLOCK)
    watches = {libc.inotify_add_watch(fd, path.encode(), 2): path for path in paths}
    yield found
    with contextlib.suppress(BlockingIOError):
        events = os.read(fd, 65536)
        found += {watches[int.from_bytes(events[n:n + 4], "little", signed=True)] for n in range(0, len(events), 16)}
    os.close(fd)


def daemon():
    return main_pid("rtisold.service")
