/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"
#include "value.h"

static void test_kinds(void **state) {
        for (unsigned kind = 0; kind < _VALUE_KIND_MAX; kind++)
                assert_int_equal(value_kind_from_string(value_kind_to_string((ValueKind) kind)), kind);
        assert_int_equal(value_kind_from_string("colour"), _VALUE_KIND_MAX);
}

static void test_equal(void **state) {
        static const struct {
                ValueKind kind;
                const char *a, *b;
                bool equal;
        } table[] = {
                { VALUE_TEXT, "never", " never\n", true },
                { VALUE_TEXT, "a b", "a  b", false },
                { VALUE_TEXT, "", "\n", true },
                { VALUE_TEXT, "", "None", false },
                { VALUE_NUMBER, "007", "7", true },
                { VALUE_NUMBER, "-1", "-1\n", true },
                { VALUE_NUMBER, "1", "10", false },
                { VALUE_NUMBER, "n/a", "n/a", true },
                { VALUE_NUMBER, "n/a", "0", false },
                { VALUE_NUMBER, "4\t4\t1\t7", "4 4 1 7", true },
                { VALUE_NUMBER, "4 4 1", "4 4 1 7", false },
                { VALUE_NUMBER, "max 100000", "max  100000", true },
                { VALUE_NUMBER, "99999999999999999999", "99999999999999999999", true },
                { VALUE_CPULIST, "0-3", "0,1,2,3", true },
                { VALUE_CPULIST, "", "\n", true },
                { VALUE_CPULIST, "0", "", false },
                { VALUE_CPULIST, "0-3", "0-2", false },
                { VALUE_CPULIST, "none", "none", true },
                { VALUE_CPULIST, "none", "0", false },
                { VALUE_CPUMASK, "f", "0000000f", true },
                { VALUE_CPUMASK, "000c00,f000c00f", "00000c00,f000c00f", true },
                { VALUE_CPUMASK, "00000002,00000000,00000000", "2", false },
                { VALUE_CPUMASK, "f", "e", false },
                { VALUE_WITHIN, "0-1", "1,0", true },
                { VALUE_CHOICE, "always [madvise] never", "madvise", true },
                { VALUE_CHOICE, "always [madvise] never", "never", false },
                { VALUE_CHOICE, "none voluntary (full)", "full", true },
                { VALUE_CHOICE, "none voluntary (full)", "none", false },
                { VALUE_CHOICE, "none", "none\n", true },
                { VALUE_CHOICE, "none voluntary (full)", "full", true },
                { VALUE_CHOICE, "none (voluntary) full", "full", false },
                { VALUE_PARTITION, "isolated", "isolated\n", true },
                { VALUE_PARTITION, "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "isolated",
                        false },
                { VALUE_TEXT, NULL, NULL, true },
                { VALUE_TEXT, NULL, "", false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (value_equal(table[i].kind, table[i].a, table[i].b) != table[i].equal ||
                        value_equal(table[i].kind, table[i].b, table[i].a) != table[i].equal)
                        fail_msg("%s: \"%s\" and \"%s\"", value_kind_to_string(table[i].kind), table[i].a,
                                table[i].b);
}

static void test_holds(void **state) {
        static const struct {
                ValueKind kind;
                const char *live, *wanted, *within;
                bool holds;
        } table[] = {
                { VALUE_WITHIN, "0", "0-1", "0-1", true },
                { VALUE_WITHIN, "0-1", "0-1", "0-1", true },
                { VALUE_WITHIN, "0-2", "0-1", "0-1", false },
                { VALUE_WITHIN, "", "0-1", "0-1", false },
                { VALUE_WITHIN, NULL, "0-1", "0-1", false },
                { VALUE_WITHIN, "0", "0-1", NULL, false },
                { VALUE_CPULIST, "0", "0-1", "0-1", false },
                { VALUE_TEXT, "a", NULL, NULL, false },
                { VALUE_TEXT, NULL, NULL, NULL, false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (value_holds(table[i].kind, table[i].live, table[i].wanted, table[i].within) !=
                        table[i].holds)
                        fail_msg("%s: \"%s\" for \"%s\" within \"%s\"", value_kind_to_string(table[i].kind),
                                table[i].live, table[i].wanted, table[i].within);
}

static void test_choice(void **state) {
        static const struct {
                const char *text, *choice;
        } table[] = {
                { "always [madvise] never", "madvise" },
                { "[none] mq-deadline", "none" },
                { " plain \n", "plain" },
                { "", "" },
                { "a [b", "a [b" },
                { "none (voluntary) full", "voluntary" },
                { "a [b] (c)", "b" },
                { "a (b", "a (b" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *choice = NULL;

                if (value_choice(table[i].text, &choice) < 0 || !streq(choice, table[i].choice))
                        fail_msg("\"%s\": \"%s\"", table[i].text, choice);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kinds),
                cmocka_unit_test(test_equal),
                cmocka_unit_test(test_holds),
                cmocka_unit_test(test_choice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
