/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "words.h"

#include <limits.h>

/* Longer words are no typing mistakes of ours; also bounds the table below. */
#define WORD_MAX_LENGTH 48u

/* Edits (a byte more, less, other, or two neighbours swapped) that make b of a; UINT_MAX for long words. */
static unsigned word_distance(const char *a, const char *b) {
        unsigned table[WORD_MAX_LENGTH + 1][WORD_MAX_LENGTH + 1];
        size_t n = strlen(a), m = strlen(b);

        if (n > WORD_MAX_LENGTH || m > WORD_MAX_LENGTH)
                return UINT_MAX;
        for (size_t i = 0; i <= n; i++)
                table[i][0] = (unsigned) i;
        for (size_t j = 0; j <= m; j++)
                table[0][j] = (unsigned) j;
        for (size_t i = 1; i <= n; i++)
                for (size_t j = 1; j <= m; j++) {
                        unsigned best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

                        if (table[i - 1][j] + 1 < best)
                                best = table[i - 1][j] + 1;
                        if (table[i][j - 1] + 1 < best)
                                best = table[i][j - 1] + 1;
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                                table[i - 2][j - 2] + 1 < best)
                                best = table[i - 2][j - 2] + 1;
                        table[i][j] = best;
                }
        return table[n][m];
}

const char *words_nearest(const char *word, const char *const *known, size_t n_known) {
        unsigned allowed = 1 + (unsigned) strlen(word) / 4, best = UINT_MAX;
        const char *nearest = NULL;

        for (size_t i = 0; i < n_known; i++) {
                unsigned distance = word_distance(word, known[i]);

                /* A word of two letters is one edit from too many others. */
                if (distance > allowed || distance >= strlen(known[i]))
                        continue;
                if (distance < best || (distance == best && util_startswith(known[i], word))) {
                        best = distance;
                        nearest = known[i];
                }
        }
        return nearest;
}
