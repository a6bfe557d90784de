/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"

/* Works out which CPUs each set of the profile has on this machine and fills plan->sets, isolated and
 * housekeeping. What cannot be is refused, with CPUs and sets named: an expression that is wrong here, a set
 * without CPUs, a CPU in two sets, an offline CPU (where the mode is not in force already), a sibling
 * outside where `smt = refuse`, no housekeeping CPU left. */
int plan_sets(const Profile *profile, const World *world, const Steps *in_force, unsigned flags, Plan *plan);
