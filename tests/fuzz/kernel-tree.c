/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ftw.h>
#include <sys/stat.h>

#include "../fault/machine.h"
#include "audit.h"
#include "fuzz.h"
#include "plan.h"
#include "providers.h"
#include "test.h"

/* A whole machine with one file that says anything: the first line is the file's path, the rest what it reads.  It
 * is audited, planned for and audited as a mode in force.  Nothing is written. */

static Tree *tree;
static char **files; /* paths below the root, of what a kernel would have written */
static Profile *profiles[2];
static Steps in_force;

static int note_file(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
        const char *name = path + strlen(tree->root);

        if (kind == FTW_F && !util_startswith(name, "/etc/"))
                FUZZ_HOLDS(util_strv_push(&files, name) == 0);
        return 0;
}

static void clean_up(void) {
        tree_free(tree);
        for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
                profile_free(profiles[i]);
        steps_done(&in_force);
        util_strv_free(files);
}

static void take_steps(void) {
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_switch_ Switch *sw = NULL;
        static const Steps nothing = {};

        FUZZ_HOLDS(plan_audit(tree->kfs, profiles[0], NULL, &world) == 0);
        FUZZ_HOLDS(plan_make(profiles[0], world, NULL, 0, &plan) == 0 && plan->n_refusals == 0);
        FUZZ_HOLDS(plan_switch(plan, "green", &nothing, world, 0, &sw) == 0);
        in_force = sw->in_force;
        sw->in_force = (Steps){};
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
        tree = tree_new();
        FUZZ_HOLDS(atexit(clean_up) == 0);
        FUZZ_HOLDS(providers_add(tree->kfs) == 0);
        machine_build(tree, MACHINE_REMOTE);
        tree_put(tree, "/proc/interrupts",
                "           CPU0       CPU1       CPU2       CPU3\n"
                " 24:          0          9          0          0  PCI-MSI 1-edge      virtio1-req.0\n"
                " 25:          5          0          0          0  IO-APIC  9-fasteoi   "
                "snd_hda_intel:card0\n"
                "NMI:          1          1          1          1   Non-maskable interrupts\n");
        FUZZ_HOLDS(profile_load(tree->kfs, "low-jitter", &profiles[0], NULL) == 0);
        FUZZ_HOLDS(profile_load(tree->kfs, "kvm-host", &profiles[1], NULL) == 0);
        FUZZ_HOLDS(nftw(tree->root, note_file, 16, FTW_PHYS) == 0);
        take_steps();
        return 0;
}

static void put(const char *path, const char *text, size_t size) {
        _cleanup_free_ char *full = NULL;
        FILE *file;

        FUZZ_HOLDS(util_asprintf(&full, "%s%s", tree->root, path) == 0);
        file = fopen(full, "we");
        FUZZ_HOLDS(file);
        FUZZ_HOLDS(fwrite(text, 1, size, file) == size);
        (void) fclose(file);
}

static void check_plan(const Profile *profile, const Steps *now) {
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_switch_ Switch *sw = NULL;

        if (plan_audit(tree->kfs, profile, now, &world) < 0)
                return;
        /* What the kernel would never say may be an error; it is no plan then. */
        if (plan_make(profile, world, now, 0, &plan) < 0)
                return;
        if (plan->n_refusals == 0)
                FUZZ_HOLDS(plan_switch(plan, now->n > 0 ? "low-jitter" : "green", now, world, 0, &sw) == 0);
        for (size_t i = 0; i < plan->n_refusals; i++)
                FUZZ_HOLDS(*plan->refusals[i].what);
}

static void check_audit(void) {
        _cleanup_audit_ Audit *audit = NULL;

        if (audit_make(tree->kfs, &in_force, "low-jitter", &audit) < 0)
                return;
        FUZZ_HOLDS(audit->n_steps == in_force.n);
        FUZZ_HOLDS(audit_verdict(audit));
}

static void check_machine(void) {
        static const Steps nothing = {};

        check_plan(profiles[0], &nothing);
        check_plan(profiles[1], &nothing);
        check_plan(profiles[1], &in_force);
        check_audit();
        FUZZ_HOLDS(kfs_writes(tree->kfs) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size), *before = NULL;
        char *newline = strchr(text, '\n');
        size_t before_size, n;

        if (!tree)
                (void) LLVMFuzzerInitialize(NULL, NULL);
        if (!newline)
                return 0;
        *newline = '\0';
        if (!util_strv_contains(files, text))
                return 0;
        n = (size_t) (newline + 1 - text);
        FUZZ_HOLDS(kfs_read_raw(tree->kfs, text, &before, &before_size) == 0);
        put(text, newline + 1, size - n);
        check_machine();
        put(text, before, before_size);
        return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Mutates what the file reads; now and then another file reads the same. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
        const uint8_t *newline = memchr(data, '\n', size);
        const char *path = files[seed / 8 % util_strv_length(files)];
        size_t n = newline ? (size_t) (newline + 1 - data) : 0, length = strlen(path) + 1, rest = size - n;

        if (newline && seed % 8 != 0)
                return n + LLVMFuzzerMutate(data + n, rest, max_size - n);
        if (length + rest > max_size)
                rest = max_size - length;
        memmove(data + length, data + n, rest);
        memcpy(data, path, length - 1);
        data[length - 1] = '\n';
        return length + rest;
}
