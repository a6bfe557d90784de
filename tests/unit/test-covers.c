/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "covers.h"
#include "plan-sets.h"
#include "test.h"
#include "tree.h"

#define SET "[cpuset rt]\ncpus = 2-3\n"

/* Two profiles: what the first lacks of the second, or "" where it is as strict. */
static const struct {
        const char *a, *b, *why;
} rows[] = {
        { "", "", "" },
        { SET, "", "" },
        { "", SET, "it has no set rt" },
        { SET, SET, "" },
        { "[cpuset rt]\ncpus = 1-3\n", SET, "" },
        { SET, "[cpuset rt]\ncpus = 1-3\n", "set rt: cpus is 2-3, not 1-3" },
        { "[cpuset rt]\ncpus = 2-N\n", SET, "" },
        { SET "nohz = full\n", SET, "" },
        { SET, SET "nohz = full\n", "set rt: nohz is as found, not full" },
        { SET "nohz = full\n", SET "nohz = off\n", "set rt: nohz is full, not off" },
        { SET "rt_push_pull = off\n", SET "rt_push_pull = on\n", "set rt: rt_push_pull is off, not on" },
        { SET "rt_throttling = off\n", SET "rt_throttling = on\n", "set rt: rt_throttling is off, not on" },
        { SET "partition = root\n", SET, "set rt: partition is root, not isolated" },
        { SET "control_cpus = 2\n", SET, "set rt: control_cpus is 2, not " },
        { SET "governor = performance\n", SET, "" },
        { SET, SET "governor = performance\n", "set rt: governor is as found, not performance" },
        { SET "mems = 0\n", SET "mems = local\n", "set rt: mems is 0, not local" },
        { SET "max_cstate = POLL\n", SET "max_cstate = C1\n", "" },
        { SET "max_cstate = C1\n", SET "max_cstate = POLL\n", "set rt: max_cstate is C1, not POLL" },
        { SET "max_cstate = C1\n", SET "max_cstate = any\n", "" },
        { SET "max_cstate = C6\n", SET "max_cstate = C6\n", "" },
        { SET "max_cstate = C6\n", SET "max_cstate = C1\n", "set rt: max_cstate is C6, not C1" },
        { SET "[tick]\nskew_tick = on\n", SET, "" },
        { SET, SET "[tick]\nskew_tick = on\n", "skew_tick is as found, not on" },
        { SET, "[sysctl]\nvm.stat_interval = 10\n", "vm.stat_interval is as found, not 10" },
        { "[sysctl]\nvm.stat_interval = 9\n", "[sysctl]\nvm.stat_interval = 10\n",
                "vm.stat_interval is 9, not 10" },
        { "[sysctl]\n-vm.stat_interval = 10\n", "[sysctl]\nvm.stat_interval = 10\n",
                "vm.stat_interval is optional in it" },
        { "[sysctl]\nvm.stat_interval = 10\n", "[sysctl]\n-vm.stat_interval = 10\n", "" },
        { "", "[sysfs]\n/sys/kernel/x = 1\n", "/sys/kernel/x is as found, not 1" },
        { "", "[sched_features]\nRT_ISOLATE = on\n", "RT_ISOLATE is as found, not on" },
        { SET "[keep_off_sets]\nirqs = no\n", SET, "irqs are not kept off its sets" },
        { SET, SET "[keep_off_sets]\nirqs = no\n", "" },
        { SET "[keep_off_sets]\nexcept = vhost-*\n", SET, "kernel threads vhost-* may stay on its sets" },
        { SET, SET "[keep_off_sets]\nexcept = vhost-*\n", "" },
        { SET, SET "[profile]\nrequire = partition irqs nohz\n", "it does not require nohz" },
        { SET "[irq a]\nmatch = eth0\ncpus = set:rt\n", SET "[irq b]\nmatch = eth0\ncpus = set:rt\n", "" },
        { SET "[irq a]\nmatch = eth0\ncpus = 2\n", SET "[irq b]\nmatch = eth0\ncpus = set:rt\n",
                "it lacks the rule [irq b]" },
        { "[net a]\nmatch = eth0\nrx = 2\n", "[net b]\nmatch = eth0\nrx = 2\n", "" },
        { "[net a]\nmatch = eth0\nrx = 2\n", "[net b]\nmatch = eth0\nrx = auto\n",
                "it lacks the rule [net b]" },
        { "", "[net b]\nmatch = eth0\nrps = none\n", "it lacks the rule [net b]" },
        { "", "[kthread k]\nmatch = a\npolicy = fifo\npriority = 2\n", "it lacks the rule [kthread k]" },
        { SET, SET "[task t]\nmatch = a\nset = rt\n", "it lacks the rule [task t]" },
        { SET "[task t]\nmatch = a\nset = rt\n", SET "[task u]\nmatch = a\nset = rt\n", "" },
};

static Profile *load(Tree *tree, const char *name, const char *text) {
        ProfileErrors errors = {};
        Profile *profile;

        _cleanup_free_ char *whole = NULL;

        /* An empty file would mask it. */
        assert_int_equal(util_asprintf(&whole, "[profile]\n%s", text), 0);
        tree_putf(tree, whole, "/etc/rtisold/profiles/%s.ini", name);
        assert_int_equal(profile_load(tree->kfs, name, &profile, &errors), 0);
        return profile;
}

static Plan *evaluate(const World *world, const Profile *profile) {
        Plan *plan = calloc(1, sizeof(Plan));

        assert_non_null(plan);
        assert_int_equal(plan_sets(profile, world, NULL, 0, plan), 0);
        assert_int_equal(plan->n_refusals, 0);
        return plan;
}

static void test_rows(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_world_ World *world = NULL;

        tree_put_cpus(tree, 1, 4, 1, false);
        assert_int_equal(world_new(tree->kfs, &world), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_profile_ Profile *a = load(tree, "a", rows[i].a), *b = load(tree, "b", rows[i].b);
                _cleanup_plan_ Plan *a_plan = evaluate(world, a), *b_plan = evaluate(world, b);
                _cleanup_free_ char *why = NULL;
                int r = covers(a, a_plan, b, b_plan, &why);

                if (r != !*rows[i].why || !streq(why ?: "", rows[i].why))
                        fail_msg("line %zu: %d %s, not %s", i, r, why ?: "", rows[i].why);
                assert_int_equal(covers(a, a_plan, b, b_plan, NULL), r);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
