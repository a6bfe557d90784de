/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* What was read of a machine, by path: files with their text, and folders. */
typedef struct CaptureEntry {
        char *path, *text; /* text NULL: a folder, or what only was looked for */
        size_t order;
} CaptureEntry;

typedef struct Capture {
        CaptureEntry *items;
        size_t n;
        int error; /* out of memory meanwhile */
} Capture;

void capture_done(Capture *capture);
#define _cleanup_capture_ _cleanup_(capture_done)

/* From here on everything that is read through the context is noted. */
void capture_begin(Capture *capture, Kfs *kfs);
/* Ends that, sorts, and reads what was only looked for; entries are unique and personal data is taken out of them. */
int capture_end(Capture *capture, Kfs *kfs);
/* Adds a file that was read in another way. */
int capture_add(Capture *capture, const char *path, const char *text);
