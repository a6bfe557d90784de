/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <tracefs.h>

#include "ksyms.h"
#include "noise.h"

/* Which of the kernel's events are recorded, and how they are read: for tracer*.c alone. */

/* What an event is filtered by, in the kernel. */
typedef enum EventFilter {
        FILTER_ON_CPU,    /* recorded on a watched CPU */
        FILTER_ABOUT_CPU, /* about a watched CPU: `target` names the field */
        FILTER_CONDITION, /* name is the condition */
        FILTER_NO_CPU,
} EventFilter;

typedef enum NameSource {
        NAME_NONE,
        NAME_FIXED,    /* name itself */
        NAME_STRING,   /* a field with a text */
        NAME_FUNCTION, /* a field with an address */
        NAME_SOFTIRQ,  /* a field with the number of one */
        NAME_SYSCALL,
        NAME_PRINTED, /* behind this word in the event as the kernel prints it */
} NameSource;

typedef struct EventSpec {
        const char *system, *event;
        NoiseEventType type;
        EventFilter filter;
        NameSource source;
        const char *name;
        const char *address, *number, *target, *pid, *comm; /* fields, or NULL */
        const char *condition;                              /* for FILTER_CONDITION */
} EventSpec;

/* An event of this kernel. */
typedef struct TracedEvent {
        EventSpec spec;
        char *system, *event, *fixed; /* owned, where made for this kernel */
        struct tep_event *tep;
        struct tep_format_field *name, *address, *number, *target, *pid, *comm;
} TracedEvent;

typedef struct Events {
        struct tep_handle *tep;
        TracedEvent *items; /* by the kernel's number of the event */
        size_t n;
        Ksyms *ksyms;
        char **softirqs; /* by number */
        char **texts;    /* names that were seen */
} Events;

/* Finds what this kernel has. */
int events_find(Kfs *kfs, Events *ret);
void events_done(Events *events);

/* NULL for an event that nobody asked for. */
const TracedEvent *events_get(const Events *events, int id);
bool events_have(const Events *events, const char *system);

/* One record as the accounting wants it; the name lives as long as the events. */
void events_decode(Events *events, const TracedEvent *event, struct tep_record *record, NoiseEvent *ret);

/* The name of a system call, or NULL. */
const char *syscall_name(uint64_t number);
