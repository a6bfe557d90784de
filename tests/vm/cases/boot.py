# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine booted with the line that `kernel-args dpdk` prints (meson.build gives it)."""

import json

import kernel
from actors import green, mode
from case import case, rtisoctl


def words():
    """Of the running command line, those that are about isolation."""
    return [word for word in kernel.read("/proc/cmdline").split()
            if word.startswith(("isolcpus=", "nohz_full=", "rcu_nocbs=", "skew_tick=", "nohz="))]


@case
def the_line():
    yield "it is the one that is printed", rtisoctl("kernel-args", "dpdk").split(), words()
    record = json.loads(rtisoctl("kernel-args", "dpdk", "--json"))
    yield "nothing is missing", record["missing"], []
    yield "the kernel took it", kernel.cpus(kernel.read("/sys/devices/system/cpu/nohz_full")), {1, 2, 3}


@case
def what_doctor_says():
    found = {m["name"]: (m["mechanism"], m["file"], m["advice"])
             for m in json.loads(rtisoctl("doctor", "--json"))["mechanisms"]}
    yield "nohz", found["nohz"], ("boot", "nohz_full=1-3", "")
    yield "managed interrupts", found["managed irqs"], ("boot", "isolcpus=managed_irq,1-3", "")
    yield "callbacks", found["rcu offload"], ("boot", "nohz_full=1-3", "")


@case
def the_mode():
    """What dpdk lacked for want of the line holds now."""
    with mode("dpdk"):
        record = json.loads(rtisoctl("status", "--json"))
        yield "isolated", kernel.isolated(), {1, 2, 3}
        yield "the tick", [s["nohz"]["state"] for s in record["sets"]], ["ok"]
        yield "boot-only parts missing", [s["id"] for s in record["steps"] if s["state"] == "boot"], []
    green()
