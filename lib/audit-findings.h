/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit-facts.h"

/* Fills audit->findings from its world, steps, sets and, where there are any, facts: what sits on isolated CPUs
 * without a right to, and what keeps a set from being as quiet as it was asked to be.  Pure. */
int audit_find(Audit *audit);

/* The kinds, by what they are about: audit-find-tasks.c, audit-find-irqs.c, audit-find-machine.c, and
 * audit-find-noise.c, which has only the kernel's counters at two looks. */
int audit_find_tasks(Audit *audit);
int audit_find_irqs(Audit *audit);
int audit_find_machine(Audit *audit);
int audit_find_noise(Audit *audit);
/* Partitions of no mode in force: a machine that is isolated is not green, whatever the records say. */
int audit_find_lost(Audit *audit);

/* A finding as it is found: of texts that need not outlive the call. */
typedef struct FindingText {
        const char *code, *severity;
        const char *name;    /* the part of the id behind the code: what stays the same at every look */
        const CpuList *cpus; /* those of them that are isolated are told; NULL: all that are isolated */
        bool all_cpus;       /* told whatever the records say is isolated */
        const char *subject, *why, *fix;
        bool is_command;
} FindingText;
int audit_add_finding(Audit *audit, const FindingText *text);

/* Is the text safe in a command for a shell?  Names are chosen by anybody. */
bool audit_is_plain(const char *text);
