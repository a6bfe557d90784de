# SPDX-License-Identifier: LGPL-2.1-or-later
"""A second program reads /proc and /sys: it must list the same tasks and interrupts on isolated CPUs as status."""

import contextlib
import functools
import json
import os
import random
import time

import kernel
from actors import mode, profile, service
from case import case, full, run, wait_for

PROFILE = "[profile]\ndescription = For the tests of the audit\n[cpuset rt]\ncpus = {cpus}\n"
SLEEPERS = """
import threading, time
for _ in range(7):
    threading.Thread(target=time.sleep, args=(100000,)).start()
time.sleep(100000)
"""


parse = functools.cache(kernel.cpus)         # thousands of tasks have the same few lists


def tasks_by_cpu():
    """{cpu: {tid}}: allowed there, or there last.  It shares nothing with rtisold."""
    found = {cpu: set() for cpu in kernel.online()}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for tid in threads:
            try:
                stat = open(f"/proc/{pid}/task/{tid}/stat", errors="replace").read()
                status = open(f"/proc/{pid}/task/{tid}/status", errors="replace").read()
            except OSError:
                continue
            last = int(stat[stat.rindex(")") + 2:].split()[36])
            allowed = parse(status.split("Cpus_allowed_list:")[1].split("\n")[0])
            for cpu in (allowed | {last}) & set(found):
                found[cpu].add(int(tid))
    return found


def irqs_by_cpu():
    found = {cpu: set() for cpu in kernel.online()}
    for irq in filter(str.isdigit, os.listdir("/proc/irq")):
        for name in ("smp_affinity_list", "effective_affinity_list"):
            try:
                cpus = parse(open(f"/proc/irq/{irq}/{name}").read())
            except OSError:
                continue
            for cpu in cpus & set(found):
                found[cpu].add(int(irq))
    return found


def shuffle(dice, pids, cpus):
    """Other affinities of some tasks and interrupts; what the kernel refuses stays."""
    for tid in (int(t) for pid in pids for t in os.listdir(f"/proc/{pid}/task")):
        try:
            os.sched_setaffinity(tid, dice.sample(sorted(cpus), dice.randint(1, len(cpus))))
        except OSError:
            pass
    for irq in dice.sample(kernel.irqs(), 5):
        try:
            kernel.write(f"/proc/irq/{irq}/smp_affinity_list",
                         kernel.cpulist(dice.sample(sorted(cpus), dice.randint(1, len(cpus)))))
        except OSError:
            pass


def compare(isolated):
    """Rows that differ: what both looks of the second program saw must be told, and nothing that neither saw."""
    before = tasks_by_cpu()
    irqs = irqs_by_cpu()
    record = json.loads(run("rtisoctl", "status", "--json", check=False).stdout)
    after, later = tasks_by_cpu(), irqs_by_cpu()
    wrong = [] if {c["cpu"] for c in record["cpus"]} == isolated else ["other CPUs are listed"]
    for cpu in record["cpus"]:
        n = cpu["cpu"]
        told = {t["tid"] for t in cpu["tasks"]}
        wrong += [f"CPU {n}: task {t} is not told" for t in (before[n] & after[n]) - told]
        wrong += [f"CPU {n}: task {t} is told" for t in told - (before[n] | after[n]) if os.path.exists(f"/proc/{t}")]
        told = {i["irq"] for i in cpu["irqs"]}
        wrong += [f"CPU {n}: interrupt {i} is not told" for i in (irqs[n] & later[n]) - told]
        wrong += [f"CPU {n}: interrupt {i} is told" for i in told - (irqs[n] | later[n])]
    return wrong


@case
def a_second_program_agrees():
    online = kernel.online()
    isolated = {cpu for cpu in online if cpu >= len(online) // 2}
    states = 50 if full() else 8
    dice = random.Random(5)
    irqs = {irq: kernel.read(f"/proc/irq/{irq}/smp_affinity_list") for irq in kernel.irqs()}
    with profile("audited", PROFILE.format(cpus=kernel.cpulist(isolated))), mode("audited"), \
            service("outside", "python3", "-c", SLEEPERS) as outside, \
            service("inside", "python3", "-c", SLEEPERS, Slice="rtisol-rt.slice") as inside:
        kthreads = [t.tid for t in kernel.unbound_kthreads()]
        try:
            for n in range(states):
                shuffle(dice, [outside, inside, *dice.sample(kthreads, min(6, len(kthreads)))], online)
                yield f"state {n}: differences", compare(isolated), []
        finally:
            for irq, text in irqs.items():
                try:
                    kernel.write(f"/proc/irq/{irq}/smp_affinity_list", text)
                except OSError:
                    pass


@case
def the_table_is_80_columns_wide():
    isolated = {cpu for cpu in kernel.online() if cpu > 0}
    with profile("audited", PROFILE.format(cpus=kernel.cpulist(isolated))), mode("audited"):
        for options in ((), ("-v",)):
            lines = run("rtisoctl", "status", *options, check=False).stdout.splitlines()
            yield f"status {' '.join(options)}", [line for line in lines if len(line) > 80 and "fix:" not in line], []


THREADS = """
import threading
threading.stack_size(65536)
for _ in range({n}):
    threading.Thread(target=threading.Event().wait).start()
"""


def seconds(*argv):
    begin = time.monotonic()
    run(*argv, check=False)
    return time.monotonic() - begin


@case
def as_fast_as_ps():
    """With a whole mode in force and a program of the set among many others.  Of few threads the time between
    status's two looks is most of it."""
    processes, threads, look = (10, 1000, 0) if full() and len(kernel.online()) > 8 else (2, 500, 0.25)
    isolated = {cpu for cpu in kernel.online() if cpu > 0}
    with profile("audited", PROFILE.format(cpus=kernel.cpulist(isolated))), mode("audited"), \
            contextlib.ExitStack() as stack:
        for n in range(processes):
            slice = "rtisol-rt.slice" if n == 0 else "system.slice"
            pid = stack.enter_context(service(f"many{n}", "python3", "-c", THREADS.format(n=threads), Slice=slice))
            wait_for("its threads", lambda: len(os.listdir(f"/proc/{pid}/task")) > threads, 120)
        ps, status = [], []
        for _ in range(3):
            ps.append(seconds("ps", "-eLo", "pid,tid,psr,cls,rtprio,comm"))
            status.append(seconds("rtisoctl", "status"))
        print(f"# {len(list(kernel.tasks()))} threads, {len(kernel.online())} CPUs: ps {min(ps):.2f} s, status {min(status):.2f} s")
        yield "status is not slower", min(status) <= min(ps) + look or (status, ps), True
