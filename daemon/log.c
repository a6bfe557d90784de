/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "log.h"

#include <stdarg.h>
#include <sys/uio.h>

/* The source line would be this file's: it says nothing. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define FIELDS_MAX 8

typedef struct Entry {
        char *texts[FIELDS_MAX];
        struct iovec iov[FIELDS_MAX];
        int n;
} Entry;

static void entry_done(Entry *entry) {
        for (int i = 0; i < entry->n; i++)
                free(entry->texts[i]);
}

/* A field that cannot be stored for want of memory is left out: a poorer message beats none. */
static void entry_add(Entry *entry, const char *field, const char *value) {
        char *text;

        if (!value || entry->n == FIELDS_MAX || util_asprintf(&text, "%s=%s", field, value) < 0)
                return;
        entry->texts[entry->n] = text;
        entry->iov[entry->n] = (struct iovec){ text, strlen(text) };
        entry->n++;
}

static int journal_there(void) {
        static int there = -1;

        if (there < 0)
                there = access("/run/systemd/journal/socket", F_OK) == 0;
        return there;
}

void log_fields(int priority, const LogFields *fields, const char *format, ...) {
        _cleanup_(entry_done) Entry entry = {};
        _cleanup_free_ char *message = NULL;
        char level[2] = { (char) ('0' + priority), '\0' };
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&message, format, ap);
        va_end(ap);
        if (r < 0) {
                message = NULL;
                return;
        }
        if (!journal_there()) {
                (void) fprintf(stderr, "<%d>%s\n", priority, message);
                return;
        }
        entry_add(&entry, "MESSAGE", message);
        entry_add(&entry, "PRIORITY", level);
        entry_add(&entry, "SYSLOG_IDENTIFIER", "rtisold");
        if (fields) {
                entry_add(&entry, "MESSAGE_ID", fields->id);
                entry_add(&entry, "RTISOL_MODE", fields->mode);
                entry_add(&entry, "RTISOL_STEP", fields->step);
                entry_add(&entry, "RTISOL_BY", fields->by);
                entry_add(&entry, "RTISOL_WHY", fields->why);
        }
        (void) sd_journal_sendv(entry.iov, entry.n);
}
