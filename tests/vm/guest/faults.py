# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon that can be told where to fail (faulty.c), in the service's place."""

import contextlib
import os
import re

import kernel
from actors import daemon, drop_in, file, green, program
from case import full, rtisoctl, run, wait_for
from snapshot import diff, snapshot

FAULT, WRITES = "/run/rtisold/fault", "/run/rtisold/writes"
SETS = {1, 2, 3}
DROP_IN = "/run/systemd/system/rtisold.service.d/50-faulty.conf"
TEXT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=
ExecStart=/usr/lib/rtisold-vm/tools/rtisold-faulty
"""

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
def faulty_daemon():
    green()
    try:
        with file(DROP_IN, TEXT):
            restart()
            yield
            green()
    finally:
        forget()
        restart()


def restart():
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "rtisold.service")


def forget():
    for path in (FAULT, WRITES):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def fault(moment, action, item):
    """Fail at the first write to the object; its name may hold brackets."""
    pattern = re.sub(r"([][*?])", r"[\1]", item)
    kernel.write(FAULT, f"{moment} {action} {pattern}\n")


def struck():
    return not os.path.exists(FAULT)


def wait_recovered(killed_pid):
    """Until the next daemon is ready, which is after its recovery.  rtisoctl
    alone does not tell: it answers without a daemon too."""
    wait_for("a new daemon", lambda: daemon() not in (0, killed_pid), 60)
    wait_for("it is ready", lambda: run(
        "systemctl", "is-active", "rtisold.service", check=False).stdout.strip() == "active", 90)
    return rtisoctl("mode").strip()


def objects_of(name):
    """What a switch to the mode and back writes: two lists of objects."""
    lists = []
    for mode in (name, "green"):
        forget()
        rtisoctl("mode", mode)
        lists.append(list(dict.fromkeys(kernel.read(WRITES, "").splitlines())))
    return lists


def kind(item):
    """Objects of one kind, as all interrupts, are one kind of step."""
    return re.sub(r"\d+", "N", re.sub(r"^(task)/.*/", r"\1/", item))


def one_of_each(objects):
    return list({kind(item): item for item in reversed(objects)}.values())


@contextlib.contextmanager
def more_kinds():
    """In the long run."""
    if not full():
        yield
        return
    with drop_in("low-jitter", MORE), program("sleep", "100000", cpus={1, 3}):
        yield


def whole(mode, before):
    """What is not as it should be in the mode that the daemon claims."""
    if mode == "green":
        return diff(before, snapshot())
    status = run("rtisoctl", "status", check=False)
    return ([] if kernel.isolated() == SETS else [f"isolated: {kernel.isolated()}"]) + (
        [] if status.returncode == 0 else status.stdout.splitlines())
