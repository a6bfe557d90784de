/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile-values.h"

/* One kind of section: what its keys are, and where their values go. */
typedef struct SectionRow {
        const char *name;
        /* NULL: it takes no name.  Else `[cpuset NAME]`, and this checks NAME. */
        int (*check_name)(const char *name, char **ret_why);
        const KeyRow *keys;
        size_t n_keys;
        /* Instead of keys: any key.  Checks one line and puts its key into the one form that is compared. */
        int (*check_setting)(ProfileLine *line, char **ret_why);
        /* In what the table describes: an array with one element for each name, or for each line of settings.
         * size 0: the keys are fields of the whole itself. */
        size_t array, n, size;
        void (*init)(void *element);
} SectionRow;

typedef struct KeyTable {
        const SectionRow *sections;
        size_t n;
} KeyTable;

/* The words of a section line: the row (NULL: unknown) and the name behind it ("" for none). */
const SectionRow *keys_section(const KeyTable *table, const char *section, const char **ret_name);
const KeyRow *keys_row(const SectionRow *section, const char *key);

/* Checks every line by itself; what is wrong goes to errors. */
int keys_check(const KeyTable *table, ProfileLines *lines, ProfileErrors *errors);

/* Fills `whole` from merged lines.  Lines that keys_check() found wrong are passed over. */
int keys_apply(const KeyTable *table, const ProfileLines *lines, void *whole);

/* A profile that asks for nothing. */
int profile_new(const char *name, const char *file, Profile **ret);

/* The table of profiles, for a Profile. */
extern const KeyTable profile_keys;
bool profile_needs_key(const char *section, const char *key);

/* Checks what no line shows alone: keys that are missing, names that refer to nothing, rules across keys.  lines are
 * merged and the profile is made from them. */
int profile_check_rules(const Profile *profile, const ProfileLines *lines, ProfileErrors *errors);
