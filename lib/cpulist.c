/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpulist.h"

#define WORD_BITS 64u

void cpulist_done(CpuList *list) {
        free(list->words);
        *list = (CpuList){ 0 };
}

int cpulist_copy(const CpuList *list, CpuList *ret) {
        CpuList copy = { .n_words = list->n_words };

        if (list->n_words > 0) {
                copy.words = calloc(list->n_words, sizeof(uint64_t));
                if (!copy.words)
                        return -ENOMEM;
                memcpy(copy.words, list->words, list->n_words * sizeof(uint64_t));
        }
        *ret = copy;
        return 0;
}

CpuList cpulist_take(CpuList *list) {
        CpuList taken = *list;

        *list = (CpuList){ 0 };
        return taken;
}

static int cpulist_widen(CpuList *list, size_t n_words) {
        uint64_t *words;

        if (list->words && n_words <= list->n_words)
                return 0;
        words = reallocarray(list->words, n_words, sizeof(uint64_t));
        if (!words)
                return -ENOMEM;
        memset(words + list->n_words, 0, (n_words - list->n_words) * sizeof(uint64_t));
        list->words = words;
        list->n_words = n_words;
        return 0;
}

int cpulist_add(CpuList *list, unsigned cpu) {
        return cpulist_add_range(list, cpu, cpu);
}

int cpulist_add_range(CpuList *list, unsigned first, unsigned last) {
        int r;

        if (last > CPULIST_MAX)
                return -ERANGE;
        if (first > last)
                return 0;
        r = cpulist_widen(list, last / WORD_BITS + 1);
        if (r < 0)
                return r;
        for (unsigned cpu = first; cpu <= last; cpu++)
                list->words[cpu / WORD_BITS] |= UINT64_C(1) << cpu % WORD_BITS;
        return 0;
}

void cpulist_remove(CpuList *list, unsigned cpu) {
        if (cpu / WORD_BITS < list->n_words)
                list->words[cpu / WORD_BITS] &= ~(UINT64_C(1) << cpu % WORD_BITS);
}

/* Words behind the end are zero: lists of different width are compared without a copy. */
static uint64_t cpulist_word(const CpuList *list, size_t i) {
        return i < list->n_words ? list->words[i] : 0;
}

bool cpulist_has(const CpuList *list, unsigned cpu) {
        return cpulist_word(list, cpu / WORD_BITS) >> cpu % WORD_BITS & 1;
}

bool cpulist_is_empty(const CpuList *list) {
        for (size_t i = 0; i < list->n_words; i++)
                if (list->words[i])
                        return false;
        return true;
}

bool cpulist_equal(const CpuList *a, const CpuList *b) {
        return cpulist_is_subset(a, b) && cpulist_is_subset(b, a);
}

bool cpulist_intersects(const CpuList *a, const CpuList *b) {
        for (size_t i = 0; i < a->n_words; i++)
                if (a->words[i] & cpulist_word(b, i))
                        return true;
        return false;
}

bool cpulist_is_subset(const CpuList *inner, const CpuList *outer) {
        for (size_t i = 0; i < inner->n_words; i++)
                if (inner->words[i] & ~cpulist_word(outer, i))
                        return false;
        return true;
}

size_t cpulist_count(const CpuList *list) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_words; i++)
                n += (size_t) __builtin_popcountll(list->words[i]);
        return n;
}

int cpulist_next(const CpuList *list, int after) {
        unsigned cpu = (unsigned) (after + 1);

        for (size_t i = cpu / WORD_BITS; i < list->n_words; i++) {
                uint64_t word = list->words[i];

                if (i == cpu / WORD_BITS)
                        word &= ~UINT64_C(0) << cpu % WORD_BITS;
                if (word)
                        return (int) (i * WORD_BITS) + __builtin_ctzll(word);
        }
        return -1;
}

int cpulist_last(const CpuList *list) {
        for (size_t i = list->n_words; i-- > 0;)
                if (list->words[i])
                        return (int) (i * WORD_BITS + WORD_BITS - 1) - __builtin_clzll(list->words[i]);
        return -1;
}

int cpulist_union(CpuList *list, const CpuList *other) {
        int r = cpulist_widen(list, other->n_words);

        if (r < 0)
                return r;
        for (size_t i = 0; i < other->n_words; i++)
                list->words[i] |= other->words[i];
        return 0;
}

void cpulist_intersect(CpuList *list, const CpuList *other) {
        for (size_t i = 0; i < list->n_words; i++)
                list->words[i] &= cpulist_word(other, i);
}

void cpulist_subtract(CpuList *list, const CpuList *other) {
        for (size_t i = 0; i < list->n_words; i++)
                list->words[i] &= ~cpulist_word(other, i);
}

/* isspace() depends on the locale, and so do letters and digits that a list may not have anyway. */
static bool is_space(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_space(const char *p) {
        while (is_space(*p))
                p++;
        return p;
}

/* Reads one number and moves *p behind it; on failure *p is where it goes wrong. */
static int parse_number(const char **p, unsigned *ret) {
        const char *digit = *p;
        unsigned value = 0;

        if (*digit < '0' || *digit > '9')
                return -EINVAL;
        for (; *digit >= '0' && *digit <= '9'; digit++) {
                value = value * 10 + (unsigned) (*digit - '0');
                if (value > CPULIST_MAX)
                        return -ERANGE;
        }
        *p = digit;
        *ret = value;
        return 0;
}

/* `:USED/GROUP` behind a range. */
static int parse_stride(const char **p, unsigned *ret_used, unsigned *ret_group) {
        const char *used = ++*p;
        int r = parse_number(p, ret_used);

        if (r < 0)
                return r;
        if (**p != '/')
                return -EINVAL;
        ++*p;
        r = parse_number(p, ret_group);
        if (r < 0)
                return r;
        if (*ret_used == 0 || *ret_used > *ret_group) {
                *p = used;
                return -EINVAL;
        }
        return 0;
}

/* A number or, where the caller knows which CPU is the last, `N`. */
static int parse_bound(const char **p, int last_cpu, unsigned *ret) {
        if (**p != 'N' || last_cpu < 0)
                return parse_number(p, ret);
        ++*p;
        *ret = (unsigned) last_cpu;
        return 0;
}

int cpulist_parse_range(const char **p, int last_cpu, CpuList *list) {
        unsigned first, last, used = 1, group = 1;
        const char *second;
        int r = parse_bound(p, last_cpu, &first);

        if (r < 0)
                return r;
        if (**p != '-')
                return cpulist_add(list, first);
        second = ++*p;
        r = parse_bound(p, last_cpu, &last);
        if (r < 0)
                return r;
        if (last < first) {
                *p = second;
                return -EINVAL;
        }
        if (**p == ':') {
                r = parse_stride(p, &used, &group);
                if (r < 0)
                        return r;
        }
        for (unsigned start = first; start <= last; start += group) {
                unsigned end = start + used - 1;

                r = cpulist_add_range(list, start, end < last ? end : last);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int parse_ranges(const char **p, CpuList *list) {
        for (;;) {
                int r = cpulist_parse_range(p, -1, list);

                if (r < 0)
                        return r;
                *p = skip_space(*p);
                if (**p == '\0')
                        return 0;
                if (**p != ',')
                        return -EINVAL;
                *p = skip_space(*p + 1);
        }
}

int cpulist_parse(const char *text, CpuList *ret, size_t *ret_column) {
        _cleanup_cpulist_ CpuList list = { 0 };
        const char *p = skip_space(text);
        int r = *p ? parse_ranges(&p, &list) : 0;

        if (r < 0) {
                if (ret_column)
                        *ret_column = (size_t) (p - text);
                return r;
        }
        *ret = cpulist_take(&list);
        return 0;
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -EINVAL;
}

/* One 32-bit word of a mask, from its end backwards: bit is the number of its lowest CPU. */
static int mask_word(const char *start, const char *end, size_t bit, CpuList *list) {
        if (start == end || end - start > 8)
                return -EINVAL;
        for (; end > start; bit += 4) {
                int digit = hex_digit(*--end);

                if (digit < 0)
                        return digit;
                for (size_t i = 0; i < 4; i++) {
                        if (!(digit >> i & 1))
                                continue;
                        if (bit + i > CPULIST_MAX)
                                return -ERANGE;

                        int r = cpulist_add(list, (unsigned) (bit + i));
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int cpulist_parse_mask(const char *text, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        const char *start = skip_space(text), *end = start + strlen(start);

        while (end > start && is_space(end[-1]))
                end--;
        for (size_t bit = 0;; bit += 32) {
                const char *comma = memrchr(start, ',', (size_t) (end - start));
                int r = mask_word(comma ? comma + 1 : start, end, bit, &list);

                if (r < 0)
                        return r;
                if (!comma)
                        break;
                end = comma;
        }
        *ret = cpulist_take(&list);
        return 0;
}

/* The last CPU of the run that starts at first. */
static int run_end(const CpuList *list, int first) {
        int last = first;

        while (cpulist_has(list, (unsigned) last + 1))
                last++;
        return last;
}

int cpulist_format(const CpuList *list, char **ret) {
        _cleanup_free_ char *text = NULL;
        const char *comma = "";
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        for (int first = cpulist_next(list, -1), last; first >= 0; first = cpulist_next(list, last)) {
                last = run_end(list, first);
                fprintf(f, "%s%d", comma, first);
                if (last > first)
                        fprintf(f, "-%d", last);
                comma = ",";
        }
        if (fclose(f) != 0)
                return -ENOMEM;
        *ret = TAKE_PTR(text);
        return 0;
}

int cpulist_format_mask(const CpuList *list, unsigned n_cpus, char **ret) {
        size_t bits = (size_t) cpulist_last(list) + 1, n;
        _cleanup_free_ char *text = NULL;
        char *end;

        if (bits < n_cpus)
                bits = n_cpus;
        n = bits > 0 ? (bits + 31) / 32 : 1;
        text = end = malloc(n * 9 + 1);
        if (!text)
                return -ENOMEM;
        /* The kernel refuses empty words (`f,,0`), so each is written whole. */
        for (size_t i = n; i-- > 0;) {
                uint32_t word = (uint32_t) (cpulist_word(list, i / 2) >> i % 2 * 32);

                end += sprintf(end, "%08x%s", word, i > 0 ? "," : "");
        }
        *ret = TAKE_PTR(text);
        return 0;
}
