/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <syslog.h>

#include "log-id.h"
#include "util.h"

/* What a message is about; all may be NULL.  They become the journal fields MESSAGE_ID=, RTISOL_MODE=,
 * RTISOL_STEP=, RTISOL_BY= and RTISOL_WHY=. */
typedef struct LogFields {
        const char *id, *mode, *step, *by, *why;
} LogFields;

/* One message to the systemd journal, or to the standard error stream where there is none.  A text of many
 * lines is one message. */
void log_fields(int priority, const LogFields *fields, const char *format, ...) _printf_(3, 4);
#define log_plain(priority, ...) log_fields((priority), NULL, __VA_ARGS__)
