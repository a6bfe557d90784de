/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "util.h"

/* The kernel's process events (drivers/connector/cn_proc.c, <linux/cn_proc.h>).  A filter in the kernel lets
 * only those through that were asked for, so that a quiet machine never wakes us. */
typedef struct ProcEvents ProcEvents;

typedef enum ProcEventsWanted {
        PROC_EVENTS_EXEC = 1 << 0,
        PROC_EVENTS_COMM = 1 << 1,    /* a task gave itself a name */
        PROC_EVENTS_KTHREAD = 1 << 2, /* kthreadd made a thread */
} ProcEventsWanted;

typedef struct ProcEventsHandlers {
        void (*exec)(void *userdata, int pid);
        void (*comm)(void *userdata, int pid, int tid, const char *comm);
        void (*kthread)(void *userdata, int tid); /* it has not got its name yet */
        void (*lost)(void *userdata);             /* events were lost: look at everything */
} ProcEventsHandlers;

/* -EPROTONOSUPPORT, -EPERM, … where this kernel or this process cannot have them. */
int proc_events_new(sd_event *event, unsigned wanted, const ProcEventsHandlers *handlers, void *userdata,
        ProcEvents **ret);
void proc_events_free(ProcEvents *events);
DEFINE_CLEANUP_POINTER(ProcEvents, proc_events_free)
#define _cleanup_proc_events_ _cleanup_(proc_events_freep)

/* Changes what is let through. */
int proc_events_want(ProcEvents *events, unsigned wanted);
