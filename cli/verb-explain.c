/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "cpuexpr.h"
#include "cpuset.h"
#include "explain.h"
#include "tracer.h"

/* Often enough that nothing that is recorded has to be thrown away, and that short-lived threads are seen. */
#define READ_NSEC 50000000
#define DEFAULT_SECONDS 10
#define PF_KTHREAD 0x00200000u

typedef struct Watch {
        Machine machine;
        CpuList cpus;
        bool all_belong; /* a CPU that has no slice is watched: whatever runs there is its workload */
        unsigned seconds;
} Watch;

static volatile sig_atomic_t interrupted;

static void on_signal(int signal) {
        interrupted = 1;
}

static void watch_done(Watch *watch) {
        machine_done(&watch->machine);
        cpulist_done(&watch->cpus);
}

/* CPUs of sets; those of partitions have a slice for their workload. */
static int set_cpus(const Machine *machine, bool partitions, CpuList *ret) {
        const Steps *steps = &machine->state.steps;
        _cleanup_cpulist_ CpuList all = {};
        int r = 0;

        for (size_t i = 0; r == 0 && i < steps->n_sets; i++) {
                _cleanup_cpulist_ CpuList cpus = {};

                if (partitions && streq(steps->sets[i].partition, "none"))
                        continue;
                r = cpulist_parse(steps->sets[i].cpus, &cpus, NULL);
                r = r ?: cpulist_union(&all, &cpus);
        }
        if (r == 0)
                *ret = cpulist_take(&all);
        return r;
}

static int choose_cpus(const Cli *cli, Watch *watch, const Topology *topology) {
        CpuExprError error = {};
        int r;

        if (!cli->cpu)
                return set_cpus(&watch->machine, false, &watch->cpus);
        r = cpuexpr_evaluate(cli->cpu, topology, machine_set, &watch->machine, &watch->cpus, &error);
        if (r != -EINVAL)
                return r;
        cli_error("--cpu \"%s\", column %zu: %s", cli->cpu, error.column, error.message);
        cpuexpr_error_done(&error);
        return EXIT_USAGE;
}

/* This program must not be what it finds. */
static void stay_away(const Topology *topology, const CpuList *cpus) {
        cpu_set_t *set = CPU_ALLOC((size_t) cpulist_last(&topology->online) + 1);
        size_t size = CPU_ALLOC_SIZE((size_t) cpulist_last(&topology->online) + 1);

        if (!set)
                return;
        CPU_ZERO_S(size, set);
        CPULIST_FOREACH (cpu, &topology->online)
                if (!cpulist_has(cpus, (unsigned) cpu))
                        CPU_SET_S((size_t) cpu, size, set);
        if (CPU_COUNT_S(size, set) > 0)
                (void) sched_setaffinity(0, size, set);
        CPU_FREE(set);
}

static int prepare(const Cli *cli, Watch *watch) {
        _cleanup_topology_ Topology *topology = NULL;
        _cleanup_cpulist_ CpuList partitions = {};
        int r;

        watch->seconds = DEFAULT_SECONDS;
        if (cli->seconds &&
                (util_parse_unsigned(cli->seconds, &watch->seconds) < 0 || watch->seconds == 0)) {
                cli_error("--seconds takes a number of seconds, not \"%s\"", cli->seconds);
                return EXIT_USAGE;
        }
        if (machine_open(cli, &watch->machine) < 0)
                return EXIT_REFUSED;
        r = topology_read(watch->machine.kfs, &topology);
        r = r ?: choose_cpus(cli, watch, topology);
        r = r ?: set_cpus(&watch->machine, true, &partitions);
        if (r != 0)
                return r;
        cpulist_intersect(&watch->cpus, &topology->online);
        if (cpulist_is_empty(&watch->cpus)) {
                cli_error("no CPU that is online is isolated by the mode \"%s\"; --cpu LIST watches others",
                        watch->machine.state.mode);
                return EXIT_USAGE;
        }
        watch->all_belong = !cpulist_is_subset(&watch->cpus, &partitions);
        stay_away(topology, &watch->cpus);
        return 0;
}

static int describe(const Watch *watch, const Tracer *tracer, Noise *noise, int pid) {
        _cleanup_free_ char *stat = NULL, *cgroup = NULL, *past = NULL;
        const char *open, *close;
        unsigned flags = 0;
        char comm[NOISE_COMM_SIZE];
        bool kernel;

        if (kfs_readf(watch->machine.kfs, &stat, "/proc/%d/stat", pid) < 0) {
                (void) tracer_comm(tracer, pid, &past);
                return noise_task(noise, pid, past, false, false);
        }
        open = strchr(stat, '(');
        close = strrchr(stat, ')');
        if (!open || !close || sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
                return noise_task(noise, pid, NULL, false, false);
        (void) snprintf(comm, sizeof(comm), "%.*s", (int) (close - open - 1), open + 1);
        kernel = flags & PF_KTHREAD;
        if (!kernel && !watch->all_belong)
                (void) kfs_readf(watch->machine.kfs, &cgroup, "/proc/%d/cgroup", pid);
        return noise_task(noise, pid, comm, kernel,
                !kernel && (watch->all_belong || (cgroup && strstr(cgroup, ":" CPUSET_PARENT_PATH "/"))));
}

static int describe_all(const Watch *watch, const Tracer *tracer, Noise *noise) {
        int pid, r = 0;

        while (r == 0 && (pid = noise_next_unknown(noise)) > 0)
                r = describe(watch, tracer, noise, pid);
        return r;
}

static void catch_signals(void) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        struct sigaction action = { .sa_handler = on_signal };

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                (void) sigaction(signals[i], &action, NULL);
        /* A reader that has gone must not leave the instance behind. */
        (void) signal(SIGPIPE, SIG_IGN);
}

/* Until the time is over, or ^C. */
static int record_noise(const Watch *watch, Tracer *tracer, NoiseReport *ret) {
        uint64_t start = tracer_now(), end = start + (uint64_t) watch->seconds * 1000000000, stopped;
        _cleanup_noise_ Noise *noise = NULL;
        int r = noise_new(&watch->cpus, start, &noise);

        r = r ?: tracer_start(tracer);
        while (r == 0 && !interrupted && tracer_now() < end) {
                struct timespec time = { .tv_nsec = READ_NSEC };

                (void) nanosleep(&time, NULL);
                r = tracer_read(tracer, noise);
                r = r ?: describe_all(watch, tracer, noise);
        }
        stopped = tracer_now();
        r = r ?: tracer_stop(tracer);
        r = r ?: tracer_read(tracer, noise);
        r = r ?: describe_all(watch, tracer, noise);
        return r ?: noise_finish(noise, stopped, ret);
}

static int watch_noise(const Watch *watch, NoiseFacts *facts, NoiseReport *ret) {
        _cleanup_tracer_ Tracer *tracer = NULL;
        _cleanup_free_ char *problem = NULL;
        int r;

        catch_signals();
        r = tracer_open(watch->machine.kfs, &watch->cpus, &tracer, &problem);
        if (r < 0) {
                if (!problem)
                        return r;
                cli_error("%s", problem);
                return r == -EPERM || r == -EACCES ? EXIT_NO_DAEMON : EXIT_REFUSED;
        }
        facts->names_calls = tracer_names_calls(tracer);
        return record_noise(watch, tracer, ret);
}

int verb_explain(Cli *cli) {
        _cleanup_(noise_facts_done) NoiseFacts facts = {};
        _cleanup_noise_report_ NoiseReport report = {};
        _cleanup_(watch_done) Watch watch = {};
        _cleanup_record_ json_t *record = NULL;
        int r = prepare(cli, &watch);

        r = r ?: explain_facts(&watch.machine, &facts);
        r = r ?: watch_noise(&watch, &facts, &report);
        if (r != 0)
                return r;
        record = explain_record(
                &(Explained){ .machine = &watch.machine, .report = &report, .facts = &facts });
        if (!record)
                return -ENOMEM;
        if (cli_has(cli, OPTION_JSON))
                return record_print_json(record, false);
        return explain_print(record, cli_has(cli, OPTION_VERBOSE), cli->colour);
}
