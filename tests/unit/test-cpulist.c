/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpulist.h"
#include "test.h"

static void test_parse(void **state) {
        static const struct {
                const char *text;
                int error;
                const char *expected; /* the list, or where the error is, as a column */
        } table[] = {
                { "", 0, "" },
                { "\n", 0, "" },
                { "0", 0, "0" },
                { "3\n", 0, "3" },
                { "  0-3,8 \n", 0, "0-3,8" },
                { "0-1, 4", 0, "0-1,4" },
                { "0-1 ,4", 0, "0-1,4" },
                { "7,5,3,4,6", 0, "3-7" },
                { "2-2", 0, "2" },
                { "0-3,2-5", 0, "0-5" },
                { "007", 0, "7" },
                { "0-31:2/8", 0, "0-1,8-9,16-17,24-25" },
                { "0-9:2/4", 0, "0-1,4-5,8-9" },
                { "0-8:2/4", 0, "0-1,4-5,8" },
                { "0-3:1/1", 0, "0-3" },
                { "63-64,127-128", 0, "63-64,127-128" },
                { "65535", 0, "65535" },
                { "65536", -ERANGE, "0" },
                { "0-65536", -ERANGE, "2" },
                { "99999999999999999999", -ERANGE, "0" },
                { "7-4", -EINVAL, "2" },
                { "1-0", -EINVAL, "2" },
                { "1-", -EINVAL, "2" },
                { "-1", -EINVAL, "0" },
                { "1-3-5", -EINVAL, "3" },
                { "1 2", -EINVAL, "2" },
                { "1 - 3", -EINVAL, "2" },
                { "1,,2", -EINVAL, "2" },
                { ",1", -EINVAL, "0" },
                { "1,", -EINVAL, "2" },
                { "0x3", -EINVAL, "1" },
                { "0xf,6", -EINVAL, "1" },
                { "ff", -EINVAL, "0" },
                { "1_0", -EINVAL, "1" },
                { "\xd9\xa3", -EINVAL, "0" }, /* an Arabic three */
                { "\"4-8\"", -EINVAL, "0" },
                { "\"4-8", -EINVAL, "0" },
                { "4-8\"", -EINVAL, "3" },
                { "3:1/2", -EINVAL, "1" },
                { "0-3:", -EINVAL, "4" },
                { "0-3:2", -EINVAL, "5" },
                { "0-3:2/", -EINVAL, "6" },
                { "0-3:0/2", -EINVAL, "4" },
                { "0-3:3/2", -EINVAL, "4" },
                { "0-3:1/0", -EINVAL, "4" },
                { "4-N", -EINVAL, "2" },
                { "None", -EINVAL, "0" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList list = { 0 };
                _cleanup_free_ char *text = NULL;
                size_t column = 999;
                int r = cpulist_parse(table[i].text, &list, &column);

                if (r == 0)
                        assert_int_equal(cpulist_format(&list, &text), 0);
                else
                        assert_int_equal(util_asprintf(&text, "%zu", column), 0);
                if (r != table[i].error || !streq(text, table[i].expected))
                        fail_msg("\"%s\": %d, %s", table[i].text, r, text);
        }
}

static void test_mask(void **state) {
        static const struct {
                const char *text;
                int error;
                const char *list;
        } table[] = {
                { "0", 0, "" },
                { "f\n", 0, "0-3" },
                { "F", 0, "0-3" },
                { "00000001,00000000,00000000", 0, "64" },
                { "00000002,00000000,00000000", 0, "65" },
                { "000c00,f000c00f", 0, "0-3,14-15,28-31,42-43" },
                { "00000c00,f000c00f", 0, "0-3,14-15,28-31,42-43" },
                { "00000000,00000000,00000003", 0, "0-1" },
                { "80000000,0", 0, "63" },
                { "00ffffff,,,0", -EINVAL, "" },
                { "", -EINVAL, "" },
                { ",1", -EINVAL, "" },
                { "1,", -EINVAL, "" },
                { "000000001", -EINVAL, "" },
                { "0x3", -EINVAL, "" },
                { "f f", -EINVAL, "" },
                { "0-3", -EINVAL, "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList list = { 0 };
                _cleanup_free_ char *text = NULL;
                int r = cpulist_parse_mask(table[i].text, &list);

                assert_int_equal(cpulist_format(&list, &text), 0);
                if (r != table[i].error || !streq(text, table[i].list))
                        fail_msg("\"%s\": %d, %s", table[i].text, r, text);
        }
}

/* A machine of the widest kind, and one bit too many. */
static void test_mask_width(void **state) {
        _cleanup_cpulist_ CpuList list = { 0 }, again = { 0 };
        _cleanup_free_ char *text = NULL, *wider = NULL, *zeros = NULL;

        assert_int_equal(cpulist_add(&list, CPULIST_MAX), 0);
        assert_int_equal(cpulist_format_mask(&list, 0, &text), 0);
        assert_int_equal(strlen(text), (CPULIST_MAX + 1) / 32 * 9 - 1);
        assert_int_equal(cpulist_parse_mask(text, &again), 0);
        assert_true(cpulist_equal(&list, &again));
        assert_int_equal(util_asprintf(&wider, "1,%s", text), 0);
        cpulist_done(&again);
        assert_int_equal(cpulist_parse_mask(wider, &again), -ERANGE);
        assert_int_equal(util_asprintf(&zeros, "00000000,%s", text), 0);
        assert_int_equal(cpulist_parse_mask(zeros, &again), 0);
        assert_true(cpulist_equal(&list, &again));
}

static void test_format_mask(void **state) {
        static const struct {
                const char *list;
                unsigned n_cpus;
                const char *mask;
        } table[] = {
                { "", 0, "00000000" },
                { "0-3", 4, "0000000f" },
                { "0-3", 64, "00000000,0000000f" },
                { "65", 4, "00000002,00000000,00000000" },
                { "0,31,32,95", 96, "80000000,00000001,80000001" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList list = { 0 };
                _cleanup_free_ char *mask = NULL;

                assert_int_equal(cpulist_parse(table[i].list, &list, NULL), 0);
                assert_int_equal(cpulist_format_mask(&list, table[i].n_cpus, &mask), 0);
                if (!streq(mask, table[i].mask))
                        fail_msg("\"%s\" of %u: %s", table[i].list, table[i].n_cpus, mask);
        }
}

static void test_sets(void **state) {
        static const struct {
                const char *a, *b, *both, *any, *without;
                bool subset, equal;
        } table[] = {
                { "", "", "", "", "", true, true },
                { "", "3", "", "3", "", true, false },
                { "3", "", "", "3", "3", false, false },
                { "0-3", "2-5", "2-3", "0-5", "0-1", false, false },
                { "2-3", "0-7", "2-3", "0-7", "", true, false },
                { "0-3,200", "2-5", "2-3", "0-5,200", "0-1,200", false, false },
                { "2-5", "0-3,200", "2-3", "0-5,200", "4-5", false, false },
                { "64", "64", "64", "64", "", true, true },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList a = { 0 }, b = { 0 }, both = { 0 }, any = { 0 }, without = { 0 };
                _cleanup_free_ char *s_both = NULL, *s_any = NULL, *s_without = NULL;

                assert_int_equal(cpulist_parse(table[i].a, &a, NULL), 0);
                assert_int_equal(cpulist_parse(table[i].b, &b, NULL), 0);
                assert_int_equal(cpulist_copy(&a, &both), 0);
                assert_int_equal(cpulist_copy(&a, &any), 0);
                assert_int_equal(cpulist_copy(&a, &without), 0);
                cpulist_intersect(&both, &b);
                assert_int_equal(cpulist_union(&any, &b), 0);
                cpulist_subtract(&without, &b);
                assert_int_equal(cpulist_format(&both, &s_both), 0);
                assert_int_equal(cpulist_format(&any, &s_any), 0);
                assert_int_equal(cpulist_format(&without, &s_without), 0);
                if (!streq(s_both, table[i].both) || !streq(s_any, table[i].any) ||
                        !streq(s_without, table[i].without) ||
                        cpulist_is_subset(&a, &b) != table[i].subset ||
                        cpulist_equal(&a, &b) != table[i].equal || cpulist_equal(&b, &a) != table[i].equal ||
                        cpulist_intersects(&a, &b) != !cpulist_is_empty(&both))
                        fail_msg("\"%s\" and \"%s\": %s, %s, %s", table[i].a, table[i].b, s_both, s_any,
                                s_without);
        }
}

/* A list that once was wider is the same set as one that never was. */
static void test_width_is_no_value(void **state) {
        _cleanup_cpulist_ CpuList wide = { 0 }, narrow = { 0 };

        assert_int_equal(cpulist_parse("1,500", &wide, NULL), 0);
        assert_int_equal(cpulist_parse("1", &narrow, NULL), 0);
        cpulist_remove(&wide, 500);
        cpulist_remove(&wide, 60000);
        assert_true(cpulist_equal(&wide, &narrow));
        assert_true(cpulist_equal(&narrow, &wide));
        assert_int_equal(cpulist_last(&wide), 1);
}

static void test_walk(void **state) {
        _cleanup_cpulist_ CpuList list = { 0 }, empty = { 0 };
        unsigned sum = 0;

        assert_int_equal(cpulist_parse("0,63-65,1000", &list, NULL), 0);
        CPULIST_FOREACH (cpu, &list)
                sum += (unsigned) cpu;
        assert_int_equal(sum, 63 + 64 + 65 + 1000);
        assert_int_equal(cpulist_count(&list), 5);
        assert_int_equal(cpulist_next(&list, 0), 63);
        assert_int_equal(cpulist_next(&list, 65), 1000);
        assert_int_equal(cpulist_next(&list, 1000), -1);
        assert_int_equal(cpulist_last(&list), 1000);
        assert_int_equal(cpulist_next(&empty, -1), -1);
        assert_int_equal(cpulist_last(&empty), -1);
        assert_true(cpulist_has(&list, 64));
        assert_false(cpulist_has(&list, 66));
        assert_false(cpulist_has(&empty, 0));
        assert_int_equal(cpulist_add(&list, CPULIST_MAX + 1), -ERANGE);
}

/* 112 CPUs named one by one come out as ranges: they must fit a boot loader's line. */
static void test_short(void **state) {
        _cleanup_cpulist_ CpuList list = { 0 };
        _cleanup_free_ char *text = NULL;

        for (unsigned cpu = 0; cpu < 112; cpu++)
                assert_int_equal(cpulist_add(&list, 8 + cpu), 0);
        assert_int_equal(cpulist_format(&list, &text), 0);
        assert_string_equal(text, "8-119");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_mask),
                cmocka_unit_test(test_mask_width),
                cmocka_unit_test(test_format_mask),
                cmocka_unit_test(test_sets),
                cmocka_unit_test(test_width_is_no_value),
                cmocka_unit_test(test_walk),
                cmocka_unit_test(test_short),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
