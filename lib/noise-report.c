/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "noise-state.h"

const char *noise_kind_to_string(NoiseKind kind) {
        static const char *const words[_NOISE_KIND_MAX] = { "tick", "timer", "softirq", "interrupt", "ipi",
                "work", "task", "nmi", "syscall", "page-fault" };

        return words[kind];
}

static void culprit_done(NoiseCulprit *culprit) {
        for (size_t i = 0; i < culprit->n_causes; i++)
                free(culprit->causes[i].what);
        free(culprit->causes);
        free(culprit->name);
        *culprit = (NoiseCulprit){};
}

void noise_report_done(NoiseReport *report) {
        for (size_t i = 0; i < report->n_cpus; i++) {
                NoiseCpu *cpu = &report->cpus[i];

                for (size_t j = 0; j < cpu->n_culprits; j++)
                        culprit_done(&cpu->culprits[j]);
                free(cpu->culprits);
                free(cpu->workload_comm);
        }
        free(report->cpus);
        *report = (NoiseReport){};
}

static bool is_threads(NoiseKind kind) {
        return kind == NOISE_KIND_TASK || kind == NOISE_KIND_SYSCALL || kind == NOISE_KIND_PAGE_FAULT;
}

/* How long a thread ran on a CPU, its system calls included. */
static uint64_t thread_ns(const Cpu *cpu, int pid) {
        uint64_t ns = 0;

        for (size_t i = 0; i < cpu->n_culprits; i++)
                if (is_threads(cpu->culprits[i].kind) && cpu->culprits[i].owner == pid)
                        ns += cpu->culprits[i].ns;
        return ns;
}

static int find_workload(const Noise *noise, const Cpu *cpu, NoiseCpu *ret) {
        const Task *best = NULL;

        for (size_t i = 0; i < cpu->n_culprits; i++) {
                const Culprit *culprit = &cpu->culprits[i];
                const Task *task =
                        culprit->kind == NOISE_KIND_TASK ? noise_find_task(noise, culprit->owner) : NULL;
                uint64_t ns = task && task->belongs && !task->kernel ? thread_ns(cpu, task->pid) : 0;

                if (ns > ret->workload_ns) {
                        ret->workload_ns = ns;
                        best = task;
                }
        }
        ret->workload = best ? best->pid : 0;
        return best ? util_copy(best->comm, &ret->workload_comm) : 0;
}

static int who_text(const Noise *noise, const Cpu *cpu, const Who *who, char **ret) {
        const Task *task = who->pid > 0 ? noise_find_task(noise, who->pid) : NULL;

        if (*who->name)
                return who->cpu == cpu->cpu ? util_copy(who->name, ret)
                                            : util_asprintf(ret, "%s on CPU %u", who->name, who->cpu);
        if (who->pid <= 0)
                return util_asprintf(ret, "idle CPU %u", who->cpu);
        if (!task || !*task->comm)
                return util_asprintf(ret, "a thread that has ended on CPU %u", who->cpu);
        return util_asprintf(ret, "%s on CPU %u", task->comm, who->cpu);
}

static int add_cause(NoiseCulprit *culprit, char **what, uint64_t count) {
        int r;

        for (size_t i = 0; i < culprit->n_causes; i++)
                if (streq(culprit->causes[i].what, *what)) {
                        culprit->causes[i].count += count;
                        return 0;
                }
        r = GROW(culprit->causes, culprit->n_causes);
        if (r < 0)
                return r;
        culprit->causes[culprit->n_causes++] = (NoiseCause){ TAKE_PTR(*what), count };
        return 0;
}

static int compare_causes(const void *a, const void *b) {
        const NoiseCause *left = a, *right = b;

        if (left->count != right->count)
                return left->count < right->count ? 1 : -1;
        return strcmp(left->what, right->what);
}

static int compare_culprits(const void *a, const void *b) {
        const NoiseCulprit *left = a, *right = b;

        if (left->ns != right->ns)
                return left->ns < right->ns ? 1 : -1;
        if (left->count != right->count)
                return left->count < right->count ? 1 : -1;
        return strcmp(left->name, right->name);
}

/* The row of the report that a row of the accounting goes into: threads of one name share one. */
static int get_shown(NoiseCpu *cpu, const Culprit *from, const char *name, NoiseCulprit **ret) {
        NoiseCulprit *culprit;
        int r;

        for (size_t i = 0; i < cpu->n_culprits; i++) {
                culprit = &cpu->culprits[i];
                if (culprit->kind != from->kind || !streq(culprit->name, name))
                        continue;
                if (culprit->pid != from->owner)
                        culprit->pid = 0;
                *ret = culprit;
                return 0;
        }
        r = GROW(cpu->culprits, cpu->n_culprits);
        if (r < 0)
                return r;
        culprit = &cpu->culprits[cpu->n_culprits];
        *culprit = (NoiseCulprit){ .kind = from->kind, .pid = from->owner, .number = from->number };
        r = util_copy(name, &culprit->name);
        if (r < 0)
                return r;
        cpu->n_culprits++;
        *ret = culprit;
        return 0;
}

static int show_culprit(const Noise *noise, const Cpu *cpu, const Culprit *from, const char *name,
        uint64_t ns, NoiseCpu *to) {
        NoiseCulprit *culprit;
        int r = get_shown(to, from, name, &culprit);

        if (r < 0)
                return r;
        culprit->count += from->count;
        culprit->ns += ns;
        if (from->worst_ns > culprit->worst_ns)
                culprit->worst_ns = from->worst_ns;
        for (size_t i = 0; r == 0 && i < from->n_causes; i++) {
                _cleanup_free_ char *what = NULL;

                r = who_text(noise, cpu, &from->causes[i].who, &what);
                r = r ?: add_cause(culprit, &what, from->causes[i].count);
        }
        return r;
}

/* What the workload does itself is told in detail; what other threads do is the time they had the CPU. */
static int show_threads(const Noise *noise, const Cpu *cpu, const Culprit *from, NoiseCpu *to) {
        bool workload = from->owner == to->workload;
        const Task *task = noise_find_task(noise, from->owner);
        _cleanup_free_ char *unnamed = NULL;
        int r;

        if (workload)
                return from->kind == NOISE_KIND_TASK
                        ? 0
                        : show_culprit(noise, cpu, from, from->name, from->ns, to);
        if (from->kind != NOISE_KIND_TASK)
                return 0;
        if (task && *task->comm)
                return show_culprit(noise, cpu, from, task->comm, thread_ns(cpu, from->owner), to);
        r = util_asprintf(&unnamed, "thread %d", from->owner);
        return r ?: show_culprit(noise, cpu, from, unnamed, thread_ns(cpu, from->owner), to);
}

static int show_cpu(const Noise *noise, const Cpu *cpu, NoiseCpu *ret) {
        int r;

        *ret = (NoiseCpu){ .cpu = cpu->cpu, .idle_ns = cpu->idle_ns, .lost = cpu->lost };
        r = find_workload(noise, cpu, ret);
        for (size_t i = 0; r == 0 && i < cpu->n_culprits; i++) {
                const Culprit *culprit = &cpu->culprits[i];

                if (is_threads(culprit->kind))
                        r = show_threads(noise, cpu, culprit, ret);
                else if (culprit->count > 0 || culprit->ns > 0 || culprit->n_causes > 0)
                        r = show_culprit(noise, cpu, culprit, culprit->name, culprit->ns, ret);
        }
        if (r < 0)
                return r;
        for (size_t i = 0; i < ret->n_culprits; i++) {
                const NoiseCulprit *culprit = &ret->culprits[i];

                if (culprit->n_causes > 0)
                        qsort(culprit->causes, culprit->n_causes, sizeof(NoiseCause), compare_causes);
                if (noise_is_own(culprit))
                        continue;
                ret->stolen_ns += culprit->ns;
                if (culprit->worst_ns > ret->worst_ns)
                        ret->worst_ns = culprit->worst_ns;
        }
        if (ret->n_culprits > 0)
                qsort(ret->culprits, ret->n_culprits, sizeof(NoiseCulprit), compare_culprits);
        return 0;
}

int noise_finish(Noise *noise, uint64_t end, NoiseReport *ret) {
        _cleanup_noise_report_ NoiseReport report = { .start = noise->start,
                .ns = end > noise->start ? end - noise->start : 0 };
        int r = 0;

        report.cpus = calloc(noise->n_cpus + 1, sizeof(NoiseCpu));
        if (!report.cpus)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < noise->n_cpus; i++) {
                Cpu *cpu = &noise->cpus[i];

                r = noise_advance(cpu, end);
                if (r == 0 && cpu->current)
                        noise_leave(cpu, cpu->current, 0);
                report.n_cpus++;
                r = r ?: show_cpu(noise, cpu, &report.cpus[i]);
        }
        if (r < 0)
                return r;
        *ret = report;
        report = (NoiseReport){};
        return 0;
}
