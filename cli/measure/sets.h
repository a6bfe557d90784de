/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "machine.h"
#include "request.h"

/* The sets whose CPUs can be meant. */
typedef struct MeasureSet {
        char *name;
        CpuList cpus;
        bool shut; /* a partition: only what runs in the set's slice may run there */
} MeasureSet;

typedef struct MeasureSets {
        MeasureSet *items;
        size_t n;
} MeasureSets;

void measure_sets_done(MeasureSets *sets);
#define _cleanup_measure_sets_ _cleanup_(measure_sets_done)

/* Adds the sets of the mode in force. */
int measure_sets_add_live(MeasureSets *sets, const Machine *machine);
/* Adds the sets that a mode would have.  EXIT_HOLDS, EXIT_USAGE or EXIT_REFUSED where it was told, or a negative
 * errno. */
int measure_sets_add_mode(MeasureSets *sets, const Machine *machine, const char *mode);

/* The set of that CPU; NULL for one in none. */
const MeasureSet *measure_sets_find(const MeasureSets *sets, unsigned cpu);

/* The CPUs that --cpus names, or all sets': online ones.  EXIT_HOLDS, EXIT_USAGE or EXIT_REFUSED where it was told,
 * or a negative errno. */
int measure_choose_cpus(const Cli *cli, Kfs *kfs, const MeasureSets *sets, CpuList *ret);
