/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* A command that waits for its place before it starts. */
typedef struct Spawn {
        int pid;
        int gate;  /* a byte lets it go; closing it ends it */
        int error; /* tells why the command could not be executed; ends when it is */
} Spawn;

/* Forks.  From here on signals for this process are kept for spawn_wait().  The child is killed with its parent. */
int spawn_start(char *const *argv, Spawn *ret);
/* Executes it: 0, or the negative errno of exec(2). */
int spawn_go(Spawn *spawn);
/* Passes signals on until the command ends; its exit status, 128 and the signal where one ended it. */
int spawn_wait(Spawn *spawn);
/* Ends a command that was not let go. */
void spawn_done(Spawn *spawn);
#define _cleanup_spawn_ _cleanup_(spawn_done)
