/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "util.h"

/* Hears of an irqbalance that starts: it knows nothing of what an earlier one was told, and begins to move interrupts ten
 * seconds later.  What is watched is the folder in which it makes its socket. */
typedef struct Balancer Balancer;

typedef void (*BalancerStarted)(void *userdata);

/* run: the folder (/run) in which it has one of its own.  The handler is called a second after its socket appeared. */
int balancer_new(sd_event *event, const char *run, BalancerStarted handler, void *userdata, Balancer **ret);
void balancer_free(Balancer *balancer);
DEFINE_CLEANUP_POINTER(Balancer, balancer_free)
#define _cleanup_balancer_ _cleanup_(balancer_freep)
