/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuexpr.h"
#include "test.h"
#include "tree.h"

/* 16 CPUs on two nodes, SMT siblings 4 apart, CPU 5 offline, 16 to 19 possible. */
static Topology *machine(void) {
        _cleanup_tree_ Tree *tree = tree_new();
        Topology *topology;

        tree_put_cpus(tree, 2, 8, 2, true);
        tree_put(tree, "sys/devices/system/cpu/possible", "0-19\n");
        tree_put(tree, "sys/devices/system/cpu/online", "0-4,6-15\n");
        tree_put(tree, "sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
        tree_remove(tree, "sys/devices/system/cpu/cpu5/topology/thread_siblings_list");
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        return topology;
}

static int resolve(void *userdata, const char *name, CpuList *ret) {
        if (streq(name, "rt"))
                return cpulist_parse("2-3", ret, NULL);
        return streq(name, "self") ? -ELOOP : -ENOENT;
}

/* What an expression comes to: the list, or `column: message`. */
static char *evaluate(const char *expression, const Topology *topology) {
        _cleanup_cpulist_ CpuList list = { 0 };
        CpuExprError error = { 0 };
        char *text;

        if (cpuexpr_evaluate(expression, topology, resolve, NULL, &list, &error) == 0) {
                assert_null(error.message);
                assert_int_equal(cpulist_format(&list, &text), 0);
                return text;
        }
        assert_non_null(error.message);
        assert_int_equal(util_asprintf(&text, "%zu: %s", error.column, error.message), 0);
        cpuexpr_error_done(&error);
        return text;
}

static void test_values(void **state) {
        static const struct {
                const char *expression, *expected;
        } table[] = {
                { "3", "3" },
                { "4-7", "4-7" },
                { "5", "5" }, /* offline, which is no error here */
                { "0-15:2/8", "0-1,8-9" },
                { "17", "17" },
                { "all", "0-19" },
                { "N", "19" },
                { "16-N", "16-19" },
                { "N-N", "19" },
                { "0-N:1/10", "0,10" },
                { "online", "0-4,6-15" },
                { "node:0", "0-4,6-7" },
                { "node:0-1", "0-4,6-15" },
                { "node:0,5", "0-7" },
                { "package:1", "8-15" },
                { "core:0", "0,4" },
                { "core:1", "1" },
                { "core:2", "2,6" },
                { "core:2-4", "2-3,6-8,12" },
                { "llc:1", "8-15" },
                { "siblings:2-3", "2-3,6-7" },
                { "siblings:1", "1" },
                { "siblings:5", "" }, /* topology terms give online CPUs */
                { "siblings:17", "" },
                { "set:rt", "2-3" },
                { "auto", "1-3,6-7,9-11,13-15" },
                { "auto:1", "1-3,6-7,9-11,13-15" },
                { "auto:2", "2-3,6-7,10-11,14-15" },
                { "auto:3", "3,7,11,15" },
                { "auto:4", "1-4,6-15" },
                { "auto:99", "1-4,6-15" },
                { "all,^0-3", "4-19" },
                { "0-1, ^0", "1" },
                { " 0-1 ,\t4 ", "0-1,4" },
                { "0-7,^2-5,3", "0-1,3,6-7" },
                { "^0,0-3", "0-3" },
                { "0-3,^0-3", "" },
                { "auto,^set:rt", "1,6-7,9-11,13-15" },
                { "online,^node:1,^siblings:2", "0-1,3-4,7" },
        };
        _cleanup_topology_ Topology *topology = machine();

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = evaluate(table[i].expression, topology);

                if (!streq(text, table[i].expected))
                        fail_msg("\"%s\": %s, not %s", table[i].expression, text, table[i].expected);
        }
}

#define LIST ": write a list, as 0-3,8"
#define HAS16 "which this machine cannot have: it has 0-19"

static void test_errors(void **state) {
        static const struct {
                const char *expression, *expected;
        } table[] = {
                { "", "1: a term is missing" },
                { "  ", "3: a term is missing" },
                { "1,,2", "3: a term is missing" },
                { "1,", "3: a term is missing" },
                { ",1", "1: a term is missing" },
                { "1,^", "4: a term is missing behind ^" },
                { "7-4", "3: \"7-4\" ends before it begins" },
                { "1-0", "3: \"1-0\" ends before it begins" },
                { "2,N-3", "5: \"N-3\" ends before it begins" },
                { "1-", "3: a number is missing at the end of \"1-\"" },
                { "1-3-5", "4: '-' does not belong in \"1-3-5\"" LIST },
                { "-1", "1: '-' does not belong in \"-1\"" LIST },
                { "1 2", "2: \"1 2\" has white space inside: a comma goes between terms" },
                { "0x3", "2: \"0x3\" is a hexadecimal mask" LIST },
                { "0xf,6", "2: \"0xf\" is a hexadecimal mask" LIST },
                { "1_0", "2: '_' does not belong in \"1_0\"" LIST },
                { "\"4-8\"", "1: '\"' does not belong in \"\"4-8\"\"" LIST },
                { "\"4-8", "1: '\"' does not belong in \"\"4-8\"" LIST },
                { "\xd9\xa3", "1: \"\xd9\xa3\" is not written in ASCII" },
                { "0-3:0/2",
                        "5: in \"0-3:0/2\" the CPUs used must be 1 to the size of the group, as in "
                        "0-31:2/8" },
                { "0-3:3/2",
                        "5: in \"0-3:3/2\" the CPUs used must be 1 to the size of the group, as in "
                        "0-31:2/8" },
                { "0-3:1", "6: a number is missing at the end of \"0-3:1\"" },
                { "3:1/2", "2: ':' does not belong in \"3:1/2\"" LIST },
                { "^^1", "2: '^' does not belong in \"^1\"" LIST },
                { "^ 1", "2: no white space goes behind ^" },
                { "70000", "1: the number in \"70000\" is too large" },
                { "0-99999999999", "3: the number in \"0-99999999999\" is too large" },
                { "20", "1: \"20\" names CPU 20, " HAS16 },
                { "0,18-21", "3: \"18-21\" names CPU 20-21, " HAS16 },
                { "all,^20", "6: \"20\" names CPU 20, " HAS16 },
                { "siblings:20", "1: \"siblings:20\" names CPU 20, " HAS16 },
                { "node:2", "6: there is no NUMA node 2 with CPUs: this machine has 0-1" },
                { "1,node:1-4294967295", "8: there is no NUMA node 2 with CPUs: this machine has 0-1" },
                { "package:7", "9: there is no package 7 with CPUs: this machine has 0-1" },
                { "core:8", "6: there is no core 8 with CPUs: this machine has 0-7" },
                { "llc:2", "5: there is no last-level cache 2 with CPUs: this machine has 0-1" },
                { "node:", "6: a number is missing at the end of \"node:\"" },
                { "node:1-0", "8: \"node:1-0\" ends before it begins" },
                { "node:1-", "8: a number is missing at the end of \"node:1-\"" },
                { "node:x", "6: 'x' does not belong in \"node:x\": write a number or two, as 0-1" },
                { "node:4294967296", "6: the number in \"node:4294967296\" is too large" },
                { "node", "5: \"node\" needs to be told which, as in node:0" },
                { "all:1", "4: nothing goes behind \"all\"" },
                { "auto:0", "6: auto leaves at least one core of each node to the rest of the system" },
                { "auto:x", "6: 'x' does not belong in \"auto:x\": write a number or two, as 0-1" },
                { "nodes:0", "1: \"nodes\" is not known; did you mean \"node\"?" },
                { "ato", "1: \"ato\" is not known; did you mean \"auto\"?" },
                { "set:nope", "5: there is no set \"nope\"" },
                { "set:self", "5: set \"self\" is made of itself" },
                { "set:a-b",
                        "5: \"a-b\" is no name of a set: a small letter, then small letters, digits and _" },
                { "set:", "5: \"\" is no name of a set: a small letter, then small letters, digits and _" },
        };
        _cleanup_topology_ Topology *topology = machine();

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = evaluate(table[i].expression, topology);

                if (!streq(text, table[i].expected))
                        fail_msg("\"%s\": %s, not %s", table[i].expression, text, table[i].expected);
        }
}

/* `auto` on small machines: the lists of what is left to the sets. */
static void test_auto(void **state) {
        static const struct {
                unsigned nodes, cpus_per_node, threads;
                bool apart;
                const char *expression, *expected;
        } table[] = {
                { 1, 1, 1, false, "auto", "" },
                { 1, 2, 1, false, "auto", "1" },
                { 1, 2, 2, false, "auto", "1" }, /* one core: all but its first CPU */
                { 2, 1, 1, false, "auto", "1" },
                { 1, 4, 1, false, "auto", "1-3" },
                { 1, 4, 2, false, "auto", "2-3" },
                { 1, 4, 2, true, "auto", "1,3" },
                { 1, 4, 1, false, "auto:2", "2-3" },
                { 4, 16, 2, true, "auto", "1-7,9-15,17-23,25-31,33-39,41-47,49-55,57-63" },
                { 4, 16, 1, false, "auto", "1-15,17-31,33-47,49-63" },
                { 8, 32, 2, false, "auto", "2-31,34-63,66-95,98-127,130-159,162-191,194-223,226-255" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_topology_ Topology *topology = NULL;
                _cleanup_free_ char *text = NULL;

                tree_put_cpus(
                        tree, table[i].nodes, table[i].cpus_per_node, table[i].threads, table[i].apart);
                assert_int_equal(topology_read(tree->kfs, &topology), 0);
                text = evaluate(table[i].expression, topology);
                if (!streq(text, table[i].expected))
                        fail_msg("%u nodes of %u CPUs, %s: %s, not %s", table[i].nodes,
                                table[i].cpus_per_node, table[i].expression, text, table[i].expected);
        }
}

/* `4-N` where N is 3 is wrong on that machine, and never an empty or a whole list. */
static void test_last_before_first(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_topology_ Topology *topology = NULL;
        _cleanup_free_ char *text = NULL;

        tree_put_cpus(tree, 1, 4, 1, false);
        assert_int_equal(topology_read(tree->kfs, &topology), 0);
        text = evaluate("4-N", topology);
        assert_string_equal(text, "3: \"4-N\" ends before it begins");
}

/* The grammar alone: what only another machine can tell is no error. */
static void test_check(void **state) {
        static const struct {
                const char *expression;
                int error;
        } table[] = {
                { "auto", 0 },
                { "4-N", 0 },
                { "500", 0 },
                { "node:77", 0 },
                { "set:other", 0 },
                { "siblings:800", 0 },
                { "core:0-3,^0", 0 },
                { "7-4", -EINVAL },
                { "", -EINVAL },
                { "node", -EINVAL },
                { "set:Big", -EINVAL },
                { "0x3", -EINVAL },
                { "99999", -EINVAL },
                { "auto:0", -EINVAL },
                { "cores:1", -EINVAL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                CpuExprError error = { 0 };
                int r = cpuexpr_check(table[i].expression, &error);

                if (r != table[i].error || (error.message != NULL) != (r < 0))
                        fail_msg("\"%s\": %d", table[i].expression, r);
                cpuexpr_error_done(&error);
                assert_int_equal(cpuexpr_check(table[i].expression, NULL), table[i].error);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_auto),
                cmocka_unit_test(test_last_before_first),
                cmocka_unit_test(test_check),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
