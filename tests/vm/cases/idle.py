# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon at rest: its size, and that it never wakes up."""

import os
import re
import time

import kernel
from actors import daemon, mode
from case import case, full, run


def switches(pid):
    """How often any of its threads has run and stopped."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        text = kernel.read(f"/proc/{pid}/task/{tid}/status")
        total += sum(int(n) for n in re.findall(r"voluntary_ctxt_switches:\s+(\d+)", text))
    return total


def kib(pid, *fields):
    text = kernel.read(f"/proc/{pid}/smaps_rollup")
    return sum(int(re.search(rf"^{field}:\s+(\d+)", text, re.M)[1]) for field in fields)


def forks():
    """How many tasks were ever started, the kernel's own workers included."""
    return int(re.search(r"^processes (\d+)", kernel.read("/proc/stat"), re.M)[1])


def rest(pid, tries=4):
    """Wake-ups in a quiet minute.  A new task is an event that the daemon has to look at, and so is what the kernel
    tells of a device: a minute with one does not count, as long as there is another without."""
    for _ in range(tries):
        time.sleep(3)
        before, started = switches(pid), forks()
        time.sleep(60)
        woken = switches(pid) - before
        if forks() == started and woken == 0:
            return 0
    return f"{woken}, but no minute was quiet"


@case
def in_green():
    yield "wake-ups in 60 s", rest(daemon()), 0


@case
def in_a_mode():
    with mode("low-jitter"):
        pid = daemon()
        yield "wake-ups in 60 s", rest(pid), 0
        private, resident = kib(pid, "Private_Clean", "Private_Dirty"), kib(pid, "Rss")
        print(f"# private {private} KiB, resident {resident} KiB")
        yield "private memory, KiB", private, lambda n: n < 2048
        yield "resident, KiB", resident, lambda n: n < 10240


@case
def after_many_switches():
    """What a switch takes is given back whole: nothing is kept, and nothing lies about in pieces."""
    run("systemctl", "restart", "rtisold")
    pid, sizes = daemon(), []
    for _ in range(50 if full() else 6):
        with mode("low-jitter"):
            sizes.append(kib(pid, "Private_Dirty"))
    yield "one daemon", daemon(), pid
    yield "growth from the second on, KiB", sizes[-1] - sizes[1], lambda n: n < 64
