/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What loop.c and plugin.c agree on: the loop begins with `nopl OPERAND(%rax)`, whose operand no compiler
 * emits and whose last byte is the slot, one for each measurement. */
#define MARKER_SIZE 7
#define SLOTS 16
#define LOOP_PADDING 29                            /* no-operations, so that a round is 32 instructions */
#define LOOP_SIZE (MARKER_SIZE + LOOP_PADDING + 9) /* bytes, with the decrement and the jump back */
#define CPU_LIMIT 1024

static const uint8_t marker[MARKER_SIZE - 1] = { 0x0f, 0x1f, 0x80, 0x69, 0x74, 0x72 };

static inline void marker_write(uint8_t *at, uint32_t slot) {
        memcpy(at, marker, sizeof marker);
        at[sizeof marker] = (uint8_t) slot;
}

/* The slot, or -1 where the instruction is another one. */
static inline int marker_slot(const uint8_t *at, size_t size) {
        if (size != MARKER_SIZE || memcmp(at, marker, sizeof marker) != 0 || at[sizeof marker] >= SLOTS)
                return -1;
        return at[sizeof marker];
}
