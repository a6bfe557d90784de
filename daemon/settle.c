/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settle.h"

int settle_new(sd_event *event, sd_event_time_handler_t handler, void *userdata, sd_event_source **ret) {
        __attribute__((cleanup(sd_event_source_disable_unrefp))) sd_event_source *timer = NULL;
        int r = sd_event_add_time_relative(event, &timer, CLOCK_MONOTONIC, 0, 0, handler, userdata);

        if (r >= 0)
                r = sd_event_source_set_enabled(timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(timer);
        return 0;
}

void settle_restart(sd_event_source *timer, uint64_t usec) {
        (void) sd_event_source_set_time_relative(timer, usec);
        (void) sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

void settle_start(sd_event_source *timer, uint64_t usec) {
        int enabled;

        if (sd_event_source_get_enabled(timer, &enabled) <= 0)
                settle_restart(timer, usec);
}
