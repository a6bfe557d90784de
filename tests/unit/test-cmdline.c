/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "cmdline.h"

static void test_get(void **state) {
        static const struct {
                const char *cmdline, *key, *value; /* NULL: not there */
        } table[] = {
                { "root=/dev/vda ro skew_tick=1", "skew_tick", "1" },
                { "skew-tick=1", "skew_tick", "1" },
                { "skew_tick=1 skew_tick=0", "skew_tick", "0" },
                { "askew_tick=1", "skew_tick", NULL },
                { "quiet", "quiet", "" },
                { "nohz=off\n", "nohz", "off" },
                { "nohz_full=1-3", "nohz", NULL },
                { "dyndbg=\"a b=2\" c=3", "b", NULL },
                { "dyndbg=\"a b=2\" c=3", "dyndbg", "a b=2" },
                { "\"dyndbg=a b\" c=3", "dyndbg", "a b" },
                { "init=/bin/sh -- nohz=off", "nohz", NULL },
                { "", "nohz", NULL },
                { NULL, "nohz", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *value = NULL;
                int r = cmdline_get(table[i].cmdline, table[i].key, &value);

                if (r != (table[i].value ? 0 : -ENOENT) || (table[i].value && !streq(value, table[i].value)))
                        fail_msg("\"%s\", %s: %d, %s", table[i].cmdline, table[i].key, r, value);
        }
}

static void test_isolcpus(void **state) {
        static const struct {
                const char *cmdline, *flag, *cpus;
        } table[] = {
                { "isolcpus=managed_irq,2-3", "managed_irq", "2-3" },
                { "isolcpus=nohz,domain,managed_irq,2,5-6", "managed_irq", "2,5-6" },
                { "isolcpus=2-3", "managed_irq", "" },
                { "isolcpus=domain,2-3", "managed_irq", "" },
                { "isolcpus=managed_irq2,3", "managed_irq", "" },
                { "isolcpus=managed_irq,", "managed_irq", "" },
                { "isolcpus=managed_irq", "managed_irq", "" },
                { "isolcpus=", "managed_irq", "" },
                { "isolcpus=managed_irq,4-2", "managed_irq", "" },
                { "quiet", "managed_irq", "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList cpus = {};
                _cleanup_free_ char *text = NULL;
                int r = cmdline_isolcpus(table[i].cmdline, table[i].flag, &cpus);

                assert_int_equal(cpulist_format(&cpus, &text), 0);
                if (r != 0 || !streq(text, table[i].cpus))
                        fail_msg("\"%s\": %d, \"%s\"", table[i].cmdline, r, text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_get),
                cmocka_unit_test(test_isolcpus),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
