/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>

#include "balancer.h"
#include "test.h"
#include "tree.h"

/* Which of the things that appear in /run are an irqbalance that starts. */

typedef struct Fixture {
        Tree *tree;
        sd_event *event;
        Balancer *balancer;
        unsigned started;
} Fixture;

static void on_started(void *userdata) {
        Fixture *fixture = userdata;

        fixture->started++;
}

static void make_folder(Fixture *fixture, const char *name) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(util_asprintf(&path, "%s%s", fixture->tree->root, name), 0);
        assert_int_equal(mkdir(path, 0755), 0);
}

/* How often it was told in the 1.5 s since. */
static unsigned told(Fixture *fixture) {
        uint64_t start, now;

        fixture->started = 0;
        assert_true(sd_event_now(fixture->event, CLOCK_MONOTONIC, &start) >= 0);
        do {
                assert_true(sd_event_run(fixture->event, 100000) >= 0);
                assert_true(sd_event_now(fixture->event, CLOCK_MONOTONIC, &now) >= 0);
        } while (now < start + 1500000);
        return fixture->started;
}

static void fixture_start(Fixture *fixture) {
        _cleanup_free_ char *run = NULL;

        fixture->tree = tree_new();
        make_folder(fixture, "/run");
        assert_int_equal(util_asprintf(&run, "%s/run", fixture->tree->root), 0);
        assert_true(sd_event_new(&fixture->event) >= 0);
        assert_int_equal(balancer_new(fixture->event, run, on_started, fixture, &fixture->balancer), 0);
        assert_int_equal(told(fixture), 0);
}

static void test_starts(void **state) {
        static const struct {
                const char *gone[4], *folder, *file;
                unsigned told;
        } rows[] = {
                { {}, "/run/other", "/run/other/irqbalance1.sock", 0 },
                { {}, NULL, "/run/irqbalance2.sock", 0 },
                { {}, "/run/irqbalance", "/run/irqbalance/irqbalance3.sock", 1 },
                { {}, NULL, "/run/irqbalance/banned", 0 },
                { {}, NULL, "/run/irqbalance/irqbalance4.sock", 1 },
                { { "/run/irqbalance/banned", "/run/irqbalance/irqbalance3.sock",
                          "/run/irqbalance/irqbalance4.sock", "/run/irqbalance" },
                        NULL, NULL, 0 },
                { {}, "/run/irqbalance", "/run/irqbalance/irqbalance5.sock", 1 },
        };
        Fixture fixture = {};

        fixture_start(&fixture);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                unsigned n;

                for (size_t k = 0; k < ARRAY_SIZE(rows[i].gone) && rows[i].gone[k]; k++)
                        tree_remove(fixture.tree, rows[i].gone[k]);
                if (rows[i].folder)
                        make_folder(&fixture, rows[i].folder);
                if (rows[i].file)
                        tree_put(fixture.tree, rows[i].file, "");
                n = told(&fixture);
                if (n != rows[i].told)
                        fail_msg("line %zu: told %u times", i, n);
        }
        balancer_free(fixture.balancer);
        sd_event_unref(fixture.event);
        tree_free(fixture.tree);
}

static void test_nowhere(void **state) {
        Balancer *balancer;
        sd_event *event;

        assert_true(sd_event_new(&event) >= 0);
        assert_int_equal(balancer_new(event, "/nonexistent", on_started, NULL, &balancer), -ENOENT);
        sd_event_unref(event);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_starts),
                cmocka_unit_test(test_nowhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
