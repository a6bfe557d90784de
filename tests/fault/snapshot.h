/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Every file, folder and link of a tree, with what is in it. */
typedef struct SnapshotEntry {
        char *path; /* below the root, with a slash at the end for a folder */
        char *text; /* what a file holds, or where a link points */
        size_t size;
        bool link;
} SnapshotEntry;

typedef struct Snapshot {
        SnapshotEntry *entries; /* sorted by path */
        size_t n;
} Snapshot;

/* These end the program where something fails: they are of use in tests only. */
Snapshot *snapshot_take(const char *root);
void snapshot_free(Snapshot *snapshot);
DEFINE_CLEANUP_POINTER(Snapshot, snapshot_free)
#define _cleanup_snapshot_ _cleanup_(snapshot_freep)

/* NULL where both are the same byte for byte; else the first difference in words, to be freed. */
char *snapshot_differ(const Snapshot *expected, const Snapshot *found);

/* Makes a tree again what it was. */
void snapshot_restore(const Snapshot *snapshot, const char *root);
