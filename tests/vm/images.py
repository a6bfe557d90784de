#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guest images: a root file system for each Debian release and a boot set for
each kernel, built from Debian's packages when they are not in the cache.

    images.py [NAME...]        build what is missing (by default all but those of
                           the benchmark and of the long tests), print paths
    images.py --list           print the names

Every image is named by a hash of what it is built from, so a change here makes
a new one; versions are whatever the archive offers on the day of the build.
"""

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import cpio

CACHE = os.environ.get("RTISOLD_CACHE", "/var/cache/rtisold")
MIRROR = "http://deb.debian.org/debian"

SOURCES = {
    suite: [f"deb {MIRROR} {suite} main",
            f"deb {MIRROR} {suite}-updates main",
            f"deb {MIRROR}-security {suite}-security main"]
    for suite in ("bookworm", "trixie")
}

# Root file systems that hold more than others: {name: (suite, packages)}.  The
# rival of the benchmark, a boot loader, and who else manages CPUs would be in the
# way of everything else.
BENCHMARK, RIVALS = "bookworm-tuned", "bookworm-rivals"
LARGER = {BENCHMARK: ("bookworm", ["tuned"]),
          RIVALS: ("bookworm", ["tuned", "podman", "crun", "busybox-static", "libvirt-daemon-system",
                                "libvirt-daemon-driver-lxc", "libvirt-clients", "systemd-container"]),
          "bookworm-grub": ("bookworm", ["grub2-common"])}

# What the guest runs, then what rtisold links to.
PACKAGES = """
    systemd systemd-sysv dbus udev polkitd python3 procps util-linux iproute2
    kmod irqbalance stress-ng strace ethtool dpdk-dev rt-tests
    libsystemd0 libudev1 libnl-3-200 libnl-genl-3-200 libnl-route-3-200
    libnuma1 libinih1 libnettle8 libsmartcols1 libjansson4 libtracefs1
""".split()

# Run inside the new root.  A getty beside the console loses the log's output,
# timers and irqbalance would make tests depend on the time of day; a test that
# wants irqbalance starts it.  A fixed machine ID avoids the first boot's work.
CUSTOMIZE = """
    systemctl mask getty.target serial-getty@ttyS0.service ldconfig.service
    systemctl mask systemd-networkd-wait-online.service
    systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer
    systemctl mask e2scrub_all.timer fstrim.timer man-db.timer
    systemctl mask e2scrub_reap.service systemd-update-utmp.service
    systemctl disable irqbalance.service
    systemctl set-default multi-user.target
    echo rtisold-guest > /etc/hostname
    echo 8f2f7c0d5a944f6f9c3c7d0b2a1e5f64 > /etc/machine-id
    passwd -d root
    rm -rf /usr/share/doc /usr/share/man /usr/share/locale /usr/share/info
    touch /etc/.updated /var/.updated
"""

# name: (suite, package).  They boot with either root file system.
KERNELS = {
    "6.1": ("bookworm", "linux-image-amd64"),
    "6.12": ("trixie", "linux-image-amd64"),
    "6.1-rt": ("bookworm", "linux-image-rt-amd64"),
    "6.12-rt": ("trixie", "linux-image-rt-amd64"),
}

# Needed to reach the root file system and the test agent's port.
BOOT_MODULES = "virtio_pci virtio_blk virtio_console ext4".split()

# Module folders that no virtual machine here has a use for.
SKIP_MODULES = """
    drivers/gpu drivers/media drivers/infiniband drivers/staging drivers/iio
    drivers/scsi drivers/usb drivers/net/wireless drivers/isdn drivers/mtd
    drivers/bluetooth drivers/hid drivers/input drivers/comedi drivers/nfc
    drivers/target drivers/accel sound/soc sound/pci sound/usb net/mac80211
    net/wireless net/bluetooth fs/btrfs fs/xfs fs/ocfs2 fs/gfs2 fs/smb fs/ceph
    fs/nfs fs/nfsd fs/jfs fs/f2fs fs/bcachefs
""".split()


def build_packages():
    """What tests/setup installs on Debian 13 to build rtisold."""
    here = os.path.dirname(os.path.abspath(__file__))
    text = subprocess.check_output([f"{here}/../setup", "--list", "trixie"], text=True)
    return text.split()


def recipe(name):
    """Everything that decides what the image NAME contains."""
    if name == "trixie-build":
        return {"sources": SOURCES["trixie"], "packages": build_packages(), "format": 1}
    if name in KERNELS:
        suite, package = KERNELS[name]
        return {"sources": SOURCES[suite], "package": package,
                "boot": BOOT_MODULES, "skip": SKIP_MODULES, "format": 1}
    suite, more = LARGER.get(name, (name, []))
    return {"sources": SOURCES[suite], "packages": PACKAGES + more,
            "customize": CUSTOMIZE, "format": 1}


def names():
    return list(SOURCES) + list(LARGER) + list(KERNELS) + ["trixie-build"]


def path(name):
    text = json.dumps(recipe(name), sort_keys=True)
    return f"{CACHE}/{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def sh(*argv, **kw):
    subprocess.run(argv, check=True, stdout=sys.stderr, **kw)


def debootstrap(target, sources, variant, packages, hooks=()):
    """mmdebstrap into a directory, without what is only recommended."""
    suite = sources[0].split()[2]
    argv = ["mmdebstrap", "--quiet", "--mode=root", f"--variant={variant}",
            "--format=directory", "--include=" + ",".join(packages),
            "--aptopt=APT::Install-Recommends \"false\"",
            "--aptopt=Acquire::Retries \"5\""]
    argv += [f"--customize-hook={hook}" for hook in hooks]
    sh(*argv, suite, target, "-", input="\n".join(sources), text=True)


def make_ext4(image, folder, spare_mb):
    """FOLDER as a file system image, without mounting anything."""
    used = int(subprocess.check_output(["du", "-sm", folder]).split()[0])
    inodes = sum(len(d) + len(f) for _, d, f in os.walk(folder)) + 8192
    sh("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
       "-N", str(inodes), "-E", "root_owner=0:0", "-d", folder, image,
       f"{used * 12 // 10 + spare_mb}M")


def build_root(name, out):
    root = f"{out}/root"
    script = CUSTOMIZE.strip().replace("\n", " && ")
    asked = recipe(name)
    debootstrap(root, asked["sources"], "minbase", asked["packages"],
                [f"chroot \"$1\" sh -c '{script}'"])
    make_ext4(f"{out}/root.ext4", root, 700)
    shutil.rmtree(root)


def build_chroot(_, out):
    """A plain folder, to build rtisold in on Debian 13."""
    debootstrap(f"{out}/root", SOURCES["trixie"], "minbase", build_packages())


def copy_modules(source, target):
    skip = {os.path.join(source, "kernel", s) for s in SKIP_MODULES}
    shutil.copytree(source, target, symlinks=True, ignore=lambda folder, entries: [
        e for e in entries if os.path.join(folder, e) in skip or e in ("build", "source")])


def boot_modules(stage, version):
    """The files of BOOT_MODULES and what they need, in order of loading."""
    files = []
    for name in BOOT_MODULES:
        lines = subprocess.check_output(
            ["modprobe", "-d", stage, "-S", version, "--show-depends", name], text=True)
        for line in lines.splitlines():
            word, *rest = line.split()
            if word == "insmod" and rest[0] not in files:
                files.append(rest[0])
    return files


def plain(file):
    """A module's bytes; busybox's insmod cannot unpack xz."""
    if file.endswith(".xz"):
        return subprocess.check_output(["xz", "-dc", file])
    with open(file, "rb") as f:
        return f.read()


def either(root, pattern):
    """A file of the packages; newer ones have moved everything to /usr."""
    return (glob.glob(f"{root}/{pattern}") + glob.glob(f"{root}/usr/{pattern}"))[0]


def build_initramfs(out, root, stage, version):
    """busybox and the boot modules.  The init script is not in here: the
    machine adds its own, see machine.py."""
    archive = cpio.Archive()
    for folder in ("bin", "dev", "proc", "sys", "root", "modules"):
        archive.folder(folder)
    with open(either(root, "bin/busybox"), "rb") as f:
        archive.file("bin/busybox", f.read(), 0o755)
    for n, file in enumerate(boot_modules(stage, version)):
        archive.file(f"modules/{n:02}-{os.path.basename(file).split('.')[0]}.ko", plain(file))
    archive.write(f"{out}/initramfs")


def build_kernel(name, out):
    suite, package = KERNELS[name]
    root, stage = f"{out}/packages", f"{out}/stage"
    debootstrap(root, SOURCES[suite], "extract", [package, "busybox-static"])
    modules = either(root, "lib/modules/*")
    version = os.path.basename(modules)
    shutil.copy(f"{root}/boot/vmlinuz-{version}", f"{out}/vmlinuz")
    shutil.copy(f"{root}/boot/config-{version}", f"{out}/config")
    copy_modules(modules, f"{stage}/lib/modules/{version}")
    sh("depmod", "-b", stage, version)
    build_initramfs(out, root, stage, version)
    make_ext4(f"{out}/modules.ext4", f"{stage}/lib/modules", 16)
    with open(f"{out}/version", "w") as f:
        print(version, file=f)
    shutil.rmtree(root)
    shutil.rmtree(stage)


@contextlib.contextmanager
def locked(name):
    os.makedirs(CACHE, exist_ok=True)
    with open(f"{CACHE}/.{name}.lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def builder(name):
    if name in KERNELS:
        return build_kernel
    return build_root if name in SOURCES or name in LARGER else build_chroot


def ensure(name):
    """The folder of image NAME, built first when it is not there."""
    if name not in names():
        raise ValueError(f"no image {name!r}; there are: {', '.join(names())}")
    final = path(name)
    if os.path.isdir(final):
        return final
    with locked(name):
        if not os.path.isdir(final):
            print(f"building the image {name} in {CACHE}", file=sys.stderr)
            out = tempfile.mkdtemp(prefix=f".{name}-", dir=CACHE)
            try:
                builder(name)(name, out)
                os.rename(out, final)
            except BaseException:
                shutil.rmtree(out, ignore_errors=True)
                raise
    return final


def main(argv):
    if argv == ["--list"]:
        print("\n".join(names()))
        return 0
    for name in argv or [name for name in names() if name not in (BENCHMARK, RIVALS)]:
        print(ensure(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
