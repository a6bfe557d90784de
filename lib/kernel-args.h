/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"

/* The kernel command line that the boot-only parts of a profile need (Documentation/admin-guide/
 * kernel-parameters.rst). */
typedef struct KernelArgs {
        char **words;    /* `isolcpus=managed_irq,2-3`, in a fixed order; CPUs as ranges */
        char **missing;  /* those of them that the running kernel was booted without */
        char **problems; /* contradictions, a sentence each: with one, the words are no good */
        char **notes;    /* words left out since this kernel would not know them, a sentence each */
} KernelArgs;

void kernel_args_done(KernelArgs *args);
#define _cleanup_kernel_args_ _cleanup_(kernel_args_done)

/* Reads what kernel_args_make() looks at. */
int kernel_args_read(World *world);

/* Pure.  plan holds what plan_sets() made of the profile; own (may be NULL) are words of the running command line that
 * were put there for rtisold and that give way.  Checked are the profile's sets against each other, and all that the
 * running command line has beside: a parameter that takes the isolation away again, or that the kernel would not take
 * together with ours. */
int kernel_args_make(
        const Profile *profile, const Plan *plan, const World *world, char *const *own, KernelArgs *ret);
