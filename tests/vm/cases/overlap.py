# SPDX-License-Identifier: LGPL-2.1-or-later
"""Slices with AllowedCPUs= that overlap a set."""

import kernel
from actors import allowed_cpus, drop_in, mode, service
from case import case, rtisoctl, run
from snapshot import diff, snapshot

SETS = {1, 2, 3}
SLICE = "rtisol.slice/rtisol-rt.slice"


def honest():
    """The set is isolated, or status tells what the kernel says of the chain."""
    done = run("rtisoctl", "status", check=False)
    text = done.stdout + done.stderr
    if kernel.isolated() == SETS:
        yield "isolated, and status says so", done.returncode, 0
    else:
        reason = next((s for s in kernel.chain(SLICE) if "invalid" in s), "member")
        yield "not isolated, and status says so", done.returncode, 3
        yield f"status quotes {reason!r}", reason.split("(")[-1].rstrip(")") in text, True


@case
def a_wide_slice_before_the_switch():
    with allowed_cpus("wide.slice", "0-3"), service("wide", "sleep", "100000", Slice="wide.slice"):
        before = snapshot()
        with mode("low-jitter"):
            yield from honest()
            yield "isolated", kernel.isolated(), SETS
        yield "what differs", diff(before, snapshot()), []


@case
def a_slice_inside_the_set_is_refused_or_adopted():
    with service("narrow", "sleep", "100000", Slice="narrow.slice"), allowed_cpus("narrow.slice", "2-3"):
        before = snapshot()
        said = rtisoctl("mode", "low-jitter", status=1)
        yield "it names the slice or the service", "narrow" in said and said, said
        yield "what differs", diff(before, snapshot()), []


@case
def an_overlap_after_the_switch():
    with drop_in("low-jitter", "[profile]\npinned = ignore\n"), mode("low-jitter"):
        with allowed_cpus("system.slice", "0-3"):
            yield from honest()
        rtisoctl("mode", "low-jitter")
        yield "mended", kernel.isolated(), SETS


@case
def an_overlap_by_a_new_slice():
    with mode("low-jitter"):
        with service("late", "sleep", "100000", Slice="late.slice"), allowed_cpus("late.slice", "2-3"):
            yield from honest()
