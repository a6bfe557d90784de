# SPDX-License-Identifier: LGPL-2.1-or-later
"""Others who write to the same machine at the same time: rtisold keeps what it
can, tells the rest by name, and green is still exact."""

import contextlib
import glob
import os
import re
import shutil
import signal
import threading
import time

import kernel
from actors import allowed_cpus, daemon, drop_in, mode, program, service
from case import Skip, case, full, long_case, rtisoctl, run, wait_for
from snapshot import diff, snapshot

SETS = {1, 2, 3}
SLICE = "rtisol.slice/rtisol-rt.slice"
ROUNDS = 60 if full() else 3
SECONDS = 20 if full() else 3


@contextlib.contextmanager
def storm(act):
    """Somebody who does something over and over; on an emulated machine nobody else would get a turn without a pause."""
    done, count = threading.Event(), [0]

    def loop():
        while not done.wait(0.2):
            act()
            count[0] += 1

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield count
    finally:
        done.set()
        thread.join()


def status():
    done = run("rtisoctl", "status", check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def honest(what):
    """The set is isolated and status says so, or status tells what the kernel says of the chain."""
    code, text = status()
    if kernel.isolated() == SETS:
        yield f"{what}: isolated, and status says so", code if code in (0, 3) else text, lambda code: code in (0, 3)
    else:
        reason = next((s for s in kernel.chain(SLICE) if "invalid" in s), "member")
        yield f"{what}: not isolated, and status says so", code, 3
        yield f"{what}: status quotes {reason!r}", reason.split("(")[-1].rstrip(")") in text, True


def settled():
    """The mode in force holds, after one mend where it must be."""
    if status()[0] == 3:
        rtisoctl("mode", "low-jitter")
    return status()[0]


def without_tasks(found):
    """Some tasks live for a moment only."""
    return {name: value for name, value in found.items() if not name.startswith("task ")}


def inside():
    """Interrupts on the set that could be elsewhere."""
    return [irq for irq in kernel.irqs() if kernel.irq_affinity(irq) & SETS and kernel.irq_movable(irq)]


LIBVIRT = "libvirtd.socket", "libvirtd-ro.socket", "libvirtd-admin.socket", "virtlogd.socket", "libvirtd", "virtlogd"


def no_libvirt():
    run("systemctl", "stop", *LIBVIRT, check=False)


@case
def nobody_at_first():
    """Those who were started with the machine, and would end by themselves some time."""
    no_libvirt()
    tuned_off()
    yield "who is left", [task.comm for task in kernel.user_tasks() if re.match("libvirt|tuned|irqbal", task.comm)], []


@long_case
def irqbalance():
    """One that starts while the switch is under way, and one that starts anew in the mode, are told of the sets."""
    before = snapshot()
    run("systemctl", "start", "irqbalance")
    try:
        with mode("low-jitter"):
            time.sleep(14)
            yield "interrupts inside the set", inside(), []
            yield "status", status()[0], 0
            run("systemctl", "restart", "irqbalance")
            time.sleep(14)
            yield "and with the next one", inside(), []
            yield "status then", status()[0], 0
    finally:
        run("systemctl", "stop", "irqbalance")
    # Among the other CPUs it moves what it likes, and goes on doing so until it is stopped.
    yield "what differs", [line for line in diff(before, snapshot()) if "/proc/irq/" not in line], []


@long_case
def a_daemon_reload_storm():
    before = snapshot()
    with storm(lambda: run("systemctl", "daemon-reload")) as count:
        for _ in range(3):
            rtisoctl("mode", "low-jitter")
            rtisoctl("mode", "green")
        rtisoctl("mode", "low-jitter")
    print(f"# {count[0]} reloads")
    yield "isolated", kernel.isolated(), SETS
    yield "status", settled(), 0
    rtisoctl("mode", "green")
    yield "what differs", diff(before, snapshot()), []


@case
def a_set_property_storm():
    """On a slice that is none of ours, and on one whose CPUs overlap the set."""
    with service("rival", "sleep", "100000", Slice="rival.slice"):
        # With the first one systemd turns the controller on, on all of the machine.
        run("systemctl", "set-property", "--runtime", "rival.slice", "CPUWeight=10000")
        before = snapshot()
        weights = iter(range(1, 10000))
        with storm(lambda: run("systemctl", "set-property", "--runtime", "rival.slice",
                               f"CPUWeight={next(weights)}")) as count:
            with mode("low-jitter"):
                yield "isolated", kernel.isolated(), SETS
                time.sleep(SECONDS)
                yield "isolated still", kernel.isolated(), SETS
        print(f"# {count[0]} times")
        yield "what differs", [line for line in diff(before, snapshot()) if "rival.slice/cpu.weight" not in line], []
        run("systemctl", "revert", "rival.slice", check=False)


@long_case
def a_storm_of_overlaps():
    with service("rival", "sleep", "100000", Slice="rival.slice"), allowed_cpus("rival.slice", "0"), \
            drop_in("low-jitter", "[profile]\npinned = ignore\n"):
        before = snapshot()
        wanted = iter(["0-3", "0", "2-3", "0-1"] * 1000)
        with mode("low-jitter"):
            with storm(lambda: run("systemctl", "set-property", "--runtime", "rival.slice",
                                   f"AllowedCPUs={next(wanted)}")) as count:
                time.sleep(SECONDS)
                yield from honest("in the storm")
                done = run("rtisoctl", "mode", "low-jitter", check=False)
                yield ("a mend in it, or a refusal that names who is in the way",
                       done.returncode == 0 or "rival.slice" in done.stderr or done.stderr, True)
                yield from honest("after it")
            run("systemctl", "set-property", "--runtime", "rival.slice", "AllowedCPUs=0")
            print(f"# {count[0]} times")
            yield "status after it", settled(), 0
            yield "isolated", kernel.isolated(), SETS
        # The slice gets back what it had when the mend in the storm narrowed it.
        yield "what differs", [line for line in diff(before, snapshot()) if "rival." not in line], []


# Who makes cpusets of his own

# As libvirt and runtimes of containers do in what systemd gave them.
DOMAIN = """
cd /sys/fs/cgroup/machine.slice/domain.service
mkdir libvirt libvirt/emulator libvirt/vcpu0
echo 0 >libvirt/emulator/cgroup.procs
echo +cpuset >cgroup.subtree_control
echo +cpuset >libvirt/cgroup.subtree_control
echo %s >libvirt/vcpu0/cpuset.cpus
(echo 0 >libvirt/vcpu0/cgroup.procs; exec sleep 100000) &
wait
"""


def in_the_way_or_not(name, group, cpus, refused):
    """Work whose group has CPUs of its own, before the switch: one of the set's is in the way, and named."""
    before = snapshot()
    done = run("rtisoctl", "mode", "low-jitter", check=False)
    said = done.stdout + done.stderr
    yield f"{name} on {cpus}: exit status", (done.returncode, said), lambda pair: pair[0] == (1 if refused else 0)
    yield f"{name} on {cpus}: it is named", not refused or name in said or said, True
    yield f"{name} on {cpus}: its CPUs", kernel.cgroup(group, "cpuset.cpus"), cpus
    if not refused:
        yield f"{name} on {cpus}: isolated", kernel.isolated(), SETS
    rtisoctl("mode", "green")
    yield f"{name} on {cpus}: what differs", diff(before, snapshot()), []


@case
def groups_as_libvirt_makes_them():
    for cpus, refused in (("2", True), ("0", False)):
        with service("domain.service", "sh", "-c", DOMAIN % cpus, Slice="machine.slice", Delegate="yes"):
            group = "machine.slice/domain.service/libvirt/vcpu0"
            wait_for("the vCPU runs", lambda group=group: kernel.cgroup(group, "cgroup.procs", ""))
            yield from in_the_way_or_not("domain.service", group, cpus, refused)


ROOT = "/var/lib/rival-root"


def installed(program):
    if not shutil.which(program):
        raise Skip(f"no {program} on this machine")


@contextlib.contextmanager
def container(name, *options):
    os.makedirs(f"{ROOT}/bin", exist_ok=True)
    if not os.path.exists(f"{ROOT}/bin/sleep"):
        shutil.copy("/bin/busybox", f"{ROOT}/bin/sleep")
    done = run("podman", "run", "--detach", "--name", name, "--network=none", "--cgroups=enabled", *options,
               "--rootfs", ROOT, "/bin/sleep", "100000", check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    pid = int(run("podman", "inspect", "--format", "{{.State.Pid}}", name).stdout)
    try:
        yield pid, kernel.read(f"/proc/{pid}/cgroup").split("::", 1)[1]
    finally:
        run("podman", "rm", "--force", "--time=0", name, check=False)


def group_with_cpus(group):
    """The nearest above, or itself, whose cpuset is its own."""
    while group.strip("/") and not kernel.cgroup(group, "cpuset.cpus", ""):
        group = os.path.dirname(group)
    return group


@long_case
def containers():
    installed("podman")
    for cpus, refused in (("2", True), ("0", False)):
        with container("rival", f"--cpuset-cpus={cpus}") as (_, group):
            yield from in_the_way_or_not("libpod", group_with_cpus(group), cpus, refused)
    with container("wide") as (pid, _):
        before = snapshot()
        with mode("low-jitter"):
            yield "one with all CPUs is off the set", os.sched_getaffinity(pid) & SETS, set()
            yield "isolated", kernel.isolated(), SETS
            for cpus in ("0", "2"):
                with container("late", f"--cpuset-cpus={cpus}"):
                    yield from honest(f"a later one on {cpus}")
            yield "status without it", settled(), 0
        yield "what differs", diff(before, snapshot()), []


DEFINITION = """<domain type='lxc'><name>rival</name><memory unit='MiB'>64</memory><vcpu cpuset='{cpus}'>1</vcpu>
<os><type>exe</type><init>/bin/sleep</init><initarg>100000</initarg></os>
<devices><emulator>/usr/lib/libvirt/libvirt_lxc</emulator><console type='pty'/></devices></domain>"""


@contextlib.contextmanager
def domain(cpus):
    """A container of libvirt's: its control groups are made as those of a virtual machine."""
    kernel.write("/run/rival.xml", DEFINITION.format(cpus=cpus))
    done = run("virsh", "--connect", "lxc:///", "create", "/run/rival.xml", check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    try:
        task = next(task for task in kernel.user_tasks() if task.comm == "sleep" and "rival" in task.cgroup)
        yield group_with_cpus(task.cgroup)
    finally:
        run("virsh", "--connect", "lxc:///", "destroy", "rival", check=False)


@long_case
def libvirt():
    installed("virsh")
    run("systemctl", "start", "libvirtd")
    try:
        for cpus, refused in (("2", True), ("0", False)):
            with domain(cpus) as group:
                yield from in_the_way_or_not("rival", group, cpus, refused)
        with mode("low-jitter"):
            with domain("0-3"):
                yield from honest("one that starts in the mode")
            yield "status without it", settled(), 0
    finally:
        no_libvirt()


TUNED = "[main]\nsummary=rival\n[sysctl]\nvm.stat_interval=3\n[vm]\ntransparent_hugepages=never\n"


def tuned_off():
    if shutil.which("tuned-adm"):
        run("tuned-adm", "off", check=False)
        run("systemctl", "stop", "tuned", check=False)


@contextlib.contextmanager
def tuned():
    os.makedirs("/etc/tuned/rival", exist_ok=True)
    kernel.write("/etc/tuned/rival/tuned.conf", TUNED)
    run("systemctl", "start", "tuned")
    run("tuned-adm", "profile", "rival")
    wait_for("tuned is through", lambda: kernel.sysctl("vm.stat_interval") == "3", 60)
    try:
        yield
    finally:
        tuned_off()


@long_case
def tuned_goes_first():
    """It stays as it is while a mode comes and goes."""
    installed("tuned-adm")
    tuned_off()
    with tuned():
        before = snapshot()
        with mode("low-jitter"):
            yield "isolated", kernel.isolated(), SETS
            yield "status", status()[0], 0
        yield "what differs", diff(before, snapshot()), []


@long_case
def tuned_comes_later():
    """What it takes is told; it stays as it is at the way back, or is put back to what was found where it was mended."""
    installed("tuned-adm")
    tuned_off()
    found = kernel.sysctl("vm.stat_interval")
    for mends in (False, True):
        rtisoctl("mode", "low-jitter")
        with tuned():
            code, text = status()
            yield "status", code, 3
            yield "it names the setting", "vm.stat_interval" in text, True
            if mends:
                rtisoctl("mode", "low-jitter")
                yield "mended", status()[0], 0
            said = rtisoctl("mode", "green")
            yield f"mended {mends}: green", kernel.sysctl("vm.stat_interval"), found if mends else "3"
            yield f"mended {mends}: green names what it left", "stat_interval" in said, not mends
        yield "isolated", kernel.isolated(), set()
        kernel.write("/proc/sys/vm/stat_interval", found)


# The machine itself

@case
def a_storm_of_cpus():
    """Those of the set go and come; at the end all is as wanted."""
    for cpu in SETS:
        kernel.write(f"/sys/devices/system/cpu/cpu{cpu}/online", "0")
        kernel.write(f"/sys/devices/system/cpu/cpu{cpu}/online", "1")
    before = snapshot()
    with mode("low-jitter"):
        for i in range(ROUNDS):
            cpu = f"/sys/devices/system/cpu/cpu{1 + i % 3}/online"
            kernel.write(cpu, "0")
            kernel.write(cpu, "1")
        wait_for("the set has its CPUs back", lambda: kernel.isolated() == SETS, 60)
        wait_for("nothing drifts", lambda: status()[0] != 3, 60)
        yield "isolated", kernel.isolated(), SETS
        yield "status", status()[0], 0
    with contextlib.suppress(AssertionError):
        wait_for("nothing differs", lambda: not diff(before, snapshot()), 15)
    yield "what differs", diff(before, snapshot()), []


@case
def a_card_goes_and_comes():
    """A network card's interrupts are new each time: they are kept off the sets."""
    link = next((path for path in glob.glob("/sys/bus/pci/drivers/vmxnet3/0000:*")), None)
    if not link:
        raise Skip("no network card")
    driver, address = os.path.split(link)
    with mode("low-jitter"):
        for _ in range(3):
            kernel.write(f"{driver}/unbind", address)
            kernel.write(f"{driver}/bind", address)
            wait_for("it is there", lambda: os.path.exists("/sys/class/net/eth0"))
            run("ip", "link", "set", "eth0", "up")
        wait_for("its interrupts are there", lambda: any(kernel.irq_name(irq).startswith("eth0") for irq in kernel.irqs()))
        wait_for("they are kept off", lambda: not inside(), 30)
        yield "inside", inside(), []
        yield "status", settled(), 0
        run("ip", "link", "set", "eth0", "down")
    yield "green", kernel.isolated(), set()


@case
def a_program_that_forks_all_the_time():
    """Its children come faster than they can be moved: the switch ends all the same."""
    with drop_in("low-jitter", "[profile]\npinned = adopt\n"), \
            program("sh", "-c", "while :; do /bin/true; done", cpus={2}):
        before = without_tasks(snapshot())
        begin = time.monotonic()
        rtisoctl("mode", "low-jitter")
        yield "seconds", time.monotonic() - begin, lambda seconds: seconds < 60
        yield "isolated", kernel.isolated(), SETS
        yield "status", settled(), 0
        rtisoctl("mode", "green", "--force")
        yield "what differs", diff(before, without_tasks(snapshot())), []


@case
def a_daemon_that_sleeps():
    """SIGSTOP for a while: whoever asks waits, nothing is lost."""
    before = snapshot()
    with mode("low-jitter"):
        pid = daemon()
        os.kill(pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            code, text = status()
            yield "status without it", code, 0
            yield "it is told that it does not answer", "does not answer" in text or text, True
            yield "seconds", time.monotonic() - begin, lambda seconds: seconds < 30
            asked = threading.Thread(target=lambda: run("rtisoctl", "mode", "audio", check=False), daemon=True)
            asked.start()
            kernel.write("/sys/devices/system/cpu/cpu3/online", "0")
            time.sleep(2)
            kernel.write("/sys/devices/system/cpu/cpu3/online", "1")
        finally:
            os.kill(pid, signal.SIGCONT)
        asked.join(60)
        yield "who asked is served", rtisoctl("mode").strip(), "audio"
        rtisoctl("mode", "low-jitter")
        yield "the same daemon", daemon(), pid
        yield "isolated", kernel.isolated(), SETS
    with contextlib.suppress(AssertionError):
        wait_for("nothing differs", lambda: not diff(before, snapshot()), 15)
    yield "what differs", diff(before, snapshot()), []


@case
def a_clock_that_jumps():
    """A way back that waits goes by a clock that does not jump."""
    now, begin = time.time(), time.monotonic()
    rtisoctl("mode", "low-jitter", "--confirm", "600")
    try:
        time.clock_settime(time.CLOCK_REALTIME, now + 86400)
        time.sleep(1)
        yield "a day later it still waits", rtisoctl("mode").strip(), "low-jitter"
        rtisoctl("mode", "--confirmed")
        rtisoctl("mode", "green")
        rtisoctl("mode", "low-jitter", "--confirm", "8")
        time.clock_settime(time.CLOCK_REALTIME, now - 86400)
        wait_for("it goes back by itself", lambda: rtisoctl("mode").strip() == "green", 40)
        yield "a day earlier it does not wait for long", kernel.isolated(), set()
    finally:
        time.clock_settime(time.CLOCK_REALTIME, now + time.monotonic() - begin)
        run("rtisoctl", "mode", "green", "--force", check=False)
