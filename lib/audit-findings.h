/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit.h"

/* Fills audit->findings from its world, steps and sets: what sits on isolated CPUs without a right to, and what keeps a
 * set from being as quiet as it was asked to be.  Pure. */
int audit_find(Audit *audit);
