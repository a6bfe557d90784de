# SPDX-License-Identifier: LGPL-2.1-or-later
"""A big machine: frames of three frequencies on all its CPUs but the first few.
The host's two stand for all of them, so that most frames are late: none may be
lost for that, and nobody else on the machine may be starved."""

import json
import re

import kernel
from actors import program
from case import case, run

SECONDS = 10
FREQUENCIES = 960, 666, 300
KEPT = 4                                # CPUs that are nobody's


def measured(*options):
    return json.loads(run("rtisoctl", "measure", *options, "--json").stdout)


def cpu_time(pid):
    fields = kernel.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def complaints():
    """What the kernel says of tasks that do not get to run.  Of CPUs that did not get to run it may say what it likes:
    the host has two for all of them."""
    return re.findall(r".*(?:hung_task|blocked for more|RT throttling).*", run("dmesg").stdout)


@case
def three_groups_of_frames():
    cpus = sorted(kernel.online())[KEPT:]
    said = len(complaints())
    with program("sh", "-c", "while :; do :; done", cpus={cpus[0]}) as beside:
        before = cpu_time(beside)
        rows = measured("frame", "-a", kernel.cpulist(set(cpus)), "-D", str(SECONDS), "--load", "1")["rows"]
        used = cpu_time(beside) - before
    yield "a row for each CPU", [row["cpu"] for row in rows], cpus
    yield ("CPUs of each frequency", [sum(row["frequency"] == hz for row in rows) for hz in FREQUENCIES],
           lambda found: sum(found) == len(cpus) and max(found) - min(found) <= 1)
    yield ("frames that are not frequency times duration",
           [(row["cpu"], row["frames"], row["missed"]) for row in rows
            if row["frames"] + row["missed"] != row["frequency"] * SECONDS], [])
    yield "threads that did not get to the end", [row["cpu"] for row in rows if not row["complete"]], []
    yield "CPUs without a frame", [row["cpu"] for row in rows if not row["frames"]], []
    yield "another program on one of them went on", used, lambda ticks: ticks > 0
    yield "what the kernel complains of since", complaints()[said:], []


@case
def a_loop_on_each():
    cpus = sorted(kernel.online())[KEPT:]
    rows = measured("pert", "-a", kernel.cpulist(set(cpus)), "-D", "5")["rows"]
    yield "a row for each CPU", [row["cpu"] for row in rows], cpus
    yield "threads that did not get to the end", [row["cpu"] for row in rows if not row["complete"]], []
