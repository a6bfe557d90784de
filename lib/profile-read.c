/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-read.h"

#include <ini.h>
#include <pthread.h>
#include <stdarg.h>

/* inih keeps a section's name in 50 bytes and cuts what is longer without a word. */
#define SECTION_MAX 49

/* inih takes a `:` for a `=`.  Keys such as /sys/bus/pci/devices/0000:00:1f.2/… have some, so they pass it
 * under this name; the reader has refused control characters before. */
#define COLON_MASK '\1'

typedef struct Reader {
        const char *file;
        const char *next, *end; /* the text that is left */
        unsigned n_lines;       /* read so far */
        unsigned first;         /* where the line that inih has now begins */
        char *section;          /* NULL: none yet, or one with a name that is wrong */
        bool in_section;
        ProfileLines *lines;
        ProfileErrors *errors;
        int error;
} Reader;

_printf_(3, 4) static int complain(Reader *reader, unsigned line, const char *format, ...) {
        _cleanup_free_ char *message = NULL;
        va_list ap;

        va_start(ap, format);
        (void) util_vasprintf(&message, format, ap);
        va_end(ap);
        if (!message)
                return -ENOMEM;
        return profile_errors_add(reader->errors, reader->file, line, NULL, NULL, "%s", message);
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

/* How many bytes the UTF-8 character at p has, or 0 where there is none. */
static size_t utf8_length(const char *p, const char *end) {
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        unsigned char first = (unsigned char) *p;
        size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
        uint32_t point = first & (n == 1 ? 0x7fu : 0x7fu >> n);

        if (n == 1)
                return 1;
        if (first < 0xc0 || first > 0xf4 || (size_t) (end - p) < n)
                return 0;
        for (size_t i = 1; i < n; i++) {
                if (((unsigned char) p[i] & 0xc0) != 0x80)
                        return 0;
                point = point << 6 | ((unsigned char) p[i] & 0x3f);
        }
        return point >= least[n] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? n : 0;
}

/* Messages, D-Bus and JSON carry what profiles say: it must be text. */
static const char *not_text(const char *start, const char *end) {
        for (size_t n; start < end; start += n) {
                if (((unsigned char) *start < ' ' && *start != '\t') || *start == 0x7f)
                        return "a control character; profiles are plain text";
                n = utf8_length(start, end);
                if (n == 0)
                        return "bytes that are not UTF-8; profiles are UTF-8 text";
        }
        return NULL;
}

typedef enum LineKind { LINE_NONE, LINE_BLANK, LINE_COMMENT, LINE_TEXT } LineKind;

/* Leaves out the comment, and white space behind what stays. */
static LineKind trim_line(const char *start, const char **end) {
        const char *p = start, *stop = *end;

        while (p < stop && is_blank(*p))
                p++;
        if (p == stop)
                return LINE_BLANK;
        if (*p == '#' || *p == ';')
                return LINE_COMMENT;
        for (; p < stop; p++)
                if (*p == ';' && is_blank(p[-1]))
                        stop = p;
        while (is_blank(stop[-1]))
                stop--;
        *end = stop;
        return LINE_TEXT;
}

/* Takes the next line of the text; LINE_NONE at its end. */
static LineKind take_line(Reader *reader, const char **ret_start, const char **ret_end) {
        const char *start = reader->next, *end;
        LineKind kind;

        if (start >= reader->end)
                return LINE_NONE;
        end = memchr(start, '\n', (size_t) (reader->end - start));
        reader->next = end ? end + 1 : reader->end;
        if (!end)
                end = reader->end;
        if (end > start && end[-1] == '\r')
                end--;
        reader->n_lines++;

        kind = trim_line(start, &end);
        *ret_start = start;
        *ret_end = end;
        return kind;
}

/* Is the next line one that the value goes on in, or a comment that it may go on behind? */
static bool continues(const Reader *reader) {
        return reader->next < reader->end &&
                (is_blank(*reader->next) || *reader->next == ';' || *reader->next == '#');
}

/* `word = …` on an indented line is a key that was indented by mistake, not a part of the value above. */
static bool looks_like_key(const char *start, const char *end) {
        const char *p = start;

        while (p < end && !is_blank(*p) && *p != '=')
                p++;
        while (p < end && is_blank(*p))
                p++;
        return p > start && p < end && *p == '=';
}

/* Appends the lines that a value is continued on; *size bytes of line are in use.  A comment leaves the
 * value open, a blank line ends it. */
static int take_continuations(Reader *reader, char *line, size_t *size) {
        const char *start, *end, *why;
        LineKind kind;
        int r = 0;

        while (r == 0 && continues(reader)) {
                kind = take_line(reader, &start, &end);
                if (kind == LINE_BLANK)
                        break;
                if (kind == LINE_COMMENT)
                        continue;
                while (is_blank(*start))
                        start++;
                why = not_text(start, end);
                if (why)
                        r = complain(reader, reader->n_lines, "%s", why);
                else if (looks_like_key(start, end))
                        r = complain(reader, reader->n_lines,
                                "an indented line continues the value above, and this one looks like a key; "
                                "keys start at the beginning of a line");
                else {
                        line[(*size)++] = ' ';
                        memcpy(line + *size, start, (size_t) (end - start));
                        *size += (size_t) (end - start);
                }
        }
        return r;
}

/* `[cpuset   rt]` → `cpuset rt` */
static int normalize_section(const char *start, const char *end, char **ret) {
        _cleanup_free_ char *text = strndup(start, (size_t) (end - start));
        _cleanup_strv_ char **words = NULL;
        int r;

        if (!text)
                return -ENOMEM;
        r = util_strv_split(text, " \t", &words);
        return r < 0 ? r : util_strv_join(words, " ", ret);
}

/* 1 with a line for inih, 0 where there is nothing to hand on. */
static int take_section(Reader *reader, const char *start, const char *end, char *line) {
        const char *close = memchr(start, ']', (size_t) (end - start));
        _cleanup_free_ char *name = NULL;
        int r;

        free(reader->section);
        reader->section = NULL;
        reader->in_section = true;
        if (!close)
                return complain(reader, reader->n_lines, "a section's name ends in \"]\"");
        if (close + 1 != end)
                return complain(reader, reader->n_lines,
                        "there is text behind the section's name; a comment starts with white space and "
                        "\";\"");
        r = normalize_section(start + 1, close, &name);
        if (r < 0)
                return r;
        if (strlen(name) > SECTION_MAX)
                return complain(reader, reader->n_lines, "a section's name has %u characters at most",
                        (unsigned) SECTION_MAX);
        r = profile_lines_add(reader->lines, name, NULL, NULL, reader->file, reader->n_lines);
        if (r < 0)
                return r;
        (void) sprintf(line, "[%s]\n", name);
        reader->section = TAKE_PTR(name);
        return 1;
}

static int check_key(Reader *reader, const char *start, const char *equals, const char *end) {
        if (!equals)
                return complain(reader, reader->first, "%s",
                        memchr(start, ':', (size_t) (end - start))
                                ? "a line is KEY = VALUE, with \"=\", not \":\""
                                : "a line is [SECTION], KEY = VALUE or a comment");
        while (equals > start && is_blank(equals[-1]))
                equals--;
        if (equals == start)
                return complain(reader, reader->first, "there is no key before \"=\"");
        for (const char *p = start; p < equals; p++)
                if (is_blank(*p))
                        return complain(reader, reader->first,
                                "a key has no white space in it; a line is KEY = VALUE");
        if (!reader->in_section)
                return complain(reader, reader->first, "a key comes after its [SECTION]");
        /* The section's name was wrong, which was said. */
        return reader->section ? 1 : 0;
}

/* 1 with a line for inih, 0 where there is nothing to hand on. */
static int take_key(Reader *reader, const char *start, const char *end, char *line) {
        const char *equals = memchr(start, '=', (size_t) (end - start));
        size_t n = 0;
        int r, handed_on;

        reader->first = reader->n_lines;
        handed_on = check_key(reader, start, equals, end);
        if (handed_on < 0)
                return handed_on;
        for (const char *p = start; p < end; p++)
                line[n++] = *p == ':' && p < equals ? COLON_MASK : *p;
        r = take_continuations(reader, line, &n);
        if (r < 0)
                return r;
        line[n++] = '\n';
        line[n] = '\0';
        return handed_on;
}

/* What inih calls for its next line.  A line never is longer than the text, so that room is enough. */
static char *next_line(char *line, int room, void *userdata) {
        Reader *reader = userdata;
        const char *start, *end, *why;
        LineKind kind;
        int r = 0;

        while (r == 0 && (kind = take_line(reader, &start, &end)) != LINE_NONE) {
                if (kind != LINE_TEXT)
                        continue;
                why = not_text(start, end);
                if (why)
                        r = complain(reader, reader->n_lines, "%s", why);
                else if (is_blank(*start))
                        r = complain(reader, reader->n_lines,
                                "an indented line continues the value above, and there is none; "
                                "sections and keys start at the beginning of a line");
                else if (*start == '[')
                        r = take_section(reader, start, end, line);
                else
                        r = take_key(reader, start, end, line);
        }
        if (r < 0)
                reader->error = r;
        return r > 0 ? line : NULL;
}

/* inih's word for a key and its value. */
static int handle_key(void *userdata, const char *section, const char *key, const char *value) {
        Reader *reader = userdata;
        _cleanup_free_ char *unmasked = strdup(key);
        int r;

        if (!unmasked) {
                reader->error = -ENOMEM;
                return 0;
        }
        for (char *p = unmasked; *p; p++)
                if (*p == COLON_MASK)
                        *p = ':';
        r = profile_lines_add(reader->lines, section, unmasked, value, reader->file, reader->first);
        if (r < 0)
                reader->error = r;
        return r == 0;
}

/* inih's limits are variables of the process (Debian's build has them so): raise them for this call only. */
static int parse_unlimited(Reader *reader, int room) {
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        bool use_stack;
        int initial_alloc, max_line, r;

        (void) pthread_mutex_lock(&lock);
        use_stack = ini_use_stack;
        initial_alloc = ini_initial_alloc;
        max_line = ini_max_line;
        ini_use_stack = false;
        ini_initial_alloc = ini_max_line = room;
        r = ini_parse_stream(next_line, reader, handle_key, reader);
        ini_use_stack = use_stack;
        ini_initial_alloc = initial_alloc;
        ini_max_line = max_line;
        (void) pthread_mutex_unlock(&lock);
        return r == -2 ? -ENOMEM : 0;
}

int profile_read_text(
        const char *file, const char *text, size_t size, ProfileLines *lines, ProfileErrors *errors) {
        Reader reader = { .file = file, .next = text, .end = text + size, .lines = lines, .errors = errors };
        int r;

        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
                reader.next += 3;
        if (size > INT32_MAX - 64)
                return -E2BIG;
        r = parse_unlimited(&reader, (int) size + 64);
        free(reader.section);
        return reader.error < 0 ? reader.error : r;
}
