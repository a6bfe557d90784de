/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runfile.h"

#include <fcntl.h>
#include <sys/stat.h>

int runfile_write(const char *path, const char *const *pairs) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_fclose_ FILE *file = NULL;
        int r;

        r = util_asprintf(&temporary, "%s.new", path);
        if (r < 0)
                return r;
        file = fopen(temporary, "we");
        if (!file)
                return -errno;
        for (const char *const *pair = pairs; pair[0]; pair += 2)
                (void) fprintf(file, "%s=%s\n", pair[0], pair[1]);
        if (fflush(file) != 0 || ferror(file) || rename(temporary, path) < 0) {
                r = errno > 0 ? -errno : -EIO;
                (void) unlink(temporary);
                return r;
        }
        return 0;
}

int runfile_read(const char *path, char ***ret) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_strv_ char **lines = calloc(1, sizeof(char *));
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        ssize_t n;

        if (!file)
                return -errno;
        if (!lines)
                return -ENOMEM;
        while ((n = getline(&line, &size, file)) > 0) {
                int r;

                if (line[n - 1] == '\n')
                        line[n - 1] = '\0';
                r = util_strv_push(&lines, line);
                if (r < 0)
                        return r;
        }
        if (ferror(file))
                return -EIO;
        *ret = TAKE_PTR(lines);
        return 0;
}

const char *runfile_get(char *const *lines, const char *key) {
        STRV_FOREACH (line, lines) {
                const char *value = util_startswith(*line, key);

                if (value && *value == '=')
                        return value + 1;
        }
        return NULL;
}
