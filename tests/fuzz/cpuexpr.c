/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuexpr.h"
#include "fuzz.h"
#include "test.h"
#include "tree.h"

/* CPU expressions, on a machine of two nodes with threads. */

static Topology *machine(void) {
        static Topology *topology;
        Tree *tree;

        if (topology)
                return topology;
        tree = tree_new();
        tree_put_cpus(tree, 2, 8, 2, true);
        FUZZ_HOLDS(topology_read(tree->kfs, &topology) == 0);
        tree_free(tree);
        return topology;
}

/* `set:a` is 4-7, `set:loop` is being worked out, and there are no others. */
static int sets(void *userdata, const char *name, CpuList *ret) {
        CpuList list = {};

        if (!streq(name, "a"))
                return streq(name, "loop") ? -ELOOP : -ENOENT;
        FUZZ_HOLDS(cpulist_add_range(&list, 4, 7) == 0);
        *ret = list;
        return 0;
}

static void check_error(const char *text, const CpuExprError *error) {
        FUZZ_HOLDS(error->column >= 1 && error->column <= strlen(text) + 1);
        FUZZ_HOLDS(error->message && *error->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size), *printed = NULL;
        _cleanup_cpulist_ CpuList list = {}, again = {};
        CpuExprError grammar = {}, error = {};
        const Topology *topology = machine();
        int checked = cpuexpr_check(text, &grammar);
        int r = cpuexpr_evaluate(text, topology, sets, NULL, &list, &error);

        if (checked < 0)
                check_error(text, &grammar);
        if (r < 0)
                check_error(text, &error);
        /* What is wrong anywhere is wrong here. */
        FUZZ_HOLDS(checked == 0 || r < 0);
        if (r == 0) {
                FUZZ_HOLDS(cpulist_is_subset(&list, &topology->possible));
                FUZZ_HOLDS(cpulist_format(&list, &printed) == 0);
                /* The list that is printed is an expression, too. */
                FUZZ_HOLDS(!*printed || cpuexpr_evaluate(printed, topology, NULL, NULL, &again, NULL) == 0);
                FUZZ_HOLDS(cpulist_equal(&list, &again));
        }
        cpuexpr_error_done(&grammar);
        cpuexpr_error_done(&error);
        return 0;
}
