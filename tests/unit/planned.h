/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"
#include "tree.h"

/* What one backend alone plans on a machine of files. */
typedef struct Planned {
        Tree *tree;
        Profile *profile;
        World *world;
        Plan *plan;
} Planned;

/* A machine with CPUs 0 to 3 and a kernel, and the files of `lines` (PATH=TEXT). */
void planned_new(Planned *planned, const char *lines);
void planned_done(Planned *planned);
#define _cleanup_planned_ _cleanup_(planned_done)

/* Reads the profile and, with the backend, the machine.  A test may then change planned->world. */
void planned_read(Planned *planned, const Backend *backend, const char *profile);
/* Plans; in_force may be NULL. */
void planned_make(Planned *planned, const Backend *backend, const Steps *in_force);

/* The plan, a line for each step, refusal and warning:
 *
 *   irq/25/affinity 0-3 -> 0-1
 *   tick/skew 0 -> 1 boot          a mechanism that is not runtime
 *   ! CPU 2 is …                   a refusal
 *   ? CPU 2 has …                  a warning
 *
 * `*` behind the id: required; `before (now) -> wanted` where what is live differs from what was found. */
char *planned_text(const Planned *planned);

/* Both at once, compared with what is expected; the test fails with both texts where they differ. */
void planned_check(const Backend *backend, const char *lines, const char *profile, const char *expected);

/* What the way back writes; NULL: nothing. */
void planned_check_revert(const Backend *backend, const Step *step, const char *live, const char *expected);
