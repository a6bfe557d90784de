# SPDX-License-Identifier: LGPL-2.1-or-later
"""A virtual machine under QEMU's software emulation, and commands run in it."""

import base64
import dataclasses
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import cpio
import images

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = "org.rtisold.agent"
IN_GUEST = "usr/lib/rtisold-vm"         # where the guest has tests/vm


class VmError(Exception):
    pass


@dataclasses.dataclass
class Spec:
    """What a machine is made of.  Names are those of images.py."""
    suite: str = "bookworm"
    kernel: str = "6.1"
    cpus: int = 4
    memory: int = 1024                  # MiB
    nodes: int = 1                      # NUMA nodes, with CPUs shared out evenly
    threads: int = 1                    # SMT threads of a core
    nics: int = 0                       # network cards, with an interrupt for each queue
    nvme: int = 0                       # disks whose interrupts the kernel manages
    append: str = ""                    # kernel arguments
    plugin: str = ""                    # a QEMU plugin
    single: bool = False                # one thread of the host for all CPUs
    tree: str = ""                      # files to put in place: a `meson install --destdir`
    extra: tuple = ()                   # more QEMU arguments

    @staticmethod
    def add_arguments(parser):
        parser.add_argument("--suite", default=None, help="bookworm or trixie; fits the kernel by default")
        parser.add_argument("--kernel", default="6.1", help="see images.py --list")
        parser.add_argument("--cpus", type=int, default=4)
        parser.add_argument("--memory", type=int, default=1024, help="MiB")
        parser.add_argument("--nodes", type=int, default=1, help="NUMA nodes")
        parser.add_argument("--threads", type=int, default=1, help="threads of a core")
        parser.add_argument("--nics", type=int, default=0, help="multi-queue network cards")
        parser.add_argument("--nvme", type=int, default=0, help="NVMe disks")
        parser.add_argument("--append", default="", help="kernel arguments")
        # With a thread for each CPU, QEMU 7.2 may go on with code as it was before
        # another CPU patched it: a kernel that traces runs into old break points.
        parser.add_argument("--single", action="store_true", help="emulate all CPUs in one thread")
        parser.add_argument("--plugin", default="", help="a QEMU plugin")
        parser.add_argument("--tree", default="", help="a `meson install --destdir` folder to put in place")
        parser.add_argument("--qemu", action="append", default=[], help="one more QEMU argument")

    @classmethod
    def from_arguments(cls, args):
        values = {key: getattr(args, key) for key in cls.__dataclass_fields__ if key != "extra"}
        values["suite"] = args.suite or ("trixie" if args.kernel.startswith("6.12") else "bookworm")
        return cls(**values, extra=tuple(args.qemu))


def topology(spec):
    cores = spec.cpus // spec.nodes // spec.threads
    argv = ["-smp", f"{spec.cpus},sockets={spec.nodes},cores={cores},threads={spec.threads}",
            "-m", str(spec.memory)]
    if spec.nodes > 1:
        share, memory = spec.cpus // spec.nodes, spec.memory // spec.nodes
        for node in range(spec.nodes):
            argv += ["-object", f"memory-backend-ram,id=mem{node},size={memory}M",
                     "-numa", f"node,nodeid={node},memdev=mem{node},"
                              f"cpus={node * share}-{node * share + share - 1}"]
    return argv


def devices(spec):
    argv = []
    for n in range(spec.nics):
        argv += ["-netdev", f"hubport,id=net{n},hubid=0", "-device", f"vmxnet3,netdev=net{n}"]
    for n in range(spec.nvme):
        argv += ["-blockdev", f"driver=null-co,node-name=nvme{n},read-zeroes=on,size=1073741824",
                 "-device", f"nvme,drive=nvme{n},serial=nvme{n},max_ioqpairs={spec.cpus}"]
    return argv


def kernel_args(spec):
    """Five-level page tables and mitigations cost emulation time and prove
    nothing here; timing loops and checks of the timer fail on a busy host."""
    return ("console=ttyS0 rw root=/dev/vda panic=-1 mitigations=off no5lvl lpj=4000000 no_timer_check "
            "net.ifnames=0 systemd.show_status=0 " + spec.append).strip()


def qemu(spec, state):
    """The QEMU command line; STATE is the machine's folder on the host."""
    root, kernel = images.ensure(spec.suite), images.ensure(spec.kernel)
    argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
            "-no-reboot", "-machine", "q35", "-accel", f"tcg,thread={'single' if spec.single else 'multi'}", "-cpu", "max",
            "-snapshot", "-kernel", f"{kernel}/vmlinuz", "-initrd", f"{state}/initrd",
            "-append", kernel_args(spec), "-serial", f"file:{state}/console.log",
            "-qmp", f"unix:{state}/qmp.sock,server=on,wait=off"]
    argv += topology(spec)
    for name, image in (("root", f"{root}/root.ext4"), ("modules", f"{kernel}/modules.ext4")):
        argv += ["-drive", f"if=none,id={name},file={image},format=raw,cache=unsafe",
                 "-device", f"virtio-blk-pci,drive={name},num-queues={min(spec.cpus, 4)}"]
    argv += ["-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
             "-chardev", f"socket,id=agent,path={state}/agent.sock,server=on,wait=off",
             "-device", f"virtserialport,chardev=agent,name={AGENT}"]
    argv += devices(spec)
    if spec.plugin:
        argv += ["-plugin", spec.plugin]
    return argv + list(spec.extra)


def install(build, tree, folder="", files=()):
    """What `meson install` would install, in TREE, and FILES in a folder of it."""
    os.makedirs(f"{tree}/{folder}")
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", tree],
                   check=True, stdout=sys.stderr)
    for file in files:
        shutil.copy(file, f"{tree}/{folder}")


def add_tree(archive, tree):
    """The files of an install tree.  Debian's /lib and /bin are links."""
    for name in sorted(os.listdir(tree)):
        inside = f"usr/{name}" if name in ("lib", "lib64", "bin", "sbin") else name
        archive.tree(f"{tree}/{name}", f"payload/{inside}")


def write_initrd(spec, path):
    """The kernel's boot modules with our init, the files under test, tests/vm
    and the agent as a service: all in place before systemd starts."""
    archive = cpio.Archive()
    with open(f"{HERE}/guest/init", "rb") as f:
        archive.file("init", f.read(), 0o755)
    if spec.tree:
        add_tree(archive, spec.tree)
    archive.tree(HERE, f"payload/{IN_GUEST}")
    with open(f"{HERE}/guest/agent.service", "rb") as f:
        archive.file("payload/etc/systemd/system/rtisold-agent.service", f.read())
    archive.link("payload/etc/systemd/system/multi-user.target.wants/rtisold-agent.service",
                 "../rtisold-agent.service")
    archive.write(path, base=f"{images.ensure(spec.kernel)}/initramfs")


class Machine:
    """A running machine, known by its folder: QEMU's pid, sockets, console."""

    def __init__(self, state):
        self.state = state

    @classmethod
    def start(cls, spec, state):
        os.makedirs(state, exist_ok=True)
        write_initrd(spec, f"{state}/initrd")
        with open(f"{state}/qemu.log", "wb") as log, open(f"{state}/alive", "w") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)       # held by QEMU for as long as it lives
            child = subprocess.Popen(qemu(spec, state), stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, start_new_session=True, pass_fds=[alive.fileno()])
        with open(f"{state}/pid", "w") as f:
            print(child.pid, file=f)
        machine = cls(state)
        machine.child = child
        return machine

    def pid(self):
        """QEMU's pid, or None when it has ended."""
        try:
            with open(f"{self.state}/alive") as alive:
                fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            with open(f"{self.state}/pid") as f:
                return int(f.read())
        return None

    def stop(self):
        pid = self.pid()
        if pid:
            os.kill(pid, signal.SIGTERM)    # QEMU ends at once, plugins report
        for _ in range(100):
            if not self.pid():
                return
            if hasattr(self, "child"):
                self.child.poll()
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)

    def tail(self, lines=15):
        """The end of the console's log and what QEMU complained of."""
        text = ""
        for name in ("console.log", "qemu.log"):
            try:
                with open(f"{self.state}/{name}", errors="replace") as f:
                    text += "".join(f.readlines()[-lines:])
            except FileNotFoundError:
                pass
        return text

    def session(self, deadline):
        return Session(self, deadline)

    def wait_up(self, deadline):
        """Until systemd has started everything."""
        with self.session(deadline) as session:
            session.run(["systemctl", "is-system-running", "--wait"], out=None)


class Session:
    """A connection to the machine's agent, closed at DEADLINE (monotonic
    time) at the latest."""

    def __init__(self, machine, deadline):
        self.machine = machine
        self.deadline = deadline
        self.buffer = b""
        self.id = 0
        self.socket = self._connect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _connect(self):
        while True:
            end = socket.socket(socket.AF_UNIX)
            try:
                end.connect(f"{self.machine.state}/agent.sock")
            except OSError:
                end.close()
                self._check()
                time.sleep(0.1)
                continue
            end.sendall(b"\n")              # ends what an earlier host left
            return end

    def _check(self):
        if not self.machine.pid():
            raise VmError("QEMU has ended\n" + self.machine.tail())
        if time.monotonic() > self.deadline:
            raise VmError("out of time\n" + self.machine.tail())

    def _send(self, **message):
        data = json.dumps({"id": self.id, **message}).encode() + b"\n"
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise VmError(f"the machine is gone: {error}\n" + self.machine.tail()) from None

    def _messages(self):
        """What the agent says about the present command."""
        while True:
            while b"\n" not in self.buffer:
                self._check()
                if not select.select([self.socket], [], [], 1)[0]:
                    continue
                data = self.socket.recv(65536)
                if not data:
                    raise VmError("QEMU has ended\n" + self.machine.tail())
                self.buffer += data
            line, self.buffer = self.buffer.split(b"\n", 1)
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if message.get("id") == self.id:
                yield message

    def run(self, argv, stdin=b"", out=sys.stdout.buffer, err=sys.stderr.buffer):
        """Run a command, copy its output to OUT and ERR, return its status."""
        self.id = time.time_ns()
        self._send(argv=argv)
        for start in range(0, len(stdin), 32768):
            self._send(**{"in": base64.b64encode(stdin[start:start + 32768]).decode()})
        self._send(**{"in": ""})
        for message in self._messages():
            if "exit" in message:
                return message["exit"]
            for word, stream in (("out", out), ("err", err)):
                if word in message and stream:
                    stream.write(base64.b64decode(message[word]))
                    stream.flush()
