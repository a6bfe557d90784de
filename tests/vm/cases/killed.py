# SPDX-License-Identifier: LGPL-2.1-or-later
"""SIGKILL in the middle of a switch: the whole mode or nothing of it."""

import contextlib

import kernel
from actors import daemon, drop_in, program
from case import case, full, rtisoctl, run
from faults import fault, faulty_daemon, forget, objects_of, one_of_each, struck, wait_recovered
from snapshot import diff, snapshot

SETS = {1, 2, 3}
POINTS = 25 if full() else 5

# Steps of more kinds than low-jitter has on a machine like this.
MORE = """
[profile]
pinned = adopt
accept_starvation = yes
[cpuset rt]
rt_throttling = off
[sched_features]
LB_MIN = on
[keep_off_sets]
timers = yes
[kthread soft]
match = ksoftirqd/*
policy = fifo
priority = 2
[sysfs]
/sys/kernel/mm/transparent_hugepage/enabled = never
"""


@contextlib.contextmanager
def more_kinds():
    """In the long run."""
    if not full():
        yield
        return
    with drop_in("low-jitter", MORE), program("sleep", "100000", cpus={1, 3}):
        yield


def kill_at(moment, item, wanted):
    """Kill the daemon in the switch to WANTED; what it says after the restart."""
    pid = daemon()
    fault(moment, "kill", item)
    run("rtisoctl", "mode", wanted, check=False)
    hit = struck()
    forget()
    return hit, wait_recovered(pid) if hit else ""


def whole(mode, before):
    """What is not as it should be in the mode that the daemon claims."""
    if mode == "green":
        return diff(before, snapshot())
    status = run("rtisoctl", "status", check=False)
    return ([] if kernel.isolated() == SETS else [f"isolated: {kernel.isolated()}"]) + (
        [] if status.returncode == 0 else status.stdout.splitlines())


def points(objects):
    """Every kind of step once, before or after its write in turn."""
    return [("before" if n % 2 else "after", item)
            for n, item in enumerate(one_of_each(objects)[:POINTS])]


@case
def in_the_switch():
    with faulty_daemon(), more_kinds():
        there, _ = objects_of("low-jitter")
        if full():
            yield "kinds of steps", len(points(there)) >= 15 or there, True
        before = snapshot()
        for moment, item in points(there):
            hit, mode = kill_at(moment, item, "low-jitter")
            yield f"killed {moment} {item}", hit, True
            yield f"{moment} {item}: then in a mode", mode, lambda m: m in ("green", "low-jitter")
            yield f"{moment} {item}: all of it", whole(mode, before), []
            rtisoctl("mode", "green")
            yield f"{moment} {item}: and back", diff(before, snapshot()), []


@case
def on_the_way_back():
    with faulty_daemon(), more_kinds():
        _, back = objects_of("low-jitter")
        before = snapshot()
        for moment, item in points(back)[:6 if full() else 2]:
            rtisoctl("mode", "low-jitter")
            hit, mode = kill_at(moment, item, "green")
            yield f"killed {moment} {item}", hit, True
            yield f"{moment} {item}: all of {mode}", whole(mode, before), []
            rtisoctl("mode", "green")
            yield f"{moment} {item}: and back", diff(before, snapshot()), []
