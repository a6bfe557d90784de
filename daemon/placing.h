/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "outcome.h"
#include "profile.h"

/* Puts one process, and its threads, where the mode in force wants them: a switch of these few objects alone,
 * recorded in the journal as any other, so that green gives them back.  A process that ended meanwhile is no
 * error. */
int placing_run(Kfs *kfs, Journal *journal, const Profile *profile, int pid, Outcome *ret);
