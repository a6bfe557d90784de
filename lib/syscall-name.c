/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/syscall.h>

#include "tracer-events.h"

static const char *const names[] = {
#include "syscall-names.inc"
};

const char *syscall_name(uint64_t number) {
        return number < ARRAY_SIZE(names) ? names[number] : NULL;
}
