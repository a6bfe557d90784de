/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"

/* What the readers of INI files share: their lines and their errors. */

/* Lines of one or more files in the order they were read.  A line with the key NULL is a section's own. */
typedef struct ProfileLines {
        ProfileLine *items;
        size_t n;
} ProfileLines;

void profile_line_done(ProfileLine *line);
void profile_lines_done(ProfileLines *lines);
#define _cleanup_profile_lines_ _cleanup_(profile_lines_done)

/* Copies its texts; key and value may be NULL. */
int profile_lines_add(ProfileLines *lines, const char *section, const char *key, const char *value,
        const char *file, unsigned line);
/* Appends all of *from, which is empty afterwards. */
int profile_lines_append(ProfileLines *lines, ProfileLines *from);
/* The last line of that section and key (NULL: its first own line), or NULL. */
const ProfileLine *profile_lines_find(const ProfileLines *lines, const char *section, const char *key);

/* A key without the dash that marks it optional: what tells keys of one section apart. */
const char *profile_key_name(const char *key);

/* Is the key one that a section cannot be without? */
typedef bool (*ProfileNeeded)(const char *section, const char *key);

/* Merges: of each section and key the last line stays, at the place of the first; an empty value takes the
 * key away, and an empty value of a key that its section cannot be without takes the whole section away (it
 * is an error where nothing came before).  Sections come in the order of their first lines. */
int profile_lines_merge(ProfileLines *lines, ProfileNeeded needed, ProfileErrors *errors);

/* The section of what every set has unless it says otherwise. */
#define PROFILE_EVERY_SET "cpuset *"
/* Gives the sections of sets, in merged lines, the keys of that section which they lack. */
int profile_lines_inherit(ProfileLines *lines);

/* Records an error; section and key may be NULL.  Far more of them than anybody reads are counted no
 * further. */
int profile_errors_add(ProfileErrors *errors, const char *file, unsigned line, const char *section,
        const char *key, const char *format, ...) _printf_(6, 7);
/* The same for a line. */
int profile_errors_add_line(ProfileErrors *errors, const ProfileLine *line, const char *format, ...)
        _printf_(3, 4);
/* By file, in the order of `files`, and line. */
void profile_errors_sort(ProfileErrors *errors, char *const *files);

/* A text as messages quote it: in quotes, control characters escaped, and cut where nobody would read on. */
int profile_quote(const char *text, char **ret);
