/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "noise-counters.h"
#include "test.h"
#include "tree.h"

#define SCHEDSTAT(wait1, wait2)                                                                             \
        "version 15\ntimestamp 4294977296\ncpu0 0 0 0 0 0 0 500 9000000000 7\n"                             \
        "domain0 3 1 2 3\ncpu1 0 0 0 0 0 0 600 " wait1 " 7\ncpu2 0 0 0 0 0 0 600 " wait2 " 7\n"
#define STAT(irq1, soft1)                                                                                   \
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 80 0 50 50 0 0 0\ncpu1 10 0 10 80 0 " irq1 " " soft1        \
        " 0 0 0\ncpu2 10 0 10 80 0 0 0 0 0 0\nintr 1 2 3\n"

static void test_stolen(void **state) {
        static const struct {
                const char *schedstat, *stat; /* of the second look; "" is no such file */
                const char *cpus;
                uint64_t usec; /* between the looks */
                int expected;  /* µs a second */
        } table[] = {
                { SCHEDSTAT("1000000", "0"), STAT("0", "0"), "1-2", 1000000, 0 },
                { SCHEDSTAT("2000000", "0"), STAT("0", "0"), "1-2", 1000000, 1000 },
                { SCHEDSTAT("2000000", "3000000"), STAT("0", "0"), "1-2", 1000000, 4000 },
                { SCHEDSTAT("2000000", "3000000"), STAT("0", "0"), "2", 2000000, 1500 },
                { SCHEDSTAT("1000000", "0"), STAT("1", "2"), "1", 1000000, 30000 },
                { SCHEDSTAT("500", "0"), STAT("0", "0"), "1", 1000000, 0 }, /* began anew */
                { SCHEDSTAT("2000000", "0"), "", "1,77", 1000000, 1000 },
                { "", STAT("0", "0"), "1", 1000000, -1 },
                { SCHEDSTAT("2000000", "0"), STAT("0", "0"), "1", 0, -1 },
                { "cpu1 rubbish\ncpu4294967295 0 0 0 0 0 0 1 2 3\n", "", "1", 1000000, -1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_noise_counters_ NoiseCounters before = {}, after = {};
                _cleanup_cpulist_ CpuList cpus = {};
                double stolen;

                assert_int_equal(cpulist_parse(table[i].cpus, &cpus, NULL), 0);
                tree_put(tree, "proc/schedstat", SCHEDSTAT("1000000", "0"));
                tree_put(tree, "proc/stat", STAT("0", "0"));
                assert_int_equal(noise_counters_take(tree->kfs, &before), 0);
                tree_put(tree, "proc/schedstat", table[i].schedstat);
                tree_put(tree, "proc/stat", table[i].stat);
                assert_int_equal(noise_counters_take(tree->kfs, &after), 0);
                after.at = before.at + table[i].usec;
                stolen = noise_counters_stolen(&before, &after, &cpus);
                if ((int) stolen != table[i].expected)
                        fail_msg("row %zu: %f", i, stolen);
        }
}

#define SOFTIRQS(net1, net2) "          CPU0 CPU1 CPU2\n NET_RX: 5 " net1 " " net2 "\n  TIMER: 9 9 9\n"
#define INTERRUPTS(tlb1)                                                                                    \
        " CPU0 CPU1 CPU2\n 9: 1 1 1 IO-APIC acpi\nTLB: 7 " tlb1 " 7 TLB shootdowns\nERR: 0\n"

static void test_rate(void **state) {
        static const struct {
                bool softirq;
                const char *row;
                unsigned cpu;
                uint64_t usec; /* between the looks */
                int expected;  /* in a second */
        } table[] = {
                { true, "NET_RX", 1, 1000000, 100 },
                { true, "NET_RX", 1, 200000, 500 },
                { true, "NET_RX", 0, 200000, 0 },
                { true, "NET_RX", 2, 200000, 0 }, /* began anew */
                { true, "NET_RX", 77, 200000, 0 },
                { true, "TIMER", 1, 200000, 0 },
                { true, "TLB", 1, 200000, -1 },
                { false, "TLB", 1, 200000, 40 },
                { false, "NMI", 1, 200000, -1 },
                { false, "TLB", 1, 0, -1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_noise_counters_ NoiseCounters before = {}, after = {};
                double rate;

                tree_put(tree, "proc/softirqs", SOFTIRQS("1000", "1000"));
                tree_put(tree, "proc/interrupts", INTERRUPTS("2"));
                assert_int_equal(noise_counters_take(tree->kfs, &before), 0);
                tree_put(tree, "proc/softirqs", SOFTIRQS("1100", "9"));
                tree_put(tree, "proc/interrupts", INTERRUPTS("10"));
                assert_int_equal(noise_counters_take(tree->kfs, &after), 0);
                after.at = before.at + table[i].usec;
                rate = noise_counters_rate(&before, &after, table[i].softirq, table[i].row, table[i].cpu);
                if ((int) rate != table[i].expected)
                        fail_msg("row %zu: %f", i, rate);
        }
}

static void test_worst_wait(void **state) {
        static const struct {
                const char *text; /* of /proc/7/sched, NULL: no such file */
                int error;
                uint64_t ns;
        } table[] = {
                { "x (7, #threads: 1)\nse.statistics.wait_max  :  0.012345\nnr_switches : 4\n", 0, 12345 },
                { "wait_max                                     :             2.000000\n", 0, 2000000 },
                { "wait_max : 0.000000\n", 0, 0 },
                { "x (7, #threads: 1)\nnr_switches : 4\n", -ENODATA, 77 },
                { "wait_max : nan\n", -ENODATA, 77 },
                { "wait_max", -ENODATA, 77 },
                { NULL, -ENOENT, 77 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                uint64_t ns = 77;
                int r;

                if (table[i].text)
                        tree_put(tree, "proc/7/sched", table[i].text);
                r = noise_counters_worst_wait(tree->kfs, 7, &ns);
                if (r != table[i].error || ns != table[i].ns)
                        fail_msg("row %zu: %d, %" PRIu64, i, r, ns);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stolen),
                cmocka_unit_test(test_rate),
                cmocka_unit_test(test_worst_wait),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
