/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmdline.h"
#include "cpuset.h"
#include "fuzz.h"
#include "irq.h"
#include "world-read.h"

/* Texts of the kernel, one parser at a time.  The first line names it. */

static void check_interrupts(char *text) {
        World world = {};

        FUZZ_HOLDS(irq_parse_interrupts(&world, text) != -EINVAL);
        for (size_t i = 0; i < world.n_irqs; i++) {
                FUZZ_HOLDS(world.irqs[i].name && world.irqs[i].chip);
                FUZZ_HOLDS(i == 0 || world.irqs[i - 1].irq < world.irqs[i].irq);
                FUZZ_HOLDS(world_irq(&world, world.irqs[i].irq) == &world.irqs[i]);
                world_irq_done(&world.irqs[i]);
        }
        free(world.irqs);
}

static void check_stat(char *text) {
        WorldTask task = {};

        if (world_parse_stat(text, &task) == 0)
                FUZZ_HOLDS(task.comm);
        free(task.comm);
}

static void check_status(char *text) {
        _cleanup_cpulist_ CpuList list = {};

        (void) world_parse_allowed(text, &list);
}

static void check_cgroup(char *text) {
        _cleanup_free_ char *path = NULL;

        if (world_parse_cgroup(text, &path) == 0)
                FUZZ_HOLDS(path && (!*path || *path == '/'));
}

static void check_vectors(char *text) {
        _cleanup_cpulist_ CpuList cpus = {};
        uint64_t n;

        FUZZ_HOLDS(cpulist_add_range(&cpus, 0, 3) == 0);
        (void) irq_free_vectors(text, &cpus, &n);
}

static void check_cmdline(char *text) {
        _cleanup_free_ char *value = NULL;
        _cleanup_cpulist_ CpuList list = {};

        (void) cmdline_get(text, "nohz_full", &value);
        (void) cmdline_isolcpus(text, "managed_irq", &list);
}

/* The partition files of a set, its parent and the root's effective CPUs. */
static void check_partition(char *text) {
        char *parent = fuzz_cut(text), *effective = fuzz_cut(parent), *isolated = fuzz_cut(effective);
        WorldCgroup groups[] = {
                { .path = (char *) "/", .effective = effective, .isolated = isolated },
                { .path = (char *) "/rtisol.slice", .partition = parent, .effective = effective },
                { .path = (char *) "/rtisol.slice/rtisol-rt.slice",
                        .partition = text,
                        .effective = effective,
                        .cpus = isolated },
        };
        Topology topology = {};
        World world = { .topology = &topology, .cgroups = groups, .n_cgroups = ARRAY_SIZE(groups) };
        StepSet set = { .name = (char *) "rt", .cpus = (char *) "2-3", .partition = (char *) "isolated" };
        _cleanup_free_ char *state = NULL, *reason = NULL;

        FUZZ_HOLDS(cpuset_set_state(&world, &set, &state, &reason) == 0);
        /* Nothing but the right word is a set that holds. */
        FUZZ_HOLDS(state && (reason || streq(state, "isolated")));
}

static const struct {
        const char *name;
        void (*check)(char *text);
} parsers[] = {
        { "interrupts", check_interrupts },
        { "stat", check_stat },
        { "status", check_status },
        { "cgroup", check_cgroup },
        { "vectors", check_vectors },
        { "cmdline", check_cmdline },
        { "partition", check_partition },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size);
        char *newline = strchr(text, '\n');

        if (!newline)
                return 0;
        *newline = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(parsers); i++)
                if (streq(text, parsers[i].name))
                        parsers[i].check(newline + 1);
        return 0;
}
