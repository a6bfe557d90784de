/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "notify.h"

#include <systemd/sd-daemon.h>

/* The longest that one step may take: a CPU taken offline on a big machine, a slice made by a busy systemd. */
#define STEP_SECONDS 120

void notify_begin(const char *mode) {
        (void) sd_notifyf(0,
                "WATCHDOG_USEC=%d000000\nWATCHDOG=1\nEXTEND_TIMEOUT_USEC=%d000000\nSTATUS=Switching to mode "
                "%s",
                STEP_SECONDS, STEP_SECONDS, mode);
}

void notify_progress(const char *step, size_t done, size_t total) {
        (void) sd_notifyf(0, "WATCHDOG=1\nEXTEND_TIMEOUT_USEC=%d000000\nSTATUS=%zu of %zu: %s", STEP_SECONDS,
                done, total, step);
}

void notify_end(const char *mode, size_t n_degraded) {
        (void) sd_notifyf(0, "WATCHDOG_USEC=0\nSTATUS=Mode %s, %zu degraded parts", mode, n_degraded);
}

void notify_ready(void) {
        (void) sd_notify(0, "READY=1");
}

void notify_stopping(void) {
        (void) sd_notify(0, "STOPPING=1");
}
