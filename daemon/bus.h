/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "drift.h"
#include "manager.h"

/* org.rtisold.Manager1 (see protocol.h) on the system bus and on a private socket.  Marshalling only. */
typedef struct Bus Bus;

int bus_new(sd_event *event, Manager *manager, Drift *drift, Bus **ret);
void bus_free(Bus *bus);
DEFINE_CLEANUP_POINTER(Bus, bus_free)
#define _cleanup_bus_ _cleanup_(bus_freep)

/* Offers the interface on a socket of this path (one that is there already is replaced), to this user alone.
 */
int bus_listen(Bus *bus, const char *path, uid_t uid);
/* The same once more, where somebody removed the socket. */
int bus_listen_again(Bus *bus);
/* Connects to the system bus as soon as there is one, and again when it went away. */
int bus_connect(Bus *bus);

/* Tells everybody of a step of a switch, and that the mode and what goes with it may be another. */
void bus_progress(Bus *bus, const char *step, unsigned percent);
void bus_changed(Bus *bus);
