/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli.h"

/* Runs the verb on each of cli->hosts at once and prints a line for each, in their order: the exit code and the first
 * line that the verb printed there, or with --json the whole record.  The largest exit code. */
int remote_run_many(const Cli *cli);
