/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "counts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "cpulist.h"

static const char *const files[] = { "interrupts", "softirqs", "stat" };

void counts_done(Counts *counts) {
        for (size_t i = 0; i < counts->n_rows; i++)
                free(counts->names[i]);
        free(counts->names);
        free(counts->counts);
        *counts = (Counts){};
}

/* The CPUs that head the columns, and one more than the highest. */
static int parse_heading(const char *line, unsigned **ret, size_t *ret_n, size_t *ret_cpus) {
        _cleanup_strv_ char **words = NULL;
        _cleanup_free_ unsigned *cpus = NULL;
        size_t n = 0, width = 0;
        int r = util_strv_split(line, " \t", &words);

        STRV_FOREACH (word, words) {
                const char *number = util_startswith(*word, "CPU");

                r = r < 0 ? r : GROW(cpus, n);
                if (r < 0)
                        return r;
                if (!number || util_parse_unsigned(number, &cpus[n]) < 0 || cpus[n] > CPULIST_MAX)
                        return -EBADMSG;
                width = cpus[n] >= width ? cpus[n] + 1 : width;
                n++;
        }
        if (r < 0 || n == 0)
                return r < 0 ? r : -EBADMSG;
        *ret = TAKE_PTR(cpus);
        *ret_n = n;
        *ret_cpus = width;
        return 0;
}

/* 1 where the row has a number for each column. */
static int parse_numbers(const char *p, const unsigned *cpus, size_t n, uint64_t *row) {
        char *end;

        for (size_t i = 0; i < n; i++, p = end) {
                p += strspn(p, " \t");
                if (*p < '0' || *p > '9')
                        return 0;
                row[cpus[i]] = strtoull(p, &end, 10);
        }
        return 1;
}

static int add_row(Counts *counts, char *line, const unsigned *cpus, size_t n) {
        char *colon = strchr(line, ':');
        uint64_t *grown;
        int r;

        if (!colon)
                return 0;
        *colon = '\0';
        r = GROW(counts->names, counts->n_rows);
        if (r < 0)
                return r;
        /* Powers of two, as GROW() does for the names. */
        if ((counts->n_rows & (counts->n_rows - 1)) == 0) {
                size_t rows = counts->n_rows ? counts->n_rows * 2 : 1;

                grown = reallocarray(counts->counts, rows, counts->n_cpus * sizeof(uint64_t));
                if (!grown)
                        return -ENOMEM;
                counts->counts = grown;
        }
        grown = counts->counts + counts->n_rows * counts->n_cpus;
        memset(grown, 0, counts->n_cpus * sizeof(uint64_t));
        if (!parse_numbers(colon + 1, cpus, n, grown))
                return 0;
        counts->names[counts->n_rows] = strdup(util_strip(line));
        if (!counts->names[counts->n_rows])
                return -ENOMEM;
        counts->n_rows++;
        return 0;
}

int counts_parse(const char *text, Counts *ret) {
        _cleanup_free_ char *copy = strdup(text);
        _cleanup_free_ unsigned *cpus = NULL;
        _cleanup_counts_ Counts counts = {};
        char *state = NULL, *line;
        size_t n = 0;
        int r;

        if (!copy)
                return -ENOMEM;
        line = strtok_r(copy, "\n", &state);
        r = line ? parse_heading(line, &cpus, &n, &counts.n_cpus) : -EBADMSG;
        while (r == 0 && (line = strtok_r(NULL, "\n", &state)))
                r = add_row(&counts, line, cpus, n);
        if (r < 0)
                return r;
        *ret = counts;
        counts = (Counts){};
        return 0;
}

int counts_read(Kfs *kfs, const char *file, Counts *ret) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_read(kfs, file, &text);

        return r < 0 ? r : counts_parse(text, ret);
}

ssize_t counts_row(const Counts *counts, const char *name) {
        for (size_t i = 0; i < counts->n_rows; i++)
                if (streq(counts->names[i], name))
                        return (ssize_t) i;
        return -1;
}

uint64_t counts_get(const Counts *counts, ssize_t row, unsigned cpu) {
        return row < 0 || cpu >= counts->n_cpus ? 0 : counts->counts[(size_t) row * counts->n_cpus + cpu];
}

static int save_file(Kfs *kfs, const char *directory, const char *name) {
        _cleanup_free_ char *text = NULL, *path = NULL;
        _cleanup_close_ int fd = -1;
        size_t size = 0;
        int r;

        r = util_asprintf(&path, "%s/%s", directory, name);
        if (r < 0)
                return r;
        (void) unlink(path);
        r = util_asprintf(&text, "/proc/%s", name);
        if (r >= 0) {
                _cleanup_free_ char *object = TAKE_PTR(text);

                r = kfs_read_raw(kfs, object, &text, &size);
        }
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        /* Whatever the umask of the daemon. */
        r = fchmod(fd, 0644) < 0 ? -errno : util_write_all(fd, text, size);
        if (r < 0)
                (void) unlink(path);
        return r;
}

int counts_save(Kfs *kfs, const char *directory) {
        int r = 0;

        if (mkdir(directory, 0755) < 0 && errno != EEXIST)
                return -errno;
        if (chmod(directory, 0755) < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                int error = save_file(kfs, directory, files[i]);

                r = r < 0 ? r : error;
        }
        return r;
}
