# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the kernel says, from the kernel's own files and never from rtisold."""

import glob
import os
import re

CGROUP = "/sys/fs/cgroup"
DEBUG_FEATURES = "/sys/kernel/debug/sched/features"
WORKQUEUES = "/sys/devices/virtual/workqueue"
PF_KTHREAD, PF_NO_SETAFFINITY = 0x00200000, 0x04000000
POLICIES = ["other", "fifo", "rr", "batch", "?", "idle", "deadline"]


def read(path, default=None):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except OSError:
        if default is None:
            raise
        return default


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


# CPU lists and masks, of any width

def cpus(text):
    """`0-3,8` as a set."""
    found = set()
    for term in filter(None, text.strip().split(",")):
        first, _, last = term.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def mask(text):
    """`00000001,00000000` as a set."""
    bits = int(text.strip().replace(",", "") or "0", 16)
    return {n for n in range(bits.bit_length()) if bits >> n & 1}


def cpulist(found):
    """A set as `0-3,8`."""
    terms, run = [], []
    for cpu in sorted(found) + [None]:
        if run and cpu != run[-1] + 1 if cpu is not None else run:
            terms.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}")
            run = []
        run.append(cpu)
    return ",".join(terms)


def online():
    return cpus(read("/sys/devices/system/cpu/online"))


def release():
    return os.uname().release


# Control groups

def cgroup(group, file, default=None):
    return read(f"{CGROUP}/{group.strip('/')}/{file}", default)


def partition(group):
    return cgroup(group, "cpuset.cpus.partition", "absent")


def chain(group):
    """The partition states of the group and all above it but the root."""
    parts = group.strip("/").split("/")
    return [partition("/".join(parts[:n])) for n in range(len(parts), 0, -1)]


def root_cpus():
    return cpus(cgroup("", "cpuset.cpus.effective"))


def isolated():
    """CPUs that the kernel isolates now: by its own list where it has one
    (6.12), else those that the root has lost."""
    own = cgroup("", "cpuset.cpus.isolated", "none")
    return online() - root_cpus() if own == "none" else cpus(own)


# Tasks

class Task:
    """One thread, as /proc tells."""

    def __init__(self, pid, tid):
        folder = f"/proc/{pid}/task/{tid}"
        stat = read(f"{folder}/stat")
        fields = stat[stat.rindex(")") + 2:].split()
        self.pid, self.tid = int(pid), int(tid)
        self.comm = stat[stat.index("(") + 1:stat.rindex(")")]
        self.flags = int(fields[6])
        self.start = int(fields[19])
        self.cpu = int(fields[36])
        self.priority = int(fields[37])
        self.policy = POLICIES[int(fields[38])]
        self.cgroup = read(f"{folder}/cgroup").split("::", 1)[1]
        self.affinity = os.sched_getaffinity(self.tid)

    kernel = property(lambda self: bool(self.flags & PF_KTHREAD))
    bound = property(lambda self: self.kernel and bool(self.flags & PF_NO_SETAFFINITY))
    key = property(lambda self: (self.tid, self.start))

    def __repr__(self):
        return f"{self.comm}[{self.tid}] on {cpulist(self.affinity)} in {self.cgroup}"


def tasks():
    for folder in glob.iglob("/proc/[0-9]*/task/[0-9]*"):
        _, _, pid, _, tid = folder.split("/")
        try:
            yield Task(pid, tid)
        except OSError:
            pass                        # it has ended


def per_cpu(task):
    """A kernel thread that belongs to one CPU: nothing can move it."""
    return task.kernel and bool(re.search(r"/\d+(:|$|-)", task.comm) or task.bound)


def user_tasks():
    return [t for t in tasks() if not t.kernel]


def unbound_kthreads():
    return [t for t in tasks() if t.kernel and not per_cpu(t)]


# Interrupts

def irqs():
    return sorted(int(n) for n in os.listdir("/proc/irq") if n.isdigit())


def irq_affinity(irq):
    return cpus(read(f"/proc/irq/{irq}/smp_affinity_list"))


def irq_effective(irq):
    return cpus(read(f"/proc/irq/{irq}/effective_affinity_list", ""))


def irq_name(irq):
    return read(f"/sys/kernel/irq/{irq}/actions", "")


def irq_of(name):
    """The number of the interrupt with this action."""
    return next(irq for irq in irqs() if name in irq_name(irq).split(","))


def irq_movable(irq):
    """Whether the kernel takes the affinity it has already."""
    try:
        write(f"/proc/irq/{irq}/smp_affinity_list", cpulist(irq_affinity(irq)))
    except OSError:
        return False
    return True


def interrupts():
    """{(row, cpu): count} of /proc/interrupts."""
    lines = read("/proc/interrupts").splitlines()
    columns = [int(word[3:]) for word in lines[0].split()]
    return {(row.split(":")[0].strip(), cpu): int(count)
            for row in lines[1:] for cpu, count in zip(columns, row.split(":", 1)[1].split())
            if count.isdigit()}


def ticks(cpu):
    return interrupts()["LOC", cpu]


# The rest

def features():
    return {word.removeprefix("NO_"): not word.startswith("NO_")
            for word in read(DEBUG_FEATURES, "").split()}


def workqueue_cpus():
    """Where unbound work may run.  What a single workqueue's file says is
    narrowed to this one by the kernel."""
    return mask(read(f"{WORKQUEUES}/cpumask"))


def sysctl(key):
    return read("/proc/sys/" + key.replace(".", "/"))
