/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile-lines.h"

/* Reads the text of an INI file: appends its sections and keys to lines, and what is wrong with its form to
 * errors. Returns 0 also where there are errors; -ENOMEM. */
int profile_read_text(
        const char *file, const char *text, size_t size, ProfileLines *lines, ProfileErrors *errors);
