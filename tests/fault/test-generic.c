/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../unit/test.h"

/* A switch of made-up steps, one of every kind there is, on a made-up machine. */

#define STAT " S 1 1 1 0 -1 2097216 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 2 0 0 0\n"

static const struct {
        const char *path, *text;
} machine[] = {
        { "/proc/irq/default_smp_affinity", "f\n" },
        { "/proc/irq/25/smp_affinity_list", "0-3\n" },
        { "/proc/irq/26/smp_affinity_list", "2\n" },
        { "/proc/irq/27/smp_affinity_list", "2\n" },
        { "/proc/sys/vm/stat_interval", "1\n" },
        { "/proc/sys/kernel/printk", "4\t4\t1\t7\n" },
        { "/proc/sys/kernel/sched_rt_runtime_us", "950000\n" },
        { "/proc/41/stat", "41 (a)" STAT },
        { "/proc/41/status", "Cpus_allowed_list:\t1,3\n" },
        { "/proc/41/cgroup", "0::/user.slice\n" },
        { "/proc/42/stat", "42 (b)" STAT },
        { "/proc/42/status", "Cpus_allowed_list:\t0\n" },
        { "/sys/devices/system/cpu/online", "0-3\n" },
        { "/sys/devices/system/cpu/cpu2/online", "1\n" },
        { "/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "0\n" },
        { "/sys/devices/virtual/workqueue/cpumask", "f\n" },
        { "/sys/fs/cgroup/rt/cpuset.cpus.partition", "member\n" },
        { "/sys/fs/cgroup/rt/cgroup.procs", "" },
        { "/sys/fs/cgroup/user.slice/cgroup.procs", "41\n" },
        { "/sys/fs/cgroup/cgroup.subtree_control", "cpu\n" },
        { "/sys/kernel/debug/sched/features", "A NO_RT_ISOLATE B\n" },
        { "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
};

typedef struct Row {
        const char *object;
        ValueKind kind;
        Phase phase;
        unsigned flags;
        const char *before, *wanted, *within;
} Row;

#define Q STEP_REQUIRED
#define V STEP_VOLATILE
#define L STEP_TOLERANT
#define T STEP_TRANSIENT

static const Row rows[] = {
        { "/proc/irq/default_smp_affinity", VALUE_CPUMASK, PHASE_IRQ_DEFAULT, Q, "f", "1", NULL },
        { "/proc/sys/vm/stat_interval", VALUE_NUMBER, PHASE_VALUES, Q, "1", "10", NULL },
        { "/proc/sys/kernel/printk", VALUE_NUMBER, PHASE_VALUES, 0, "4\t4\t1\t7", "1 4 1 7", NULL },
        { "/proc/sys/kernel/sched_rt_runtime_us", VALUE_NUMBER, PHASE_SERVER, Q, "950000", "-1", NULL },
        { "cycle/2", VALUE_NUMBER, PHASE_TIMERS, STEP_ACTION, "1", "1", NULL },
        { "/sys/fs/cgroup/rt/cpuset.cpus.partition", VALUE_PARTITION, PHASE_CGROUP, Q, "member", "isolated",
                NULL },
        { "task/41/777/affinity", VALUE_WITHIN, PHASE_TASK, Q | V | T, "1,3", "1", "0-1" },
        { "task/41/777/cgroup", VALUE_TEXT, PHASE_TASK, Q | T, "/user.slice", "/rt", NULL },
        { "task/42/777/affinity", VALUE_WITHIN, PHASE_KTHREAD, V | T, "0", "0", "0-1" },
        { "/sys/devices/virtual/workqueue/cpumask", VALUE_CPUMASK, PHASE_WORKQUEUE, 0, "f", "1", NULL },
        { "/proc/irq/25/smp_affinity_list", VALUE_WITHIN, PHASE_IRQ, Q | L | T, "0-3", "0-1", "0-1" },
        { "/proc/irq/26/smp_affinity_list", VALUE_WITHIN, PHASE_IRQ, L | T, "2", "0-1", "0-1" },
        { "/proc/irq/27/smp_affinity_list", VALUE_WITHIN, PHASE_IRQ, Q | V | T, "2", "0-1", "0-1" },
        { "/sys/kernel/debug/sched/features#RT_ISOLATE", VALUE_TEXT, PHASE_TICK, Q, "NO_RT_ISOLATE",
                "RT_ISOLATE", NULL },
        { "/sys/kernel/mm/transparent_hugepage/enabled", VALUE_CHOICE, PHASE_TICK, Q,
                "always [madvise] never", "never", NULL },
        { "task/42/777/policy", VALUE_TEXT, PHASE_PRIORITY, T, "other 0", "fifo 2", NULL },
        { "/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", VALUE_TEXT, PHASE_POWER, Q, "0",
                "n/a", NULL },
};

static void put(const char *root, const char *path, const char *text) {
        _cleanup_free_ char *full = NULL;
        _cleanup_fclose_ FILE *file = NULL;

        assert_int_equal(util_asprintf(&full, "%s%s", root, path), 0);
        for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                (void) mkdir(full, 0755);
                *slash = '/';
        }
        file = fopen(full, "w");
        assert_non_null(file);
        fputs(text, file);
}

/* As a 6.1: cgroups coming and going make all affinities anew, and a CPU going away sends interrupts
 * everywhere. */
static void kernel(const char *root, const char *object, const char *value) {
        if (streq(object, "/sys/fs/cgroup/rt/cpuset.cpus.partition")) {
                const char *all =
                        streq(value, "isolated") ? "Cpus_allowed_list:\t0-1\n" : "Cpus_allowed_list:\t0-3\n";

                put(root, "/proc/41/status", all);
                put(root, "/proc/42/status", all);
        }
        if (streq(object, "/sys/devices/system/cpu/cpu2/online") && streq(value, "0"))
                put(root, "/proc/irq/27/smp_affinity_list", "0-3\n");
}

static char *text(const char *value) {
        char *copy = value ? strdup(value) : NULL;

        assert_true(copy || !value);
        return copy;
}

static Step make_step(const Row *row) {
        return (Step){ .id = text(row->object),
                .object = text(row->object),
                .kind = row->kind,
                .before = text(row->before),
                .wanted = text(row->wanted),
                .within = text(row->within),
                .phase = row->phase,
                .flags = row->flags };
}

/* What was there when the switch was planned is what is there now. */
static void add_op(Switch *sw, Kfs *kfs, const Row *row, bool back) {
        char *was = NULL;

        assert_int_equal(kfs_read(kfs, row->object, &was), 0);
        assert_int_equal(GROW(sw->ops, sw->n_ops), 0);
        sw->ops[sw->n_ops++] = (Op){ .step = make_step(row),
                .was = was,
                .target = text(back ? row->before : row->wanted),
                .back = back };
}

static int compare_ops(const void *a, const void *b) {
        const Op *x = a, *y = b;

        return phase_rank(x->step.phase, x->back) - phase_rank(y->step.phase, y->back);
}

/* The way in takes rows as they are, the way back in the order of that. */
static Switch *make_switch(const Fault *fault, bool back) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        Switch *sw = calloc(1, sizeof(Switch));

        assert_non_null(sw);
        sw->from = text(back ? "made-up" : "green");
        sw->to = text(back ? "green" : "made-up");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Step step = make_step(&rows[i]);

                if (!back || !(rows[i].flags & STEP_ACTION))
                        add_op(sw, kfs, &rows[i], back);
                if (back)
                        step_done(&step);
                else
                        assert_int_equal(steps_add(&sw->in_force, &step), 0);
        }
        if (back)
                qsort(sw->ops, sw->n_ops, sizeof(Op), compare_ops);
        return sw;
}

static int setup(void **state) {
        Fault *fault = fault_new("way in");

        fault->kernel = kernel;
        for (size_t i = 0; i < ARRAY_SIZE(machine); i++)
                put(fault->root, machine[i].path, machine[i].text);
        fault_prepare(fault, make_switch(fault, false));
        *state = fault;
        return 0;
}

static int setup_back(void **state) {
        Fault *fault;

        setup(state);
        fault = *state;
        fault->name = "way back";
        fault_prepare(fault, make_switch(fault, true));
        return 0;
}

static int teardown(void **state) {
        fault_free(*state);
        return 0;
}

static const int errors[] = { -EIO, -EBUSY, -EPERM, -ENOSPC, -EINVAL };

/* There and back is where it began, on a kernel that forgets affinities, too. */
static void test_there_and_back(void **state) {
        Fault *fault = *state;
        _cleanup_snapshot_ Snapshot *before = TAKE_PTR(fault->before);
        _cleanup_free_ char *difference = NULL;

        fault_prepare(fault, make_switch(fault, true));
        difference = snapshot_differ(before, fault->after);
        if (difference)
                fail_msg("%s", difference);
}

/* A switch that writes one object only, of a mode that has all of them. */
static Switch *make_narrow(const Fault *fault, const char *object, Phase phase) {
        Switch *sw = make_switch(fault, false);
        size_t kept = 0;

        for (size_t i = 0; i < sw->n_ops; i++) {
                if (streq(sw->ops[i].step.object, object))
                        sw->ops[kept++] = sw->ops[i];
                else
                        op_done(&sw->ops[i]);
        }
        sw->n_ops = kept;
        sw->ops[0].step.phase = phase;
        free(sw->from);
        sw->from = text("made-up");
        return sw;
}

#define PARTITION "/sys/fs/cgroup/rt/cpuset.cpus.partition"
#define QUEUE "/sys/devices/virtual/workqueue/cpumask"

static void lose_partition(const char *root, const char *object, const char *value) {
        if (streq(object, QUEUE))
                put(root, PARTITION, streq(value, "1") ? "isolated invalid (lost)\n" : "isolated\n");
}

/* What has drifted elsewhere does not fail a switch that has nothing to do with it; what it breaks does. */
static void test_narrow(void **state) {
        static const struct {
                Phase phase;
                bool drifted, breaks;
                ApplyOutcome outcome;
        } table[] = {
                { PHASE_WORKQUEUE, false, false, APPLY_DONE },
                { PHASE_WORKQUEUE, true, false, APPLY_DONE },
                { PHASE_CGROUP, false, false, APPLY_DONE },
                { PHASE_CGROUP, true, false, APPLY_DONE },
                { PHASE_CGROUP, false, true, APPLY_UNDONE },
        };
        Fault *fault = *state;

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                ApplyOutcome outcome;
                size_t n_problems;

                snapshot_restore(fault->after, fault->root);
                put(fault->root, QUEUE, "f\n");
                if (table[i].drifted)
                        put(fault->root, PARTITION, "isolated invalid (drifted)\n");
                fault->kernel = table[i].breaks ? lose_partition : NULL;
                fault_once(fault, make_narrow(fault, QUEUE, table[i].phase), &outcome, &n_problems);
                if (outcome != table[i].outcome || n_problems != (outcome == APPLY_UNDONE))
                        fail_msg("row %zu: outcome %d, %zu problems", i, (int) outcome, n_problems);
        }
}

static void test_refused(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                fault_refuse(*state, errors[i]);
}

static void test_failed_after(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                fault_fail_after(*state, errors[i]);
}

static void test_short(void **state) {
        fault_short(*state);
        fault_trickle(*state);
}

static void test_journals(void **state) {
        fault_torn(*state);
        fault_full(*state);
        fault_foreign(*state);
}

static void test_twisted(void **state) {
        fault_twist(*state);
        fault_vanish(*state);
}

static void test_reverted(void **state) {
        fault_revert(*state);
}

static void test_reads(void **state) {
        fault_reads(*state, -EIO);
        fault_reads(*state, -EACCES);
}

static void test_killed(void **state) {
        fault_kill(*state, 13);
}

static void test_journal(void **state) {
        fault_journal(*state, -ENOSPC);
        fault_journal(*state, -EIO);
}

static void test_undo(void **state) {
        fault_undo(*state, -EIO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define BOTH(name)                                                                                          \
        { #name " in", name, setup, teardown, NULL }, {                                                     \
#name " back", name, setup_back, teardown, NULL                                             \
        }

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_there_and_back),
                TEST(test_narrow),
                BOTH(test_refused),
                BOTH(test_failed_after),
                BOTH(test_short),
                BOTH(test_twisted),
                TEST(test_reverted),
                BOTH(test_reads),
                BOTH(test_killed),
                BOTH(test_journal),
                BOTH(test_journals),
                BOTH(test_undo),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
