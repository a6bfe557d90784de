# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each kind of finding: provoked, found on the right CPUs by its name, and mended by the command that it tells."""

import contextlib
import json
import os
import time

import kernel
import provoke
from actors import allowed_cpus, mode, profile, service, value
from case import Skip, case, rtisoctl, run, wait_for

CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
SLICE = "rtisol.slice/rtisol-rt.slice"

# A mode of which all holds on any kernel: CPUs 2 and 3 are a core and a node of their own.
QUIET = """[profile]
description = For the tests of the audit
[cpuset rt]
cpus = 2-3
[sysctl]
vm.stat_interval = 10
"""


def status():
    done = run("rtisoctl", "status", "--json", check=False)
    return json.loads(done.stdout), done.returncode


def found(record):
    """{kind: finding}; of a kind that is there more than once, the list."""
    kinds = {}
    for finding in record["findings"]:
        kinds.setdefault(finding["code"], []).append(finding)
    return kinds


def short(findings):
    return [(f["id"], f["cpus"], f["subject"]) for f in findings]


def matching(record, code, name):
    return [f for f in found(record).get(code, []) if name in f["subject"]]


def mend(finding):
    return run("sh", "-c", finding["command"], check=False).returncode


@contextlib.contextmanager
def quiet_mode(text=QUIET):
    with profile("quiet", text), mode("quiet"):
        yield


# What others do, all at once: kind, name in the subject, CPUs, how; and whether a command mends it.
TOGETHER = [
    ("clock-source", "", "2-3", lambda: value(CLOCK, other_clock()), True),
    ("stacked-tasks", "sh (pid", "3", provoke.stacked, True),
    ("cpu-timer", "sleep", "2-3", lambda: service("limited", "sleep", "100000", Slice=provoke.SLICE, LimitCPU="999"),
     True),
    ("cpu-timer", "python3", "2-3", lambda: provoke.python("timed", provoke.TIMER), False),
    ("memory-remote", "python3", "2-3", lambda: provoke.python("remote", provoke.MEMORY), True),
    ("rival", "tuned", "2-3", lambda: provoke.rival("tuned"), True),
    ("perf-session", "python3", "2-3", provoke.perf_session, True),
    ("idle-injection", "intel_powerclamp", "2-3", lambda: provoke.mounted("/sys/class/thermal", {
        "cooling_device0/type": "intel_powerclamp", "cooling_device0/cur_state": "25"}), True),
    ("smi", "system management", "2-3", provoke.firmware_interrupts, False),
    ("steal", "hypervisor", "3", provoke.stolen_time, False),
    ("livepatch", "fix_1", "2-3", lambda: provoke.mounted("/sys/kernel/livepatch", {
        "fix_1/transition": "1", "fix_1/enabled": "1"}), True),
    ("drifted", "sysctl/vm.stat_interval", "2-3", lambda: value("/proc/sys/vm/stat_interval", "99"), True),
]


def other_clock():
    names = kernel.read(CLOCK.replace("current", "available")).split()
    return next(name for name in names if name in ("hpet", "acpi_pm"))


@case
def nothing_on_a_quiet_machine():
    with quiet_mode():
        time.sleep(1)
        record, code = status()
        yield "findings", short(record["findings"]), []
        yield "exit status", code, 0
        yield "not seen", record["unseen"], []
        yield "quiet CPUs", record["quiet"], "2-3"


@case
def what_others_do():
    provoke.migratepages()
    with quiet_mode(), contextlib.ExitStack() as stack:
        for *_, how, _ in TOGETHER:
            stack.enter_context(how())
        time.sleep(1)
        record, _ = status()
        for code, name, cpus, _, by_command in TOGETHER:
            hits = matching(record, code, name)
            yield f"{code} {name}: found", [f["cpus"] for f in hits], [cpus]
            yield f"{code}: a reason", [len(f["why"]) > 20 for f in hits], [True]
            yield f"{code}: a command", [f["command"] is not None for f in hits], [by_command]
        todo = [(code, name) for code, name, _, _, by_command in TOGETHER if by_command]
        for finding in record["findings"]:
            if finding["command"]:
                yield f"{finding['id']}: {finding['command']}", mend(finding), 0
        # The kernel would end the transition when the patch is taken back.
        if kernel.read("/sys/kernel/livepatch/fix_1/enabled") == "0":
            kernel.write("/sys/kernel/livepatch/fix_1/transition", "0")
        after, _ = status()
        for code, name in todo:
            yield f"{code} {name}: mended", short(matching(after, code, name)), []


@case
def a_kernel_thread_that_comes_later():
    """It may run there, or this kernel keeps new ones off by itself."""
    with quiet_mode(), provoke.new_kthread() as task:
        on_set = task.affinity & {2, 3}
        name = f"{task.comm} (pid {task.tid})"
        hits = matching(status()[0], "kthread-on-set", name)
        yield "found where it may run there", [f["cpus"] for f in hits], [kernel.cpulist(on_set)] if on_set else []
        for finding in hits:
            yield finding["command"], mend(finding), 0
        yield "none is left", short(matching(status()[0], "kthread-on-set", name)), []


@case
def a_kernel_thread_that_somebody_moved():
    """Where there is no partition: newer kernels let nobody put one into it."""
    with quiet_mode(QUIET.replace("cpus = 2-3", "cpus = 2-3\npartition = none")):
        tid = next(t.tid for t in kernel.unbound_kthreads() if t.comm == "kauditd")
        name = f"kauditd (pid {tid})"
        with provoke.without_daemon():          # which would move it back
            os.sched_setaffinity(tid, {3})
            hits = matching(status()[0], "kthread-on-set", name)
            yield "found", [(f["cpus"], f["command"]) for f in hits], [("3", f"taskset -pc 0-1 {tid}")]
            for finding in hits:
                yield finding["command"], mend(finding), 0
            yield "mended", (os.sched_getaffinity(tid), short(matching(status()[0], "kthread-on-set", name))), ({0, 1}, [])


@case
def packets_that_the_set_sends_itself():
    """The counters tell; nothing but ending it mends it."""
    with quiet_mode():
        with provoke.packets():
            time.sleep(1)
            hits = matching(status()[0], "noise", "NET_RX")
            yield "found", [(f["cpus"], f["command"], "loopback" in f["fix"]) for f in hits], [("3", None, True)]
        yield "mended", short(matching(status()[0], "noise", "")), []


@case
def real_time_spinners():
    for code, on in (("rt-throttling", True), ("fifo-spinner", False)):
        with quiet_mode(), provoke.throttling(on), \
                provoke.spinner("poll", "chrt", "-f", "40", "taskset", "-c", "3") as pid:
            # An emulated CPU that the host takes away looks as if its task slept.
            for _ in range(5):
                time.sleep(1)
                record, exit_code = status()
                hits = matching(record, code, f"(pid {pid}, fifo 40)")
                if hits:
                    break
            yield f"{code}: found", [f["cpus"] for f in hits], ["3"]
            yield f"{code}: exit status", exit_code, 0 if on else 8
            for finding in hits:
                yield finding["command"], mend(finding), 0
            yield f"{code}: mended", short(matching(status()[0], code, "")), []
            yield f"{code}: it runs on", kernel.Task(pid, pid).policy, "other"


@case
def interrupts():
    with quiet_mode():
        irq = kernel.irq_of("i8042")
        kernel.write(f"/proc/irq/{irq}/smp_affinity_list", "3")
        hits = matching(status()[0], "irq-on-set", "i8042")
        yield "movable: found", [(f["cpus"], f["command"]) for f in hits], [("3", "rtisoctl mode quiet")]
        for finding in hits:
            yield finding["command"], mend(finding), 0
        yield "movable: mended", (kernel.irq_affinity(irq) & {2, 3}, matching(status()[0], "irq-on-set", "")), (set(), [])


@case
def an_interrupt_that_nobody_can_move():
    if not os.path.exists("/dev/nvme0n1"):
        raise Skip("no device with queues of its own for each CPU")
    with quiet_mode():
        yield "it has not come", short(matching(status()[0], "irq-unmovable", "nvme")), []
        run("systemd-run", "--wait", "--collect", f"--slice={provoke.SLICE}", "taskset", "-c", "3",
            "dd", "if=/dev/nvme0n1", "of=/dev/null", "iflag=direct", "count=8", "status=none")
        hits = matching(status()[0], "irq-unmovable", "nvme")
        yield "it has come: found", [("3" in f["cpus"], "isolcpus=managed_irq,2-3" in f["fix"]) for f in hits], [(True, True)]
        yield "no command can mend it", [f["command"] for f in hits], [None]


@case
def an_interrupt_that_has_not_followed():
    """Its controller delivers it where it was until it comes the next time."""
    irq = provoke.irq_of_random()
    with quiet_mode():
        kernel.write(f"/proc/irq/{irq}/smp_affinity_list", "3")
        provoke.random_bytes()
        yield "it comes to CPU 3", kernel.irq_effective(irq), {3}
        rtisoctl("mode", "quiet")
        yield "it goes on to CPU 3", kernel.irq_effective(irq), {3}
        record, code = status()
        yield "found", [(f["cpus"], f["command"], f["subject"].split()[0]) for f in matching(record, "irq-pending", "")], [
            ("3", None, str(irq))]
        yield "nothing else is", (short(f for f in record["findings"] if f["code"] != "irq-pending"), code), ([], 0)
        provoke.random_bytes()
        yield "mended when it comes", (kernel.irq_effective(irq) & {2, 3}, short(status()[0]["findings"])), (set(), [])


@case
def the_partition_is_dissolved():
    with quiet_mode(), service("stranger", "sleep", "100000") as pid:
        for group in SLICE, "rtisol.slice":
            kernel.write(f"{kernel.CGROUP}/{group}/cpuset.cpus.partition", "member")
        yield "others may run there", kernel.Task(pid, pid).affinity, {0, 1, 2, 3}
        record, exit_code = status()
        hits = matching(record, "partition-invalid", "rtisol-rt.slice")
        yield "the partition", [(f["cpus"], f["command"]) for f in hits], [("2-3", "rtisoctl mode quiet")]
        yield "exit status", exit_code, 3
        strays = matching(record, "user-task-on-set", f"sleep (pid {pid})")
        yield "a task that may be there now", [(f["cpus"], f["command"]) for f in strays], [("2-3", "rtisoctl mode quiet")]
        for finding in hits[:1]:
            yield finding["command"], mend(finding), 0
        yield "the task may not", kernel.Task(pid, pid).affinity, {0, 1}
        # What ran there meanwhile may have used a disk.
        yield "mended", short(f for f in status()[0]["findings"] if f["code"] != "irq-unmovable"), []


@case
def a_partition_that_the_kernel_calls_invalid():
    with quiet_mode(), allowed_cpus("system.slice", "0-3"):
        record, _ = status()
        reasons = [kernel.cgroup(SLICE, "cpuset.cpus.partition"), kernel.cgroup("rtisol.slice", "cpuset.cpus.partition")]
        invalid = [text for text in reasons if "invalid" in text]
        told = matching(record, "partition-invalid", SLICE.split("/")[1])
        yield "found where the kernel says so", len(told), 1 if invalid else 0
        for text in invalid[:1]:
            yield "with the kernel's reason", [text.split("(")[1].rstrip(")") in f["why"] for f in told], [True]
            yield told[0]["command"], mend(told[0]), 0
            yield "mended", short(matching(status()[0], "partition-invalid", "")), []


@contextlib.contextmanager
def siblings():
    """CPUs 2 and 3 are a core; a kernel that does not take that from this processor is told."""
    paths = [f"/sys/devices/system/cpu/cpu3/topology/{name}" for name in ("core_cpus_list", "thread_siblings_list")]
    with contextlib.ExitStack() as stack:
        for path in paths:
            if kernel.cpus(kernel.read(path)) != {2, 3}:
                stack.enter_context(provoke.bound(path, "2-3"))
        yield


@case
def a_sibling_outside():
    with siblings(), quiet_mode(QUIET.replace("2-3", "3")):
        try:
            hits = matching(status()[0], "sibling-outside", "2")
            yield "found", [(f["cpus"], f["command"]) for f in hits], [
                ("3", "echo 0 > /sys/devices/system/cpu/cpu2/online")]
            for finding in hits:
                yield finding["command"], mend(finding), 0
            yield "mended", short(matching(status()[0], "sibling-outside", "")), []
        finally:
            kernel.write("/sys/devices/system/cpu/cpu2/online", "1")
        wait_for("CPU 2 is back", lambda: 2 in kernel.online())


@case
def a_part_for_the_command_line():
    if os.access("/sys/module/kernel/parameters/skew_tick", os.W_OK):
        raise Skip("this kernel can do it now")
    with quiet_mode(QUIET + "[tick]\nskew_tick = on\n"):
        hits = matching(status()[0], "boot-only", "tick/skew")
        yield "found", [(f["cpus"], "skew_tick=1" in f["fix"]) for f in hits], [("2-3", True)]
        with provoke.bound("/proc/cmdline", kernel.read("/proc/cmdline") + " skew_tick=1"):
            rtisoctl("mode", "quiet")
            yield "booted so: none", short(status()[0]["findings"]), []


@case
def as_nobody():
    with quiet_mode(), provoke.python("timed", provoke.TIMER):
        as_root, _ = status()
        done = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "rtisoctl", "status", "--json", check=False)
        record = json.loads(done.stdout)
        yield "exit status", done.returncode, 0
        yield "the same tasks", tasks(record), tasks(as_root)
        yield "the same interrupts", [i["irq"] for c in record["cpus"] for i in c["irqs"]], [
            i["irq"] for c in as_root["cpus"] for i in c["irqs"]]
        yield "what it cannot see is told", len(record["unseen"]) >= 2, True
        yield "root sees all", as_root["unseen"], []
        text = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "rtisoctl", "status", check=False).stdout
        yield "for people too", "not seen:" in text and text, text


@case
def who_switched_what():
    with quiet_mode():
        pass
    events = json.loads(run("rtisoctl", "history", "2", "--json").stdout)["events"]
    yield "the last two", [(e["result"], e["mode"], e["by"]) for e in events], [
        ("switched", "quiet", "root"), ("switched", "green", "root")]
    lines = run("rtisoctl", "history").stdout.splitlines()
    yield "for people", [word for word in ("switched", "quiet", "root") if word not in lines[-2]], []
    yield "the newest is last", "green" in lines[-1], True


@case
def a_site_lives_with_it():
    with quiet_mode(), provoke.rival("tuned"):
        id = next(f["id"] for f in status()[0]["findings"] if f["code"] == "rival")
        rtisoctl("accept", id)
        try:
            yield "accepted", [f["accepted"] for f in status()[0]["findings"] if f["id"] == id], [True]
            text = run("rtisoctl", "status", check=False).stdout
            yield "it is not shown", "tuned" not in text and text, text
        finally:
            rtisoctl("accept", "--remove", id)
        yield "not any more", [f["accepted"] for f in status()[0]["findings"] if f["id"] == id], [False]


@case
def what_a_mode_has_counted():
    """Softirqs and interrupts of CPU 3 since the mode began, beside the kernel's own counters."""
    with quiet_mode():
        cpu = next(c for c in status()[0]["cpus"] if c["cpu"] == 3)
        began = {row.split(":")[0].strip(): int(row.split(":")[1].split()[3])
                 for row in kernel.read("/run/rtisold/begin/softirqs").splitlines()[1:]}
        now = {row.split(":")[0].strip(): int(row.split(":")[1].split()[3])
               for row in kernel.read("/proc/softirqs").splitlines()[1:]}
        yield "softirqs", [kind for kind, n in cpu["softirqs"].items() if not 0 <= n <= now[kind] - began[kind]], []
        yield "all kinds", set(cpu["softirqs"]), set(now)
        yield "its tick", cpu["tick"]["state"] in ("running", "stopped"), True
        counted = {row for row, _ in kernel.interrupts()}
        yield "interrupts", [i["irq"] for i in cpu["irqs"] if i["since_mode"] is None and str(i["irq"]) in counted], []


@case
def nobody_knows_of_the_mode():
    """The last one: what was found before it is lost."""
    with quiet_mode(), provoke.without_daemon():
        run("rm", "-r", "/run/rtisold")
        record, exit_code = status()
        hits = record["findings"]
        yield "found", [(f["code"], f["cpus"], f["subject"], f["command"]) for f in hits], [
            ("partition-unrecorded", "2-3", "rtisol-rt.slice", "rtisoctl mode green --force")]
        yield "exit status", exit_code, 8
        run("systemctl", "start", "rtisold.service")
        for finding in hits[:1]:
            yield finding["command"], mend(finding), 0
        yield "mended", (short(status()[0]["findings"]), kernel.isolated()), ([], set())


def tasks(record):
    """Threads that may be there; a worker of a moment, and where a task was last, is another at each look."""
    return sorted(t["tid"] for c in record["cpus"] for t in c["tasks"]
                  if c["cpu"] in kernel.cpus(t["affinity"]) and not t["comm"].startswith("kworker"))
