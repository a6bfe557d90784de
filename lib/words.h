/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* The known word nearest to a mistyped one (few edits, relative to its length), or NULL where none is near.
 */
const char *words_nearest(const char *word, const char *const *known, size_t n_known);
