/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "util.h"

/* The time that an administrator has to say that a switch has not locked him out.  It is kept in a file, so
 * that a daemon killed meanwhile takes the switch back all the same. */
typedef struct Confirm Confirm;

/* Called from the event loop when the time is up; mode is what to go back to.  Nothing waits any more. */
typedef void (*ConfirmExpired)(void *userdata, const char *mode);

/* Takes up what the file says is waiting; time that is up already expires from the event loop. */
int confirm_open(const char *path, sd_event *event, ConfirmExpired expired, void *userdata, Confirm **ret);
void confirm_free(Confirm *confirm);
DEFINE_CLEANUP_POINTER(Confirm, confirm_free)
#define _cleanup_confirm_ _cleanup_(confirm_freep)

/* Waits from now on.  Where something waits already, it is that one's mode that is gone back to. */
int confirm_arm(Confirm *confirm, const char *mode, unsigned seconds);
void confirm_disarm(Confirm *confirm);
/* The mode to go back to, or NULL where nothing waits. */
const char *confirm_mode(const Confirm *confirm);
/* The time is up, and nobody confirmed or began to wait anew since. */
bool confirm_is_over(const Confirm *confirm);
