/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <malloc.h>
#include <signal.h>

#include "config.h"
#include "daemon.h"
#include "log.h"
#include "notify.h"
#include "protocol.h"

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

static int run(void) {
        static const DaemonOptions options = {
                .paths = { .runtime = RTISOL_RUNTIME_DIR }, .socket = RTISOL_PRIVATE_SOCKET, .machine = true
        };
        __attribute__((cleanup(sd_event_unrefp))) sd_event *event = NULL;
        _cleanup_daemon_ Daemon *daemon = NULL;
        sigset_t signals;
        int r;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;
        r = sd_event_new(&event);
        if (r >= 0)
                r = daemon_new(&options, event, &daemon);
        if (r < 0)
                return r;
        (void) malloc_trim(0);
        notify_ready();
        return sd_event_loop(event);
}

int main(int argc, char **argv) {
        int status, r;

        if (!parse_arguments(argc, argv, &status))
                return status;
        r = run();
        if (r < 0)
                log_plain(LOG_ERR, "rtisold cannot run: %s", strerror(-r));
        return r < 0 ? 1 : 0;
}
