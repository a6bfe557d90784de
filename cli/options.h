/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli.h"

/* Reads the options, wherever they stand, and leaves verb and arguments in cli->arguments.  EXIT_HOLDS, or
 * EXIT_USAGE where an error was told. */
int options_parse(int argc, char **argv, Cli *cli);
/* Are those given among those that the verb takes?  EXIT_HOLDS, or EXIT_USAGE where it was told. */
int options_check(unsigned given, unsigned allowed, const char *verb);
/* Prints a line for each. */
void options_print(unsigned options);
/* The options that were given, as words; all but the host. */
int options_to_words(const Cli *cli, char ***ret);
