/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "util.h"

/* A target: what a stranger can put into one kind of input.  It is called with any bytes, must give back all it
 * takes, and ends the process where something that is promised does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define FUZZ_HOLDS(condition)                                                                               \
        do {                                                                                                \
                if (!(condition)) {                                                                         \
                        (void) fprintf(                                                                     \
                                stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);      \
                        abort();                                                                            \
                }                                                                                           \
        } while (0)

/* The input as a text; it may hold NUL bytes, and has one behind its end. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1);

        FUZZ_HOLDS(text);
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        return text;
}

/* Cuts a text at the first line that is `%%`: what comes behind, or NULL. */
static inline char *fuzz_cut(char *text) {
        char *cut = text ? strstr(text, "\n%%\n") : NULL;

        if (!cut)
                return NULL;
        cut[1] = '\0';
        return cut + 4;
}

/* Sentences reach terminals: nothing in them may speak to one.  Tabs stay. */
static inline bool fuzz_is_printable(const char *text) {
        for (; *text; text++)
                if (((unsigned char) *text < 0x20 && *text != '\t') || *text == 0x7f)
                        return false;
        return true;
}
