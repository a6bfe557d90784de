# SPDX-License-Identifier: LGPL-2.1-or-later
"""A step that the kernel refuses: exit 6, undone, and a message to act on."""

import errno
import os

from case import case, full, rtisoctl
from faults import fault, faulty_daemon, forget, objects_of, one_of_each
from snapshot import diff, snapshot

ERRORS = (errno.EIO, errno.EBUSY, errno.EPERM, errno.ENOSPC, errno.EINVAL)


def required(name):
    """Kinds of objects whose failure must undo the switch: the partition and
    the units, tasks' places, and settings that are not optional."""
    there, _ = objects_of(name)
    return [item for item in one_of_each(there)
            if item.endswith("cpuset.cpus.partition") or item.startswith("unit/")
            or "default_smp_affinity" in item]


@case
def each_kind_of_step():
    with faulty_daemon():
        items = required("low-jitter")
        yield "kinds of steps", len(items) >= 2, True
        before = snapshot()
        for n, item in enumerate(items):
            code = ERRORS[n % len(ERRORS)]
            fault("before", code, item)
            said = rtisoctl("mode", "low-jitter", status=6)
            forget()
            yield f"{item}: the message names it", said, lambda text, item=item: item in text
            yield f"{item}: and the error", said, lambda text, code=code: (
                errno.errorcode[code] in text or os.strerror(code) in text)
            yield f"{item}: the mode", rtisoctl("mode").strip(), "green"
            yield f"{item}: what differs", diff(before, snapshot()), []


@case
def each_error_of_the_partition():
    with faulty_daemon():
        item = next(i for i in required("low-jitter") if i.startswith("unit/") or "partition" in i)
        before = snapshot()
        for code in ERRORS if full() else ERRORS[-2:]:
            fault("before", code, item)
            rtisoctl("mode", "low-jitter", status=6)
            forget()
            yield f"{errno.errorcode[code]}: what differs", diff(before, snapshot()), []
