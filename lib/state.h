/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "journal.h"

#pragma GCC visibility push(default)

/* A world-readable file beside the journal, so that anybody can ask what is in force without the daemon. */
typedef struct State {
        char *mode, *by, *profile_sha256, *boot_id;
        uint64_t since; /* µs since the epoch */
        Steps steps;
} State;

/* Replaces the file atomically. */
int state_write(const char *path, const Journal *journal, const char *boot_id);
/* -ENOENT: no daemon ever ran since boot, or the file is of another boot (boot_id, where not NULL).  -EPROTO:
 * of another version, or damaged. */
int state_read(const char *path, const char *boot_id, State *ret);
void state_done(State *state);
#define _cleanup_state_ _cleanup_(state_done)

#pragma GCC visibility pop
