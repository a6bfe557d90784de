/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"
#include "util.h"

static void test_parse_unsigned(void **state) {
        static const struct {
                const char *text;
                int error;
                unsigned value;
        } table[] = {
                { "0", 0, 0 }, { "4294967295", 0, 4294967295u }, { "4294967296", -ERANGE, 0 },
                { "99999999999999999999999", -ERANGE, 0 }, { "", -EINVAL, 0 }, { "-1", -EINVAL, 0 },
                { "1 ", -EINVAL, 0 }, { "0x3", -EINVAL, 0 }, { "1_0", -EINVAL, 0 },
                { "\xd9\xa3", -EINVAL, 0 }, /* an Arabic three */
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                unsigned value = 0;
                int r = util_parse_unsigned(table[i].text, &value);

                if (r != table[i].error || value != table[i].value)
                        fail_msg("\"%s\": %d, %u", table[i].text, r, value);
        }
}

static void test_strip(void **state) {
        char text[] = " \t a b\n";

        assert_string_equal(util_strip(text), "a b");
}

static void test_strv(void **state) {
        _cleanup_strv_ char **strv = NULL;
        _cleanup_free_ char *joined = NULL;

        assert_int_equal(util_strv_split("  a b  c ", " ", &strv), 0);
        assert_int_equal(util_strv_length(strv), 3);
        assert_true(util_strv_contains(strv, "b"));
        assert_false(util_strv_contains(strv, "d"));
        assert_int_equal(util_strv_join(strv, ", ", &joined), 0);
        assert_string_equal(joined, "a, b, c");
}

static void test_grow(void **state) {
        _cleanup_free_ int *array = NULL;

        for (size_t n = 0; n < 100; n++) {
                assert_int_equal(GROW(array, n), 0);
                assert_int_equal(array[n], 0);
                array[n] = (int) n;
        }
        for (int n = 0; n < 100; n++)
                assert_int_equal(array[n], n);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse_unsigned),
                cmocka_unit_test(test_strip),
                cmocka_unit_test(test_strv),
                cmocka_unit_test(test_grow),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
