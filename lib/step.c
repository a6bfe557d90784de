/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "step.h"

void step_done(Step *step) {
        free(step->id);
        free(step->object);
        free(step->before);
        free(step->now);
        free(step->wanted);
        free(step->within);
        free(step->reason);
        free(step->disturbs);
        free(step->set);
        free(step->backend);
        *step = (Step){};
}

static void step_set_done(StepSet *set) {
        free(set->name);
        free(set->cpus);
        free(set->partition);
        free(set->nohz);
        free(set->rt_push_pull);
        *set = (StepSet){};
}

void steps_done(Steps *steps) {
        for (size_t i = 0; i < steps->n; i++)
                step_done(&steps->items[i]);
        for (size_t i = 0; i < steps->n_sets; i++)
                step_set_done(&steps->sets[i]);
        free(steps->items);
        free(steps->sets);
        *steps = (Steps){};
}

int step_copy(const Step *step, Step *ret) {
        Step copy = {
                .kind = step->kind,
                .phase = step->phase,
                .order = step->order,
                .flags = step->flags,
                .mechanism = step->mechanism,
                .refused = step->refused,
        };
        int r = 0;

        r = r ?: util_copy(step->id, &copy.id);
        r = r ?: util_copy(step->object, &copy.object);
        r = r ?: util_copy(step->before, &copy.before);
        r = r ?: util_copy(step->now, &copy.now);
        r = r ?: util_copy(step->wanted, &copy.wanted);
        r = r ?: util_copy(step->within, &copy.within);
        r = r ?: util_copy(step->reason, &copy.reason);
        r = r ?: util_copy(step->disturbs, &copy.disturbs);
        r = r ?: util_copy(step->set, &copy.set);
        r = r ?: util_copy(step->backend, &copy.backend);
        if (r < 0) {
                step_done(&copy);
                return r;
        }
        *ret = copy;
        return 0;
}

int steps_add(Steps *steps, Step *step) {
        int r = GROW(steps->items, steps->n);

        if (r < 0) {
                step_done(step);
                return r;
        }
        steps->items[steps->n++] = *step;
        *step = (Step){};
        return 0;
}

int steps_add_set(Steps *steps, const StepSet *set) {
        StepSet copy = {};
        int r = 0;

        r = r ?: util_copy(set->name, &copy.name);
        r = r ?: util_copy(set->cpus, &copy.cpus);
        r = r ?: util_copy(set->partition, &copy.partition);
        r = r ?: util_copy(set->nohz, &copy.nohz);
        r = r ?: util_copy(set->rt_push_pull, &copy.rt_push_pull);
        r = r ?: GROW(steps->sets, steps->n_sets);
        if (r < 0) {
                step_set_done(&copy);
                return r;
        }
        steps->sets[steps->n_sets++] = copy;
        return 0;
}

const StepSet *steps_find_set(const Steps *steps, const char *name) {
        for (size_t i = 0; steps && i < steps->n_sets; i++)
                if (streq(steps->sets[i].name, name))
                        return &steps->sets[i];
        return NULL;
}

Step *steps_find(const Steps *steps, const char *object) {
        for (size_t i = 0; steps && i < steps->n; i++)
                if (streq(steps->items[i].object, object))
                        return &steps->items[i];
        return NULL;
}

Step *steps_find_id(const Steps *steps, const char *id) {
        for (size_t i = 0; steps && i < steps->n; i++)
                if (streq(steps->items[i].id, id))
                        return &steps->items[i];
        return NULL;
}

bool step_holds(const Step *step, const char *live) {
        if (step->flags & (STEP_ACTION | STEP_KEPT))
                return true;
        return live && value_holds(step->kind, live, step->wanted, step->within);
}

const char *mechanism_to_string(Mechanism mechanism) {
        static const char *const words[_MECHANISM_MAX] = {
                [MECHANISM_RUNTIME] = "runtime",
                [MECHANISM_BOOT] = "boot",
                [MECHANISM_ABSENT] = "absent",
        };

        return words[mechanism];
}

/* The way back is not the way in reversed: a fair server refuses its old value while its CPU is isolated,
 * and on kernels that forget a task's own mask the affinities can only be given back once the partition is
 * gone. */
static const struct {
        const char *word;
        int in, back;
} phases[_PHASE_MAX] = {
        [PHASE_IRQ_DEFAULT] = { "irq-default", 0, 0 },
        [PHASE_VALUES] = { "values", 1, 14 },
        [PHASE_SERVER] = { "server", 2, 8 },
        [PHASE_WATCHDOG] = { "watchdog", 3, 9 },
        [PHASE_TIMERS] = { "timers", 4, 13 },
        [PHASE_CGROUP] = { "cgroup", 5, 4 },
        [PHASE_TASK] = { "task", 6, 5 },
        [PHASE_KTHREAD] = { "kthread", 7, 6 },
        [PHASE_WORKQUEUE] = { "workqueue", 8, 7 },
        [PHASE_CHANNELS] = { "channels", 9, 10 },
        [PHASE_IRQ] = { "irq", 10, 11 },
        [PHASE_QUEUES] = { "queues", 11, 12 },
        [PHASE_TICK] = { "tick", 12, 3 },
        [PHASE_PRIORITY] = { "priority", 13, 2 },
        [PHASE_POWER] = { "power", 14, 1 },
};

const char *phase_to_string(Phase phase) {
        return phases[phase].word;
}

Phase phase_from_string(const char *word) {
        for (Phase phase = 0; phase < _PHASE_MAX; phase++)
                if (streq(phases[phase].word, word))
                        return phase;
        return _PHASE_MAX;
}

int phase_rank(Phase phase, bool back) {
        return back ? phases[phase].back : phases[phase].in;
}
