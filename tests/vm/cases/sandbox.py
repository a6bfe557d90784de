# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the daemon is locked in, and that it has no key that it does not need."""

import contextlib
import os
import re
import time

import kernel
from actors import daemon, drop_in, green, mode, profile, program, service, value
from case import case, long_case, rtisoctl, run, wait_for

OVERRIDE = "/run/systemd/system/rtisold.service.d/99-test.conf"
CAPS = {"CAP_DAC_OVERRIDE": 1, "CAP_NET_ADMIN": 12, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_SYS_NICE": 23}


def field(pid, name):
    return re.search(rf"^{name}:\s*(\S+)", kernel.read(f"/proc/{pid}/status"), re.M)[1]


def restart():
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "rtisold")
    wait_for("the daemon answers", lambda: run("rtisoctl", "mode", check=False).returncode == 0)


def restart_whole():
    """With all its capabilities."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(OVERRIDE)
        restart()


@contextlib.contextmanager
def without(capability):
    """The daemon, restarted without one of its capabilities."""
    os.makedirs(os.path.dirname(OVERRIDE), exist_ok=True)
    kernel.write(OVERRIDE, f"[Service]\nCapabilityBoundingSet=~{capability}\n")
    restart()
    try:
        yield
    finally:
        restart_whole()


@case
def the_unit():
    text = run("systemd-analyze", "security", "--no-pager", "rtisold.service").stdout
    score = float(re.search(r"Overall exposure level.*: ([0-9.]+)", text)[1])
    yield "systemd-analyze security", score, lambda n: n < 3.0
    pid = daemon()
    yield "seccomp filter", field(pid, "Seccomp"), "2"
    yield "no new privileges", field(pid, "NoNewPrivs"), "1"
    for name in ("CapEff", "CapPrm", "CapBnd"):
        yield name, int(field(pid, name), 16), sum(1 << n for n in CAPS.values())


@case
def a_user_who_is_not_root():
    """Nobody may look; only root may switch."""
    def nobody(*argv):
        return run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "rtisoctl", *argv, check=False)

    yield "status", nobody("status").returncode, lambda code: code in (0, 4, 5)
    yield "plan", nobody("plan", "low-jitter").returncode, 0
    done = nobody("mode", "low-jitter")
    yield "mode: exit status", done.returncode, 7
    yield "mode: says so", done.stderr, lambda text: "permit" in text or "may not" in text or "root" in text
    yield "nothing changed", kernel.isolated(), set()


def say(name):
    """All that anybody hears of a switch: what rtisoctl and the log say, and what status says afterwards."""
    pid = daemon()
    done = run("rtisoctl", "mode", name, check=False)
    return done.stdout + done.stderr + run("rtisoctl", "status", check=False).stdout + run(
        "journalctl", "-q", "-o", "cat", f"_PID={pid}").stdout


def give_a_policy():
    with profile("sandbox", "[profile]\ninclude = low-jitter\n"
                 "[kthread a]\nmatch = kauditd\npolicy = fifo\npriority = 2\n"):
        try:
            return say("sandbox")
        finally:
            green()


def isolate():
    """The kernel asks for more than the file's owner: for a partition (6.12), for NUMA balancing."""
    with value("/proc/sys/kernel/numa_balancing", "1"):
        try:
            return say("low-jitter")
        finally:
            green()


def adopt_a_users_task():
    """Its control group is its user's, and green puts it back there."""
    with drop_in("low-jitter", "[profile]\npinned = adopt\n"), \
            service("owned.service", "sleep", "100000", User="nobody", Delegate="yes", CPUAffinity="2"):
        rtisoctl("mode", "low-jitter")
        try:
            return say("green")
        finally:
            restart_whole()
            green()


def set_channels():
    """Channels of network cards, and the masks of their queues."""
    run("ip", "link", "add", "tele0", "numrxqueues", "4", "numtxqueues", "4", "type", "veth", "peer", "name", "tele1")
    try:
        with profile("sandbox", "[profile]\nrequire = net\n[cpuset rt]\ncpus = 1-3\npartition = none\n"
                     "[net pair]\nmatch = tele0\nrx = 1\n"):
            return say("sandbox")
    finally:
        green()
        run("ip", "link", "del", "tele0", check=False)


@contextlib.contextmanager
def hidden():
    """/proc shows processes to those alone who may trace them (proc(5), hidepid=)."""
    run("mount", "-o", "remount,hidepid=ptraceable", "/proc")
    try:
        yield
    finally:
        run("mount", "-o", "remount,hidepid=off", "/proc")


def find_a_hidden_task():
    """Who pins himself to a CPU of the set is in the way, whoever he is."""
    with program("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "100000", cpus={2}):
        time.sleep(1)
        with hidden():
            done = run("rtisoctl", "mode", "low-jitter", check=False)
            green()
            return done.stdout + done.stderr if "sleep" in done.stderr and done.returncode == 1 else "not found"


# What fails without it, and how that is told; a task that it cannot see nobody can tell of.
NEEDED = {
    "CAP_NET_ADMIN": (set_channels, r"tele0.*(EPERM|not permitted)"),
    "CAP_SYS_NICE": (give_a_policy, r"kauditd.*EPERM|EPERM.*kauditd|kauditd(.|\n)*EPERM"),
    "CAP_SYS_ADMIN": (isolate, r"not permitted|EPERM"),
    "CAP_DAC_OVERRIDE": (adopt_a_users_task, r"EACCES"),
    "CAP_SYS_PTRACE": (find_a_hidden_task, r"^not found$"),
}


@long_case
def each_capability_is_needed():
    yield "those of the unit", sorted(NEEDED), sorted(CAPS)
    for name, (provoke, said) in NEEDED.items():
        yield f"with {name}", provoke(), lambda text, said=said: not re.search(said, text)
        with without(name):
            yield f"without {name}", provoke(), lambda text, said=said: re.search(said, text)


@case
def whole_again():
    with mode("low-jitter"):
        yield "isolated", kernel.isolated(), {1, 2, 3}
    yield "green", kernel.isolated(), set()
