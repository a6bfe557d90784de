# SPDX-License-Identifier: LGPL-2.1-or-later
"""Test cases that read like a table.

A case is a generator function; it does things and yields rows of what it
checks, (what, got, wanted), each a line of TAP:

    @case
    def low_jitter():
        rtisoctl("mode", "low-jitter")
        yield "the set is isolated", kernel.partition("rtisol-rt.slice"), "isolated"

An exception fails the case where it stands; `finally` cleans up.
"""

import importlib
import os
import subprocess
import sys
import time
import traceback

CASES = []


class Skip(Exception):
    """Raised by a case that makes no sense on this machine."""


def case(function):
    CASES.append(function)
    return function


def long_case(function):
    """A case of the full run alone."""
    return case(function) if full() else function


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def line(self, good, text, detail=()):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text.replace('#', '')}")
        for row in detail:
            print(f"# {row}")
        sys.stdout.flush()

    def skip(self, text, why):
        self.count += 1
        print(f"ok {self.count} - {text} # SKIP {why}", flush=True)

    def row(self, name, what, got, wanted):
        good = bool(wanted(got)) if callable(wanted) else got == wanted
        detail = () if good else ([f"got:    {show(got)}"] + (
            [] if callable(wanted) else [f"wanted: {show(wanted)}"]))
        self.line(good, f"{name}: {what}", detail)


def show(value):
    if isinstance(value, (list, tuple, set)) and len(value) > 1:
        return "\n#   ".join(["", *map(str, list(value)[:40])])
    return repr(value)


def execute(tap, function):
    name = function.__name__.replace("_", " ")
    begin = time.monotonic()
    try:
        for row in function():
            tap.row(name, *row)
    except Skip as skip:
        tap.skip(name, skip)
    except Exception as error:          # the next case still runs
        output = getattr(error, "stderr", None) or ""
        tap.line(False, f"{name}: {type(error).__name__} {error}".splitlines()[0],
                 (traceback.format_exc() + output).splitlines()[-40:])
    print(f"# {name}: {time.monotonic() - begin:.1f} s", flush=True)


def main(module):
    importlib.import_module(module)
    tap = Tap()
    for function in CASES:
        execute(tap, function)
    print(f"1..{tap.count}", flush=True)
    return 1 if tap.failed else 0


# What cases do

def run(*argv, check=True, **kw):
    """Run a program, return what it printed."""
    return subprocess.run(argv, check=check, text=True, capture_output=True, **kw)


def rtisoctl(*argv, status=0):
    """rtisoctl with an expected exit status; all it printed if it differs."""
    done = run("rtisoctl", *argv, check=False)
    if done.returncode != status:
        raise AssertionError(f"rtisoctl {' '.join(argv)}: exit {done.returncode}, wanted {status}:\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def full():
    """Whether the long part is wanted too: `tests/all --full`."""
    return os.environ.get("RTISOLD_TESTS") == "full"


def share(table):
    """The rows of a long table that are this machine's: every third from the second with RTISOLD_SHARE=2/3."""
    first, _, step = os.environ.get("RTISOLD_SHARE", "1/1").partition("/")
    return table[int(first) - 1::int(step)]


def wait_for(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.path.insert(0, "/usr/lib/rtisold-vm/cases")
    sys.modules["case"] = sys.modules["__main__"]
    sys.exit(main(sys.argv[1]))
