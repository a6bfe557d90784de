/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli.h"

/* Plans a switch to the mode and prints it: `plan NAME` and `mode NAME --dry-run`.  An Exit, or a negative
 * errno. */
int plan_print(const Cli *cli, const char *mode);
