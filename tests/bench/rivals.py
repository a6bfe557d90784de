# SPDX-License-Identifier: LGPL-2.1-or-later
"""What people isolate CPUs with, in a guest: each of these switches there and
back, and can be ended in the middle."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import kernel

CPUS = "1-3"
PROFILE = "low-jitter"
SLICE = f"{kernel.CGROUP}/rtisol.slice"


def shell(*argv, check=True, **kw):
    return subprocess.run(argv, check=check, capture_output=True, text=True, **kw)


class Service:
    """A daemon, and the commands that tell it what to do."""

    def __init__(self, unit, there, back, ask):
        self.unit, self.there, self.back, self.ask = unit, there, back, ask

    def start(self):
        """Up, and nothing switched: tuned takes a profile by itself."""
        shell("systemctl", "start", self.unit)
        shell(*self.back)

    def stop(self):
        shell("systemctl", "stop", self.unit, check=False)

    def pid(self):
        return int(shell("systemctl", "show", "--property=MainPID", "--value", self.unit).stdout)

    def switch(self):
        shell(*self.there)

    def green(self):
        shell(*self.back)

    def kill(self, client):
        """The daemon, and who waits for it."""
        os.kill(self.pid(), signal.SIGKILL)
        client.kill()

    def mend(self):
        """What an administrator does then."""
        time.sleep(1)
        shell("systemctl", "reset-failed", self.unit, check=False)
        shell("systemctl", "restart", self.unit, check=False)
        time.sleep(3)
        shell(*self.back, check=False)


class Script:
    """The same writes by hand: a shell script made of rtisold's own plan.  The
    groups are made in the file system, without systemd, and irqbalance's socket
    has no words in a shell's language."""

    there, back, ask = ["sh", "/run/bench-there.sh"], ["sh", "/run/bench-back.sh"], ["sh", "-c", ":"]

    def start(self):
        shell("systemctl", "start", "rtisold")
        plan = json.loads(shell("rtisoctl", "plan", PROFILE, "--json").stdout)
        shell("systemctl", "stop", "rtisold")
        forward, reverse = script_lines(plan["steps"])
        for argv, lines in (self.there, forward), (self.back, reverse):
            kernel.write(argv[1], "\n".join([*lines, "exit 0"]) + "\n")

    def stop(self):
        pass

    def pid(self):
        return 0

    def switch(self):
        shell(*self.there)

    def green(self):
        shell(*self.back)

    def kill(self, client):
        client.kill()

    def mend(self):
        self.green()


def script_lines(steps):
    """Two lists: the way there, and the way back, last step first."""
    forward, reverse = [], []
    for step in steps:
        if step["write"] and step["now"] != step["wanted"]:
            there, back = step_lines(step["object"], step["now"] or "", step["wanted"])
            forward += there
            reverse[:0] = back
    return forward, reverse


def step_lines(thing, now, wanted):
    if thing.startswith("/"):
        path = thing.partition("#")[0]
        before = "member" if path.endswith("cpuset.cpus.partition") else now
        return [f"echo '{wanted}' >{path}"], [f"echo '{before}' >{path}"]
    if thing.startswith("task/") and thing.endswith("/affinity"):
        tid = thing.split("/")[1]
        return [f"taskset -pc {wanted} {tid} >/dev/null"], [f"taskset -pc {now} {tid} >/dev/null"]
    if thing.startswith("unit/"):
        unit = thing.split("/")[1]
        folder = SLICE if unit == "rtisol.slice" else f"{SLICE}/{unit}"
        above = os.path.dirname(folder)
        cpus = re.match(r"cpus=(\S*)", wanted)[1]
        back = [f"rmdir {folder}"] + (["echo -cpuset >" + f"{above}/cgroup.subtree_control"] if folder == SLICE else [])
        return [f"echo +cpuset >{above}/cgroup.subtree_control", f"mkdir {folder}",
                f"echo {cpus} >{folder}/cpuset.cpus"], back
    return [], []


RIVALS = {
    "rtisold": Service("rtisold", ["rtisoctl", "mode", PROFILE], ["rtisoctl", "mode", "green"],
                       ["rtisoctl", "mode"]),
    "tuned": Service("tuned", ["tuned-adm", "profile", "cpu-partitioning"], ["tuned-adm", "off"],
                     ["tuned-adm", "active"]),
    "script": Script(),
}


def prepare():
    """Nobody runs, and tuned knows which CPUs are meant."""
    kernel.write("/etc/tuned/cpu-partitioning-variables.conf", f"isolated_cores={CPUS}\n")
    for unit in "rtisold", "tuned":
        shell("systemctl", "stop", unit, check=False)


@contextlib.contextmanager
def running(who):
    rival = RIVALS[who]
    rival.start()
    try:
        yield rival
    finally:
        rival.stop()
