/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli.h"

/* Runs the verb on the first of cli->hosts over ssh, in place of this process; ssh exits with 255 where the host is not
 * reached.  Returns an Exit only where ssh was not started, and the error was told. */
int remote_run(const Cli *cli);

/* The line that the shell of the other side gets: options as they were understood, then verb and arguments,
 * each quoted. */
int remote_command(const Cli *cli, char **ret);

/* Can it be given to ssh?  Told where not. */
bool remote_is_host(const char *host);

/* A word as a POSIX shell reads it back. */
int remote_quote(const char *word, char **ret);
