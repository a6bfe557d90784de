/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "value.h"

#include "cpulist.h"

static const char *const kind_names[_VALUE_KIND_MAX] = {
        [VALUE_TEXT] = "text",
        [VALUE_NUMBER] = "number",
        [VALUE_CPULIST] = "cpulist",
        [VALUE_CPUMASK] = "cpumask",
        [VALUE_WITHIN] = "within",
        [VALUE_CHOICE] = "choice",
        [VALUE_PARTITION] = "partition",
};

const char *value_kind_to_string(ValueKind kind) {
        return kind < _VALUE_KIND_MAX ? kind_names[kind] : NULL;
}

ValueKind value_kind_from_string(const char *word) {
        for (unsigned kind = 0; kind < _VALUE_KIND_MAX; kind++)
                if (streq(kind_names[kind], word))
                        return (ValueKind) kind;
        return _VALUE_KIND_MAX;
}

static bool is_space(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The text without white space at its ends: where it starts, and how long it is. */
static const char *trim(const char *text, size_t *ret_length) {
        size_t n;

        while (is_space(*text))
                text++;
        n = strlen(text);
        while (n > 0 && is_space(text[n - 1]))
                n--;
        *ret_length = n;
        return text;
}

static bool text_equal(const char *a, const char *b) {
        size_t n_a, n_b;

        a = trim(a, &n_a);
        b = trim(b, &n_b);
        return n_a == n_b && memcmp(a, b, n_a) == 0;
}

/* The next word of a text, or NULL; *text moves behind it. */
static char *next_word(const char **text) {
        size_t n = 0;
        const char *start;

        while (is_space(**text))
                (*text)++;
        start = *text;
        while (start[n] && !is_space(start[n]))
                n++;
        *text = start + n;
        return n ? strndup(start, n) : NULL;
}

static bool number_equal(const char *a, const char *b) {
        int64_t x, y;

        if (util_parse_i64(a, &x) < 0 || util_parse_i64(b, &y) < 0)
                return streq(a, b);
        return x == y;
}

/* Word by word: sysctls that hold several numbers print them with tabs and are written with spaces. */
static bool numbers_equal(const char *a, const char *b) {
        for (;;) {
                _cleanup_free_ char *x = next_word(&a), *y = next_word(&b);

                if (!x || !y)
                        return !x && !y;
                if (!number_equal(x, y))
                        return false;
        }
}

static bool sets_equal(ValueKind kind, const char *a, const char *b) {
        _cleanup_cpulist_ CpuList x = {}, y = {};

        if (kind == VALUE_CPUMASK) {
                if (cpulist_parse_mask(a, &x) < 0 || cpulist_parse_mask(b, &y) < 0)
                        return text_equal(a, b);
        } else if (cpulist_parse(a, &x, NULL) < 0 || cpulist_parse(b, &y, NULL) < 0)
                return text_equal(a, b);
        return cpulist_equal(&x, &y);
}

/* The one word between two brackets, or NULL. */
static const char *bracketed(const char *text, char opening, char closing, size_t *ret_length) {
        const char *open = strchr(text, opening), *close = open ? strchr(open, closing) : NULL;

        if (!close || memchr(open, ' ', (size_t) (close - open)))
                return NULL;
        *ret_length = (size_t) (close - open) - 1;
        return open + 1;
}

int value_choice(const char *text, char **ret) {
        size_t n;
        const char *start = bracketed(text, '[', ']', &n) ?: bracketed(text, '(', ')', &n);
        char *word;

        if (!start)
                start = trim(text, &n);
        word = strndup(start, n);
        if (!word)
                return -ENOMEM;
        *ret = word;
        return 0;
}

static bool choices_equal(const char *a, const char *b) {
        _cleanup_free_ char *x = NULL, *y = NULL;

        return value_choice(a, &x) >= 0 && value_choice(b, &y) >= 0 && streq(x, y);
}

bool value_equal(ValueKind kind, const char *a, const char *b) {
        if (!a || !b)
                return a == b;
        switch (kind) {
        case VALUE_NUMBER: return numbers_equal(a, b);
        case VALUE_CPULIST:
        case VALUE_CPUMASK:
        case VALUE_WITHIN: return sets_equal(kind, a, b);
        case VALUE_CHOICE: return choices_equal(a, b);
        /* The kernel writes `isolated invalid (why)` for a partition that is none: another text. */
        case VALUE_PARTITION:
        case VALUE_TEXT:
        case _VALUE_KIND_MAX: break;
        }
        return text_equal(a, b);
}

bool value_holds(ValueKind kind, const char *live, const char *wanted, const char *within) {
        _cleanup_cpulist_ CpuList cpus = {}, limit = {};

        if (!live || !wanted)
                return false;
        if (kind != VALUE_WITHIN || !within)
                return value_equal(kind, live, wanted);
        if (cpulist_parse(live, &cpus, NULL) < 0 || cpulist_parse(within, &limit, NULL) < 0)
                return text_equal(live, wanted);
        return !cpulist_is_empty(&cpus) && cpulist_is_subset(&cpus, &limit);
}
