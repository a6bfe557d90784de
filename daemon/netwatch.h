/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "util.h"

/* Network interfaces request interrupts when they go up and when their channels change, and no uevent says
 * so: rtnetlink and ethtool's notifications do (Documentation/networking/ethtool-netlink.rst). */
typedef struct NetWatch NetWatch;

/* Interrupts may have come; told once for what happens close together. */
typedef void (*NetWatchHandler)(void *userdata);

int net_watch_new(sd_event *event, NetWatchHandler handler, void *userdata, NetWatch **ret);
void net_watch_free(NetWatch *watch);
DEFINE_CLEANUP_POINTER(NetWatch, net_watch_free)
#define _cleanup_net_watch_ _cleanup_(net_watch_freep)
