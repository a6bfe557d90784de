/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "outcome.h"

#include <stdarg.h>

static void degraded_done(Degraded *degraded) {
        free(degraded->step);
        free(degraded->state);
        free(degraded->reason);
}

void outcome_done(Outcome *outcome) {
        free(outcome->message);
        for (size_t i = 0; i < outcome->n_degraded; i++)
                degraded_done(&outcome->degraded[i]);
        free(outcome->degraded);
        cpulist_done(&outcome->cycled);
        *outcome = (Outcome){};
}

/* The length of the UTF-8 character at p, as a bus takes it; 0 where there is none. */
static size_t utf8_length(const unsigned char *p) {
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
        uint32_t c = n > 1 ? *p & (0x7fu >> n) : *p;

        for (size_t i = 1; i < n; i++) {
                if (p[i] >> 6 != 2)
                        return 0;
                c = c << 6 | (p[i] & 0x3fu);
        }
        if (n > 0 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
                return 0;
        return (c >= 0xfdd0 && c < 0xfdf0) || (c & 0xfffe) == 0xfffe ? 0 : n;
}

/* Names of control groups and tasks are whatever their users made them; a message of the bus takes UTF-8 only. */
static void make_utf8(char *text) {
        for (char *p = text; *p;) {
                size_t n = utf8_length((const unsigned char *) p);

                if (n == 0)
                        *p = '?';
                p += n ?: 1;
        }
}

int outcome_say(Outcome *outcome, const char *format, ...) {
        _cleanup_free_ char *sentence = NULL;
        char *message;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&sentence, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        make_utf8(sentence);
        if (!outcome->message) {
                outcome->message = TAKE_PTR(sentence);
                return 0;
        }
        r = util_asprintf(&message, "%s\n%s", outcome->message, sentence);
        if (r < 0)
                return r;
        free(outcome->message);
        outcome->message = message;
        return 0;
}

int outcome_add_degraded(Outcome *outcome, const char *step, const char *state, const char *reason) {
        Degraded degraded = { strdup(step), strdup(state), strdup(reason ?: "") };
        int r = degraded.step && degraded.state && degraded.reason
                ? GROW(outcome->degraded, outcome->n_degraded)
                : -ENOMEM;

        if (r < 0) {
                degraded_done(&degraded);
                return r;
        }
        make_utf8(degraded.step);
        make_utf8(degraded.reason);
        outcome->degraded[outcome->n_degraded++] = degraded;
        return 0;
}
