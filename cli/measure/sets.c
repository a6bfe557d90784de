/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sets.h"

#include "cpuexpr.h"
#include "plan.h"

void measure_sets_done(MeasureSets *sets) {
        for (size_t i = 0; i < sets->n; i++) {
                free(sets->items[i].name);
                cpulist_done(&sets->items[i].cpus);
        }
        free(sets->items);
        *sets = (MeasureSets){};
}

/* Sets of one name, of two modes, become one. */
static int add_set(MeasureSets *sets, const char *name, const CpuList *cpus, bool shut) {
        MeasureSet *set;
        int r;

        for (size_t i = 0; i < sets->n; i++)
                if (streq(sets->items[i].name, name))
                        return cpulist_union(&sets->items[i].cpus, cpus);
        r = GROW(sets->items, sets->n);
        if (r < 0)
                return r;
        set = &sets->items[sets->n++];
        set->shut = shut;
        r = util_copy(name, &set->name);
        return r ?: cpulist_copy(cpus, &set->cpus);
}

int measure_sets_add_live(MeasureSets *sets, const Machine *machine) {
        const Steps *steps = &machine->state.steps;
        int r = 0;

        for (size_t i = 0; i < steps->n_sets && r == 0; i++) {
                _cleanup_cpulist_ CpuList cpus = {};

                r = cpulist_parse(steps->sets[i].cpus, &cpus, NULL);
                r = r ?: add_set(sets, steps->sets[i].name, &cpus, !streq(steps->sets[i].partition, "none"));
        }
        return r;
}

static int add_planned(MeasureSets *sets, const Profile *profile, const Plan *plan) {
        int r = 0;

        if (plan->n_refusals > 0) {
                for (size_t i = 0; i < plan->n_refusals; i++)
                        cli_error("%s: %s", profile->name, plan->refusals[i].what);
                return EXIT_REFUSED;
        }
        for (size_t i = 0; i < plan->n_sets && r == 0; i++)
                r = add_set(sets, profile->sets[i].name, &plan->sets[i].cpus, false);
        return r;
}

int measure_sets_add_mode(MeasureSets *sets, const Machine *machine, const char *mode) {
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = NULL;
        bool mend = streq(machine->state.mode, mode);
        int r = machine_load_profile(machine, mode, &profile);

        if (r == EXIT_HOLDS)
                r = plan_audit(machine->kfs, profile, &machine->state.steps, &world);
        if (r == 0)
                r = plan_make(profile, world, &machine->state.steps, mend ? PLAN_MEND : 0, &plan);
        return r == 0 ? add_planned(sets, profile, plan) : r;
}

const MeasureSet *measure_sets_find(const MeasureSets *sets, unsigned cpu) {
        for (size_t i = 0; i < sets->n; i++)
                if (cpulist_has(&sets->items[i].cpus, cpu))
                        return &sets->items[i];
        return NULL;
}

static int find_set(void *userdata, const char *name, CpuList *ret) {
        const MeasureSets *sets = userdata;

        for (size_t i = 0; i < sets->n; i++)
                if (streq(sets->items[i].name, name))
                        return cpulist_copy(&sets->items[i].cpus, ret);
        return -ENOENT;
}

static int evaluate(const Cli *cli, const Topology *topology, const MeasureSets *sets, CpuList *ret) {
        CpuExprError error = {};
        int r = cpuexpr_evaluate(cli->cpus, topology, find_set, (void *) sets, ret, &error);

        if (r != -EINVAL)
                return r;
        cli_error("--cpus \"%s\", column %zu: %s", cli->cpus, error.column, error.message);
        cpuexpr_error_done(&error);
        return EXIT_USAGE;
}

int measure_choose_cpus(const Cli *cli, Kfs *kfs, const MeasureSets *sets, CpuList *ret) {
        _cleanup_topology_ Topology *topology = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        int r = topology_read(kfs, &topology);

        if (r == 0 && cli->cpus)
                r = evaluate(cli, topology, sets, &cpus);
        for (size_t i = 0; !cli->cpus && i < sets->n && r == 0; i++)
                r = cpulist_union(&cpus, &sets->items[i].cpus);
        if (r != EXIT_HOLDS)
                return r;
        cpulist_intersect(&cpus, &topology->online);
        if (!cpulist_is_empty(&cpus)) {
                *ret = cpulist_take(&cpus);
                return EXIT_HOLDS;
        }
        if (cli->cpus)
                cli_error("--cpus \"%s\" is no CPU that is online", cli->cpus);
        else
                cli_error("no set is in force whose CPUs could be measured: --cpus says which (--cpus "
                          "online: all)");
        return EXIT_REFUSED;
}
