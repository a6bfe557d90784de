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

/* A step that disturbs others, and what a switch makes of it and of its record. */
typedef struct Disturbing {
        const char *name;
        const char *had; /* wanted of the record; NULL: none */
        int refused;     /* of the record */
        const char *now, *wants;
        unsigned flags, step_flags;
        bool op;
        size_t left_out;
        const char *record;  /* wanted of the record afterwards, or NULL */
        int record_refused;  /* and of it */
        bool left, required; /* it has STEP_LEFT; the plan is refused for it */
} Disturbing;

static const Disturbing disturbing[] = {
        { "asked for", NULL, 0, "old", "new", 0, 0, true, 0, "new", 0, false, false },
        { "left out", NULL, 0, "old", "new", SWITCH_NO_DISTURB, 0, false, 1, "new", -ECANCELED, false,
                false },
        { "left out, required", NULL, 0, "old", "new", SWITCH_NO_DISTURB, STEP_REQUIRED, false, 1, "new",
                -ECANCELED, false, true },
        { "it holds", NULL, 0, "new", "new", SWITCH_NO_DISTURB, STEP_REQUIRED, false, 0, "new", 0, false,
                false },
        { "reload", "new", -ECANCELED, "old", "new", SWITCH_UNASKED, 0, false, 1, "new", -ECANCELED, false,
                false },
        { "reload, drifted", "new", 0, "old", "new", SWITCH_UNASKED, 0, true, 0, "new", 0, false, false },
        { "mend, drifted", "new", 0, "old", "new", SWITCH_UNASKED | SWITCH_NO_DISTURB, 0, false, 1, "new", 0,
                false, false },
        { "asked for later", "new", -ECANCELED, "old", "new", 0, 0, true, 0, "new", 0, false, false },
        { "the mode before had it", "old", 0, "old", "new", SWITCH_NO_DISTURB, 0, false, 1, "new",
                -ECANCELED, true, false },
        { "given back", "new", 0, "new", NULL, 0, 0, true, 0, NULL, 0, false, false },
        { "not given back", "new", 0, "new", NULL, SWITCH_NO_DISTURB, 0, false, 1, "first", -ECANCELED, true,
                false },
        { "nothing to give back", "new", -ECANCELED, "first", NULL, 0, 0, false, 0, NULL, 0, false, false },
        { "an act", "1", -ECANCELED, "1", "1", 0, STEP_ACTION, true, 0, "1", 0, false, false },
        { "an act that was done", "1", 0, "1", "1", 0, STEP_ACTION, false, 0, "1", 0, false, false },
};

static void check_disturbing(const Disturbing *row) {
        WorldValue value = { .object = (char *) "/object", .live = (char *) row->now };
        World world = { .values = &value, .n_values = 1 };
        Row step = { .flags = row->step_flags };
        Plan plan = { .mode = (char *) "next" };
        _cleanup_switch_ Switch *sw = NULL;
        _cleanup_steps_ Steps in_force = {};
        const Step *record;

        if (row->had) {
                add_step(&in_force, &step, "first", NULL, row->had);
                in_force.items[0].refused = row->refused;
                in_force.items[0].disturbs = strdup("every CPU");
        }
        if (row->wants) {
                add_step(&plan.steps, &step, "first", row->now, row->wants);
                plan.steps.items[0].disturbs = strdup("every CPU");
        }
        assert_int_equal(plan_switch(&plan, "now", &in_force, &world, row->flags, &sw), 0);
        assert_int_equal(plan_refuse_left_out(&plan, sw), 0);
        steps_done(&plan.steps);
        record = steps_find(&sw->in_force, "/object");
        if (sw->n_ops != row->op || sw->left_out.n != row->left_out || plan.n_refusals != row->required ||
                !record != !row->record)
                fail_msg("%s: %zu ops, %zu left out, %zu refusals, %s record", row->name, sw->n_ops,
                        sw->left_out.n, plan.n_refusals, record ? "a" : "no");
        if (record &&
                (!streq(record->wanted, row->record) || !streq(record->before, "first") ||
                        record->refused != row->record_refused ||
                        !(record->flags & STEP_LEFT) != !row->left))
                fail_msg(
                        "%s: record %s, %s, %d", row->name, record->wanted, record->before, record->refused);
        if (sw->left_out.n > 0)
                assert_string_equal(sw->left_out.items[0].reason,
                        "left out, because it disturbs every CPU (--no-disturb)");
        for (size_t k = 0; k < plan.n_refusals; k++)
                free(plan.refusals[k].what);
        free(plan.refusals);
}

static void test_no_disturb(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(disturbing); i++)
                check_disturbing(&disturbing[i]);
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
