/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "verb-plan.h"
#include "machine.h"
#include "record.h"
#include "text.h"

/* What a plan comes to, before it is a record. */
typedef struct Planned {
        Profile *profile;
        World *world;
        Plan *plan;
        Switch *sw; /* NULL where the plan is refused */
} Planned;

static void planned_done(Planned *planned) {
        if (planned->sw)
                switch_free(planned->sw);
        if (planned->plan)
                plan_free(planned->plan);
        if (planned->world)
                world_free(planned->world);
        if (planned->profile)
                profile_free(planned->profile);
}

static int planned_make(const Cli *cli, const Machine *machine, const char *mode, Planned *planned) {
        const Steps *in_force = &machine->state.steps;
        bool mend = streq(machine->state.mode, mode);
        int r = machine_load_profile(machine, mode, &planned->profile);

        /* As the daemon has it: no file bars the way back. */
        if (r == EXIT_USAGE && streq(mode, "green")) {
                cli_error("green is entered as it comes with rtisold, without what its files ask for");
                r = profile_load_plain_green(machine->kfs, &planned->profile);
        }
        if (r != EXIT_HOLDS)
                return r;
        r = plan_audit(machine->kfs, planned->profile, in_force, &planned->world);
        if (r == 0)
                r = plan_make(
                        planned->profile, planned->world, in_force, mend ? PLAN_MEND : 0, &planned->plan);
        if (r < 0 || planned->plan->n_refusals > 0)
                return r;
        r = plan_switch(planned->plan, machine->state.mode, in_force, planned->world,
                cli_has(cli, OPTION_NO_DISTURB) ? SWITCH_NO_DISTURB : 0, &planned->sw);
        return r ?: plan_refuse_left_out(planned->plan, planned->sw);
}

/* The record of a step that the kernel refused for good: it is not tried again while the mode stays, as
 * apply has it. */
static const Step *refused_before(const Machine *machine, const Step *step) {
        const Step *record = steps_find(&machine->state.steps, step->object);

        if (!record || (record->refused != -EIO && record->refused != -EPERM))
                return NULL;
        return streq(record->wanted, step->wanted) ? record : NULL;
}

/* Why a step that differs is not written, or NULL. */
static const char *why_not(const Machine *machine, const Switch *sw, const Step *step) {
        const Step *left_out = sw ? steps_find(&sw->left_out, step->object) : NULL;
        const Step *refused = refused_before(machine, step);

        if (left_out)
                return left_out->reason;
        return refused ? refused->reason ?: strerror(-refused->refused) : NULL;
}

/* why: why it is not written, NULL where it is, or need not be. */
static json_t *step_record(const Machine *machine, const Step *step, const char *now, const char *wanted,
        bool back, bool write, const char *why) {
        return json_pack("{s:o, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:b, s:b, s:b}", "id",
                record_text(step->id), "object", record_text(step->object), "now", record_text(now),
                "wanted", record_text(wanted), "mechanism", machine_mechanism(machine, step->mechanism),
                "required", !!(step->flags & STEP_REQUIRED), "disturbs", record_text(step->disturbs ?: ""),
                "reason", record_text(why ?: step->reason ?: ""), "back", back, "write", write, "refused",
                why != NULL);
}

/* What the kernel may change by itself meanwhile is an op too, and is none for the reader while it holds. */
static bool op_writes(const Machine *machine, const Op *op) {
        if (op->back || !op->was)
                return true;
        return !value_holds(op->step.kind, op->was, op->target, op->step.within) &&
                !refused_before(machine, &op->step);
}

static bool is_written(const Machine *machine, const Switch *sw, const Step *step) {
        for (size_t i = 0; sw && i < sw->n_ops; i++)
                if (streq(sw->ops[i].step.object, step->object))
                        return op_writes(machine, &sw->ops[i]);
        return false;
}

/* The writes in their order, then the rest in the order of the plan. */
static json_t *steps_record(const Machine *machine, const Plan *plan, const Switch *sw) {
        json_t *steps = json_array();
        int r = steps ? 0 : -1;

        for (size_t i = 0; sw && r == 0 && i < sw->n_ops; i++) {
                const Op *op = &sw->ops[i];

                if (op_writes(machine, op))
                        r = json_array_append_new(steps,
                                step_record(machine, &op->step, op->was, op->target, op->back, true, NULL));
        }
        for (size_t i = 0; r == 0 && i < plan->steps.n; i++) {
                const Step *step = &plan->steps.items[i];

                if (!is_written(machine, sw, step))
                        r = json_array_append_new(steps,
                                step_record(machine, step, step->now, step->wanted, false, false,
                                        why_not(machine, sw, step)));
        }
        if (r < 0) {
                json_decref(steps);
                return NULL;
        }
        return steps;
}

static json_t *sets_record(const Profile *profile, const Plan *plan) {
        json_t *sets = json_array();

        for (size_t i = 0; sets && i < plan->n_sets; i++)
                if (json_array_append_new(sets,
                            json_pack("{s:s, s:o, s:o}", "name", profile->sets[i].name, "cpus",
                                    record_cpus(&plan->sets[i].cpus), "control_cpus",
                                    record_cpus(&plan->sets[i].control_cpus))) < 0) {
                        json_decref(sets);
                        return NULL;
                }
        return sets;
}

static json_t *texts_record(char *const *texts) {
        json_t *list = json_array();

        STRV_FOREACH (text, texts)
                if (list && json_array_append_new(list, record_text(*text)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

static json_t *refusals_record(const Plan *plan) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < plan->n_refusals; i++)
                if (json_array_append_new(list, record_text(plan->refusals[i].what)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

static json_t *plan_record(const Machine *machine, const Planned *planned) {
        const Plan *plan = planned->plan;

        return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "from",
                record_text(machine->state.mode), "mode", record_text(plan->mode), "sets",
                sets_record(planned->profile, plan), "isolated", record_cpus(&plan->isolated),
                "housekeeping", record_cpus(&plan->housekeeping), "steps",
                steps_record(machine, plan, planned->sw), "warnings", texts_record(plan->warnings),
                "left_alone", texts_record(planned->sw ? planned->sw->left_alone : NULL), "refusals",
                refusals_record(plan));
}

typedef enum Fate { FATE_WRITE, FATE_NOT_NOW, FATE_HOLDS } Fate;

static Fate step_fate(const json_t *step) {
        if (json_is_true(json_object_get(step, "write")))
                return FATE_WRITE;
        if (json_is_true(json_object_get(step, "refused")) ||
                !streq(record_get(step, "mechanism"), "runtime"))
                return FATE_NOT_NOW;
        return FATE_HOLDS;
}

static json_t *select_steps(const json_t *record, Fate fate) {
        json_t *selected = json_array(), *step;
        size_t i;

        json_array_foreach(json_object_get(record, "steps"), i, step) {
                if (step_fate(step) != fate)
                        continue;
                if (json_array_append(selected, step) < 0) {
                        json_decref(selected);
                        return NULL;
                }
        }
        return selected;
}

static int print_steps(const Cli *cli, const json_t *steps) {
        static const Column columns[] = {
                { "STEP", "id" },
                { "OBJECT", "object" },
                { "NOW", "now" },
                { "WANTED", "wanted" },
                { "MECHANISM", "mechanism", COLUMN_STATE },
                { "DISTURBS", "disturbs" },
        };

        return record_print_table(steps, columns, ARRAY_SIZE(columns), cli->colour);
}

static json_t *find_group(const json_t *groups, const json_t *step) {
        static const char *const same[] = { "wanted", "mechanism", "reason" };
        json_t *group;
        size_t i;

        json_array_foreach(groups, i, group) {
                size_t k = 0;

                while (k < ARRAY_SIZE(same) && streq(record_get(step, same[k]), record_get(group, same[k])))
                        k++;
                if (k == ARRAY_SIZE(same))
                        return group;
        }
        return NULL;
}

/* Adds a step to its group, or as the first of a new one. */
static int add_to_group(json_t *groups, const json_t *step) {
        json_t *group = find_group(groups, step);
        char id[160];

        if (!group) {
                group = json_copy((json_t *) step);
                return json_object_set_new(group, "more", json_integer(0)) < 0 ||
                                json_object_set(group, "first", json_object_get(step, "id")) < 0 ||
                                json_array_append_new(groups, group) < 0
                        ? -ENOMEM
                        : 0;
        }
        (void) json_integer_set(
                json_object_get(group, "more"), json_integer_value(json_object_get(group, "more")) + 1);
        (void) snprintf(id, sizeof(id), "%.100s and %" JSON_INTEGER_FORMAT " more",
                record_get(group, "first"), json_integer_value(json_object_get(group, "more")));
        return json_object_set_new(group, "id", record_text(id)) < 0 ? -ENOMEM : 0;
}

/* Steps that want the same and cannot be done for the same reason, one a CPU for instance, become one row. */
static int print_not_now(const Cli *cli, const json_t *steps) {
        static const Column columns[] = {
                { "NOT NOW", "id" },
                { "WANTED", "wanted" },
                { "MECHANISM", "mechanism", COLUMN_STATE },
                { "REASON", "reason" },
        };
        _cleanup_record_ json_t *groups = json_array();
        const json_t *step;
        size_t i;

        json_array_foreach(steps, i, step) {
                int r = add_to_group(groups, step);

                if (r < 0)
                        return r;
        }
        if (json_array_size(groups) > 0)
                printf("\n");
        return record_print_table(groups, columns, ARRAY_SIZE(columns), cli->colour);
}

static int print_texts(const char *heading, const json_t *texts) {
        const json_t *text;
        size_t i;

        json_array_foreach(texts, i, text) {
                _cleanup_free_ char *printable = NULL;
                int r = text_printable(json_string_value(text), &printable);

                if (r < 0)
                        return r;
                printf("%s%s\n", heading, printable);
        }
        return 0;
}

static int print_sets(const json_t *record) {
        _cleanup_free_ char *from = NULL, *mode = NULL;
        const json_t *set;
        size_t i;
        int r = record_show(record, "from", &from);

        if (r == 0)
                r = record_show(record, "mode", &mode);
        if (r < 0)
                return r;
        printf("%s -> %s", from, mode);
        json_array_foreach(json_object_get(record, "sets"), i, set)
                printf("   %s %s", record_get(set, "name"), record_get(set, "cpus"));
        printf("   housekeeping %s\n", record_get(record, "housekeeping"));
        return 0;
}

static int print_plan(const Cli *cli, const json_t *record) {
        _cleanup_record_ json_t *writes = select_steps(record, FATE_WRITE);
        _cleanup_record_ json_t *not_now = select_steps(record, FATE_NOT_NOW);
        _cleanup_record_ json_t *holding = select_steps(record, FATE_HOLDS);
        int r;

        if (!writes || !not_now || !holding)
                return -ENOMEM;
        r = print_sets(record);
        if (r == 0)
                r = print_texts("warning: ", json_object_get(record, "warnings"));
        if (r == 0)
                r = print_texts("left as it is: ", json_object_get(record, "left_alone"));
        if (r < 0)
                return r;
        if (json_array_size(writes) > 0)
                printf("\n");
        r = print_steps(cli, writes);
        if (r == 0)
                r = print_not_now(cli, not_now);
        if (r == 0 && cli_has(cli, OPTION_VERBOSE) && json_array_size(holding) > 0) {
                printf("\nheld already:\n");
                r = print_steps(cli, holding);
        }
        printf("\n%zu to write, %zu not possible now, %zu held already\n", json_array_size(writes),
                json_array_size(not_now), json_array_size(holding));
        return r;
}

/* --strict: which optional parts would not hold. */
static int plan_strict(const json_t *record) {
        const json_t *step;
        size_t i;
        int r = EXIT_HOLDS;

        json_array_foreach(json_object_get(record, "steps"), i, step) {
                if (streq(record_get(step, "mechanism"), "boot"))
                        return EXIT_BOOT;
                if (streq(record_get(step, "mechanism"), "absent"))
                        r = EXIT_UNSUPPORTED;
        }
        return r;
}

int plan_print(const Cli *cli, const char *mode) {
        _cleanup_(planned_done) Planned planned = {};
        _cleanup_machine_ Machine machine = {};
        _cleanup_record_ json_t *record = NULL;
        int r;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = planned_make(cli, &machine, mode, &planned);
        if (r != EXIT_HOLDS)
                return r;
        record = plan_record(&machine, &planned);
        if (!record)
                return -ENOMEM;
        for (size_t i = 0; i < planned.plan->n_refusals; i++)
                cli_error("refused: %s", planned.plan->refusals[i].what);
        if (cli_has(cli, OPTION_JSON))
                r = record_print_json(record, false);
        else if (planned.plan->n_refusals == 0)
                r = print_plan(cli, record);
        if (r < 0)
                return r;
        if (planned.plan->n_refusals > 0)
                return EXIT_REFUSED;
        return cli_has(cli, OPTION_STRICT) ? plan_strict(record) : EXIT_HOLDS;
}

int verb_plan(Cli *cli) {
        return plan_print(cli, cli->arguments[0]);
}
