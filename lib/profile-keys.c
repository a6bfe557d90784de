/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-keys.h"

const SectionRow *keys_section(const KeyTable *table, const char *section, const char **ret_name) {
        size_t n = strcspn(section, " ");

        for (const SectionRow *row = table->sections; row < table->sections + table->n; row++)
                if (streq(row->name, section)) {
                        *ret_name = "";
                        return row;
                }
        FOREACH_ITEM (row, table->sections, table->n)
                if (strlen(row->name) == n && strncmp(row->name, section, n) == 0) {
                        *ret_name = section[n] ? section + n + 1 : "";
                        return row;
                }
        return NULL;
}

const KeyRow *keys_row(const SectionRow *section, const char *key) {
        FOREACH_ITEM (row, section->keys, section->n_keys)
                if (streq(row->key, key))
                        return row;
        return NULL;
}

static int unknown_section(const KeyTable *table, const ProfileLine *line, ProfileErrors *errors) {
        _cleanup_free_ const char **words = calloc(table->n + 1, sizeof(char *));
        _cleanup_free_ char *word = strndup(line->section, strcspn(line->section, " ")), *near = NULL;
        _cleanup_free_ char *list = NULL;
        size_t n = 0;

        if (!words || !word)
                return -ENOMEM;
        for (size_t i = 0; i < table->n; i++)
                if (!strchr(table->sections[i].name, ' ')) /* a special case of another */
                        words[n++] = table->sections[i].name;
        if (value_suggest(word, words, &near) < 0 || value_join_words(words, " and ", &list) < 0)
                return -ENOMEM;
        return profile_errors_add_line(
                errors, line, "there is no such section%s; sections are %s", near, list);
}

static int check_section(const KeyTable *table, const ProfileLine *line, ProfileErrors *errors) {
        _cleanup_free_ char *why = NULL;
        const char *name;
        const SectionRow *section = keys_section(table, line->section, &name);
        int r;

        if (!section)
                return unknown_section(table, line, errors);
        if (!section->check_name)
                return !*name ? 0
                              : profile_errors_add_line(errors, line,
                                        "this section takes no name; write [%s]", section->name);
        if (!*name)
                return profile_errors_add_line(
                        errors, line, "this section needs a name; write [%s NAME]", section->name);
        r = section->check_name(name, &why);
        return r != -EINVAL ? r : profile_errors_add_line(errors, line, "%s", why);
}

static int unknown_key(const SectionRow *section, const ProfileLine *line, ProfileErrors *errors) {
        _cleanup_free_ const char **words = calloc(section->n_keys + 1, sizeof(char *));
        _cleanup_free_ char *near = NULL, *list = NULL;

        if (!words)
                return -ENOMEM;
        for (size_t i = 0; i < section->n_keys; i++)
                words[i] = section->keys[i].key;
        if (*line->key == '-' && keys_row(section, line->key + 1))
                return profile_errors_add_line(errors, line,
                        "only keys of [sched_features], [sysctl] and [sysfs] may have a dash; write %s",
                        line->key + 1);
        if (value_suggest(line->key, words, &near) < 0 || value_join_words(words, " and ", &list) < 0)
                return -ENOMEM;
        return profile_errors_add_line(errors, line, "there is no such key%s; keys of [%s%s] are %s", near,
                section->name, section->check_name ? " NAME" : "", list);
}

static bool has_quotes(const char *value) {
        return strchr("\"'", value[0]) || strchr("\"'", value[strlen(value) - 1]);
}

static int check_key(const KeyTable *table, ProfileLine *line, ProfileErrors *errors) {
        _cleanup_free_ char *why = NULL;
        const char *name;
        const SectionRow *section = keys_section(table, line->section, &name);
        const KeyRow *row;
        int r;

        if (!section)
                return 0; /* said at the section's own line */
        if (section->check_setting) {
                r = section->check_setting(line, &why);
                return r != -EINVAL ? r : profile_errors_add_line(errors, line, "%s", why);
        }
        row = keys_row(section, line->key);
        if (!row)
                return unknown_key(section, line, errors);
        if (!*line->value)
                return 0;
        if (!(row->flags & KEY_QUOTES) && has_quotes(line->value))
                return profile_errors_add_line(
                        errors, line, "quotes are not allowed here; write the value alone");
        r = row->parse(row, line->value, NULL, &why);
        return r != -EINVAL ? r : profile_errors_add_line(errors, line, "%s", why);
}

int keys_check(const KeyTable *table, ProfileLines *lines, ProfileErrors *errors) {
        FOREACH_ITEM (line, lines->items, lines->n) {
                int r = line->key ? check_key(table, line, errors) : check_section(table, line, errors);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Adds an element to the section's array in `whole`.  Its first member is its name or key. */
static int add_element(const SectionRow *section, void *whole, const char *name, void **ret) {
        char **array = (char **) ((char *) whole + section->array);
        size_t *n = (size_t *) (void *) ((char *) whole + section->n);
        char *copy, *element;

        copy = strdup(name);
        if (!copy || util_grow((void **) array, *n, section->size) < 0) {
                free(copy);
                return -ENOMEM;
        }
        element = *array + *n * section->size;
        *(char **) (void *) element = copy;
        (*n)++;
        if (section->init)
                section->init(element);
        *ret = element;
        return 0;
}

/* Merged lines have a section's keys in one place: it is the last element, or a new one. */
static int named_element(const SectionRow *section, void *whole, const char *name, void **ret) {
        char *array = *(char **) (void *) ((char *) whole + section->array);
        size_t n = *(size_t *) (void *) ((char *) whole + section->n);
        char *last = n > 0 ? array + (n - 1) * section->size : NULL;

        if (!last || !streq(*(char **) (void *) last, name))
                return add_element(section, whole, name, ret);
        *ret = last;
        return 0;
}

static int apply_setting(const SectionRow *section, const ProfileLine *line, void *whole) {
        ProfileSetting *setting;
        void *element;
        int r = add_element(section, whole, profile_key_name(line->key), &element);

        if (r < 0)
                return r;
        setting = element;
        setting->value = strdup(line->value);
        setting->optional = *line->key == '-';
        setting->source = (ProfileSource){ strdup(line->source.file), line->source.line };
        return setting->value && setting->source.file ? 0 : -ENOMEM;
}

static int apply_key(const SectionRow *section, const char *name, const ProfileLine *line, void *whole) {
        const KeyRow *row = keys_row(section, line->key);
        _cleanup_free_ char *why = NULL;
        void *element = whole;
        int r = 0;

        if (section->size > 0)
                r = named_element(section, whole, name, &element);
        if (r < 0 || !row)
                return r;
        r = row->parse(
                row, line->value, row->offset == KEY_NO_FIELD ? NULL : (char *) element + row->offset, &why);
        return r == -EINVAL ? 0 : r;
}

int keys_apply(const KeyTable *table, const ProfileLines *lines, void *whole) {
        FOREACH_ITEM (line, lines->items, lines->n) {
                const char *name;
                const SectionRow *section = keys_section(table, line->section, &name);
                int r = 0;

                if (!section || !line->key)
                        continue;
                if (section->check_setting)
                        r = apply_setting(section, line, whole);
                else
                        r = apply_key(section, name, line, whole);
                if (r < 0)
                        return r;
        }
        return 0;
}
