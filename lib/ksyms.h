/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* Names of the kernel's functions. */
typedef struct Ksyms Ksyms;

/* Reads /proc/kallsyms.  -EPERM where the kernel hides its addresses from this user (kernel.kptr_restrict). */
int ksyms_read(Kfs *kfs, Ksyms **ret);
void ksyms_free(Ksyms *ksyms);
DEFINE_CLEANUP_POINTER(Ksyms, ksyms_free)
#define _cleanup_ksyms_ _cleanup_(ksyms_freep)

/* The function that an address is in, as long as ksyms lives; NULL for an address below all of them. */
const char *ksyms_name(const Ksyms *ksyms, uint64_t address);
