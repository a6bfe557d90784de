/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "outcome.h"

#include <stdarg.h>

#include "text.h"

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

int outcome_say(Outcome *outcome, const char *format, ...) {
        _cleanup_free_ char *raw = NULL, *sentence = NULL;
        char *message;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&raw, format, ap);
        va_end(ap);
        /* Names of control groups and tasks are whatever their users made them: not for a terminal, nor for a bus. */
        r = r ?: text_printable(raw, &sentence);
        if (r < 0)
                return r;
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
        Degraded degraded = {};
        int r = text_printable(step, &degraded.step);

        r = r ?: util_copy(state, &degraded.state);
        r = r ?: text_printable(reason ?: "", &degraded.reason);
        r = r ?: GROW(outcome->degraded, outcome->n_degraded);

        if (r < 0) {
                degraded_done(&degraded);
                return r;
        }
        outcome->degraded[outcome->n_degraded++] = degraded;
        return 0;
}
