/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon with a hook at its door to the kernel, for tests on a real one.
 *
 * FAULT_FILE holds one line, `MOMENT ACTION OBJECT`: `before` or `after` a write to the object, ACTION is
 * `kill` (SIGKILL) or the number of an errno; OBJECT is a shell pattern.  Every write is logged to
 * WRITES_FILE, an object a line. */
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>

#include "daemon.h"
#include "protocol.h"

#define FAULT_FILE RTISOL_RUNTIME_DIR "/fault"
#define WRITES_FILE RTISOL_RUNTIME_DIR "/writes"

/* An error stays for as long as the same value is tried; another one, as the undo writes, is let through. */
static bool is_tried_again(const char *rule, const char *value) {
        static char known[512], first[512];

        if (!streq(known, rule)) {
                (void) snprintf(known, sizeof known, "%s", rule);
                (void) snprintf(first, sizeof first, "%s", value);
        }
        return streq(first, value);
}

static int on_write(const char *moment, const char *object, const char *value) {
        char when[8], action[8], pattern[512];
        FILE *f = fopen(FAULT_FILE, "re");
        int n;

        if (!f)
                return 0;
        n = fscanf(f, "%7s %7s %511s", when, action, pattern);
        (void) fclose(f);
        if (n != 3 || !streq(when, moment) || fnmatch(pattern, object, 0) != 0)
                return 0;
        if (streq(action, "kill")) {
                (void) unlink(FAULT_FILE); /* the next daemon lives */
                (void) kill(getpid(), SIGKILL);
                (void) pause();
        }
        return is_tried_again(pattern, value) ? -atoi(action) : 0;
}

static void log_write(const char *object) {
        FILE *f = fopen(WRITES_FILE, "ae");

        if (!f)
                return;
        (void) fprintf(f, "%s\n", object);
        (void) fclose(f);
}

static int on_access(void *userdata, KfsMoment moment, const char *object, const char *value) {
        if (moment == KFS_BEFORE_WRITE) {
                log_write(object);
                return on_write("before", object, value);
        }
        return moment == KFS_AFTER_WRITE ? on_write("after", object, value) : 0;
}

static void add_hook(Daemon *daemon) {
        kfs_hook(manager_kfs(daemon_manager(daemon)), on_access, NULL);
}

int main(void) {
        return daemon_run(add_hook) < 0 ? 1 : 0;
}
