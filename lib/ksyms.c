/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ksyms.h"

typedef struct Symbol {
        uint64_t address;
        const char *name; /* in the text */
} Symbol;

struct Ksyms {
        char *text;
        Symbol *symbols; /* by address */
        size_t n;
};

void ksyms_free(Ksyms *ksyms) {
        free(ksyms->text);
        free(ksyms->symbols);
        free(ksyms);
}

/* `ffffffff81000000 T _stext` and a tab and `[module]` for those of modules; cut in place. */
static bool take_line(char *line, Symbol *ret) {
        char *end, *name;
        uint64_t address = strtoull(line, &end, 16);

        if (end == line || *end != ' ' || !strchr("tTwW", end[1]) || end[2] != ' ')
                return false;
        name = end + 3;
        name[strcspn(name, "\t ")] = '\0';
        *ret = (Symbol){ address, name };
        return *name != '\0';
}

static int compare_symbols(const void *a, const void *b) {
        const Symbol *left = a, *right = b;

        return left->address < right->address ? -1 : left->address > right->address;
}

int ksyms_read(Kfs *kfs, Ksyms **ret) {
        _cleanup_ksyms_ Ksyms *ksyms = calloc(1, sizeof(Ksyms));
        char *state = NULL;
        int r;

        if (!ksyms)
                return -ENOMEM;
        r = kfs_read(kfs, "/proc/kallsyms", &ksyms->text);
        if (r < 0)
                return r;
        for (char *line = strtok_r(ksyms->text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                Symbol symbol;

                if (!take_line(line, &symbol))
                        continue;
                r = GROW(ksyms->symbols, ksyms->n);
                if (r < 0)
                        return r;
                ksyms->symbols[ksyms->n++] = symbol;
        }
        if (ksyms->n > 0)
                qsort(ksyms->symbols, ksyms->n, sizeof(Symbol), compare_symbols);
        if (ksyms->n == 0 || ksyms->symbols[ksyms->n - 1].address == 0)
                return -EPERM;
        *ret = TAKE_PTR(ksyms);
        return 0;
}

const char *ksyms_name(const Ksyms *ksyms, uint64_t address) {
        size_t low = 0, high = ksyms->n;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (ksyms->symbols[middle].address <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low > 0 ? ksyms->symbols[low - 1].name : NULL;
}
