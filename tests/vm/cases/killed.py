# SPDX-License-Identifier: LGPL-2.1-or-later
"""SIGKILL in the middle of a switch: the whole mode or nothing of it."""

from actors import daemon
from case import case, full, rtisoctl, run
from faults import (fault, faulty_daemon, forget, more_kinds, objects_of, one_of_each, struck, wait_recovered,
                    whole)
from snapshot import diff, snapshot

POINTS = 25 if full() else 5


def kill_at(moment, item, wanted):
    """Kill the daemon in the switch to WANTED; what it says after the restart."""
    pid = daemon()
    fault(moment, "kill", item)
    run("rtisoctl", "mode", wanted, check=False)
    hit = struck()
    forget()
    return hit, wait_recovered(pid) if hit else ""


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
