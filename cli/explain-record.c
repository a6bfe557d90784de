/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/utsname.h>

#include "explain.h"

static json_t *usec_record(uint64_t ns) {
        return json_real((double) ns / 1e3);
}

static json_t *causes_record(const NoiseCpu *cpu, const NoiseCulprit *culprit, const NoiseFacts *facts) {
        const char *reason = culprit->kind == NOISE_KIND_TICK && culprit->n_causes == 0
                ? noise_tick_reason(cpu, facts)
                : NULL;
        json_t *list = json_array();

        for (size_t i = 0; list && i < culprit->n_causes; i++)
                if (json_array_append_new(list,
                            json_pack("{s:o, s:I}", "what", record_text(culprit->causes[i].what), "count",
                                    (json_int_t) culprit->causes[i].count)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        if (list && reason &&
                json_array_append_new(list,
                        json_pack("{s:s, s:I}", "what", reason, "count", (json_int_t) culprit->count)) < 0) {
                json_decref(list);
                return NULL;
        }
        return list;
}

static json_t *culprit_record(const Explained *explained, const NoiseCpu *cpu, const NoiseCulprit *culprit) {
        double seconds = (double) explained->report->ns / 1e9;
        _cleanup_free_ char *advice = NULL;
        bool timed = culprit->kind != NOISE_KIND_PAGE_FAULT;

        if (noise_advice(cpu, culprit, explained->facts, &advice) < 0)
                return NULL;
        return json_pack("{s:s, s:o, s:o, s:o, s:b, s:I, s:f, s:o, s:o, s:o, s:o}", "kind",
                noise_kind_to_string(culprit->kind), "name", record_text(culprit->name), "pid",
                culprit->pid > 0 ? json_integer(culprit->pid) : json_null(), "irq",
                culprit->kind == NOISE_KIND_INTERRUPT ? json_integer((json_int_t) culprit->number)
                                                      : json_null(),
                "own", noise_is_own(culprit), "count", (json_int_t) culprit->count, "per_second",
                seconds > 0 ? (double) culprit->count / seconds : 0.0, "stolen_us",
                timed ? usec_record(culprit->ns) : json_null(), "worst_us",
                timed ? usec_record(culprit->worst_ns) : json_null(), "causes",
                causes_record(cpu, culprit, explained->facts), "fix", record_text(advice));
}

static json_t *culprits_record(const Explained *explained, const NoiseCpu *cpu) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < cpu->n_culprits; i++)
                if (json_array_append_new(list, culprit_record(explained, cpu, &cpu->culprits[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

static const char *set_of(const Machine *machine, unsigned cpu) {
        const Steps *steps = &machine->state.steps;

        for (size_t i = 0; i < steps->n_sets; i++) {
                _cleanup_cpulist_ CpuList cpus = {};

                if (cpulist_parse(steps->sets[i].cpus, &cpus, NULL) == 0 && cpulist_has(&cpus, cpu))
                        return steps->sets[i].name;
        }
        return NULL;
}

static json_t *workload_record(const NoiseCpu *cpu) {
        if (cpu->workload == 0)
                return json_null();
        return json_pack("{s:o, s:i, s:o}", "comm", record_text(cpu->workload_comm), "tid", cpu->workload,
                "ran_us", usec_record(cpu->workload_ns));
}

static json_t *cpu_record(const Explained *explained, const NoiseCpu *cpu) {
        return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "cpu", (json_int_t) cpu->cpu, "set",
                record_text(set_of(explained->machine, cpu->cpu)), "workload", workload_record(cpu),
                "stolen_us", usec_record(cpu->stolen_ns), "worst_us", usec_record(cpu->worst_ns), "idle_us",
                usec_record(cpu->idle_ns), "lost", (json_int_t) cpu->lost, "culprits",
                culprits_record(explained, cpu));
}

static json_t *cpus_record(const Explained *explained) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < explained->report->n_cpus; i++)
                if (json_array_append_new(list, cpu_record(explained, &explained->report->cpus[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

json_t *explain_record(const Explained *explained) {
        _cleanup_free_ char *kernel = machine_text(explained->machine, "/proc/sys/kernel/osrelease");
        struct utsname uts;

        return json_pack("{s:i, s:o, s:o, s:o, s:f, s:f, s:b, s:o}", "version", 1, "host",
                record_text(uname(&uts) < 0 ? NULL : uts.nodename), "kernel", record_text(kernel), "mode",
                record_text(explained->machine->state.mode), "start",
                (double) explained->report->start / 1e9, "seconds", (double) explained->report->ns / 1e9,
                "names_calls", explained->facts->names_calls, "cpus", cpus_record(explained));
}

/* CPUs of sets whose tick is meant to run, busy or not. */
static int wants_tick(const Steps *steps, CpuList *ret) {
        for (size_t i = 0; i < steps->n_sets; i++) {
                _cleanup_cpulist_ CpuList cpus = {};
                const StepSet *set = &steps->sets[i];
                int r = set->nohz && (streq(set->nohz, "off") || streq(set->nohz, "idle"))
                        ? cpulist_parse(set->cpus, &cpus, NULL)
                        : 0;

                r = r ?: cpulist_union(ret, &cpus);
                if (r < 0)
                        return r;
        }
        return 0;
}

int explain_facts(const Machine *machine, NoiseFacts *ret) {
        _cleanup_free_ char *booted = machine_text(machine, "/sys/devices/system/cpu/nohz_full");
        _cleanup_free_ char *features = machine_text(machine, "/sys/kernel/cgroup/features");
        _cleanup_(noise_facts_done) NoiseFacts facts = {
                .tick_file = features && strstr(features, "cpuset_nohz"),
                .fair_server = kfs_exists(machine->kfs, "/sys/kernel/debug/sched/fair_server"),
        };
        int r = wants_tick(&machine->state.steps, &facts.wants_tick);

        if (r < 0)
                return r;
        /* `(null)` where there are none. */
        if (booted && cpulist_parse(booted, &facts.nohz_full, NULL) == -ENOMEM)
                return -ENOMEM;
        *ret = facts;
        facts = (NoiseFacts){};
        return 0;
}
