/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "audit.h"
#include "fuzz.h"
#include "providers.h"
#include "test.h"
#include "tree.h"

/* The state file, which `status` reads as anybody and without the daemon. */

static Tree *tree;

static void clean_up(void) {
        tree_free(tree);
}

static void make_machine(void) {
        if (tree)
                return;
        tree = tree_new();
        FUZZ_HOLDS(atexit(clean_up) == 0);
        FUZZ_HOLDS(providers_add(tree->kfs) == 0);
        tree_put_cpus(tree, 1, 4, 1, false);
        tree_fill(tree,
                "/proc/sys/vm/swappiness=60\n"
                "/proc/irq/25/smp_affinity_list=0-3\n"
                "/proc/irq/25/actions=eth0\n"
                "/sys/fs/cgroup/cgroup.controllers=cpuset cpu\n"
                "/sys/fs/cgroup/cgroup.subtree_control=cpu\n"
                "/sys/fs/cgroup/cgroup.procs=1\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *path = NULL, *text = fuzz_text(data, size);
        _cleanup_state_ State state = {};
        _cleanup_audit_ Audit *audit = NULL;
        int r;

        make_machine();
        tree_put(tree, "/state.json", text);
        FUZZ_HOLDS(util_asprintf(&path, "%s/state.json", tree->root) == 0);
        r = state_read(path, "1a2b", &state);
        FUZZ_HOLDS(r == 0 || r == -EPROTO || r == -ENOENT);
        if (r < 0)
                return 0;
        FUZZ_HOLDS(state.mode && state.by && state.profile_sha256);
        if (audit_make(tree->kfs, &state.steps, state.mode, &audit) == 0) {
                FUZZ_HOLDS(audit->n_steps == state.steps.n);
                FUZZ_HOLDS(audit_verdict(audit));
        }
        FUZZ_HOLDS(kfs_writes(tree->kfs) == 0);
        return 0;
}
