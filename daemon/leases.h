/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "util.h"

/* Modes held for as long as somebody holds a descriptor.  Each lease is a FIFO in a folder with a file beside
 * it that says what is leased; the holder has the FIFO's write end.  When the last copy of that is closed,
 * the lease is over.  A daemon that starts again finds FIFOs and files there and goes on watching. */
typedef struct Leases Leases;

typedef struct Lease {
        unsigned id;
        char *mode, *why;
        unsigned pid;   /* who asked for it */
        uint64_t since; /* µs since the epoch */
        struct Leases *leases;
        sd_event_source *source;
        int fd;
} Lease;

/* Called from the event loop when a lease is over; it is gone from the list already. */
typedef void (*LeaseReleased)(void *userdata, const Lease *lease);

/* Opens the folder (making it) and takes up what is in it.  Leases whose holder went while no daemon ran are
 * released from the event loop as any other. */
int leases_open(
        const char *directory, sd_event *event, LeaseReleased released, void *userdata, Leases **ret);
void leases_free(Leases *leases);
DEFINE_CLEANUP_POINTER(Leases, leases_free)
#define _cleanup_leases_ _cleanup_(leases_freep)

/* A new lease; *ret_fd is the holder's end and the caller's to close. */
int leases_add(Leases *leases, const char *mode, const char *why, unsigned pid, int *ret_fd);
/* Ends all leases; nobody is called. */
void leases_drop(Leases *leases);

/* Ends now what is over and was not heard of yet. */
void leases_settle(Leases *leases);

size_t leases_count(const Leases *leases);
const Lease *leases_get(const Leases *leases, size_t i);

/* The mode to go back to when the last lease is over; kept in the folder too.  NULL where none is known. */
int leases_set_base(Leases *leases, const char *mode);
const char *leases_base(const Leases *leases);
