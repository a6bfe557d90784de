# SPDX-License-Identifier: LGPL-2.1-or-later
"""Others who write to the same machine at the same time: rtisold keeps what it
can, tells the rest, and green is still exact."""

import time

import kernel
from actors import mode
from case import long_case, run
from snapshot import diff, snapshot

SETS = {1, 2, 3}


def inside():
    """Interrupts on the set that could be elsewhere."""
    return [irq for irq in kernel.irqs() if kernel.irq_affinity(irq) & SETS and kernel.irq_movable(irq)]


@long_case
def irqbalance():
    """One that starts while the switch is under way, and one that starts anew in the mode, are told of the sets."""
    before = snapshot()
    run("systemctl", "start", "irqbalance")
    try:
        with mode("low-jitter"):
            time.sleep(14)
            yield "interrupts inside the set", inside(), []
            yield "status", run("rtisoctl", "status", check=False).returncode, 0
            run("systemctl", "restart", "irqbalance")
            time.sleep(14)
            yield "and with the next one", inside(), []
            yield "status then", run("rtisoctl", "status", check=False).returncode, 0
    finally:
        run("systemctl", "stop", "irqbalance")
    # Among the other CPUs it moves what it likes, and goes on doing so until it is stopped.
    yield "what differs", [line for line in diff(before, snapshot()) if "/proc/irq/" not in line], []
