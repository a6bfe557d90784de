/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "remote.h"
#include "test.h"

static void test_quote(void **state) {
        static const struct {
                const char *word, *quoted;
        } table[] = {
                { "", "''" },
                { "status", "'status'" },
                { "a b", "'a b'" },
                { "it's", "'it'\\''s'" },
                { "'", "''\\'''" },
                { "$(reboot);`x`\n*", "'$(reboot);`x`\n*'" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *quoted = NULL;

                assert_int_equal(remote_quote(table[i].word, &quoted), 0);
                if (!streq(quoted, table[i].quoted))
                        fail_msg("%s: %s", table[i].word, quoted);
        }
}

static void test_command(void **state) {
        static const Verb mode = { .name = "mode" };
        char *arguments[] = { (char *) "low-jitter; reboot", NULL }, *hosts[] = { (char *) "nfv07", NULL };
        const Cli cli = {
                .verb = &mode,
                .arguments = arguments,
                .options = OPTION_CONFIRM | OPTION_FORCE | OPTION_HOST,
                .confirm = "120",
                .hosts = hosts,
        };
        _cleanup_free_ char *line = NULL;

        assert_int_equal(remote_command(&cli, &line), 0);
        assert_string_equal(line, "rtisoctl '--force' '--confirm=120' -- 'mode' 'low-jitter; reboot'");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_quote),
                cmocka_unit_test(test_command),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
