# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's side of tests/demo: demo.py BUILD KERNEL."""

import re
import sys
import tempfile
import time

from machine import IN_GUEST, Machine, Spec, VmError, install

TRIES = 3
MEASURED = ["green, beside a load", "low-jitter, beside the same load"]


def show_noise(machine):
    """What the plugin counted, when QEMU ended."""
    print("\nThe loop on CPU 3, in instructions (counted by the emulator, so they\n"
          "hold on a busy host too): taken away by the kernel and other tasks,\n"
          "for every million that the loop ran.\n")
    print(f"{'':34} {'INTERRUPTIONS':>13} {'STOLEN':>10} {'WORST':>10}")
    with open(f"{machine.state}/qemu.log") as f:
        for line in f:
            match = re.match(r"noise (\d+) 3 rounds (\d+) interruptions (\d+) stolen (\d+) worst (\d+)", line)
            if match:
                slot, rounds, number, stolen, worst = map(int, match.groups())
                own = rounds * 32 / 1e6
                print(f"{MEASURED[slot]:34} {number / own:13.1f} {stolen / own:10.0f} {worst:10}")


def tour(spec, work):
    """Boot and show everything.  False when the machine died by itself, as one
    under an emulator on a busy host does now and then."""
    machine = Machine.start(spec, work)
    try:
        machine.wait_up(time.monotonic() + 900)
        with machine.session(time.monotonic() + 900) as session:
            status = session.run(["python3", "-u", f"/{IN_GUEST}/guest/demo.py"])
    except VmError as error:
        print(f"demo: {error}", file=sys.stderr)
        return False
    finally:
        machine.stop()
    if status:
        sys.exit(status)
    show_noise(machine)
    return True


def main(build, kernel):
    suite = "trixie" if kernel.startswith("6.12") else "bookworm"
    with tempfile.TemporaryDirectory(prefix="rtisold-demo-") as work:
        install(build, f"{work}/tree", "usr/bin", [f"{build}/tests/noise/noise-loop"])
        spec = Spec(suite=suite, kernel=kernel, tree=f"{work}/tree",
                    plugin=f"{build}/tests/noise/noise-plugin.so")
        for n in range(TRIES):
            print(f"booting a virtual machine: Debian {suite}, kernel {kernel}, 4 CPUs", flush=True)
            if tour(spec, f"{work}/machine-{n}"):
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
