/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Memory that runs out where a test wants it to.  A program that uses this is linked with starve_link_args of
 * meson.build: what librtisol asks the C library for passes here. */

/* From now on allocations are counted, and each is told from the others by who asked for it. */
void starve_count(void);
/* From now on the number `at` of the allocations fails, once. */
void starve_at(size_t at);
/* Over.  True where the allocation that was to fail was asked for. */
bool starve_end(void);

/* After starve_count() and starve_end(): how many allocations there were, and whether nobody had asked in this way
 * before the one with that number. */
size_t starve_n(void);
bool starve_is_first(size_t at);
