/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* Puts a process that runs into the slice of a set: where systemd runs, as a scope of its own (systemd.scope(5)) that
 * carries the description; else into its group for tasks where it has one (a group that holds groups cannot hold
 * processes), or into the set's own.  A negative errno: -ENOENT where the set has no control group. */
int enter_set(Kfs *kfs, const char *set, unsigned pid, const char *description);
