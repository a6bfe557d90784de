/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#pragma GCC visibility push(default)

/* How two texts of one kernel object are compared. */
typedef enum ValueKind {
        VALUE_TEXT,      /* byte for byte, white space at the ends aside */
        VALUE_NUMBER,    /* whole numbers; falls back to TEXT where one is none (`n/a`, `max 100000`) */
        VALUE_CPULIST,   /* sets of CPUs */
        VALUE_CPUMASK,   /* sets of CPUs, printed as a mask */
        VALUE_WITHIN,    /* a cpulist that holds where the live one is not empty and a subset of the step's
                            `within` */
        VALUE_CHOICE,    /* `always [madvise] never`, `none (full)`: the chosen word */
        VALUE_PARTITION, /* cpuset.cpus.partition: `isolated invalid (…)` differs from `isolated` */
        _VALUE_KIND_MAX,
} ValueKind;

const char *value_kind_to_string(ValueKind kind);
/* _VALUE_KIND_MAX for an unknown word. */
ValueKind value_kind_from_string(const char *word);

/* Do two values mean the same?  Values that cannot be parsed are compared as text. */
bool value_equal(ValueKind kind, const char *a, const char *b);

/* Does a live value hold what was wanted?  As value_equal(), but VALUE_WITHIN asks for live ⊆ within. */
bool value_holds(ValueKind kind, const char *live, const char *wanted, const char *within);

/* The bracketed word of `always [madvise] never` or `none voluntary (full)`, or the whole text where nothing is bracketed. */
int value_choice(const char *text, char **ret);

#pragma GCC visibility pop
