/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-search.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "config.h"
#include "profile-read.h"
#include "profile-values.h"

/* No profile that a person wrote comes near it. */
#define FILE_SIZE_MAX ((size_t) 16 << 20)

/* The first that has a file of some name has the say. */
static const char *const folders[] = { "/etc/rtisold/profiles", "/run/rtisold/profiles",
        PROFILE_VENDOR_DIR };

const char *profile_distrust(const struct stat *st) {
        if (st->st_uid != 0)
                return "it does not belong to root, and is not read; chown it to root";
        if (st->st_mode & S_IWOTH)
                return "everybody may write to it, and it is not read; chmod o-w it";
        if (st->st_mode & S_IWGRP && st->st_gid != 0)
                return "a group other than root may write to it, and it is not read; chmod g-w it";
        return NULL;
}

/* Is it one of the files that decide what is in force, and not one that somebody wants to have checked? */
static bool decides(const char *path) {
        return util_startswith(path, "/etc/rtisold") || util_startswith(path, "/run/rtisold") ||
                util_startswith(path, PROFILE_VENDOR_DIR);
}

/* -EINVAL with an error, 0 where it is to be believed. */
static int check_trust(Kfs *kfs, const char *path, const struct stat *st, ProfileErrors *errors) {
        const char *why = kfs_is_live(kfs) && decides(path) ? profile_distrust(st) : NULL;
        int r;

        if (!why)
                return 0;
        r = profile_errors_add(errors, path, 0, NULL, NULL, "%s", why);
        return r < 0 ? r : -EINVAL;
}

static int cannot(const char *path, const char *what, int error, ProfileErrors *errors) {
        int r = profile_errors_add(
                errors, path, 0, NULL, NULL, "it cannot be %s: %s", what, strerror(-error));

        return r < 0 ? r : -EINVAL;
}

/* What a path that cannot be opened is: absent, masked (below a root there may be no /dev/null), or in the way. */
static int unopened(Kfs *kfs, const char *path, int error, ProfileErrors *errors) {
        _cleanup_free_ char *target = NULL;
        int r = kfs_readlink(kfs, path, &target);

        if (r == -ENOMEM)
                return r;
        if (r >= 0 && streq(target, "/dev/null"))
                return -ESHUTDOWN;
        if (r >= 0 && error == -ENOENT) {
                r = profile_errors_add(errors, path, 0, NULL, NULL,
                        "it is a link to %s, which is not there; mend or remove it (a link to /dev/null "
                        "masks)",
                        target);
                return r < 0 ? r : -EINVAL;
        }
        if (error == -ENOENT)
                return error;
        /* A socket. */
        if (error == -ENXIO)
                return profile_errors_add(errors, path, 0, NULL, NULL, "it is no regular file") < 0
                        ? -ENOMEM
                        : -EINVAL;
        return cannot(path, "opened", error, errors);
}

static int check_kind(const char *path, const struct stat *st, ProfileErrors *errors) {
        int r;

        if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3))
                return -ESHUTDOWN;
        if (S_ISREG(st->st_mode) && st->st_size == 0)
                return -ESHUTDOWN;
        if (!S_ISREG(st->st_mode))
                r = profile_errors_add(errors, path, 0, NULL, NULL, "it is no regular file");
        else if ((uintmax_t) st->st_size > FILE_SIZE_MAX)
                r = profile_errors_add(
                        errors, path, 0, NULL, NULL, "it is larger than %zu MiB", FILE_SIZE_MAX >> 20);
        else
                return 0;
        return r < 0 ? r : -EINVAL;
}

int profile_file_open(Kfs *kfs, const char *path, int *ret_fd, ProfileErrors *errors) {
        _cleanup_close_ int fd = kfs_open(kfs, path);
        struct stat st;
        int r;

        if (fd < 0)
                return unopened(kfs, path, fd, errors);
        if (fstat(fd, &st) < 0)
                return cannot(path, "looked at", -errno, errors);
        r = check_kind(path, &st, errors);
        if (r == 0)
                r = check_trust(kfs, path, &st, errors);
        if (r == 0)
                *ret_fd = TAKE_FD(fd);
        return r;
}

/* Reads up to one byte more than is allowed, so that a file that grows meanwhile is noticed. */
static int read_bounded(int fd, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0, room = 0;

        for (;;) {
                ssize_t got;

                if (n == room) {
                        char *grown = realloc(text, room + 65536);

                        if (!grown)
                                return -ENOMEM;
                        text = grown;
                        room += 65536;
                }
                got = read(fd, text + n, room - n);
                if (got < 0 && errno != EINTR)
                        return -errno;
                if (got == 0)
                        break;
                n += got > 0 ? (size_t) got : 0;
                if (n > FILE_SIZE_MAX)
                        return -EFBIG;
        }
        *ret = TAKE_PTR(text);
        *ret_size = n;
        return 0;
}

int profile_file_read(Kfs *kfs, const char *path, ProfileLines *lines, ProfileErrors *errors) {
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r = profile_file_open(kfs, path, &fd, errors);

        if (r < 0)
                return r;
        r = read_bounded(fd, &text, &size);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return cannot(path, "read", r, errors);
        return profile_read_text(path, text, size, lines, errors);
}

int profile_check_folder(Kfs *kfs, const char *path, ProfileErrors *errors) {
        _cleanup_close_ int fd = kfs_open(kfs, path);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return 0; /* what is in the way is said where something is looked for in it */
        return check_trust(kfs, path, &st, errors) == -ENOMEM ? -ENOMEM : 0;
}

int profile_check_folders(Kfs *kfs, ProfileErrors *errors) {
        int r = profile_check_folder(kfs, "/etc/rtisold", errors);

        if (r == 0)
                r = profile_check_folder(kfs, "/run/rtisold", errors);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
                r = profile_check_folder(kfs, folders[i], errors);
        return r;
}

int profile_find(Kfs *kfs, const char *name, char **ret) {
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_profile_errors_ ProfileErrors errors = {};
                _cleanup_close_ int fd = -1;
                _cleanup_free_ char *path = NULL;
                int r = util_asprintf(&path, "%s/%s.ini", folders[i], name);

                if (r < 0)
                        return r;
                r = profile_file_open(kfs, path, &fd, &errors);
                if (r == -ENOENT)
                        continue;
                if (r == -ENOMEM)
                        return r;
                *ret = TAKE_PTR(path);
                /* What is wrong with the file is said by whoever reads it. */
                return r == -ESHUTDOWN ? r : 0;
        }
        return -ENOENT;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(strrchr(*(char *const *) a, '/'), strrchr(*(char *const *) b, '/'));
}

static bool has_name(char *const *paths, const char *name) {
        STRV_FOREACH (path, paths)
                if (streq(strrchr(*path, '/') + 1, name))
                        return true;
        return false;
}

/* The part of a file's name in front of `.ini`, or NULL. */
static int ini_name(const char *file, char **ret) {
        size_t n = strlen(file);

        if (n < 5 || !streq(file + n - 4, ".ini"))
                return -EINVAL;
        *ret = strndup(file, n - 4);
        return *ret ? 0 : -ENOMEM;
}

/* Adds the files of one folder whose names no folder before it has. */
static int list_drop_ins(Kfs *kfs, const char *folder, char ***paths, ProfileErrors *errors) {
        _cleanup_strv_ char **names = NULL;
        int r = kfs_list(kfs, folder, &names);

        if (r == -ENOENT)
                return 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return cannot(folder, "listed", r, errors) == -ENOMEM ? -ENOMEM : 0;
        r = profile_check_folder(kfs, folder, errors);
        if (r < 0)
                return r;
        STRV_FOREACH (file, names) {
                _cleanup_free_ char *name = NULL, *path = NULL;

                r = ini_name(*file, &name);
                if (r == -EINVAL || (r == 0 && has_name(*paths, *file)))
                        continue;
                if (r < 0 || util_asprintf(&path, "%s/%s", folder, *file) < 0 ||
                        util_strv_push(paths, path) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int profile_find_drop_ins(Kfs *kfs, const char *name, char ***ret, ProfileErrors *errors) {
        _cleanup_strv_ char **paths = calloc(1, sizeof(char *));

        if (!paths)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *folder = NULL;
                int r = util_asprintf(&folder, "%s/%s.ini.d", folders[i], name);

                if (r == 0)
                        r = list_drop_ins(kfs, folder, &paths, errors);
                if (r < 0)
                        return r;
        }
        qsort(paths, util_strv_length(paths), sizeof(char *), compare_names);
        *ret = TAKE_PTR(paths);
        return 0;
}

static int compare_texts(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Adds the profiles whose main file may be in this folder. */
static int list_profiles(Kfs *kfs, const char *folder, char ***names) {
        _cleanup_strv_ char **files = NULL;
        int r = kfs_list(kfs, folder, &files);

        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR ? 0 : r;
        STRV_FOREACH (file, files) {
                _cleanup_free_ char *name = NULL, *path = NULL;

                r = ini_name(*file, &name);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 || !value_is_profile_name(name) || util_strv_contains(*names, name))
                        continue;
                r = profile_find(kfs, name, &path);
                if (r == 0)
                        r = util_strv_push(names, name);
                if (r == -ENOMEM)
                        return r;
        }
        return 0;
}

static int list_misnamed(Kfs *kfs, const char *folder, char ***paths) {
        _cleanup_strv_ char **files = NULL;
        int r = kfs_list(kfs, folder, &files);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        STRV_FOREACH (file, files) {
                _cleanup_free_ char *name = NULL, *path = NULL;

                r = ini_name(*file, &name);
                if (r == -EINVAL || (r == 0 && value_is_profile_name(name)))
                        continue;
                r = r ?: util_asprintf(&path, "%s/%s", folder, *file);
                r = r ?: util_strv_push(paths, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

int profile_list_misnamed(Kfs *kfs, char ***ret_files) {
        _cleanup_strv_ char **paths = calloc(1, sizeof(char *));

        if (!paths)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                int r = list_misnamed(kfs, folders[i], &paths);

                if (r < 0)
                        return r;
        }
        *ret_files = TAKE_PTR(paths);
        return 0;
}

int profile_list(Kfs *kfs, char ***ret_names) {
        _cleanup_strv_ char **names = NULL;
        int r = util_strv_push(&names, "green");

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
                r = list_profiles(kfs, folders[i], &names);
        if (r < 0)
                return r;
        qsort(names, util_strv_length(names), sizeof(char *), compare_texts);
        *ret_names = TAKE_PTR(names);
        return 0;
}
