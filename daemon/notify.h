/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* What the service manager is told (sd_notify(3)).  Its watchdog watches while a switch runs, and only then:
 * a daemon that has nothing to do shall not wake to say so. */
void notify_begin(const char *mode);
void notify_progress(const char *step, size_t done, size_t total);
void notify_end(const char *mode, size_t n_degraded);
void notify_ready(void);
void notify_stopping(void);
