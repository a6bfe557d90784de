# SPDX-License-Identifier: LGPL-2.1-or-later
"""Only what differs is written, and the sets are isolated at every moment."""

import threading

import kernel
from actors import daemon, green, mode, written
from case import case, rtisoctl, run

SETS = {1, 2, 3}


class Watch(threading.Thread):
    """Asks the kernel again and again which CPUs are isolated."""

    def __init__(self):
        super().__init__()
        self.samples = 0
        self.lapses = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            missing = SETS - kernel.isolated()
            if missing:
                self.lapses.append(missing)
            self.samples += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


@case
def the_first_switch_is_seen_to_write():
    with written(daemon()) as files:
        rtisoctl("mode", "low-jitter")
    green()
    yield "interrupts", [f for f in files if f.startswith("/proc/irq")], bool
    yield "partitions", [f for f in files if "cpuset.cpus.partition" in f], bool
    yield "settings", [f for f in files if f.startswith("/proc/sys")], bool


@case
def a_second_switch_writes_nothing():
    with mode("low-jitter"):
        with written(daemon()) as files:
            rtisoctl("mode", "low-jitter")
        yield "files written", files, []


@case
def a_restart_writes_nothing():
    with mode("low-jitter"):
        with written(daemon()) as files:
            run("systemctl", "restart", "rtisold.service")
        yield "files written", files, []
        yield "the mode", rtisoctl("mode").strip(), "low-jitter"
        yield "isolated", kernel.isolated(), SETS


@case
def a_restart_in_green_writes_nothing():
    green()
    with written(daemon()) as files:
        run("systemctl", "restart", "rtisold.service")
    yield "files written", files, []


@case
def to_dpdk_without_a_lapse():
    with mode("low-jitter"):
        with Watch() as watch, written(daemon()) as files:
            rtisoctl("mode", "dpdk")
        yield "moments looked at", watch.samples > 20, True
        yield "moments not isolated", watch.lapses, []
        yield "the mode", rtisoctl("mode").strip(), "dpdk"
        yield "interrupts written", [f for f in files if f.startswith("/proc/irq")], []
        yield "partitions written", [f for f in files if "partition" in f], []
        with Watch() as watch:
            rtisoctl("mode", "low-jitter")
        yield "moments not isolated on the way back", watch.lapses, []


@case
def a_dry_run_writes_nothing():
    with written(daemon()) as files:
        rtisoctl("mode", "low-jitter", "--dry-run")
        rtisoctl("plan", "low-jitter")
        rtisoctl("doctor")
    yield "files written", files, []
    yield "the mode", rtisoctl("mode").strip(), "green"
