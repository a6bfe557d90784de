/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "topology.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"

static void topology_cpu_done(TopologyCpu *cpu) {
        cpulist_done(&cpu->siblings);
        cpulist_done(&cpu->llc_cpus);
}

void topology_free(Topology *topology) {
        for (size_t i = 0; i < topology->n_cpus; i++)
                topology_cpu_done(&topology->cpus[i]);
        free(topology->cpus);
        cpulist_done(&topology->possible);
        cpulist_done(&topology->present);
        cpulist_done(&topology->online);
        cpulist_done(&topology->nodes);
        cpulist_done(&topology->memory_nodes);
        free(topology);
}

static TopologyCpu *topology_cpu_mutable(Topology *topology, unsigned cpu) {
        size_t low = 0, high = topology->n_cpus;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (topology->cpus[middle].cpu < cpu)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < topology->n_cpus && topology->cpus[low].cpu == cpu ? &topology->cpus[low] : NULL;
}

const TopologyCpu *topology_cpu(const Topology *topology, unsigned cpu) {
        return topology_cpu_mutable((Topology *) topology, cpu);
}

/* What a captured tree may lack or hold as rubbish is unknown, not an error: only lack of memory is. */
static int unknown(int error) {
        return error == -ENOMEM ? error : -ENODATA;
}

/* A list that is not empty, from the file as a list, else from the file as a mask. */
static int read_cpus(Kfs *kfs, const char *list_file, const char *mask_file, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        _cleanup_free_ char *text = NULL;
        int r = list_file ? kfs_read(kfs, list_file, &text) : -ENOENT;

        if (r == 0)
                r = cpulist_parse(text, &list, NULL);
        if ((r < 0 || cpulist_is_empty(&list)) && r != -ENOMEM && mask_file) {
                free(TAKE_PTR(text));
                r = kfs_read(kfs, mask_file, &text);
                if (r == 0)
                        r = cpulist_parse_mask(text, &list);
        }
        if (r < 0)
                return unknown(r);
        if (cpulist_is_empty(&list))
                return -ENODATA;
        *ret = cpulist_take(&list);
        return 0;
}

/* `DIR/LIST` as a list, else `DIR/MASK` as a mask. */
static int read_cpus_in(Kfs *kfs, const char *dir, const char *list, const char *mask, CpuList *ret) {
        _cleanup_free_ char *list_file = NULL, *mask_file = NULL;
        int r = util_asprintf(&list_file, "%s/%s", dir, list);

        if (r == 0)
                r = util_asprintf(&mask_file, "%s/%s", dir, mask);
        if (r < 0)
                return r;
        return read_cpus(kfs, list_file, mask_file, ret);
}

/* The number in a file, or otherwise where there is none. */
static int read_number(Kfs *kfs, const char *dir, const char *file, long otherwise, long *ret) {
        _cleanup_free_ char *text = NULL;
        int64_t value = 0;
        int r = kfs_readf(kfs, &text, "%s/%s", dir, file);

        if (r == 0)
                r = util_parse_i64(text, &value);
        if (r == -ENOMEM)
                return r;
        *ret = r < 0 ? otherwise : (long) value;
        return 0;
}

static int read_id(Kfs *kfs, const char *dir, const char *file, int *ret) {
        long value;
        int r = read_number(kfs, dir, file, -1, &value);

        if (r == 0)
                *ret = value < 0 || value > INT32_MAX ? -1 : (int) value;
        return r;
}

/* The numbers N of the entries PREFIXN of a folder; an empty set where there is no such folder. */
static int list_numbers(Kfs *kfs, const char *dir, const char *prefix, CpuList *ret) {
        _cleanup_cpulist_ CpuList numbers = { 0 };
        _cleanup_strv_ char **names = NULL;
        int r = kfs_list(kfs, dir, &names);

        if (r == -ENOMEM)
                return r;
        STRV_FOREACH (name, names) {
                const char *number = util_startswith(*name, prefix);
                unsigned n;

                if (!number || util_parse_unsigned(number, &n) < 0 || n > CPULIST_MAX)
                        continue;
                r = cpulist_add(&numbers, n);
                if (r < 0)
                        return r;
        }
        *ret = cpulist_take(&numbers);
        return 0;
}

/* A CPU without the file cannot be taken away, and one whose file says nothing is taken for online too. */
static int read_is_online(Kfs *kfs, unsigned cpu, bool *ret) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_readf(kfs, &text, CPU_DIR "/cpu%u/online", cpu);

        if (r == -ENOMEM)
                return r;
        *ret = r < 0 || !streq(text, "0");
        return 0;
}

static int read_online(Kfs *kfs, Topology *topology) {
        int r = read_cpus(kfs, CPU_DIR "/online", NULL, &topology->online);

        if (r != -ENODATA)
                return r;
        CPULIST_FOREACH (cpu, &topology->present) {
                bool online;

                r = read_is_online(kfs, (unsigned) cpu, &online);
                if (r == 0 && online)
                        r = cpulist_add(&topology->online, (unsigned) cpu);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* possible ⊇ present ⊇ online, whatever of the three files there is. */
static int read_masks(Kfs *kfs, Topology *topology) {
        int r = read_cpus(kfs, CPU_DIR "/present", NULL, &topology->present);

        if (r == -ENODATA)
                r = list_numbers(kfs, CPU_DIR, "cpu", &topology->present);
        if (r < 0)
                return r;
        r = read_online(kfs, topology);
        if (r < 0)
                return r;
        r = cpulist_union(&topology->present, &topology->online);
        if (r < 0)
                return r;
        r = read_cpus(kfs, CPU_DIR "/possible", NULL, &topology->possible);
        if (r < 0 && r != -ENODATA)
                return r;
        return cpulist_union(&topology->possible, &topology->present);
}

static int read_siblings(Kfs *kfs, const char *dir, TopologyCpu *cpu) {
        int r = read_cpus_in(kfs, dir, "core_cpus_list", "core_cpus", &cpu->siblings);

        /* The names before core_cpus; kernels have both, captured trees one or the other. */
        if (r == -ENODATA)
                r = read_cpus_in(kfs, dir, "thread_siblings_list", "thread_siblings", &cpu->siblings);
        if (r < 0 && r != -ENODATA)
                return r;
        return cpulist_add(&cpu->siblings, cpu->cpu);
}

/* Looks at one cache of a CPU; takes it where it holds data and is of a higher level than *level. */
static int read_cache(Kfs *kfs, unsigned cpu, const char *index, long *level, CpuList *shared) {
        _cleanup_free_ char *dir = NULL, *type = NULL;
        _cleanup_cpulist_ CpuList cpus = { 0 };
        long this_level = -1;
        int r = util_asprintf(&dir, CPU_DIR "/cpu%u/cache/%s", cpu, index);

        if (r == 0)
                r = read_number(kfs, dir, "level", -1, &this_level);
        if (r < 0)
                return r;
        r = kfs_readf(kfs, &type, "%s/type", dir);
        if (r == -ENOMEM)
                return r;
        if (this_level <= *level || (r == 0 && streq(type, "Instruction")))
                return 0;
        r = read_cpus_in(kfs, dir, "shared_cpu_list", "shared_cpu_map", &cpus);
        if (r < 0)
                return r == -ENODATA ? 0 : r;
        *level = this_level;
        cpulist_done(shared);
        *shared = cpulist_take(&cpus);
        return 0;
}

static int read_caches(Kfs *kfs, TopologyCpu *cpu) {
        _cleanup_free_ char *dir = NULL;
        _cleanup_strv_ char **names = NULL;
        long level = 0;
        int r = util_asprintf(&dir, CPU_DIR "/cpu%u/cache", cpu->cpu);

        if (r < 0)
                return r;
        r = kfs_list(kfs, dir, &names);
        if (r == -ENOMEM)
                return r;
        STRV_FOREACH (name, names) {
                if (!util_startswith(*name, "index"))
                        continue;
                r = read_cache(kfs, cpu->cpu, *name, &level, &cpu->llc_cpus);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_capacity(Kfs *kfs, TopologyCpu *cpu) {
        _cleanup_free_ char *dir = NULL;
        int r = util_asprintf(&dir, CPU_DIR "/cpu%u", cpu->cpu);

        if (r == 0)
                r = read_number(kfs, dir, "cpu_capacity", -1, &cpu->capacity);
        if (r == 0 && cpu->capacity < 0)
                r = read_number(kfs, dir, "cpufreq/cpuinfo_max_freq", -1, &cpu->capacity);
        return r;
}

static int read_cpu(Kfs *kfs, TopologyCpu *cpu) {
        _cleanup_free_ char *dir = NULL;
        int r = util_asprintf(&dir, CPU_DIR "/cpu%u/topology", cpu->cpu);
        if (r == 0)
                r = read_id(kfs, dir, "physical_package_id", &cpu->package);
        if (r == 0)
                r = read_siblings(kfs, dir, cpu);
        if (r == 0)
                r = read_caches(kfs, cpu);
        if (r == 0)
                r = read_capacity(kfs, cpu);
        return r;
}

static int read_all_cpus(Kfs *kfs, Topology *topology) {
        topology->cpus = calloc(cpulist_count(&topology->present), sizeof(TopologyCpu));
        if (!topology->cpus)
                return -ENOMEM;
        CPULIST_FOREACH (number, &topology->present) {
                TopologyCpu *cpu = &topology->cpus[topology->n_cpus++];
                int r;

                *cpu = (TopologyCpu){
                        .cpu = (unsigned) number,
                        .online = cpulist_has(&topology->online, (unsigned) number),
                        .node = -1,
                        .package = -1,
                        .core = -1,
                        .llc = -1,
                        .capacity = -1,
                };
                r = read_cpu(kfs, cpu);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_node(Kfs *kfs, Topology *topology, unsigned node) {
        _cleanup_cpulist_ CpuList cpus = { 0 };
        _cleanup_free_ char *dir = NULL;
        int r = util_asprintf(&dir, NODE_DIR "/node%u", node);

        if (r < 0)
                return r;
        r = read_cpus_in(kfs, dir, "cpulist", "cpumap", &cpus);
        if (r == -ENODATA)
                r = list_numbers(kfs, dir, "cpu", &cpus);
        if (r < 0)
                return r;
        cpulist_intersect(&cpus, &topology->present);
        CPULIST_FOREACH (cpu, &cpus)
                topology_cpu_mutable(topology, (unsigned) cpu)->node = (int) node;
        return cpulist_is_empty(&cpus) ? 0 : cpulist_add(&topology->nodes, node);
}

/* (Documentation/ABI/stable/sysfs-devices-node) */
static int read_memory_nodes(Kfs *kfs, const CpuList *all, CpuList *ret) {
        int r = read_cpus(kfs, NODE_DIR "/has_memory", NULL, ret);

        if (r != -ENODATA)
                return r;
        return cpulist_is_empty(all) ? cpulist_add(ret, 0) : cpulist_copy(all, ret);
}

static int read_nodes(Kfs *kfs, Topology *topology) {
        _cleanup_cpulist_ CpuList nodes = { 0 };
        int r = list_numbers(kfs, NODE_DIR, "node", &nodes);

        r = r ?: read_memory_nodes(kfs, &nodes, &topology->memory_nodes);
        if (r < 0)
                return r;
        CPULIST_FOREACH (node, &nodes) {
                r = read_node(kfs, topology, (unsigned) node);
                if (r < 0)
                        return r;
        }
        if (!cpulist_is_empty(&topology->nodes))
                return 0;
        for (size_t i = 0; i < topology->n_cpus; i++)
                topology->cpus[i].node = 0;
        return cpulist_add(&topology->nodes, 0);
}

/* Counts the cores and the last-level caches in the order of their first online CPUs.  The kernel's own
 * numbers do not do: they repeat from package to package, and differ between SMT siblings on some CPUs. */
static void number_groups(Topology *topology) {
        for (size_t i = 0; i < topology->n_cpus; i++) {
                TopologyCpu *first = &topology->cpus[i];
                bool new_core = first->online && first->core < 0;
                bool new_llc = first->online && first->llc < 0 && !cpulist_is_empty(&first->llc_cpus);

                for (size_t j = i; (new_core || new_llc) && j < topology->n_cpus; j++) {
                        TopologyCpu *cpu = &topology->cpus[j];

                        if (!cpu->online)
                                continue;
                        if (new_core && cpu->core < 0 && cpulist_has(&first->siblings, cpu->cpu))
                                cpu->core = (int) topology->n_cores;
                        if (new_llc && cpu->llc < 0 && cpulist_has(&first->llc_cpus, cpu->cpu))
                                cpu->llc = (int) topology->n_llcs;
                }
                topology->n_cores += new_core;
                topology->n_llcs += new_llc;
        }
}

int topology_read(Kfs *kfs, Topology **ret) {
        _cleanup_topology_ Topology *topology = calloc(1, sizeof(*topology));
        int r;

        if (!topology)
                return -ENOMEM;
        r = read_masks(kfs, topology);
        if (r < 0)
                return r;
        if (cpulist_is_empty(&topology->online))
                return -ENODATA;
        r = read_all_cpus(kfs, topology);
        if (r < 0)
                return r;
        r = read_nodes(kfs, topology);
        if (r < 0)
                return r;
        number_groups(topology);
        *ret = TAKE_PTR(topology);
        return 0;
}

/* The online CPUs whose field at offset is `number`. */
static int collect(const Topology *topology, size_t offset, unsigned number, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        bool exists = false;

        for (size_t i = 0; i < topology->n_cpus; i++) {
                const TopologyCpu *cpu = &topology->cpus[i];
                const int *field = (const int *) ((const char *) cpu + offset);
                int r;

                if (*field < 0 || (unsigned) *field != number)
                        continue;
                exists = true;
                if (!cpu->online)
                        continue;
                r = cpulist_add(&list, cpu->cpu);
                if (r < 0)
                        return r;
        }
        if (!exists)
                return -ENOENT;
        *ret = cpulist_take(&list);
        return 0;
}

int topology_node_cpus(const Topology *topology, unsigned node, CpuList *ret) {
        return collect(topology, offsetof(TopologyCpu, node), node, ret);
}

int topology_package_cpus(const Topology *topology, unsigned package, CpuList *ret) {
        return collect(topology, offsetof(TopologyCpu, package), package, ret);
}

int topology_core_cpus(const Topology *topology, unsigned core, CpuList *ret) {
        return collect(topology, offsetof(TopologyCpu, core), core, ret);
}

int topology_llc_cpus(const Topology *topology, unsigned llc, CpuList *ret) {
        return collect(topology, offsetof(TopologyCpu, llc), llc, ret);
}

int topology_siblings(const Topology *topology, const CpuList *cpus, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        int r = cpulist_copy(cpus, &list);

        if (r < 0)
                return r;
        CPULIST_FOREACH (number, cpus) {
                const TopologyCpu *cpu = topology_cpu(topology, (unsigned) number);

                r = cpu ? cpulist_union(&list, &cpu->siblings) : 0;
                if (r < 0)
                        return r;
        }
        *ret = cpulist_take(&list);
        return 0;
}
