/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-facts.h"

#include <stdarg.h>

#define LIVEPATCH "/sys/kernel/livepatch"
#define THERMAL "/sys/class/thermal"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/"

/* How many system management interrupts a CPU took (Intel, Software Developer's Manual, volume 4). */
#define MSR_SMI_COUNT 0x34

void audit_facts_free(AuditFacts *facts) {
        if (!facts)
                return;
        for (size_t i = 0; i < facts->n_livepatches; i++) {
                free(facts->livepatches[i].name);
                free(facts->livepatches[i].path);
                free(facts->livepatches[i].value);
        }
        for (size_t i = 0; i < facts->n_injections; i++) {
                free(facts->injections[i].name);
                free(facts->injections[i].path);
                free(facts->injections[i].value);
        }
        for (size_t i = 0; i < facts->n_processes; i++)
                audit_process_done(&facts->processes[i]);
        free(facts->livepatches);
        free(facts->injections);
        free(facts->sessions);
        free(facts->looks);
        free(facts->processes);
        free(facts->clock);
        free(facts->clocks);
        cpulist_done(&facts->servers_off);
        free(facts);
}

int audit_unseen(Audit *audit, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&text, format, ap);
        va_end(ap);
        if (r < 0 || util_strv_contains(audit->unseen, text))
                return r;
        return util_strv_push(&audit->unseen, text);
}

/* NULL where it is not there, or cannot be read. */
static int read_optional(Kfs *kfs, const char *file, char **ret) {
        int r = kfs_read(kfs, file, ret);

        return r == -ENOMEM ? r : 0;
}

static int add_named(NamedFact **facts, size_t *n, const char *name, const char *path, const char *value) {
        NamedFact *fact;
        int r = util_grow((void **) facts, *n, sizeof(NamedFact));

        if (r < 0)
                return r;
        fact = &(*facts)[(*n)++];
        r = util_copy(name, &fact->name);
        r = r ?: util_copy(path, &fact->path);
        return r ?: util_copy(value, &fact->value);
}

/* Documentation/ABI/testing/sysfs-kernel-livepatch: `transition` is 1 while tasks are still being patched. */
static int read_livepatches(Kfs *kfs, AuditFacts *facts) {
        _cleanup_strv_ char **names = NULL;
        int r = kfs_list(kfs, LIVEPATCH, &names);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = NULL, *transition = NULL;

                r = util_asprintf(&path, LIVEPATCH "/%s", *name);
                if (r < 0)
                        return r;
                if (kfs_readf(kfs, &transition, "%s/transition", path) < 0 || !streq(transition, "1"))
                        continue;
                r = add_named(&facts->livepatches, &facts->n_livepatches, *name, path, transition);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Does a cooling device of that type cool by making CPUs idle?  (Documentation/driver-api/thermal/) */
static bool makes_idle(const char *type) {
        return streq(type, "intel_powerclamp") || util_startswith(type, "thermal-idle-") ||
                util_startswith(type, "idle-");
}

/* cur_state is 0, and for powerclamp also -1, while nothing is cooled. */
static int read_injections(Kfs *kfs, AuditFacts *facts) {
        _cleanup_strv_ char **names = NULL;
        int r = kfs_list(kfs, THERMAL, &names);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = NULL, *type = NULL, *state = NULL;
                int64_t value;

                if (!util_startswith(*name, "cooling_device"))
                        continue;
                r = util_asprintf(&path, THERMAL "/%s", *name);
                if (r < 0)
                        return r;
                if (kfs_readf(kfs, &type, "%s/type", path) < 0 || !makes_idle(type) ||
                        kfs_readf(kfs, &state, "%s/cur_state", path) < 0 ||
                        util_parse_i64(state, &value) < 0 || value <= 0)
                        continue;
                r = add_named(&facts->injections, &facts->n_injections, type, path, state);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* On a CPU that is not isolated: reading it interrupts the CPU, and all CPUs take these interrupts together. */
static int read_smi(Kfs *kfs, const Audit *audit, uint64_t *ret) {
        int cpu = cpulist_next(&audit->housekeeping, -1);
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -1;
        uint64_t value;
        ssize_t n;
        int r;

        if (cpu < 0)
                return -ENOENT;
        r = util_asprintf(&path, "/dev/cpu/%d/msr", cpu);
        if (r < 0)
                return r;
        fd = kfs_open(kfs, path);
        if (fd < 0)
                return fd;
        n = pread(fd, &value, sizeof(value), MSR_SMI_COUNT);
        if (n != sizeof(value))
                return n < 0 ? -errno : -EIO;
        *ret = value;
        return 0;
}

static int note_smi(Audit *audit, int error) {
        if (error == -EACCES || error == -EPERM)
                return audit_unseen(audit, "system management interrupts (root alone may read their count)");
        return error == -ENOMEM ? error : 0;
}

/* The fair servers of the isolated CPUs, where the kernel has them; else one number for all CPUs. */
static int read_throttling(Kfs *kfs, Audit *audit, AuditFacts *facts) {
        _cleanup_free_ char *global = NULL;
        int r = read_optional(kfs, "/proc/sys/kernel/sched_rt_runtime_us", &global);

        facts->throttled = global && !streq(global, "-1");
        CPULIST_FOREACH (cpu, &audit->isolated) {
                _cleanup_free_ char *runtime = NULL;
                int error = r < 0
                        ? r
                        : kfs_readf(kfs, &runtime, "/sys/kernel/debug/sched/fair_server/cpu%d/runtime", cpu);

                if (error == -EACCES || error == -EPERM)
                        return audit_unseen(
                                audit, "the scheduler's debugfs files (root alone may read them)");
                if (error < 0)
                        return error == -ENOMEM ? error : r;
                facts->fair_servers = true;
                if (streq(runtime, "0"))
                        r = cpulist_add(&facts->servers_off, (unsigned) cpu);
        }
        return r;
}

/* Steps whose object this user may not read. */
static int note_steps(Audit *audit) {
        size_t n = 0;

        for (size_t i = 0; i < audit->n_steps; i++)
                n += audit->steps[i].reason &&
                        util_startswith(audit->steps[i].reason, "not readable without");
        return n > 0 ? audit_unseen(audit, "whether %zu steps hold (root alone may read their objects)", n)
                     : 0;
}

static int read_all(Kfs *kfs, Audit *audit, AuditFacts *facts) {
        int r;

        r = note_smi(audit, read_smi(kfs, audit, &facts->smi_first));
        r = r ?: note_steps(audit);
        r = r ?: read_optional(kfs, CLOCK "current_clocksource", &facts->clock);
        r = r ?: read_optional(kfs, CLOCK "available_clocksource", &facts->clocks);
        r = r ?: read_livepatches(kfs, facts);
        r = r ?: read_injections(kfs, facts);
        r = r ?: read_throttling(kfs, audit, facts);
        r = r ?: audit_read_processes(kfs, audit, facts);
        return r ?: audit_read_sessions(kfs, audit, facts);
}

int audit_facts_read(Kfs *kfs, Audit *audit, AuditFacts **ret) {
        AuditFacts *facts = calloc(1, sizeof(AuditFacts));
        int r;

        if (!facts)
                return -ENOMEM;
        /* Without isolated CPUs there is nothing to find. */
        r = cpulist_is_empty(&audit->isolated) ? 0 : read_all(kfs, audit, facts);
        if (r < 0) {
                audit_facts_free(facts);
                return r;
        }
        *ret = facts;
        return 0;
}

int audit_facts_again(Kfs *kfs, const Audit *audit, AuditFacts *facts) {
        uint64_t first;

        if (cpulist_is_empty(&audit->isolated))
                return 0;
        first = facts->smi_first;
        facts->has_smi = read_smi(kfs, audit, &facts->smi_last) == 0 && facts->smi_last >= first;
        return audit_read_tasks_again(kfs, audit, facts);
}
