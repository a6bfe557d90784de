# SPDX-License-Identifier: LGPL-2.1-or-later
"""Channels, masks and interrupts of network devices: what ethtool and the
kernel's own files say of them."""

import contextlib
import glob
import json
import re

import kernel
from actors import green, mode, profile
from case import case, rtisoctl, run, wait_for
from provoke import without_daemon
from snapshot import diff, snapshot

# Nothing but the devices is touched, so that a switch is quick.
REST = """
[cpuset rt]
cpus = 1-3
partition = none
[keep_off_sets]
kthreads = no
workqueues = no
irqs = no
watchdog = no
rcu = no
"""
NET = "/sys/class/net"
FEW = "[net pair]\nmatch = tele*\nrx = 1\ntx = auto\nrps = housekeeping\n"


def rules(text, require="net"):
    return profile("net", f"[profile]\nrequire = {require}\n{REST}{text}")


@contextlib.contextmanager
def pair(name):
    """A device of four queues each way, whose channels can be set."""
    run("ip", "link", "add", name, "numrxqueues", "4", "numtxqueues", "4", "type", "veth",
        "peer", "name", f"{name}p", "numrxqueues", "4", "numtxqueues", "4")
    try:
        yield
    finally:
        run("ip", "link", "del", f"{name}p", check=False)


def channels(name):
    """How many of each kind ethtool says there are now: receive, transmit."""
    now = run("ethtool", "-l", name).stdout.split("Current hardware settings:")[1]
    found = (re.search(rf"^{kind}:\s*(\d+)", now, re.M) for kind in ("RX", "TX"))
    return tuple(int(kind[1]) if kind else 0 for kind in found)


def masks(name):
    """What the masks of the queues that are there read, as they are written."""
    files = glob.glob(f"{NET}/{name}/queues/*/[rx]ps_cpus")
    return {file.split("/queues/")[1]: kernel.read(file) for file in files}


def mask_of(name, file):
    return kernel.mask(kernel.read(f"{NET}/{name}/queues/{file}"))


def write_mask(name, file, text):
    kernel.write(f"{NET}/{name}/queues/{file}", text)


def drifted():
    done = run("rtisoctl", "status", "--json", check=False)
    return done.returncode, {step["id"] for step in json.loads(done.stdout)["steps"] if step["state"] == "drifted"}


def mask_drifts(name, file):
    """Whether status, and it alone, has to do with a mask that a rival changes now."""
    write_mask(name, file, "f")
    return drifted() == (3, {f"net/{name}/{file}"})


@case
def there_and_back():
    with pair("tele0"), rules(FEW):
        for file, text in (("rx-0/rps_cpus", "c"), ("rx-3/rps_cpus", "8"), ("tx-0/xps_cpus", "3"),
                           ("tx-2/xps_cpus", "4")):
            write_mask("tele0", file, text)
        before, found, counts = snapshot(), masks("tele0"), channels("tele0")
        with mode("net"):
            yield "channels", channels("tele0"), (1, 1)
            yield "queues", sorted(masks("tele0")), ["rx-0/rps_cpus", "tx-0/xps_cpus"]
            yield "packets go to housekeeping CPUs", mask_of("tele0", "rx-0/rps_cpus"), {0}
            yield "a mask that nobody asked for", mask_of("tele0", "tx-0/xps_cpus"), {0, 1}
            yield "nothing has drifted", drifted(), (0, set())
            out = rtisoctl("mode", "net", "--dry-run")
            yield "nothing is left to do", "tele0/rx-0" not in out and "tele0/channels" not in out, True
        yield "channels in green", channels("tele0"), counts
        yield "four each way", counts, (4, 4)
        yield "masks in green", masks("tele0"), found
        yield "all else", diff(before, snapshot()), []


@case
def what_a_rival_changes():
    with pair("tele0"), rules(FEW), mode("net"):
        # The kernel tells the daemon of its own change, and then it treats the device once more.
        wait_for("a mask that stays", lambda: mask_drifts("tele0", "rx-0/rps_cpus"), 60)
        rtisoctl("mode", "net")
        yield "mended", mask_of("tele0", "rx-0/rps_cpus"), {0}
        with without_daemon():                  # which would treat the device again
            run("ethtool", "-L", "tele0", "rx", "3")
            code, steps = drifted()
            yield "the count", (code, "net/tele0/channels" in steps), (3, True)
        rtisoctl("mode", "net")
        yield "the count is mended", channels("tele0"), (1, 1)
        yield "nothing has drifted", drifted(), (0, set())
        green()
        yield "in green", channels("tele0"), (4, 4)
        yield "masks in green", [file for file, text in masks("tele0").items() if kernel.mask(text)], []


@case
def a_device_comes_later():
    with rules(FEW), mode("net"):
        with pair("tele1"), pair("other0"):
            wait_for("it is treated", lambda: channels("tele1") == (1, 1))
            wait_for("its queue, too", lambda: mask_of("tele1", "rx-0/rps_cpus") == {0})
            yield "one that no rule is about", channels("other0"), (4, 4)
            run("ip", "link", "set", "other0", "name", "tele2")
            wait_for("it has a name that matches", lambda: channels("tele2") == (1, 1))
            run("ip", "link", "set", "tele2", "name", "other0")
            yield "nothing has drifted", drifted(), (0, set())
            green()
            yield "in green", channels("tele1"), (4, 4)
            yield "in green, of another name", channels("other0"), (4, 4)
            yield "its masks", [f for f, text in masks("other0").items() if kernel.mask(text)], []


@case
def a_device_goes():
    with rules(FEW):
        with pair("tele0"):
            rtisoctl("mode", "net")
        yield "nothing has drifted", drifted(), (0, set())
        with pair("tele0"):
            wait_for("another of its name", lambda: channels("tele0") == (1, 1))
            rtisoctl("mode", "green")
            yield "in green", channels("tele0"), (4, 4)


@case
def none_of_these_devices():
    with rules("[net none]\nmatch = nothing*\ncombined = 2\ncpus = node:9\n"):
        rtisoctl("mode", "net")
        yield "the mode", rtisoctl("mode").strip(), "net"
        green()


@case
def what_a_driver_cannot_do():
    """vmxnet3 tells its channels, and cannot set them; lo has none."""
    kind = "rx" if channels("eth0")[0] > 1 else "combined"
    for name, kind, code in (("eth0", kind, 6), ("lo", "combined", 1)):
        text = f"[net x]\nmatch = {name}\n{kind} = 1\n"
        before = snapshot()
        with rules(text, "partition"):
            out = rtisoctl("mode", "net")
            yield f"{name}: it is named", f"net/{name}/channels" in out, True
            yield f"{name}: the mode is entered", rtisoctl("mode").strip(), "net"
            green()
        with rules(text):
            out = rtisoctl("mode", "net", status=code)
            yield f"{name}, required: it is named", f"net/{name}/channels" in out, True
            yield f"{name}, required: the mode", rtisoctl("mode").strip(), "green"
        yield f"{name}: all is as before", diff(before, snapshot()), []


@case
def interrupts_of_receive_queues():
    run("ip", "link", "set", "eth0", "up")
    try:
        before = snapshot()
        queues = [irq for irq in kernel.irqs() if re.match(r"eth0-.*rx", kernel.irq_name(irq))]
        others = {irq: kernel.irq_affinity(irq) for irq in kernel.irqs()
                  if kernel.irq_name(irq).startswith("eth0") and irq not in queues}
        with rules("[net card]\nmatch = eth0\ncpus = set:rt\n"), mode("net"):
            where = [kernel.irq_affinity(irq) for irq in queues]
            yield "one by one over the set", where, [{1 + n % 3} for n in range(len(queues))]
            yield "there are some", len(queues) > 1, True
            yield "the others stay", {irq: kernel.irq_affinity(irq) for irq in others}, others
        yield "in green", diff(before, snapshot()), []
    finally:
        run("ip", "link", "set", "eth0", "down")
