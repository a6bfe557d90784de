/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../unit/tree.h"

/* A network card, eth0, of three channels of four at most, with masks that somebody chose; and two profiles that change
 * their number each in another way: `few` and `many`. */
void card_build(Tree *tree);

/* What its driver does when channels are set: queues come and go, and all are sent through by CPUs of its own choice. */
void card_kernel(const char *root, const char *object, const char *value);
