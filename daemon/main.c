/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>

#include "config.h"
#include "daemon.h"
#include "log.h"

static void help(void) {
        (void) puts("rtisold: isolates CPUs while the machine runs\n\n"
                    "Usage: rtisold [--help] [--version]\n\n"
                    "It is started by rtisold.service; rtisoctl talks to it.");
}

/* Returns whether the daemon is to run; else *ret_status is what to exit with. */
static bool parse_arguments(int argc, char **argv, int *ret_status) {
        static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, 'V' }, {} };
        int c = getopt_long(argc, argv, "hV", options, NULL);

        *ret_status = c == '?' || (c < 0 && optind < argc) ? 2 : 0;
        if (c == 'h')
                help();
        else if (c == 'V')
                (void) puts("rtisold " RTISOLD_VERSION);
        else if (*ret_status == 2)
                (void) fputs("rtisold takes no arguments but --help and --version.\n", stderr);
        return c < 0 && *ret_status == 0;
}

int main(int argc, char **argv) {
        int status, r;

        if (!parse_arguments(argc, argv, &status))
                return status;
        r = daemon_run(NULL);
        if (r < 0)
                log_plain(LOG_ERR, "rtisold cannot run: %s", strerror(-r));
        return r < 0 ? 1 : 0;
}
