/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sha256.h"

#include <endian.h>

#define BLOCK_SIZE 64
#define ROUNDS 64

/* The fractions of the square roots of the first eight primes, and of the cube roots of the first 64. */
static const uint32_t initial[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
        0x1f83d9ab, 0x5be0cd19 };
static const uint32_t constants[ROUNDS] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
        0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
        0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3,
        0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354,
        0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
        0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
        0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
        0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

static uint32_t rotate(uint32_t word, unsigned by) {
        return word >> by | word << (32 - by);
}

static void schedule(const unsigned char *block, uint32_t words[static ROUNDS]) {
        for (size_t i = 0; i < 16; i++) {
                uint32_t big;

                memcpy(&big, block + 4 * i, sizeof(big));
                words[i] = be32toh(big);
        }
        for (size_t i = 16; i < ROUNDS; i++) {
                uint32_t a = words[i - 15], b = words[i - 2];
                uint32_t s0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
                uint32_t s1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;

                words[i] = words[i - 16] + s0 + words[i - 7] + s1;
        }
}

/* v: what the standard calls a to h. */
static void one_round(uint32_t v[static 8], uint32_t word) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t t = v[7] + s1 + choice + word;

        memmove(v + 1, v, 7 * sizeof(*v));
        v[4] += t;
        v[0] = t + s0 + majority;
}

static void add_block(uint32_t state[static 8], const unsigned char *block) {
        uint32_t words[ROUNDS], v[8];

        schedule(block, words);
        memcpy(v, state, sizeof(v));
        for (size_t i = 0; i < ROUNDS; i++)
                one_round(v, constants[i] + words[i]);
        for (size_t i = 0; i < 8; i++)
                state[i] += v[i];
}

/* What is left, a one bit, zeros, and the length in bits at the end of one block more, or of two. */
static void add_end(uint32_t state[static 8], const unsigned char *rest, size_t n, uint64_t size) {
        unsigned char blocks[2 * BLOCK_SIZE] = {};
        size_t length = n + 1 + sizeof(uint64_t) <= BLOCK_SIZE ? BLOCK_SIZE : 2 * BLOCK_SIZE;
        uint64_t bits = htobe64(size * 8);

        if (n > 0)
                memcpy(blocks, rest, n);
        blocks[n] = 0x80;
        memcpy(blocks + length - sizeof(bits), &bits, sizeof(bits));
        for (size_t i = 0; i < length; i += BLOCK_SIZE)
                add_block(state, blocks + i);
}

void sha256_hex(const void *data, size_t size, char ret[static SHA256_HEX_SIZE]) {
        const unsigned char *bytes = data;
        uint32_t state[8];
        size_t whole = size - size % BLOCK_SIZE;

        memcpy(state, initial, sizeof(state));
        for (size_t i = 0; i < whole; i += BLOCK_SIZE)
                add_block(state, bytes + i);
        add_end(state, bytes + whole, size - whole, size);
        for (size_t i = 0; i < 8; i++)
                (void) snprintf(ret + 8 * i, 9, "%08x", state[i]);
}
