# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests' own eyes: what they read is what there is."""

import os

import kernel
from case import case, run
from snapshot import diff, snapshot


@case
def lists():
    for text, wanted in (("", set()), ("0", {0}), ("0-2,8", {0, 1, 2, 8}), ("64-65", {64, 65})):
        yield f"cpus {text!r}", kernel.cpus(text), wanted
        yield f"cpulist {text!r}", kernel.cpulist(wanted), text
    yield "a wide mask", kernel.mask("00000001,00000000,00000002"), {1, 64}


@case
def comparing():
    before = snapshot()
    yield "nothing happens", diff(before, snapshot()), []
    for path, odd in (("/proc/sys/vm/stat_interval", "7"), ("/proc/irq/1/smp_affinity_list", "0")):
        old = kernel.read(path)
        kernel.write(path, odd)
        seen = diff(before, snapshot())
        kernel.write(path, old)
        yield f"a change of {path}", [path in line for line in seen], [True]
    os.sched_setaffinity(0, {0})
    yield "a change of this task", len(diff(before, snapshot())), 1
    os.sched_setaffinity(0, kernel.online())


@case
def the_machine():
    yield "a program", run("uname", "-r").stdout.strip(), kernel.release()
    yield "CPUs online", kernel.root_cpus(), kernel.online()
    yield "nothing isolated", kernel.isolated(), set()
    yield "features are seen", len(kernel.features()) > 10, True
    yield "interrupts", [irq for irq in kernel.irqs() if kernel.irq_affinity(irq)] != [], True
