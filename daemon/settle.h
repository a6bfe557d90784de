/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "util.h"

/* A timer that waits until something has come to rest.  It is off until settle_start(); the caller unrefs it. */
int settle_new(sd_event *event, sd_event_time_handler_t handler, void *userdata, sd_event_source **ret);
/* Calls the handler in so many µs.  One that runs already is left to run, so that a storm does not put it off for good. */
void settle_start(sd_event_source *timer, uint64_t usec);
/* The same, begun anew where it runs. */
void settle_restart(sd_event_source *timer, uint64_t usec);
