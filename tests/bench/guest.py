#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest's side of the benchmark: does things with each rival and prints a
line of JSON for each figure, {"what": …, "who": …, "value": …}.

    guest.py switch|killed|status...
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
from rivals import RIVALS, prepare, running, shell      # noqa: E402

HZ = os.sysconf("SC_CLK_TCK")
RUNS = 3


def tell(what, who, value):
    print(json.dumps({"what": what, "who": who, "value": value}), flush=True)


# What is counted

def cpu_seconds(pid):
    """Of a process, all its threads and the children it has waited for."""
    if not pid:
        return 0
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


def tell_best(what, who, runs):
    """The host's other work only ever makes a run longer."""
    tell(f"{what}, s (best of {len(runs)})", who, round(min(s for s, _ in runs), 2))
    tell(f"{what}, CPU s (best of {len(runs)})", who, round(min(c for _, c in runs), 2))


def tell_left(what, who, before):
    left = diff(before, snapshot())
    tell(what, who, len(left))
    for line in left[:20]:
        print(f"# {who}: {line}", flush=True)


# The figures

def at_rest(who, rival):
    time.sleep(3)
    tell("memory, KiB PSS", who, pss(rival.pid()))
    woken = switches(rival.pid())
    time.sleep(30)
    tell("wake-ups at rest in 30 s", who, switches(rival.pid()) - woken)


def bench_switch():
    """The rivals take turns, so that what else the host does hits all alike."""
    there, back, asked = ({who: [] for who in RIVALS} for _ in range(3))
    for n in range(RUNS):
        for who in RIVALS:
            with running(who) as rival:
                time.sleep(2)
                before = snapshot() if n == 0 else None
                there[who].append(timed(rival, rival.switch))
                asked[who].append(timed(rival, lambda: shell(*rival.ask, check=False)))
                if n == 0 and rival.pid():
                    at_rest(who, rival)
                back[who].append(timed(rival, rival.green))
                time.sleep(1)
                if n == 0:
                    tell_left("different after the way back", who, before)
    for who in RIVALS:
        tell_best("switch", who, there[who])
        tell_best("way back", who, back[who])
        tell_best("the command alone, asking what is in force", who, asked[who])


def bench_partition():
    """The floor: what the kernel takes for the two partitions that a set is made of."""
    outer, inner = f"{kernel.CGROUP}/bare", f"{kernel.CGROUP}/bare/set"
    kernel.write(f"{kernel.CGROUP}/cgroup.subtree_control", "+cpuset")
    os.makedirs(inner)
    kernel.write(f"{outer}/cgroup.subtree_control", "+cpuset")
    kernel.write(f"{outer}/cpuset.cpus", "1-3")
    kernel.write(f"{inner}/cpuset.cpus", "1-3")
    there, back = [], []
    for _ in range(RUNS):
        begin = time.monotonic()
        kernel.write(f"{outer}/cpuset.cpus.partition", "root")
        kernel.write(f"{inner}/cpuset.cpus.partition", "isolated")
        middle = time.monotonic()
        kernel.write(f"{inner}/cpuset.cpus.partition", "member")
        kernel.write(f"{outer}/cpuset.cpus.partition", "member")
        there.append(middle - begin)
        back.append(time.monotonic() - middle)
    os.rmdir(inner)
    os.rmdir(outer)
    kernel.write(f"{kernel.CGROUP}/cgroup.subtree_control", "-cpuset")
    tell(f"switch, s (best of {RUNS})", "two partitions", round(min(there), 2))
    tell(f"way back, s (best of {RUNS})", "two partitions", round(min(back), 2))


def bench_killed():
    """Where half of the time that a switch takes is over."""
    for who in RIVALS:
        with running(who) as rival:
            time.sleep(2)
            seconds = timed(rival, rival.switch)[0]
            rival.green()
        with running(who) as rival:
            time.sleep(2)
            before = snapshot()
            client = subprocess.Popen(rival.there, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(seconds / 2)
            rival.kill(client)
            client.wait()
            rival.mend()
            tell_left("left after SIGKILL in the middle, a restart and the way back", who, before)


CROWD = """
import threading
threading.stack_size(65536)
for _ in range({n}):
    threading.Thread(target=threading.Event().wait).start()
print(flush=True)
"""


@contextlib.contextmanager
def crowd(processes=10, threads=1000):
    argv = ["systemd-run", "--quiet", "--scope", "--property=TasksMax=infinity",
            sys.executable, "-c", CROWD.format(n=threads)]
    kernel.write("/proc/sys/kernel/threads-max", "30000")
    children = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in range(processes)]
    try:
        for child in children:
            child.stdout.readline()
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def bench_status():
    """Against what people type today."""
    what = "listing {n} threads on {cpus} CPUs"
    with running("rtisold") as rival, crowd():
        rival.switch()
        what = what.format(n=len(list(kernel.tasks())), cpus=len(kernel.online()))
        for who, argv in (("ps", ["ps", "-eLo", "pid,tid,psr,cls,rtprio,comm"]), ("rtisold", ["rtisoctl", "status"])):
            runs = []
            for _ in range(RUNS):
                begin, used = time.monotonic(), children_seconds()
                shell(*argv, check=False)
                runs.append((time.monotonic() - begin, children_seconds() - used))
            tell_best(what, who, runs)
        rival.green()


def main(parts):
    prepare()
    for part in parts:
        globals()[f"bench_{part}"]()


if __name__ == "__main__":
    main(sys.argv[1:])
