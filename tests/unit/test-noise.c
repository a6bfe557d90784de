/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "ksyms.h"
#include "noise.h"
#include "test.h"
#include "tree.h"

/* What is watched: CPUs 2 and 3, from 0 to 10000 ns.  Thread 50 is the workload on CPU 3, 60 another user's. */
#define START 0
#define END 10000
#define WORK 50
#define OTHER 60
#define KTHREAD 70

#define EVENT(t, when, on, who, ...)                                                                        \
        { .type = NOISE_##t, .at = when, .cpu = on, .pid = who, __VA_ARGS__ }
#define NAME(text) .name = text
#define TO(thread, text) .target_pid = thread, .target_comm = text

typedef struct Row {
        const char *what;
        NoiseEvent events[16];
        /* `CPU stolen worst` and for each culprit `kind name count ns worst [cause count]…`, of CPUs with any */
        const char *expected;
} Row;

/* clang-format off */
static const Row table[] = {
        { "nothing at all", {}, "" },
        { "a tick, with what the interrupt costs",
          { EVENT(VECTOR_ENTRY, 1000, 3, WORK, NAME("local_timer")),
            EVENT(HRTIMER_ENTRY, 1100, 3, WORK, NAME("tick_sched_timer")),
            EVENT(TICK_STOP, 1200, 3, WORK, NAME("SCHED")),
            EVENT(HRTIMER_EXIT, 1500, 3, WORK),
            EVENT(VECTOR_EXIT, 1700, 3, WORK) },
          "3 700 700 nz\ntick tick 1 700 700 [SCHED 1]\n" },
        { "a tick that was stopped has no reason",
          { EVENT(VECTOR_ENTRY, 1000, 3, WORK, NAME("local_timer")),
            EVENT(HRTIMER_ENTRY, 1100, 3, WORK, NAME("tick_nohz_handler")),
            EVENT(HRTIMER_EXIT, 1500, 3, WORK),
            EVENT(TICK_STOP, 1600, 3, WORK, NAME("NONE"), .number = 1),
            EVENT(VECTOR_EXIT, 1700, 3, WORK) },
          "3 700 700 nz\ntick tick 1 700 700\n" },
        { "two timers in one interrupt: the first pays for it",
          { EVENT(VECTOR_ENTRY, 1000, 3, WORK, NAME("local_timer")),
            EVENT(HRTIMER_ENTRY, 1100, 3, WORK, NAME("hrtimer_wakeup"), .address = 8),
            EVENT(HRTIMER_EXIT, 1200, 3, WORK),
            EVENT(HRTIMER_ENTRY, 1300, 3, WORK, NAME("posix_timer_fn"), .address = 16),
            EVENT(HRTIMER_EXIT, 1600, 3, WORK),
            EVENT(VECTOR_EXIT, 1700, 3, WORK) },
          "3 700 400 nz\ntimer hrtimer_wakeup 1 400 400\ntimer posix_timer_fn 1 300 300\n" },
        { "a timer, who armed it, and its soft interrupt",
          { EVENT(TIMER_ARM, 100, 0, OTHER, .address = 64),
            EVENT(SOFTIRQ_ENTRY, 1000, 3, WORK, NAME("TIMER")),
            EVENT(TIMER_ENTRY, 1100, 3, WORK, NAME("process_timeout"), .address = 64),
            EVENT(TIMER_EXIT, 1400, 3, WORK),
            EVENT(SOFTIRQ_EXIT, 1450, 3, WORK) },
          "3 450 300 nz\ntimer process_timeout 1 300 300 [other on CPU 0 1]\nsoftirq TIMER 1 150 150\n" },
        { "a device's interrupt inside a soft interrupt",
          { EVENT(SOFTIRQ_ENTRY, 1000, 3, WORK, NAME("NET_RX")),
            EVENT(IRQ_ENTRY, 1200, 3, WORK, NAME("eth0-rx-1"), .number = 33),
            EVENT(IRQ_EXIT, 1700, 3, WORK),
            EVENT(SOFTIRQ_EXIT, 1800, 3, WORK) },
          "3 800 500 nz\ninterrupt eth0-rx-1 1 500 500\nsoftirq NET_RX 1 300 300\n" },
        { "a call, its function and who asked for it",
          { EVENT(IPI_SEND, 900, 0, OTHER, NAME("ipi_mb"), .target = 3),
            EVENT(VECTOR_ENTRY, 1000, 3, WORK, NAME("call_function_single")),
            EVENT(CALL_ENTRY, 1100, 3, WORK, NAME("ipi_mb")),
            EVENT(CALL_EXIT, 1200, 3, WORK),
            EVENT(VECTOR_EXIT, 1300, 3, WORK) },
          "3 300 300 nz\nipi ipi_mb 1 300 300 [other on CPU 0 1]\n" },
        { "a call that only what it did gives away",
          { EVENT(IPI_SEND, 900, 0, OTHER, NAME(NOISE_FLUSH)),
            EVENT(VECTOR_ENTRY, 1000, 3, WORK, NAME("call_function")),
            EVENT(CALL_NAME, 1100, 3, WORK, NAME(NOISE_FLUSH)),
            EVENT(VECTOR_EXIT, 1300, 3, WORK) },
          "3 300 300 nz\nipi flush_tlb_func 1 300 300 [other on CPU 0 1]\n" },
        { "a call that nothing gives away",
          { EVENT(VECTOR_ENTRY, 1000, 3, WORK, NAME("call_function")),
            EVENT(VECTOR_EXIT, 1300, 3, WORK) },
          "3 300 300 nz\nipi call_function 1 300 300\n" },
        { "another task, who woke it, and back",
          { EVENT(WAKING, 900, 0, KTHREAD, .target = 3, TO(OTHER, "other")),
            EVENT(SWITCH, 1000, 3, WORK, TO(OTHER, "other")),
            EVENT(SWITCH, 1400, 3, OTHER, TO(WORK, "nz")) },
          "3 400 400 nz\ntask other 1 400 400 [kt on CPU 0 1]\n" },
        { "woken by an interrupt on its own CPU",
          { EVENT(IRQ_ENTRY, 1000, 3, WORK, NAME("eth0"), .number = 9),
            EVENT(WAKING, 1050, 3, WORK, .target = 3, TO(OTHER, "other")),
            EVENT(IRQ_EXIT, 1100, 3, WORK),
            EVENT(SWITCH, 1200, 3, WORK, TO(OTHER, "other")),
            EVENT(SWITCH, 1500, 3, OTHER, TO(WORK, "nz")) },
          "3 400 300 nz\ntask other 1 300 300 [eth0 1]\ninterrupt eth0 1 100 100\n" },
        { "a work item that sleeps in between, and its worker",
          { EVENT(WORK_QUEUE, 500, 0, OTHER, .target = 3, .address = 80),
            EVENT(SWITCH, 1000, 3, WORK, TO(KTHREAD, "kt")),
            EVENT(WORK_ENTRY, 1100, 3, KTHREAD, NAME("vmstat_update"), .address = 80),
            EVENT(SWITCH, 1300, 3, KTHREAD, TO(WORK, "nz")),
            EVENT(SWITCH, 2000, 3, WORK, TO(KTHREAD, "kt")),
            EVENT(WORK_EXIT, 2050, 3, KTHREAD),
            EVENT(SWITCH, 2100, 3, KTHREAD, TO(WORK, "nz")) },
          "3 400 200 nz\nwork vmstat_update 1 250 200 [other on CPU 0 1]\ntask kt 2 150 100\n" },
        { "the workload's own: system calls and page faults, which steal nothing",
          { EVENT(SYSCALL_ENTRY, 1000, 3, WORK, NAME("read")),
            EVENT(PAGE_FAULT, 1100, 3, WORK, NAME("in a system call")),
            EVENT(SYSCALL_EXIT, 1300, 3, WORK) },
          "3 0 0 nz\nsyscall read 1 300 300\npage-fault in a system call 1 0 0\n" },
        { "another task's system calls are its time",
          { EVENT(SWITCH, 1000, 3, WORK, TO(OTHER, "other")),
            EVENT(SYSCALL_ENTRY, 1100, 3, OTHER, NAME("read")),
            EVENT(PAGE_FAULT, 1150, 3, OTHER, NAME("in the program")),
            EVENT(SYSCALL_EXIT, 1300, 3, OTHER),
            EVENT(SWITCH, 1400, 3, OTHER, TO(WORK, "nz")) },
          "3 400 200 nz\ntask other 1 400 200\n" },
        { "an interrupt during a system call takes its time from it",
          { EVENT(SYSCALL_ENTRY, 1000, 3, WORK, NAME("poll")),
            EVENT(IRQ_ENTRY, 1200, 3, WORK, NAME("eth0"), .number = 9),
            EVENT(IRQ_EXIT, 1300, 3, WORK),
            EVENT(SYSCALL_EXIT, 1500, 3, WORK) },
          "3 100 100 nz\nsyscall poll 1 400 400\ninterrupt eth0 1 100 100\n" },
        { "an NMI in the middle of a call tells its time at its end",
          { EVENT(SYSCALL_ENTRY, 1000, 3, WORK, NAME("poll")),
            EVENT(NMI, 1400, 3, WORK, NAME("perf_event_nmi_handler"), .number = 150),
            EVENT(SYSCALL_EXIT, 1500, 3, WORK) },
          "3 150 150 nz\nsyscall poll 1 350 350\nnmi perf_event_nmi_handler 1 150 150\n" },
        { "an idle CPU's interrupt; idling is no noise",
          { EVENT(IRQ_ENTRY, 1000, 2, 0, NAME("eth0"), .number = 9),
            EVENT(IRQ_EXIT, 1300, 2, 0) },
          "2 300 300\ninterrupt eth0 1 300 300\n" },
        { "exits without entries, and an entry without an exit",
          { EVENT(IRQ_EXIT, 900, 3, WORK),
            EVENT(SOFTIRQ_EXIT, 950, 3, WORK),
            EVENT(IRQ_ENTRY, 1000, 3, WORK, NAME("eth0"), .number = 9),
            EVENT(SWITCH, 1400, 3, WORK, TO(OTHER, "other")),
            EVENT(SWITCH, 1500, 3, OTHER, TO(WORK, "nz")) },
          "3 500 400 nz\ninterrupt eth0 1 400 400\ntask other 1 100 100\n" },
        { "events were lost: who runs is taken from the next one",
          { EVENT(LOST, 1000, 3, OTHER, .number = 7),
            EVENT(SWITCH, 1500, 3, OTHER, TO(WORK, "nz")),
            EVENT(IRQ_ENTRY, 2000, 3, WORK, NAME("eth0"), .number = 9),
            EVENT(IRQ_EXIT, 2100, 3, WORK) },
          "3 1600 1500 nz lost 7\ntask other 1 1500 1500\ninterrupt eth0 1 100 100\n" },
        { "other CPUs' events are of no interest",
          { EVENT(IRQ_ENTRY, 1000, 1, OTHER, NAME("eth0")), EVENT(IRQ_EXIT, 1300, 1, OTHER) }, "" },
};
/* clang-format on */

static void print_culprit(FILE *f, const NoiseCulprit *culprit) {
        fprintf(f, "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64, noise_kind_to_string(culprit->kind),
                culprit->name, culprit->count, culprit->ns, culprit->worst_ns);
        for (size_t i = 0; i < culprit->n_causes; i++)
                fprintf(f, " [%s %" PRIu64 "]", culprit->causes[i].what, culprit->causes[i].count);
        fputc('\n', f);
}

static char *print_report(const NoiseReport *report) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        for (size_t i = 0; i < report->n_cpus; i++) {
                const NoiseCpu *cpu = &report->cpus[i];

                if (cpu->n_culprits == 0 && cpu->workload == 0)
                        continue;
                fprintf(f, "%u %" PRIu64 " %" PRIu64 "%s%s", cpu->cpu, cpu->stolen_ns, cpu->worst_ns,
                        cpu->workload ? " " : "", cpu->workload ? cpu->workload_comm : "");
                if (cpu->lost > 0)
                        fprintf(f, " lost %" PRIu64, cpu->lost);
                fputc('\n', f);
                for (size_t j = 0; j < cpu->n_culprits; j++)
                        print_culprit(f, &cpu->culprits[j]);
        }
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_accounting(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_noise_report_ NoiseReport report = {};
                _cleanup_cpulist_ CpuList cpus = {};
                _cleanup_noise_ Noise *noise = NULL;
                _cleanup_free_ char *text = NULL;

                assert_int_equal(cpulist_parse("2-3", &cpus, NULL), 0);
                assert_int_equal(noise_new(&cpus, START, &noise), 0);
                assert_int_equal(noise_task(noise, WORK, "nz", false, true), 0);
                assert_int_equal(noise_task(noise, OTHER, "other", false, false), 0);
                assert_int_equal(noise_task(noise, KTHREAD, "kt", true, false), 0);
                for (size_t n = 0; n < ARRAY_SIZE(table[i].events) && table[i].events[n].at > 0; n++)
                        assert_int_equal(noise_event(noise, &table[i].events[n]), 0);
                assert_int_equal(noise_next_unknown(noise), 0);
                assert_int_equal(noise_finish(noise, END, &report), 0);
                text = print_report(&report);
                if (!streq(text, table[i].expected))
                        fail_msg("%s:\n%s", table[i].what, text);
        }
}

/* What is asked for is told once, and a thread that only woke somebody has a name in the end, too. */
static void test_unknown(void **state) {
        _cleanup_noise_report_ NoiseReport report = {};
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_noise_ Noise *noise = NULL;
        _cleanup_free_ char *text = NULL;
        static const NoiseEvent events[] = {
                EVENT(WAKING, 900, 0, 81, .target = 3, TO(82, "woken")),
                EVENT(SWITCH, 1000, 3, 0, TO(82, "woken")),
                EVENT(SWITCH, 1400, 3, 82, TO(0, "swapper/3")),
        };

        assert_int_equal(cpulist_parse("3", &cpus, NULL), 0);
        assert_int_equal(noise_new(&cpus, START, &noise), 0);
        for (size_t i = 0; i < ARRAY_SIZE(events); i++)
                assert_int_equal(noise_event(noise, &events[i]), 0);
        assert_int_equal(noise_next_unknown(noise), 81);
        assert_int_equal(noise_task(noise, 81, "waker", false, false), 0);
        assert_int_equal(noise_next_unknown(noise), 82);
        assert_int_equal(noise_task(noise, 82, NULL, false, false), 0);
        assert_int_equal(noise_next_unknown(noise), 0);
        assert_int_equal(noise_finish(noise, END, &report), 0);
        text = print_report(&report);
        assert_string_equal(text, "3 400 400\ntask woken 1 400 400 [waker on CPU 0 1]\n");
        assert_int_equal(report.cpus[0].idle_ns, 9600);
}

static void test_advice(void **state) {
        static const struct {
                NoiseKind kind;
                const char *name, *cause;
                const char *booted, *wanted;
                bool tick_file, fair_server, names;
                const char *part; /* of the sentence */
        } rows[] = {
                { NOISE_KIND_TICK, "tick", NULL, "", "", false, false, false, "nohz_full= for it" },
                { NOISE_KIND_TICK, "tick", NULL, "3", "", false, false, false, "rows of other kinds" },
                { NOISE_KIND_TICK, "tick", NULL, "3", "", true, false, false, "`nohz = full`" },
                { NOISE_KIND_TICK, "tick", NULL, "3", "3", true, false, false, "the profile wants" },
                { NOISE_KIND_TICK, "tick", "SCHED", "3", "", false, false, false, "one runnable task" },
                { NOISE_KIND_TICK, "tick", "SCHED", "3", "", false, true, false, "fair server" },
                { NOISE_KIND_TICK, "tick", "POSIX_TIMER", "3", "", false, true, false, "ITIMER_PROF" },
                { NOISE_KIND_TICK, "tick", "PERF_EVENTS", "3", "", false, true, false, "stop perf" },
                { NOISE_KIND_TICK, "tick", "CLOCK_UNSTABLE", "3", "", false, true, false, "unstable" },
                { NOISE_KIND_TICK, "tick", "RCU", "3", "", false, true, false, "rcu_nocbs=" },
                { NOISE_KIND_TICK, "tick", "RCU_EXP", "3", "", false, true, false, "rcu_nocbs=" },
                { NOISE_KIND_IPI, "call_function", NULL, "", "", false, false, false,
                        "does not tell which" },
                { NOISE_KIND_IPI, "call_function", NULL, "", "", false, false, true, "look at who sent it" },
                { NOISE_KIND_IPI, NOISE_FLUSH, NULL, "", "", false, false, false, "address space" },
                { NOISE_KIND_SOFTIRQ, "NET_RX", NULL, "", "", false, false, false, "packets" },
                { NOISE_KIND_SOFTIRQ, "softirq 77", NULL, "", "", false, false, false, "soft interrupt" },
                { NOISE_KIND_INTERRUPT, "eth0-rx-1", NULL, "", "", false, false, false, "irqs = yes" },
                { NOISE_KIND_WORK, "vmstat_update", NULL, "", "", false, false, false, "vm.stat_interval" },
                { NOISE_KIND_WORK, "any", NULL, "", "", false, false, false, "workqueues = yes" },
                { NOISE_KIND_TIMER, "any", NULL, "", "", false, false, false, "timers = yes" },
                { NOISE_KIND_TASK, "ksoftirqd/3", NULL, "", "", false, false, false, "kind softirq" },
                { NOISE_KIND_TASK, "any", NULL, "", "", false, false, false, "pin it" },
                { NOISE_KIND_NMI, "any", NULL, "", "", false, false, false, "watchdog" },
                { NOISE_KIND_SYSCALL, "read", NULL, "", "", false, false, false, "own doing" },
                { NOISE_KIND_PAGE_FAULT, "user", NULL, "", "", false, false, false, "mlockall" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                NoiseCause cause = { .what = (char *) (uintptr_t) rows[i].cause, .count = 1 };
                NoiseCulprit culprit = { .kind = rows[i].kind,
                        .name = (char *) (uintptr_t) rows[i].name,
                        .causes = &cause,
                        .n_causes = rows[i].cause ? 1 : 0 };
                _cleanup_(noise_facts_done) NoiseFacts facts = { .tick_file = rows[i].tick_file,
                        .fair_server = rows[i].fair_server,
                        .names_calls = rows[i].names };
                _cleanup_free_ char *text = NULL;
                NoiseCpu cpu = { .cpu = 3 };

                assert_int_equal(cpulist_parse(rows[i].booted, &facts.nohz_full, NULL), 0);
                assert_int_equal(cpulist_parse(rows[i].wanted, &facts.wants_tick, NULL), 0);
                if (noise_advice(&cpu, &culprit, &facts, &text) != 0 || !strstr(text, rows[i].part))
                        fail_msg("row %zu, %s: %s", i, rows[i].name, text ?: "nothing");
        }
}

static void test_ksyms(void **state) {
        static const struct {
                uint64_t address;
                const char *name;
        } rows[] = {
                { 0xffffffff80ffffff, NULL },
                { 0xffffffff81000000, "first" },
                { 0xffffffff810000ff, "first" },
                { 0xffffffff81000100, "second" },
                { 0xffffffffc0000010, "of_module" },
                { UINT64_MAX, "of_module" },
        };
        _cleanup_ksyms_ Ksyms *ksyms = NULL, *hidden = NULL;
        _cleanup_tree_ Tree *tree = tree_new();

        assert_int_equal(ksyms_read(tree->kfs, &hidden), -ENOENT);
        tree_put(tree, "proc/kallsyms", "0000000000000000 T first\n0000000000000000 t second\n");
        assert_int_equal(ksyms_read(tree->kfs, &hidden), -EPERM);
        tree_put(tree, "proc/kallsyms",
                "ffffffff81000100 t second\nffffffff81000080 d data\nffffffff81000000 T first\n"
                "ffffffffc0000000 t of_module\t[module]\nrubbish\nffffffff8100\n");
        assert_int_equal(ksyms_read(tree->kfs, &ksyms), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const char *name = ksyms_name(ksyms, rows[i].address);

                if (!!name != !!rows[i].name || (name && !streq(name, rows[i].name)))
                        fail_msg("%" PRIx64 ": %s", rows[i].address, name ?: "NULL");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_accounting),
                cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_advice),
                cmocka_unit_test(test_ksyms),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
