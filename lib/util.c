/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "util.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>

const char *util_startswith(const char *text, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

int util_vasprintf(char **ret, const char *format, va_list ap) {
        char *text;

        if (vasprintf(&text, format, ap) < 0)
                return -ENOMEM;
        *ret = text;
        return 0;
}

int util_asprintf(char **ret, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(ret, format, ap);
        va_end(ap);
        return r;
}

int util_copy(const char *text, char **ret) {
        char *copy;

        if (!text)
                return 0;
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

int util_write_all(int fd, const char *text, size_t size) {
        while (size > 0) {
                ssize_t n = write(fd, text, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                /* Nothing taken and no error: asking again would go on for ever. */
                if (n == 0)
                        return -EIO;
                text += n;
                size -= (size_t) n;
        }
        return 0;
}

int util_parse_u64(const char *text, uint64_t *ret) {
        uint64_t value = 0;

        if (!*text)
                return -EINVAL;
        for (const char *p = text; *p; p++) {
                if (*p < '0' || *p > '9')
                        return -EINVAL;
                if (__builtin_mul_overflow(value, (uint64_t) 10, &value) ||
                        __builtin_add_overflow(value, (uint64_t) (*p - '0'), &value))
                        return -ERANGE;
        }
        *ret = value;
        return 0;
}

int util_parse_unsigned(const char *text, unsigned *ret) {
        uint64_t value;
        int r = util_parse_u64(text, &value);

        if (r < 0)
                return r;
        if (value > UINT_MAX)
                return -ERANGE;
        *ret = (unsigned) value;
        return 0;
}

int util_parse_i64(const char *text, int64_t *ret) {
        bool negative = *text == '-';
        uint64_t value;
        int r = util_parse_u64(text + negative, &value);

        if (r < 0)
                return r;
        if (value > (uint64_t) INT64_MAX)
                return -ERANGE;
        *ret = negative ? -(int64_t) value : (int64_t) value;
        return 0;
}

char *util_strip(char *text) {
        char *end;

        while (isspace((unsigned char) *text))
                text++;
        end = text + strlen(text);
        while (end > text && isspace((unsigned char) end[-1]))
                *--end = '\0';
        return text;
}

void util_strv_free(char **strv) {
        STRV_FOREACH (s, strv)
                free(*s);
        free(strv);
}

size_t util_strv_length(char *const *strv) {
        size_t n = 0;

        STRV_FOREACH (s, strv)
                n++;
        return n;
}

int util_strv_push(char ***strv, const char *text) {
        size_t n = util_strv_length(*strv);
        _cleanup_free_ char *copy = strdup(text);
        char **grown;

        if (!copy)
                return -ENOMEM;
        grown = realloc(*strv, (n + 2) * sizeof(char *));
        if (!grown)
                return -ENOMEM;
        grown[n] = TAKE_PTR(copy);
        grown[n + 1] = NULL;
        *strv = grown;
        return 0;
}

bool util_strv_contains(char *const *strv, const char *text) {
        STRV_FOREACH (s, strv)
                if (streq(*s, text))
                        return true;
        return false;
}

int util_strv_split(const char *text, const char *separators, char ***ret) {
        _cleanup_free_ char *copy = strdup(text);
        _cleanup_strv_ char **pieces = calloc(1, sizeof(char *));
        char *state = NULL;

        if (!copy || !pieces)
                return -ENOMEM;
        for (char *p = strtok_r(copy, separators, &state); p; p = strtok_r(NULL, separators, &state)) {
                int r = util_strv_push(&pieces, p);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(pieces);
        return 0;
}

int util_strv_join(char *const *strv, const char *separator, char **ret) {
        size_t size = 1;
        char *text, *end;

        STRV_FOREACH (s, strv)
                size += strlen(*s) + strlen(separator);
        text = end = calloc(1, size);
        if (!text)
                return -ENOMEM;
        STRV_FOREACH (s, strv) {
                if (s != strv)
                        end = stpcpy(end, separator);
                end = stpcpy(end, *s);
        }
        *ret = text;
        return 0;
}

int util_grow(void **array, size_t n, size_t element) {
        char *grown;

        /* Powers of two: growing is only needed when n is one. */
        if (n != 0 && (n & (n - 1)) != 0)
                return 0;
        grown = reallocarray(*array, n ? n * 2 : 1, element);
        if (!grown)
                return -ENOMEM;
        memset(grown + n * element, 0, (n ? n : 1) * element);
        *array = grown;
        return 0;
}
