/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile-lines.h"

typedef struct KeyRow KeyRow;

/* Reads a value that is not empty into the field of the row's key.  field NULL: only checks.  0, -EINVAL with the
 * sentence *ret_why (what is wrong and what is allowed), -ENOMEM. */
typedef int (*ValueParser)(const KeyRow *row, const char *value, void *field, char **ret_why);

typedef enum KeyFlags {
        KEY_NEEDED = 1 << 0, /* its section cannot be without it */
        KEY_QUOTES = 1 << 1, /* free text: quotes are characters like others */
} KeyFlags;

/* One key of a section. */
struct KeyRow {
        const char *key;
        ValueParser parse;
        size_t offset; /* of the field in what the section describes, or KEY_NO_FIELD */
        unsigned flags;
        const char *const *words; /* what may be written, NULL at the end; parsers that take words only */
};

#define KEY_NO_FIELD SIZE_MAX

/* Fields: char *. */
int value_parse_text(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_cpus(const KeyRow *row, const char *value, void *field, char **ret_why); /* CPU expression */
/* The same, or one of row->words. */
int value_parse_cpus_or_word(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_mems(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_cstate(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_governor(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_patterns(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_comms(
        const KeyRow *row, const char *value, void *field, char **ret_why); /* patterns, 15 bytes */
int value_parse_unit(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_set_name(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_profile_name(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_word(
        const KeyRow *row, const char *value, void *field, char **ret_why); /* one of row->words */
/* Field: char **, a list. */
int value_parse_list(const KeyRow *row, const char *value, void *field, char **ret_why);
/* No field. */
int value_parse_profile_names(const KeyRow *row, const char *value, void *field, char **ret_why);
/* Field: int or an enum, the index in row->words. */
int value_parse_choice(const KeyRow *row, const char *value, void *field, char **ret_why);
/* Fields: bool, and int for a switch that may be unset.  Both take yes and no, on and off, true and false, 1 and 0;
 * row->words are the two that messages offer. */
int value_parse_bool(const KeyRow *row, const char *value, void *field, char **ret_why);
int value_parse_switch(const KeyRow *row, const char *value, void *field, char **ret_why);
/* Field: unsigned, the bits of the words' indexes. */
int value_parse_bits(const KeyRow *row, const char *value, void *field, char **ret_why);
/* Field: int, 0 to 99. */
int value_parse_priority(const KeyRow *row, const char *value, void *field, char **ret_why);
/* Field: int, a count of channels, or NET_AUTO. */
int value_parse_channels(const KeyRow *row, const char *value, void *field, char **ret_why);

/* Names.  -EINVAL with the sentence *ret_why. */
int value_check_set_name(const char *name, char **ret_why);
int value_check_rule_name(const char *name, char **ret_why);
bool value_is_profile_name(const char *name);

/* `NAME is not allowed; write A, B or C (did you mean "B"?)`; returns -EINVAL. */
int value_not_allowed(const char *value, const char *const *words, char **ret_why);
/* ` (did you mean "B"?)`, or "" where nothing is near. */
int value_suggest(const char *word, const char *const *words, char **ret);
/* Is it one of the words, which NULL ends?  Its index, or -1. */
int value_find_word(const char *value, const char *const *words);
/* `a, b or c` */
int value_join_words(const char *const *words, const char *last, char **ret);
/* Prints *ret_why and returns -EINVAL, or -ENOMEM. */
int value_wrong(char **ret_why, const char *format, ...) _printf_(2, 3);
