/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"
#include "value.h"

#pragma GCC visibility push(default)

/* clang-format off */
/* The only door to the kernel and to what else holds a machine's state.  An object is named by a text:
 *
 *   /proc/irq/25/smp_affinity_list         a file, below the root of this context
 *   /sys/kernel/debug/sched/features#NAME  one word of a file: reads `NAME` or `NO_NAME`
 *   task/TID/START/affinity                a cpulist, with CPUs that are away, as Cpus_allowed_list of
 *                                          /proc/TID/status has it; START is field 22 of /proc/TID/stat:
 *                                          -ESRCH where the number was reused
 *   task/TID/START/policy                  `fifo 2`, `other 0`, …; with a third word `reset` where a child
 *                                          falls back to SCHED_OTHER
 *   task/TID/START/cgroup                  the cgroup path of the process (`/system.slice/x.service`)
 *   unit/NAME                              a systemd slice (or cgroup): `absent`, or `cpus=1-3 mems=0`
 *   irqbalance/banned                      CPUs irqbalance was told to leave alone
 *   net/INDEX/…                            a network device's masks and channel counts, see net.h
 *   cycle/CPU                              writing `1` takes the CPU offline and back; reads its online state
 *
 * All but files go through a provider registered for the part before the first slash (providers.h).  On a
 * root other than `/` the providers keep their state in files of that root, so that everything can be tried
 * on a directory, and a file there reads after a write as the kernel's own would (kfs-emulate.h).
 */
/* clang-format on */
typedef struct Kfs Kfs;

/* root: NULL or "/" is the live machine.  A path given to this context never leaves the root, links
 * included. */
int kfs_new(const char *root, Kfs **ret);
void kfs_free(Kfs *kfs);
DEFINE_CLEANUP_POINTER(Kfs, kfs_free)
#define _cleanup_kfs_ _cleanup_(kfs_freep)

bool kfs_is_live(const Kfs *kfs);
const char *kfs_root(const Kfs *kfs);

/* Reads an object whole, of any length.  White space and NUL bytes at the ends are removed; a file that
 * reads empty gives "".  -ENOENT, -ESRCH, -EACCES, … as the kernel says. */
int kfs_read(Kfs *kfs, const char *object, char **ret);
/* The same, as it is: for files that hold many lines or NUL bytes. */
int kfs_read_raw(Kfs *kfs, const char *object, char **ret, size_t *ret_size);
/* kfs_read() and printf in one: kfs_readf(kfs, &text, "/proc/irq/%u/actions", irq). */
int kfs_readf(Kfs *kfs, char **ret, const char *format, ...) _printf_(3, 4);

/* Writes once, in one write(2), without a look at what is there.  -EIO where less was taken than given,
 * -EOPNOTSUPP where nobody provides the object. */
int kfs_write(Kfs *kfs, const char *object, const char *value);

/* Makes an object hold a value: 0 where it held already (no write), 1 where it was written and reads back
 * right. -EBADMSG where the write was accepted and the object reads otherwise; *ret_live (where not NULL) is
 * then, and on success, what it reads.  Any other errno is the kernel's and *ret_live is untouched. */
int kfs_set(Kfs *kfs, const char *object, ValueKind kind, const char *value, const char *within,
        char **ret_live);

/* Names in a folder, sorted with numbers in their order, without dot files. */
int kfs_list(Kfs *kfs, const char *directory, char ***ret);
bool kfs_exists(Kfs *kfs, const char *object);
/* May be written by this process: for probing, never writes. */
bool kfs_is_writable(Kfs *kfs, const char *object);
int kfs_readlink(Kfs *kfs, const char *path, char **ret);
/* Folders: cgroups of a machine without systemd.  Providers call these; they pass the hook like a write. */
int kfs_mkdir(Kfs *kfs, const char *directory);
int kfs_rmdir(Kfs *kfs, const char *directory);
/* A descriptor for poll(2), fstat(2) and reading; opened read-only and without waiting (O_NONBLOCK: a fifo
 * must not hang us), close-on-exec.  Also for directories. */
int kfs_open(Kfs *kfs, const char *path);

/* What holds state and is no file. */
typedef struct KfsProvider {
        const char *scheme; /* `task` */
        int (*read)(Kfs *kfs, void *userdata, const char *object, char **ret);
        int (*write)(Kfs *kfs, void *userdata, const char *object, const char *value);
        void (*free)(void *userdata);
        void (*rest)(void *userdata); /* see kfs_rest(); may be NULL */
} KfsProvider;

/* The provider table must live as long as the context; userdata is freed with it.  Replaces an earlier one.
 */
int kfs_provide(Kfs *kfs, const KfsProvider *provider, void *userdata);
/* What providers keep open from one access for the next is closed: for who will have none for a while. */
void kfs_rest(Kfs *kfs);

/* Where tests make things fail.  Called before (`KFS_BEFORE_…`) and after each access; what it returns below
 * 0 takes the place of the access (before) or of its result (after).  It may also not return.  value is what
 * is written, or was read; NULL for folders and for what could not be read.  Where a provider does its work
 * through several accesses of this context, each of them passes the hook, too. */
typedef enum KfsMoment {
        KFS_BEFORE_READ,
        KFS_AFTER_READ,
        KFS_BEFORE_WRITE,
        KFS_AFTER_WRITE,
} KfsMoment;
typedef int (*KfsHook)(void *userdata, KfsMoment moment, const char *object, const char *value);
void kfs_hook(Kfs *kfs, KfsHook hook, void *userdata);

/* How many writes went through since the context was made: tests of "writes nothing" read it. */
uint64_t kfs_writes(const Kfs *kfs);

#pragma GCC visibility pop
