/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* Which of some modes satisfies all the others on this machine (lib/covers.h).  preferred (may be NULL) is a mode that
 * nobody leases and that is taken where it satisfies all: it is what is there anyway.  *ret is NULL where none does,
 * and *ret_why then a sentence on the first two that do not go together.  A profile that cannot be loaded satisfies
 * itself alone.  The texts are the caller's.  0 or -ENOMEM; nothing is written. */
int strictest_find(Kfs *kfs, char *const *modes, const char *preferred, char **ret, char **ret_why);

/* Does one mode satisfy all of them?  1, or 0 with the sentence *ret_why; -ENOMEM. */
int strictest_satisfies(Kfs *kfs, const char *mode, char *const *modes, char **ret_why);
