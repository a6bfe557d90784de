/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program of somebody else: linked with librtisol.so alone, so it knows no more than that exports. */
#include "test.h"

#include "audit.h"
#include "cpuexpr.h"
#include "providers.h"

static void test_evaluate(void **state) {
        _cleanup_kfs_ Kfs *kfs = NULL;
        _cleanup_topology_ Topology *topology = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_free_ char *text = NULL;

        assert_int_equal(kfs_new(NULL, &kfs), 0);
        assert_int_equal(topology_read(kfs, &topology), 0);
        assert_int_equal(cpuexpr_evaluate("all,^N", topology, NULL, NULL, &cpus, NULL), 0);
        assert_int_equal(cpulist_add(&cpus, (unsigned) cpulist_last(&topology->possible)), 0);
        assert_true(cpulist_equal(&cpus, &topology->possible));
        assert_int_equal(cpulist_format(&cpus, &text), 0);
        assert_true(*text);
}

static void test_profile(void **state) {
        _cleanup_kfs_ Kfs *kfs = NULL;
        _cleanup_profile_ Profile *profile = NULL;

        assert_int_equal(kfs_new("/nonexistent", &kfs), -ENOENT);
        assert_int_equal(kfs_new(SOURCE_DIR, &kfs), 0);
        assert_int_equal(providers_add(kfs), 0);
        assert_int_equal(profile_load(kfs, "green", &profile, NULL), 0);
        assert_int_equal(profile_check_file(SOURCE_DIR "/profiles/dpdk.ini", NULL), 0);
        assert_string_equal(mechanism_to_string(MECHANISM_BOOT), "boot");
        assert_null(profile_set(profile, "rt"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_evaluate),
                cmocka_unit_test(test_profile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
