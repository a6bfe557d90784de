# SPDX-License-Identifier: LGPL-2.1-or-later
"""Modes that last as long as a command: rtisoctl run."""

import contextlib
import itertools
import os
import signal
import subprocess

import kernel
from actors import daemon, green, profile
from case import case, full, rtisoctl, run, wait_for
from faults import wait_recovered
from snapshot import diff, snapshot

# `wide` has all that `narrow` asks for; `other` goes with neither.
PROFILES = {"narrow": "[cpuset rt]\ncpus = 3\n",
            "wide": "[cpuset rt]\ncpus = 2-3\n",
            "other": "[cpuset rt]\ncpus = 2-3\npartition = root\n"}
ISOLATED = {"narrow": {3}, "wide": {2, 3}, "green": set()}


@contextlib.contextmanager
def profiles():
    with contextlib.ExitStack() as stack:
        for name, text in PROFILES.items():
            stack.enter_context(profile(name, text))
        try:
            yield
        finally:
            green()


class Lease:
    """A caller of rtisoctl run and its command, which are in place."""

    def __init__(self, mode, *command):
        self.mode = mode
        self.caller = subprocess.Popen(["rtisoctl", "run", "--mode", mode, "--", *(command or ("sleep", "100000"))],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(f"a command runs in {mode}", self.command, 60)

    def command(self):
        for task in kernel.user_tasks():
            if f"rtisoctl-run-" in task.cgroup and parent(task.pid) == self.caller.pid:
                return task.pid
        return None

    def end(self, how):
        """`command`: it ends by itself; `caller`: rtisoctl is killed."""
        pid = self.command()
        os.kill(pid if how == "command" else self.caller.pid, signal.SIGKILL)
        self.caller.wait()
        return pid


def parent(pid):
    return int(kernel.read(f"/proc/{pid}/stat", "0 (x) S 0").rsplit(")", 1)[1].split()[1])


def kill_daemon():
    pid = daemon()
    os.kill(pid, signal.SIGKILL)
    wait_recovered(pid)


def settled(mode):
    """The mode and what the kernel says of it, once it is there."""
    with contextlib.suppress(AssertionError):
        wait_for(mode, lambda: (rtisoctl("mode").strip(), kernel.isolated()) == (mode, ISOLATED[mode]), 30)
    return rtisoctl("mode").strip(), kernel.isolated()


def is_in(mode):
    return mode, ISOLATED[mode]


@case
def a_command():
    with profiles():
        before = snapshot()
        script = "cat /proc/self/cgroup; grep Cpus_allowed_list /proc/self/status; exit 42"
        done = run("rtisoctl", "run", "--mode", "narrow", "--", "sh", "-c", script, check=False)
        yield "its exit code", done.returncode, 42
        yield "its group", "/rtisol.slice/rtisol-rt.slice/rtisoctl-run-" in done.stdout, True
        yield "its CPUs", done.stdout.split()[-1], "3"
        yield "green again", settled("green"), is_in("green")
        yield "what differs", diff(before, snapshot()), []


@case
def its_own_failures():
    with profiles():
        for wanted, argv in ((127, ("--mode", "narrow", "--", "/nowhere")), (126, ("--mode", "narrow", "--", "/etc")),
                             (125, ("--mode", "nosuch", "--", "true")), (125, ("--", "true")),
                             (125, ("--mode", "narrow", "--set", "x", "--", "true")), (2, ("--mode", "narrow", "--",
                                                                                         "sh", "-c", "exit 2"))):
            yield " ".join(argv), run("rtisoctl", "run", *argv, check=False).returncode, wanted
        yield "green again", settled("green"), is_in("green")
        rtisoctl("mode", "narrow")
        yield "in the mode in force", run("rtisoctl", "run", "--", "sh", "-c", "exit 3", check=False).returncode, 3
        yield "which stays", settled("narrow"), is_in("narrow")


@case
def signals():
    with profiles():
        trap = "trap 'exit 33' TERM; trap 'exit 34' USR1; while :; do sleep 0.1; done"
        for number, wanted in ((signal.SIGTERM, 33), (signal.SIGUSR1, 34), (signal.SIGINT, 128 + signal.SIGINT)):
            lease = Lease("narrow", *(("sleep", "100000") if number == signal.SIGINT else ("sh", "-c", trap)))
            if number != signal.SIGINT:
                wait_for("the trap is set", lambda: traps(lease.command(), number))
            lease.caller.send_signal(number)
            yield f"{number.name} is passed on", lease.caller.wait(30), wanted


def traps(pid, number):
    caught = [line.split()[1] for line in kernel.read(f"/proc/{pid}/status", "").splitlines() if "SigCgt" in line]
    return caught and int(caught[0], 16) >> (number - 1) & 1


@case
def killed():
    """The caller, the daemon, both: in every order."""
    with profiles():
        before = snapshot()
        for order in (("caller",), ("daemon",), ("caller", "daemon"), ("daemon", "caller")):
            lease = Lease("narrow")
            for who in order:
                if who == "daemon":
                    kill_daemon()
                    if "caller" not in order[:order.index(who)]:
                        yield f"{order}: the lease holds", settled("narrow"), is_in("narrow")
                else:
                    lease.end("caller")
            if "caller" not in order:
                lease.end("command")
            yield f"{order}: green again", settled("green"), is_in("green")
            yield f"{order}: no lease is left", leases(), []
        yield "what differs", diff(before, snapshot()), []


def leases():
    return sorted(name for name in os.listdir("/run/rtisold/leases") if name != "base")


@case
def three_at_once():
    """The strictest of those that are left is in force, whoever ends first and how."""
    with profiles():
        before = snapshot()
        orders = list(itertools.permutations(range(3)))
        for number, order in enumerate(orders if full() else orders[1:4:2]):
            held = [Lease(mode) for mode in ("narrow", "wide", "narrow")]
            yield f"{order}: the strictest", settled("wide"), is_in("wide")
            for step, place in enumerate(order):
                if (number + step) % 3 == 2:
                    kill_daemon()
                held[place].end("caller" if (number + step) % 2 else "command")
                left = [held[i].mode for i in order[step + 1:]]
                mode = "wide" if "wide" in left else "narrow" if left else "green"
                yield f"{order}: {step + 1} ended", settled(mode), is_in(mode)
        yield "what differs", diff(before, snapshot()), []


@case
def modes_that_do_not_go_together():
    with profiles():
        lease = Lease("wide")
        done = run("rtisoctl", "run", "--mode", "other", "--", "true", check=False)
        yield "the second is refused", done.returncode, 125
        yield "for this", "does not satisfy other: set rt: partition is isolated, not root" in done.stderr and done.stderr, done.stderr
        yield "and the first goes on", settled("wide"), is_in("wide")
        rtisoctl("mode", "green", status=1)
        lease.end("command")
        yield "green again", settled("green"), is_in("green")
