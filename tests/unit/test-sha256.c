/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sha256.h"
#include "test.h"

/* `a` so often, as sha256sum has it: around the ends of a block, and of one with room for the length. */
static void test_lengths(void **state) {
        static const struct {
                size_t n;
                const char *expected;
        } table[] = {
                { 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
                { 1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" },
                { 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
                { 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
                { 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
                { 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
                { 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0" },
                { 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb" },
                { 120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c" },
                { 128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e" },
                { 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = malloc(table[i].n + 1);
                char hex[SHA256_HEX_SIZE];

                assert_non_null(text);
                memset(text, 'a', table[i].n);
                sha256_hex(text, table[i].n, hex);
                if (!streq(hex, table[i].expected))
                        fail_msg("%zu times a: %s, not %s", table[i].n, hex, table[i].expected);
        }
}

/* The standard's own examples. */
static void test_texts(void **state) {
        static const struct {
                const char *text, *expected;
        } table[] = {
                { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
                { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
                { "\xff", "a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                char hex[SHA256_HEX_SIZE];

                sha256_hex(table[i].text, strlen(table[i].text), hex);
                if (!streq(hex, table[i].expected))
                        fail_msg("\"%s\": %s, not %s", table[i].text, hex, table[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_texts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
