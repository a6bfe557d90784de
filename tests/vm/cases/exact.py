# SPDX-License-Identifier: LGPL-2.1-or-later
"""rtisoctl measure beside a second source, on a machine with one CPU whose time
is the number of its instructions (-icount): a busy host changes no figure."""

import contextlib
import json
import re

import kernel
from actors import program
from case import case, run

TOOLS = "/usr/lib/rtisold-vm/tools"
DISTURB = "rtisold-disturb"
SECONDS = 3
TICKS = 250                             # a second: CONFIG_HZ of Debian's kernels


def measured(*options):
    return json.loads(run("rtisoctl", "measure", *options, "-a", "0", "--json").stdout)


def pert(*options):
    return measured("pert", "-D", str(SECONDS), *options)["rows"][0]


def in_sizes(row, low, high=float("inf")):
    return sum(b["count"] for b in row["histogram"] if low <= b["from_us"] < high)


def mean_size(row, low, high):
    """Of the perturbations in a range, to a sixteenth."""
    buckets = [b for b in row["histogram"] if low <= b["from_us"] < high]
    count = sum(b["count"] for b in buckets)
    return sum(b["count"] * (b["from_us"] + b["to_us"]) / 2 for b in buckets) / max(count, 1)


def counted():
    return sum(n for n in kernel.interrupts().values())


def near(wanted, part):
    return lambda got: abs(got - wanted) <= part * wanted


@case
def the_machine_is_settled():
    """Drivers that are loaded late run for tenths of a second without a break."""
    run("systemctl", "is-system-running", "--wait", check=False)
    run("udevadm", "settle")
    yield "jobs", run("systemctl", "list-jobs", "--no-legend").stdout, ""


def measured_and_counted(seconds):
    """A measurement, and what /proc/interrupts counted from its start to its end."""
    before = counted()
    row = measured("pert", "-D", str(seconds))["rows"][0]
    return row, counted() - before


@case
def pert_and_the_interrupts():
    """Between two of different length nothing differs but the loop's own time: what comes at the start and at the end
    is in both."""
    (short, few), (row, many) = measured_and_counted(1), measured_and_counted(1 + SECONDS)
    seen, interrupts = row["perturbations"] - short["perturbations"], many - few
    # Those of what goes on at the start and the end are among them, and not the same each time.
    yield f"as many as interrupts in {SECONDS} s, {interrupts}", seen, near(interrupts, 0.1)
    yield "among them the ticks", seen / SECONDS, lambda n: n >= 0.95 * TICKS
    yield "in a second", row["per_second"], near(row["perturbations"] / (1 + SECONDS), 0.01)
    yield "sum and overhead agree", row["sum_us_per_second"] / 1e4, near(row["overhead_percent"], 0.01)
    yield "the loop is fast", row["loop_ns"], lambda n: 0 < n < 2000
    yield "page faults of its own", row["faults"], 0


@contextlib.contextmanager
def disturbed(busy, period):
    """By a real-time thread, as that of an interrupt is one."""
    with program(f"{TOOLS}/{DISTURB}", "0", str(busy), str(period)):
        yield


@case
def a_short_noise_is_found():
    """50 us of an interrupt thread, a hundred times a second."""
    quiet = pert()
    with disturbed(50, 10000):
        noisy = pert()
    found = in_sizes(noisy, 50, 400) - in_sizes(quiet, 50, 400)
    yield "how often in a second", found / SECONDS, near(100, 0.12)
    yield "how long", mean_size(noisy, 50, 400), lambda us: 50 <= us < 150
    # Now and then something else runs for a few ms.
    extra = noisy["sum_us_per_second"] - min(quiet["sum_us_per_second"], pert()["sum_us_per_second"])
    yield "what it takes in a second, with two switches each", extra, lambda us: 100 * 50 * 0.9 <= us < 100 * 200


@case
def a_long_noise_is_found():
    """A hog that has three tenths of the CPU, in pieces of 3 ms."""
    quiet = pert()
    with disturbed(3000, 10000):
        noisy = pert()
    yield "how often in a second", in_sizes(noisy, 2900, 4500) / SECONDS, near(100, 0.05)
    yield "how long", mean_size(noisy, 2900, 4500), near(3100, 0.06)
    yield ("what part of the CPU", noisy["overhead_percent"] - quiet["overhead_percent"],
           lambda percent: 29 <= percent < 34)


@case
def a_tolerance_leaves_out_what_is_shorter():
    with disturbed(3000, 10000):
        row = pert("--tolerance", "2500")
    yield "how often in a second", row["per_second"], near(100, 0.05)
    yield "the shortest", row["min_us"], lambda us: us >= 2500


def cyclictest(loops):
    out = run("cyclictest", "-m", "-q", "-p80", "-a0", "-t1", "-i1042", f"-l{loops}").stdout
    found = re.search(r"C: *(\d+) Min: *(\d+) Act: *\d+ Avg: *(\d+) Max: *(\d+)", out)
    return int(found[1]), int(found[3])


@case
def jitter_and_cyclictest():
    """Within what two runs of cyclictest differ, or a tenth."""
    loops = 2000
    (count, first), row, (_, second) = (
        cyclictest(loops), measured("jitter", "-i", "1042", "-l", str(loops))["rows"][0], cyclictest(loops))
    room = max(abs(first - second), 0.1 * first, 1)
    yield "as many", row["timers"] + row["missed"], count
    yield (f"the mean, between {first} and {second} us", row["mean_us"],
           lambda us: min(first, second) - room <= us <= max(first, second) + room)


@case
def a_noise_is_late_timers():
    """The hog runs before the timer's thread: those in its 3 ms are late."""
    with disturbed(3000, 10000):
        row = measured("jitter", "-f", "1000", "-D", str(SECONDS), "--tolerance", "500")["rows"][0]
    yield "all", row["timers"] + row["missed"], 1000 * SECONDS
    yield "missed or late, in a second", (row["missed"] + row["hits"]) / SECONDS, lambda n: 200 <= n <= 400
    # The periods are multiples: it is always the same part of the 3 ms that is left when the first timer is due.
    yield "the latest", row["max_us"], lambda us: 2000 <= us < 4000


@case
def frames():
    row = measured("frame", "-f", "300", "-D", str(SECONDS), "--tolerance", "500")["rows"][0]
    yield "frequency times duration", (row["frames"], row["missed"]), (300 * SECONDS, 0)
    yield "their work takes a fifth", row["work_us"], near(1e6 / 300 / 5, 0.02)
    yield "and is done in time", row["avg_us"], lambda us: 0 < us < 300
    # Longer than a frame: one of two is late, wherever among them it falls, which is the same place each time.
    with disturbed(3400, 1000000):
        row = measured("frame", "-f", "300", "-D", str(SECONDS), "--tolerance", "500")["rows"][0]
    yield "a noise each second is a flier each second", row["fliers"], lambda n: SECONDS - 1 <= n <= 2 * SECONDS
    yield "their numbers", len(row["flier_frames"]), lambda n: n == min(row["fliers"], 8)


@case
def itimer():
    without, row = measured("itimer", "-D", "2", "-t", "2")["rows"]
    yield "ticks for the CPU time there was", row["ticks"], near((row["user_s"] + row["system_s"]) / row["period_s"], 0.05)
    yield "CPU time as asked for", row["user_s"] + row["system_s"], near(4, 0.1)
    yield "elapsed, on one CPU", without["elapsed_s"], near(4, 0.1)
