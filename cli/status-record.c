/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status-record.h"

#include <sys/utsname.h>
#include <time.h>

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

/* How many of the CPUs are busy most of the time. */
static json_t *busy_record(const StatusInput *input, const CpuList *cpus) {
        json_int_t busy = 0;

        if (input->audit->after.n == 0)
                return json_null();
        CPULIST_FOREACH (cpu, cpus)
                busy += sample_busy(&input->audit->before, &input->audit->after, (unsigned) cpu) >= 0.5;
        return json_integer(busy);
}

static json_t *interrupts_record(const StatusInput *input, const CpuList *cpus) {
        double sum = 0;

        if (input->audit->after.n == 0)
                return json_null();
        CPULIST_FOREACH (cpu, cpus)
                sum += sample_interrupts(&input->audit->before, &input->audit->after, (unsigned) cpu);
        return json_real(sum);
}

static json_t *stolen_record(const StatusInput *input, const CpuList *cpus) {
        double stolen = input->audit->after.n == 0
                ? -1
                : noise_counters_stolen(&input->audit->noise_before, &input->audit->noise_after, cpus);

        return stolen < 0 ? json_null() : json_real(stolen);
}

/* The longest that a task of the set ever waited for its CPU, where the kernel keeps that. */
static json_t *worst_record(const StatusInput *input, const AuditSet *set) {
        _cleanup_free_ char *kept = machine_text(input->machine, "/proc/sys/kernel/sched_schedstats");
        const World *world = input->audit->world;
        uint64_t worst = 0, ns;
        bool known = false;

        if (!kept || !streq(kept, "1") || input->audit->after.n == 0)
                return json_null();
        for (size_t i = 0; i < world->n_tasks; i++) {
                const WorldTask *task = &world->tasks[i];

                if (task->kernel || !cpulist_is_subset(&task->live, &set->members) ||
                        noise_counters_worst_wait(input->machine->kfs, task->tid, &ns) < 0)
                        continue;
                known = true;
                if (ns > worst)
                        worst = ns;
        }
        return known ? json_real((double) worst / 1e3) : json_null();
}

static json_t *set_record(const StatusInput *input, const AuditSet *set) {
        const Machine *machine = input->machine;

        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}",
                "name", record_text(set->name), "cpus", record_text(set->cpus), "slice",
                record_text(set->slice), "partition", record_text(set->partition), "partition_reason",
                record_text(set->partition_reason ?: ""), "nohz",
                mechanism_record(set->nohz_wanted, set->nohz_live, set->nohz_state), "rt_push_pull",
                mechanism_record(set->push_pull_wanted, set->push_pull_live, set->push_pull_state), "nodes",
                nodes_record(input->audit->world->topology, &set->members), "rt_throttling",
                throttling_record(machine, &set->members), "idle",
                status_idle_record(machine, cpulist_next(&set->members, -1)), "count",
                (json_int_t) cpulist_count(&set->members), "busy", busy_record(input, &set->members),
                "irqs_per_second", interrupts_record(input, &set->members), "stolen_us_per_second",
                stolen_record(input, &set->members), "worst_us", worst_record(input, set));
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

static json_t *finding_record(const Finding *finding) {
        return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "id", record_text(finding->id),
                "code", finding->code, "severity", finding->severity, "cpus", record_text(finding->cpus),
                "subject", record_text(finding->subject), "why", record_text(finding->why), "fix",
                record_text(finding->fix), "command",
                finding->is_command ? record_text(finding->fix) : json_null(), "accepted",
                finding->accepted);
}

static json_t *unseen_record(const StatusInput *input) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        STRV_FOREACH (text, input->audit->unseen)
                r = r ?: json_array_append_new(list, record_text(*text));
        if (input->silent)
                r = r ?: json_array_append_new(list, json_string("leases: the daemon does not answer"));
        return record_finish(list, r);
}

static json_t *sets_record(const StatusInput *input) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < input->audit->n_sets; i++)
                r = json_array_append_new(list, set_record(input, &input->audit->sets[i]));
        return record_finish(list, r);
}

static json_t *steps_record(const Audit *audit) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < audit->n_steps; i++)
                r = json_array_append_new(list, step_record(audit->world, &audit->steps[i]));
        return record_finish(list, r);
}

static json_t *findings_record(const Audit *audit) {
        json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < audit->n_findings; i++)
                r = json_array_append_new(list, finding_record(&audit->findings[i]));
        return record_finish(list, r);
}

/* How many per cent of the housekeeping CPUs' time were used. */
static json_t *load_record(const StatusInput *input) {
        double sum = 0;
        size_t n = 0;

        if (input->audit->after.n == 0)
                return json_null();
        CPULIST_FOREACH (cpu, &input->audit->housekeeping) {
                double busy = sample_busy(&input->audit->before, &input->audit->after, (unsigned) cpu);

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
        return json_pack("{s:I, s:I}", "used", (json_int_t) used, "total",
                (json_int_t) used + (json_int_t) free_ones);
}

/* What is worth no warning, because it does not come again or hardly ever (an interrupt that nobody can move comes),
 * or because it is looked at as a step. */
static bool finding_is_quiet(const Finding *finding) {
        if (finding->accepted || streq(finding->code, "boot-only") || streq(finding->code, "drifted"))
                return true;
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
        int r = record_put(record, "version", json_integer(1));

        r = r ?: record_put(record, "host", host_record(input->machine));
        r = r ?: record_put(record, "boot_id", record_text(input->machine->boot_id));
        r = r ?: record_put(record, "kernel", record_text(input->audit->world->kernel));
        r = r ?: record_put(record, "time", time_record(now_usec()));
        r = r ?: record_put(record, "mode", record_text(state->mode));
        r = r ?: record_put(record, "since", time_record(state->since));
        r = r ?: record_put(record, "by", record_text(state->by ?: ""));
        r = r ?: record_put(record, "profile_sha256", record_text(state->profile_sha256 ?: ""));
        r = r ?: record_put(record, "daemon", json_boolean(input->daemon));
        r = r ?: record_put(record, "verdict", json_string(audit_verdict(input->audit)));
        return r ?: record_put(record, "leases", input->leases ? json_incref(input->leases) : json_array());
}

static int put_machine(json_t *record, const StatusInput *input) {
        _cleanup_free_ char *clock = machine_text(
                input->machine, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
        int r = record_put(record, "housekeeping", record_cpus(&input->audit->housekeeping));

        r = r ?: record_put(record, "isolated", record_cpus(&input->audit->isolated));
        r = r ?: record_put(record, "quiet", quiet_record(input->audit));
        r = r ?: record_put(record, "load_percent", load_record(input));
        r = r ?: record_put(record, "irq_vectors", vectors_record(input->machine));
        return r ?: record_put(record, "clock", record_text(clock));
}

json_t *status_record(const StatusInput *input) {
        json_t *record = json_object();
        int r = record ? put_identity(record, input) : -ENOMEM;

        r = r ?: record_put(record, "sets", sets_record(input));
        r = r ?: put_machine(record, input);
        r = r ?: record_put(record, "steps", steps_record(input->audit));
        r = r ?: record_put(record, "cpus", status_cpus_record(input));
        r = r ?: record_put(record, "findings", findings_record(input->audit));
        r = r ?: record_put(record, "unseen", unseen_record(input));
        return record_finish(record, r);
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
