#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest's side of the noise tests: one loop on an isolated CPU after the
other, beside the same load.  The emulator counts; see plugin.c.

    guest.py SLOT:STATE...

Prints `seconds SLOT S ticks N` for each, and where dpdk is among them what rtisoctl
advises for the kernel command line: `args ARGS`."""

import contextlib
import os
import subprocess
import sys
import time

sys.path[:0] = ["/usr/lib/rtisold-vm/guest"]

import kernel                           # noqa: E402
import rivals                           # noqa: E402

TOOLS = os.path.dirname(os.path.abspath(__file__))
CPU = 3
ROUNDS = "60"                           # millions, of 32 instructions
LOAD = ["stress-ng", "--quiet", "--timer", "1", "--sock", "1", "--fork", "1", "--pipe", "1", "--timeout", "900"]


def entered(group):
    """A command's front that puts it into a control group."""
    return ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]


@contextlib.contextmanager
def nothing():
    yield []


@contextlib.contextmanager
def mode(name):
    rivals.shell("rtisoctl", "mode", name)
    try:
        yield ["systemd-run", "--quiet", "--wait", "--pipe", "--slice=rtisol-rt.slice"]
    finally:
        rivals.shell("rtisoctl", "mode", "green", "--force")


@contextlib.contextmanager
def partition():
    """What anybody can do by hand: an isolated cpuset partition, nothing else."""
    group = f"{kernel.CGROUP}/bare"
    kernel.write(f"{kernel.CGROUP}/cgroup.subtree_control", "+cpuset")
    os.mkdir(group)
    kernel.write(f"{group}/cpuset.cpus", rivals.CPUS)
    kernel.write(f"{group}/cpuset.cpus.partition", "isolated")
    try:
        if kernel.partition("bare") != "isolated":
            raise RuntimeError(f"the partition is {kernel.partition('bare')}")
        yield entered(group)
    finally:
        kernel.write(f"{group}/cpuset.cpus.partition", "member")
        os.rmdir(group)
        kernel.write(f"{kernel.CGROUP}/cgroup.subtree_control", "-cpuset")


@contextlib.contextmanager
def tuned():
    with rivals.running("tuned") as rival:
        rival.switch()
        try:
            yield []
        finally:
            rival.green()


@contextlib.contextmanager
def script():
    with rivals.running("script") as rival:
        rival.switch()
        group = f"{rivals.SLICE}/rtisol-rt.slice/bench"
        os.mkdir(group)
        try:
            yield entered(group)
        finally:
            os.rmdir(group)
            rival.green()


STATES = {
    "green": nothing,
    "boot": nothing,
    "partition": partition,
    "low-jitter": lambda: mode("low-jitter"),
    "dpdk": lambda: mode("dpdk"),
    "tuned": tuned,
    "script": script,
}


def measure(slot, state):
    with STATES[state]() as prefix:
        load = subprocess.Popen(LOAD)
        try:
            time.sleep(3)
            ticks = kernel.ticks(CPU)
            out = rivals.shell(*prefix, f"{TOOLS}/noise-loop", str(slot), str(CPU), ROUNDS).stdout
            print(f"seconds {slot} {out.split()[0]} ticks {kernel.ticks(CPU) - ticks}", flush=True)
        finally:
            load.terminate()
            load.wait()


def main(words):
    if os.path.isdir("/etc/tuned"):
        rivals.prepare()
    rivals.shell("systemctl", "start", "rtisold.service")
    for word in words:
        slot, state = word.split(":")
        measure(int(slot), state)
    if any(word.endswith(":dpdk") for word in words):
        print(f"args {rivals.shell('rtisoctl', 'kernel-args', 'dpdk').stdout.strip()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
