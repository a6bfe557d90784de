# SPDX-License-Identifier: LGPL-2.1-or-later
"""The record of what a mode changed, removed or damaged: what can be known is not lost, the rest is said."""

import json
import os
import shutil
import signal

import kernel
from actors import daemon
from case import case, rtisoctl, run, wait_for
from faults import wait_recovered
from snapshot import diff, snapshot

RUNTIME = "/run/rtisold"
FOLDER, STATE = f"{RUNTIME}/journal", f"{RUNTIME}/state.json"
JOURNAL = f"{FOLDER}/journal"
SETS = {1, 2, 3}


def remove(path):
    """All at once: a daemon that runs puts back what is below while this goes on."""
    pid = daemon()
    if pid:
        os.kill(pid, signal.SIGSTOP)
    shutil.rmtree(path)
    if pid:
        os.kill(pid, signal.SIGCONT)


def status():
    """Its exit code, and the codes of what it found wrong."""
    done = run("rtisoctl", "status", "--json", check=False)
    return done.returncode, [item["code"] for item in json.loads(done.stdout)["findings"]]


def service(verb):
    run("systemctl", verb, "rtisold.service")


@case
def removed_while_the_daemon_runs():
    for path in (FOLDER, RUNTIME):
        before = snapshot()
        rtisoctl("mode", "low-jitter")
        there = os.stat(path).st_ino
        remove(path)
        for back in (JOURNAL, STATE, f"{RUNTIME}/private"):
            wait_for(f"{back} is there again", lambda back=back: os.path.exists(back))
        yield f"{path}: it is another one", os.stat(path).st_ino != there, True
        yield f"{path}: status", status()[0], 0
        pid = daemon()
        os.kill(pid, signal.SIGKILL)
        yield f"{path}: the mode after SIGKILL", wait_recovered(pid), "low-jitter"
        rtisoctl("mode", "green")
        yield f"{path}: what differs", diff(before, snapshot()), []


def damage():
    kernel.write(JOURNAL, "{ this is no journal\n")


@case
def made_up_for_from_the_state_file():
    for what, act in (("removed", lambda: remove(FOLDER)), ("damaged", damage)):
        before = snapshot()
        rtisoctl("mode", "low-jitter")
        service("stop")
        act()
        service("start")
        yield f"{what}: the mode", rtisoctl("mode").strip(), "low-jitter"
        yield f"{what}: status", status()[0], 0
        rtisoctl("mode", "green")
        yield f"{what}: what differs", diff(before, snapshot()), []


@case
def all_of_it_is_lost():
    """Green takes apart what it finds, when told to.  With a copy of the record put back it does the rest, too."""
    before = snapshot()
    rtisoctl("mode", "low-jitter")
    service("stop")
    copy = kernel.read(STATE)
    remove(FOLDER)
    os.unlink(STATE)
    service("start")
    code, findings = status()
    yield "exit status", code, 8
    yield "status names the finding", findings, lambda codes: "partition-unrecorded" in codes
    for mode in ("green", "dpdk"):
        yield f"{mode} is refused", rtisoctl("mode", mode, status=1), lambda said: "--force" in said
    yield "still isolated", kernel.isolated(), SETS
    rtisoctl("mode", "green", "--force")
    yield "isolated after --force", kernel.isolated(), set()
    yield "the slices", os.path.exists(f"{kernel.CGROUP}/rtisol.slice"), False
    yield "status has nothing more to say of it", status()[1], lambda codes: "partition-unrecorded" not in codes
    service("stop")
    remove(FOLDER)
    kernel.write(STATE, copy)
    service("start")
    rtisoctl("mode", "green")
    yield "what differs in the end", diff(before, snapshot()), []
