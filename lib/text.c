/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"

static bool is_continuation(unsigned char c) {
        return (c & 0xc0) == 0x80;
}

/* Length of a well-formed character. */
static size_t text_sequence(const char *text) {
        const unsigned char *p = (const unsigned char *) text;

        if (p[0] == 0)
                return 0;
        if (p[0] < 0x80)
                return 1;
        if (p[0] >= 0xc2 && p[0] <= 0xdf)
                return is_continuation(p[1]) ? 2 : 0;
        if ((p[0] & 0xf0) == 0xe0) {
                /* Neither overlong forms nor surrogates. */
                if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
                        return 0;
                return is_continuation(p[1]) && is_continuation(p[2]) ? 3 : 0;
        }
        if (p[0] >= 0xf0 && p[0] <= 0xf4) {
                if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
                        return 0;
                return is_continuation(p[1]) && is_continuation(p[2]) && is_continuation(p[3]) ? 4 : 0;
        }
        return 0;
}

/* U+FDD0 to U+FDEF, and the last two of every plane, which a bus does not carry. */
static bool is_noncharacter(const unsigned char *p, size_t length) {
        if (length == 3 && p[0] == 0xef)
                return (p[1] == 0xb7 && p[2] >= 0x90 && p[2] <= 0xaf) || (p[1] == 0xbf && p[2] >= 0xbe);
        return length == 4 && (p[1] & 0x0f) == 0x0f && p[2] == 0xbf && p[3] >= 0xbe;
}

size_t text_character(const char *text) {
        size_t length = text_sequence(text);

        return is_noncharacter((const unsigned char *) text, length) ? 0 : length;
}

/* C0, DEL, and C1 as UTF-8 (0xc2 0x80 to 0xc2 0x9f). */
static bool is_control(const char *text, size_t length) {
        unsigned char first = (unsigned char) text[0];

        if (length == 1)
                return first < 0x20 || first == 0x7f;
        return length == 2 && first == 0xc2 && (unsigned char) text[1] < 0xa0;
}

static int text_escape(const char *text, bool controls, char **ret) {
        char *escaped = malloc(strlen(text) * 4 + 1), *end = escaped;

        if (!escaped)
                return -ENOMEM;
        while (*text) {
                size_t length = text_character(text);
                bool escape = length == 0 || (controls && is_control(text, length));

                if (length == 0)
                        length = 1;
                for (size_t i = 0; i < length; i++) {
                        if (escape)
                                end += sprintf(end, "\\x%02x", (unsigned char) text[i]);
                        else
                                *end++ = text[i];
                }
                text += length;
        }
        *end = '\0';
        *ret = escaped;
        return 0;
}

int text_printable(const char *text, char **ret) {
        return text_escape(text, true, ret);
}

int text_utf8(const char *text, char **ret) {
        return text_escape(text, false, ret);
}
