# SPDX-License-Identifier: LGPL-2.1-or-later
"""What disturbs isolated CPUs, done on purpose: each of these ends with its block."""

import contextlib
import ctypes
import glob
import os
import subprocess
import threading
import time

import kernel
from actors import SPIN, service, value
from case import run, wait_for

SLICE = "rtisol-rt.slice"
LIBC = ctypes.CDLL(None, use_errno=True)


def spinner(unit, *how):
    """A task of the set that never sleeps."""
    return service(unit, *how, "sh", "-c", SPIN, Slice=SLICE)


def python(unit, text, **properties):
    """A program of the set that does something and sleeps."""
    return service(unit, "python3", "-c", text + "\nimport time\ntime.sleep(100000)", Slice=SLICE, **properties)


# A sampling counter on each CPU, for all tasks.
PERF = """
import ctypes, os, struct
for cpu in range(os.cpu_count()):
    attr = struct.pack("IIQQQQQ", 1, 112, 0, 1000, 0, 0, 1 << 10).ljust(112, b"\\0")
    fd = ctypes.CDLL(None).syscall(298, attr, -1, cpu, -1, 0)
    assert fd >= 0, fd
"""

# 8 MiB on node 0, of a program that is free to run where its memory is not.
MEMORY = """
import ctypes
call = ctypes.CDLL(None).syscall
assert call(238, 2, ctypes.byref(ctypes.c_ulong(1)), 64) == 0
block = bytearray(8 << 20)
for i in range(0, len(block), 4096):
    block[i] = 1
assert call(238, 0, 0, 0) == 0
"""

TIMER = """
import ctypes
timer = ctypes.c_void_p()
assert ctypes.CDLL(None).timer_create(2, None, ctypes.byref(timer)) == 0
"""


# On the CPU that sends, a packet by loopback is a soft interrupt.
PACKETS = """
import os, socket
os.sched_setaffinity(0, {3})
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind(("127.0.0.1", 0))
while True:
    end.sendto(b"x", end.getsockname())
    end.recv(1)
"""


def packets():
    return service("packets", "python3", "-c", PACKETS, Slice=SLICE)


def perf_session():
    return service("perfall", "python3", "-c", PERF + "\nimport time\ntime.sleep(100000)")


@contextlib.contextmanager
def rival(name):
    """A service by the name of one that is known."""
    run("cp", "/bin/sleep", f"/run/{name}")
    with service(name, f"/run/{name}", "100000"):
        yield


def stacked():
    return service("stacked", "sh", "-c", f"taskset -c 3 sh -c '{SPIN}' & taskset -c 3 sh -c '{SPIN}' & wait",
                   Slice=SLICE)


@contextlib.contextmanager
def without_daemon():
    """Nobody looks, and the mode stays in force."""
    run("systemctl", "stop", "rtisold.service")
    try:
        yield
    finally:
        run("systemctl", "start", "rtisold.service")


@contextlib.contextmanager
def new_kthread():
    """A kernel thread that is started while no daemon looks."""
    switch = "/sys/class/net/eth0/threaded"
    with without_daemon():
        run("ip", "link", "set", "eth0", "up")
        kernel.write(switch, "1")
        try:
            yield next(t for t in kernel.tasks() if t.comm.startswith("napi/eth0"))
        finally:
            kernel.write(switch, "0")
            run("ip", "link", "set", "eth0", "down")


def irq_of_random():
    """The interrupt of the virtual source of random numbers."""
    device = os.path.basename(glob.glob("/sys/bus/virtio/drivers/virtio_rng/virtio*")[0])
    return kernel.irq_of(f"{device}-input")


def random_bytes():
    """It comes once for every few bytes."""
    with open("/dev/hwrng", "rb", buffering=0) as f:
        for _ in range(8):
            f.read(64)


@contextlib.contextmanager
def mounted(folder, files):
    """Files that stand for those of a kernel that has them."""
    run("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        for name, text in files.items():
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            kernel.write(f"{folder}/{name}", text)
        yield
    finally:
        run("umount", folder)


@contextlib.contextmanager
def bound(path, text):
    """A file of the kernel's that reads otherwise."""
    name = "/run/bound" + path.replace("/", "-")
    kernel.write(name, text)
    run("mount", "--bind", name, path)
    try:
        yield name
    finally:
        run("umount", path)
        os.unlink(name)


@contextlib.contextmanager
def changing(write):
    """Calls write(n) again and again, n growing."""
    stop = threading.Event()

    def go():
        n = 0
        while not stop.wait(0.01):
            n += 1
            write(n)
    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def stat_text(n):
    """/proc/stat where a hypervisor takes half of CPU 3's time."""
    return "".join(f"cpu{cpu} 0 0 0 {n:012d} 0 0 0 {n if cpu == 3 else 0:012d} 0 0\n" for cpu in range(4))


@contextlib.contextmanager
def stolen_time():
    with bound("/proc/stat", stat_text(0)) as name:
        fd = os.open(name, os.O_WRONLY)
        try:
            with changing(lambda n: os.pwrite(fd, stat_text(n).encode(), 0)):
                yield
        finally:
            os.close(fd)


@contextlib.contextmanager
def firmware_interrupts():
    """A count of them that grows, where root reads it."""
    os.makedirs("/dev/cpu/0", exist_ok=True)
    fd = os.open("/dev/cpu/0/msr", os.O_CREAT | os.O_WRONLY)
    try:
        with changing(lambda n: os.pwrite(fd, n.to_bytes(8, "little"), 0x34)):
            yield
    finally:
        os.close(fd)
        run("rm", "-r", "/dev/cpu")


def migratepages():
    """As numactl's does it, which is not installed here."""
    text = """#!/usr/bin/python3
import ctypes, sys
mask = lambda text: ctypes.byref(ctypes.c_ulong(sum(1 << int(n) for n in text.split(","))))
sys.exit(ctypes.CDLL(None).syscall(256, int(sys.argv[1]), 64, mask(sys.argv[2]), mask(sys.argv[3])) < 0)
"""
    kernel.write("/usr/local/bin/migratepages", text)
    os.chmod("/usr/local/bin/migratepages", 0o755)


@contextlib.contextmanager
def throttling(on):
    """Real-time throttling of all CPUs, and where there are fair servers that of CPU 3."""
    server = "/sys/kernel/debug/sched/fair_server/cpu3/runtime"
    with value("/proc/sys/kernel/sched_rt_runtime_us", "950000" if on else "-1"):
        if on or not os.path.exists(server):
            yield
        else:
            with value(server, "0"):
                yield
