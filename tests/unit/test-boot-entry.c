/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-entry.h"
#include "test.h"
#include "tree.h"

#include <sys/stat.h>

#define GRUB "/etc/default/grub.d/60-rtisold.cfg"
#define CMDLINE "/etc/kernel/cmdline"

/* In place of grubby(8): its entry is one file below the root. */
static const char grubby[] =
        "#!/bin/sh\n"
        "for word; do\n"
        "  case $word in --bls-directory=*) entry=${word#*=}/entry ;; --args=*) add=${word#*=} ;;\n"
        "  --remove-args=*) take=${word#*=} ;; --info=*) info=1 ;; esac\n"
        "done\n"
        "[ -n \"$info\" ] && { echo \"args=\\\"$(cat $entry)\\\"\"; exit; }\n"
        "for word in $take; do sed -i \"s/ $word\\$//; s/ $word / /\" $entry; done\n"
        "[ -z \"$add\" ] || sed -i \"s/\\$/ $add/\" $entry\n";

static void put_grubby(Tree *tree) {
        _cleanup_free_ char *path = NULL, *whole = NULL;

        tree_put(tree, "/usr/bin/grubby", grubby);
        assert_int_equal(util_asprintf(&whole, "%s/usr/bin/grubby", tree->root), 0);
        assert_int_equal(chmod(whole, 0755), 0);
        assert_int_equal(util_asprintf(&path, "%s/usr/bin:/usr/bin:/bin", tree->root), 0);
        assert_int_equal(setenv("PATH", path, 1), 0);
}

/* All files of a tree as text, so that a trace shows. */
static char *listing(const Tree *tree) {
        _cleanup_free_ char *command = NULL;
        char *text = NULL;
        size_t size = 0;
        FILE *file;

        assert_int_equal(
                util_asprintf(&command, "cd %s && find . | sort && find . -type f | sort | xargs md5sum",
                        tree->root),
                0);
        file = popen(command, "r");
        assert_non_null(file);
        assert_true(getdelim(&text, &size, '\0', file) > 0);
        (void) pclose(file);
        return text;
}

static char *read_file(const Tree *tree, const char *path) {
        char *text = NULL;

        return kfs_read(tree->kfs, path, &text) < 0 ? strdup("-") : text;
}

/* Files of a machine; the file that holds the words, what it reads after them, and after those of another profile. */
static const struct {
        const char *lines;
        BootEntryKind kind;
        const char *file, *first, *second;
} rows[] = {
        { "/etc/default/grub=GRUB_TIMEOUT=5\n", BOOT_ENTRY_GRUB, GRUB,
                "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT a=1-3 skew_tick=1\"",
                "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT b=4\"" },
        { "/etc/default/grub=\n/etc/default/grub.d/10-site.cfg=X=1\n", BOOT_ENTRY_GRUB, GRUB, "a=1-3",
                "b=4" },
        { CMDLINE "=root=/dev/vda ro\n", BOOT_ENTRY_KERNEL, CMDLINE, "root=/dev/vda ro a=1-3 skew_tick=1",
                "root=/dev/vda ro b=4" },
        /* The administrator's own word stays his. */
        { CMDLINE "=skew_tick=1 ro\n", BOOT_ENTRY_KERNEL, CMDLINE, "skew_tick=1 ro a=1-3",
                "skew_tick=1 ro b=4" },
        { "/etc/kernel/install.d/x=\n/proc/cmdline=BOOT_IMAGE=/v initrd=\\x root=/dev/vda quiet\n",
                BOOT_ENTRY_KERNEL, CMDLINE, "root=/dev/vda quiet a=1-3 skew_tick=1",
                "root=/dev/vda quiet b=4" },
        { "/usr/bin/grubby=\n/boot/loader/entries/entry=root=/dev/vda ro\n", BOOT_ENTRY_GRUBBY,
                "/boot/loader/entries/entry", "root=/dev/vda ro a=1-3 skew_tick=1", "root=/dev/vda ro b=4" },
        { "/usr/bin/grubby=\n/boot/loader/entries/entry=ro skew_tick=1\n", BOOT_ENTRY_GRUBBY,
                "/boot/loader/entries/entry", "ro skew_tick=1 a=1-3", "ro skew_tick=1 b=4" },
};

static void check_file(size_t i, const Tree *tree, const char *wanted) {
        _cleanup_free_ char *text = read_file(tree, rows[i].file);
        const char *found = strstr(text, wanted);

        if (!found || (rows[i].kind != BOOT_ENTRY_GRUB && !streq(text, wanted)))
                fail_msg("line %zu: %s reads '%s', not '%s'", i, rows[i].file, text, wanted);
}

static void install(size_t i, const Tree *tree, const char *profile, char *const *words, int wanted) {
        _cleanup_free_ char *why = NULL;
        int r = boot_entry_install(tree->root, profile, words, &why);

        if (r != wanted)
                fail_msg("line %zu: installing gives %d %s", i, r, why ?: "");
}

static void test_rows(void **state) {
        char *first[] = { (char *) "a=1-3", (char *) "skew_tick=1", NULL },
             *second[] = { (char *) "b=4", NULL };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *before = NULL, *after = NULL, *why = NULL;
                _cleanup_boot_entry_ BootEntry entry = {};

                tree_fill(tree, "/var/lib/dpkg/status=\n");
                tree_fill(tree, rows[i].lines);
                if (rows[i].kind == BOOT_ENTRY_GRUBBY)
                        put_grubby(tree);
                before = listing(tree);
                assert_int_equal(boot_entry_detect(tree->root), rows[i].kind);
                install(i, tree, "low-jitter", first, 1);
                check_file(i, tree, rows[i].first);
                install(i, tree, "low-jitter", first, 0);
                install(i, tree, "dpdk", second, 1);
                check_file(i, tree, rows[i].second);
                assert_int_equal(boot_entry_read(tree->root, &entry), 0);
                assert_string_equal(entry.profile, "dpdk");
                assert_int_equal(boot_entry_remove(tree->root, &why), 1);
                after = listing(tree);
                if (!streq(before, after))
                        fail_msg("line %zu: before\n%s\nafter\n%s", i, before, after);
                assert_int_equal(boot_entry_remove(tree->root, &why), 0);
        }
}

static void test_unknown(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        char *words[] = { (char *) "a=1", NULL };
        _cleanup_free_ char *why = NULL;

        tree_fill(tree, "/etc/hostname=x\n");
        assert_int_equal(boot_entry_install(tree->root, "dpdk", words, &why), -EOPNOTSUPP);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_unknown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
