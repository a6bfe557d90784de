/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernel-args.h"
#include "plan-sets.h"
#include "test.h"
#include "tree.h"

#define SET "[cpuset rt]\ncpus = 2-3\n"
#define FULL SET "nohz = full\n"
#define TWO SET "nohz = off\n[cpuset pmd]\ncpus = 4-5\nnohz = full\n"
#define SKEW "/sys/module/kernel/parameters/skew_tick=0\n"
#define PATCHED SKEW "/sys/kernel/cgroup/features=nsdelegate\\ncpuset_nohz\n"
#define CONFIG "/boot/config-6.12.0-test=CONFIG_CPU_ISOLATION=y\\n"
#define MANAGED "isolcpus=managed_irq,2-3 "

/* A profile on a machine of 8 CPUs, booted so, with these other files: the words, and what is wrong (a part of it). */
static const struct {
        const char *profile, *cmdline, *lines, *words, *problem, *note;
} rows[] = {
        { "", "", "", "" },
        { SET, "", "", MANAGED "rcu_nocbs=2-3" },
        { FULL, "", "", MANAGED "nohz_full=2-3" },
        { SET "[keep_off_sets]\nirqs = no\nrcu = no\n", "", "", "" },
        { SET "nohz = off\n", "", "", MANAGED "rcu_nocbs=2-3 nohz=off" },
        { SET "nohz = off\nmax_cstate = POLL\n", "", "", MANAGED "rcu_nocbs=2-3" },
        { SET "nohz = idle\n", "", "", MANAGED "rcu_nocbs=2-3" },
        { SET "[tick]\nskew_tick = on\n", "", "", MANAGED "rcu_nocbs=2-3 skew_tick=1" },
        /* A patched kernel switches these while it runs. */
        { SET "nohz = off\n[tick]\nskew_tick = on\n", "", PATCHED, MANAGED "rcu_nocbs=2-3" },
        { FULL, "", PATCHED, MANAGED "nohz_full=2-3" },
        { TWO, "", PATCHED, "isolcpus=managed_irq,2-5 nohz_full=4-5 rcu_nocbs=2-3" },
        { TWO, "", "", "", "a set wants nohz = off" },
        /* CPUs are ranges. */
        { "[cpuset rt]\ncpus = 1-3,5,7\nnohz = full\n", "", "",
                "isolcpus=managed_irq,1-3,5,7 nohz_full=1-3,5,7" },
        /* What the kernel was built without. */
        { FULL, "", CONFIG "# CONFIG_NO_HZ_FULL is not set\n", MANAGED, NULL, "without CONFIG_NO_HZ_FULL" },
        { FULL, "", CONFIG "CONFIG_NO_HZ_FULL=y\n", MANAGED "nohz_full=2-3" },
        /* What is on the command line beside. */
        { FULL, "ro quiet " MANAGED "nohz_full=2-3", "", MANAGED "nohz_full=2-3" },
        { FULL, "irqaffinity=0-1", "", MANAGED "nohz_full=2-3" },
        { FULL, "irqaffinity=0-2", "", "", "irqaffinity= on the command line sends interrupts to CPU 2," },
        { FULL "[keep_off_sets]\nirqs = no\n", "irqaffinity=0-2", "", "nohz_full=2-3" },
        { FULL, "isolcpus=2-3", "", "", "isolcpus=2-3 on the command line isolates CPUs for good" },
        { FULL, "isolcpus=domain,managed_irq,2-3", "", "", "isolates CPUs for good" },
        { FULL, "isolcpus=managed_irq,4", "", "", "takes no second isolcpus= for other CPUs (2-3)" },
        { FULL, "nohz_full=4-7", "", "", "nohz_full=4-7 is on the command line already" },
        { SET "nohz = off\n", "nohz_full=2-3", "", "",
                "stops the tick of CPUs for which the profile wants it" },
        { FULL, "nohz=off", "", "", "with nohz=off on the command line no tick ever stops" },
        { SET "[tick]\nskew_tick = on\n", "skew_tick=0", "", "", "with skew_tick=0 on the command line" },
        { SET "[tick]\nskew_tick = off\n", "skew-tick=1", "", "", "with skew_tick=1 on the command line" },
        { SET, "cgroup_disable=cpuset", "", "", "there are no partitions" },
        { SET, "systemd.unified_cgroup_hierarchy=0", "", "", "no cgroup v2" },
        { SET, "maxcpus=2", "", "", "CPU 3, which the profile isolates, is not brought up" },
        { SET, "maxcpus=4", "", MANAGED "rcu_nocbs=2-3" },
        /* Words of an earlier profile give way. */
        { FULL, "isolcpus=managed_irq,OWN nohz_full=OWN", "", MANAGED "nohz_full=2-3" },
};

/* `OWN`: a word that the test says is ours. */
static void make(World *world, const char *text, KernelArgs *ret) {
        char *own[] = { (char *) "isolcpus=managed_irq,OWN", (char *) "nohz_full=OWN", NULL };
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
        _cleanup_free_ char *whole = NULL;

        assert_int_equal(util_asprintf(&whole, "[profile]\n%s", text), 0);
        assert_int_equal(kfs_write(world->kfs, "/etc/rtisold/profiles/x.ini", whole), 0);
        assert_int_equal(profile_load(world->kfs, "x", &profile, &errors), 0);
        assert_int_equal(plan_sets(profile, world, NULL, 0, plan), 0);
        assert_int_equal(plan->n_refusals, 0);
        assert_int_equal(kernel_args_make(profile, plan, world, own, ret), 0);
}

static void check(size_t i, const char *what, char *const *got, const char *wanted) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(util_strv_join(got, " ", &text), 0);
        if (!wanted != !*text || (wanted && !strstr(text, wanted)))
                fail_msg("line %zu: %s is '%s', not '%s'", i, what, text, wanted ?: "");
}

static void test_rows(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_world_ World *world = NULL;
                _cleanup_kernel_args_ KernelArgs args = {};
                _cleanup_free_ char *words = NULL;

                tree_put_cpus(tree, 1, 8, 1, false);
                tree_put(tree, "/proc/cmdline", rows[i].cmdline);
                tree_put(tree, "/proc/sys/kernel/osrelease", "6.12.0-test");
                tree_put(tree, "/etc/rtisold/profiles/x.ini", "");
                tree_fill(tree, rows[i].lines);
                assert_int_equal(world_new(tree->kfs, &world), 0);
                assert_int_equal(kernel_args_read(world), 0);
                make(world, rows[i].profile, &args);
                check(i, "the problem", args.problems, rows[i].problem);
                check(i, "the note", args.notes, rows[i].note);
                if (rows[i].problem)
                        continue;
                assert_int_equal(util_strv_join(args.words, " ", &words), 0);
                if (!streq(words, util_strip(strdupa(rows[i].words))))
                        fail_msg("line %zu: %s, not %s", i, words, rows[i].words);
        }
}

/* What the running kernel was booted without. */
static void test_missing(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_world_ World *world = NULL;
        _cleanup_kernel_args_ KernelArgs args = {};

        tree_put_cpus(tree, 1, 8, 1, false);
        tree_put(tree, "/proc/cmdline", "ro nohz_full=2-3");
        tree_put(tree, "/etc/rtisold/profiles/x.ini", "");
        assert_int_equal(world_new(tree->kfs, &world), 0);
        make(world, FULL, &args);
        check(0, "missing", args.missing, "isolcpus=managed_irq,2-3");
        assert_int_equal(util_strv_length(args.missing), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_missing) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
