/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"

/* Where programs and their threads belong: the [task] rules of a profile, and the control CPUs of its sets.
 * The daemon asks for one process when it starts, backend_place at a switch for all that run.  Pure.
 *
 * The first rule whose name and unit match moves the process into the set's slice.  Each of its threads gets the
 * `cpus =` of the first rule that has them, matches the process, and whose `thread =`, where it has one, matches
 * the thread.  All other threads in a set that has
 * control CPUs, and that have not pinned themselves, get these. */

/* Can a process of this name in this cgroup be concerned at all?  Cheap: asked for every program that starts. */
bool place_concerns(const Profile *profile, const char *comm, const char *cgroup);

/* Steps for one process.  tasks: its threads, with affinity and cgroup; the first is the process itself.
 * Steps that hold already are among them. */
int place_process(const PlanInput *input, const WorldTask *tasks, size_t n, Steps *ret);

/* Steps for all processes of input->world, added to the plan; where an object is planned
 * already, what a rule says counts. */
int place_plan(const PlanInput *input, Plan *plan);
