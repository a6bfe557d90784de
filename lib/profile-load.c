/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <nettle/sha2.h>

#include "config.h"
#include "profile-keys.h"
#include "profile-search.h"

#define INCLUDES_DEEP_MAX 32

typedef struct Loader {
        Kfs *kfs;
        const char *beside; /* a folder to look for included profiles in first, or NULL */
        char **stack;       /* profiles that are being read, the innermost last */
        char **done;        /* profiles that were read: a second time adds nothing */
        char **files;       /* in the order they were read, for sorting errors */
        ProfileLines lines;
        ProfileErrors errors;
        char *main_file;
} Loader;

static void loader_done(Loader *loader) {
        util_strv_free(loader->stack);
        util_strv_free(loader->done);
        util_strv_free(loader->files);
        profile_lines_done(&loader->lines);
        profile_errors_done(&loader->errors);
        free(loader->main_file);
}

static int load_profile(Loader *loader, const char *name, const char *path);

/* Reads a file's lines.  What cannot be read has its error; what went away or is masked adds nothing. */
static int read_file(Loader *loader, const char *path, ProfileLines *lines) {
        int r = util_strv_push(&loader->files, path);

        if (r < 0)
                return r;
        r = profile_file_read(loader->kfs, path, lines, &loader->errors);
        return r == -ENOMEM ? r : 0;
}

static int read_drop_ins(Loader *loader, const char *name, ProfileLines *lines) {
        _cleanup_strv_ char **paths = NULL;
        int r = profile_find_drop_ins(loader->kfs, name, &paths, &loader->errors);

        STRV_FOREACH (path, paths) {
                r = read_file(loader, *path, lines);
                if (r < 0)
                        break;
        }
        return r;
}

/* The main file of an included profile; the name is a valid one. */
static int find_included(Loader *loader, const char *name, char **ret) {
        _cleanup_free_ char *path = NULL;

        if (loader->beside) {
                if (util_asprintf(&path, "%s/%s.ini", loader->beside, name) < 0)
                        return -ENOMEM;
                if (kfs_exists(loader->kfs, path)) {
                        *ret = TAKE_PTR(path);
                        return 0;
                }
        }
        return profile_find(loader->kfs, name, ret);
}

static int unknown_profile(Loader *loader, const char *name, const ProfileLine *line) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *near = NULL;

        if (profile_list(loader->kfs, &names) < 0)
                return profile_errors_add_line(&loader->errors, line, "there is no profile \"%s\"", name);
        if (value_suggest(name, (const char *const *) names, &near) < 0)
                return -ENOMEM;
        return profile_errors_add_line(&loader->errors, line, "there is no profile \"%s\"%s", name, near);
}

static int include_loop(Loader *loader, const char *name, const ProfileLine *line) {
        _cleanup_free_ char *chain = NULL;
        char **from = loader->stack;

        while (!streq(*from, name))
                from++;
        if (util_strv_join(from, " includes ", &chain) < 0)
                return -ENOMEM;
        return profile_errors_add_line(&loader->errors, line, "this is a loop: %s includes %s", chain, name);
}

static int include_profile(Loader *loader, const char *name, const ProfileLine *line) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (!value_is_profile_name(name) || util_strv_contains(loader->done, name))
                return 0; /* a wrong name is said when the line is checked */
        if (util_strv_contains(loader->stack, name))
                return include_loop(loader, name, line);
        if (util_strv_length(loader->stack) >= INCLUDES_DEEP_MAX)
                return profile_errors_add_line(&loader->errors, line,
                        "profiles include each other more than %d deep", INCLUDES_DEEP_MAX);
        r = find_included(loader, name, &path);
        /* Green is there without a file, and asks for nothing then. */
        if (r == -ENOENT && !streq(name, "green"))
                return unknown_profile(loader, name, line);
        if (r == -ESHUTDOWN && !streq(name, "green"))
                return profile_errors_add_line(
                        &loader->errors, line, "the profile \"%s\" is masked by %s", name, path);
        if (r < 0 && r != -ENOENT && r != -ESHUTDOWN)
                return r;
        return load_profile(loader, name, r == 0 ? path : NULL);
}

static int include_all(Loader *loader, const ProfileLines *own) {
        const ProfileLine *line = profile_lines_find(own, "profile", "include");
        _cleanup_strv_ char **names = NULL;
        int r = line ? util_strv_split(line->value, " \t", &names) : 0;

        STRV_FOREACH (name, names) {
                r = include_profile(loader, *name, line);
                if (r < 0)
                        break;
        }
        return r;
}

static void pop(char **stack) {
        size_t n = util_strv_length(stack);

        free(stack[n - 1]);
        stack[n - 1] = NULL;
}

/* Puts what a profile includes before its own lines.  path NULL: there are only drop-ins. */
static int load_profile(Loader *loader, const char *name, const char *path) {
        _cleanup_profile_lines_ ProfileLines own = {};
        int r = util_strv_push(&loader->stack, name);

        if (r == 0 && path)
                r = read_file(loader, path, &own);
        /* A file that is checked by its path is checked alone. */
        if (r == 0 && !(loader->beside && util_strv_length(loader->stack) == 1))
                r = read_drop_ins(loader, name, &own);
        if (r == 0)
                r = include_all(loader, &own);
        if (r == 0)
                r = profile_lines_append(&loader->lines, &own);
        if (r == 0)
                r = util_strv_push(&loader->done, name);
        if (r == 0)
                pop(loader->stack);
        return r;
}

static int digest(Profile *profile) {
        _cleanup_free_ char *text = NULL;
        struct sha256_ctx context;
        uint8_t bytes[SHA256_DIGEST_SIZE];
        int r = profile_format(profile, false, &text);

        if (r < 0)
                return r;
        sha256_init(&context);
        sha256_update(&context, strlen(text), (const uint8_t *) text);
        sha256_digest(&context, sizeof(bytes), bytes);
        profile->sha256 = calloc(1, 2 * sizeof(bytes) + 1);
        if (!profile->sha256)
                return -ENOMEM;
        for (size_t i = 0; i < sizeof(bytes); i++)
                (void) sprintf(profile->sha256 + 2 * i, "%02x", bytes[i]);
        return 0;
}

/* Gives the profile the merged lines, without the sections' own, which have done their part. */
static int keep_lines(Profile *profile, ProfileLines *lines) {
        size_t n = 0;

        for (size_t i = 0; i < lines->n; i++)
                if (lines->items[i].key)
                        lines->items[n++] = lines->items[i];
                else
                        profile_line_done(lines->items + i);
        profile->lines = lines->items;
        profile->n_lines = n;
        *lines = (ProfileLines){};
        return digest(profile);
}

/* From all the lines that were read to a profile, or to errors: -EINVAL. */
static int make_profile(Loader *loader, const char *name, Profile **ret) {
        _cleanup_profile_ Profile *profile = NULL;
        int r = profile_new(name, loader->main_file, &profile);

        if (r == 0)
                r = keys_check(&profile_keys, &loader->lines, &loader->errors);
        if (r == 0)
                r = profile_lines_merge(&loader->lines, profile_needs_key, &loader->errors);
        if (r == 0)
                r = profile_lines_inherit(&loader->lines);
        if (r == 0)
                r = keys_apply(&profile_keys, &loader->lines, profile);
        if (r == 0)
                r = profile_check_rules(profile, &loader->lines, &loader->errors);
        if (r < 0)
                return r;
        if (loader->errors.n > 0) {
                profile_errors_sort(&loader->errors, loader->files);
                return -EINVAL;
        }
        r = keep_lines(profile, &loader->lines);
        if (r == 0)
                *ret = TAKE_PTR(profile);
        return r;
}

/* Hands the errors on to who asked for them. */
static int give_errors(Loader *loader, int r, ProfileErrors *ret_errors) {
        if (r == -EINVAL && ret_errors) {
                *ret_errors = loader->errors;
                loader->errors = (ProfileErrors){};
        }
        return r;
}

int profile_load(Kfs *kfs, const char *name, Profile **ret, ProfileErrors *ret_errors) {
        _cleanup_(loader_done) Loader loader = { .kfs = kfs };
        bool green = streq(name, "green");
        int r;

        /* Names come from anybody: what is no name is no path either. */
        if (!value_is_profile_name(name))
                return -ENOENT;
        r = profile_find(kfs, name, &loader.main_file);
        if (r < 0 && !(green && (r == -ENOENT || r == -ESHUTDOWN)))
                return r;
        if (r < 0) {
                free(loader.main_file);
                loader.main_file = NULL;
        }
        r = profile_check_folders(kfs, &loader.errors);
        if (r == 0)
                r = load_profile(&loader, name, loader.main_file);
        if (r == 0)
                r = make_profile(&loader, name, ret);
        return give_errors(&loader, r, ret_errors);
}

static int load_vendor_green(Kfs *kfs, Profile **ret) {
        _cleanup_(loader_done) Loader loader = { .kfs = kfs, .beside = PROFILE_VENDOR_DIR };
        int r = util_asprintf(&loader.main_file, "%s", PROFILE_VENDOR_DIR "/green.ini");

        r = r ?: load_profile(&loader, "green", loader.main_file);
        return r ?: make_profile(&loader, "green", ret);
}

int profile_load_plain_green(Kfs *kfs, Profile **ret) {
        _cleanup_(loader_done) Loader loader = { .kfs = kfs };
        int r = load_vendor_green(kfs, ret);

        return r >= 0 || r == -ENOMEM ? r : make_profile(&loader, "green", ret);
}

/* `/a/b/NAME.ini` → its folder, and NAME. */
static int split_path(const char *path, char **ret_folder, char **ret_name) {
        const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
        size_t n = dot > slash && streq(dot, ".ini") ? (size_t) (dot - slash - 1) : strlen(slash + 1);

        *ret_folder = strndup(path, slash > path ? (size_t) (slash - path) : 1);
        *ret_name = strndup(slash + 1, n);
        return *ret_folder && *ret_name ? 0 : -ENOMEM;
}

static int absolute_path(const char *path, char **ret) {
        char here[PATH_MAX];

        if (*path == '/')
                return util_asprintf(ret, "%s", path);
        if (!getcwd(here, sizeof(here)))
                return -errno;
        return util_asprintf(ret, "%s/%s", here, path);
}

/* A file that was asked for by its path must be there, which those that are searched for need not. */
static int check_readable(Loader *loader, const char *path) {
        _cleanup_close_ int fd = -1;
        int r = profile_file_open(loader->kfs, path, &fd, &loader->errors);

        if (r != -ENOENT && r != -ESHUTDOWN)
                return r;
        r = profile_errors_add(&loader->errors, path, 0, NULL, NULL,
                r == -ENOENT ? "there is no such file" : "it is empty, which masks the profile of its name");
        return r < 0 ? r : -EINVAL;
}

static int check_file(Loader *loader, const char *path) {
        _cleanup_free_ char *folder = NULL, *name = NULL;
        _cleanup_profile_ Profile *profile = NULL;
        int r = check_readable(loader, path);

        if (r == 0)
                r = split_path(path, &folder, &name);
        if (r < 0)
                return r;
        loader->beside = folder;
        r = load_profile(loader, name, path);
        if (r == 0)
                r = make_profile(loader, name, &profile);
        loader->beside = NULL;
        return r;
}

int profile_check_file(const char *path, ProfileErrors *ret_errors) {
        _cleanup_(loader_done) Loader loader = {};
        _cleanup_kfs_ Kfs *kfs = NULL;
        int r = kfs_new(NULL, &kfs);

        if (r == 0)
                r = absolute_path(path, &loader.main_file);
        if (r < 0)
                return r;
        loader.kfs = kfs;
        return give_errors(&loader, check_file(&loader, loader.main_file), ret_errors);
}
