/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "audit.h"
#include "outcome.h"

/* What somebody else changed under the mode.  The kernel notifies of partitions that turn invalid; the rest is
 * seen when somebody asks.  Drift is reported, never fought: what brings CPUs back is hotplug's business. */
typedef struct Drift Drift;

typedef struct Drifted {
        char *step, *wanted, *live, *writer;
} Drifted;

typedef struct DriftReport {
        Drifted *drifted;
        size_t n_drifted;
        Degraded *degraded;
        size_t n_degraded;
} DriftReport;

/* Called when what has drifted is not what it was. */
typedef void (*DriftChanged)(void *userdata);

int drift_new(sd_event *event, Kfs *kfs, const Journal *journal, DriftChanged changed, void *userdata,
        Drift **ret);
void drift_free(Drift *drift);
DEFINE_CLEANUP_POINTER(Drift, drift_free)
#define _cleanup_drift_ _cleanup_(drift_freep)

/* What is in force is another: watch its partitions, and forget what was written meanwhile. */
int drift_watch(Drift *drift);
/* Looks at the machine, unless it did so within the last second.  Valid until the next call. */
int drift_report(Drift *drift, const DriftReport **ret);
