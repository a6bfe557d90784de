# SPDX-License-Identifier: LGPL-2.1-or-later
"""`kernel-args` on a machine that boots with GRUB: its own update-grub makes the menu, as on any Debian."""

import os
import re

import kernel
from case import case, rtisoctl, run
from debs import dpkg, packages, purge, traces

MENU = "/boot/grub/grub.cfg"
SITE = "/etc/default/grub"
FOLDERS = "/etc/default", "/etc/kernel", "/boot", "/var/lib/rtisold"


def linux_lines():
    """The command lines of the menu: those of the first entry and of its rescue."""
    return [re.sub(r"^\s*linux\s+\S+\s+", "", line) for line in kernel.read(MENU).splitlines()
            if re.match(r"\s*linux\s", line)]


def files():
    """Everything there, and what it holds."""
    found = {}
    for top in FOLDERS:
        for folder, _, names in os.walk(top):
            found[folder] = "folder"
            found.update({f"{folder}/{name}": kernel.read(f"{folder}/{name}") for name in names})
    return found


def differs(before, after):
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


@case
def installed_and_removed():
    dpkg("--install", *packages())
    os.makedirs("/boot/grub", exist_ok=True)
    # 10_linux makes an entry of any kernel's image that there is.
    kernel.write(f"/boot/vmlinuz-{kernel.release()}", "not booted from")
    kernel.write(SITE, 'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="net.ifnames=0"\n')
    run("update-grub")
    before, plain = files(), linux_lines()
    yield "the menu has entries", len(plain) > 0 and "quiet" in plain[0], True

    words = rtisoctl("kernel-args", "dpdk").split()
    yield "there is something to install", "nohz_full=1-3" in words, True
    said = rtisoctl("kernel-args", "dpdk", "--install")
    yield "it says so", "/etc/default/grub.d/60-rtisold.cfg: changed" in said, True
    yield "the menu's first entry", [word for word in words if word not in linux_lines()[0].split()], []
    yield "what was there stays, in front", linux_lines()[0].startswith(plain[0]), True
    menu = kernel.read(MENU)

    yield "again: nothing to change", "nothing to change" in rtisoctl("kernel-args", "dpdk", "--install"), True
    yield "the menu is the same", kernel.read(MENU) == menu, True
    rtisoctl("kernel-args", "low-jitter", "--install")
    yield "another profile takes its place", ["nohz_full=1-3" in line for line in linux_lines()[:1]], [False]

    rtisoctl("kernel-args", "--remove")
    yield "the menu is as it was", linux_lines(), plain
    yield "no trace is left", differs(before, files()), []
    yield "again: nothing was installed", "nothing was installed" in rtisoctl("kernel-args", "--remove"), True


@case
def purged():
    """With the package goes what it has put there."""
    before, plain = files(), linux_lines()
    rtisoctl("kernel-args", "dpdk", "--install")
    yield "the menu has it", "nohz_full=1-3" in linux_lines()[0], True
    purge()
    yield "the menu is as it was", linux_lines(), plain
    yield "what differs", differs(before, files()), []
    yield "nothing is left", traces(), []
