# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is put in rtisold's way on a machine of many users: files, names, processes, callers.  It says what it does not
believe, shows no terminal anything but text, and serves the next one."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

import kernel
from actors import PROFILES, daemon, green, mode, profile, program
from case import case, full, rtisoctl, run, wait_for
from snapshot import diff, snapshot

SETS = {1, 2, 3}
NOBODY = 65534
GOOD = "[sysctl]\nvm.stat_interval = 7\n"
PATH = f"{PROFILES}/odd.ini"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def owned():
    kernel.write(PATH, GOOD)
    os.chown(PATH, NOBODY, 0)


def writable(bits):
    kernel.write(PATH, GOOD)
    os.chmod(PATH, 0o644 | bits)
    os.chown(PATH, 0, 4)


def users_file():
    kernel.write("/var/lib/users.ini", GOOD)
    os.chown("/var/lib/users.ini", NOBODY, NOBODY)
    os.symlink("/var/lib/users.ini", PATH)


def open_folder():
    kernel.write(PATH, GOOD)
    os.chmod(PROFILES, 0o777)


def drop_in_of_a_user():
    kernel.write(PATH, GOOD)
    os.makedirs(f"{PATH}.d")
    kernel.write(f"{PATH}.d/x.ini", GOOD)
    os.chown(f"{PATH}.d/x.ini", NOBODY, 0)


def text(body):
    return lambda: kernel.write(PATH, body)


# what is there, who puts it there, how the switch ends, and what is said
FILES = [
    ("a user's file", owned, 2, "does not belong to root"),
    ("everybody's file", lambda: writable(0o002), 2, "everybody may write"),
    ("a group's file", lambda: writable(0o020), 2, "a group other than root"),
    ("a link to a user's file", users_file, 2, "does not belong to root"),
    ("a folder that is everybody's", open_folder, 2, "everybody may write"),
    ("a user's drop-in", drop_in_of_a_user, 2, "does not belong to root"),
    ("a fifo", lambda: os.mkfifo(PATH), 2, "no regular file"),
    ("a folder", lambda: os.mkdir(PATH), 2, "no regular file"),
    ("a disk", lambda: os.symlink("/dev/vda", PATH), 2, "not there"),       # PrivateDevices=
    ("a link to itself", lambda: os.symlink(PATH, PATH), 2, "odd.ini"),
    ("a file of /proc", lambda: os.symlink("/proc/kmsg", PATH), 2, "masked"),       # it has no size
    ("zeros without end", lambda: os.symlink("/dev/zero", PATH), 2, "no regular file"),
    ("out of /sys", text("[sysfs]\n/sys/../etc/passwd = x\n"), 2, "no file below /sys"),
    ("not in /sys", text("[sysfs]\n/etc/passwd = x\n"), 2, "no file below /sys"),
    ("out of /proc/sys", text("[sysctl]\nkernel/../../../etc/passwd = x\n"), 2, "no sysctl"),
    ("a CPU off", text("[sysfs]\n/sys/devices/system/cpu/cpu3/online = 0\n"), 1, "takes a CPU"),
    ("a card off", text("[sysfs]\n/sys/class/net/lo/flags = 0\n"), 1, "link down"),
    ("sleep", text("[sysfs]\n/sys/power/state = mem\n"), 1, "to sleep"),
    ("no more modules", text("[sysctl]\nkernel.modules_disabled = 1\n"), 1, "before a reboot"),
    ("escapes", text("[profile]\ndescription = \x1b]0;evil\x07\n"), 2, "control character"),
]


@contextlib.contextmanager
def profiles_as_before():
    os.makedirs(PROFILES, exist_ok=True)
    try:
        yield
    finally:
        os.chmod(PROFILES, 0o755)
        shutil.rmtree(f"{PATH}.d", ignore_errors=True)
        with contextlib.suppress(IsADirectoryError, FileNotFoundError):
            os.unlink(PATH)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.rmdir(PATH)


@case
def files_in_a_profiles_place():
    before, interval = snapshot(), kernel.sysctl("vm.stat_interval")
    for what, put, code, wanted in FILES:
        with profiles_as_before():
            put()
            done = run("rtisoctl", "mode", "odd", check=False, timeout=60)
        yield f"{what}: exit status", done.returncode == code or (done.returncode, done.stdout, done.stderr), True
        yield f"{what}: it is said", wanted in done.stderr or done.stderr, True
        yield f"{what}: no control characters", CONTROL.findall(done.stdout + done.stderr), []
    yield "nothing was switched", (rtisoctl("mode").strip(), kernel.sysctl("vm.stat_interval")), ("green", interval)
    yield "what differs", diff(before, snapshot()), []


EVIL = [b"\x1b]0;evil\x07", b") R 1 1 1 0", b"a\nb: c\n", b"\xff\xfe", b"%s%n", b""]


@contextlib.contextmanager
def named(comm, cpus):
    """A process with an odd name, pinned."""
    def prepare():
        os.sched_setaffinity(0, cpus)

    script = "import ctypes, sys, time; ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0); time.sleep(1e5)"
    child = subprocess.Popen(["python3", "-c", script, comm.hex()], preexec_fn=prepare, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)
    try:
        wait_for("it has its name", lambda: b"python3" not in open(f"/proc/{child.pid}/comm", "rb").read())
        yield child.pid
    finally:
        child.kill()
        child.wait()


@case
def names_of_processes():
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(named(comm, {2})) for comm in EVIL]
        before = snapshot()
        done = run("rtisoctl", "mode", "low-jitter", check=False)
        yield "refused", done.returncode, 1
        yield "each is told by its number", [pid for pid in pids if str(pid) not in done.stderr], []
        yield "no control characters", CONTROL.findall(done.stdout + done.stderr), []
        with profile("odd", "[profile]\ninclude = low-jitter\npinned = adopt\n"):
            with mode("odd"):
                said = rtisoctl("status") + rtisoctl("status", "-v")
                yield "status has no control characters", CONTROL.findall(said), []
                yield "those adopted are in the set", [
                    pid for pid in pids if "rtisol-rt.slice" not in kernel.read(f"/proc/{pid}/cgroup")], []
            yield "what differs", diff(before, snapshot()), []
        log = run("journalctl", "-q", "-o", "cat", f"_PID={daemon()}").stdout
        yield "the log has none", CONTROL.findall(log), []


def start_as(pid, cpus):
    """A program with this very number, pinned."""
    for _ in range(200):
        kernel.write("/proc/sys/kernel/ns_last_pid", str(pid - 1))
        child = subprocess.Popen(["sleep", "100000"], preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        if child.pid == pid:
            return child
        child.kill()
        child.wait()
    raise AssertionError(f"nobody got the number {pid}")


@case
def a_number_that_is_somebody_elses():
    """What was recorded of a process that has ended is not given to the one that has its number now."""
    with profile("odd", "[profile]\ninclude = low-jitter\npinned = adopt\n"):
        with program("sleep", "100000", cpus={1, 3}) as pid:
            rtisoctl("mode", "odd")
        other = start_as(pid, {0})
        try:
            before = kernel.Task(pid, pid)
            rtisoctl("mode", "green")
            after = kernel.Task(pid, pid)
            # Before Linux 6.2 a pin to all that is left cannot be told from what it inherited.
            yield "its CPUs", after.affinity, lambda cpus: cpus in ({0}, kernel.online())
            yield "its group", after.cgroup, before.cgroup
        finally:
            other.kill()
            other.wait()


@case
def a_group_and_a_link_with_odd_names():
    group = f"{kernel.CGROUP}/odd\x1b[31m group"
    os.makedirs(group)
    run("ip", "link", "add", "od\x1b[31m", "type", "dummy")
    run("udevadm", "settle")            # which gives it another name
    link = next(name for name in os.listdir("/sys/class/net") if name.startswith("od"))
    try:
        with program("sleep", "100000") as pid:
            kernel.write(f"{group}/cgroup.procs", str(pid))
            before = snapshot()
            with mode("low-jitter"):
                yield "isolated", kernel.isolated(), SETS
                yield "off the set", os.sched_getaffinity(pid) & SETS, set()
                yield "no control characters", CONTROL.findall(rtisoctl("status", "-v")), []
            yield "what differs", diff(before, snapshot()), []
    finally:
        run("ip", "link", "del", link, check=False)
        wait_for("it is empty", lambda: not kernel.read(f"{group}/cgroup.procs"))
        os.rmdir(group)


FLOOD = """
import subprocess, sys, time
end = time.monotonic() + float(sys.argv[1])
at = ["org.rtisold", "/org/rtisold", "org.rtisold.Manager1"]
while time.monotonic() < end:
    for what in (["call", *at, "SetMode", "sa{sv}", "low-jitter", "0"], ["get-property", *at, "Drift"]):
        subprocess.run(["busctl", "--system", *what], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


@case
def a_flood_of_callers_who_may_not():
    """Denied each time, and root is served meanwhile."""
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    before = snapshot()
    crowd = [subprocess.Popen([*as_nobody, "python3", "-c", FLOOD, "12" if full() else "5"]) for _ in range(6)]
    try:
        time.sleep(2)
        begin = time.monotonic()
        rtisoctl("mode", "audio")
        yield "root is served", time.monotonic() - begin, lambda seconds: seconds < 30
    finally:
        for child in crowd:
            child.wait()
    yield "nobody was", (rtisoctl("mode").strip(), kernel.isolated()), ("audio", set())
    for method, argument in (("Reload", ()), ("Lease", ("ss", "low-jitter", "x"))):
        done = run(*as_nobody, "busctl", "--system", "call", "org.rtisold", "/org/rtisold", "org.rtisold.Manager1", method,
                   *argument, check=False)
        yield f"{method} of nobody", done.returncode != 0 or done.stdout, True
    done = run(*as_nobody, "python3", "-c", "import socket; s = socket.socket(socket.AF_UNIX); "
               "s.connect('/run/rtisold/private')", check=False)
    yield "nor does the private socket let him in", "Permission" in done.stderr or done.stderr, True
    green()
    yield "what differs", diff(before, snapshot()), []


@case
def no_room_for_the_journal():
    """/run is full: nothing is begun, and what is in force stays."""
    def fill():
        size = os.statvfs("/run").f_bavail * os.statvfs("/run").f_frsize
        with contextlib.suppress(OSError), open("/run/filler", "wb") as f:
            os.posix_fallocate(f.fileno(), 0, size)
        with contextlib.suppress(OSError), open("/run/filler2", "wb", buffering=0) as f:
            while f.write(b"x" * 4096) > 0:
                pass

    def empty():
        for path in ("/run/filler", "/run/filler2"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    before = snapshot()
    for at, to, isolated in (("green", "low-jitter", set()), ("low-jitter", "dpdk", SETS), ("low-jitter", "green", SETS)):
        rtisoctl("mode", at)
        try:
            fill()
            done = run("rtisoctl", "mode", to, check=False)
            yield f"{at} to {to}: exit status", (done.returncode, done.stderr), lambda pair: pair[0] in (1, 6)
            yield f"{at} to {to}: still", kernel.isolated(), isolated
        finally:
            empty()
        yield f"{at} to {to}: the mode", rtisoctl("mode").strip(), at
    rtisoctl("mode", "green")
    yield "what differs", diff(before, snapshot()), []


@case
def an_admin_in_the_way_of_the_slices():
    """Masked, narrowed by a drop-in, or there already with work in it."""
    before = snapshot()
    for unit in ("rtisol.slice", "rtisol-rt.slice"):
        run("systemctl", "mask", "--runtime", unit)
        try:
            done = run("rtisoctl", "mode", "low-jitter", check=False)
            yield f"{unit} masked: exit status", (done.returncode, done.stderr), lambda pair: pair[0] in (1, 6)
            yield f"{unit} masked: it is named", unit in done.stderr or done.stderr, True
        finally:
            run("systemctl", "unmask", "--runtime", unit)
        green()
        yield f"{unit} masked: what differs", diff(before, snapshot()), []
    run("systemd-run", "--slice=rtisol-rt.slice", "--unit=early", "sleep", "100000")
    try:
        with mode("low-jitter"):
            yield "work was there before: isolated", kernel.isolated(), SETS
            pid = int(run("systemctl", "show", "--property=MainPID", "--value", "early").stdout)
            yield "and it is on the set", os.sched_getaffinity(pid), SETS
        yield "and it lives", os.path.exists(f"/proc/{pid}"), True
    finally:
        run("systemctl", "kill", "--signal=KILL", "early", check=False)
        run("systemctl", "reset-failed", "early", check=False)
        run("systemctl", "stop", "rtisol-rt.slice", "rtisol.slice", check=False)
    yield "what differs", diff(before, snapshot()), []


@case
def the_daemon_killed_over_and_over():
    """More often than systemd restarts it: what is in force stays, and a start by hand adopts it."""
    before = snapshot()
    rtisoctl("mode", "low-jitter")
    for _ in range(7):
        if daemon():
            os.kill(daemon(), signal.SIGKILL)
        time.sleep(0.5)
    yield "isolated", kernel.isolated(), SETS
    yield "status without it", run("rtisoctl", "status", check=False).returncode, 0
    run("systemctl", "reset-failed", "rtisold")
    run("systemctl", "start", "rtisold")
    yield "the mode", rtisoctl("mode").strip(), "low-jitter"
    rtisoctl("mode", "green")
    yield "what differs", diff(before, snapshot()), []
