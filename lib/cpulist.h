/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#pragma GCC visibility push(default)

/* A set of CPUs (or of NUMA nodes) of any width.  A zeroed struct is the empty set; cpulist_done() frees it.
 */
typedef struct CpuList {
        uint64_t *words;
        size_t n_words;
} CpuList;

/* The highest CPU number that any function accepts: bounds what hostile input can make us allocate. */
#define CPULIST_MAX 65535u

#define _cleanup_cpulist_ _cleanup_(cpulist_done)

void cpulist_done(CpuList *list);
int cpulist_copy(const CpuList *list, CpuList *ret);
/* Moves: the source is the empty set afterwards. */
CpuList cpulist_take(CpuList *list);

/* 0, -ERANGE above CPULIST_MAX, -ENOMEM. */
int cpulist_add(CpuList *list, unsigned cpu);
int cpulist_add_range(CpuList *list, unsigned first, unsigned last);
void cpulist_remove(CpuList *list, unsigned cpu);

bool cpulist_has(const CpuList *list, unsigned cpu);
bool cpulist_is_empty(const CpuList *list);
bool cpulist_equal(const CpuList *a, const CpuList *b);
bool cpulist_intersects(const CpuList *a, const CpuList *b);
bool cpulist_is_subset(const CpuList *inner, const CpuList *outer);
size_t cpulist_count(const CpuList *list);

/* The first member above `after` (-1 to begin), or -1 where there is none. */
int cpulist_next(const CpuList *list, int after);
/* The highest member, or -1. */
int cpulist_last(const CpuList *list);
#define CPULIST_FOREACH(cpu, list)                                                                          \
        for (int cpu = cpulist_next((list), -1); cpu >= 0; cpu = cpulist_next((list), cpu))

/* In place: list becomes list ∪ other, list ∩ other, list \ other. */
int cpulist_union(CpuList *list, const CpuList *other);
void cpulist_intersect(CpuList *list, const CpuList *other);
void cpulist_subtract(CpuList *list, const CpuList *other);

/* Reads a cpulist as the kernel prints one (`0-3,8`, strides `0-31:2/8`); white space, a newline and NUL
 * bytes around it and spaces around commas are allowed, and the empty text is the empty set.  -EINVAL for
 * anything else (`7-4`, `1-`, `0x3`, `1,,2`), -ERANGE above CPULIST_MAX; *ret_column, where not NULL, is
 * then the byte (from 0) at fault. */
int cpulist_parse(const char *text, CpuList *ret, size_t *ret_column);

/* Reads one term of such a list (`3`, `4-7`, `0-31:2/8`) at *text and adds it to list; `N` stands for the CPU
 * last_cpu where that is not negative.  *text is moved behind the term, or to the byte at fault. */
int cpulist_parse_range(const char **text, int last_cpu, CpuList *list);

/* Reads a mask as the kernel prints one: 32-bit hexadecimal words with commas, of any width. -EINVAL,
 * -ERANGE. */
int cpulist_parse_mask(const char *text, CpuList *ret);

/* As the kernel prints cpulists: `0-3,8`; the empty set is the empty text. */
int cpulist_format(const CpuList *list, char **ret);

/* As the kernel accepts masks: 32-bit words with commas, at least wide enough for n_cpus CPUs. */
int cpulist_format_mask(const CpuList *list, unsigned n_cpus, char **ret);

#pragma GCC visibility pop
