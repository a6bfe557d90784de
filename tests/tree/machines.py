# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees of machines for the tests of rtisoctl, and golden files of what it says about them."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
UPDATE = bool(os.environ.get('UPDATE_GOLDEN'))


class Tap:
    """Counts and prints test cases."""

    def __init__(self):
        self.n = 0
        self.failed = 0

    def note(self, text):
        print('#', text, flush=True)

    def check(self, name, good, *why):
        self.n += 1
        self.failed += not good
        print('ok' if good else 'not ok', self.n, '-', name.replace('#', ''), flush=True)
        if not good:
            for text in why:
                for line in str(text).splitlines():
                    print('#  ', line, flush=True)
        return good

    def equal(self, name, got, expected):
        return self.check(name, got == expected, f'got:      {got!r}', f'expected: {expected!r}')

    def done(self):
        print(f'1..{self.n}', flush=True)
        sys.exit(self.failed > 0)


def put(root, path, text):
    path = root / path.lstrip('/')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def own_tree(text, root):
    """Unpacks a .tree file: lines of PATH=TEXT; a newline, NUL and backslash in TEXT are `\\n`, `\\0` and `\\\\`."""
    for line in text.splitlines():
        if line and not line.startswith('#'):
            path, value = line.split('=', 1)
            put(root, path, re.sub(r'\\([n0\\])', lambda m: {'n': '\n', '0': '\0', '\\': '\\'}[m[1]], value) + '\n')


def archive_name(path):
    return path.name.split('.tar')[0]


def unpack(archive, root):
    """The archive's only folder becomes root."""
    with tarfile.open(archive) as tar:
        for member in tar:
            member.name = '/'.join(member.name.lstrip('./').split('/')[1:])
            if member.name and (member.isfile() or member.isdir() or member.issym()):
                member.mode |= 0o700 if member.isdir() else 0o600
                tar.extract(member, root)


def install_profiles(root, vendor):
    """Puts the shipped profiles where the tree's own rtisold would have them."""
    target = root / vendor.lstrip('/')
    target.mkdir(parents=True)
    for path in (HERE.parent.parent / 'profiles').glob('*.ini'):
        shutil.copy(path, target)


def machines(tap, public, work):
    """Unpacks all machines below the folder work; yields name and root."""
    shutil.rmtree(work, ignore_errors=True)
    for path in sorted((HERE / 'trees').glob('*.tree')):
        own_tree(path.read_text(), work / path.stem)
        yield path.stem, work / path.stem
    archives = sorted(public.glob('*.tar.*')) if public.is_dir() else []
    if not archives:
        tap.note(f'THE PUBLIC MACHINE TREES WERE NOT THERE ({public}): only the own trees are tested')
    for path in archives:
        unpack(path, work / archive_name(path))
        yield archive_name(path), work / archive_name(path)


class Rtisoctl:
    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments, **environment):
        """Exit code, standard output and standard error."""
        env = dict(os.environ, LC_ALL='C.UTF-8', TZ='UTC', **environment)
        done = subprocess.run([self.program, *map(str, arguments)], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def golden(tap, name, text):
    """Compares with the golden file of that name; UPDATE_GOLDEN=1 writes it instead: look at it then."""
    path = HERE / 'golden' / name
    if UPDATE:
        path.write_text(text)
    expected = path.read_text() if path.exists() else ''
    if not tap.check(name, text == expected):
        import difflib
        for line in difflib.unified_diff(expected.splitlines(), text.splitlines(), 'golden', 'now', lineterm=''):
            tap.note('  ' + line)


def arguments():
    """rtisoctl, the folder with the public machines, a folder to unpack into, and the folder of vendor profiles."""
    return Rtisoctl(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
