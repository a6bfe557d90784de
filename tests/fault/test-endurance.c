/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/stat.h>

#include "../unit/test.h"
#include "machine.h"
#include "plan.h"

/* Switch after switch between all modes on a machine of files: nothing grows, and green is as it was found. */

/* The allocator's own caches count as allocated without a sanitizer; they have a limit. */
#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#define ALLOCATED_MORE 4096
#else
#define ALLOCATED_MORE 262144
#endif

static const char *const modes[] = { "green", "low-jitter", "dpdk", "kvm-host", "kvm-guest", "audio",
        "base" };

static unsigned switches = 300;

/* What may not grow.  A journal and a tree of a mode have their sizes; in green they are always the same. */
typedef struct Sizes {
        size_t allocated, descriptors, files, journal;
} Sizes;

static size_t allocated(void) {
#ifdef __SANITIZE_ADDRESS__
        return __sanitizer_get_current_allocated_bytes();
#else
        return mallinfo2().uordblks;
#endif
}

static size_t count_descriptors(void) {
        DIR *dir = opendir("/proc/self/fd");
        size_t n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        (void) closedir(dir);
        return n;
}

static size_t count_bytes(const Snapshot *snapshot) {
        size_t n = 0;

        for (size_t i = 0; i < snapshot->n; i++)
                n += snapshot->entries[i].size;
        return n;
}

static Sizes measure(const Fault *fault) {
        Snapshot *root = snapshot_take(fault->root), *journal = snapshot_take(fault->journal);
        Sizes sizes = {
                .files = root->n, .journal = count_bytes(journal), .descriptors = count_descriptors()
        };

        snapshot_free(root);
        snapshot_free(journal);
        sizes.allocated = allocated();
        return sizes;
}

static void go(const Fault *fault, const char *name) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        _cleanup_journal_ Journal *journal = fault_open_journal(fault);
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = NULL;
        ApplyOutcome outcome;
        Switch *sw = NULL;
        size_t problems;

        assert_int_equal(profile_load(kfs, name, &profile, NULL), 0);
        assert_int_equal(plan_audit(kfs, profile, journal_steps(journal), &world), 0);
        assert_int_equal(plan_make(profile, world, journal_steps(journal), 0, &plan), 0);
        if (plan->n_refusals > 0)
                fail_msg("%s is refused: %s", name, plan->refusals[0].what);
        assert_int_equal(plan_switch(plan, journal_mode(journal), journal_steps(journal), world, 0, &sw), 0);
        journal_free(TAKE_PTR(journal));
        fault_once(fault, sw, &outcome, &problems);
        if (outcome != APPLY_DONE || problems > 0)
                fail_msg("%s: outcome %d, %zu problems", name, (int) outcome, problems);
}

static void endure(MachineKind kind) {
        _cleanup_fault_ Fault *fault = fault_new("endurance");
        _cleanup_snapshot_ Snapshot *before = NULL, *after = NULL;
        _cleanup_free_ char *difference = NULL;
        Tree tree = { fault->root, fault_kfs(fault) };
        unsigned random = 1;
        Sizes first, last;

        machine_build(&tree, kind);
        kfs_free(tree.kfs);
        fault->kernel = kind == MACHINE_LOCAL ? machine_kernel_local : machine_kernel_remote;
        before = snapshot_take(fault->root);
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
                go(fault, modes[i]);
        go(fault, "green");
        first = measure(fault);
        for (unsigned i = 0; i < switches; i++) {
                random = random * 1103515245 + 12345;
                go(fault, modes[random / 65536 % ARRAY_SIZE(modes)]);
        }
        go(fault, "green");
        last = measure(fault);
        after = snapshot_take(fault->root);
        difference = snapshot_differ(before, after);
        if (difference)
                fail_msg("%s", difference);
        if (last.allocated > first.allocated + ALLOCATED_MORE || last.descriptors != first.descriptors ||
                last.files != first.files || last.journal != first.journal)
                fail_msg("bytes allocated %zu, then %zu; descriptors %zu, %zu; files %zu, %zu; journal %zu, "
                         "%zu",
                        first.allocated, last.allocated, first.descriptors, last.descriptors, first.files,
                        last.files, first.journal, last.journal);
        print_message("# %u switches\n", switches);
}

static void test_local(void **state) {
        endure(MACHINE_LOCAL);
}

static void test_remote(void **state) {
        endure(MACHINE_REMOTE);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                { "all modes, as 6.1", test_local, NULL, NULL, NULL },
                { "all modes, as 6.12", test_remote, NULL, NULL, NULL },
        };

        if (argc > 1)
                switches = (unsigned) atoi(argv[1]) ?: 1;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
