/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"
#include "kfs.h"

#pragma GCC visibility push(default)

/* What one CPU is part of.  Numbers are the kernel's; -1 where the machine (or the captured tree) does not
 * say. */
typedef struct TopologyCpu {
        unsigned cpu;
        bool online;
        int node, package, core; /* core: index of the core in the order of the cores' first CPUs */
        int llc;                 /* index of the last-level cache, in the order of their first CPUs */
        CpuList siblings; /* SMT siblings, itself included; offline ones are not known to the kernel */
        CpuList llc_cpus; /* the CPUs that share the last-level cache */
        long capacity;    /* cpu_capacity, or the maximum frequency in kHz: tells hybrid cores apart; -1 */
} TopologyCpu;

typedef struct Topology {
        CpuList possible, present, online;
        CpuList nodes;        /* NUMA nodes that have CPUs; {0} where the kernel knows no nodes */
        CpuList memory_nodes; /* those that have memory; every one where the machine does not say */
        TopologyCpu *cpus;    /* one for each present CPU, ascending */
        size_t n_cpus;
        size_t n_cores, n_llcs;
} Topology;

/* Reads /sys/devices/system/{cpu,node} through kfs.  Copes with captured trees that lack `possible`,
 * `online` or whole topology folders, with CPUs that have no `online` file (they cannot be taken away:
 * online), and with offline CPUs in the middle.  Negative errno. (Documentation/admin-guide/cputopology.rst)
 */
int topology_read(Kfs *kfs, Topology **ret);
void topology_free(Topology *topology);
DEFINE_CLEANUP_POINTER(Topology, topology_free)
#define _cleanup_topology_ _cleanup_(topology_freep)

/* NULL where the CPU is not present. */
const TopologyCpu *topology_cpu(const Topology *topology, unsigned cpu);
/* The online CPUs of a NUMA node, package, core or last-level cache; -ENOENT where there is no such thing.
 */
int topology_node_cpus(const Topology *topology, unsigned node, CpuList *ret);
int topology_package_cpus(const Topology *topology, unsigned package, CpuList *ret);
int topology_core_cpus(const Topology *topology, unsigned core, CpuList *ret);
int topology_llc_cpus(const Topology *topology, unsigned llc, CpuList *ret);
/* These CPUs and the SMT siblings of each. */
int topology_siblings(const Topology *topology, const CpuList *cpus, CpuList *ret);

#pragma GCC visibility pop
