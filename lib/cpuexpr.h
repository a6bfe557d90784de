/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "topology.h"

#pragma GCC visibility push(default)

/* What is wrong with a CPU expression: a sentence and the column (from 1). */
typedef struct CpuExprError {
        size_t column;
        char *message;
} CpuExprError;

void cpuexpr_error_done(CpuExprError *error);

/* Resolves `set:NAME`.  Returns 0, -ENOENT for an unknown set, -ELOOP for one that is being resolved. */
typedef int (*CpuExprSet)(void *userdata, const char *name, CpuList *ret);

/* Evaluates a CPU expression (design section 3) for a machine.  -EINVAL with *ret_error filled (where not
 * NULL) for an expression that is wrong, also one naming a node, core or CPU that the machine lacks;
 * -ENOMEM.  sets may be NULL: then every `set:` is unknown. */
int cpuexpr_evaluate(const char *expression, const Topology *topology, CpuExprSet sets, void *userdata,
        CpuList *ret, CpuExprError *ret_error);

/* Checks the grammar alone, for a profile that is read on another machine. */
int cpuexpr_check(const char *expression, CpuExprError *ret_error);

#pragma GCC visibility pop
