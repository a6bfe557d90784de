/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../record.h"

/* Draws a measurement, or two side by side (report.h), as a picture that stands on its own: who was measured and how,
 * the histograms, least, mean and most of each CPU, and the figures.  0, -ENOMEM or -EIO. */
int svg_write(FILE *file, const json_t *record);
