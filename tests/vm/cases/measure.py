# SPDX-License-Identifier: LGPL-2.1-or-later
"""rtisoctl measure on sets: who measures where, what the kernel says of it, and
that a comparison always goes back."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import kernel
from actors import green, mode
from case import case, rtisoctl, run, wait_for

TRACING = "/sys/kernel/tracing"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def measured(*options):
    """The record of one measurement."""
    return json.loads(run("rtisoctl", "measure", *options, "--json").stdout)


@contextlib.contextmanager
def measuring(*options):
    """A measurement that goes on."""
    process = subprocess.Popen(["rtisoctl", "measure", *options], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def threads(kind):
    """The threads that measure, by CPU."""
    return {int(task.comm.split("/")[1]): task for task in kernel.user_tasks()
            if re.fullmatch(rf"{kind}/\d+", task.comm)}


def wait_measuring(process, kind, cpus):
    """Until all are pinned and have had the time to calibrate."""
    def pinned():
        if process.poll() is not None:
            raise AssertionError(f"it has ended: {process.stderr.read()}")
        return {cpu for cpu, task in threads(kind).items() if task.affinity == {cpu}} == set(cpus)
    wait_for("all threads are there", pinned, 180)
    time.sleep(3)
    return threads(kind)


@case
def from_inside_the_set():
    with mode("low-jitter"), measuring("pert", "-D", "0", "-q") as process:
        found = wait_measuring(process, "pert", {1, 2, 3})
        yield "where its threads are", [t.affinity for _, t in sorted(found.items())], [{1}, {2}, {3}]
        yield ("in which group", {t.cgroup.rsplit("/", 1)[0] for t in found.values()},
               {"/rtisol.slice/rtisol-rt.slice"})
        yield "the partition holds", kernel.partition("rtisol.slice/rtisol-rt.slice"), "isolated"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        yield "^C prints what there is", (process.returncode, "interrupted" in out, err), (0, True, "")
        # The column of CPUs is four wide; the histogram below has rows of 1, 2 and 5 us, further right.
        yield "a row for each CPU", re.findall(r"^ {3}(\d) ", out, re.M), ["1", "2", "3"]
        wait_for("nothing is left", lambda: not threads("pert"))
    yield "what is isolated afterwards", kernel.isolated(), set()


@case
def the_clock():
    trusted = kernel.read(CLOCKSOURCE) == "tsc"
    clock = measured("pert", "-a", "0", "-D", "1")["clock"]
    yield ("the kernel's choice is followed", (clock["name"], clock["system_call"]),
           ("tsc", False) if trusted else ("clock_gettime", True))
    yield "and told", ("keeps time by it" if trusted else "does not trust the TSC") in clock["why"], True


@case
def pert_sleeps_for_nothing():
    """What it counts is for exact.py to see: on a busy host an emulated CPU stands
    still by itself, for QEMU's own threads among others, and that is as long as an
    interrupt."""
    with mode("low-jitter"):
        row = measured("pert", "-a", "3", "-D", "2", "--tolerance", "10")["rows"][0]
        yield "the loop's own page faults", row["faults"], 0
        yield "and waits", row["voluntary_switches"], 0


class Counts:
    """How often an event came, as the kernel counts it, by some of its fields."""

    def __init__(self, event, *fields):
        self.folder = f"{TRACING}/instances/measure/events/{event}"
        self.fields = fields
        self.trigger = f"hist:keys={','.join(fields)}:size=4096"

    def __enter__(self):
        run("mount", "-t", "tracefs", "none", TRACING, check=False)
        os.mkdir(f"{TRACING}/instances/measure")
        kernel.write(f"{self.folder}/trigger", self.trigger)
        return self

    def __exit__(self, *_):
        kernel.write(f"{self.folder}/trigger", "!" + self.trigger)
        os.rmdir(f"{TRACING}/instances/measure")

    def now(self):
        """{(value of each field): how often}"""
        row = r"\{ " + ", ".join(rf"{field}: +(-?\d+)" for field in self.fields) + r" \} hitcount: +(\d+)"
        found = re.findall(row, kernel.read(f"{self.folder}/hist"))
        return {tuple(map(int, values)): int(n) for *values, n in found}


def calls_of(counts, tid):
    """{number of the call: how often}"""
    return {call: n for (call, pid), n in counts.now().items() if pid == tid}


def faults(tid):
    fields = kernel.read(f"/proc/{tid}/stat").rsplit(")", 1)[1].split()
    return int(fields[7]) + int(fields[9])


def inside_the_loop(kind, *options):
    """System calls and page faults of a thread while it measures."""
    with (Counts("raw_syscalls/sys_enter", "id", "common_pid") as counts,
          measuring(kind, "-a", "3", "-D", "0", "-q", *options) as process):
        tid = wait_measuring(process, kind, {3})[3].tid
        before, faulted = calls_of(counts, tid), faults(tid)
        time.sleep(3)
        after = calls_of(counts, tid)
        return {call: n - before.get(call, 0) for call, n in after.items()
                if n > before.get(call, 0)}, faults(tid) - faulted


@case
def the_loop_makes_no_system_call():
    CLOCK_NANOSLEEP, CLOCK_GETTIME = 230, 228
    trusted = kernel.read(CLOCKSOURCE) == "tsc"
    clock = set() if trusted else {CLOCK_GETTIME}
    with mode("low-jitter"):
        calls, faulted = inside_the_loop("pert")
        yield "pert: system calls", set(calls), clock
        yield "pert: page faults", faulted, 0
        calls, faulted = inside_the_loop("jitter", "-f", "100")
        yield "jitter: only what waits", set(calls), {CLOCK_NANOSLEEP} | clock
        yield "jitter: one for each timer", calls[CLOCK_NANOSLEEP], lambda n: 30 < n < 500
        yield "jitter: page faults", faulted, 0
        calls, faulted = inside_the_loop("frame", "-f", "100", "--load", "5")
        yield "frame: only what waits", set(calls), {CLOCK_NANOSLEEP} | clock
        yield "frame: page faults", faulted, 0


@case
def every_cycle_is_accounted_for():
    """Counts are frequency times duration, however busy the host is."""
    with mode("low-jitter"):
        rows = measured("frame", "-D", "3")["rows"]
        yield ("frame: CPU, frequency, frames", [(r["cpu"], r["frequency"], r["frames"] + r["missed"]) for r in rows],
               [(1, 960, 2880), (2, 666, 1998), (3, 300, 900)])
        yield "frame: nobody was starved", [r["cpu"] for r in rows if not r["frames"] or not r["complete"]], []
        row = measured("jitter", "-a", "3", "-l", "500")["rows"][0]
        yield "jitter: loops", row["timers"] + row["missed"], 500


@case
def itimer_and_its_signals():
    SIGPROF = 27
    with Counts("signal/signal_deliver", "sig") as counts:
        without, row = measured("itimer", "-D", "1", "-a", "3", "-t", "2")["rows"]
        signals = counts.now().get((SIGPROF,), 0)
    yield f"ticks, for {signals} signals of the kernel's", row["ticks"], lambda n: signals - 2 <= n <= signals
    yield "getitimer's period", row["period_s"], 0.01
    expected = row["expected_ticks"]
    yield f"ticks, for {expected:.1f} expected", row["ticks"], lambda n: abs(n - expected) <= 2 + expected / 20
    yield "ticks without the timer", without["ticks"], 0


def now():
    return rtisoctl("mode").strip(), kernel.isolated()


@case
def compare():
    record = measured("jitter", "-D", "1", "--compare", "green,low-jitter")
    yield "modes", [r["mode"] for r in record["compare"]], ["green", "low-jitter"]
    yield "the CPUs of both", [r["cpus"] for r in record["compare"]], ["1-3", "1-3"]
    first, second = (r["all"]["mean_us"] for r in record["compare"])
    yield "the ratio", abs(record["ratio"]["all"]["mean_us"] - second / first) < 1e-3, True
    yield "afterwards", now(), ("green", set())


@case
def compare_always_goes_back():
    with measuring("pert", "-D", "1h", "--compare", "low-jitter,green") as process:
        wait_measuring(process, "pert", {1, 2, 3})
        yield "meanwhile", now(), ("low-jitter", {1, 2, 3})
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        yield "^C: exit and words", (process.returncode, "interrupted: there is nothing to compare" in err), (1, True)
        yield "^C: what there is", "OVERHEAD" in out, True
        yield "^C: afterwards", now(), ("green", set())
    with measuring("pert", "-D", "1h", "--compare", "low-jitter,green") as process:
        wait_measuring(process, "pert", {1, 2, 3})
        process.kill()
        wait_for("the daemon goes back", lambda: now() == ("green", set()), 60)
        yield "killed: who measures still", list(threads("pert")), []
        yield "killed: afterwards", now(), ("green", set())
    try:
        done = run("rtisoctl", "measure", "pert", "-D", "1", "--compare", "low-jitter,green", "-a", "0-3", "-p", "50",
                   check=False)
        yield "failed: exit and words", (done.returncode, "on every CPU" in done.stderr), (1, True)
        yield "failed: afterwards", now(), ("green", set())
    finally:
        green()
