/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "bus.h"

/* Shared by bus.c (what is said) and bus-peers.c (to whom). */
struct Bus {
        sd_event *event;
        Manager *manager;
        Drift *drift;
        sd_bus *system;
        sd_event_source *reconnect, *listener;
        sd_bus **clients; /* on the private socket */
        size_t n_clients;
        char *path;
        uid_t uid; /* who may use the private socket */
};

/* Adds the interface to a connection. */
int bus_offer(Bus *bus, sd_bus *connection);
