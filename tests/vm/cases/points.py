# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every kind of step on a real kernel, and many steps of each, with every kind of fault: killed before and after the
write, refused, refused although it was done, and undone by somebody as soon as it is done.  After each the machine is
as before or as wanted, and what is said of it is true."""

import errno
import json
import os
import re

import kernel
from actors import daemon
from case import case, full, long_case, run, share
from faults import (WRITES, fault, faulty_daemon, forget, more_kinds, objects_of, one_of_each, struck,
                    wait_recovered, whole)
from snapshot import diff, snapshot

FAULTS = [("before", "kill"), ("after", "kill"), ("before", errno.EIO), ("before", errno.ENOSPC), ("after", errno.EPERM),
          ("after", "revert")]
THERE, BACK = 85 if full() else 4, 25


def lasts(item):
    """A worker of the kernel's comes and goes."""
    return not item.startswith("task/") or not kernel.read(f"/proc/{item.split('/')[1]}/comm", "kworker").startswith("kworker")


def points(objects, wanted):
    """(moment, action, object): each kind of step with each fault first, then the steps that are left, with one fault
    after another.  A short run takes what `killed` and `failing` have not."""
    objects = [item for item in objects if lasts(item)]
    kinds = one_of_each(objects)
    if not full():
        return [(*FAULTS[-1 - n % 2], kinds[n * len(kinds) // wanted]) for n in range(wanted)]
    table = [(*how, item) for item in kinds for how in FAULTS]
    first = len(table)
    rest = [item for item in objects if item not in kinds]
    table += [(*FAULTS[(n + turn) % len(FAULTS)], item) for turn in range(len(FAULTS)) for n, item in enumerate(rest)]
    # Spread over all kinds where there are more of them than points.
    return table[:wanted] if first <= wanted else [table[n * first // wanted] for n in range(wanted)]


def called_ok(item):
    """Whether status says that the step about the object holds, and it does not.  A task is looked at again whenever
    there are new ones, and what was refused may have been done by then."""
    steps = json.loads(run("rtisoctl", "status", "--json", check=False).stdout)["steps"]
    step = next((step for step in steps if step["object"] == item), {"state": None})
    if step["state"] == "ok" and re.fullmatch(r"task/\d+/\d+/affinity", item):
        return os.sched_getaffinity(int(item.split("/")[2])) != kernel.cpus(step["wanted"])
    return step["state"] == "ok"


def strike(moment, action, item, mode):
    """One switch with the fault in it: (it was met, exit status, what was said, the mode then)."""
    pid = daemon()
    forget()
    fault(moment, action, item)
    done = run("rtisoctl", "mode", mode, check=False)
    met = struck() if action == "kill" else item in kernel.read(WRITES, "").splitlines()
    forget()
    then = wait_recovered(pid) if action == "kill" and met else run("rtisoctl", "mode").stdout.strip()
    return met, done.returncode, done.stdout + done.stderr, then


def name(action):
    return errno.errorcode.get(action, action)


def honest(action, moment, item, code, said, then):
    """What of the answer to a switch with a fault in it is not true."""
    if action == "kill":
        return [f"exit 0 in mode {then}: {said}"] if code == 0 and then != "low-jitter" else []
    if then == "green":
        return [] if code == 6 and item in said else [f"exit {code}: {said}"]
    if code == 6:
        return [f"exit 6 in mode {then}"]
    # Let through for once: it holds if it was written, and if it does not, that is told.
    if moment == "before" or action == "revert":
        return [f"status says ok: {said}"] if called_ok(item) else []
    return []


@case
def in_the_switch():
    with faulty_daemon(), more_kinds():
        there, _ = objects_of("low-jitter")
        before, tried = snapshot(), 0
        table = points(there, THERE)
        yield "points", len(table), THERE
        for moment, action, item in share(table):
            what = f"{moment} {name(action)} {item}"
            met, code, said, then = strike(moment, action, item, "low-jitter")
            yield f"{what}: met", met, True
            yield f"{what}: all of it", whole(then, before) if action == "kill" or then == "green" else [], []
            yield f"{what}: what is said", honest(action, moment, item, code, said, then), []
            run("rtisoctl", "mode", "green", check=False)
            yield f"{what}: and back", diff(before, snapshot()), []
            tried += met
        yield "points met", tried, len(share(table))


@long_case
def on_the_way_back():
    with faulty_daemon(), more_kinds():
        _, back = objects_of("low-jitter")
        before, tried = snapshot(), 0
        table = points(back, BACK)
        yield "points", len(table), BACK
        for moment, action, item in share(table):
            what = f"{moment} {name(action)} {item}"
            run("rtisoctl", "mode", "low-jitter")
            met, code, said, then = strike(moment, action, item, "green")
            yield f"{what}: met", met, True
            told = item in said or action == "kill" if code else then == "green"
            yield f"{what}: what is not done is told", told or (code, then, said), True
            yield f"{what}: all of {then}", whole(then, before) if action == "kill" else [], []
            run("rtisoctl", "mode", "green", check=False)
            yield f"{what}: and back", diff(before, snapshot()), []
            tried += met
        yield "points met", tried, len(share(table))
