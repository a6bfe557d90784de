/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-lines.h"

#include <stdarg.h>

#include "text.h"

#define ERRORS_MAX 1000
#define QUOTE_MAX 60

void profile_line_done(ProfileLine *line) {
        free(line->section);
        free(line->key);
        free(line->value);
        free(line->source.file);
        *line = (ProfileLine){};
}

void profile_lines_done(ProfileLines *lines) {
        for (size_t i = 0; i < lines->n; i++)
                profile_line_done(lines->items + i);
        free(lines->items);
        *lines = (ProfileLines){};
}

int profile_lines_add(ProfileLines *lines, const char *section, const char *key, const char *value,
        const char *file, unsigned line) {
        ProfileLine added = {
                .section = strdup(section),
                .key = key ? strdup(key) : NULL,
                .value = value ? strdup(value) : NULL,
                .source = { strdup(file), line },
        };

        if (!added.section || (key && !added.key) || (value && !added.value) || !added.source.file ||
                GROW(lines->items, lines->n) < 0) {
                profile_line_done(&added);
                return -ENOMEM;
        }
        lines->items[lines->n++] = added;
        return 0;
}

int profile_lines_append(ProfileLines *lines, ProfileLines *from) {
        for (size_t i = 0; i < from->n; i++) {
                if (GROW(lines->items, lines->n) < 0) {
                        /* What was moved already must not be freed twice. */
                        memmove(from->items, from->items + i, (from->n - i) * sizeof(*from->items));
                        from->n -= i;
                        return -ENOMEM;
                }
                lines->items[lines->n++] = from->items[i];
        }
        free(from->items);
        *from = (ProfileLines){};
        return 0;
}

const char *profile_key_name(const char *key) {
        return key && *key == '-' ? key + 1 : key;
}

static int compare_keys(const char *a, const char *b) {
        if (!a || !b)
                return !!a - !!b;
        return strcmp(profile_key_name(a), profile_key_name(b));
}

const ProfileLine *profile_lines_find(const ProfileLines *lines, const char *section, const char *key) {
        const ProfileLine *found = NULL;

        FOREACH_ITEM (line, lines->items, lines->n)
                if (streq(line->section, section) && compare_keys(line->key, key) == 0) {
                        found = line;
                        if (!key)
                                break;
                }
        return found;
}

/* A line while lines are merged: where it was read, and where it goes. */
typedef struct Entry {
        ProfileLine *line;
        size_t at;           /* place in the order of reading */
        size_t section, key; /* places of the section's and the key's first lines */
        bool stays;
} Entry;

static int compare_names(const void *va, const void *vb) {
        const Entry *a = va, *b = vb;
        int c = strcmp(a->line->section, b->line->section);

        if (c == 0)
                c = compare_keys(a->line->key, b->line->key);
        return c != 0 ? c : (a->at > b->at) - (a->at < b->at);
}

static int compare_places(const void *va, const void *vb) {
        const Entry *a = va, *b = vb;

        if (a->section != b->section)
                return a->section < b->section ? -1 : 1;
        return (a->key > b->key) - (a->key < b->key);
}

static size_t same_section(const Entry *entries, size_t n) {
        size_t i = 1;

        while (i < n && streq(entries[i].line->section, entries->line->section))
                i++;
        return i;
}

static size_t same_key(const Entry *entries, size_t n) {
        size_t i = 1;

        while (i < n && compare_keys(entries[i].line->key, entries->line->key) == 0)
                i++;
        return i;
}

/* entries are the lines of one section, sorted by key and place. */
static int merge_section(Entry *entries, size_t n, ProfileNeeded needed, ProfileErrors *errors) {
        size_t first = entries->at;
        bool removed = false;
        int r;

        for (size_t i = 1; i < n; i++)
                first = entries[i].at < first ? entries[i].at : first;

        for (size_t i = 0, step; i < n; i += step) {
                const ProfileLine *head = entries[i].line;
                Entry *last;

                step = same_key(entries + i, n - i);
                /* Of a section's own lines the first is kept, for messages. */
                last = head->key ? entries + i + step - 1 : entries + i;
                last->section = first;
                last->key = entries[i].at;
                last->stays = !head->key || *last->line->value;
                if (!head->key || !needed(head->section, head->key))
                        continue;
                if (!*last->line->value)
                        removed = true;
                if (!*head->value) {
                        r = profile_errors_add_line(errors, head,
                                "empty, which takes away a [%s] that was read earlier, and there is none; "
                                "give it a value",
                                head->section);
                        if (r < 0)
                                return r;
                }
        }
        for (size_t i = 0; removed && i < n; i++)
                entries[i].stays = false;
        return 0;
}

int profile_lines_merge(ProfileLines *lines, ProfileNeeded needed, ProfileErrors *errors) {
        _cleanup_free_ Entry *entries = calloc(lines->n + 1, sizeof(Entry));
        _cleanup_free_ ProfileLine *merged = calloc(lines->n + 1, sizeof(ProfileLine));
        size_t n = 0;

        if (!entries || !merged)
                return -ENOMEM;
        for (size_t i = 0; i < lines->n; i++)
                entries[i] = (Entry){ .line = lines->items + i, .at = i };
        qsort(entries, lines->n, sizeof(Entry), compare_names);

        for (size_t i = 0, step; i < lines->n; i += step) {
                step = same_section(entries + i, lines->n - i);
                int r = merge_section(entries + i, step, needed, errors);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < lines->n; i++)
                if (entries[i].stays)
                        entries[n++] = entries[i];
        qsort(entries, n, sizeof(Entry), compare_places);
        for (size_t i = 0; i < n; i++) {
                merged[i] = *entries[i].line;
                *entries[i].line = (ProfileLine){};
        }
        profile_lines_done(lines);
        *lines = (ProfileLines){ TAKE_PTR(merged), n };
        return 0;
}

static void error_done(ProfileError *error) {
        free(error->file);
        free(error->key);
        free(error->message);
}

void profile_errors_done(ProfileErrors *errors) {
        for (size_t i = 0; i < errors->n; i++)
                error_done(errors->items + i);
        free(errors->items);
        *errors = (ProfileErrors){};
}

static int error_key(const char *section, const char *key, char **ret) {
        if (!section && !key)
                return 0;
        return util_asprintf(ret, "%s%s%s", section ?: "", section && key ? ": " : "", key ?: "");
}

_printf_(6, 0) static int errors_vadd(ProfileErrors *errors, const char *file, unsigned line,
        const char *section, const char *key, const char *format, va_list ap) {
        ProfileError error = { .line = line };
        bool full = errors->n == ERRORS_MAX;

        if (errors->n > ERRORS_MAX)
                return 0;
        if (full)
                error.message = strdup("and more errors, which are not shown");
        else if (vasprintf(&error.message, format, ap) < 0)
                error.message = NULL;
        error.file = strdup(file);
        if (!error.message || !error.file || (!full && error_key(section, key, &error.key) < 0) ||
                GROW(errors->items, errors->n) < 0) {
                error_done(&error);
                return -ENOMEM;
        }
        errors->items[errors->n++] = error;
        return 0;
}

static int lines_add_copy(ProfileLines *lines, const ProfileLine *line, const char *section) {
        return profile_lines_add(
                lines, section, line->key, line->value, line->source.file, line->source.line);
}

/* The keys of every set that one lacks; first and n are its own lines. */
static int inherit_keys(const ProfileLines *from, const ProfileLine *first, size_t n, ProfileLines *lines) {
        for (const ProfileLine *line = from->items; line < from->items + from->n; line++) {
                bool own = false;
                int r;

                if (!line->key || !streq(line->section, PROFILE_EVERY_SET))
                        continue;
                for (size_t i = 0; !own && i < n; i++)
                        own = first[i].key && streq(first[i].key, line->key);
                r = own ? 0 : lines_add_copy(lines, line, first->section);
                if (r < 0)
                        return r;
        }
        return 0;
}

int profile_lines_inherit(ProfileLines *lines) {
        _cleanup_profile_lines_ ProfileLines all = {};
        size_t n = 0;

        for (size_t i = 0; i < lines->n; i += n) {
                const ProfileLine *first = &lines->items[i];
                int r = 0;

                for (n = 0; i + n < lines->n && streq(first[n].section, first->section); n++) {
                        r = lines_add_copy(&all, &first[n], first->section);
                        if (r < 0)
                                return r;
                }
                if (util_startswith(first->section, "cpuset ") && !streq(first->section, PROFILE_EVERY_SET))
                        r = inherit_keys(lines, first, n, &all);
                if (r < 0)
                        return r;
        }
        profile_lines_done(lines);
        *lines = all;
        all = (ProfileLines){};
        return 0;
}

int profile_errors_add(ProfileErrors *errors, const char *file, unsigned line, const char *section,
        const char *key, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = errors_vadd(errors, file, line, section, key, format, ap);
        va_end(ap);
        return r;
}

int profile_errors_add_line(ProfileErrors *errors, const ProfileLine *line, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = errors_vadd(errors, line->source.file, line->source.line, line->section, line->key, format, ap);
        va_end(ap);
        return r;
}

int profile_error_sentence(const ProfileError *error, char **ret) {
        _cleanup_free_ char *raw = NULL;
        char line[16] = "";
        int r;

        if (error->line > 0)
                (void) snprintf(line, sizeof(line), ":%u", error->line);
        r = util_asprintf(&raw, "%s%s: %s%s%s", error->file, line, error->key ?: "", error->key ? ": " : "",
                error->message);
        /* Names of files and sections are whatever somebody wrote. */
        return r ?: text_printable(raw, ret);
}

static size_t file_place(const char *file, char *const *files) {
        size_t n = 0;

        STRV_FOREACH (f, files) {
                if (streq(*f, file))
                        break;
                n++;
        }
        return n;
}

static int compare_errors(const void *va, const void *vb, void *files) {
        const ProfileError *a = va, *b = vb;
        size_t place_a = file_place(a->file, files), place_b = file_place(b->file, files);

        if (place_a != place_b)
                return place_a < place_b ? -1 : 1;
        return (a->line > b->line) - (a->line < b->line);
}

void profile_errors_sort(ProfileErrors *errors, char *const *files) {
        /* glibc sorts by merging, so that errors of one line stay in their order. */
        if (errors->n > 1)
                qsort_r(errors->items, errors->n, sizeof(*errors->items), compare_errors, (void *) files);
}

int profile_quote(const char *text, char **ret) {
        _cleanup_free_ char *printable = NULL;
        size_t n;
        int r = text_printable(text, &printable);

        if (r < 0)
                return r;
        text = printable;
        n = strlen(text);
        if (n <= QUOTE_MAX)
                return util_asprintf(ret, "\"%s\"", text);
        /* Not in the middle of a UTF-8 character. */
        for (n = QUOTE_MAX; n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80;)
                n--;
        return util_asprintf(ret, "\"%.*s…\"", (int) n, text);
}
