/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"
#include "step.h"
#include "topology.h"

#pragma GCC visibility push(default)

/* What is true on a machine at one moment: all that planning looks at.  Filled by the backends' audit
 * functions, which only read.  `live` is what was read; `found` is what was there before any mode
 * (world_overlay() puts the journal's values there; equal to live in green). */

typedef struct WorldIrq {
        unsigned irq;
        char *name; /* actions joined with `,`, as /proc/irq/N/actions or /proc/interrupts; "" where none */
        char *chip; /* `PCI-MSIX-0000:00:05.0`, "" where unknown */
        CpuList live, found, effective; /* written and effective affinity */
        bool has_effective;
        bool managed;  /* the kernel moves it by itself and refuses writes (isolcpus=managed_irq only) */
        bool writable; /* the file may be written at all (per-CPU interrupts have none) */
        uint64_t
                *counts; /* per possible CPU, index = CPU number; NULL where /proc/interrupts is not there */
        size_t n_counts;
} WorldIrq;

typedef struct WorldTask {
        int tid, pid; /* thread and process */
        int ppid;
        uint64_t start; /* field 22 of /proc/TID/stat */
        char *comm;
        bool kernel;  /* PF_KTHREAD */
        bool fixed;   /* PF_NO_SETAFFINITY: the kernel refuses to move it */
        int policy;   /* SCHED_OTHER, SCHED_FIFO, … */
        int priority; /* 1 to 99 for FIFO and RR */
        int last_cpu;
        char state;          /* R, S, … */
        uint64_t runtime_ns; /* utime + stime in ns */
        CpuList live, found; /* affinity, with CPUs that are away */
        char *cgroup;        /* `/system.slice/x.service`; of the process, "" unknown */
} WorldTask;

/* A network device that the profile has a rule for. */
typedef struct WorldNet {
        unsigned index;      /* ifindex: stays when the device is renamed */
        char *name, *bus;    /* `eth0`; `virtio0`, whose interrupts are its own, or NULL */
        unsigned n_rx, n_tx; /* queues that are there now */
        unsigned *irqs;      /* where its bus tells them; read only for a rule that places them */
        size_t n_irqs;
} WorldNet;

typedef struct WorldCgroup {
        char *path; /* below the cgroup root: `/`, `/system.slice` */
        char *cpus, *effective, *exclusive, *exclusive_effective, *partition,
                *mems;  /* NULL where there is no such file */
        char *isolated; /* the root's `cpuset.cpus.isolated`, where this kernel has it */
        char *subtree_control, *controllers;
        bool populated; /* cgroup.events */
        bool has_tasks; /* cgroup.procs not empty */
} WorldCgroup;

/* A file whose content is all that matters: `object` as kfs names it. */
typedef struct WorldValue {
        char *object;
        char *live; /* NULL: could not be read, see error */
        char *found;
        int error; /* negative errno of the read, 0 */
        bool writable;
} WorldValue;

typedef struct World {
        Kfs *kfs; /* not owned; for backends' audit only, never used by plan */
        Topology *topology;
        char *kernel;  /* /proc/sys/kernel/osrelease, or NULL */
        char *cmdline; /* /proc/cmdline, or NULL */
        char *boot_id;
        char *cgroup_root;  /* "/sys/fs/cgroup", or NULL where there is no cgroup v2 hierarchy with cpuset */
        bool cgroup_hybrid; /* v1 or hybrid: refuse */
        bool systemd;       /* systemd is PID 1 */
        bool lockdown;      /* kernel lockdown: integrity or confidentiality */
        WorldIrq *irqs;
        size_t n_irqs;
        CpuList irq_default_live, irq_default_found;
        WorldTask *tasks;
        size_t n_tasks;
        WorldCgroup *cgroups;
        size_t n_cgroups;
        WorldNet *nets; /* of one profile's rules */
        size_t n_nets;
        WorldValue *values; /* sorted by object */
        size_t n_values;
} World;

/* An empty world with the machine's topology and identity. */
int world_new(Kfs *kfs, World **ret);
void world_free(World *world);
void world_irq_done(WorldIrq *irq);
void world_net_done(WorldNet *net);
DEFINE_CLEANUP_POINTER(World, world_free)
#define _cleanup_world_ _cleanup_(world_freep)

/* Reads one object into world->values, once; a failing read is recorded, not returned (only -ENOMEM is). */
int world_read(World *world, const char *object);
int world_readf(World *world, const char *format, ...) _printf_(2, 3);
/* NULL where it was never read with world_read(). */
const WorldValue *world_value(const World *world, const char *object);
/* The live text, or NULL. */
const char *world_live(const World *world, const char *object);

const WorldCgroup *world_cgroup(const World *world, const char *path);
const WorldIrq *world_irq(const World *world, unsigned irq);

/* Puts the `before` of the steps in force into the `found` fields. */
int world_overlay(World *world, const Steps *in_force);

#pragma GCC visibility pop
