# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages that run --packages has put here."""

import glob
import os

from case import run

TOOLS = "/usr/lib/rtisold-vm/tools"
# Where a package of ours could leave something.
PLACES = ("/etc/rtisold", "/var/lib/rtisold", "/run/rtisold", "/usr/lib/rtisold", "/usr/include/rtisol", "/usr/bin/rtisoctl",
          "/usr/share/doc/rtisold", "/usr/lib/systemd/system/rtisold*", "/lib/systemd/system/rtisold*",
          "/etc/systemd/system/*/rtisold.service", "/etc/systemd/system/*/rtisold-mode*", "/usr/share/*/*/*rtiso*", "/var/lib/dpkg/info/*rtiso*",
          "/usr/lib/*/librtisol*", "/etc/default/grub.d/*rtiso*", "/var/lib/systemd/deb-systemd-helper-*/*rtiso*",
          "/var/lib/systemd/deb-systemd-helper-*/*/*rtiso*")


def packages(folder=TOOLS):
    return sorted(glob.glob(f"{folder}/*.deb"))


def dpkg(*argv, check=True):
    return run("dpkg", "--force-unsafe-io", *argv, check=check, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def purge():
    return dpkg("--purge", "rtisold", "librtisol-dev", "librtisol0")


def traces():
    return sorted({path for place in PLACES for path in glob.glob(place)})
