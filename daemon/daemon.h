/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "manager.h"

/* The daemon whole: the manager, and all that talks to it.  Contexts come in here, so that tests run it on a
 * directory and a private socket. */
typedef struct DaemonOptions {
        ManagerPaths paths;
        const char *socket; /* path of the private socket */
        uid_t uid;          /* who may use it */
        bool machine;       /* the live machine: the system bus, hotplug, links and process events */
        bool bus;           /* the system bus, also where it is not the live machine */
} DaemonOptions;

typedef struct Daemon Daemon;

/* Starts: recovers, adopts or enters a mode; then it is ready for its event loop.  SIGTERM, SIGINT and SIGHUP
 * have to be blocked. */
int daemon_new(const DaemonOptions *options, sd_event *event, Daemon **ret);
void daemon_free(Daemon *daemon);
DEFINE_CLEANUP_POINTER(Daemon, daemon_free)
#define _cleanup_daemon_ _cleanup_(daemon_freep)

/* For tests, which make things fail. */
Manager *daemon_manager(Daemon *daemon);

/* The daemon of the live machine, until it is told to stop.  ready (may be NULL) is called before the event loop. */
int daemon_run(void (*ready)(Daemon *daemon));
