# SPDX-License-Identifier: LGPL-2.1-or-later
"""A CPU that is away for a part of a mode is nobody's loss."""

import contextlib
import os

import kernel
from actors import KEYBOARD, hotplug, mode, pinned_kthread, program, value
from case import case, rtisoctl, wait_for
from snapshot import diff, snapshot

AWAY = 3


@contextlib.contextmanager
def machine():
    """Work of all kinds that knows the CPU, and some that does not.  The kernel forgets where an interrupt of that
    CPU alone belonged when it goes, whoever is there: it has gone once before."""
    hotplug(AWAY, False)
    hotplug(AWAY, True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(pinned_kthread("kauditd", {0, AWAY}))
        stack.enter_context(value(f"/proc/irq/{KEYBOARD}/smp_affinity_list", f"1,{AWAY}"))
        yield stack.enter_context(program("sleep", "100000", cpus={0, AWAY}))
        hotplug(AWAY, True)


def settled(before):
    """The differences, once the kernel has followed the CPU's return everywhere."""
    with contextlib.suppress(AssertionError):
        wait_for("nothing differs", lambda: not diff(before, snapshot()), 10)
    return diff(before, snapshot())


def as_before(before, task):
    yield "what differs", settled(before), []
    yield "the pinned task", os.sched_getaffinity(task), {0, AWAY}


def says(text):
    return [line for line in text.splitlines() if "EBADMSG" in line]


@case
def away_at_the_switch():
    with machine() as task:
        before = snapshot()
        hotplug(AWAY, False)
        with mode("low-jitter"):
            yield "the set is the others", kernel.isolated() & kernel.online(), {1, 2}
            said = rtisoctl("mode", "green")
        hotplug(AWAY, True)
        yield "green calls no refusal what is none", says(said), []
        yield from as_before(before, task)


@case
def away_at_the_way_back():
    with machine() as task:
        before = snapshot()
        with mode("low-jitter"):
            hotplug(AWAY, False)
            wait_for("the set is the others", lambda: kernel.isolated() & kernel.online() == {1, 2})
            said = rtisoctl("mode", "green")
        hotplug(AWAY, True)
        yield "green calls no refusal what is none", says(said), []
        yield from as_before(before, task)


@case
def away_for_a_part_of_the_mode():
    with machine() as task:
        before = snapshot()
        hotplug(AWAY, False)
        with mode("low-jitter"):
            hotplug(AWAY, True)
            wait_for("it is in the set", lambda: kernel.isolated() == {1, 2, AWAY}, 30)
        yield from as_before(before, task)
