/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault.h"

#include "card.h"

#include "../unit/test.h"
#include "kfs-provider.h"
#include "machine.h"
#include "plan.h"

/* Every shipped profile on a machine of files: into the mode, out of it, and from one to another. */

static const char *const profiles[] = { "base", "low-jitter", "dpdk", "kvm-host", "kvm-guest", "audio" };

/* Which part of all this is run: 1 is every place, n every n-th. */
static unsigned every = 1;
static size_t all_runs;

static Fault *build(const char *name, MachineKind kind) {
        Fault *fault = fault_new(name);
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        Tree tree = { fault->root, kfs };

        machine_build(&tree, kind);
        fault->kernel = kind == MACHINE_LOCAL ? machine_kernel_local : machine_kernel_remote;
        fault->every = every;
        return fault;
}

static void fail_with_errors(const char *name, const ProfileErrors *errors) {
        fail_msg("%s: %s", name, errors->n > 0 ? errors->items[0].message : "cannot be loaded");
}

/* The switch to a profile from what the journal says is in force. */
static Switch *plan(const Fault *fault, const char *name) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        _cleanup_journal_ Journal *journal = fault_open_journal(fault);
        _cleanup_(profile_errors_done) ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *made = NULL;
        Switch *sw = NULL;

        if (profile_load(kfs, name, &profile, &errors) < 0)
                fail_with_errors(name, &errors);
        assert_int_equal(plan_audit(kfs, profile, journal_steps(journal), &world), 0);
        assert_int_equal(plan_make(profile, world, journal_steps(journal), 0, &made), 0);
        if (made->n_refusals > 0)
                fail_msg("%s is refused: %s", name, made->refusals[0].what);
        assert_int_equal(plan_switch(made, journal_mode(journal), journal_steps(journal), world, 0, &sw), 0);
        return sw;
}

/* Goes to a mode; all that can fail on the way fails in turn. */
static void go(Fault *fault, const char *name, bool with_faults) {
        static const int errors[] = { -EIO, -EBUSY, -EPERM, -ENOSPC, -EINVAL };
        _cleanup_free_ char *text = NULL;
        _cleanup_journal_ Journal *journal = NULL;
        _cleanup_switch_ Switch *again = NULL;

        journal = fault_open_journal(fault);
        assert_int_equal(util_asprintf(&text, "%s to %s", journal_mode(journal), name), 0);
        journal_free(TAKE_PTR(journal));
        fault->name = text;
        fault_prepare(fault, plan(fault, name));
        if (fault->sw->n_ops == 0)
                fail_msg("%s: nothing is done", text);
        for (size_t i = 0; with_faults && i < ARRAY_SIZE(errors); i++)
                fault_refuse(fault, errors[i]);
        if (with_faults) {
                fault_fail_after(fault, -EIO);
                fault_short(fault);
                fault_twist(fault);
                fault_reads(fault, -EIO);
                fault_trickle(fault);
                fault_vanish(fault);
                fault_kill(fault, 0);
                fault_journal(fault, -ENOSPC);
                fault_torn(fault);
                fault_full(fault);
                fault_foreign(fault);
                fault_finish(fault);
        }
        again = plan(fault, name);
        fault_nothing(fault, again);
        print_message("# %s: %zu operations, %zu runs\n", text, fault->sw->n_ops, fault->runs);
        all_runs += fault->runs;
        fault->runs = 0;
        fault->name = "";
}

static void there_and_back(const char *profile, MachineKind kind) {
        _cleanup_fault_ Fault *fault = build(profile, kind);
        _cleanup_snapshot_ Snapshot *before = snapshot_take(fault->root);
        _cleanup_free_ char *difference = NULL;

        go(fault, profile, true);
        go(fault, "green", true);
        difference = snapshot_differ(before, fault->after);
        if (difference)
                fail_msg("%s and back: %s", profile, difference);
}

static void test_local(void **state) {
        there_and_back(*state, MACHINE_LOCAL);
}

static void test_remote(void **state) {
        there_and_back(*state, MACHINE_REMOTE);
}

#define PARTITION "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.partition"

static int stay_invalid(void *userdata, KfsMoment moment, const char *object, const char *value) {
        if (moment == KFS_AFTER_WRITE && streq(object, PARTITION) && streq(value, "isolated"))
                (void) kfs_poke(userdata, PARTITION, "isolated invalid (not exclusive)");
        return 0;
}

/* What cannot be mended is invalid afterwards as it was before, and told so. */
static void lose_partition(const Fault *fault, Kfs *kfs) {
        _cleanup_kfs_ Kfs *hooked = fault_kfs(fault);
        _cleanup_journal_ Journal *journal = fault_open_journal(fault);
        _cleanup_(apply_problems_done) ApplyProblems problems = {};
        _cleanup_switch_ Switch *sw = NULL;
        ApplyOutcome outcome;

        assert_int_equal(kfs_write(kfs, PARTITION, "isolated invalid (not exclusive)"), 0);
        sw = plan(fault, "low-jitter");
        kfs_hook(hooked, stay_invalid, hooked);
        assert_int_equal(
                apply_switch(hooked, journal, sw, "0123", "tests", NULL, NULL, &outcome, &problems), 0);
        assert_int_equal(outcome, APPLY_UNDONE);
        assert_int_equal(problems.n, 1);
        assert_string_equal(problems.items[0].reason, "not exclusive");
}

/* Drift of every kind is mended whole or not at all, and the values from before the mode stay known. */
static void mend(MachineKind kind) {
        static const char *const drift[][2] = {
                { "/proc/irq/25/smp_affinity_list", "1-3" },
                { "/proc/irq/default_smp_affinity", "f" },
                { "/proc/sys/vm/stat_interval", "2" },
                { "/sys/devices/virtual/workqueue/cpumask", "e" },
                { "/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "0" },
                { "task/7/107/affinity", "2" },
        };
        _cleanup_fault_ Fault *fault = build("mend", kind);
        _cleanup_snapshot_ Snapshot *before = snapshot_take(fault->root);
        _cleanup_free_ char *difference = NULL;
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);

        go(fault, "low-jitter", false);
        for (size_t i = 0; i < ARRAY_SIZE(drift); i++)
                assert_int_equal(kfs_write(kfs, drift[i][0], drift[i][1]), 0);
        go(fault, "low-jitter", true);
        assert_int_equal(kfs_write(kfs, PARTITION, "isolated invalid (not exclusive)"), 0);
        go(fault, "low-jitter", false);
        lose_partition(fault, kfs);
        go(fault, "low-jitter", false);
        go(fault, "green", false);
        difference = snapshot_differ(before, fault->after);
        if (difference)
                fail_msg("%s", difference);
}

static void test_mend_local(void **state) {
        mend(MACHINE_LOCAL);
}

static void test_mend_remote(void **state) {
        mend(MACHINE_REMOTE);
}

/* What could not be undone keeps its record: green puts it back once it can be written again. */
static void leave_and_mend(MachineKind kind) {
        _cleanup_fault_ Fault *fault = build("low-jitter", kind);
        _cleanup_snapshot_ Snapshot *before = snapshot_take(fault->root);
        const Op *last = NULL;
        size_t left = 0;

        fault->name = "low-jitter undone in part";
        fault_prepare(fault, plan(fault, "low-jitter"));
        for (size_t i = 0; i < fault->sw->n_ops; i++)
                if (fault->sw->ops[i].step.flags & STEP_REQUIRED)
                        last = &fault->sw->ops[i];
        for (const Op *op = fault->sw->ops; op < last; op++) {
                _cleanup_free_ char *difference = NULL;
                Fault green;

                if (!op->was || !fault_undo_fails(fault, last, op, -EINVAL))
                        continue;
                left++;
                green = *fault;
                green.sw = NULL;
                green.before = green.after = green.journal_before = NULL;
                fault_prepare(&green, plan(fault, "green"));
                difference = snapshot_differ(before, green.after);
                if (difference)
                        fail_msg("%s, then green: %s", op->step.object, difference);
                switch_free(green.sw);
                snapshot_free(green.before);
                snapshot_free(green.after);
                snapshot_free(green.journal_before);
        }
        assert_true(left > 5);
}

static void test_leave_local(void **state) {
        leave_and_mend(MACHINE_LOCAL);
}

static void test_leave_remote(void **state) {
        leave_and_mend(MACHINE_REMOTE);
}

static void across(MachineKind kind) {
        _cleanup_fault_ Fault *fault = build("across", kind);
        _cleanup_snapshot_ Snapshot *before = snapshot_take(fault->root);
        _cleanup_free_ char *difference = NULL;

        go(fault, "low-jitter", false);
        go(fault, "dpdk", true);
        go(fault, "kvm-host", true);
        go(fault, "audio", true);
        go(fault, "low-jitter", true);
        go(fault, "green", false);
        difference = snapshot_differ(before, fault->after);
        if (difference)
                fail_msg("%s", difference);
}

static void test_across_local(void **state) {
        across(MACHINE_LOCAL);
}

static void test_across_remote(void **state) {
        across(MACHINE_REMOTE);
}

static void give_channels(const Fault *fault, Kfs *kfs, const char *value) {
        assert_int_equal(kfs_write(kfs, "net/2/channels", value), 0);
        fault->kernel(fault->root, "net/2/channels", value);
}

/* Channels that take queues away and bring others, with masks that the driver chooses anew each time: all places, as
 * there are few. */
static void test_card(void **state) {
        static const char *const ways[] = { "few", "green", "many", "few", "many", "green" };
        _cleanup_fault_ Fault *fault = build("card", MACHINE_REMOTE);
        _cleanup_snapshot_ Snapshot *before = NULL;
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        Tree tree = { fault->root, kfs };

        card_build(&tree);
        fault->kernel = card_kernel;
        fault->every = 1;
        before = snapshot_take(fault->root);
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_free_ char *difference = NULL;

                go(fault, ways[i], true);
                /* Somebody else sets another number: it is mended like any drift, with the queues that came. */
                if (i == 0 || i == 3) {
                        give_channels(fault, kfs, "combined 2 rx 0 tx 0");
                        go(fault, ways[i], true);
                }
                if (streq(ways[i], "green"))
                        difference = snapshot_differ(before, fault->after);
                if (difference)
                        fail_msg("%s", difference);
        }
}

int main(int argc, char **argv) {
        struct CMUnitTest tests[2 * ARRAY_SIZE(profiles) + 7];
        char names[2 * ARRAY_SIZE(profiles)][64];
        size_t n = 0;
        int failed;

        if (argc > 1)
                every = (unsigned) atoi(argv[1]) ?: 1;
        if (argc > 2)
                cmocka_set_test_filter(argv[2]);
        for (; n < 2 * ARRAY_SIZE(profiles); n++) {
                const char *name = profiles[n / 2];

                snprintf(names[n], sizeof(names[n]), "%s, as %s", name, n % 2 ? "6.12" : "6.1");
                tests[n] = (struct CMUnitTest){ names[n], n % 2 ? test_remote : test_local, NULL, NULL,
                        (void *) (uintptr_t) name };
        }
        tests[n++] = (struct CMUnitTest){ "mode to mode, as 6.1", test_across_local, NULL, NULL, NULL };
        tests[n++] = (struct CMUnitTest){ "mode to mode, as 6.12", test_across_remote, NULL, NULL, NULL };
        tests[n++] = (struct CMUnitTest){ "drift mended, as 6.1", test_mend_local, NULL, NULL, NULL };
        tests[n++] = (struct CMUnitTest){ "drift mended, as 6.12", test_mend_remote, NULL, NULL, NULL };
        tests[n++] = (struct CMUnitTest){ "left and mended, as 6.1", test_leave_local, NULL, NULL, NULL };
        tests[n++] = (struct CMUnitTest){ "left and mended, as 6.12", test_leave_remote, NULL, NULL, NULL };
        tests[n++] = (struct CMUnitTest){ "channels of a card", test_card, NULL, NULL, NULL };
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        print_message("# %zu runs in all\n", all_runs);
        return failed;
}
