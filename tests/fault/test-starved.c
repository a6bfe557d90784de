/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault.h"

#include "../unit/test.h"
#include "accepted.h"
#include "audit.h"
#include "conf.h"
#include "counts.h"
#include "covers.h"
#include "kernel-args.h"
#include "ksyms.h"
#include "machine.h"
#include "noise-counters.h"
#include "plan-sets.h"
#include "sample.h"
#include "starve.h"
#include "state.h"

/* Whatever looks at a machine, plans and records, with each of its allocations failing in turn, and each of its reads:
 * it says so, loses nothing, and writes nothing to the kernel. */

#define EVERYTHING                                                                                          \
        "[profile]\ninclude = dpdk\n[cpuset rt]\ncontrol_cpus = 2\nmems = 0\nsmt = include\n"               \
        "[irq a]\nmatch = snd*\ncpus = set:rt\n[kthread b]\nmatch = kauditd\npolicy = fifo\npriority = 2\n" \
        "[task c]\nmatch = worker*\nset = rt\nthread = worker-2\ncpus = 3\n[keep_off_sets]\ntimers = yes\n"

typedef struct Context {
        Fault *fault; /* its machine is in no mode */
        Kfs *kfs;
        Profile *profile, *other;
        World *world;
        Plan *plan;
        Journal *journal;
        Switch *sw;
        char *path; /* of a file that may be written */
} Context;

/* What is tried.  Each returns what the library's function did and leaves nothing behind. */

static int try_profile(Context *context) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_free_ char *text = NULL;
        int r = profile_load(context->kfs, "everything", &profile, &errors);

        return r ?: profile_format(profile, true, &text);
}

static int try_wrong_profile(Context *context) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_free_ char *sentence = NULL;
        int r = profile_load(context->kfs, "wrong", &profile, &errors);

        if (r != -EINVAL || errors.n == 0)
                return r;
        return profile_error_sentence(&errors.items[0], &sentence);
}

static int try_names(Context *context) {
        _cleanup_strv_ char **names = NULL, **misnamed = NULL;
        _cleanup_profile_ Profile *green = NULL;
        int r = profile_list(context->kfs, &names);

        r = r ?: profile_list_misnamed(context->kfs, &misnamed);
        return r ?: profile_load_plain_green(context->kfs, &green);
}

static int try_world(Context *context) {
        _cleanup_world_ World *world = NULL;

        return plan_audit(context->kfs, context->profile, journal_steps(context->journal), &world);
}

static int try_plan(Context *context) {
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_switch_ Switch *sw = NULL;
        int r = plan_make(context->profile, context->world, journal_steps(context->journal), 0, &plan);

        r = r ?: plan_switch(plan, "green", journal_steps(context->journal), context->world, 0, &sw);
        return r ?: plan_refuse_left_out(plan, sw);
}

/* From the mode to another one, and back: what is in force is known from the plan. */
static int try_way_back(Context *context) {
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_switch_ Switch *sw = NULL;
        int r = plan_make(context->other, context->world, &context->plan->steps, 0, &plan);

        return r ?: plan_switch(plan, "everything", &context->plan->steps, context->world, 0, &sw);
}

static int try_audit(Context *context) {
        const AuditInput input = { &context->plan->steps, "everything", context->profile, NULL, 1 };
        _cleanup_audit_ Audit *audit = NULL;
        int r = audit_look(context->kfs, &input, &audit);

        for (unsigned cpu = 0; r >= 0 && cpu < 4; cpu++) {
                _cleanup_free_ size_t *tasks = NULL, *irqs = NULL;
                size_t n;

                r = audit_cpu_tasks(audit, cpu, &tasks, &n);
                r = r < 0 ? r : audit_cpu_irqs(audit, cpu, &irqs, &n);
        }
        return r;
}

static int try_covers(Context *context) {
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
        _cleanup_free_ char *why = NULL;
        int r = plan ? plan_sets(context->other, context->world, NULL, 0, plan) : -ENOMEM;

        return r ?: covers(context->profile, context->plan, context->other, plan, &why);
}

static int try_kernel_args(Context *context) {
        _cleanup_kernel_args_ KernelArgs args = {};
        _cleanup_world_ World *world = NULL;
        int r = world_new(context->kfs, &world);

        r = r ?: kernel_args_read(world);
        return r ?: kernel_args_make(context->profile, context->plan, world, NULL, &args);
}

static int try_doctor(Context *context) {
        Mechanisms mechanisms = {};
        int r = 0;

        for (size_t i = 0; r >= 0 && backends[i]; i++)
                r = backends[i]->probe ? backends[i]->probe(context->kfs, &mechanisms) : 0;
        mechanisms_done(&mechanisms);
        return r;
}

static int try_counts(Context *context) {
        _cleanup_noise_counters_ NoiseCounters counters = {};
        _cleanup_counts_ Counts counts = {};
        _cleanup_sample_ Sample sample = {};
        _cleanup_ksyms_ Ksyms *ksyms = NULL;
        int r = sample_take(context->kfs, &sample);

        r = r ?: noise_counters_take(context->kfs, &counters);
        r = r ?: ksyms_read(context->kfs, &ksyms);
        return r ?: counts_read(context->kfs, "/proc/interrupts", &counts);
}

static int try_conf(Context *context) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_strv_ char **accepted = NULL;
        _cleanup_conf_ Conf conf = {};
        int r = conf_load(context->kfs, &conf, &errors);

        r = r ?: accepted_read(context->kfs, &accepted);
        r = r ?: accepted_add(context->path, "irq-*", "known");
        return r < 0 ? r : accepted_remove(context->path, "irq-*");
}

/* Whatever the record may lack for want of memory, it must not be what decides about an undo. */
static bool is_recorded(const Switch *sw, const Switch *read) {
        if (!read || read->n_ops != sw->n_ops)
                return false;
        for (size_t i = 0; i < sw->n_ops; i++)
                if (read->ops[i].step.flags != sw->ops[i].step.flags ||
                        !streq(read->ops[i].step.object, sw->ops[i].step.object) ||
                        !streq(read->ops[i].was ?: "", sw->ops[i].was ?: ""))
                        return false;
        return true;
}

static int try_journal(Context *context) {
        _cleanup_journal_ Journal *journal = NULL, *again = NULL;
        _cleanup_state_ State state = {};
        int r = journal_open(context->fault->journal, "1a2b", &journal);

        r = r ?: journal_begin(journal, context->sw);
        r = r ?: journal_commit(journal, context->sw, "0123", "tests");
        r = r ?: journal_begin(journal, context->sw);
        r = r ?: journal_open(context->fault->journal, "1a2b", &again);
        if (r == 0 && !is_recorded(context->sw, journal_unfinished(again)))
                return -EBADMSG;
        r = r ?: journal_abort(journal, &context->sw->in_force);
        r = r ?: state_write(context->path, journal, "1a2b");
        return r ?: state_read(context->path, "1a2b", &state);
}

typedef struct Row {
        const char *name;
        int (*run)(Context *context);
        bool reads; /* has reads that may fail */
} Row;

static const Row rows[] = {
        { "a profile", try_profile, true },
        { "a profile that is wrong", try_wrong_profile, true },
        { "the profiles' names", try_names, true },
        { "the machine", try_world, true },
        { "a plan", try_plan, false },
        { "a way back", try_way_back, false },
        { "an audit", try_audit, true },
        { "two profiles", try_covers, false },
        { "the kernel's command line", try_kernel_args, true },
        { "doctor", try_doctor, true },
        { "counts", try_counts, true },
        { "what is accepted", try_conf, true },
        { "the journal", try_journal, false },
};

/* The context */

static Profile *load(Kfs *kfs, const char *name) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        Profile *profile = NULL;

        if (profile_load(kfs, name, &profile, &errors) < 0)
                fail_msg("%s: %s", name, errors.n > 0 ? errors.items[0].message : "cannot be loaded");
        return profile;
}

static Context context_new(void) {
        Context context = { .fault = fault_new("starved") };
        Tree tree;

        context.kfs = fault_kfs(context.fault);
        tree = (Tree){ context.fault->root, context.kfs };
        machine_build(&tree, MACHINE_REMOTE);
        tree_put(&tree, "/etc/rtisold/profiles/everything.ini", EVERYTHING);
        tree_put(&tree, "/etc/rtisold/profiles/wrong.ini",
                "[profil]\nx = 1\n[cpuset rt]\ncpus = 3-1\nfoo = 2\n");
        tree_put(&tree, "/etc/rtisold/profiles/wro ng.ini", "");
        tree_put(&tree, "/etc/rtisold/rtisold.conf", "[daemon]\nmode = dpdk\non_stop = green\n");
        tree_put(&tree, "/etc/rtisold/accepted", "irq-unmovable/*\n# nothing\nhpet\n");
        tree_put(&tree, "/proc/interrupts",
                "  CPU0 CPU1 CPU2 CPU3\n 25: 1 2 3 4 PCI-MSI 1-edge x\nLOC: 1 2 3 4\n");
        tree_put(&tree, "/proc/stat", "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu3 1 2 3 4 5 6 7 8\n");
        tree_put(&tree, "/proc/schedstat", "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 1 2 3\n");
        tree_put(&tree, "/proc/kallsyms", "0000000000000001 T one\n0000000000000002 t two\t[module]\n");
        assert_int_equal(util_asprintf(&context.path, "%s/file", context.fault->base), 0);
        context.journal = fault_open_journal(context.fault);
        context.profile = load(context.kfs, "everything");
        context.other = load(context.kfs, "kvm-host");
        assert_int_equal(
                plan_audit(context.kfs, context.profile, journal_steps(context.journal), &context.world), 0);
        assert_int_equal(
                plan_make(context.profile, context.world, journal_steps(context.journal), 0, &context.plan),
                0);
        if (context.plan->n_refusals > 0)
                fail_msg("refused: %s", context.plan->refusals[0].what);
        assert_int_equal(plan_switch(context.plan, "green", journal_steps(context.journal), context.world, 0,
                                 &context.sw),
                0);
        return context;
}

static void context_done(Context *context) {
        switch_free(context->sw);
        plan_free(context->plan);
        world_free(context->world);
        profile_free(context->profile);
        profile_free(context->other);
        journal_free(context->journal);
        kfs_free(context->kfs);
        (void) unlink(context->path);
        free(context->path);
        fault_free(context->fault);
}

/* Without memory */

static void starve_row(Context *context, const Row *row) {
        Snapshot *journal = snapshot_take(context->fault->journal);
        size_t n, tried = 0, told = 0;
        int r;

        starve_count();
        r = row->run(context);
        (void) starve_end();
        if (r < 0)
                fail_msg("%s: %d with all the memory it wants", row->name, r);
        n = starve_n();
        for (size_t at = 0; at < n; at++) {
                if (!starve_is_first(at))
                        continue;
                snapshot_restore(journal, context->fault->journal);
                starve_at(at);
                r = row->run(context);
                tried += starve_end();
                told += r == -ENOMEM;
                if (r < 0 && r != -ENOMEM)
                        fail_msg("%s: %d where allocation %zu fails", row->name, r, at);
        }
        snapshot_free(journal);
        print_message("# %s: %zu allocations, %zu places failed, %zu told\n", row->name, n, tried, told);
        if (tried == 0 || told < tried / 2)
                fail_msg("%s: of %zu allocations that failed %zu were told", row->name, tried, told);
}

static void test_memory(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Context context = context_new();

                starve_row(&context, &rows[i]);
                if (kfs_writes(context.kfs) > 0)
                        fail_msg("%s: %zu writes to the kernel", rows[i].name,
                                (size_t) kfs_writes(context.kfs));
                context_done(&context);
        }
}

/* Without answers */

typedef struct Failing {
        size_t count, at;
        int error;
} Failing;

static int fail_read(void *userdata, KfsMoment moment, const char *object, const char *value) {
        Failing *failing = userdata;

        return moment == KFS_BEFORE_READ && failing->count++ == failing->at ? failing->error : 0;
}

static void test_reads(void **state) {
        static const int errors[] = { -EIO, -EACCES, -ENOENT, -EINVAL };
        Context context = context_new();

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Failing failing = {};

                for (size_t at = 0; rows[i].reads && at <= failing.count; at++) {
                        failing = (Failing){ 0, at, errors[at % ARRAY_SIZE(errors)] };
                        kfs_hook(context.kfs, fail_read, &failing);
                        (void) rows[i].run(&context);
                        kfs_hook(context.kfs, NULL, NULL);
                }
                print_message("# %s: %zu reads failed\n", rows[i].name, failing.count);
        }
        assert_int_equal(kfs_writes(context.kfs), 0);
        context_done(&context);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_memory),
                cmocka_unit_test(test_reads),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
