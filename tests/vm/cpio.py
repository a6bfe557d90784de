# SPDX-License-Identifier: LGPL-2.1-or-later
"""Write cpio archives of the kind the kernel unpacks as an initramfs."""

import os
import stat


class Archive:
    """Everything belongs to root; folders that a file needs are added."""

    def __init__(self):
        self.parts = []
        self.folders = set()

    def _entry(self, name, mode, data=b""):
        name = name.encode() + b"\0"
        fields = (len(self.parts) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self.parts.append(pad(header + name) + pad(data))

    def folder(self, name, mode=0o755):
        if name in self.folders or not name:
            return
        self.folder(os.path.dirname(name))
        self.folders.add(name)
        self._entry(name, stat.S_IFDIR | mode)

    def file(self, name, data, mode=0o644):
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def tree(self, source, under):
        """A copy of the folder SOURCE as the folder UNDER."""
        for folder, subfolders, files in os.walk(source):
            if folder.endswith("__pycache__"):
                continue
            inside = os.path.normpath(os.path.join(under, os.path.relpath(folder, source)))
            self.folder(inside, stat.S_IMODE(os.stat(folder).st_mode))
            links = [s for s in subfolders if os.path.islink(os.path.join(folder, s))]
            for name in sorted(files + links):
                self._copy(os.path.join(folder, name), os.path.join(inside, name))

    def _copy(self, source, name):
        if os.path.islink(source):
            self.link(name, os.readlink(source))
            return
        with open(source, "rb") as f:
            self.file(name, f.read(), stat.S_IMODE(os.stat(source).st_mode))

    def write(self, path, base=None):
        """Write the archive, after the contents of the archive BASE."""
        with open(path, "wb") as f:
            if base:
                with open(base, "rb") as b:
                    f.write(b.read())
            f.write(b"".join(self.parts))
            trailer = Archive()
            trailer._entry("TRAILER!!!", 0)
            f.write(trailer.parts[0])


def pad(data):
    return data + b"\0" * (-len(data) % 4)
