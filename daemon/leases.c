/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "leases.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"
#include "runfile.h"

struct Leases {
        char *directory, *base;
        sd_event *event;
        Lease **items;
        size_t n;
        unsigned next_id;
        LeaseReleased released;
        void *userdata;
};

static int lease_path(const Leases *leases, unsigned id, const char *suffix, char **ret) {
        return util_asprintf(ret, "%s/%u.%s", leases->directory, id, suffix);
}

static void lease_remove_files(const Lease *lease) {
        _cleanup_free_ char *fifo = NULL, *file = NULL;

        if (lease_path(lease->leases, lease->id, "fifo", &fifo) >= 0)
                (void) unlink(fifo);
        if (lease_path(lease->leases, lease->id, "lease", &file) >= 0)
                (void) unlink(file);
}

static void lease_free(Lease *lease) {
        if (!lease)
                return;
        (void) sd_event_source_disable_unref(lease->source);
        if (lease->fd >= 0)
                (void) close(lease->fd);
        free(lease->mode);
        free(lease->why);
        free(lease);
}
DEFINE_CLEANUP_POINTER(Lease, lease_free)

static void leases_forget(Leases *leases, const Lease *lease) {
        for (size_t i = 0; i < leases->n; i++)
                if (leases->items[i] == lease) {
                        memmove(&leases->items[i], &leases->items[i + 1],
                                (leases->n - i - 1) * sizeof(Lease *));
                        leases->n--;
                        return;
                }
}

/* Nobody writes into the FIFO; what a holder writes all the same is thrown away, so that it cannot keep the
 * event loop busy. */
static void lease_discard(int fd) {
        char buffer[512];

        while (read(fd, buffer, sizeof(buffer)) > 0)
                ;
}

static void lease_end(Lease *over) {
        _cleanup_(lease_freep) Lease *lease = over;
        Leases *leases = lease->leases;

        leases_forget(leases, lease);
        lease_remove_files(lease);
        leases->released(leases->userdata, lease);
}

static int on_lease_event(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        if (revents & (EPOLLHUP | EPOLLERR))
                lease_end(userdata);
        else
                lease_discard(fd);
        return 0;
}

void leases_settle(Leases *leases) {
        for (size_t i = leases->n; i-- > 0;) {
                struct pollfd pollfd = { .fd = leases->items[i]->fd };

                if (poll(&pollfd, 1, 0) > 0 && pollfd.revents & (POLLHUP | POLLERR))
                        lease_end(leases->items[i]);
        }
}

static int lease_new(Leases *leases, unsigned id, const char *mode, const char *why, Lease **ret) {
        _cleanup_(lease_freep) Lease *lease = calloc(1, sizeof(Lease));

        if (!lease)
                return -ENOMEM;
        *lease = (Lease){ .id = id, .leases = leases, .fd = -1, .mode = strdup(mode), .why = strdup(why) };
        if (!lease->mode || !lease->why)
                return -ENOMEM;
        *ret = TAKE_PTR(lease);
        return 0;
}

/* Watches the FIFO's read end.  A reader that opens a FIFO that has no writer hears nothing of that; opening
 * the write end, *ret_writer, and closing it makes the kernel say so. */
static int lease_watch(Lease *lease, int *ret_writer) {
        _cleanup_free_ char *fifo = NULL;
        _cleanup_close_ int writer = -1;
        int r = lease_path(lease->leases, lease->id, "fifo", &fifo);

        if (r < 0)
                return r;
        lease->fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
        if (lease->fd < 0)
                return -errno;
        writer = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
        if (writer < 0)
                return -errno;
        r = sd_event_add_io(lease->leases->event, &lease->source, lease->fd, EPOLLIN, on_lease_event, lease);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(lease->source, "lease");
        *ret_writer = TAKE_FD(writer);
        return 0;
}

/* Takes the lease, whose files are gone where it cannot be kept. */
static int leases_keep(Leases *leases, Lease *given, int *ret_writer) {
        _cleanup_(lease_freep) Lease *lease = given;
        _cleanup_close_ int writer = -1;
        int r = lease_watch(lease, &writer);

        if (r >= 0)
                r = GROW(leases->items, leases->n);
        if (r < 0) {
                lease_remove_files(lease);
                return r;
        }
        if (lease->id >= leases->next_id)
                leases->next_id = lease->id + 1;
        leases->items[leases->n++] = TAKE_PTR(lease);
        if (ret_writer)
                *ret_writer = TAKE_FD(writer);
        return 0;
}

static int lease_load(Leases *leases, unsigned id) {
        _cleanup_free_ char *path = NULL;
        _cleanup_strv_ char **lines = NULL;
        _cleanup_(lease_freep) Lease *lease = NULL;
        int r = lease_path(leases, id, "lease", &path);

        if (r >= 0)
                r = runfile_read(path, &lines);
        if (r >= 0)
                r = lease_new(leases, id, runfile_get(lines, "mode") ?: "", runfile_get(lines, "why") ?: "",
                        &lease);
        if (r < 0)
                return r;
        (void) util_parse_unsigned(runfile_get(lines, "pid") ?: "", &lease->pid);
        (void) util_parse_u64(runfile_get(lines, "since") ?: "", &lease->since);
        return leases_keep(leases, TAKE_PTR(lease), NULL);
}

static int leases_load(Leases *leases) {
        _cleanup_free_ char *base = NULL;
        _cleanup_strv_ char **lines = NULL;
        struct dirent *entry;
        DIR *directory;
        int r;

        r = util_asprintf(&base, "%s/base", leases->directory);
        if (r < 0)
                return r;
        if (runfile_read(base, &lines) >= 0 && runfile_get(lines, "mode")) {
                leases->base = strdup(runfile_get(lines, "mode"));
                if (!leases->base)
                        return -ENOMEM;
        }
        directory = opendir(leases->directory);
        if (!directory)
                return -errno;
        while (r >= 0 && (entry = readdir(directory))) {
                char *end;
                unsigned long id = strtoul(entry->d_name, &end, 10);

                if (end == entry->d_name || !streq(end, ".lease"))
                        continue;
                r = lease_load(leases, (unsigned) id);
                if (r < 0 && r != -ENOMEM) {
                        log_plain(LOG_WARNING, "Lease %lu cannot be taken up again (%s): it is dropped.", id,
                                strerror(-r));
                        r = 0;
                }
        }
        (void) closedir(directory);
        return r < 0 ? r : 0;
}

int leases_open(
        const char *directory, sd_event *event, LeaseReleased released, void *userdata, Leases **ret) {
        _cleanup_leases_ Leases *leases = calloc(1, sizeof(Leases));
        int r;

        if (!leases)
                return -ENOMEM;
        *leases = (Leases){ .released = released, .userdata = userdata, .next_id = 1 };
        leases->event = sd_event_ref(event);
        leases->directory = strdup(directory);
        if (!leases->directory)
                return -ENOMEM;
        if (mkdir(directory, 0700) < 0 && errno != EEXIST)
                return -errno;
        r = leases_load(leases);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(leases);
        return 0;
}

void leases_free(Leases *leases) {
        if (!leases)
                return;
        for (size_t i = 0; i < leases->n; i++)
                lease_free(leases->items[i]);
        free(leases->items);
        free(leases->directory);
        free(leases->base);
        sd_event_unref(leases->event);
        free(leases);
}

static int lease_store(const Lease *lease) {
        _cleanup_free_ char *path = NULL, *fifo = NULL;
        char pid[16], since[24];
        int r;

        (void) snprintf(pid, sizeof(pid), "%u", lease->pid);
        (void) snprintf(since, sizeof(since), "%" PRIu64, lease->since);
        r = lease_path(lease->leases, lease->id, "fifo", &fifo);
        if (r >= 0)
                r = lease_path(lease->leases, lease->id, "lease", &path);
        if (r < 0)
                return r;
        if (mkfifo(fifo, 0600) < 0)
                return -errno;
        return runfile_write(path,
                (const char *const[]){
                        "mode", lease->mode, "why", lease->why, "pid", pid, "since", since, NULL });
}

int leases_add(Leases *leases, const char *mode, const char *why, unsigned pid, int *ret_fd) {
        _cleanup_(lease_freep) Lease *lease = NULL;
        struct timespec now;
        int r;

        if (strchr(why, '\n'))
                return -EINVAL;
        r = lease_new(leases, leases->next_id, mode, why, &lease);
        if (r < 0)
                return r;
        (void) clock_gettime(CLOCK_REALTIME, &now);
        lease->pid = pid;
        lease->since = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
        r = lease_store(lease);
        if (r < 0) {
                lease_remove_files(lease);
                return r;
        }
        return leases_keep(leases, TAKE_PTR(lease), ret_fd);
}

void leases_drop(Leases *leases) {
        for (size_t i = 0; i < leases->n; i++) {
                lease_remove_files(leases->items[i]);
                lease_free(leases->items[i]);
        }
        leases->n = 0;
        (void) leases_set_base(leases, NULL);
}

size_t leases_count(const Leases *leases) {
        return leases->n;
}

const Lease *leases_get(const Leases *leases, size_t i) {
        return i < leases->n ? leases->items[i] : NULL;
}

int leases_set_base(Leases *leases, const char *mode) {
        _cleanup_free_ char *path = NULL, *copy = mode ? strdup(mode) : NULL;
        int r;

        if (mode && !copy)
                return -ENOMEM;
        r = util_asprintf(&path, "%s/base", leases->directory);
        if (r < 0)
                return r;
        if (mode)
                r = runfile_write(path, (const char *const[]){ "mode", mode, NULL });
        else
                r = unlink(path) < 0 && errno != ENOENT ? -errno : 0;
        if (r < 0)
                return r;
        free(leases->base);
        leases->base = TAKE_PTR(copy);
        return 0;
}

const char *leases_base(const Leases *leases) {
        return leases->base;
}
