/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profiles.h"
#include "test.h"

#include <dirent.h>
#include <fnmatch.h>

#include "config.h"
#include "plan.h"

static const char *const shipped[] = { "audio", "base", "dpdk", "green", "kvm-guest", "kvm-host",
        "low-jitter" };

static int ends_in_ini(const struct dirent *entry) {
        return fnmatch("*.ini", entry->d_name, 0) == 0;
}

static char *source_path(const char *name) {
        char *path;

        assert_int_equal(util_asprintf(&path, SOURCE_DIR "/profiles/%s.ini", name), 0);
        return path;
}

static char *read_source(const char *path) {
        _cleanup_fclose_ FILE *f = fopen(path, "r");
        char *text = NULL;
        size_t size = 0;

        assert_non_null(f);
        assert_true(getdelim(&text, &size, '\0', f) > 0);
        return text;
}

/* The profiles as they are installed. */
static void install(Tree *tree) {
        for (size_t i = 0; i < ARRAY_SIZE(shipped); i++) {
                _cleanup_free_ char *path = source_path(shipped[i]), *text = read_source(path);

                tree_putf(tree, text, PROFILE_VENDOR_DIR "/%s.ini", shipped[i]);
        }
}

static void test_files(void **state) {
        struct dirent **entries;
        int n = scandir(SOURCE_DIR "/profiles", &entries, ends_in_ini, alphasort);

        assert_int_equal(n, ARRAY_SIZE(shipped));
        for (int i = 0; i < n; i++) {
                _cleanup_free_ char *name = NULL;

                assert_int_equal(util_asprintf(&name, "%s.ini", shipped[i]), 0);
                assert_string_equal(entries[i]->d_name, name);
                free(entries[i]);
        }
        free(entries);
}

static bool has_set(const char *profile) {
        return !streq(profile, "green") && !streq(profile, "base");
}

static void test_load(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();

        install(tree);
        for (size_t i = 0; i < ARRAY_SIZE(shipped); i++) {
                _cleanup_profile_errors_ ProfileErrors errors = {};
                _cleanup_profile_ Profile *profile = NULL;
                _cleanup_free_ char *path = source_path(shipped[i]), *text = NULL;

                (void) profile_check_file(path, &errors);
                text = profiles_errors(&errors);
                assert_string_equal(text, "");
                assert_int_equal(profile_load(tree->kfs, shipped[i], &profile, NULL), 0);
                assert_true(strlen(profile->description) > 10);
                /* One name in all of them: a switch writes only what differs. */
                assert_int_equal(profile->n_sets, has_set(shipped[i]));
                assert_true(profile->n_sets == 0 || streq(profile->sets[0].name, "rt"));
                /* What only some kernels can do is reported as missing, and refuses nothing. */
                assert_int_equal(profile->require, REQUIRE_PARTITION | REQUIRE_IRQS);
                assert_false(profile->accept_starvation);
                /* None blinds the machine. */
                assert_true(profile->keep_watchdog);
                for (size_t j = 0; j < profile->n_sysctls; j++)
                        assert_null(strstr(profile->sysctls[j].key, "watchdog"));
                for (size_t j = 0; j < profile->n_sysfs; j++) {
                        assert_null(strstr(profile->sysfs[j].key, "machinecheck"));
                        assert_true(profile->sysfs[j].optional);
                }
        }
}

/* What makes each profile what it is. */
static void test_contents(void **state) {
        static const struct {
                const char *name, *section, *key, *value; /* NULL: not set */
        } table[] = {
                { "low-jitter", "cpuset rt", "partition", "isolated" },
                { "low-jitter", "cpuset rt", "nohz", "off" },
                { "low-jitter", "cpuset rt", "rt_push_pull", "off" },
                { "low-jitter", "cpuset rt", "rt_throttling", "on" },
                { "low-jitter", "cpuset rt", "max_cstate", "C1" },
                { "low-jitter", "tick", "skew_tick", "on" },
                { "low-jitter", "sched_features", "-RT_ISOLATE", "on" },
                { "low-jitter", "sysctl", "-kernel.numa_balancing", "0" },
                { "dpdk", "cpuset rt", "nohz", "full" },
                { "dpdk", "cpuset rt", "rt_throttling", "off" },
                { "dpdk", "cpuset rt", "governor", "performance" },
                { "dpdk", "sysfs", "-/sys/kernel/mm/transparent_hugepage/enabled", "never" },
                { "kvm-host", "cpuset rt", "nohz", "full" },
                { "kvm-host", "kthread softirq", "priority", "2" },
                { "kvm-host", "kthread rcu", "priority", "4" },
                { "kvm-host", "kvm", "check_options", "yes" },
                { "kvm-host", "sysfs", "-/sys/kernel/mm/ksm/run", "0" },
                { "kvm-guest", "cpuset rt", "nohz", "full" },
                { "kvm-guest", "cpuset rt", "max_cstate", NULL },
                { "kvm-guest", "cpuset rt", "governor", NULL },
                { "base", "cpuset *", "max_cstate", "C1" },
                { "base", "cpuset *", "governor", "performance" },
                { "audio", "cpuset rt", "partition", "none" },
                { "audio", "cpuset rt", "max_cstate", "C1" },
        };
        _cleanup_tree_ Tree *tree = tree_new();

        install(tree);
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_profile_ Profile *profile = NULL;
                const char *value = NULL;

                assert_int_equal(profile_load(tree->kfs, table[i].name, &profile, NULL), 0);
                for (size_t j = 0; j < profile->n_lines; j++)
                        if (streq(profile->lines[j].section, table[i].section) &&
                                streq(profile->lines[j].key, table[i].key))
                                value = profile->lines[j].value;
                if (!value != !table[i].value || (value && !streq(value, table[i].value)))
                        fail_msg("%s: [%s] %s is %s, not %s", table[i].name, table[i].section, table[i].key,
                                value ?: "unset", table[i].value ?: "unset");
        }
}

static Plan *make_plan(Tree *tree, const char *name) {
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_world_ World *world = NULL;
        Plan *plan;

        assert_int_equal(profile_load(tree->kfs, name, &profile, NULL), 0);
        assert_int_equal(plan_audit(tree->kfs, profile, NULL, &world), 0);
        assert_int_equal(plan_make(profile, world, NULL, 0, &plan), 0);
        return plan;
}

static void assert_cpus(const CpuList *cpus, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(cpulist_format(cpus, &text), 0);
        assert_string_equal(text, expected);
}

/* Every profile on small and large machines, unedited. */
static void test_plan(void **state) {
        static const struct {
                unsigned nodes, cpus_per_node, threads;
                bool apart;
                const char *set, *control, *housekeeping;
        } table[] = {
                { 1, 2, 1, false, "1", "", "0" },
                { 1, 2, 2, false, "1", "", "0" }, /* one core */
                { 1, 4, 1, false, "1-3", "1", "0" },
                { 1, 8, 2, true, "1-3,5-7", "1,5", "0,4" },
                { 4, 64, 2, true, "1-31,33-63,65-95,97-127,129-159,161-191,193-223,225-255",
                        "1,33,65,97,129,161,193,225", "0,32,64,96,128,160,192,224" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();

                install(tree);
                tree_put_cpus(
                        tree, table[i].nodes, table[i].cpus_per_node, table[i].threads, table[i].apart);
                for (size_t j = 0; j < ARRAY_SIZE(shipped); j++) {
                        _cleanup_plan_ Plan *plan = make_plan(tree, shipped[j]);
                        bool control = streq(shipped[j], "kvm-host");

                        if (plan->n_refusals > 0)
                                fail_msg("%s, machine %zu: %s", shipped[j], i, plan->refusals[0].what);
                        if (!has_set(shipped[j]))
                                continue;
                        assert_int_equal(plan->n_sets, 1);
                        assert_cpus(&plan->sets[0].cpus, table[i].set);
                        assert_cpus(&plan->sets[0].control_cpus, control ? table[i].control : "");
                        assert_cpus(&plan->housekeeping, table[i].housekeeping);
                }
        }
}

/* Full preemption where the kernel can change it, and only there. */
static void test_preempt(void **state) {
        static const struct {
                const char *live;
                Mechanism mechanism;
        } table[] = {
                { "none voluntary (full)\n", MECHANISM_RUNTIME },
                { "none (voluntary) full\n", MECHANISM_RUNTIME },
                { NULL, MECHANISM_ABSENT },
        };
        static const char object[] = "/sys/kernel/debug/sched/preempt";

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_plan_ Plan *plan = NULL;
                const Step *step;

                install(tree);
                tree_put_cpus(tree, 1, 4, 1, false);
                if (table[i].live)
                        tree_put(tree, object, table[i].live);
                plan = make_plan(tree, "audio");
                step = steps_find(&plan->steps, object);
                assert_non_null(step);
                assert_int_equal(step->mechanism, table[i].mechanism);
                assert_string_equal(step->wanted, "full");
                if (!table[i].live)
                        continue;
                assert_int_equal(step->kind, VALUE_CHOICE);
                assert_non_null(step->disturbs);
                assert_int_equal(step_holds(step, table[i].live), i == 0);
        }
}

/* The examples of the man page do what it says. */
static void test_man_page(void **state) {
        static const char *const files[] = { "etc/rtisold/profiles/forwarder.ini",
                "etc/rtisold/profiles/low-jitter.ini.d/10-site.ini" };
        _cleanup_free_ char *page = read_source(SOURCE_DIR "/man/rtisold.profile.5.scd");
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_profile_ Profile *forwarder = NULL, *low_jitter = NULL;
        char *p = page;

        install(tree);
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                char *start = strstr(p, "\n```\n"), *end;

                assert_non_null(start);
                end = strstr(start + 5, "\n```\n");
                assert_non_null(end);
                end[1] = '\0';
                tree_put(tree, files[i], start + 5);
                p = end + 5;
        }
        assert_int_equal(profile_load(tree->kfs, "forwarder", &forwarder, NULL), 0);
        assert_int_equal(forwarder->n_sets, 2);
        assert_non_null(profile_set(forwarder, "pmd0"));
        assert_null(profile_set(forwarder, "rt"));
        assert_int_equal(profile_load(tree->kfs, "low-jitter", &low_jitter, NULL), 0);
        assert_string_equal(low_jitter->sets[0].cpus, "auto:2");
        assert_int_equal(low_jitter->sets[0].nohz, NOHZ_OFF);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_load),
                cmocka_unit_test(test_contents),
                cmocka_unit_test(test_plan),
                cmocka_unit_test(test_preempt),
                cmocka_unit_test(test_man_page),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
