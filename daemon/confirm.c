/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confirm.h"

#include <inttypes.h>
#include <time.h>

#include "runfile.h"

struct Confirm {
        char *path, *mode;
        sd_event *event;
        sd_event_source *timer;
        ConfirmExpired expired;
        void *userdata;
};

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Confirm *confirm = userdata;
        _cleanup_free_ char *mode = confirm->mode ? strdup(confirm->mode) : NULL;

        /* The file stays until the way back is through: a daemon killed on it takes it again. */
        confirm->timer = sd_event_source_disable_unref(confirm->timer);
        if (mode)
                confirm->expired(confirm->userdata, mode);
        return 0;
}

/* The clock that goes on in suspend and cannot be set: the file is of this boot. */
static int confirm_start_timer(Confirm *confirm, uint64_t deadline) {
        confirm->timer = sd_event_source_disable_unref(confirm->timer);
        return sd_event_add_time(
                confirm->event, &confirm->timer, CLOCK_BOOTTIME, deadline, 0, on_time, confirm);
}

static int confirm_load(Confirm *confirm) {
        _cleanup_strv_ char **lines = NULL;
        uint64_t deadline;
        int r = runfile_read(confirm->path, &lines);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        if (!runfile_get(lines, "mode") ||
                util_parse_u64(runfile_get(lines, "deadline") ?: "", &deadline) < 0) {
                confirm_disarm(confirm);
                return 0;
        }
        confirm->mode = strdup(runfile_get(lines, "mode"));
        return confirm->mode ? confirm_start_timer(confirm, deadline) : -ENOMEM;
}

int confirm_open(const char *path, sd_event *event, ConfirmExpired expired, void *userdata, Confirm **ret) {
        _cleanup_confirm_ Confirm *confirm = calloc(1, sizeof(Confirm));
        int r;

        if (!confirm)
                return -ENOMEM;
        *confirm = (Confirm){ .path = strdup(path), .expired = expired, .userdata = userdata };
        confirm->event = sd_event_ref(event);
        if (!confirm->path)
                return -ENOMEM;
        r = confirm_load(confirm);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(confirm);
        return 0;
}

void confirm_free(Confirm *confirm) {
        if (!confirm)
                return;
        (void) sd_event_source_disable_unref(confirm->timer);
        sd_event_unref(confirm->event);
        free(confirm->path);
        free(confirm->mode);
        free(confirm);
}

int confirm_arm(Confirm *confirm, const char *mode, unsigned seconds) {
        _cleanup_free_ char *copy = confirm->mode ? NULL : strdup(mode);
        char text[24];
        struct timespec now;
        uint64_t deadline;
        int r;

        if (!confirm->mode && !copy)
                return -ENOMEM;
        (void) clock_gettime(CLOCK_BOOTTIME, &now);
        deadline = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000 +
                (uint64_t) seconds * 1000000;
        (void) snprintf(text, sizeof(text), "%" PRIu64, deadline);
        r = runfile_write(confirm->path,
                (const char *const[]){ "mode", confirm->mode ?: copy, "deadline", text, NULL });
        if (r < 0)
                return r;
        if (copy)
                confirm->mode = TAKE_PTR(copy);
        return confirm_start_timer(confirm, deadline);
}

void confirm_disarm(Confirm *confirm) {
        confirm->timer = sd_event_source_disable_unref(confirm->timer);
        (void) unlink(confirm->path);
        free(confirm->mode);
        confirm->mode = NULL;
}

bool confirm_is_over(const Confirm *confirm) {
        return confirm->mode && !confirm->timer;
}

const char *confirm_mode(const Confirm *confirm) {
        return confirm->mode;
}
