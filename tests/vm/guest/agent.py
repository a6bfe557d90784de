# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs commands for the test host, which talks to it over a virtio port.

One JSON object a line, binary data in base64.

    host:   {"id": I, "argv": [...]}          start a command
            {"id": I, "in": DATA}             its standard input; "" ends it
    guest:  {"id": I, "out": DATA} and "err"  what it prints
            {"id": I, "exit": STATUS}         it has ended

One command runs at a time.  It is killed when the host asks for another one,
or hangs up and stays away: the driver may tell that the last host has gone only
after the next one's command has been read.
"""

import base64
import glob
import json
import os
import selectors
import signal
import subprocess
import time

PORT = "org.rtisold.agent"
CHUNK = 32768
AWAY_SECONDS = 3
DISPLACED = "/run/displaced-command"


def open_port():
    """The port by its name, without waiting for udev to make a link."""
    while True:
        for name in glob.glob("/sys/class/virtio-ports/*/name"):
            with open(name) as f:
                if f.read().strip() == PORT:
                    device = "/dev/" + name.split("/")[-2]
                    return os.open(device, os.O_RDWR | os.O_NONBLOCK)
        time.sleep(0.2)


class Agent:
    def __init__(self, port):
        self.port = port
        self.select = selectors.DefaultSelector()
        self.buffer = b""
        self.child = None
        self.id = None
        self.away_since = None

    def send(self, **message):
        data = json.dumps({"id": self.id, **message}).encode() + b"\n"
        while data:
            try:
                data = data[os.write(self.port, data):]
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:         # the host has hung up
                return

    def keep_what_ran(self):
        """For whoever asks why a command did not end, before the next one takes its place."""
        with open(DISPLACED, "w") as f:
            if self.child:
                subprocess.run(["ps", "-eo", "pid,ppid,stat,wchan:20,args"], stdout=f, check=False)
            else:
                print("no command ran", file=f)

    def start(self, message):
        self.keep_what_ran()
        self.kill()
        self.id = message["id"]
        try:
            self.child = subprocess.Popen(
                message["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True, cwd=message.get("cwd", "/root"))
        except OSError as error:
            self.send(err=encode(f"{message['argv'][0]}: {error.strerror}\n".encode()))
            self.send(exit=127)
            return
        for word, pipe in (("out", self.child.stdout), ("err", self.child.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self.select.register(pipe, selectors.EVENT_READ, word)

    def kill(self):
        if self.child:
            try:
                os.killpg(self.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.forget()

    def forget(self):
        for pipe in (self.child.stdout, self.child.stderr):
            if pipe in self.select.get_map():
                self.select.unregister(pipe)
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            try:
                pipe.close()
            except OSError:
                pass
        self.child.wait()
        self.child = None

    def relay(self, pipe, word):
        """Pass on what the pipe holds.  False when there is no more."""
        try:
            data = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.send(**{word: encode(data)})
        elif pipe in self.select.get_map():
            self.select.unregister(pipe)
        return bool(data)

    def reap(self):
        """Report the command's end; its children may hold the pipes open."""
        status = self.child.poll()
        if status is None:
            return
        for word, pipe in (("out", self.child.stdout), ("err", self.child.stderr)):
            while self.relay(pipe, word):
                pass
        self.forget()
        self.send(exit=status if status >= 0 else 128 - status)

    def feed(self, data):
        try:
            if data:
                self.child.stdin.write(data)
                self.child.stdin.flush()
            else:
                self.child.stdin.close()
        except OSError:
            pass                    # it does not want its input

    def message(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            return                  # what a host that hung up left behind
        if "argv" in message:
            self.start(message)
        elif self.child and message["id"] == self.id:
            self.feed(base64.b64decode(message["in"]))

    def nobody_there(self):
        now = time.monotonic()
        self.away_since = self.away_since or now
        if now - self.away_since > AWAY_SECONDS:
            self.kill()
        time.sleep(0.1)

    def hear(self):
        try:
            data = os.read(self.port, CHUNK)
        except BlockingIOError:
            self.away_since = None
            return
        if not data:
            self.nobody_there()
            return
        self.away_since = None
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self.message(line)

    def run(self):
        wake, waker = os.pipe()     # SIGCHLD interrupts the wait
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        self.select.register(wake, selectors.EVENT_READ, "wake")
        self.select.register(self.port, selectors.EVENT_READ, "port")
        while True:
            for key, _ in self.select.select():
                if key.data == "port":
                    self.hear()
                elif key.data == "wake":
                    os.read(wake, 64)
                elif self.child and key.fileobj in (self.child.stdout, self.child.stderr):
                    self.relay(key.fileobj, key.data)
            if self.child:
                self.reap()


def encode(data):
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    Agent(open_port()).run()
