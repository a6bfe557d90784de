/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "planned.h"
#include "plan-sets.h"
#include "plan.h"
#include "providers.h"
#include "test.h"

void planned_new(Planned *planned, const char *lines) {
        *planned = (Planned){ .tree = tree_new() };
        tree_put_cpus(planned->tree, 1, 4, 1, false);
        tree_put(planned->tree, "proc/sys/kernel/osrelease", "6.1.0-test\n");
        tree_fill(planned->tree, lines);
}

void planned_done(Planned *planned) {
        if (planned->plan)
                plan_free(planned->plan);
        if (planned->world)
                world_free(planned->world);
        if (planned->profile)
                profile_free(planned->profile);
        if (planned->tree)
                tree_free(planned->tree);
}

void planned_read(Planned *planned, const Backend *backend, const char *profile) {
        ProfileErrors errors = {};
        int r;

        tree_put(planned->tree, "etc/rtisold/profiles/test.ini", profile);
        r = profile_load(planned->tree->kfs, "test", &planned->profile, &errors);
        if (r < 0)
                fail_msg("profile: %s", errors.n ? errors.items[0].message : strerror(-r));
        assert_int_equal(providers_add(planned->tree->kfs), 0);
        assert_int_equal(world_new(planned->tree->kfs, &planned->world), 0);
        assert_int_equal(backend->audit(planned->tree->kfs, planned->profile, planned->world), 0);
}

void planned_make(Planned *planned, const Backend *backend, const Steps *in_force) {
        PlanInput input = { .profile = planned->profile, .world = planned->world, .in_force = in_force };

        planned->plan = calloc(1, sizeof(Plan));
        assert_non_null(planned->plan);
        assert_int_equal(world_overlay(planned->world, in_force), 0);
        assert_int_equal(plan_sets(planned->profile, planned->world, in_force, 0, planned->plan), 0);
        input.sets = planned->plan->sets;
        input.isolated = planned->plan->isolated;
        input.housekeeping = planned->plan->housekeeping;
        assert_int_equal(backend->plan(&input, planned->plan), 0);
}

char *planned_text(const Planned *planned) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (size_t i = 0; i < planned->plan->steps.n; i++) {
                const Step *step = &planned->plan->steps.items[i];

                fprintf(f, "%s%s %s", step->id, step->flags & STEP_REQUIRED ? "*" : "", step->before ?: "-");
                if ((step->now == NULL) != (step->before == NULL) ||
                        (step->now && !streq(step->now, step->before)))
                        fprintf(f, " (%s)", step->now ?: "-");
                fprintf(f, " -> %s", step->wanted ?: "-");
                if (step->mechanism != MECHANISM_RUNTIME) {
                        fprintf(f, " %s", mechanism_to_string(step->mechanism));
                        assert_non_null(step->reason);
                }
                fputc('\n', f);
        }
        for (size_t i = 0; i < planned->plan->n_refusals; i++)
                fprintf(f, "! %s\n", planned->plan->refusals[i].what);
        STRV_FOREACH (warning, planned->plan->warnings)
                fprintf(f, "? %s\n", *warning);
        assert_int_equal(fclose(f), 0);
        return text;
}

void planned_check(const Backend *backend, const char *lines, const char *profile, const char *expected) {
        _cleanup_planned_ Planned planned = {};
        _cleanup_free_ char *text = NULL;

        planned_new(&planned, lines);
        planned_read(&planned, backend, profile);
        planned_make(&planned, backend, NULL);
        text = planned_text(&planned);
        if (!streq(text, expected))
                fail_msg("profile:\n%s\nmachine:\n%s\nexpected:\n%s\nplanned:\n%s", profile, lines, expected,
                        text);
}

void planned_check_revert(const Backend *backend, const Step *step, const char *live, const char *expected) {
        _cleanup_free_ char *target = NULL;

        assert_int_equal(backend->revert(step, live, NULL, &target), 0);
        if ((target == NULL) != (expected == NULL) || (target && !streq(target, expected)))
                fail_msg("%s: %s -> %s, live %s: writes %s, not %s", step->id, step->before, step->wanted,
                        live, target, expected);
}
