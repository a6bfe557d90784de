/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon with a hook at its door to the kernel, for tests on a real one.
 *
 * FAULT_FILE holds one line, `MOMENT ACTION OBJECT`: `before` or `after` a write to the object, ACTION is
 * `kill` (SIGKILL), the number of an errno, or, after it, `revert`: the object takes the value and then has the
 * one it had before, so that it reads otherwise.  OBJECT is a shell pattern.  Every write is logged to
 * WRITES_FILE, an object a line. */
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>

#include "daemon.h"
#include "protocol.h"

#define FAULT_FILE RTISOL_RUNTIME_DIR "/fault"
#define WRITES_FILE RTISOL_RUNTIME_DIR "/writes"

typedef struct Rule {
        char moment[8], action[8], pattern[512];
} Rule;

/* The first value that the rule about an object met: an error stays for as long as the same one is tried; another one,
 * as the undo writes, is let through. */
static char *first;

static bool read_rule(Rule *ret) {
        static char known[sizeof(ret->pattern)];
        FILE *f = fopen(FAULT_FILE, "re");
        int n = 0;

        *ret = (Rule){};
        if (f) {
                n = fscanf(f, "%7s %7s %511s", ret->moment, ret->action, ret->pattern);
                (void) fclose(f);
        }
        if (!streq(known, ret->pattern)) {
                free(TAKE_PTR(first));
                (void) snprintf(known, sizeof known, "%s", ret->pattern);
        }
        return n == 3;
}

/* As a rival does who watches the object: before the write what is there is looked at, and it is there again after it. */
static void revert(Kfs *kfs, bool is_after, const char *object) {
        static char *found;
        char *old = TAKE_PTR(found);

        if (is_after && old)
                (void) kfs_write(kfs, object, old);
        else if (!is_after)
                (void) kfs_read(kfs, object, &found);
        free(old);
}

static int on_write(Kfs *kfs, const char *moment, const char *object, const char *value) {
        Rule rule;

        if (!read_rule(&rule) || fnmatch(rule.pattern, object, 0) != 0)
                return 0;
        if (streq(rule.action, "kill") && streq(rule.moment, moment)) {
                (void) unlink(FAULT_FILE); /* the next daemon lives */
                (void) kill(getpid(), SIGKILL);
                (void) pause();
        }
        first = first ?: strdup(value ?: "");
        if (!first || !streq(first, value ?: ""))
                return 0;
        if (streq(rule.action, "revert"))
                revert(kfs, streq(moment, "after"), object);
        return streq(rule.moment, moment) ? -atoi(rule.action) : 0;
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
                return on_write(userdata, "before", object, value);
        }
        return moment == KFS_AFTER_WRITE ? on_write(userdata, "after", object, value) : 0;
}

static void add_hook(Daemon *daemon) {
        Kfs *kfs = manager_kfs(daemon_manager(daemon));

        kfs_hook(kfs, on_access, kfs);
}

int main(void) {
        return daemon_run(add_hook) < 0 ? 1 : 0;
}
