# SPDX-License-Identifier: LGPL-2.1-or-later
"""Switch after switch between all profiles, with CPUs that go and come in between: nothing grows, the log has nothing
but switches to tell, and green is as it was found."""

import collections
import contextlib
import glob
import json
import os
import random
import re
import time

import kernel
from actors import daemon, green, hotplug
from case import case, full, run, wait_for
from snapshot import diff, snapshot

PROFILES = ["green", "low-jitter", "dpdk", "kvm-host", "kvm-guest", "audio", "base"]
SWITCHES = 500 if full() else 8
CPUS = (1, 2, 3)
QUIET = 5                       # priorities of the log that nobody has to look at: notice and below


def folder_sizes(folder):
    """What is a copy of the kernel's counters grows with their digits."""
    return {path: "/begin/" not in path and os.path.getsize(path) for path in glob.glob(f"{folder}/**", recursive=True)
            if os.path.isfile(path) and not path.endswith("/state.json")}


def memory(pid):
    rollup = kernel.read(f"/proc/{pid}/smaps_rollup")
    return int(re.search(r"^Private_Dirty:\s+(\d+)", rollup, re.M)[1])


def sizes():
    """What has the same size whenever the machine is in green."""
    pid = daemon()
    return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task")),
            "control groups": len(glob.glob("/sys/fs/cgroup/**/", recursive=True)),
            "units of sets": run("systemctl", "list-units", "--all", "--plain", "--no-legend", "rtisol*.slice").stdout,
            "unit files": sorted(glob.glob("/run/systemd/*/rtisol*.slice*")),
            "files of the runtime folder": folder_sizes("/run/rtisold")}


def path_through(names, count):
    """Every pair of modes, one way and the other, as evenly as chance has it; the same each time."""
    order = random.Random(6)
    pairs = collections.Counter()
    at = "green"
    for _ in range(count):
        rarest = min(pairs[at, to] for to in names if to != at)
        to = order.choice([to for to in names if to != at and pairs[at, to] == rarest])
        pairs[at, to] += 1
        at = to
        yield to, order


def log(pid, since):
    """What the daemon said, by priority and without numbers, and how often."""
    said = collections.Counter()
    for line in run("journalctl", "-q", "-o", "json", f"_PID={pid}").stdout.splitlines():
        entry = json.loads(line)
        if int(entry["__MONOTONIC_TIMESTAMP"]) < since * 1e6:
            continue
        text = entry.get("MESSAGE") or ""
        text = re.sub(r"\d+", "N", text if isinstance(text, str) else bytes(text).decode(errors="replace"))
        said[int(entry.get("PRIORITY", 6)), text] += 1
    return said


def complaints():
    """Of the kernel."""
    return re.findall(r".*(?:WARNING:|BUG:|Oops|hung task).*", run("dmesg").stdout)


def switch_all(names, count, failed):
    """Switches with a CPU away in a third of them; where a CPU was when it came back is part of the noise."""
    for n, (name, order) in enumerate(path_through(names, count)):
        gone = order.choice(CPUS) if n % 3 == 1 else None
        if gone:
            hotplug(gone, False)
        done = run("rtisoctl", "mode", name, check=False)
        if gone and order.random() < 0.5:
            hotplug(gone, True)
            gone = None
        mode = run("rtisoctl", "mode").stdout.strip()
        if done.returncode != 0 or mode != name:
            failed.append(f"{n}: to {name}, {mode}: exit {done.returncode}: {done.stdout}{done.stderr}")
        if gone:
            hotplug(gone, True)
        if n % 50 == 49:
            pid = daemon()
            print(f"# {n + 1} switches: {memory(pid)} KiB private, {len(os.listdir(f'/proc/{pid}/fd'))} descriptors, "
                  f"{len(glob.glob('/sys/fs/cgroup/**/', recursive=True))} groups, {len(failed)} failed", flush=True)


def settled(before):
    with contextlib.suppress(AssertionError):
        wait_for("nothing differs", lambda: not diff(before, snapshot()), 15)
    return diff(before, snapshot())


@case
def between_all_profiles():
    green()
    for cpu in CPUS:                    # the kernel forgets where some interrupts belonged when a CPU goes first
        hotplug(cpu, False)
        hotplug(cpu, True)
    failed, begin, complained = [], time.monotonic(), len(complaints())
    before = snapshot()
    switch_all(PROFILES, len(PROFILES) if full() else 3, failed)
    green()
    settled(before)
    pid, first, used = daemon(), sizes(), memory(daemon())
    switch_all(PROFILES, SWITCHES, failed)
    green()
    print(f"# private memory {used} KiB, then {memory(daemon())} KiB", flush=True)
    yield f"{SWITCHES} switches: not done", failed, []
    yield "what differs", settled(before), []
    yield "the same daemon", daemon(), pid
    last = sizes()
    for what in first:
        yield what, last[what], first[what]
    yield "growth of its private memory, KiB", memory(pid) - used, lambda n: n < 128
    said = log(pid, begin)
    for (priority, text), count in sorted(said.items()):
        print(f"# log {priority} {count:5} {text[:150]}")
    yield "what the log warns of", [text for (priority, text) in said if priority < QUIET], []
    yield "what the kernel warns of", complaints()[complained:], []
