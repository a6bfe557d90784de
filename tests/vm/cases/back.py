# SPDX-License-Identifier: LGPL-2.1-or-later
"""The way back is exact for values as real machines have them."""

import contextlib
import os

import kernel
from actors import KEYBOARD, allowed_cpus, mode, pinned_kthread, program, service, value
from case import case, rtisoctl
from snapshot import diff, snapshot


@contextlib.contextmanager
def odd_machine():
    """Everything odd at once, as in a rack that has been up for years."""
    with contextlib.ExitStack() as stack:
        for odd in (value(f"/proc/irq/{KEYBOARD}/smp_affinity_list", "2"),
                    value(f"/proc/irq/{kernel.irq_of('virtio2-input')}/smp_affinity_list", "3"),
                    value(f"{kernel.WORKQUEUES}/cpumask", "3"),
                    value("/proc/irq/default_smp_affinity", "7"),
                    value("/proc/sys/vm/stat_interval", "3"),
                    pinned_kthread("kauditd", {1}),
                    service("odd-service", "sleep", "100000", Slice="odd.slice"),
                    allowed_cpus("odd.slice", "0-1")):
            stack.enter_context(odd)
        task = stack.enter_context(program("sleep", "100000", cpus={0, 3}))
        yield task


@case
def odd_values():
    with odd_machine() as task:
        before = snapshot()
        with mode("low-jitter"):
            yield "the sets are isolated", kernel.isolated(), {1, 2, 3}
            yield "the pinned task in the mode", os.sched_getaffinity(task), {0}
            yield "the keyboard's interrupt", kernel.irq_affinity(KEYBOARD), {0}
        yield "what differs", diff(before, snapshot()), []
        yield "the pinned task", os.sched_getaffinity(task), {0, 3}


@case
def by_way_of_another_mode():
    with odd_machine():
        before = snapshot()
        with mode("low-jitter"):
            rtisoctl("mode", "dpdk")
            rtisoctl("mode", "low-jitter")
        yield "what differs", diff(before, snapshot()), []


@case
def somebody_else_changed_it_meanwhile():
    path = "/proc/sys/vm/stat_interval"
    with value(path, "3"):
        with mode("low-jitter"):
            kernel.write(path, "77")
        yield "an admin's new value is left", kernel.read(path), "77"


@case
def what_has_gone_is_no_error():
    with program("sleep", "100000", cpus={0, 3}) as pid:
        rtisoctl("mode", "low-jitter")
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    yield "green says", rtisoctl("mode", "green"), lambda text: "rror" not in text


@case
def an_interrupt_that_had_one_cpu_gets_it_back():
    for cpu in ("0", "2", "3", "0,2"):
        with value(f"/proc/irq/{KEYBOARD}/smp_affinity_list", cpu):
            with mode("low-jitter"):
                inside = kernel.irq_affinity(KEYBOARD)
            yield f"found on {cpu}: in the mode", inside, {0}
            yield (f"found on {cpu}: after it",
                   kernel.read(f"/proc/irq/{KEYBOARD}/smp_affinity_list"), cpu)
