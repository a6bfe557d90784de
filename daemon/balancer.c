/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "balancer.h"

#include <fnmatch.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#define FOLDER "irqbalance"
#define SOCKET "irqbalance*.sock"
/* It listens a moment after the socket is there. */
#define SETTLE_USEC UINT64_C(1000000)

struct Balancer {
        char *folder;
        int inotify, inner; /* inner: the watch of its own folder, -1 where there is none */
        sd_event_source *io, *timer;
        BalancerStarted handler;
        void *userdata;
};

static void settle(const Balancer *balancer) {
        (void) sd_event_source_set_time_relative(balancer->timer, SETTLE_USEC);
        (void) sd_event_source_set_enabled(balancer->timer, SD_EVENT_ONESHOT);
}

/* The folder comes and goes with the service. */
static void watch_inner(Balancer *balancer) {
        balancer->inner = inotify_add_watch(balancer->inotify, balancer->folder, IN_CREATE | IN_ONLYDIR);
}

static void handle_event(Balancer *balancer, const struct inotify_event *event) {
        const char *name = event->len > 0 ? event->name : "";

        if (event->wd == balancer->inner) {
                if (fnmatch(SOCKET, name, 0) == 0)
                        settle(balancer);
        } else if (streq(name, FOLDER)) {
                watch_inner(balancer);
                /* The socket may have been made before the watch. */
                settle(balancer);
        }
}

static int on_inotify(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        ssize_t n;

        while ((n = read(fd, buffer, sizeof(buffer))) > 0)
                for (char *at = buffer; at < buffer + n;) {
                        const struct inotify_event *event = (const struct inotify_event *) at;

                        handle_event(userdata, event);
                        at += sizeof(*event) + event->len;
                }
        return 0;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Balancer *balancer = userdata;

        if (balancer->inner >= 0)
                balancer->handler(balancer->userdata);
        return 0;
}

int balancer_new(sd_event *event, const char *run, BalancerStarted handler, void *userdata, Balancer **ret) {
        _cleanup_balancer_ Balancer *balancer = calloc(1, sizeof(Balancer));
        int r;

        if (!balancer)
                return -ENOMEM;
        *balancer = (Balancer){ .handler = handler, .userdata = userdata, .inner = -1 };
        balancer->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (balancer->inotify < 0)
                return -errno;
        r = util_asprintf(&balancer->folder, "%s/" FOLDER, run);
        if (r < 0)
                return r;
        if (inotify_add_watch(balancer->inotify, run, IN_CREATE | IN_ONLYDIR) < 0)
                return -errno;
        watch_inner(balancer);
        r = sd_event_add_io(event, &balancer->io, balancer->inotify, EPOLLIN, on_inotify, balancer);
        if (r >= 0)
                r = sd_event_add_time_relative(
                        event, &balancer->timer, CLOCK_MONOTONIC, SETTLE_USEC, 0, on_settled, balancer);
        if (r >= 0)
                r = sd_event_source_set_enabled(balancer->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(balancer);
        return 0;
}

void balancer_free(Balancer *balancer) {
        if (!balancer)
                return;
        (void) sd_event_source_disable_unref(balancer->io);
        (void) sd_event_source_disable_unref(balancer->timer);
        if (balancer->inotify >= 0)
                (void) close(balancer->inotify);
        free(balancer->folder);
        free(balancer);
}
