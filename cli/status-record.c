/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status-record.h"

#include <sched.h>
#include <sys/utsname.h>
#include <time.h>

/* Takes the value; 0, or -ENOMEM where it is NULL. */
static int put(json_t *record, const char *key, json_t *value) {
        return json_object_set_new(record, key, value) < 0 ? -ENOMEM : 0;
}

/* Takes record; NULL where r says that it could not be filled. */
static json_t *finish(json_t *record, int r) {
        if (r < 0) {
                json_decref(record);
                return NULL;
        }
        return record;
}

/* Seconds since the epoch and µs as `2026-11-30T16:00:00.123456Z`. */
static json_t *time_record(uint64_t usec) {
        time_t seconds = (time_t) (usec / 1000000);
        char text[40];
        struct tm tm;
        size_t n;

        if (usec == 0 || !gmtime_r(&seconds, &tm))
                return json_null();
        n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        (void) snprintf(text + n, sizeof(text) - n, ".%06uZ", (unsigned) (usec % 1000000));
        return json_string(text);
}

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static json_t *host_record(const Machine *machine) {
        _cleanup_free_ char *name = NULL;
        struct utsname uts;

        if (kfs_is_live(machine->kfs))
                return record_text(uname(&uts) < 0 ? NULL : uts.nodename);
        name = machine_text(machine, "/proc/sys/kernel/hostname");
        if (!name)
                name = machine_text(machine, "/etc/hostname");
        return record_text(name);
}

static json_t *mechanism_record(const char *wanted, const char *live, StepState state) {
        return json_pack("{s:o, s:o, s:s}", "wanted", record_text(wanted ?: ""), "live",
                record_text(live ?: ""), "state", step_state_to_string(state));
}

/* The nodes of a set's CPUs. */
static json_t *nodes_record(const Topology *topology, const CpuList *cpus) {
        _cleanup_cpulist_ CpuList nodes = {};

        CPULIST_FOREACH (number, cpus) {
                const TopologyCpu *cpu = topology_cpu(topology, (unsigned) number);

                if (cpu && cpu->node >= 0 && cpulist_add(&nodes, (unsigned) cpu->node) < 0)
                        return NULL;
        }
        return record_cpus(&nodes);
}

/* May real-time tasks take all of a CPU of the set?  The fair server, where there is one, decides it per CPU. */
static json_t *throttling_record(const Machine *machine, const CpuList *cpus) {
        _cleanup_free_ char *global = machine_text(machine, "/proc/sys/kernel/sched_rt_runtime_us");
        _cleanup_free_ char *server = NULL;

        if (kfs_readf(machine->kfs, &server, "/sys/kernel/debug/sched/fair_server/cpu%d/runtime",
                    cpulist_next(cpus, -1)) == 0)
                return json_string(streq(server, "0") ? "off" : "on");
        return global ? json_string(streq(global, "-1") ? "off" : "on") : json_null();
}

/* The deepest idle state that the latency a CPU may take to resume allows (Documentation/ABI/testing/
 * sysfs-devices-power, pm_qos_resume_latency_us: `n/a` is none at all, 0 no limit). */
static json_t *idle_record(const Machine *machine, const CpuList *cpus) {
        _cleanup_free_ char *latency = NULL, *dir = NULL, *deepest = NULL;
        _cleanup_strv_ char **states = NULL;
        unsigned limit, exit_latency;
        int cpu = cpulist_next(cpus, -1);

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

/* How many of the CPUs are busy most of the time. */
static json_t *busy_record(const StatusInput *input, const CpuList *cpus) {
        json_int_t busy = 0;

        if (!input->after)
                return json_null();
        CPULIST_FOREACH (cpu, cpus)
                busy += sample_busy(input->before, input->after, (unsigned) cpu) >= 0.5;
        return json_integer(busy);
}

static json_t *interrupts_record(const StatusInput *input, const CpuList *cpus) {
        double sum = 0;

        if (!input->after)
                return json_null();
        CPULIST_FOREACH (cpu, cpus)
                sum += sample_interrupts(input->before, input->after, (unsigned) cpu);
        return json_real(sum);
}

static json_t *set_record(const StatusInput *input, const AuditSet *set) {
        const Machine *machine = input->machine;

        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "name",
                record_text(set->name), "cpus", record_text(set->cpus), "slice", record_text(set->slice),
                "partition", record_text(set->partition), "partition_reason",
                record_text(set->partition_reason ?: ""), "nohz",
                mechanism_record(set->nohz_wanted, set->nohz_live, set->nohz_state), "rt_push_pull",
                mechanism_record(set->push_pull_wanted, set->push_pull_live, set->push_pull_state), "nodes",
                nodes_record(input->audit->world->topology, &set->members), "rt_throttling",
                throttling_record(machine, &set->members), "idle", idle_record(machine, &set->members),
                "count", (json_int_t) cpulist_count(&set->members), "busy",
                busy_record(input, &set->members), "irqs_per_second",
                interrupts_record(input, &set->members));
}

/* What people call the object: an interrupt has a number that says nothing. */
static const char *step_name(const World *world, const Step *step) {
        const WorldIrq *irq;
        unsigned number;

        if (sscanf(step->object, "/proc/irq/%u/", &number) != 1)
                return "";
        irq = world_irq(world, number);
        return irq ? irq->name : "";
}

static json_t *step_record(const World *world, const AuditStep *step) {
        const Step *record = step->step;

        return json_pack("{s:o, s:o, s:o, s:b, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "id",
                record_text(record->id), "name", record_text(step_name(world, record)), "object",
                record_text(record->object), "required", !!(record->flags & STEP_REQUIRED), "mechanism",
                mechanism_to_string(record->mechanism), "before", record_text(record->before), "wanted",
                record_text(record->wanted), "live", record_text(step->live), "state",
                step_state_to_string(step->state), "reason", record_text(step->reason ?: ""), "writer",
                record_text(step->writer ?: ""), "disturbs", record_text(record->disturbs ?: ""));
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
        return json_pack("{s:i, s:i, s:o, s:b, s:s, s:i, s:o, s:b}", "tid", task->tid, "pid", task->pid,
                "comm", record_text(task->comm), "kernel", task->kernel, "policy", policy_word(task->policy),
                "priority", task->priority, "affinity", record_cpus(&task->live), "expected",
                audit_task_is_expected(audit, task, cpu));
}

/* Did the kernel refuse to move it when the mode was entered? */
static bool irq_is_refused(const Audit *audit, const WorldIrq *irq) {
        char id[64];

        (void) snprintf(id, sizeof(id), "irq/%u/affinity", irq->irq);
        for (size_t i = 0; i < audit->n_steps; i++)
                if (audit->steps[i].state == STATE_REFUSED && streq(audit->steps[i].step->id, id))
                        return true;
        return false;
}

static json_t *irq_record(const Audit *audit, const WorldIrq *irq, unsigned cpu) {
        return json_pack("{s:I, s:o, s:o, s:o, s:b, s:I}", "irq", (json_int_t) irq->irq, "name",
                record_text(irq->name), "affinity", record_cpus(&irq->live), "effective",
                irq->has_effective ? record_cpus(&irq->effective) : json_null(), "movable",
                irq->writable && !irq->managed && !irq_is_refused(audit, irq), "count",
                (json_int_t) (cpu < irq->n_counts ? irq->counts[cpu] : 0));
}

static json_t *cpu_tasks_record(const Audit *audit, unsigned cpu) {
        _cleanup_free_ size_t *indexes = NULL;
        json_t *list = json_array();
        size_t n = 0;
        int r = list ? audit_cpu_tasks(audit, cpu, &indexes, &n) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = json_array_append_new(list, task_record(audit, &audit->world->tasks[indexes[i]], cpu));
        return finish(list, r);
}

static json_t *cpu_irqs_record(const Audit *audit, unsigned cpu) {
        _cleanup_free_ size_t *indexes = NULL;
        json_t *list = json_array();
        size_t n = 0;
        int r = list ? audit_cpu_irqs(audit, cpu, &indexes, &n) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = json_array_append_new(list, irq_record(audit, &audit->world->irqs[indexes[i]], cpu));
        return finish(list, r);
}

static const char *set_of(const Audit *audit, unsigned cpu) {
        for (size_t i = 0; i < audit->n_sets; i++)
                if (cpulist_has(&audit->sets[i].members, cpu))
                        return audit->sets[i].name;
        return NULL;
}

static json_t *cpu_record(const Audit *audit, unsigned number) {
        const TopologyCpu *cpu = topology_cpu(audit->world->topology, number);

        return json_pack("{s:I, s:o, s:o, s:o, s:b, s:o, s:o}", "cpu", (json_int_t) number, "set",
                record_text(set_of(audit, number)), "node",
                cpu && cpu->node >= 0 ? json_integer(cpu->node) : json_null(), "siblings",
                cpu ? record_cpus(&cpu->siblings) : json_null(), "online", cpu && cpu->online, "tasks",
                cpu_tasks_record(audit, number), "irqs", cpu_irqs_record(audit, number));
}

static json_t *finding_record(const Finding *finding) {
        return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "code", finding->code, "severity",
                finding->severity, "cpus", record_text(finding->cpus), "subject",
                record_text(finding->subject), "why", record_text(finding->why), "fix",
                record_text(finding->fix), "accepted", finding->accepted);
}

static json_t *sets_record(const StatusInput *input) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < input->audit->n_sets; i++)
                r = json_array_append_new(list, set_record(input, &input->audit->sets[i]));
        return finish(list, r);
}

static json_t *steps_record(const Audit *audit) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < audit->n_steps; i++)
                r = json_array_append_new(list, step_record(audit->world, &audit->steps[i]));
        return finish(list, r);
}

static json_t *cpus_record(const Audit *audit, const CpuList *cpus) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (int cpu = cpulist_next(cpus, -1); r == 0 && cpu >= 0; cpu = cpulist_next(cpus, cpu))
                r = json_array_append_new(list, cpu_record(audit, (unsigned) cpu));
        return finish(list, r);
}

static json_t *findings_record(const Audit *audit) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < audit->n_findings; i++)
                r = json_array_append_new(list, finding_record(&audit->findings[i]));
        return finish(list, r);
}

/* How many per cent of the housekeeping CPUs' time were used. */
static json_t *load_record(const StatusInput *input) {
        double sum = 0;
        size_t n = 0;

        if (!input->after)
                return json_null();
        CPULIST_FOREACH (cpu, &input->audit->housekeeping) {
                double busy = sample_busy(input->before, input->after, (unsigned) cpu);

                n += busy >= 0;
                sum += busy >= 0 ? busy : 0;
        }
        return n > 0 ? json_integer((json_int_t) (sum / (double) n * 100 + 0.5)) : json_null();
}

/* `| Allocated: 612` and `| Global available: 988` of the x86 vector domain; only root may look. */
static json_t *vectors_record(const Machine *machine) {
        _cleanup_free_ char *text = machine_text(machine, "/sys/kernel/debug/irq/domains/VECTOR");
        const char *available = text ? strstr(text, "Global available:") : NULL,
                   *allocated = text ? strstr(text, "Total allocated:") : NULL;
        unsigned long free_ones, used;

        if (!available || !allocated)
                return json_null();
        free_ones = strtoul(available + strlen("Global available:"), NULL, 10);
        used = strtoul(allocated + strlen("Total allocated:"), NULL, 10);
        return json_pack("{s:I, s:I}", "used", (json_int_t) used, "total", (json_int_t) (used + free_ones));
}

/* What is worth no warning, because it does not come again or hardly ever; an interrupt that nobody can move comes. */
static bool finding_is_quiet(const Finding *finding) {
        return streq(finding->severity, "info") && !streq(finding->code, "irq-unmovable");
}

/* Isolated CPUs that nothing drifted on and nothing that was found disturbs. */
static json_t *quiet_record(const Audit *audit) {
        _cleanup_cpulist_ CpuList quiet = {};

        if (cpulist_copy(&audit->isolated, &quiet) < 0)
                return NULL;
        for (size_t i = 0; i < audit->n_findings; i++) {
                _cleanup_cpulist_ CpuList cpus = {};

                if (finding_is_quiet(&audit->findings[i]))
                        continue;
                if (audit->findings[i].cpus && cpulist_parse(audit->findings[i].cpus, &cpus, NULL) == 0)
                        cpulist_subtract(&quiet, &cpus);
        }
        for (size_t i = 0; i < audit->n_steps; i++) {
                const AuditStep *step = &audit->steps[i];
                _cleanup_cpulist_ CpuList cpus = {};
                bool list = step->step->kind == VALUE_CPULIST || step->step->kind == VALUE_WITHIN;

                if (step->state == STATE_DRIFTED && list && step->live &&
                        cpulist_parse(step->live, &cpus, NULL) == 0)
                        cpulist_subtract(&quiet, &cpus);
        }
        return record_cpus(&quiet);
}

static int put_identity(json_t *record, const StatusInput *input) {
        const State *state = &input->machine->state;
        int r = put(record, "version", json_integer(1));

        r = r ?: put(record, "host", host_record(input->machine));
        r = r ?: put(record, "boot_id", record_text(input->machine->boot_id));
        r = r ?: put(record, "kernel", record_text(input->audit->world->kernel));
        r = r ?: put(record, "time", time_record(now_usec()));
        r = r ?: put(record, "mode", record_text(state->mode));
        r = r ?: put(record, "since", time_record(state->since));
        r = r ?: put(record, "by", record_text(state->by ?: ""));
        r = r ?: put(record, "profile_sha256", record_text(state->profile_sha256 ?: ""));
        r = r ?: put(record, "daemon", json_boolean(input->daemon));
        r = r ?: put(record, "verdict", json_string(audit_verdict(input->audit)));
        return r ?: put(record, "leases", input->leases ? json_incref(input->leases) : json_array());
}

static int put_machine(json_t *record, const StatusInput *input) {
        _cleanup_free_ char *clock = machine_text(
                input->machine, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
        int r = put(record, "housekeeping", record_cpus(&input->audit->housekeeping));

        r = r ?: put(record, "isolated", record_cpus(&input->audit->isolated));
        r = r ?: put(record, "quiet", quiet_record(input->audit));
        r = r ?: put(record, "load_percent", load_record(input));
        r = r ?: put(record, "irq_vectors", vectors_record(input->machine));
        return r ?: put(record, "clock", record_text(clock));
}

json_t *status_record(const StatusInput *input) {
        json_t *record = json_object();
        int r = record ? put_identity(record, input) : -ENOMEM;

        r = r ?: put(record, "sets", sets_record(input));
        r = r ?: put_machine(record, input);
        r = r ?: put(record, "steps", steps_record(input->audit));
        r = r ?: put(record, "cpus", cpus_record(input->audit, input->cpus));
        r = r ?: put(record, "findings", findings_record(input->audit));
        return finish(record, r);
}

static bool has_step(const json_t *record, const char *state) {
        const json_t *step;
        size_t i;

        json_array_foreach(json_object_get(record, "steps"), i,
                step) if (streq(record_get(step, "state"), state)) return true;
        return false;
}

static bool has_error(const json_t *record) {
        const json_t *finding;
        size_t i;

        json_array_foreach(json_object_get(record, "findings"), i,
                finding) if (streq(record_get(finding, "severity"), "error") &&
                !json_is_true(json_object_get(finding, "accepted"))) return true;
        return false;
}

int status_exit(const json_t *record, bool strict) {
        if (has_step(record, "drifted"))
                return EXIT_DRIFTED;
        if (has_error(record))
                return EXIT_FINDING;
        if (strict && has_step(record, "boot"))
                return EXIT_BOOT;
        if (strict && (has_step(record, "unsupported") || has_step(record, "refused")))
                return EXIT_UNSUPPORTED;
        return EXIT_HOLDS;
}
