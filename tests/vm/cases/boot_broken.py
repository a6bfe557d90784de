# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine whose rtisold.conf names a profile with an error (overlay/broken):
it comes up green, and says why."""

import os

import kernel
from case import case, rtisoctl, run

UNITS = "/etc/systemd/system"


def state(unit):
    return run("systemctl", "is-active", unit, check=False).stdout.strip()


@case
def it_is_up_and_green():
    run("systemctl", "start", "multi-user.target")
    yield "rtisold", state("rtisold.service"), "active"
    yield "the machine", state("multi-user.target"), "active"
    yield "the mode", rtisoctl("mode").strip(), "green"
    yield "isolated", kernel.isolated(), set()
    yield "status", run("rtisoctl", "status", check=False).returncode, 0
    said = run("journalctl", "-q", "-o", "cat", "-u", "rtisold.service").stdout
    for what in ("broken.ini:4", "sysctrl", "sysctl", "could not be entered", "stays green"):
        yield f"the journal says: {what}", said, lambda text, what=what: what in text
    yield "what must not start unisolated", (state("work.service"), os.path.exists("/run/work")), \
        lambda pair: pair[0] != "active" and not pair[1]


@case
def and_nothing_of_it_is_left():
    run("systemctl", "reset-failed", check=False)
    for path in (f"{UNITS}/work.service", f"{UNITS}/multi-user.target.wants/work.service",
                 "/etc/rtisold/rtisold.conf", "/etc/rtisold/profiles/broken.ini"):
        os.unlink(path)
    run("systemctl", "daemon-reload")
    run("systemctl", "reload", "rtisold")
    rtisoctl("mode", "low-jitter")
    yield "then it switches", kernel.isolated(), {1, 2, 3}
    rtisoctl("mode", "green")
