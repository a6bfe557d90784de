# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest's side of tests/demo: what an administrator types, and what the
kernel says before, in between and after, from its own files."""

import subprocess
import sys
import time

import kernel
from snapshot import diff, snapshot

CPU = 3                                 # the one looked at
LOAD = ["stress-ng", "--quiet", "--timer", "1", "--pipe", "1", "--fork", "1", "--timeout", "600"]
ROUNDS = "6"                            # millions


def title(text):
    print(f"\n== {text}\n", flush=True)


def shell(command):
    """Show a command and run it; the demo ends where one fails."""
    print(f"# {command}", flush=True)
    status = subprocess.call(command, shell=True)
    if status:
        sys.exit(f"demo: `{command}` ended with status {status}")


def partition():
    found = subprocess.run(["find", kernel.CGROUP, "-path", "*rtisol-*.slice/cpuset.cpus.partition"],
                           capture_output=True, text=True).stdout.split()
    return "\n".join(f"{path.removeprefix(kernel.CGROUP + '/')}: {kernel.read(path)}" for path in found)


def kernel_says():
    title("what the kernel says")
    print("CPUs of the root cgroup   ", kernel.cgroup("", "cpuset.cpus.effective"))
    print("partitions                ", partition() or "none")
    print("new interrupts come to    ",
          kernel.cpulist(kernel.mask(kernel.read("/proc/irq/default_smp_affinity"))))
    for irq in kernel.irqs():
        if kernel.irq_name(irq) and "-req." not in kernel.irq_name(irq):
            print(f"interrupt {irq:3} {kernel.irq_name(irq):20} on "
                  f"{kernel.cpulist(kernel.irq_affinity(irq))}")
    allowed = [t for t in kernel.user_tasks() if CPU in t.affinity]
    threads = [t for t in kernel.unbound_kthreads() if CPU in t.affinity]
    print(f"allowed on CPU {CPU}           {len(allowed)} user tasks, {len(threads)} unbound kernel threads",
          flush=True)


def counts():
    """What /proc/interrupts has for the CPU, without idle rows."""
    return {row: n for (row, cpu), n in kernel.interrupts().items() if cpu == CPU}


def measure(slot, prefix):
    """A loop on the CPU, beside a load on the whole machine."""
    title(f"a load everywhere, a loop on CPU {CPU}")
    load = subprocess.Popen(LOAD)
    time.sleep(3)
    before, begin = counts(), time.monotonic()
    shell(f"{prefix}noise-loop {slot} {CPU} {ROUNDS}")
    seconds, after = time.monotonic() - begin, counts()
    load.terminate()
    load.wait()
    print(f"\ninterrupts of CPU {CPU} meanwhile, a second ({seconds:.1f} s):")
    for row in after:
        if after[row] > before.get(row, 0):
            print(f"{row:>6} {(after[row] - before.get(row, 0)) / seconds:8.1f}")
    sys.stdout.flush()


def main():
    title("the machine as it was found")
    shell("systemctl enable --now rtisold")
    shell("rtisoctl mode")
    kernel_says()
    before = snapshot()
    measure(0, "")

    title("isolated")
    shell("rtisoctl mode low-jitter")
    shell("rtisoctl status")
    kernel_says()
    measure(1, "systemd-run --quiet --wait --pipe --slice=rtisol-rt.slice ")

    title("and back")
    shell("rtisoctl mode green")
    kernel_says()
    changed = diff(before, snapshot())
    title("what differs from the machine as it was found")
    print("\n".join(changed) or "nothing")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
