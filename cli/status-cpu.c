/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>

#include "status-record.h"

/* The deepest idle state that the latency a CPU may take to resume allows (Documentation/ABI/testing/
 * sysfs-devices-power, pm_qos_resume_latency_us: `n/a` is none at all, 0 no limit). */
json_t *status_idle_record(const Machine *machine, int cpu) {
        _cleanup_free_ char *latency = NULL, *dir = NULL, *deepest = NULL;
        _cleanup_strv_ char **states = NULL;
        unsigned limit, exit_latency;

        if (util_asprintf(&dir, "/sys/devices/system/cpu/cpu%d/cpuidle", cpu) < 0)
                return NULL;
        if (kfs_list(machine->kfs, dir, &states) < 0 ||
                kfs_readf(machine->kfs, &latency,
                        "/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us", cpu) < 0)
                return json_null();
        if (streq(latency, "0"))
                return json_string("any");
        if (util_parse_unsigned(latency, &limit) < 0)
                limit = 0;
        STRV_FOREACH (state, states) {
                _cleanup_free_ char *name = NULL, *text = NULL;

                if (kfs_readf(machine->kfs, &text, "%s/%s/latency", dir, *state) < 0 ||
                        util_parse_unsigned(text, &exit_latency) < 0 || exit_latency > limit ||
                        kfs_readf(machine->kfs, &name, "%s/%s/name", dir, *state) < 0)
                        continue;
                free(deepest);
                deepest = TAKE_PTR(name);
        }
        return record_text(deepest);
}

static json_t *file_number(const Machine *machine, int cpu, const char *file) {
        _cleanup_free_ char *text = NULL;
        uint64_t value;

        if (kfs_readf(machine->kfs, &text, "/sys/devices/system/cpu/cpu%d/%s", cpu, file) < 0 ||
                util_parse_u64(text, &value) < 0)
                return json_null();
        return json_integer((json_int_t) value);
}

/* The limits that are set, and where the hardware's are (Documentation/admin-guide/pm/cpufreq.rst). */
static json_t *frequency_record(const Machine *machine, int cpu) {
        _cleanup_free_ char *governor = NULL;

        if (kfs_readf(machine->kfs, &governor, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
                    cpu) < 0)
                return json_null();
        return json_pack("{s:o, s:o, s:o, s:o, s:o}", "governor", record_text(governor), "min_khz",
                file_number(machine, cpu, "cpufreq/scaling_min_freq"), "max_khz",
                file_number(machine, cpu, "cpufreq/scaling_max_freq"), "hardware_min_khz",
                file_number(machine, cpu, "cpufreq/cpuinfo_min_freq"), "hardware_max_khz",
                file_number(machine, cpu, "cpufreq/cpuinfo_max_freq"));
}

/* Below this a timer's interrupts are those of timers that expire, and no tick. */
#define TICK_PER_SECOND 20

/* What the CPU's timer did: it ticks, or hardly ever expires. */
static const char *tick_word(const StatusInput *input, unsigned cpu) {
        const Audit *audit = input->audit;

        if (audit->after.n == 0 || !audit->after.has_timer)
                return NULL;
        return sample_timer(&audit->before, &audit->after, cpu) >= TICK_PER_SECOND ? "running" : "stopped";
}

/* How often since the mode began; the row is `LOC` on x86. */
static json_t *ticks_record(const StatusInput *input, unsigned cpu) {
        const Audit *audit = input->audit;
        ssize_t row = counts_row(&audit->began, "LOC");

        if (row < 0 || cpu >= audit->after.n ||
                audit->after.timer[cpu] < counts_get(&audit->began, row, cpu))
                return json_null();
        return json_integer((json_int_t) (audit->after.timer[cpu] - counts_get(&audit->began, row, cpu)));
}

static bool is_nohz_full(const Machine *machine, unsigned cpu) {
        _cleanup_free_ char *text = machine_text(machine, "/sys/devices/system/cpu/nohz_full");
        _cleanup_cpulist_ CpuList list = {};

        return text && cpulist_parse(text, &list, NULL) == 0 && cpulist_has(&list, cpu);
}

static json_t *tick_record(const StatusInput *input, unsigned cpu) {
        const Audit *audit = input->audit;
        bool known = audit->after.n > 0 && audit->after.has_timer;

        return json_pack("{s:o, s:o, s:b, s:o}", "state", record_text(tick_word(input, cpu)), "per_second",
                known ? json_real(sample_timer(&audit->before, &audit->after, cpu)) : json_null(),
                "nohz_full", is_nohz_full(input->machine, cpu), "count", ticks_record(input, cpu));
}

/* Since the mode began, of each kind; null where that was not counted. */
static json_t *softirqs_record(const Audit *audit, unsigned cpu) {
        json_t *record;
        int r = 0;

        if (audit->softirqs_began.n_rows == 0 || audit->softirqs.n_rows == 0)
                return json_null();
        record = json_object();
        for (size_t i = 0; record && i < audit->softirqs.n_rows; i++) {
                const char *name = audit->softirqs.names[i];
                uint64_t now = counts_get(&audit->softirqs, (ssize_t) i, cpu);
                uint64_t then =
                        counts_get(&audit->softirqs_began, counts_row(&audit->softirqs_began, name), cpu);

                r = r ?: record_put(record, name, json_integer(now >= then ? (json_int_t) (now - then) : 0));
        }
        return record ? record_finish(record, r) : NULL;
}

/* As the kernel has it: a number of µs, or `n/a` for none at all. */
static json_t *latency_record(const Machine *machine, int cpu) {
        _cleanup_free_ char *text = NULL;

        if (kfs_readf(machine->kfs, &text, "/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us",
                    cpu) < 0)
                return json_null();
        return record_text(text);
}

static const char *policy_word(int policy) {
        switch (policy) {
        case SCHED_OTHER: return "other";
        case SCHED_FIFO: return "fifo";
        case SCHED_RR: return "rr";
        case SCHED_BATCH: return "batch";
        case SCHED_IDLE: return "idle";
        case 6: return "deadline"; /* SCHED_DEADLINE is in <linux/sched.h>, which clashes with <sched.h> */
        case 7: return "ext";
        default: return "unknown";
        }
}

static json_t *task_record(const Audit *audit, const WorldTask *task, unsigned cpu) {
        _cleanup_cpulist_ CpuList affinity = {};

        if (cpulist_copy(&task->live, &affinity) < 0)
                return NULL;
        cpulist_intersect(&affinity, &audit->world->topology->online);
        return json_pack("{s:i, s:i, s:o, s:b, s:s, s:i, s:o, s:i, s:o, s:b, s:s}", "tid", task->tid, "pid",
                task->pid, "comm", record_text(task->comm), "kernel", task->kernel, "policy",
                policy_word(task->policy), "priority", task->priority, "affinity", record_cpus(&affinity),
                "last_cpu", task->last_cpu, "cgroup", record_text(task->cgroup), "expected",
                audit_task_is_expected(audit, task, cpu), "why", audit_task_why(audit, task, cpu));
}

/* Did the kernel refuse to move it when the mode was entered? */
static bool irq_is_refused(const Audit *audit, const WorldIrq *irq) {
        const AuditStep *step = audit_irq_step(audit, irq->irq);

        return step && step->state == STATE_REFUSED;
}

static json_t *irq_count_record(const Audit *audit, const WorldIrq *irq, unsigned cpu) {
        int64_t count = audit_irq_count(audit, irq, cpu);

        return count < 0 ? json_null() : json_integer(count);
}

static json_t *irq_record(const Audit *audit, const WorldIrq *irq, unsigned cpu) {
        return json_pack("{s:I, s:o, s:o, s:o, s:b, s:b, s:I, s:o}", "irq", (json_int_t) irq->irq, "name",
                record_text(irq->name), "affinity", record_cpus(&irq->live), "effective",
                irq->has_effective ? record_cpus(&irq->effective) : json_null(), "movable",
                irq->writable && !irq->managed && !irq_is_refused(audit, irq), "managed", irq->managed,
                "count", (json_int_t) (cpu < irq->n_counts ? irq->counts[cpu] : 0), "since_mode",
                irq_count_record(audit, irq, cpu));
}

static json_t *cpu_tasks_record(const Audit *audit, unsigned cpu) {
        _cleanup_free_ size_t *indexes = NULL;
        json_t *list = json_array();
        size_t n = 0;
        int r = list ? audit_cpu_tasks(audit, cpu, &indexes, &n) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = json_array_append_new(list, task_record(audit, &audit->world->tasks[indexes[i]], cpu));
        return record_finish(list, r);
}

static json_t *cpu_irqs_record(const Audit *audit, unsigned cpu) {
        _cleanup_free_ size_t *indexes = NULL;
        json_t *list = json_array();
        size_t n = 0;
        int r = list ? audit_cpu_irqs(audit, cpu, &indexes, &n) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = json_array_append_new(list, irq_record(audit, &audit->world->irqs[indexes[i]], cpu));
        return record_finish(list, r);
}

static json_t *cpu_record(const StatusInput *input, unsigned number) {
        const Audit *audit = input->audit;
        const TopologyCpu *cpu = topology_cpu(audit->world->topology, number);
        const AuditSet *set = audit_set_of(audit, number);

        return json_pack("{s:I, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cpu",
                (json_int_t) number, "set", record_text(set ? set->name : NULL), "node",
                cpu && cpu->node >= 0 ? json_integer(cpu->node) : json_null(), "siblings",
                cpu ? record_cpus(&cpu->siblings) : json_null(), "online", cpu && cpu->online, "tick",
                tick_record(input, number), "softirqs", softirqs_record(audit, number), "idle",
                status_idle_record(input->machine, (int) number), "resume_latency",
                latency_record(input->machine, (int) number), "frequency",
                frequency_record(input->machine, (int) number), "tasks", cpu_tasks_record(audit, number),
                "irqs", cpu_irqs_record(audit, number));
}

json_t *status_cpus_record(const StatusInput *input) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        CPULIST_FOREACH (cpu, input->cpus)
                r = r ?: json_array_append_new(list, cpu_record(input, (unsigned) cpu));
        return record_finish(list, r);
}
