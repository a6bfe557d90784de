# SPDX-License-Identifier: LGPL-2.1-or-later
"""A big machine: `auto` leaves the first core of every node."""

import glob

import kernel
from actors import mode
from case import case, rtisoctl
from snapshot import diff, snapshot


def first_cores():
    kept = set()
    for node in glob.glob("/sys/devices/system/node/node[0-9]*"):
        cpus = kernel.cpus(kernel.read(f"{node}/cpulist"))
        if cpus:
            topology = f"/sys/devices/system/cpu/cpu{min(cpus)}/topology"
            kept |= kernel.cpus(kernel.read(f"{topology}/thread_siblings_list"))
    return kept


@case
def auto():
    sets = kernel.online() - first_cores()
    yield "nodes", len(glob.glob("/sys/devices/system/node/node[0-9]*")), 4
    yield "its CPUs", kernel.cpus(rtisoctl("cpus", "auto").strip()), sets


@case
def the_switch():
    sets = kernel.online() - first_cores()
    before = snapshot()
    with mode("low-jitter"):
        yield "isolated", kernel.cpulist(kernel.isolated()), kernel.cpulist(sets)
        yield "the root's CPUs", kernel.cpulist(kernel.root_cpus()), kernel.cpulist(first_cores())
        yield ("user tasks on the sets", [t for t in kernel.user_tasks() if t.affinity & sets], [])
        yield ("interrupts on the sets",
               [irq for irq in kernel.irqs() if kernel.irq_affinity(irq) & sets
                and kernel.irq_movable(irq)], [])
        yield "status", rtisoctl("status") != "", True
    yield "what differs", diff(before, snapshot()), []
