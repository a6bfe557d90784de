#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest's side of the benchmark: does things with each rival and prints a
line of JSON for each figure, {"what": …, "who": …, "value": …}.

    guest.py
"""

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import time

sys.path[:0] = ["/usr/lib/rtisold-vm/guest"]
import kernel                           # noqa: E402
from snapshot import diff, snapshot     # noqa: E402

CPUS = "1-3"
PROFILE = "low-jitter"
HZ = os.sysconf("SC_CLK_TCK")


def tell(what, who, value):
    print(json.dumps({"what": what, "who": who, "value": value}), flush=True)


def shell(*argv, check=True, **kw):
    return subprocess.run(argv, check=check, capture_output=True, text=True, **kw)


def main_pid(unit):
    return int(shell("systemctl", "show", "--property=MainPID", "--value", unit).stdout)


class Service:
    """A rival that is a daemon."""

    def __init__(self, unit, there, back):
        self.unit, self.there, self.back = unit, there, back

    def start(self):
        """Up, and nothing switched: tuned takes a profile by itself."""
        shell("systemctl", "start", self.unit)
        shell(*self.back)

    def stop(self):
        shell("systemctl", "stop", self.unit)

    def pid(self):
        return main_pid(self.unit)

    def switch(self):
        shell(*self.there)

    def green(self):
        shell(*self.back)


RIVALS = {
    "rtisold": Service("rtisold", ["rtisoctl", "mode", PROFILE], ["rtisoctl", "mode", "green"]),
    "tuned": Service("tuned", ["tuned-adm", "profile", "cpu-partitioning"], ["tuned-adm", "off"]),
}


# What is counted

def cpu_seconds(pid):
    """Of a process, all its threads and the children it has waited for."""
    fields = kernel.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int(n) for n in fields[11:15]) / HZ


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pss(pid):
    return int(re.search(r"^Pss:\s+(\d+)", kernel.read(f"/proc/{pid}/smaps_rollup"), re.M)[1])


def switches(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        text = kernel.read(f"/proc/{pid}/task/{tid}/status")
        total += sum(int(n) for n in re.findall(r"voluntary_ctxt_switches:\s+(\d+)", text))
    return total


def timed(rival, function):
    """Wall time, and CPU time of the daemon, of systemd and of what was run."""
    pid = rival.pid()
    used = cpu_seconds(pid) + cpu_seconds(1) + children_seconds()
    begin = time.monotonic()
    function()
    seconds = time.monotonic() - begin
    return seconds, cpu_seconds(pid) + cpu_seconds(1) + children_seconds() - used


@contextlib.contextmanager
def running(who):
    rival = RIVALS[who]
    rival.start()
    try:
        yield rival
    finally:
        rival.stop()


# The figures

def bench_switch():
    for who in RIVALS:
        with running(who) as rival:
            time.sleep(3)
            before = snapshot()
            there = [timed(rival, rival.switch)]
            time.sleep(3)
            tell("memory, KiB PSS", who, pss(rival.pid()))
            woken = switches(rival.pid())
            time.sleep(30)
            tell("wake-ups at rest in 30 s", who, switches(rival.pid()) - woken)
            back = [timed(rival, rival.green)]
            time.sleep(2)
            left = diff(before, snapshot())
            tell("different after the way back", who, len(left))
            for line in left[:20]:
                print(f"# {who}: {line}", flush=True)
            for _ in range(2):
                there.append(timed(rival, rival.switch))
                back.append(timed(rival, rival.green))
            for what, runs in ("switch", there), ("way back", back):
                tell(f"{what}, s (best of 3)", who, round(min(s for s, _ in runs), 2))
                tell(f"{what}, CPU s (best of 3)", who, round(min(c for _, c in runs), 2))


def main():
    with open("/etc/tuned/cpu-partitioning-variables.conf", "w") as f:
        f.write(f"isolated_cores={CPUS}\n")
    for unit in "rtisold", "tuned":
        shell("systemctl", "stop", unit, check=False)
    bench_switch()


if __name__ == "__main__":
    main()
