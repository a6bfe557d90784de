/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"
#include "world.h"

/* What the tick of these CPUs does by the way the kernel was booted: `off` (it always runs: nohz=off),
 * `full` (all of them are in nohz_full=), `idle`, or `mixed`. (Documentation/timers/no_hz.rst) */
const char *tick_as_booted(const World *world, const CpuList *cpus);

/* The word of a profile's value: `off`, `idle`, `full`. */
const char *tick_nohz_to_string(int nohz);
