/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit.h"
#include "cli.h"
#include "plan.h"
#include "state.h"

/* The machine that is looked at, and what is in force there: all verbs that report start from this. */
typedef struct Machine {
        Kfs *kfs;
        char *boot_id; /* or NULL: a captured machine that does not say */
        State state;   /* of `green` where nothing is in force */
        bool whole;    /* false: a captured tree without the kernel's own files, which tells little */
} Machine;

/* The machine that --root names, or the live one.  An error is told; the exit code is EXIT_REFUSED then. */
int machine_open(const Cli *cli, Machine *ret);
void machine_done(Machine *machine);
#define _cleanup_machine_ _cleanup_(machine_done)

/* Loads a profile: that of the machine, or for a captured machine without it, that of this one.  EXIT_HOLDS,
 * EXIT_USAGE where its errors or the nearest name were told; or a negative errno. */
int machine_load_profile(const Machine *machine, const char *name, Profile **ret);

/* The audit of the machine against what is in force.  The profile is the audit's to look at: free it after the
 * audit.  A negative errno. */
int machine_audit(const Machine *machine, Profile **ret_profile, Audit **ret);

/* Resolves `set:NAME` to a set of the mode in force: a CpuExprSet, userdata is the Machine. */
int machine_set(void *userdata, const char *name, CpuList *ret);

/* Its word; `unknown` for what a captured tree that is not whole lacks: the machine may have had it. */
const char *machine_mechanism(const Machine *machine, Mechanism mechanism);

/* The text of one file, NULL where it cannot be read. */
char *machine_text(const Machine *machine, const char *file);
