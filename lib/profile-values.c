/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-values.h"

#include <ctype.h>
#include <stdarg.h>
#include <strings.h>

#include "cpuexpr.h"
#include "words.h"

#define NAME_MAX_LENGTH 32
#define PROFILE_NAME_MAX 64
/* The kernel keeps 15 bytes of a program's or a thread's name. */
#define COMM_MAX 15

/* More than any device has. */
#define CHANNELS_MAX 65535

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

int value_wrong(char **ret_why, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(ret_why, format, ap);
        va_end(ap);
        return r < 0 ? r : -EINVAL;
}

int value_find_word(const char *value, const char *const *words) {
        for (int i = 0; words[i]; i++)
                if (streq(words[i], value))
                        return i;
        return -1;
}

int value_join_words(const char *const *words, const char *last, char **ret) {
        _cleanup_free_ char *text = strdup("");

        for (size_t i = 0; text && words[i]; i++) {
                const char *between = i == 0 ? "" : words[i + 1] ? ", " : last;
                char *longer;

                if (util_asprintf(&longer, "%s%s%s", text, between, words[i]) < 0)
                        return -ENOMEM;
                free(text);
                text = longer;
        }
        if (!text)
                return -ENOMEM;
        *ret = TAKE_PTR(text);
        return 0;
}

int value_suggest(const char *word, const char *const *words, char **ret) {
        size_t n = 0;
        const char *near;

        while (words[n])
                n++;
        near = words_nearest(word, words, n);
        return near ? util_asprintf(ret, " (did you mean \"%s\"?)", near) : util_asprintf(ret, "%s", "");
}

int value_not_allowed(const char *value, const char *const *words, char **ret_why) {
        _cleanup_free_ char *quoted = NULL, *list = NULL, *near = NULL;

        if (profile_quote(value, &quoted) < 0 || value_join_words(words, " or ", &list) < 0 ||
                value_suggest(value, words, &near) < 0)
                return -ENOMEM;
        return value_wrong(ret_why, "%s is not allowed; write %s%s", quoted, list, near);
}

/* A sentence about the value: `"value" RULE`. */
static int wrong_value(const char *value, const char *rule, char **ret_why) {
        _cleanup_free_ char *quoted = NULL;

        if (profile_quote(value, &quoted) < 0)
                return -ENOMEM;
        return value_wrong(ret_why, "%s %s", quoted, rule);
}

static int store_text(void *field, const char *value) {
        char **text = field;
        char *copy;

        if (!field)
                return 0;
        copy = strdup(value);
        if (!copy)
                return -ENOMEM;
        free(*text);
        *text = copy;
        return 0;
}

static bool consists_of(const char *text, const char *characters) {
        return *text && text[strspn(text, characters)] == '\0';
}

int value_parse_text(const KeyRow *row, const char *value, void *field, char **ret_why) {
        return store_text(field, value);
}

int value_parse_cpus(const KeyRow *row, const char *value, void *field, char **ret_why) {
        CpuExprError error = {};
        int r = cpuexpr_check(value, &error);

        if (r == -EINVAL) {
                r = value_wrong(
                        ret_why, "column %zu: %s", error.column, error.message ?: "not a CPU expression");
                cpuexpr_error_done(&error);
        }
        return r < 0 ? r : store_text(field, value);
}

/* What is near one of the row's words was meant to be that. */
int value_parse_cpus_or_word(const KeyRow *row, const char *value, void *field, char **ret_why) {
        _cleanup_free_ char *why = NULL, *near = NULL, *list = NULL, *quoted = NULL;
        int r;

        if (value_find_word(value, row->words) >= 0)
                return store_text(field, value);
        r = value_parse_cpus(row, value, field, &why);
        if (r != -EINVAL)
                return r;
        if (value_suggest(value, row->words, &near) < 0 || value_join_words(row->words, " or ", &list) < 0 ||
                profile_quote(value, &quoted) < 0)
                return -ENOMEM;
        return *near
                ? value_wrong(ret_why, "%s is no CPU expression; write one, or %s%s", quoted, list, near)
                : value_wrong(ret_why, "%s; or write %s", why, list);
}

int value_parse_mems(const KeyRow *row, const char *value, void *field, char **ret_why) {
        _cleanup_cpulist_ CpuList nodes = {};
        int r;

        if (!streq(value, "local")) {
                r = cpulist_parse(value, &nodes, NULL);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 || cpulist_is_empty(&nodes))
                        return wrong_value(
                                value, "is no list of NUMA nodes; write one such as 0-1, or local", ret_why);
        }
        return store_text(field, value);
}

int value_parse_cstate(const KeyRow *row, const char *value, void *field, char **ret_why) {
        static const char *const words[] = { "POLL", "any", NULL };

        for (const char *const *word = words; *word; word++)
                if (strcasecmp(value, *word) == 0 && !streq(value, *word))
                        return value_wrong(ret_why, "\"%s\" is written %s", value, *word);
        if (!consists_of(value, UPPER LOWER DIGITS "_.-"))
                return wrong_value(
                        value, "is no idle state; write POLL, C1, the name of a state, or any", ret_why);
        return store_text(field, value);
}

int value_parse_governor(const KeyRow *row, const char *value, void *field, char **ret_why) {
        if (!consists_of(value, LOWER DIGITS "_-"))
                return wrong_value(value,
                        "is no governor; write one of scaling_available_governors, such as performance",
                        ret_why);
        return store_text(field, value);
}

/* Bytes that a name has at least when it matches: all but stars, a bracket for one. */
static size_t pattern_least(const char *pattern) {
        size_t n = 0;

        for (const char *p = pattern; *p; p++) {
                const char *close = *p == '[' && p[1] ? strchr(p + 2, ']') : NULL;

                if (close)
                        p = close;
                else if (*p == '\\' && p[1])
                        p++;
                n += *p != '*';
        }
        return n;
}

int value_parse_patterns(const KeyRow *row, const char *value, void *field, char **ret_why) {
        return store_text(field, value);
}

int value_parse_comms(const KeyRow *row, const char *value, void *field, char **ret_why) {
        _cleanup_strv_ char **patterns = NULL;
        int r = util_strv_split(value, " \t", &patterns);

        if (r < 0)
                return r;
        STRV_FOREACH (pattern, patterns) {
                if (strchr(*pattern, '/'))
                        return wrong_value(*pattern,
                                "never matches: it is compared with a program's own name, not with its path",
                                ret_why);
                if (pattern_least(*pattern) > COMM_MAX)
                        return wrong_value(*pattern,
                                "never matches: the kernel keeps 15 bytes of a name; "
                                "write the first 15, or end it in a star before",
                                ret_why);
        }
        return store_text(field, value);
}

int value_parse_unit(const KeyRow *row, const char *value, void *field, char **ret_why) {
        const char *dot = strrchr(value, '.');

        if (!dot || dot == value || (!streq(dot, ".service") && !streq(dot, ".scope")) ||
                !consists_of(value, UPPER LOWER DIGITS ":_.@\\-"))
                return wrong_value(
                        value, "is no unit that runs programs; write NAME.service or NAME.scope", ret_why);
        return store_text(field, value);
}

int value_check_set_name(const char *name, char **ret_why) {
        if (strlen(name) > NAME_MAX_LENGTH || !islower((unsigned char) *name) ||
                !consists_of(name, LOWER DIGITS "_"))
                return wrong_value(name,
                        "is no name for a set; write a lower-case letter, then lower-case letters, digits "
                        "and "
                        "underscores, 32 characters at most (a dash would nest the slice)",
                        ret_why);
        return 0;
}

int value_check_rule_name(const char *name, char **ret_why) {
        if (strlen(name) > NAME_MAX_LENGTH || !consists_of(name, UPPER LOWER DIGITS "_.@-"))
                return wrong_value(name,
                        "is no name; write letters, digits, and _ . @ -, 32 characters at most", ret_why);
        return 0;
}

bool value_is_profile_name(const char *name) {
        return strlen(name) <= PROFILE_NAME_MAX && *name != '-' &&
                consists_of(name, UPPER LOWER DIGITS "_-");
}

int profile_check_name(const char *name, char **ret_why) {
        if (value_is_profile_name(name))
                return 0;
        return wrong_value(name,
                "is no profile's name, which has letters, digits, - and _, 64 at most, without folder or "
                ".ini, and no dash in front",
                ret_why);
}

int value_parse_set_name(const KeyRow *row, const char *value, void *field, char **ret_why) {
        int r = value_check_set_name(value, ret_why);

        return r < 0 ? r : store_text(field, value);
}

int value_parse_profile_name(const KeyRow *row, const char *value, void *field, char **ret_why) {
        int r = profile_check_name(value, ret_why);

        return r < 0 ? r : store_text(field, value);
}

int value_parse_profile_names(const KeyRow *row, const char *value, void *field, char **ret_why) {
        _cleanup_strv_ char **names = NULL;
        int r = util_strv_split(value, " \t", &names);

        STRV_FOREACH (name, names) {
                r = value_parse_profile_name(row, *name, NULL, ret_why);
                if (r < 0)
                        break;
        }
        return r;
}

int value_parse_word(const KeyRow *row, const char *value, void *field, char **ret_why) {
        if (value_find_word(value, row->words) < 0)
                return value_not_allowed(value, row->words, ret_why);
        return store_text(field, value);
}

int value_parse_list(const KeyRow *row, const char *value, void *field, char **ret_why) {
        _cleanup_strv_ char **list = NULL;
        char ***target = field;
        int r;

        if (!field)
                return 0;
        r = util_strv_split(value, " \t", &list);
        if (r < 0)
                return r;
        util_strv_free(*target);
        *target = TAKE_PTR(list);
        return 0;
}

int value_parse_choice(const KeyRow *row, const char *value, void *field, char **ret_why) {
        int choice = value_find_word(value, row->words);

        if (choice < 0)
                return value_not_allowed(value, row->words, ret_why);
        if (field)
                *(int *) field = choice;
        return 0;
}

static int parse_truth(const KeyRow *row, const char *value, char **ret_why) {
        static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1", NULL };
        int found = value_find_word(value, words);

        return found < 0 ? value_not_allowed(value, row->words, ret_why) : found & 1;
}

int value_parse_bool(const KeyRow *row, const char *value, void *field, char **ret_why) {
        int truth = parse_truth(row, value, ret_why);

        if (truth >= 0 && field)
                *(bool *) field = truth;
        return truth < 0 ? truth : 0;
}

int value_parse_switch(const KeyRow *row, const char *value, void *field, char **ret_why) {
        int truth = parse_truth(row, value, ret_why);

        if (truth >= 0 && field)
                *(int *) field = truth;
        return truth < 0 ? truth : 0;
}

int value_parse_bits(const KeyRow *row, const char *value, void *field, char **ret_why) {
        _cleanup_strv_ char **words = NULL;
        unsigned bits = 0;
        int r = util_strv_split(value, " \t", &words);

        if (r < 0)
                return r;
        STRV_FOREACH (word, words) {
                int bit = value_find_word(*word, row->words);

                if (bit < 0) {
                        _cleanup_free_ char *quoted = NULL, *list = NULL, *near = NULL;

                        if (profile_quote(*word, &quoted) < 0 ||
                                value_join_words(row->words, " and ", &list) < 0 ||
                                value_suggest(*word, row->words, &near) < 0)
                                return -ENOMEM;
                        return value_wrong(ret_why,
                                "%s is not allowed; write any of these, separated by white space: %s%s",
                                quoted, list, near);
                }
                bits |= 1u << bit;
        }
        if (field)
                *(unsigned *) field = bits;
        return 0;
}

int value_parse_channels(const KeyRow *row, const char *value, void *field, char **ret_why) {
        unsigned count = 0;
        bool is_auto = streq(value, "auto");

        if (!is_auto && (util_parse_unsigned(value, &count) < 0 || count > CHANNELS_MAX))
                return wrong_value(value,
                        "is no count of channels; write a number, or auto for one for each CPU", ret_why);
        if (field)
                *(int *) field = is_auto ? NET_AUTO : (int) count;
        return 0;
}

int value_parse_priority(const KeyRow *row, const char *value, void *field, char **ret_why) {
        unsigned priority = 0;

        if (util_parse_unsigned(value, &priority) < 0 || priority > 99)
                return wrong_value(value,
                        "is no priority; write 1 to 99 for fifo and rr, 0 for the other policies", ret_why);
        if (field)
                *(int *) field = (int) priority;
        return 0;
}
