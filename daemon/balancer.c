/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "balancer.h"
#include "settle.h"

#include <fnmatch.h>
#include <sys/inotify.h>

#define FOLDER "irqbalance"
#define SOCKET "irqbalance*.sock"
/* It listens a moment after the socket is there. */
#define SETTLE_USEC UINT64_C(1000000)

struct Balancer {
        sd_event *event;
        char *folder;
        sd_event_source *outer, *inner,
                *timer; /* inner: the watch of its own folder, NULL where there is none */
        BalancerStarted handler;
        void *userdata;
};

static int on_inner(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        Balancer *balancer = userdata;

        if (event->len > 0 && fnmatch(SOCKET, event->name, 0) == 0)
                settle_restart(balancer->timer, SETTLE_USEC);
        return 0;
}

/* The folder comes and goes with the service, and one that was made anew is another one to the kernel. */
static void watch_inner(Balancer *balancer) {
        balancer->inner = sd_event_source_disable_unref(balancer->inner);
        (void) sd_event_add_inotify(balancer->event, &balancer->inner, balancer->folder,
                IN_CREATE | IN_ONLYDIR, on_inner, balancer);
}

static int on_outer(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        Balancer *balancer = userdata;

        if (event->len == 0 || !streq(event->name, FOLDER))
                return 0;
        watch_inner(balancer);
        /* The socket may have been made before the watch. */
        settle_restart(balancer->timer, SETTLE_USEC);
        return 0;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Balancer *balancer = userdata;

        if (balancer->inner)
                balancer->handler(balancer->userdata);
        return 0;
}

int balancer_new(sd_event *event, const char *run, BalancerStarted handler, void *userdata, Balancer **ret) {
        _cleanup_balancer_ Balancer *balancer = calloc(1, sizeof(Balancer));
        int r;

        if (!balancer)
                return -ENOMEM;
        *balancer = (Balancer){ .event = sd_event_ref(event), .handler = handler, .userdata = userdata };
        r = util_asprintf(&balancer->folder, "%s/" FOLDER, run);
        if (r >= 0)
                r = settle_new(event, on_settled, balancer, &balancer->timer);
        if (r >= 0)
                r = sd_event_add_inotify(
                        event, &balancer->outer, run, IN_CREATE | IN_ONLYDIR, on_outer, balancer);
        if (r < 0)
                return r;
        watch_inner(balancer);
        *ret = TAKE_PTR(balancer);
        return 0;
}

void balancer_free(Balancer *balancer) {
        if (!balancer)
                return;
        (void) sd_event_source_disable_unref(balancer->inner);
        (void) sd_event_source_disable_unref(balancer->outer);
        (void) sd_event_source_disable_unref(balancer->timer);
        sd_event_unref(balancer->event);
        free(balancer->folder);
        free(balancer);
}
