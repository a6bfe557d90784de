/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "bus.h"

/* More messages than this wait for no client. */
#define CLIENT_WAITING_MAX 1000

/* A root client on the private socket. */
typedef struct BusClient {
        sd_bus *connection;
        uint64_t heard; /* the number of the last message that it sent, 0: none yet */
} BusClient;

/* Shared by bus.c (what is said) and bus-peers.c (to whom). */
struct Bus {
        sd_event *event;
        Manager *manager;
        Drift *drift;
        sd_bus *system;
        sd_event_source *reconnect, *listener;
        BusClient *clients; /* on the private socket, in the order they came */
        size_t n_clients;
        uint64_t heard; /* messages that came from any of them */
        char *path;
        uid_t uid; /* who may use the private socket */
};

/* Adds the interface to a connection. */
int bus_offer(Bus *bus, sd_bus *connection);
