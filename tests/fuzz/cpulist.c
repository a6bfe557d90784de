/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpulist.h"
#include "fuzz.h"
#include "value.h"

/* Lists and masks of any width: what is read and printed again is the same set. */

static void check_list(const char *text) {
        _cleanup_cpulist_ CpuList list = {}, again = {}, masked = {};
        _cleanup_free_ char *printed = NULL, *mask = NULL;
        size_t column = 0;

        if (cpulist_parse(text, &list, &column) < 0) {
                FUZZ_HOLDS(column <= strlen(text));
                return;
        }
        FUZZ_HOLDS(cpulist_format(&list, &printed) == 0);
        FUZZ_HOLDS(cpulist_parse(printed, &again, NULL) == 0);
        FUZZ_HOLDS(cpulist_equal(&list, &again));
        FUZZ_HOLDS(cpulist_format_mask(&list, 4, &mask) == 0);
        FUZZ_HOLDS(cpulist_parse_mask(mask, &masked) == 0);
        FUZZ_HOLDS(cpulist_equal(&list, &masked));
        FUZZ_HOLDS(value_equal(VALUE_CPULIST, text, printed));
}

static void check_mask(const char *text) {
        _cleanup_cpulist_ CpuList list = {}, again = {};
        _cleanup_free_ char *mask = NULL;

        if (cpulist_parse_mask(text, &list) < 0)
                return;
        FUZZ_HOLDS(cpulist_format_mask(&list, 1, &mask) == 0);
        FUZZ_HOLDS(cpulist_parse_mask(mask, &again) == 0);
        FUZZ_HOLDS(cpulist_equal(&list, &again));
        FUZZ_HOLDS(value_equal(VALUE_CPUMASK, text, mask));
}

/* Sets do as sets do. */
static void check_algebra(const CpuList *a, const CpuList *b) {
        _cleanup_cpulist_ CpuList both = {}, either = {}, rest = {};

        FUZZ_HOLDS(
                cpulist_copy(a, &both) == 0 && cpulist_copy(a, &either) == 0 && cpulist_copy(a, &rest) == 0);
        cpulist_intersect(&both, b);
        FUZZ_HOLDS(cpulist_union(&either, b) == 0);
        cpulist_subtract(&rest, b);
        FUZZ_HOLDS(cpulist_is_subset(&both, a) && cpulist_is_subset(&both, b));
        FUZZ_HOLDS(cpulist_is_subset(a, &either) && cpulist_is_subset(b, &either));
        FUZZ_HOLDS(!cpulist_intersects(&rest, b));
        FUZZ_HOLDS(cpulist_count(&rest) + cpulist_count(&both) == cpulist_count(a));
        FUZZ_HOLDS(cpulist_intersects(a, b) == !cpulist_is_empty(&both));
        FUZZ_HOLDS(cpulist_last(&either) ==
                (cpulist_last(a) > cpulist_last(b) ? cpulist_last(a) : cpulist_last(b)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size), *choice = NULL;
        const char *other = fuzz_cut(text) ?: "0-3\n";
        _cleanup_cpulist_ CpuList a = {}, b = {};

        check_list(text);
        check_mask(text);
        if (cpulist_parse(text, &a, NULL) == 0 && cpulist_parse(other, &b, NULL) == 0)
                check_algebra(&a, &b);
        for (ValueKind kind = 0; kind < _VALUE_KIND_MAX; kind++) {
                FUZZ_HOLDS(value_equal(kind, text, text));
                FUZZ_HOLDS(value_equal(kind, text, other) == value_equal(kind, other, text));
                (void) value_holds(kind, text, other, "0-7");
        }
        FUZZ_HOLDS(value_choice(text, &choice) == 0);
        return 0;
}
