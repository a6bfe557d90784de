/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kfs-root.h"

#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* As many links as the kernel follows. */
#define LINKS_MAX 40

/* Where the walk stands: a path without links, relative to the root, and what is still to be walked. */
typedef struct Walk {
        char done[PATH_MAX];
        char rest[PATH_MAX];
        unsigned links;
} Walk;

static void walk_up(Walk *walk) {
        char *slash = strrchr(walk->done, '/');

        if (slash)
                *slash = '\0';
        else
                walk->done[0] = '\0';
}

/* A link takes the place of its name in front of what is still to be walked. */
static int walk_link(Walk *walk, const char *target) {
        char rest[PATH_MAX];

        if (++walk->links > LINKS_MAX)
                return -ELOOP;
        if ((size_t) snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest) >= sizeof(rest))
                return -ENAMETOOLONG;
        memcpy(walk->rest, rest, sizeof(rest));
        walk_up(walk);
        if (target[0] == '/')
                walk->done[0] = '\0';
        return 0;
}

static int walk_name(int root_fd, Walk *walk, const char *name, bool follow) {
        char target[PATH_MAX];
        size_t n = strlen(walk->done);
        ssize_t length;

        if (n + 1 + strlen(name) >= sizeof(walk->done))
                return -ENAMETOOLONG;
        if (n > 0)
                walk->done[n++] = '/';
        memcpy(walk->done + n, name, strlen(name) + 1);
        if (!follow)
                return 0;

        length = readlinkat(root_fd, walk->done, target, sizeof(target) - 1);
        if (length < 0)
                /* EINVAL: no link.  What else is wrong will be said by the openat() at the end. */
                return 0;
        target[length] = '\0';
        return walk_link(walk, target);
}

int root_walk(int root_fd, const char *path, int flags, mode_t mode) {
        Walk walk = {};
        int fd;

        if (strlen(path) >= sizeof(walk.rest))
                return -ENAMETOOLONG;
        memcpy(walk.rest, path, strlen(path) + 1);
        for (;;) {
                char name[NAME_MAX + 1];
                size_t skip = strspn(walk.rest, "/"), n = strcspn(walk.rest + skip, "/");
                bool last;
                int r = 0;

                if (n == 0)
                        break;
                if (n > NAME_MAX)
                        return -ENAMETOOLONG;
                memcpy(name, walk.rest + skip, n);
                name[n] = '\0';
                memmove(walk.rest, walk.rest + skip + n, strlen(walk.rest + skip + n) + 1);
                last = walk.rest[strspn(walk.rest, "/")] == '\0';

                if (streq(name, ".."))
                        walk_up(&walk);
                else if (!streq(name, "."))
                        r = walk_name(root_fd, &walk, name, !(last && (flags & O_NOFOLLOW)));
                if (r < 0)
                        return r;
        }
        fd = openat(root_fd, walk.done[0] ? walk.done : ".", flags | O_CLOEXEC | O_NOFOLLOW, mode);
        return fd < 0 ? -errno : fd;
}

int root_open(int root_fd, const char *path, int flags, mode_t mode) {
        struct open_how how = {
                .flags = (uint64_t) (flags | O_CLOEXEC),
                .mode = flags & O_CREAT ? mode : 0,
                .resolve = RESOLVE_IN_ROOT,
        };
        long fd;

        if (root_fd == ROOT_LIVE)
                fd = open(path, flags | O_CLOEXEC, mode);
        else
                fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
        if (fd >= 0)
                return (int) fd;
        if (root_fd != ROOT_LIVE && (errno == ENOSYS || errno == EPERM))
                return root_walk(root_fd, path, flags, mode);
        return -errno;
}

int root_open_parent(int root_fd, const char *path, const char **ret_name) {
        _cleanup_free_ char *parent = NULL;
        const char *slash = strrchr(path, '/');
        int fd;

        if (!slash || !slash[1] || streq(slash, "/.") || streq(slash, "/.."))
                return -EINVAL;
        parent = strndup(path, (size_t) (slash - path) + 1);
        if (!parent)
                return -ENOMEM;
        fd = root_open(root_fd, parent, O_PATH | O_DIRECTORY, 0);
        if (fd >= 0)
                *ret_name = slash + 1;
        return fd;
}

int fd_read_all(int fd, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0, room = 0;

        for (;;) {
                ssize_t got;

                if (n + 1 >= room) {
                        char *grown = realloc(text, room ? room * 2 : 4096);

                        if (!grown)
                                return -ENOMEM;
                        text = grown;
                        room = room ? room * 2 : 4096;
                }
                got = read(fd, text + n, room - n - 1);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -errno;
                if (got == 0)
                        break;
                n += (size_t) got;
        }
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        if (ret_size)
                *ret_size = n;
        return 0;
}
