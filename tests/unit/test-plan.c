/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-sets.h"
#include "test.h"
#include "tree.h"

/* One machine and the sets of one profile; what comes of them. */
typedef struct Row {
        unsigned nodes, cpus_per_node, threads;
        const char *offline; /* CPUs, or NULL */
        const char *a, *b;   /* `cpus =` of the sets a and b; NULL: there is no set b */
        ProfileSmt smt;
        const char *had; /* the CPUs of set a in the mode in force: the plan mends it; NULL: it does not */
        const char *isolated, *housekeeping, *configured; /* configured of set a */
        const char *refusal;                              /* the first one, or NULL */
} Row;

static const Row rows[] = {
        { 1, 4, 1, NULL, "1-3", NULL, SMT_WARN, NULL, "1-3", "0", "1-3", NULL },
        { 1, 4, 1, NULL, "auto", NULL, SMT_WARN, NULL, "1-3", "0", "1-3", NULL },
        { 1, 2, 1, NULL, "auto", NULL, SMT_WARN, NULL, "1", "0", "1", NULL },
        { 4, 16, 1, NULL, "auto", NULL, SMT_WARN, NULL, "1-15,17-31,33-47,49-63", "0,16,32,48",
                "1-15,17-31,33-47,49-63", NULL },
        { 1, 4, 1, NULL, "2-N", "1", SMT_WARN, NULL, "1-3", "0", "2-3", NULL },
        { 1, 4, 1, NULL, "set:b, 3", "1-2", SMT_WARN, NULL, "1-3", "0", "1-3",
                "CPU 1-2 is in set a and in set b" },
        { 1, 4, 1, NULL, "1-2", "2-3", SMT_WARN, NULL, "1-3", "0", "1-2", "CPU 2 is in set a and in set b" },
        { 1, 4, 1, NULL, "0-3", NULL, SMT_WARN, NULL, "0-3", "", "0-3", "no housekeeping CPU is left" },
        { 1, 4, 1, NULL, "1,^1", NULL, SMT_WARN, NULL, "", "0-3", "",
                "set a: cpus = 1,^1 is no CPU at all" },
        { 1, 4, 1, NULL, "4", NULL, SMT_WARN, NULL, "", "0-3", "", "set a: cpus = 4, column 1" },
        { 1, 4, 1, NULL, "set:c", NULL, SMT_WARN, NULL, "", "0-3", "",
                "set a: cpus = set:c, column 5: there is no set" },
        { 1, 4, 1, NULL, "set:b", "set:a", SMT_WARN, NULL, "", "0-3", "", "set b: cpus = set:a, column" },
        { 1, 4, 1, NULL, "3-1", NULL, SMT_WARN, NULL, "", "0-3", "", "set a: cpus = 3-1, column" },
        { 1, 4, 1, "2", "1-3", NULL, SMT_WARN, NULL, "1,3", "0", "1-3", "set a: CPU 2 is offline" },
        { 1, 4, 1, "2", "1-3", NULL, SMT_WARN, "1-3", "1,3", "0", "1-3", NULL },
        { 1, 4, 1, "2", "auto", NULL, SMT_WARN, "1-3", "1,3", "0", "1-3", NULL },
        { 1, 4, 1, "2", "auto", NULL, SMT_WARN, NULL, "1,3", "0", "1,3", NULL },
        { 1, 4, 2, NULL, "3", NULL, SMT_INCLUDE, NULL, "2-3", "0-1", "2-3", NULL },
        { 1, 4, 2, NULL, "3", NULL, SMT_REFUSE, NULL, "3", "0-2", "3", "set a: CPU 2 shares a core" },
        { 1, 4, 2, NULL, "3", NULL, SMT_WARN, NULL, "3", "0-2", "3", NULL },
};

static Tree *row_tree(const Row *row) {
        Tree *tree = tree_new();
        CpuList offline = {};

        tree_put_cpus(tree, row->nodes, row->cpus_per_node, row->threads, false);
        assert_int_equal(cpulist_parse(row->offline ?: "", &offline, NULL), 0);
        CPULIST_FOREACH (cpu, &offline) {
                CpuList online = {};
                char *text;

                tree_putf(tree, "0\n", "/sys/devices/system/cpu/cpu%d/online", cpu);
                assert_int_equal(cpulist_add_range(&online, 0, row->nodes * row->cpus_per_node - 1), 0);
                cpulist_subtract(&online, &offline);
                assert_int_equal(cpulist_format(&online, &text), 0);
                tree_put(tree, "/sys/devices/system/cpu/online", text);
                free(text);
                cpulist_done(&online);
        }
        cpulist_done(&offline);
        return tree;
}

static void assert_list(const Row *row, const char *what, const CpuList *list, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(cpulist_format(list, &text), 0);
        if (!streq(text, expected))
                fail_msg("cpus = %s: %s is %s, not %s", row->a, what, text, expected);
}

static void check_plan(const Row *row, const Plan *plan) {
        const char *refusal = plan->n_refusals > 0 ? plan->refusals[0].what : NULL;

        if (!refusal != !row->refusal || (refusal && !util_startswith(refusal, row->refusal)))
                fail_msg("cpus = %s: refusal is %s, not %s", row->a, refusal ?: "none",
                        row->refusal ?: "none");
        assert_list(row, "isolated", &plan->isolated, row->isolated);
        assert_list(row, "housekeeping", &plan->housekeeping, row->housekeeping);
        assert_list(row, "configured", &plan->sets[0].configured, row->configured);
}

static void check_row(const Row *row) {
        ProfileSet sets[] = {
                { .name = (char *) "a",
                        .cpus = (char *) row->a,
                        .smt = row->smt,
                        .nohz = PROFILE_UNSET,
                        .rt_push_pull = PROFILE_UNSET },
                { .name = (char *) "b",
                        .cpus = (char *) row->b,
                        .smt = row->smt,
                        .nohz = PROFILE_UNSET,
                        .rt_push_pull = PROFILE_UNSET },
        };
        StepSet had = { (char *) "a", (char *) row->had, (char *) "isolated", (char *) "", (char *) "" };
        Steps in_force = { .sets = &had, .n_sets = row->had ? 1 : 0 };
        Profile profile = { .name = (char *) "test", .sets = sets, .n_sets = row->b ? 2 : 1 };
        _cleanup_tree_ Tree *tree = row_tree(row);
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));

        assert_non_null(plan);
        assert_int_equal(world_new(tree->kfs, &world), 0);
        assert_int_equal(plan_sets(&profile, world, &in_force, row->had ? PLAN_MEND : 0, plan), 0);
        check_plan(row, plan);
}

static void test_sets(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                check_row(&rows[i]);
}

static void test_smt_warns(void **state) {
        ProfileSet set = { .name = (char *) "a",
                .cpus = (char *) "3",
                .smt = SMT_WARN,
                .nohz = PROFILE_UNSET,
                .rt_push_pull = PROFILE_UNSET };
        Profile profile = { .name = (char *) "test", .sets = &set, .n_sets = 1 };
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));

        assert_non_null(plan);
        tree_put_cpus(tree, 1, 4, 2, false);
        assert_int_equal(world_new(tree->kfs, &world), 0);
        assert_int_equal(plan_sets(&profile, world, NULL, 0, plan), 0);
        assert_int_equal(util_strv_length(plan->warnings), 1);
        assert_non_null(strstr(plan->warnings[0], "CPU 2 shares a core"));
}

static void test_mems(void **state) {
        static const struct {
                const char *files, *mems, *refusal;
        } table[] = {
                { "", "0", NULL },
                { "", "0-1", NULL },
                { "", "local", NULL },
                { "", "1-3",
                        "set a: mems = 1-3: NUMA node 2-3 is not there or has no memory; those with memory "
                        "are "
                        "0-1" },
                { "/sys/devices/system/node/has_memory=1\n", "1", NULL },
                { "/sys/devices/system/node/has_memory=1\n", "0",
                        "set a: mems = 0: NUMA node 0 is not there or has no memory; those with memory are "
                        "1" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                ProfileSet set = { .name = (char *) "a",
                        .cpus = (char *) "3",
                        .mems = (char *) table[i].mems,
                        .nohz = PROFILE_UNSET,
                        .rt_push_pull = PROFILE_UNSET };
                Profile profile = { .name = (char *) "test", .sets = &set, .n_sets = 1 };
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_world_ World *world = NULL;
                _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
                const char *refusal;

                assert_non_null(plan);
                tree_put_cpus(tree, 2, 4, 1, false);
                tree_fill(tree, table[i].files);
                assert_int_equal(world_new(tree->kfs, &world), 0);
                assert_int_equal(plan_sets(&profile, world, NULL, 0, plan), 0);
                refusal = plan->n_refusals > 0 ? plan->refusals[0].what : NULL;
                if (!streq(refusal ?: "", table[i].refusal ?: ""))
                        fail_msg("mems = %s, %s: %s", table[i].mems, table[i].files, refusal ?: "accepted");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sets),
                cmocka_unit_test(test_smt_warns),
                cmocka_unit_test(test_mems),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
