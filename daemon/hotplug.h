/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "cpulist.h"
#include "kfs.h"

/* CPUs, and devices that bear interrupts, coming and going (udev).  Events close together are told once. */
typedef struct Hotplug Hotplug;

/* cpus: a CPU came or went; else a device with interrupts came. */
typedef void (*HotplugHandler)(void *userdata, bool cpus);

int hotplug_new(sd_event *event, Kfs *kfs, HotplugHandler handler, void *userdata, Hotplug **ret);
void hotplug_free(Hotplug *hotplug);
DEFINE_CLEANUP_POINTER(Hotplug, hotplug_free)
#define _cleanup_hotplug_ _cleanup_(hotplug_freep)

/* A switch took these CPUs away and brought them back: what was said of them so far is our own doing. */
int hotplug_ignore(Hotplug *hotplug, const CpuList *cycled);
