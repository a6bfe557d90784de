/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"
#include "text.h"

static void test_printable(void **state) {
        static const struct {
                const char *text, *printable, *utf8;
        } table[] = {
                { "", "", "" },
                { "ksoftirqd/2", "ksoftirqd/2", "ksoftirqd/2" },
                { "a b", "a b", "a b" },
                { "\x1b[31mred", "\\x1b[31mred", "\x1b[31mred" },
                { "a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f", "a\nb\tc\x7f" },
                { "caf\xc3\xa9", "caf\xc3\xa9", "caf\xc3\xa9" },
                { "\xe2\x82\xac \xf0\x9f\x90\xa7", "\xe2\x82\xac \xf0\x9f\x90\xa7",
                        "\xe2\x82\xac \xf0\x9f\x90\xa7" },
                { "\xc2\x9b"
                  "31m",
                        "\\xc2\\x9b31m",
                        "\xc2\x9b"
                        "31m" }, /* a control sequence of one character */
                { "\xff", "\\xff", "\\xff" },
                { "\xc3", "\\xc3", "\\xc3" },
                { "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" },               /* overlong */
                { "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
                { "\xef\xbf\xbe", "\\xef\\xbf\\xbe",
                        "\\xef\\xbf\\xbe" }, /* no characters: U+FFFE, U+FDD0, U+1FFFF */
                { "\xef\xb7\x90", "\\xef\\xb7\\x90", "\\xef\\xb7\\x90" },
                { "\xf0\x9f\xbf\xbf", "\\xf0\\x9f\\xbf\\xbf", "\\xf0\\x9f\\xbf\\xbf" },
                { "\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd" },
                { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *printable = NULL, *utf8 = NULL;

                assert_int_equal(text_printable(table[i].text, &printable), 0);
                assert_int_equal(text_utf8(table[i].text, &utf8), 0);
                if (!streq(printable, table[i].printable) || !streq(utf8, table[i].utf8))
                        fail_msg("line %zu: %s, %s", i, printable, utf8);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_printable),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
