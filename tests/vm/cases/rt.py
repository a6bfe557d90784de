# SPDX-License-Identifier: LGPL-2.1-or-later
"""PREEMPT_RT: interrupts are threads, and ktimers and rcuc threads exist."""

import re

import kernel
from actors import drop_in, mode
from case import case
from snapshot import diff, snapshot

SETS = {1, 2, 3}


def of(pattern):
    return {t.comm: t for t in kernel.tasks() if t.kernel and re.fullmatch(pattern, t.comm)}


def moved_by(thread):
    """The interrupt of an `irq/25-eth0` thread, if it can be moved."""
    irq = int(re.match(r"irq/(\d+)", thread.comm)[1])
    return irq if kernel.irq_movable(irq) else None


@case
def the_kernel_is_a_real_time_one():
    yield "/sys/kernel/realtime", kernel.read("/sys/kernel/realtime", "0"), "1"
    yield "interrupt threads", len(of(r"irq/\d+-.*")) > 3, True
    yield "timer threads", len(of(r"ktimers?/\d+")), 4


@case
def interrupt_threads_leave_with_their_interrupts():
    with mode("low-jitter"):
        on_set = [t for t in of(r"irq/\d+-.*").values() if moved_by(t) and t.affinity & SETS]
        yield "threads of movable interrupts on the set", on_set, []


@case
def priorities():
    before = snapshot()
    with mode("kvm-host"):
        soft, timers, rcuc = of(r"ksoftirqd/\d+"), of(r"ktimers?/\d+"), of(r"rcuc/\d+")
        yield "ksoftirqd", {(t.policy, t.priority) for t in soft.values()}, {("fifo", 2)}
        yield "ktimers", {(t.policy, t.priority) for t in timers.values()}, {("fifo", 2)}
        if rcuc:
            yield "rcuc", {(t.policy, t.priority) for t in rcuc.values()}, {("fifo", 4)}
    yield "what differs afterwards", diff(before, snapshot()), []


@case
def a_rule_of_ones_own():
    rule = "[kthread soft]\nmatch = ksoftirqd/* ktimers/* ktimer/*\npolicy = fifo\npriority = 7\n"
    before = snapshot()
    with drop_in("low-jitter", rule), mode("low-jitter"):
        got = {(t.policy, t.priority) for t in of(r"(ksoftirqd|ktimers?)/\d+").values()}
        yield "policy and priority", got, {("fifo", 7)}
    yield "what differs afterwards", diff(before, snapshot()), []
