/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-findings.h"

#include "cpuset.h"

/* Less than this of a CPU's time that a hypervisor gives to others is what starting an interrupt handler takes. */
#define STEAL_SHARE 0.001

/* The command that applies the mode again, where its name can be given to a shell. */
static int mode_fix(const Audit *audit, FindingText *text, char **ret) {
        text->is_command = audit_is_plain(audit->mode);
        return text->is_command ? util_asprintf(ret, "rtisoctl mode %s", audit->mode)
                                : util_copy("switch to the mode again", ret);
}

static int find_partitions(Audit *audit) {
        for (size_t i = 0; i < audit->n_sets; i++) {
                const AuditSet *set = &audit->sets[i];
                _cleanup_free_ char *why = NULL, *fix = NULL;
                FindingText text = {
                        .code = "partition-invalid",
                        .severity = "error",
                        .name = set->slice,
                        .cpus = &set->members,
                        .subject = set->slice,
                };
                int r;

                if (!set->partition_reason || !*set->partition_reason)
                        continue;
                r = util_asprintf(&why, "the set is not isolated: %s", set->partition_reason);
                r = r ?: mode_fix(audit, &text, &fix);
                text.why = why;
                text.fix = fix;
                r = r ?: audit_add_finding(audit, &text);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_unrecorded(Audit *audit, const WorldCgroup *cgroup) {
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_free_ char *why = NULL;
        const char *slice = strrchr(cgroup->path, '/') + 1;
        FindingText text = {
                .code = "partition-unrecorded",
                .severity = "error",
                .name = slice,
                .cpus = &cpus,
                .all_cpus = true,
                .subject = slice,
                .fix = "rtisoctl mode green --force",
                .is_command = true,
        };
        int r = cpulist_parse(cgroup->effective ?: cgroup->cpus ?: "", &cpus, NULL);

        if (r == -ENOMEM)
                return r;
        r = util_asprintf(&why,
                "it is a partition (%s) of no mode in force: the record of what a mode changed was lost. "
                "Green "
                "takes it apart and leaves what else was changed; a reboot ends all of it",
                cgroup->partition);
        text.why = why;
        return r ?: audit_add_finding(audit, &text);
}

int audit_find_lost(Audit *audit) {
        _cleanup_strv_ char **paths = NULL;
        int r = cpuset_unexplained(audit->world, audit->in_force, &paths);

        STRV_FOREACH (path, paths) {
                /* The level above says nothing more. */
                if (streq(*path, CPUSET_PARENT_PATH) && paths[1])
                        continue;
                r = r < 0 ? r : find_unrecorded(audit, world_cgroup(audit->world, *path));
        }
        return r;
}

/* The CPUs of one core that are not isolated: one finding for each core, whatever it is asked about. */
static int find_sibling(Audit *audit, unsigned cpu, const CpuList *siblings) {
        _cleanup_cpulist_ CpuList outside = {}, here = {};
        _cleanup_free_ char *others = NULL, *why = NULL, *fix = NULL;
        FindingText text = { .code = "sibling-outside", .severity = "warning", .is_command = true };
        int r = cpulist_copy(siblings, &outside);

        r = r ?: cpulist_copy(siblings, &here);
        if (r < 0)
                return r;
        cpulist_subtract(&outside, &audit->isolated);
        cpulist_intersect(&here, &audit->isolated);
        cpulist_intersect(&outside, &audit->world->topology->online);
        if (cpulist_is_empty(&outside) || cpulist_next(&here, -1) != (int) cpu)
                return 0;
        r = cpulist_format(&outside, &others);
        r = r
                ?: util_asprintf(&why,
                           "CPU %s shares the core and is not isolated: what runs there slows this one (or: "
                           "smt "
                           "= include in the set's section)",
                           others);
        r = r
                ?: util_asprintf(&fix, "echo 0 > /sys/devices/system/cpu/cpu%d/online",
                           cpulist_next(&outside, -1));
        text.name = text.subject = others;
        text.cpus = &here;
        text.why = why;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

static int find_siblings(Audit *audit) {
        CPULIST_FOREACH (cpu, &audit->isolated) {
                const TopologyCpu *one = topology_cpu(audit->world->topology, (unsigned) cpu);
                int r = one ? find_sibling(audit, (unsigned) cpu, &one->siblings) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

/* The isolated CPUs that a step's value is about, or all of its set. */
static int step_cpus(const Audit *audit, const AuditStep *step, CpuList *ret) {
        bool list = step->step->kind == VALUE_CPULIST || step->step->kind == VALUE_WITHIN;

        if (list && step->live && cpulist_parse(step->live, ret, NULL) == 0)
                return 0;
        for (size_t i = 0; step->step->set && i < audit->n_sets; i++)
                if (streq(audit->sets[i].name, step->step->set))
                        return cpulist_copy(&audit->sets[i].members, ret);
        return cpulist_copy(&audit->isolated, ret);
}

static int find_drifted(Audit *audit, const AuditStep *step) {
        _cleanup_free_ char *why = NULL, *fix = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        FindingText text = {
                .code = "drifted",
                .severity = "error",
                .name = step->step->id,
                .cpus = &cpus,
                .subject = step->step->id,
        };
        int r = step_cpus(audit, step, &cpus);

        r = r
                ?: util_asprintf(&why, "it was made %s and reads %s%s%s", step->step->wanted ?: "?",
                           step->live ?: "nothing: it has gone", step->writer ? "; running here: " : "",
                           step->writer ?: "");
        r = r ?: mode_fix(audit, &text, &fix);
        text.why = why;
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

static int find_boot_only(Audit *audit, const AuditStep *step) {
        const char *reason = step->reason && *step->reason ? step->reason : "see rtisoctl doctor";
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_free_ char *fix = NULL;
        FindingText text = {
                .code = "boot-only",
                .severity = "warning",
                .name = step->step->id,
                .cpus = &cpus,
                .subject = step->step->id,
                .why = "the profile asks for it, and this kernel takes it on its command line only",
        };
        int r = step_cpus(audit, step, &cpus);

        r = r
                ?: audit_is_plain(audit->mode)
                ? util_asprintf(&fix, "%s: rtisoctl kernel-args %s --install, and boot", reason, audit->mode)
                : util_copy(reason, &fix);
        text.fix = fix;
        return r ?: audit_add_finding(audit, &text);
}

static int find_steps(Audit *audit) {
        for (size_t i = 0; i < audit->n_steps; i++) {
                const AuditStep *step = &audit->steps[i];
                /* Interrupts are findings of their own, once they come. */
                bool boot = step->state == STATE_BOOT && !util_startswith(step->step->id, "irq/");
                int r = step->state == STATE_DRIFTED ? find_drifted(audit, step)
                        : boot                       ? find_boot_only(audit, step)
                                                     : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

static bool has_word(const char *text, const char *word) {
        _cleanup_strv_ char **words = NULL;

        return text && util_strv_split(text, " \t\n", &words) == 0 && util_strv_contains(words, word);
}

/* Clocks that are read from a device, each time and by one CPU at a time. */
static int find_clock(Audit *audit) {
        static const char *const slow[] = { "hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies" };
        const AuditFacts *facts = audit->facts;
        bool again = has_word(facts->clocks, "tsc");
        FindingText text = {
                .code = "clock-source",
                .severity = "warning",
                .name = facts->clock,
                .subject = facts->clock,
                .why = again ? "every look at the time goes to a device that all CPUs share"
                             : "every look at the time goes to a device that all CPUs share, since the "
                               "kernel does "
                               "not trust the TSC; without a stable clock no tick stops either",
                .fix = again ? "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
                             : "tsc=reliable on the kernel command line, where the processor's TSC is",
                .is_command = again,
        };

        for (size_t i = 0; facts->clock && i < ARRAY_SIZE(slow); i++)
                if (streq(facts->clock, slow[i]))
                        return audit_add_finding(audit, &text);
        return 0;
}

typedef struct Rival {
        const char *comm, *why;
} Rival;

/* Services that write what a mode writes. */
static const Rival rivals[] = {
        { "irqbalance", "it moves interrupts, and was not told to leave the isolated CPUs alone" },
        { "tuned",
                "it has profiles of its own for what a mode sets, and applies them again when it starts" },
        { "numad", "it moves processes and their memory between nodes" },
        { "thermald", "it may inject idle time into every CPU" },
        { "auto-cpufreq", "it sets the frequency governor of every CPU" },
        { "power-profiles-", "it sets the frequency preferences of every CPU" },
        { "tlp", "it sets the frequency governor of every CPU" },
        { "ksmtuned", "it turns the merging of memory pages on and off" },
};

/* irqbalance that keeps off the isolated CPUs, as the mode told it, is none. */
static bool is_told(const Audit *audit, const char *comm) {
        if (!streq(comm, "irqbalance"))
                return false;
        for (size_t i = 0; i < audit->n_steps; i++)
                if (util_startswith(audit->steps[i].step->object, "irqbalance/"))
                        return audit->steps[i].state == STATE_OK;
        return false;
}

static const Rival *find_rival(const Audit *audit, const WorldTask *task) {
        if (task->kernel || task->tid != task->pid || task->state == 'Z')
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(rivals); i++)
                if (streq(task->comm, rivals[i].comm) && !is_told(audit, task->comm))
                        return &rivals[i];
        return NULL;
}

/* Its service, where systemd started it; else the process. */
static int stop_fix(const WorldTask *task, char **ret) {
        const char *unit = strrchr(task->cgroup, '/');
        size_t n = unit ? strlen(unit) : 0;

        if (n > strlen("/.service") && streq(unit + n - strlen(".service"), ".service") &&
                audit_is_plain(unit + 1) && util_startswith(task->cgroup, "/system.slice/"))
                return util_asprintf(ret, "systemctl stop %s", unit + 1);
        return util_asprintf(ret, "kill %d", task->pid);
}

static int find_rivals(Audit *audit) {
        for (size_t i = 0; i < audit->world->n_tasks; i++) {
                const WorldTask *task = &audit->world->tasks[i];
                const Rival *rival = find_rival(audit, task);
                _cleanup_free_ char *subject = NULL, *fix = NULL;
                FindingText text = {
                        .code = "rival", .severity = "warning", .name = task->comm, .is_command = true
                };
                int r;

                if (!rival)
                        continue;
                r = util_asprintf(&subject, "%s (pid %d)", task->comm, task->pid);
                r = r ?: stop_fix(task, &fix);
                text.subject = subject;
                text.why = rival->why;
                text.fix = fix;
                r = r ?: audit_add_finding(audit, &text);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_steal(Audit *audit) {
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_free_ char *subject = NULL;
        FindingText text = {
                .code = "steal",
                .severity = "warning",
                .name = "hypervisor",
                .cpus = &cpus,
                .why = "the hypervisor runs something else in this CPU's time: no isolation in the guest "
                       "helps "
                       "against that",
                .fix = "on the host, give the virtual CPU a CPU of its own: virsh vcpupin DOMAIN VCPU CPU",
        };
        double worst = 0;
        int r = 0;

        CPULIST_FOREACH (cpu, &audit->isolated) {
                double share = sample_steal(&audit->before, &audit->after, (unsigned) cpu);

                if (share < STEAL_SHARE)
                        continue;
                worst = share > worst ? share : worst;
                r = r ?: cpulist_add(&cpus, (unsigned) cpu);
        }
        if (r < 0 || cpulist_is_empty(&cpus))
                return r;
        r = util_asprintf(&subject, "hypervisor takes %.1f%%", worst * 100);
        text.subject = subject;
        return r ?: audit_add_finding(audit, &text);
}

static int find_livepatches(Audit *audit) {
        for (size_t i = 0; i < audit->facts->n_livepatches; i++) {
                const NamedFact *patch = &audit->facts->livepatches[i];
                _cleanup_free_ char *fix = NULL;
                FindingText text = {
                        .code = "livepatch",
                        .severity = "warning",
                        .name = patch->name,
                        .subject = patch->name,
                        .why = "a livepatch waits for tasks that do not leave the kernel or never enter it: "
                               "every "
                               "second it interrupts CPUs and signals tasks, and keeps the tick",
                        .is_command = audit_is_plain(patch->path),
                };
                int r = text.is_command
                        ? util_asprintf(&fix, "echo 0 > %s/enabled", patch->path)
                        : util_copy("take the patch back, or stop the task that it waits for", &fix);

                text.fix = fix;
                r = r ?: audit_add_finding(audit, &text);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_injections(Audit *audit) {
        for (size_t i = 0; i < audit->facts->n_injections; i++) {
                const NamedFact *device = &audit->facts->injections[i];
                _cleanup_free_ char *fix = NULL, *why = NULL;
                FindingText text = {
                        .code = "idle-injection",
                        .severity = "error",
                        .name = device->name,
                        .subject = device->name,
                        .is_command = audit_is_plain(device->path),
                };
                int r = text.is_command ? util_asprintf(&fix, "echo 0 > %s/cur_state", device->path)
                                        : util_copy("stop what cools the processor", &fix);

                r = r
                        ?: util_asprintf(&why,
                                   "it makes CPUs idle for cooling (state %s), with threads of a higher "
                                   "priority than any workload",
                                   device->value);
                text.fix = fix;
                text.why = why;
                r = r ?: audit_add_finding(audit, &text);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_sessions(Audit *audit) {
        for (size_t i = 0; i < audit->facts->n_sessions; i++) {
                const PerfSession *session = &audit->facts->sessions[i];
                const WorldTask *task = &audit->world->tasks[session->leader];
                _cleanup_free_ char *subject = NULL, *fix = NULL, *why = NULL;
                FindingText text = {
                        .code = "perf-session", .severity = "warning", .name = task->comm, .is_command = true
                };
                int r = util_asprintf(&subject, "%s (pid %d)", task->comm, task->pid);

                r = r
                        ?: util_asprintf(&why,
                                   "it holds %zu performance counters, enough for one on each CPU: they "
                                   "interrupt, and "
                                   "sampling keeps the tick",
                                   session->n_events);
                r = r ?: stop_fix(task, &fix);
                text.subject = subject;
                text.fix = fix;
                text.why = why;
                r = r ?: audit_add_finding(audit, &text);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int find_smi(Audit *audit) {
        const AuditFacts *facts = audit->facts;
        _cleanup_free_ char *subject = NULL;
        FindingText text = {
                .code = "smi",
                .severity = "warning",
                .name = "firmware",
                .why = "the firmware interrupts all CPUs at once, behind the kernel's back",
                .fix = "turn off in the firmware's setup what needs them (USB emulation, power capping, "
                       "memory "
                       "error logging)",
        };
        int r;

        if (!facts->has_smi || facts->smi_last == facts->smi_first)
                return 0;
        r = util_asprintf(&subject, "%llu system management interrupts while it was looked at",
                (unsigned long long) (facts->smi_last - facts->smi_first));
        text.subject = subject;
        return r ?: audit_add_finding(audit, &text);
}

int audit_find_machine(Audit *audit) {
        int r = find_partitions(audit);

        r = r ?: find_siblings(audit);
        if (r < 0 || !audit->facts)
                return r;
        r = find_steps(audit);
        r = r ?: find_clock(audit);
        r = r ?: find_rivals(audit);
        r = r ?: find_steal(audit);
        r = r ?: find_livepatches(audit);
        r = r ?: find_injections(audit);
        r = r ?: find_sessions(audit);
        return r ?: find_smi(audit);
}
