# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine whose rtisold.conf names a mode (overlay/mode): it is entered before
what must not start without it."""

import os

import kernel
from actors import green
from case import case, rtisoctl, run

UNITS = "/etc/systemd/system"


def moment(unit, name):
    return int(run("systemctl", "show", "--value", f"--property={name}", unit).stdout)


@case
def before_the_work_starts():
    run("systemctl", "start", "multi-user.target")      # waits until all of it is there
    ready = moment("rtisold.service", "ActiveEnterTimestampMonotonic")
    yield "the mode", rtisoctl("mode").strip(), "dpdk"
    yield "isolated", kernel.isolated(), {1, 2, 3}
    yield "who switched", run("rtisoctl", "history").stdout, lambda text: "boot" in text
    for unit in ("work.service", "docker.service"):
        started = moment(unit, "ExecMainStartTimestampMonotonic")
        yield f"{unit} starts after the mode is entered", (ready, started), lambda pair: 0 < pair[0] < pair[1]
    yield "the partition that the work found", kernel.read("/run/work"), "isolated"
    yield "the CPUs that others found", kernel.read("/run/docker"), "0"
    yield "boot is through", run("systemctl", "list-jobs", "--no-legend").stdout, ""


@case
def and_nothing_of_it_is_left():
    run("systemctl", "stop", "work.service", "docker.service")
    green()
    for path in (f"{UNITS}/work.service", f"{UNITS}/docker.service", "/etc/rtisold/rtisold.conf",
                 f"{UNITS}/multi-user.target.wants/work.service", f"{UNITS}/multi-user.target.wants/docker.service"):
        os.unlink(path)
    run("systemctl", "daemon-reload")
    run("systemctl", "reload", "rtisold")
    yield "green", (rtisoctl("mode").strip(), kernel.isolated()), ("green", set())
