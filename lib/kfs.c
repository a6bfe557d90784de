/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "kfs-emulate.h"
#include "kfs-provider.h"
#include "kfs-root.h"

typedef struct Provided {
        const KfsProvider *provider;
        void *userdata;
} Provided;

struct Kfs {
        char *root;
        int root_fd; /* ROOT_LIVE for the live machine */
        Provided *providers;
        size_t n_providers;
        KfsHook hook;
        void *hook_userdata;
        uint64_t writes;
};

int kfs_new(const char *root, Kfs **ret) {
        _cleanup_kfs_ Kfs *kfs = calloc(1, sizeof(Kfs));

        if (!kfs)
                return -ENOMEM;
        kfs->root_fd = ROOT_LIVE;
        kfs->root = strdup(root ? root : "/");
        if (!kfs->root)
                return -ENOMEM;
        if (kfs->root[0] != '/' || kfs->root[strspn(kfs->root, "/")] != '\0') {
                kfs->root_fd = open(kfs->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (kfs->root_fd < 0)
                        return -errno;
        }
        *ret = TAKE_PTR(kfs);
        return 0;
}

static void provided_done(Provided *provided) {
        if (provided->provider->free)
                provided->provider->free(provided->userdata);
}

void kfs_free(Kfs *kfs) {
        if (!kfs)
                return;
        for (size_t i = 0; i < kfs->n_providers; i++)
                provided_done(&kfs->providers[i]);
        free(kfs->providers);
        if (kfs->root_fd >= 0)
                (void) close(kfs->root_fd);
        free(kfs->root);
        free(kfs);
}

bool kfs_is_live(const Kfs *kfs) {
        return kfs->root_fd == ROOT_LIVE;
}

const char *kfs_root(const Kfs *kfs) {
        return kfs->root;
}

uint64_t kfs_writes(const Kfs *kfs) {
        return kfs->writes;
}

/* Providers */

int kfs_provide(Kfs *kfs, const KfsProvider *provider, void *userdata) {
        for (size_t i = 0; i < kfs->n_providers; i++)
                if (streq(kfs->providers[i].provider->scheme, provider->scheme)) {
                        provided_done(&kfs->providers[i]);
                        kfs->providers[i] = (Provided){ provider, userdata };
                        return 0;
                }
        if (GROW(kfs->providers, kfs->n_providers) < 0)
                return -ENOMEM;
        kfs->providers[kfs->n_providers++] = (Provided){ provider, userdata };
        return 0;
}

void kfs_rest(Kfs *kfs) {
        for (size_t i = 0; i < kfs->n_providers; i++)
                if (kfs->providers[i].provider->rest)
                        kfs->providers[i].provider->rest(kfs->providers[i].userdata);
}

/* -EOPNOTSUPP where nobody provides the object, -EINVAL where it is none. */
static int find_provided(Kfs *kfs, const char *object, const Provided **ret) {
        size_t n = strcspn(object, "/");

        if (!object[n] || n == 0)
                return -EINVAL;
        for (size_t i = 0; i < kfs->n_providers; i++) {
                const char *scheme = kfs->providers[i].provider->scheme;

                if (strlen(scheme) == n && memcmp(scheme, object, n) == 0) {
                        *ret = &kfs->providers[i];
                        return 0;
                }
        }
        return -EOPNOTSUPP;
}

/* The hook */

void kfs_hook(Kfs *kfs, KfsHook hook, void *userdata) {
        kfs->hook = hook;
        kfs->hook_userdata = userdata;
}

static int before(Kfs *kfs, KfsMoment moment, const char *object, const char *value) {
        int r = kfs->hook ? kfs->hook(kfs->hook_userdata, moment, object, value) : 0;

        return r < 0 ? r : 0;
}

/* The result of the access, or what the hook wants it to be. */
static int after(Kfs *kfs, KfsMoment moment, const char *object, const char *value, int result) {
        int r = kfs->hook ? kfs->hook(kfs->hook_userdata, moment, object, value) : 0;

        return r < 0 ? r : result;
}

/* Reading */

static int file_read(Kfs *kfs, const char *path, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = root_open(kfs->root_fd, path, O_RDONLY | O_NOCTTY, 0);

        return fd < 0 ? fd : fd_read_all(fd, ret, ret_size);
}

/* Where the word of `PATH#WORD` starts, or NULL for a plain file.  A word is of capitals: a `#` may be in
 * the name of a file. */
static const char *object_word(const char *object) {
        const char *hash = strrchr(object, '#');

        if (!hash || !hash[1] || hash[1 + strspn(hash + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
                return NULL;
        return hash + 1;
}

static int token_read(Kfs *kfs, const char *object, const char *word, char **ret, size_t *ret_size) {
        _cleanup_free_ char *path = strndup(object, (size_t) (word - 1 - object)), *text = NULL,
                            *token = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = file_read(kfs, path, &text, NULL);
        if (r >= 0)
                r = kfs_find_token(text, word, &token);
        if (r < 0)
                return r;
        *ret_size = strlen(token);
        *ret = TAKE_PTR(token);
        return 0;
}

static int object_read(Kfs *kfs, const char *object, char **ret, size_t *ret_size) {
        const Provided *provided = NULL;
        int r;

        if (object[0] == '/') {
                const char *word = object_word(object);

                return word ? token_read(kfs, object, word, ret, ret_size)
                            : file_read(kfs, object, ret, ret_size);
        }
        r = find_provided(kfs, object, &provided);
        if (r >= 0)
                r = provided->provider->read(kfs, provided->userdata, object, ret);
        if (r >= 0)
                *ret_size = strlen(*ret);
        return r;
}

int kfs_read_raw(Kfs *kfs, const char *object, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r = before(kfs, KFS_BEFORE_READ, object, NULL);

        if (r < 0)
                return r;
        r = object_read(kfs, object, &text, &size);
        r = after(kfs, KFS_AFTER_READ, object, text, r);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(text);
        if (ret_size)
                *ret_size = size;
        return 0;
}

static bool is_blank(char c) {
        return c == '\0' || c == ' ' || (c >= '\t' && c <= '\r');
}

int kfs_read(Kfs *kfs, const char *object, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size, start = 0;
        int r = kfs_read_raw(kfs, object, &text, &size);

        if (r < 0)
                return r;
        while (size > 0 && is_blank(text[size - 1]))
                size--;
        while (start < size && is_blank(text[start]))
                start++;
        memmove(text, text + start, size - start);
        text[size - start] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

int kfs_readf(Kfs *kfs, char **ret, const char *format, ...) {
        _cleanup_free_ char *object = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&object, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        return kfs_read(kfs, object, ret);
}

/* Writing */

static int fd_write_once(int fd, const char *text, size_t size) {
        ssize_t n;

        do
                n = write(fd, text, size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t) n == size ? 0 : -EIO;
}

/* An empty value is written as an empty line: the kernel's files do not see a write of no bytes. */
static int file_write_live(Kfs *kfs, const char *path, const char *value) {
        _cleanup_close_ int fd = root_open(kfs->root_fd, path, O_WRONLY | O_NOCTTY, 0);

        if (fd < 0)
                return fd;
        return *value ? fd_write_once(fd, value, strlen(value)) : fd_write_once(fd, "\n", 1);
}

static int file_write_fake(Kfs *kfs, const char *path, const char *word, const char *value) {
        _cleanup_free_ char *old = NULL, *text = NULL;
        _cleanup_close_ int fd = -1;
        int r = file_read(kfs, path, &old, NULL);

        if (r < 0 && r != -ENOENT)
                return r;
        r = kfs_emulate(path, word, old, value, &text);
        if (r < 0)
                return r;
        /* Kernel files appear by themselves when their folder does. */
        fd = root_open(kfs->root_fd, path, O_WRONLY | O_TRUNC | O_CREAT | O_NOCTTY, 0644);
        return fd < 0 ? fd : fd_write_once(fd, text, strlen(text));
}

static int file_write(Kfs *kfs, const char *object, const char *value) {
        const char *word = object_word(object);
        _cleanup_free_ char *path = word ? strndup(object, (size_t) (word - 1 - object)) : strdup(object);

        if (!path)
                return -ENOMEM;
        return kfs_is_live(kfs) ? file_write_live(kfs, path, value)
                                : file_write_fake(kfs, path, word, value);
}

static int object_write(Kfs *kfs, const char *object, const char *value) {
        const Provided *provided = NULL;
        int r;

        if (object[0] == '/')
                return file_write(kfs, object, value);
        r = find_provided(kfs, object, &provided);
        return r < 0 ? r : provided->provider->write(kfs, provided->userdata, object, value);
}

int kfs_write(Kfs *kfs, const char *object, const char *value) {
        int r = before(kfs, KFS_BEFORE_WRITE, object, value);

        if (r < 0)
                return r;
        kfs->writes++;
        r = object_write(kfs, object, value);
        return after(kfs, KFS_AFTER_WRITE, object, value, r);
}

int kfs_set(Kfs *kfs, const char *object, ValueKind kind, const char *value, const char *within,
        char **ret_live) {
        _cleanup_free_ char *live = NULL;
        int r = kfs_read(kfs, object, &live);
        bool held;

        if (r < 0)
                return r;
        held = value_holds(kind, live, value, within);
        if (!held) {
                /* An invalid partition is taken for one by way of `member` only. */
                r = kind == VALUE_PARTITION && strstr(live, "invalid") ? kfs_write(kfs, object, "member")
                                                                       : 0;
                r = r < 0 ? r : kfs_write(kfs, object, value);
                if (r < 0)
                        return r;
                free(TAKE_PTR(live));
                r = kfs_read(kfs, object, &live);
                if (r < 0)
                        return r;
                r = value_holds(kind, live, value, within) ? 1 : -EBADMSG;
        }
        if (ret_live)
                *ret_live = TAKE_PTR(live);
        return r;
}

/* Without the hook */

int kfs_peek(Kfs *kfs, const char *path, char **ret) {
        return file_read(kfs, path, ret, NULL);
}

int kfs_poke(Kfs *kfs, const char *path, const char *value) {
        return file_write(kfs, path, value);
}

int kfs_replace(Kfs *kfs, const char *path, const char *text) {
        _cleanup_close_ int fd = -1;

        if (kfs_is_live(kfs))
                return -EROFS;
        fd = root_open(kfs->root_fd, path, O_WRONLY | O_TRUNC | O_CREAT | O_NOCTTY, 0644);
        return fd < 0 ? fd : fd_write_once(fd, text, strlen(text));
}

/* What is there */

static int compare_names(const void *a, const void *b) {
        return strverscmp(*(char *const *) a, *(char *const *) b);
}

static int folder_list(Kfs *kfs, const char *directory, char ***ret) {
        _cleanup_strv_ char **names = calloc(1, sizeof(char *));
        int fd = root_open(kfs->root_fd, directory, O_RDONLY | O_DIRECTORY, 0), r = 0;
        struct dirent *entry;
        size_t n = 0;
        DIR *stream;

        if (fd < 0)
                return fd;
        stream = fdopendir(fd);
        if (!stream || !names) {
                (void) (stream ? closedir(stream) : close(fd));
                return -ENOMEM;
        }
        for (errno = 0; r >= 0 && (entry = readdir(stream)); errno = 0) {
                char **grown;

                if (entry->d_name[0] == '.')
                        continue;
                grown = realloc(names, (n + 2) * sizeof(char *));
                if (grown) {
                        names = grown;
                        names[n + 1] = NULL;
                        names[n] = strdup(entry->d_name);
                }
                r = grown && names[n++] ? 0 : -ENOMEM;
        }
        if (r >= 0)
                r = -errno;
        closedir(stream);
        if (r < 0)
                return r;
        qsort(names, n, sizeof(char *), compare_names);
        *ret = TAKE_PTR(names);
        return 0;
}

int kfs_list(Kfs *kfs, const char *directory, char ***ret) {
        _cleanup_strv_ char **names = NULL;
        int r = before(kfs, KFS_BEFORE_READ, directory, NULL);

        if (r < 0)
                return r;
        r = folder_list(kfs, directory, &names);
        r = after(kfs, KFS_AFTER_READ, directory, NULL, r);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(names);
        return 0;
}

static int file_stat(Kfs *kfs, const char *path, struct stat *ret) {
        _cleanup_close_ int fd = root_open(kfs->root_fd, path, O_PATH, 0);

        if (fd < 0)
                return fd;
        return fstat(fd, ret) < 0 ? -errno : 0;
}

bool kfs_exists(Kfs *kfs, const char *object) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        int r;

        if (object[0] != '/' || object_word(object))
                return kfs_read_raw(kfs, object, &text, NULL) >= 0;
        r = before(kfs, KFS_BEFORE_READ, object, NULL);
        if (r < 0)
                return false;
        return after(kfs, KFS_AFTER_READ, object, NULL, file_stat(kfs, object, &st)) >= 0;
}

/* Root may open any file for writing, so the mode decides; then a read-only mount and a user's rights do. */
static int file_writable(Kfs *kfs, const char *path) {
        _cleanup_close_ int fd = root_open(kfs->root_fd, path, O_PATH, 0);
        struct stat st;
        char self[32];

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!(st.st_mode & 0222))
                return -EACCES;
        if (!kfs_is_live(kfs))
                return 0;
        snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
        return faccessat(AT_FDCWD, self, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

bool kfs_is_writable(Kfs *kfs, const char *object) {
        const char *word = object_word(object);
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r;

        if (object[0] != '/')
                return kfs_read_raw(kfs, object, &text, NULL) >= 0;
        path = word ? strndup(object, (size_t) (word - 1 - object)) : strdup(object);
        if (!path || before(kfs, KFS_BEFORE_READ, object, NULL) < 0)
                return false;
        r = file_writable(kfs, path);
        return after(kfs, KFS_AFTER_READ, object, NULL, r) >= 0;
}

static int link_read(Kfs *kfs, const char *path, char **ret) {
        _cleanup_close_ int fd = root_open(kfs->root_fd, path, O_PATH | O_NOFOLLOW, 0);
        char target[PATH_MAX];
        ssize_t n;

        if (fd < 0)
                return fd;
        n = readlinkat(fd, "", target, sizeof(target));
        if (n < 0)
                /* What an empty path to something that is no link gives. */
                return errno == ENOENT ? -EINVAL : -errno;
        if ((size_t) n >= sizeof(target))
                return -ENAMETOOLONG;
        return util_asprintf(ret, "%.*s", (int) n, target);
}

int kfs_readlink(Kfs *kfs, const char *path, char **ret) {
        _cleanup_free_ char *target = NULL;
        int r = before(kfs, KFS_BEFORE_READ, path, NULL);

        if (r < 0)
                return r;
        r = link_read(kfs, path, &target);
        r = after(kfs, KFS_AFTER_READ, path, target, r);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(target);
        return 0;
}

int kfs_open(Kfs *kfs, const char *path) {
        int r = before(kfs, KFS_BEFORE_READ, path, NULL), fd;

        if (r < 0)
                return r;
        fd = root_open(kfs->root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        r = after(kfs, KFS_AFTER_READ, path, NULL, fd);
        if (r < 0 && fd >= 0)
                (void) close(fd);
        return r;
}

/* Folders */

static int folder_make(Kfs *kfs, const char *directory) {
        const char *name;
        _cleanup_close_ int fd = root_open_parent(kfs->root_fd, directory, &name);

        if (fd < 0)
                return fd;
        return mkdirat(fd, name, 0755) < 0 ? -errno : 0;
}

/* A cgroup's files go with it: on a root that is only files they have to be taken away one by one. */
static int folder_empty(Kfs *kfs, const char *directory) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_close_ int fd = -1;
        int r = folder_list(kfs, directory, &names);

        if (r < 0)
                return r;
        fd = root_open(kfs->root_fd, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
                return fd;
        STRV_FOREACH (name, names) {
                struct stat st;

                if (fstatat(fd, *name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return -errno;
                if (S_ISDIR(st.st_mode))
                        return -EBUSY;
        }
        STRV_FOREACH (name, names)
                if (unlinkat(fd, *name, 0) < 0)
                        return -errno;
        return 0;
}

static int folder_remove(Kfs *kfs, const char *directory) {
        const char *name;
        _cleanup_close_ int fd = root_open_parent(kfs->root_fd, directory, &name);
        int r = 0;

        if (fd < 0)
                return fd;
        if (!kfs_is_live(kfs))
                r = folder_empty(kfs, directory);
        if (r < 0)
                return r;
        return unlinkat(fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int kfs_mkdir(Kfs *kfs, const char *directory) {
        int r = before(kfs, KFS_BEFORE_WRITE, directory, NULL);

        if (r < 0)
                return r;
        kfs->writes++;
        return after(kfs, KFS_AFTER_WRITE, directory, NULL, folder_make(kfs, directory));
}

int kfs_rmdir(Kfs *kfs, const char *directory) {
        int r = before(kfs, KFS_BEFORE_WRITE, directory, NULL);

        if (r < 0)
                return r;
        kfs->writes++;
        return after(kfs, KFS_AFTER_WRITE, directory, NULL, folder_remove(kfs, directory));
}
