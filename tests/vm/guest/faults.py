# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon that can be told where to fail (faulty.c), in the service's place."""

import contextlib
import os
import re

import kernel
from actors import daemon, file, green
from case import rtisoctl, run, wait_for

FAULT, WRITES = "/run/rtisold/fault", "/run/rtisold/writes"
DROP_IN = "/run/systemd/system/rtisold.service.d/50-faulty.conf"
TEXT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=
ExecStart=/usr/lib/rtisold-vm/tools/rtisold-faulty
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
