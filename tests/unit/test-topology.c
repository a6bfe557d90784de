/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"
#include "topology.h"
#include "tree.h"

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"

static char *format(const CpuList *list) {
        char *text;

        assert_int_equal(cpulist_format(list, &text), 0);
        return text;
}

static void check_masks(const char *name, const Topology *topology, const char *possible,
        const char *present, const char *online, const char *nodes) {
        _cleanup_free_ char *a = format(&topology->possible), *b = format(&topology->present),
                            *c = format(&topology->online), *d = format(&topology->nodes);

        if (!streq(a, possible) || !streq(b, present) || !streq(c, online) || !streq(d, nodes))
                fail_msg("%s: possible %s, present %s, online %s, nodes %s", name, a, b, c, d);
}

/* What is known of the CPUs when files are missing, empty, or end in a NUL byte. */
static void test_masks(void **state) {
        static const struct {
                const char *name, *files, *possible, *present, *online, *nodes;
        } table[] = {
                { "all files", CPU "possible=0-7\n" CPU "present=0-3\n" CPU "online=0-1,3\n" CPU "cpu0/x=\n",
                        "0-7", "0-3", "0-1,3", "0" },
                { "no possible", CPU "present=0-3\n" CPU "online=0-3\n", "0-3", "0-3", "0-3", "0" },
                { "no lists, no online files", CPU "cpu0/x=\n" CPU "cpu1/x=\n" CPU "cpu10/x=\n", "0-1,10",
                        "0-1,10", "0-1,10", "0" },
                { "offline in the middle", CPU "cpu0/x=\n" CPU "cpu1/online=0\n" CPU "cpu2/online=1\n",
                        "0-2", "0-2", "0,2", "0" },
                { "online files that say nothing", CPU "cpu0/online=\n" CPU "cpu1/online=\n", "0-1", "0-1",
                        "0-1", "0" },
                { "SMT off", CPU "possible=0-7\n" CPU "present=0-7\n" CPU "online=0,2,4,6\n", "0-7", "0-7",
                        "0,2,4,6", "0" },
                { "first CPU offline", CPU "possible=0-3\n" CPU "present=0-3\n" CPU "online=1-3\n", "0-3",
                        "0-3", "1-3", "0" },
                { "other folders", CPU "cpu0/x=\n" CPU "cpufreq/x=\n" CPU "cpuidle/x=\n" CPU "cpu1x/x=\n",
                        "0", "0", "0", "0" },
                { "empty lists", CPU "possible=\n" CPU "present=\n" CPU "online=\n" CPU "cpu0/x=\n", "0",
                        "0", "0", "0" },
                { "wider than one word", CPU "possible=0-127\n" CPU "present=0-127\n" CPU "online=0-127\n",
                        "0-127", "0-127", "0-127", "0" },
                { "a node without CPUs",
                        CPU "online=0-1\n" NODE "node0/cpulist=0-1\n" NODE "node1/cpulist=\n" NODE
                            "node2/cpumap=00000000\n",
                        "0-1", "0-1", "0-1", "0" },
                { "sparse nodes",
                        CPU "online=0-3\n" NODE "node2/cpulist=0-1\n" NODE "node72/cpumap=0000,000c\n",
                        "0-3", "0-3", "0-3", "2,72" },
                { "nodes by their links", CPU "online=0-1\n" NODE "node0/cpu0/x=\n" NODE "node3/cpu1/x=\n",
                        "0-1", "0-1", "0-1", "0,3" },
                { "a node's mask names CPUs that are not there",
                        CPU "online=0-1\n" NODE "node0/cpumap=ffffffff,ffffffff\n", "0-1", "0-1", "0-1",
                        "0" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_topology_ Topology *topology = NULL;
                int r;

                tree_fill(tree, table[i].files);
                r = topology_read(tree->kfs, &topology);
                if (r < 0)
                        fail_msg("%s: %d", table[i].name, r);
                check_masks(table[i].name, topology, table[i].possible, table[i].present, table[i].online,
                        table[i].nodes);
        }
}

static void test_no_cpus(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        Topology *topology = NULL;

        assert_int_equal(topology_read(tree->kfs, &topology), -ENODATA);
        assert_null(topology);
}

/* One CPU: `node package core llc siblings llc_cpus capacity`. */
static void check_cpu(const Topology *topology, unsigned number, const char *expected) {
        const TopologyCpu *cpu = topology_cpu(topology, number);
        _cleanup_free_ char *siblings = NULL, *llc = NULL, *text = NULL;

        assert_non_null(cpu);
        siblings = format(&cpu->siblings);
        llc = format(&cpu->llc_cpus);
        assert_int_equal(util_asprintf(&text, "%d %d %d %d %s %s %ld%s", cpu->node, cpu->package, cpu->core,
                                 cpu->llc, siblings, llc, cpu->capacity, cpu->online ? "" : " offline"),
                0);
        if (!streq(text, expected))
                fail_msg("CPU %u: %s, not %s", number, text, expected);
}

static void test_smt_neighbours(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;

        tree_put_cpus(tree, 2, 4, 2, false);
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        check_cpu(topology, 0, "0 0 0 0 0-1 0-3 -1");
        check_cpu(topology, 3, "0 0 1 0 2-3 0-3 -1");
        check_cpu(topology, 4, "1 1 2 1 4-5 4-7 -1");
        check_cpu(topology, 7, "1 1 3 1 6-7 4-7 -1");
        assert_int_equal(topology->n_cores, 4);
        assert_int_equal(topology->n_llcs, 2);
        assert_null(topology_cpu(topology, 8));
}

static void test_smt_apart(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;

        tree_put_cpus(tree, 2, 4, 2, true);
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        check_cpu(topology, 0, "0 0 0 0 0,2 0-3 -1");
        check_cpu(topology, 1, "0 0 1 0 1,3 0-3 -1");
        check_cpu(topology, 2, "0 0 0 0 0,2 0-3 -1");
        check_cpu(topology, 6, "1 1 2 1 4,6 4-7 -1");
}

/* An offline CPU has no topology of its own and takes no core's number. */
static void test_offline(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;

        tree_put_cpus(tree, 1, 4, 1, false);
        tree_put(tree, CPU "online", "0,2-3\n");
        tree_remove(tree, CPU "cpu1/topology/thread_siblings_list");
        tree_remove(tree, CPU "cpu1/topology/physical_package_id");
        tree_remove(tree, CPU "cpu1/cache/index3/level");
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        check_cpu(topology, 1, "0 -1 -1 -1 1  -1 offline");
        check_cpu(topology, 2, "0 0 1 0 2 0-3 -1");
        assert_int_equal(topology->n_cores, 3);
}

/* Old kernels have masks, newer ones core_cpus_list beside thread_siblings_list, new ones only that. */
static void test_names(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;

        tree_fill(tree,
                CPU "present=0-99\n" CPU "cpu0/topology/thread_siblings=00000001,00000000,00000001\n" CPU
                    "cpu64/topology/thread_siblings=00000001,00000000,00000001\n" CPU
                    "cpu2/topology/core_cpus_list=2-3\n" CPU "cpu3/topology/core_cpus=c\n" CPU
                    "cpu4/topology/physical_package_id=-1\n" CPU "cpu5/cpu_capacity=446\n" CPU
                    "cpu5/cpufreq/cpuinfo_max_freq=2000000\n" CPU "cpu6/cpufreq/cpuinfo_max_freq=3900000\n");
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        check_cpu(topology, 0, "0 -1 0 -1 0,64  -1");
        check_cpu(topology, 64, "0 -1 0 -1 0,64  -1");
        check_cpu(topology, 1, "0 -1 1 -1 1  -1");
        check_cpu(topology, 2, "0 -1 2 -1 2-3  -1");
        check_cpu(topology, 3, "0 -1 2 -1 2-3  -1");
        check_cpu(topology, 4, "0 -1 3 -1 4  -1");
        check_cpu(topology, 5, "0 -1 4 -1 5  446");
        check_cpu(topology, 6, "0 -1 5 -1 6  3900000");
        check_cpu(topology, 65, "0 -1 63 -1 65  -1");
}

static void test_last_level_cache(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;

        tree_fill(tree,
                CPU "present=0-3\n" CPU "cpu0/cache/index0/level=1\n" CPU "cpu0/cache/index0/type=Data\n" CPU
                    "cpu0/cache/index0/shared_cpu_list=0\n" CPU "cpu0/cache/index1/level=1\n" CPU
                    "cpu0/cache/index1/type=Instruction\n" CPU "cpu0/cache/index1/shared_cpu_list=0-3\n" CPU
                    "cpu1/cache/index0/level=2\n" CPU "cpu1/cache/index0/type=Unified\n" CPU
                    "cpu1/cache/index0/shared_cpu_map=a\n" CPU "cpu1/cache/index1/level=1\n" CPU
                    "cpu1/cache/index1/shared_cpu_list=1\n" CPU "cpu3/cache/index0/level=2\n" CPU
                    "cpu3/cache/index0/shared_cpu_map=a\n");
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        check_cpu(topology, 0, "0 -1 0 0 0 0 -1");
        check_cpu(topology, 1, "0 -1 1 1 1 1,3 -1");
        check_cpu(topology, 2, "0 -1 2 -1 2  -1");
        check_cpu(topology, 3, "0 -1 3 1 3 1,3 -1");
        assert_int_equal(topology->n_llcs, 2);
}

static void test_siblings(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;
        _cleanup_cpulist_ CpuList cpus = { 0 }, with = { 0 };
        _cleanup_free_ char *text = NULL;

        tree_put_cpus(tree, 1, 8, 2, true);
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        assert_int_equal(cpulist_parse("1,6,200", &cpus, NULL), 0);
        assert_int_equal(topology_siblings(topology, &cpus, &with), 0);
        text = format(&with);
        assert_string_equal(text, "1-2,5-6,200");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_masks),
                cmocka_unit_test(test_no_cpus),
                cmocka_unit_test(test_smt_neighbours),
                cmocka_unit_test(test_smt_apart),
                cmocka_unit_test(test_offline),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_last_level_cache),
                cmocka_unit_test(test_siblings),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
