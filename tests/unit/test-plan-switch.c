/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan.h"
#include "test.h"

/* One object: its record in the mode in force, what is live, what the new mode wants; and what the switch does. */
typedef struct Row {
        const char *name;
        const char *before, *had; /* the record; had NULL: no record */
        const char *live;
        const char *wants; /* NULL: the new mode does not ask for it */
        unsigned flags;
        ValueKind kind;
        const char *within;
        const char *target; /* of the op; NULL: no op */
        bool left_alone;
        const char *record_before; /* of the record afterwards; NULL: no record */
} Row;

static const Row rows[] = {
        { "first switch", NULL, NULL, "0-3", "0-1", 0, VALUE_CPULIST, NULL, "0-1", false, "0-3" },
        { "holds already", NULL, NULL, "0-1", "0-1", 0, VALUE_CPULIST, NULL, NULL, false, "0-1" },
        { "equal as sets", NULL, NULL, "0,1", "0-1", 0, VALUE_CPULIST, NULL, NULL, false, "0,1" },
        { "mended", "0-3", "0-1", "2", "0-1", 0, VALUE_CPULIST, NULL, "0-1", false, "0-3" },
        { "other value in the next mode", "0-3", "0-1", "0-1", "0", 0, VALUE_CPULIST, NULL, "0", false,
                "0-3" },
        { "given back", "2", "0-1", "0-1", NULL, 0, VALUE_CPULIST, NULL, "2", false, NULL },
        { "is back already", "2", "0-1", "2", NULL, 0, VALUE_CPULIST, NULL, NULL, false, NULL },
        { "changed by somebody", "2", "0-1", "3", NULL, 0, VALUE_CPULIST, NULL, NULL, true, NULL },
        { "changed, and kept by writing", "2", "0-1", "3", NULL, STEP_VOLATILE, VALUE_CPULIST, NULL, "3",
                true, NULL },
        { "looked at again", "2", "0-1", "2", NULL, STEP_VOLATILE, VALUE_CPULIST, NULL, "2", false, NULL },
        { "gone", "2", "0-1", NULL, NULL, 0, VALUE_CPULIST, NULL, NULL, false, NULL },
        { "balanced within", "0-3", "0-1", "1", "0-1", 0, VALUE_WITHIN, "0-1", NULL, false, "0-3" },
        { "ours, within what is wanted next", "0-3", "0", "0", "0,2-3", 0, VALUE_WITHIN, "0,2-3", "0,2-3",
                false, "0-3" },
        { "balanced within what is wanted next", "0-3", "0-1", "1", "0-2", 0, VALUE_WITHIN, "0-2", NULL,
                false, "0-3" },
        { "balanced onto a set", "0-3", "0-1", "1-2", "0-1", 0, VALUE_WITHIN, "0-1", "0-1", false, "0-3" },
        { "acted before", "", "1", "1", "1", STEP_ACTION, VALUE_TEXT, NULL, NULL, false, "" },
        { "acts", NULL, NULL, "1", "1", STEP_ACTION, VALUE_TEXT, NULL, "1", false, "1" },
        { "an act is not undone", "", "1", "1", NULL, STEP_ACTION, VALUE_TEXT, NULL, NULL, false, NULL },
        { "not kept", NULL, NULL, "0-3", "2", STEP_UNRECORDED, VALUE_CPULIST, NULL, "2", false, NULL },
};

static void add_step(Steps *steps, const Row *row, const char *before, const char *now, const char *wanted) {
        Step step = {
                .id = strdup("test/object"),
                .object = strdup("/object"),
                .kind = row->kind,
                .before = before ? strdup(before) : NULL,
                .now = now ? strdup(now) : NULL,
                .wanted = strdup(wanted),
                .within = row->within ? strdup(row->within) : NULL,
                .phase = PHASE_VALUES,
                .flags = row->flags,
        };

        assert_int_equal(steps_add(steps, &step), 0);
}

static void check_row(const Row *row) {
        _cleanup_steps_ Steps in_force = {};
        _cleanup_switch_ Switch *sw = NULL;
        WorldValue value = { .object = (char *) "/object", .live = (char *) row->live };
        World world = { .values = &value, .n_values = 1 };
        Plan plan = { .mode = (char *) "next" };
        const Step *record;

        if (row->had)
                add_step(&in_force, row, row->before, NULL, row->had);
        if (row->wants)
                add_step(&plan.steps, row, row->had ? row->before : row->live, row->live, row->wants);
        assert_int_equal(plan_switch(&plan, "now", &in_force, &world, 0, &sw), 0);
        steps_done(&plan.steps);

        if (sw->n_ops != (row->target ? 1 : 0) || (row->target && !streq(sw->ops[0].target, row->target)))
                fail_msg("%s: %zu ops, target %s", row->name, sw->n_ops,
                        sw->n_ops ? sw->ops[0].target : "none");
        if (util_strv_length(sw->left_alone) != (row->left_alone ? 1 : 0))
                fail_msg("%s: %zu left alone", row->name, util_strv_length(sw->left_alone));
        record = steps_find(&sw->in_force, "/object");
        if (!record != !row->record_before || (record && !streq(record->before, row->record_before)))
                fail_msg("%s: record has %s", row->name, record ? record->before : "no record");
}

static void test_rows(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                check_row(&rows[i]);
}

static void add_phase(Steps *steps, const char *object, Phase phase, int order, const char *before) {
        Step step = {
                .id = strdup(object),
                .object = strdup(object),
                .before = strdup(before),
                .now = strdup("old"),
                .wanted = strdup("new"),
                .phase = phase,
                .order = order,
        };

        assert_int_equal(steps_add(steps, &step), 0);
}

static void assert_order(const Switch *sw, const char *expected) {
        _cleanup_strv_ char **objects = NULL;
        _cleanup_free_ char *text = NULL;

        for (size_t i = 0; i < sw->n_ops; i++)
                assert_int_equal(util_strv_push(&objects, sw->ops[i].step.object), 0);
        assert_int_equal(util_strv_join(objects, " ", &text), 0);
        assert_string_equal(text, expected);
}

static void fill_phases(Steps *steps) {
        add_phase(steps, "tick", PHASE_TICK, 0, "old");
        add_phase(steps, "irq/10", PHASE_IRQ, 0, "old");
        add_phase(steps, "irq/9", PHASE_IRQ, 0, "old");
        add_phase(steps, "partition", PHASE_CGROUP, 2, "old");
        add_phase(steps, "slice", PHASE_CGROUP, 1, "old");
        add_phase(steps, "task", PHASE_TASK, 0, "old");
        add_phase(steps, "server", PHASE_SERVER, 0, "old");
        add_phase(steps, "default", PHASE_IRQ_DEFAULT, 0, "old");
}

static void test_order_in(void **state) {
        _cleanup_switch_ Switch *sw = NULL;
        World world = {};
        Plan plan = { .mode = (char *) "next" };

        fill_phases(&plan.steps);
        assert_int_equal(plan_switch(&plan, "green", NULL, &world, 0, &sw), 0);
        steps_done(&plan.steps);
        assert_order(sw, "default server slice partition task irq/9 irq/10 tick");
}

static void test_order_back(void **state) {
        static const char *const objects[] = { "default", "irq/10", "irq/9", "partition", "server", "slice",
                "task", "tick" };
        WorldValue values[ARRAY_SIZE(objects)];
        World world = { .values = values, .n_values = ARRAY_SIZE(objects) };
        _cleanup_switch_ Switch *sw = NULL;
        _cleanup_steps_ Steps in_force = {};
        Plan plan = { .mode = (char *) "green" };

        for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
                values[i] = (WorldValue){ .object = (char *) objects[i], .live = (char *) "new" };
        fill_phases(&in_force);
        assert_int_equal(plan_switch(&plan, "next", &in_force, &world, 0, &sw), 0);
        assert_order(sw, "default tick partition slice task server irq/9 irq/10");
}

static void test_no_disturb(void **state) {
        _cleanup_switch_ Switch *sw = NULL;
        World world = {};
        Plan plan = { .mode = (char *) "next" };

        add_phase(&plan.steps, "feature", PHASE_TICK, 0, "old");
        plan.steps.items[0].disturbs = strdup("every CPU");
        assert_int_equal(plan_switch(&plan, "green", NULL, &world, SWITCH_NO_DISTURB, &sw), 0);
        steps_done(&plan.steps);
        assert_int_equal(sw->n_ops, 0);
        assert_int_equal(sw->in_force.n, 0);
        assert_int_equal(util_strv_length(sw->left_alone), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_order_in),
                cmocka_unit_test(test_order_back),
                cmocka_unit_test(test_no_disturb),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
