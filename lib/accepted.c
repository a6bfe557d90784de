/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "accepted.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

/* The pattern of a line, in place: "" for a line without.  A comment starts the line or follows white space. */
static char *line_pattern(char *line) {
        for (char *p = line; *p; p++)
                if (*p == '#' && (p == line || p[-1] == ' ' || p[-1] == '\t')) {
                        *p = '\0';
                        break;
                }
        return util_strip(line);
}

int accepted_read(Kfs *kfs, char ***ret) {
        _cleanup_strv_ char **lines = NULL, **patterns = calloc(1, sizeof(char *));
        _cleanup_free_ char *text = NULL;
        int r = kfs_read(kfs, ACCEPTED_FILE, &text);

        if (!patterns)
                return -ENOMEM;
        if (r == -ENOENT)
                r = 0;
        else if (r >= 0)
                r = util_strv_split(text, "\n", &lines);
        STRV_FOREACH (line, lines) {
                char *pattern = line_pattern(*line);

                if (r >= 0 && *pattern)
                        r = util_strv_push(&patterns, pattern);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(patterns);
        return 0;
}

bool accepted_matches(char *const *patterns, const char *id) {
        STRV_FOREACH (pattern, patterns)
                if (fnmatch(*pattern, id, 0) == 0)
                        return true;
        return false;
}

static int read_lines(const char *path, char ***ret) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_strv_ char **lines = calloc(1, sizeof(char *));
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        ssize_t n;
        int r = 0;

        if (!lines)
                return -ENOMEM;
        if (!file && errno != ENOENT)
                return -errno;
        while (r >= 0 && file && (n = getline(&line, &size, file)) >= 0) {
                if (n > 0 && line[n - 1] == '\n')
                        line[n - 1] = '\0';
                r = util_strv_push(&lines, line);
        }
        if (r < 0 || (file && ferror(file)))
                return r < 0 ? r : -EIO;
        *ret = TAKE_PTR(lines);
        return 0;
}

static bool line_is(const char *line, const char *pattern) {
        _cleanup_free_ char *copy = strdup(line);

        return copy && streq(line_pattern(copy), pattern);
}

/* The folders above a file, where they are not there. */
static int make_folders(const char *path) {
        _cleanup_free_ char *copy = strdup(path);

        if (!copy)
                return -ENOMEM;
        for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(copy, 0755) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return 0;
}

static int write_lines(const char *path, char *const *lines) {
        _cleanup_free_ char *temporary = NULL;
        FILE *file;
        int r = util_asprintf(&temporary, "%s.new", path);

        r = r ?: make_folders(path);
        if (r < 0)
                return r;
        (void) unlink(temporary);
        file = fopen(temporary, "wxe");
        if (!file)
                return -errno;
        (void) fchmod(fileno(file), 0644);
        STRV_FOREACH (line, lines)
                (void) fprintf(file, "%s\n", *line);
        r = fflush(file) != 0 || ferror(file) || fsync(fileno(file)) < 0 ? -errno : 0;
        (void) fclose(file);
        if (r == 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0)
                (void) unlink(temporary);
        return r;
}

int accepted_add(const char *path, const char *pattern, const char *comment) {
        _cleanup_strv_ char **lines = NULL;
        _cleanup_free_ char *line = NULL;
        int r = read_lines(path, &lines);

        if (r < 0)
                return r;
        STRV_FOREACH (old, lines)
                if (line_is(*old, pattern))
                        return 0;
        r = comment ? util_asprintf(&line, "%s  # %s", pattern, comment) : util_copy(pattern, &line);
        r = r ?: util_strv_push(&lines, line);
        r = r ?: write_lines(path, lines);
        return r < 0 ? r : 1;
}

int accepted_remove(const char *path, const char *pattern) {
        _cleanup_strv_ char **lines = NULL, **kept = calloc(1, sizeof(char *));
        int r = kept ? read_lines(path, &lines) : -ENOMEM;

        STRV_FOREACH (line, lines)
                if (r >= 0 && !line_is(*line, pattern))
                        r = util_strv_push(&kept, *line);
        if (r < 0)
                return r;
        if (util_strv_length(kept) == util_strv_length(lines))
                return 0;
        r = write_lines(path, kept);
        return r < 0 ? r : 1;
}
