/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The measured program: a loop that plugin.c recognises by the no-operation at its head.
 *
 *   noise-loop SLOT CPU MILLIONS      rounds of 32 instructions each; CPU -1: wherever it is allowed
 *
 * Prints how many seconds that took by the guest's clock. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "marker.h"

static int pin(int cpu) {
        cpu_set_t *set = CPU_ALLOC(CPU_LIMIT);
        size_t size = CPU_ALLOC_SIZE(CPU_LIMIT);
        int r;

        if (!set)
                return -1;
        CPU_ZERO_S(size, set);
        CPU_SET_S((size_t) cpu, size, set);
        r = sched_setaffinity(0, size, set);
        CPU_FREE(set);
        return r;
}

/* The instruction is patched into a copy of the loop: its operand is the slot. */
static void (*make_loop(uint32_t slot))(uint64_t rounds) {
        uint8_t *page =
                mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        static const uint8_t close[] = { 0x48, 0xff, 0xcf, 0x0f, 0x85 }; /* dec %rdi; jnz rel32 */
        size_t at = 0;
        int32_t back;

        if (page == MAP_FAILED)
                return NULL;
        marker_write(page, slot);
        for (at = MARKER_SIZE; at < MARKER_SIZE + LOOP_PADDING; at++)
                page[at] = 0x90;
        for (size_t i = 0; i < sizeof close; i++)
                page[at++] = close[i];
        back = -(int32_t) (at + sizeof back);
        for (size_t i = 0; i < sizeof back; i++)
                page[at++] = (uint8_t) ((uint32_t) back >> (8 * i));
        page[at] = 0xc3;
        return (void (*)(uint64_t))(uintptr_t) page;
}

static double now(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
        void (*loop)(uint64_t);
        double begin;

        if (argc != 4) {
                fprintf(stderr, "usage: noise-loop SLOT CPU MILLIONS\n");
                return 2;
        }
        if (atoi(argv[2]) >= 0 && pin(atoi(argv[2])) < 0) {
                perror("noise-loop: sched_setaffinity");
                return 1;
        }
        loop = make_loop((uint32_t) atoi(argv[1]) % SLOTS);
        if (!loop) {
                perror("noise-loop: mmap");
                return 1;
        }
        mlockall(MCL_CURRENT);
        begin = now();
        loop(strtoull(argv[3], NULL, 10) * 1000000);
        printf("%.3f seconds\n", now() - begin);
        return 0;
}
