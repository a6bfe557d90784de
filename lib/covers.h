/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"

/* Is one profile at least as strict as another on a machine: does work that was promised the other one find all of it
 * under this one?  Every set of the other is there under its name, with its CPUs and maybe more, and whatever else the
 * other asks for is asked for alike, or more strictly where there is an order (idle states, what is kept off).  plan
 * and other_plan hold what plan_sets() made of the two.  1 or 0, and where *ret_why is not NULL and the answer is 0, a
 * clause that names the first difference (`set rt: nohz is full, not off`); -ENOMEM.  Pure. */
int covers(const Profile *profile, const Plan *plan, const Profile *other, const Plan *other_plan,
        char **ret_why);
