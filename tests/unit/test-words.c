/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"
#include "words.h"

static void test_nearest(void **state) {
        static const char *const known[] = { "mode", "status", "plan", "profile", "doctor", "cpus", "on",
                "off", "rt_push_pull", "rt_throttling" };
        static const struct {
                const char *word, *expected;
        } table[] = {
                { "mode", "mode" },
                { "mdoe", "mode" },
                { "mod", "mode" },
                { "modes", "mode" },
                { "stauts", "status" },
                { "statsu", "status" },
                { "pln", "plan" },
                { "profil", "profile" },
                { "cpu", "cpus" },
                { "rt_pushpull", "rt_push_pull" },
                { "rt-push-pull", "rt_push_pull" },
                { "rt_throtling", "rt_throttling" },
                { "of", "off" },
                { "xyzzy", NULL },
                { "", NULL },
                { "history", NULL },
                { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                const char *nearest = words_nearest(table[i].word, known, ARRAY_SIZE(known));

                if ((nearest == NULL) != (table[i].expected == NULL) ||
                        (nearest && !streq(nearest, table[i].expected)))
                        fail_msg("\"%s\": %s", table[i].word, nearest ? nearest : "none");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nearest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
