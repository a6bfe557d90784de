/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "machine.h"
#include "noise.h"
#include "record.h"

/* What `explain` found. */
typedef struct Explained {
        const Machine *machine;
        const NoiseReport *report;
        const NoiseFacts *facts;
} Explained;

/* Everything that `explain` prints; NULL for lack of memory. */
json_t *explain_record(const Explained *explained);
/* Without verbose, what took little is counted only.  0, or a negative errno. */
int explain_print(const json_t *record, bool verbose, bool colour);

/* What the advices depend on. */
int explain_facts(const Machine *machine, NoiseFacts *ret);
