/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* 64 hexadecimal digits and the NUL behind them. */
#define SHA256_HEX_SIZE 65

/* SHA-256 (FIPS 180-4) of a text, by which two profiles are told apart.  Of our own, since a library for this one
 * function would be a third of what the daemon keeps for itself at rest. */
void sha256_hex(const void *data, size_t size, char ret[static SHA256_HEX_SIZE]);
