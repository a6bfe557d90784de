/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static void check(bool ok, const char *what) {
        if (ok)
                return;
        fprintf(stderr, "snapshot: %s: %m\n", what);
        abort();
}

static char *join(const char *a, const char *b, const char *c) {
        char *text = NULL;

        check(util_asprintf(&text, "%s%s%s", a, b, c) == 0, "memory");
        return text;
}

static void read_entry(int at, const char *name, SnapshotEntry *entry) {
        char buffer[65536];
        ssize_t n;

        if (entry->link)
                n = readlinkat(at, name, buffer, sizeof(buffer));
        else {
                _cleanup_close_ int fd = openat(at, name, O_RDONLY | O_CLOEXEC);

                check(fd >= 0, name);
                n = read(fd, buffer, sizeof(buffer));
        }
        check(n >= 0 && n < (ssize_t) sizeof(buffer), name);
        entry->size = (size_t) n;
        entry->text = malloc(entry->size + 1);
        check(entry->text, "memory");
        memcpy(entry->text, buffer, entry->size);
        entry->text[n] = '\0';
}

static void walk(Snapshot *snapshot, int at, const char *prefix) {
        DIR *stream = fdopendir(at);
        struct dirent *d;

        check(stream, prefix);
        while ((d = readdir(stream))) {
                SnapshotEntry entry = { .link = d->d_type == DT_LNK };

                if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                        continue;
                entry.path = join(prefix, d->d_name, d->d_type == DT_DIR ? "/" : "");
                if (d->d_type == DT_DIR) {
                        int fd = openat(dirfd(stream), d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                        check(fd >= 0, entry.path);
                        entry.text = strdup("");
                        walk(snapshot, fd, entry.path);
                } else
                        read_entry(dirfd(stream), d->d_name, &entry);
                check(entry.text && GROW(snapshot->entries, snapshot->n) == 0, "memory");
                snapshot->entries[snapshot->n++] = entry;
        }
        closedir(stream);
}

static int compare_entries(const void *a, const void *b) {
        return strcmp(((const SnapshotEntry *) a)->path, ((const SnapshotEntry *) b)->path);
}

Snapshot *snapshot_take(const char *root) {
        Snapshot *snapshot = calloc(1, sizeof(Snapshot));
        int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        check(snapshot && fd >= 0, root);
        walk(snapshot, fd, "/");
        if (snapshot->n > 0)
                qsort(snapshot->entries, snapshot->n, sizeof(SnapshotEntry), compare_entries);
        return snapshot;
}

void snapshot_free(Snapshot *snapshot) {
        if (!snapshot)
                return;
        for (size_t i = 0; i < snapshot->n; i++) {
                free(snapshot->entries[i].path);
                free(snapshot->entries[i].text);
        }
        free(snapshot->entries);
        free(snapshot);
}

static bool entry_equal(const SnapshotEntry *a, const SnapshotEntry *b) {
        return a->link == b->link && a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* Walks two snapshots side by side; calls back with what is in one only, or differs. */
static void merge(const Snapshot *a, const Snapshot *b,
        void (*differ)(const SnapshotEntry *, const SnapshotEntry *, void *), void *userdata) {
        size_t i = 0, j = 0;

        while (i < a->n || j < b->n) {
                int order = i == a->n ? 1 : j == b->n ? -1 : strcmp(a->entries[i].path, b->entries[j].path);

                if (order < 0)
                        differ(&a->entries[i++], NULL, userdata);
                else if (order > 0)
                        differ(NULL, &b->entries[j++], userdata);
                else {
                        if (!entry_equal(&a->entries[i], &b->entries[j]))
                                differ(&a->entries[i], &b->entries[j], userdata);
                        i++, j++;
                }
        }
}

static void describe(const SnapshotEntry *expected, const SnapshotEntry *found, void *userdata) {
        char **text = userdata;

        if (*text)
                return;
        if (!expected || !found)
                *text = join((expected ?: found)->path, expected ? " is gone" : " was not there", "");
        else
                check(util_asprintf(text, "%s: expected \"%s\", found \"%s\"", expected->path,
                              expected->text, found->text) == 0,
                        "memory");
}

char *snapshot_differ(const Snapshot *expected, const Snapshot *found) {
        char *text = NULL;

        merge(expected, found, describe, &text);
        return text;
}

static void put_back(const SnapshotEntry *expected, const char *path) {
        _cleanup_close_ int fd = -1;

        if (expected->link) {
                check(symlink(expected->text, path) == 0, path);
                return;
        }
        if (expected->path[strlen(expected->path) - 1] == '/') {
                check(mkdir(path, 0755) == 0, path);
                return;
        }
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        check(fd >= 0 && write(fd, expected->text, expected->size) == (ssize_t) expected->size, path);
}

typedef struct Restore {
        const char *root;
        char **extra; /* to be removed, folders after what is in them */
} Restore;

static void restore_entry(const SnapshotEntry *expected, const SnapshotEntry *found, void *userdata) {
        Restore *restore = userdata;
        _cleanup_free_ char *path = join(restore->root, (expected ?: found)->path, "");

        if (!expected)
                check(util_strv_push(&restore->extra, path) == 0, "memory");
        else
                put_back(expected, path);
}

void snapshot_restore(const Snapshot *snapshot, const char *root) {
        _cleanup_snapshot_ Snapshot *now = snapshot_take(root);
        Restore restore = { root, NULL };

        merge(snapshot, now, restore_entry, &restore);
        for (size_t i = util_strv_length(restore.extra); i-- > 0;) {
                const char *path = restore.extra[i];

                check((path[strlen(path) - 1] == '/' ? rmdir(path) : unlink(path)) == 0, path);
        }
        util_strv_free(restore.extra);
}
