/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "starve.h"

#include <errno.h>
#include <execinfo.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who asked: so many of the functions above the allocation. */
#define DEPTH 7
#define MAX 200000

static enum { OFF, COUNTING, FAILING } state;
static size_t count, failing;
static bool failed;
static uint64_t callers[MAX];

static uint64_t caller(void) {
        void *frames[DEPTH];
        int n = backtrace(frames, DEPTH);
        uint64_t sum = 0xcbf29ce484222325u;

        for (int i = 0; i < n; i++)
                sum = (sum ^ (uint64_t) (uintptr_t) frames[i]) * 0x100000001b3u;
        return sum;
}

static bool is_denied(void) {
        bool denied = state == FAILING && count == failing;

        if (state == COUNTING && count < MAX) {
                state = OFF; /* what backtrace() asks for is its own affair */
                callers[count] = caller();
                state = COUNTING;
        }
        if (state != OFF)
                count++;
        failed |= denied;
        if (denied)
                errno = ENOMEM;
        return denied;
}

static void begin(void) {
        count = 0;
        failed = false;
        json_set_alloc_funcs(malloc, free);
}

void starve_count(void) {
        begin();
        state = COUNTING;
}

void starve_at(size_t at) {
        begin();
        failing = at;
        state = FAILING;
}

bool starve_end(void) {
        state = OFF;
        return failed;
}

size_t starve_n(void) {
        return count < MAX ? count : MAX;
}

bool starve_is_first(size_t at) {
        for (size_t i = 0; i < at; i++)
                if (callers[i] == callers[at])
                        return false;
        return true;
}

/* What the linker puts in the place of the C library's. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
int __real_vasprintf(char **ret, const char *format, va_list ap);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
int __wrap_vasprintf(char **ret, const char *format, va_list ap);

void *__wrap_malloc(size_t size) {
        return is_denied() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
        return is_denied() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size) {
        return is_denied() ? NULL : __real_realloc(memory, size);
}

void *__wrap_reallocarray(void *memory, size_t n, size_t size) {
        return is_denied() ? NULL : __real_reallocarray(memory, n, size);
}

char *__wrap_strdup(const char *text) {
        return is_denied() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n) {
        return is_denied() ? NULL : __real_strndup(text, n);
}

int __wrap_vasprintf(char **ret, const char *format, va_list ap) {
        return is_denied() ? -1 : __real_vasprintf(ret, format, ap);
}
