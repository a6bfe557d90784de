/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "record.h"

/* The daemon, on the private socket or, for others than root, on the system bus. */

/* A negative errno: -ENOENT where no daemon runs, -EACCES where this user may not. */
int client_connect(sd_bus **ret);
#define _cleanup_client_ _cleanup_(sd_bus_flush_close_unrefp)

/* Tells why a daemon is not there to be asked; EXIT_NO_DAEMON. */
int client_tell_no_daemon(int error);

/* Is there a daemon?  Also for users that it would not let in. */
bool client_daemon_runs(void);

/* How a call ended: an Exit, and what the daemon said: why it failed, or what it has to say beside. */
typedef struct ClientAnswer {
        int exit;
        char *message;    /* sentences, one a line */
        json_t *degraded; /* list of {step, state, reason} */
} ClientAnswer;

void client_answer_done(ClientAnswer *answer);
#define _cleanup_client_answer_ _cleanup_(client_answer_done)

typedef struct ClientOptions {
        bool no_disturb, force, confirmed;
        unsigned confirm; /* seconds, 0: for good */
        bool progress;    /* shown on standard error, which is a terminal */
} ClientOptions;

/* Asks for a mode and waits for the end of the switch. 0 with *ret filled, -ENOMEM. */
int client_set_mode(sd_bus *bus, const char *mode, const ClientOptions *options, ClientAnswer *ret);

/* Leases a mode: it is in force until the last copy of *ret_fd is closed.  0 with *ret filled, and *ret_fd where its
 * exit is EXIT_HOLDS; -ENOMEM. */
int client_lease(sd_bus *bus, const char *mode, const char *why, ClientAnswer *ret, int *ret_fd);

/* Leases: a list of {id, mode, why, pid, since}, empty where nobody can be asked.  -ETIMEDOUT: there is a daemon, and it
 * does not answer; -ENOMEM. */
int client_leases(json_t **ret);
