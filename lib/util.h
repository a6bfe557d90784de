/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

#define _cleanup_(function) __attribute__((cleanup(function)))
#define _cleanup_free_ _cleanup_(util_freep)
#define _cleanup_strv_ _cleanup_(util_strv_freep)
#define _cleanup_close_ _cleanup_(util_closep)
#define _cleanup_fclose_ _cleanup_(util_fclosep)
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))

/* Defines NAMEp() for _cleanup_(): it calls function() unless the pointer is NULL. */
#define DEFINE_CLEANUP_POINTER(type, function)                                                              \
        static inline void function##p(type **p) {                                                          \
                if (*p)                                                                                     \
                        function(*p);                                                                       \
        }

static inline void util_freep(void *p) {
        free(*(void **) p);
}

static inline void util_closep(int *fd) {
        if (*fd >= 0)
                (void) close(*fd);
}

static inline void util_fclosep(FILE **f) {
        if (*f)
                (void) fclose(*f);
}

/* Hands a pointer to the caller and forgets it, so that a _cleanup_ does not free it. */
#define TAKE_PTR(p)                                                                                         \
        ({                                                                                                  \
                typeof(p) _taken = (p);                                                                     \
                (p) = NULL;                                                                                 \
                _taken;                                                                                     \
        })
#define TAKE_FD(fd)                                                                                         \
        ({                                                                                                  \
                int _taken_fd = (fd);                                                                       \
                (fd) = -1;                                                                                  \
                _taken_fd;                                                                                  \
        })

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

/* Is the text behind the prefix, or NULL where text does not start with it. */
const char *util_startswith(const char *text, const char *prefix);

/* asprintf() that returns 0 or -ENOMEM and leaves *ret alone on failure. */
int util_asprintf(char **ret, const char *format, ...) _printf_(2, 3);
int util_vasprintf(char **ret, const char *format, va_list ap) _printf_(2, 0);

/* strdup() likewise; NULL is copied to nothing: *ret is left alone. */
int util_copy(const char *text, char **ret);

/* Writes all of it, however the kernel cuts it; negative errno. */
int util_write_all(int fd, const char *text, size_t size);

/* A whole unsigned decimal number of ASCII digits, nothing before or behind: 0, -EINVAL or -ERANGE. */
int util_parse_unsigned(const char *text, unsigned *ret);
int util_parse_u64(const char *text, uint64_t *ret);
/* A whole signed decimal number; -EINVAL or -ERANGE. */
int util_parse_i64(const char *text, int64_t *ret);

/* Removes white space (and NUL bytes a captured file may end in) at both ends, in place. */
char *util_strip(char *text);

/* A NULL-terminated array of strings.  util_strv_push() takes a copy; *strv may be NULL. */
void util_strv_free(char **strv);
static inline void util_strv_freep(char ***strv) {
        util_strv_free(*strv);
}
size_t util_strv_length(char *const *strv);
int util_strv_push(char ***strv, const char *text);
bool util_strv_contains(char *const *strv, const char *text);
/* Splits at runs of the separator bytes; empty pieces are left out. */
int util_strv_split(const char *text, const char *separators, char ***ret);
int util_strv_join(char *const *strv, const char *separator, char **ret);
#define STRV_FOREACH(s, strv) for (char *const *s = (strv); s && *s; s++)

/* The elements of an array, by pointer; items may be NULL where there are none (NULL + 0 is not defined). */
#define FOREACH_ITEM(item, items, n)                                                                        \
        for (__typeof__((items) + 0) item = (items); item && item < (items) + (n); item++)

/* Grows an array so that one more element fits; the new room is zeroed.  Returns 0 or -ENOMEM. */
int util_grow(void **array, size_t n, size_t element);
#define GROW(array, n) util_grow((void **) &(array), (n), sizeof(*(array)))

#pragma GCC visibility pop
