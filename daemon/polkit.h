/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "util.h"

/* May the sender of a message do what the action says?  Root may without a question; anybody else is asked
 * about at polkit, which may ask the user, while the event loop goes on. */

/* allowed: 1 yes, 0 no or no polkit there; below 0 the errno that kept polkit from answering. */
typedef void (*PolkitAnswer)(void *userdata, int allowed);

/* bus: where polkit is.  answer is called exactly once where this returns 0, perhaps before it returns. */
int polkit_check(
        sd_bus *bus, sd_bus_message *message, const char *action, PolkitAnswer answer, void *userdata);
