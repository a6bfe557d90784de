# SPDX-License-Identifier: LGPL-2.1-or-later
"""`explain` names who takes a CPU, for every kind that can be provoked here."""

import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import threading
import time

import kernel
from actors import drop_in, mode, program, service
from case import case, rtisoctl, run, wait_for
from provoke import packets

NOISY = "/usr/lib/rtisold-vm/tools/noisy"
INSTANCES = "/sys/kernel/tracing/instances"
CPU, TICKING, OTHER = 3, 2, 0
SLICE = "rtisol-rt.slice"


def explain(seconds=2, cpu=CPU):
    """What is told of the CPU."""
    text = rtisoctl("explain", "--seconds", str(seconds), "--cpu", str(cpu), "--json")
    report = json.loads(text)
    return report | report["cpus"][0]


def names(report, kind):
    return [row["name"] for row in report["culprits"] if row["kind"] == kind]


def row(report, kind, pattern):
    """The first row of that kind whose name matches; {} where there is none."""
    return next((row for row in report["culprits"]
                 if row["kind"] == kind and re.fullmatch(pattern, row["name"])), {})


def causes(row):
    return [cause["what"] for cause in row.get("causes", [])]


def noisy(*argv, cpus=None):
    return program(NOISY, *map(str, argv), cpus=cpus)


def in_set(*argv):
    return service(f"nz-{argv[0]}", NOISY, *map(str, argv), Slice=SLICE)


class Counters(threading.Thread):
    """What the hog itself counts, again and again: how often it ran, and how
    long in all by the clock that the kernel traces with."""

    def __init__(self):
        super().__init__()
        self.samples, self.over = [], threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            with open("/run/nz-hog", "rb") as f:
                self.samples.append((time.monotonic(), *struct.unpack("=qq", f.read(16))))

    def __enter__(self):
        wait_for("the hog counts", lambda: os.path.exists("/run/nz-hog"))
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def between(self, begin, end):
        """How often it ran meanwhile, and µs each time."""
        inside = [s for s in self.samples if begin <= s[0] <= end]
        times = inside[-1][1] - inside[0][1]
        return times, (inside[-1][2] - inside[0][2]) / 1000 / max(times, 1)


@case
def a_task_of_known_size():
    with drop_in("dpdk", f"[cpuset rt]\ncpus = {CPU}\n"), mode("dpdk"):
        with in_set("loop"), in_set("hog", 500000, 25), Counters() as counters:
            report = explain(3)
        times, usec = counters.between(report["start"], report["start"] + report["seconds"])
        found = row(report, "task", "nz-hog")
        yield "the workload", report["workload"] and report["workload"]["comm"], "nz-loop"
        yield f"as often as it says itself, {times}", found.get("count", 0), \
            lambda n: times > 0 and abs(n - times) <= 2 + times / 4
        # It does not count the system calls between its clocks, and counts what interrupts it.
        yield f"as long as it says itself, {usec:.0f} us", \
            found.get("stolen_us", 0) / max(found.get("count", 0), 1), lambda n: 0.7 <= n / usec <= 1.5
        yield "all that was stolen, at least the hog's", report["stolen_us"], \
            lambda n: n >= found.get("stolen_us", 0) > 0
        for second, reason, fix in (("calls", "SCHED", "one runnable task"),
                                    (None, "POSIX_TIMER", "ITIMER_PROF")):
            with in_set("itimer" if second is None else "loop"), \
                    in_set(second) if second else contextlib.nullcontext():
                report = explain(1)
            tick = row(report, "tick", "tick")
            yield f"why the tick was not stopped: {reason}", causes(tick), lambda why, r=reason: r in why
            yield f"{reason}: what to do", tick.get("fix", ""), lambda text, f=fix: f in text


def disk():
    """virtio0, the device of the root file system."""
    return os.path.basename(os.readlink("/sys/block/vda/device"))


@contextlib.contextmanager
def repeated(*argv):
    """A command again and again, ten times a second."""
    over = threading.Event()

    def go():
        while not over.wait(0.1):
            subprocess.run(argv, check=False)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@case
def from_outside():
    with noisy("loop", cpus={CPU}), noisy("woken", CPU, OTHER), \
            repeated("sh", "-c", "echo 1 > /proc/sys/vm/stat_refresh"), \
            program("dd", "if=/dev/vda", "of=/dev/null", "iflag=direct", cpus={CPU}):
        report = explain()
    woken = row(report, "task", "nz-woken")
    yield "a task, by name", names(report, "task"), lambda found: "nz-woken" in found
    yield "who woke it", causes(woken)[:1], [f"nz-waker on CPU {OTHER}"]
    yield "an interrupt, by name", names(report, "interrupt"), \
        lambda found: any(re.fullmatch(rf"{disk()}-req\.\d+", name) for name in found)
    work = row(report, "work", "refresh_vm_stats")
    yield "a work item, by function", names(report, "work"), lambda found: "refresh_vm_stats" in found
    yield "who queued it", causes(work), lambda who: any(w.startswith("sh on CPU") for w in who)
    yield "what to do about it", work.get("fix", ""), lambda text: "vm.stat_refresh" in text
    yield "a soft interrupt, by name", names(report, "softirq"), lambda found: len(found) > 0
    yield "a kernel thread", names(report, "task"), \
        lambda found: any(name.startswith(f"kworker/{CPU}:") for name in found)


@case
def calls_from_another_CPU():
    for what, function in ("barrier", "ipi_mb"), ("unmap", "flush_tlb_func"):
        with noisy(what, CPU, OTHER):
            report = explain()
        ipi = row(report, "ipi", function)
        if report["names_calls"] or what == "unmap":
            yield f"{what}: the function", names(report, "ipi"), lambda found, f=function: f in found
        else:                           # this kernel has no event that tells
            ipi = row(report, "ipi", "call_function.*")
            yield f"{what}: said to be unknown", ipi.get("fix", ""), lambda text: "does not tell which" in text
        yield f"{what}: a hundred times a second, or what the host lets through", \
            ipi.get("count", 0), lambda n: n >= 5
        if report["names_calls"]:
            yield f"{what}: who called", causes(ipi)[:1], [f"nz-{what} on CPU {OTHER}"]


@case
def the_workload_itself():
    # The kernel takes timers away from a CPU that it was booted with as nohz_full=.
    for what, cpu, kind, name in (("calls", CPU, "syscall", "getppid"), ("faults", CPU, "page-fault", "in the program"),
                                  ("timer", TICKING, "timer", "posix_timer_fn")):
        with noisy(what, *([10000] if what == "timer" else []), cpus={cpu}):
            report = explain(1, cpu)
        found = row(report, kind, name)
        yield f"{what}: the workload", report["workload"] and report["workload"]["comm"], f"nz-{what}"
        yield f"{what}: named", names(report, kind), lambda found, n=name: n in found
        yield f"{what}: its own", found.get("own"), what != "timer"
        yield f"{what}: more than once", found.get("count", 0), lambda n: n >= 3
    yield "who armed the timer", causes(found), lambda who: f"nz-timer on CPU {TICKING}" in who
    tick = row(report, "tick", "tick")
    yield "a tick that nobody asked to stop", causes(tick), ["not booted as nohz_full="]
    yield "and what to do", tick.get("fix", ""), lambda text: "kernel-args" in text


@case
def sorted_by_time_with_advice():
    with noisy("loop", cpus={CPU}), noisy("woken", CPU, OTHER):
        report = explain(1)
    times = [row["stolen_us"] or 0 for row in report["culprits"]]
    yield "sorted", times, sorted(times, reverse=True)
    yield "each says what to do", [r["name"] for r in report["culprits"] if not r["fix"]], []
    yield "the sum", round(report["stolen_us"]), \
        round(sum(row["stolen_us"] or 0 for row in report["culprits"] if not row["own"]))
    text = rtisoctl("explain", "--seconds", "1", "--cpu", str(CPU))
    yield "for people, no wider than a screen", \
        [line for line in text.splitlines() if line.startswith(" " * 12) and len(line) > 80], []


@case
def status_tells_it_without_tracing():
    with drop_in("dpdk", f"[cpuset rt]\ncpus = {CPU}\n"), mode("dpdk"):
        with packets():
            findings = json.loads(run("rtisoctl", "status", "--json", check=False).stdout)["findings"]
            found = {finding["id"]: finding for finding in findings if finding["code"] == "noise"}
            report = explain(1)
        told = found.get("noise:NET_RX", {})
        yield "packets of the set's own", (told.get("cpus"), told.get("severity")), (str(CPU), "warning")
        yield "what explain says to do", told.get("fix"), row(report, "softirq", "NET_RX").get("fix", "nothing")
        yield "nothing is traced for it", instances(), []


def instances():
    return [name for name in os.listdir(INSTANCES) if name.startswith("rtisold")]


def started():
    child = subprocess.Popen(["rtisoctl", "explain", "--seconds", "60", "--cpu", str(CPU)],
                             stdout=subprocess.PIPE, text=True)
    wait_for("it traces", lambda: [
        name for name in instances()
        if f"-{child.pid}-" in name and kernel.read(f"{INSTANCES}/{name}/tracing_on", "0") == "1"])
    return child


@case
def nothing_is_left():
    yield "before", instances(), []
    child = started()
    child.send_signal(signal.SIGINT)
    out = child.communicate(timeout=30)[0]
    yield "^C: what was found so far is told", out, lambda text: f"CPU {CPU}" in text
    yield "^C: exit", child.returncode, 0
    yield "^C: no instance is left", instances(), []
    child = started()
    child.kill()
    child.wait()
    yield "killed: it is left", len(instances()), 1
    second = started()
    yield "the next start removes it", len(instances()), 1
    third = started()
    yield "and none that is in use", len(instances()), 2
    for child in second, third:
        child.terminate()
        child.communicate(timeout=30)
    yield "at the end", instances(), []


@case
def refusals():
    yield "no CPU", rtisoctl("explain", status=2), lambda text: "--cpu" in text
    yield "no number", rtisoctl("explain", "--seconds", "x", "--cpu", "3", status=2), lambda text: '"x"' in text
    yield "not root", run("setpriv", "--reuid=65534", "--clear-groups", "rtisoctl", "explain", "--cpu", "3",
                          check=False).returncode, lambda code: code in (1, 7)
