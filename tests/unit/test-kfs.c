/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "kfs-emulate.h"
#include "kfs-root.h"
#include "kfs.h"

/* A root of files, and a file beside it that nothing below the root may reach. */
typedef struct Fixture {
        char base[64];
        char *root;
        Kfs *kfs;
} Fixture;

static void put(const char *base, const char *path, const void *data, size_t size) {
        _cleanup_free_ char *full = NULL;
        _cleanup_fclose_ FILE *file = NULL;

        assert_int_equal(util_asprintf(&full, "%s/%s", base, path), 0);
        for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
        file = fopen(full, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, size, file), size);
}

static void put_text(const char *base, const char *path, const char *text) {
        put(base, path, text, strlen(text));
}

static void put_link(const char *base, const char *path, const char *target) {
        _cleanup_free_ char *full = NULL;

        assert_int_equal(util_asprintf(&full, "%s/%s", base, path), 0);
        assert_int_equal(symlink(target, full), 0);
}

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(Fixture));

        assert_non_null(f);
        strcpy(f->base, "/tmp/test-kfs-XXXXXX");
        assert_non_null(mkdtemp(f->base));
        assert_int_equal(util_asprintf(&f->root, "%s/root", f->base), 0);
        put_text(f->base, "secret", "outside\n");
        put_text(f->root, "proc/irq/25/smp_affinity_list", "0-3\n");
        put_text(f->root, "proc/irq/9/smp_affinity_list", "0\n");
        put_text(f->root, "proc/irq/100/smp_affinity_list", "0\n");
        put_text(f->root, "proc/irq/.hidden", "");
        put_text(f->root, "sys/empty", "");
        put(f->root, "sys/nul", "0-3\n\0", 5);
        put_text(f->root, "sys/thp", "always [madvise] never\n");
        put_text(f->root, "sys/features", "GENTLE NO_RT_ISOLATE NEXT\n");
        put_text(f->root, "secret", "inside\n");
        put_link(f->root, "sys/absolute", "/secret");
        put_link(f->root, "sys/above", "../../../../secret");
        put_link(f->root, "sys/folder", "../proc");
        put_link(f->root, "sys/loop", "loop");
        assert_int_equal(kfs_new(f->root, &f->kfs), 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *command = NULL;

        kfs_free(f->kfs);
        assert_int_equal(util_asprintf(&command, "rm -r %s", f->base), 0);
        assert_int_equal(system(command), 0);
        free(f->root);
        free(f);
        return 0;
}

static void test_read(void **state) {
        Fixture *f = *state;
        static const struct {
                const char *object;
                int error;
                const char *text;
        } table[] = {
                { "/proc/irq/25/smp_affinity_list", 0, "0-3" },
                { "/sys/empty", 0, "" },
                { "/sys/nul", 0, "0-3" },
                { "/sys/absolute", 0, "inside" },
                { "/sys/above", 0, "inside" },
                { "/../../secret", 0, "inside" },
                { "/sys/folder/irq/9/smp_affinity_list", 0, "0" },
                { "/sys/features#RT_ISOLATE", 0, "NO_RT_ISOLATE" },
                { "/sys/features#GENTLE", 0, "GENTLE" },
                { "/sys/features#GENT", -ENOENT, NULL },
                { "/sys/features#lower", -ENOENT, NULL },
                { "/sys/none", -ENOENT, NULL },
                { "/sys/loop", -ELOOP, NULL },
                { "/sys", -EISDIR, NULL },
                { "nobody/1", -EOPNOTSUPP, NULL },
                { "nothing", -EINVAL, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = NULL;
                int r = kfs_read(f->kfs, table[i].object, &text);

                if (r != table[i].error || (text ? !table[i].text || !streq(text, table[i].text) : r == 0))
                        fail_msg("%s: %d \"%s\"", table[i].object, r, text);
        }
}

/* What a kernel without openat2() gives must not differ. */
static void test_walk(void **state) {
        Fixture *f = *state;
        static const char *const paths[] = { "/proc/irq/25/smp_affinity_list", "/sys/absolute", "/sys/above",
                "/../../secret", "/sys/folder/irq/9/smp_affinity_list", "/sys/none", "/sys/loop", "/",
                "//sys/./empty", "/sys/empty/below", "/sys/above/" };
        int root = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);

        assert_true(root >= 0);
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                int a = root_open(root, paths[i], O_PATH, 0), b = root_walk(root, paths[i], O_PATH, 0);
                struct stat x = {}, y = {};

                if ((a < 0 || b < 0) ? (a != b && !streq(paths[i], "/sys/above/"))
                                     : (fstat(a, &x) < 0 || fstat(b, &y) < 0 || x.st_ino != y.st_ino))
                        fail_msg("%s: %d, %d", paths[i], a, b);
                if (a >= 0)
                        close(a);
                if (b >= 0)
                        close(b);
        }
        close(root);
}

static void test_write(void **state) {
        Fixture *f = *state;
        static const struct {
                const char *object, *value;
                int error;
                const char *raw; /* the file afterwards */
        } table[] = {
                { "/proc/irq/25/smp_affinity_list", "0", 0, "0\n" },
                { "/proc/irq/25/smp_affinity_list", "", 0, "\n" },
                { "/sys/thp", "never", 0, "always madvise [never]\n" },
                { "/sys/thp", "sometimes", -EINVAL, "always madvise [never]\n" },
                { "/sys/thp", "madvise", 0, "always [madvise] never\n" },
                { "/sys/features#RT_ISOLATE", "RT_ISOLATE", 0, NULL },
                { "/sys/features", NULL, 0, "GENTLE RT_ISOLATE NEXT\n" },
                { "/sys/features#RT_ISOLATE", "NO_RT_ISOLATE", 0, NULL },
                { "/sys/features#OTHER", "NO_OTHER", -EINVAL, NULL },
                { "/sys/features", NULL, 0, "GENTLE NO_RT_ISOLATE NEXT\n" },
                { "/sys/new", "1", 0, "1\n" },
                { "/sys/none/new", "1", -ENOENT, NULL },
                { "/sys", "1", -EISDIR, NULL },
                { "nobody/1", "1", -EOPNOTSUPP, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *raw = NULL;
                int r = table[i].value ? kfs_write(f->kfs, table[i].object, table[i].value) : 0;

                if (r != table[i].error)
                        fail_msg("%s: %d", table[i].object, r);
                if (table[i].raw &&
                        (kfs_read_raw(f->kfs, table[i].object, &raw, NULL) < 0 || !streq(raw, table[i].raw)))
                        fail_msg("%s = %s: \"%s\"", table[i].object, table[i].value, raw);
        }
}

static void test_subtree_control(void **state) {
        static const struct {
                const char *old, *value, *text;
        } table[] = {
                { "cpu memory\n", "+cpuset", "cpu memory cpuset\n" },
                { "cpu memory cpuset\n", "-cpuset", "cpu memory\n" },
                { "\n", "+cpuset +cpu", "cpuset cpu\n" },
                { "cpuset\n", "+cpuset", "cpuset\n" },
                { "cpuset\n", "-cpuset", "\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = NULL;

                if (kfs_emulate("/sys/fs/cgroup/cgroup.subtree_control", NULL, table[i].old, table[i].value,
                            &text) < 0 ||
                        !streq(text, table[i].text))
                        fail_msg("\"%s\" + \"%s\": \"%s\"", table[i].old, table[i].value, text);
        }
}

/* A thing that is no file: holds one text, takes what it likes. */
typedef struct Thing {
        char text[32];
        bool deaf, freed;
} Thing;

static int thing_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        Thing *thing = userdata;

        return util_asprintf(ret, "%s\n", thing->text);
}

static int thing_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        Thing *thing = userdata;

        if (streq(value, "no"))
                return -EPERM;
        if (!thing->deaf)
                snprintf(thing->text, sizeof(thing->text), "%s", value);
        return 0;
}

static void thing_free(void *userdata) {
        ((Thing *) userdata)->freed = true;
}

static const KfsProvider thing_provider = { "thing", thing_read, thing_write, thing_free };

static void test_set(void **state) {
        Fixture *f = *state;
        Thing thing = { .text = "0-3" };
        static const struct {
                ValueKind kind;
                const char *value, *within;
                bool deaf;
                int result;
                const char *live;
                unsigned writes;
        } table[] = {
                { VALUE_CPULIST, "0,1-3", NULL, false, 0, "0-3", 0 },
                { VALUE_WITHIN, "0-7", "0-7", false, 0, "0-3", 0 },
                { VALUE_WITHIN, "0-1", "0-1", false, 1, "0-1", 1 },
                { VALUE_CPULIST, "2", NULL, true, -EBADMSG, "0-1", 1 },
                { VALUE_CPULIST, "no", NULL, false, -EPERM, NULL, 1 },
                { VALUE_CPULIST, "2", NULL, false, 1, "2", 1 },
        };

        assert_int_equal(kfs_provide(f->kfs, &thing_provider, &thing), 0);
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *live = NULL;
                uint64_t writes = kfs_writes(f->kfs);
                int r;

                thing.deaf = table[i].deaf;
                r = kfs_set(f->kfs, "thing/1", table[i].kind, table[i].value, table[i].within, &live);
                if (r != table[i].result || kfs_writes(f->kfs) - writes != table[i].writes ||
                        (live ? !table[i].live || !streq(live, table[i].live) : table[i].live != NULL))
                        fail_msg("%zu, %s: %d \"%s\"", i, table[i].value, r, live);
        }
        assert_int_equal(kfs_set(f->kfs, "/sys/none", VALUE_TEXT, "1", NULL, NULL), -ENOENT);
        kfs_free(TAKE_PTR(f->kfs));
        assert_true(thing.freed);
}

/* Every access is seen once before and once after; either may be made to fail. */
typedef struct Seen {
        char text[512];
        int fail_at; /* counts down */
} Seen;

static int see(void *userdata, KfsMoment moment, const char *object, const char *value) {
        static const char letters[] = { 'r', 'R', 'w', 'W' };
        Seen *seen = userdata;
        size_t n = strlen(seen->text);

        snprintf(seen->text + n, sizeof(seen->text) - n, "%c %s %s;", letters[moment], object,
                value ? value : "-");
        return seen->fail_at > 0 && --seen->fail_at == 0 ? -EIO : 0;
}

static void test_hook(void **state) {
        Fixture *f = *state;
        static const char object[] = "/sys/new";
        static const struct {
                int fail_at, result;
                bool there;
        } table[] = { { 1, -EIO, false }, { 2, -EIO, true }, { 0, 0, true } };
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *text = NULL;
        Seen seen = {};

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                int r;

                seen.fail_at = table[i].fail_at;
                kfs_hook(f->kfs, see, &seen);
                r = kfs_write(f->kfs, object, "1");
                kfs_hook(f->kfs, NULL, NULL);
                if (r != table[i].result || kfs_exists(f->kfs, object) != table[i].there)
                        fail_msg("%zu: %d", i, r);
        }
        assert_int_equal(kfs_writes(f->kfs), 2);

        memset(&seen, 0, sizeof(seen));
        kfs_hook(f->kfs, see, &seen);
        assert_int_equal(kfs_read(f->kfs, "/sys/thp", &text), 0);
        assert_int_equal(kfs_list(f->kfs, "/proc", &names), 0);
        assert_int_equal(kfs_mkdir(f->kfs, "/sys/made"), 0);
        assert_string_equal(seen.text,
                "r /sys/thp -;R /sys/thp always [madvise] never\n;r /proc -;R /proc -;w /sys/made -;W "
                "/sys/made -;");
}

static void test_list(void **state) {
        Fixture *f = *state;
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *joined = NULL;

        assert_int_equal(kfs_list(f->kfs, "/proc/irq", &names), 0);
        assert_int_equal(util_strv_join(names, " ", &joined), 0);
        assert_string_equal(joined, "9 25 100");
        assert_int_equal(kfs_list(f->kfs, "/proc/none", &names), -ENOENT);
        assert_int_equal(kfs_list(f->kfs, "/sys/empty", &names), -ENOTDIR);
}

static void test_folders(void **state) {
        Fixture *f = *state;

        assert_int_equal(kfs_mkdir(f->kfs, "/sys/a"), 0);
        assert_int_equal(kfs_mkdir(f->kfs, "/sys/a"), -EEXIST);
        assert_int_equal(kfs_mkdir(f->kfs, "/sys/a/b"), 0);
        assert_int_equal(kfs_write(f->kfs, "/sys/a/b/cpuset.cpus", "1"), 0);
        assert_int_equal(kfs_rmdir(f->kfs, "/sys/a"), -EBUSY);
        assert_int_equal(kfs_rmdir(f->kfs, "/sys/a/b"), 0);
        assert_int_equal(kfs_rmdir(f->kfs, "/sys/a"), 0);
        assert_int_equal(kfs_rmdir(f->kfs, "/sys/a"), -ENOENT);
        assert_int_equal(kfs_mkdir(f->kfs, "/none/a"), -ENOENT);
}

static void test_probes(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *target = NULL, *path = NULL;
        _cleanup_close_ int fd = -1;

        assert_true(kfs_exists(f->kfs, "/sys/thp"));
        assert_true(kfs_exists(f->kfs, "/sys/features#NEXT"));
        assert_false(kfs_exists(f->kfs, "/sys/features#LAST"));
        assert_false(kfs_exists(f->kfs, "/sys/none"));
        assert_true(kfs_is_writable(f->kfs, "/sys/features#NEXT"));
        assert_int_equal(util_asprintf(&path, "%s/sys/thp", f->root), 0);
        assert_int_equal(chmod(path, 0444), 0);
        assert_false(kfs_is_writable(f->kfs, "/sys/thp"));
        assert_false(kfs_is_writable(f->kfs, "/sys/none"));
        assert_int_equal(kfs_readlink(f->kfs, "/sys/absolute", &target), 0);
        assert_string_equal(target, "/secret");
        assert_int_equal(kfs_readlink(f->kfs, "/sys/thp", &target), -EINVAL);
        fd = kfs_open(f->kfs, "/sys/thp");
        assert_true(fd >= 0);
        assert_int_equal(kfs_open(f->kfs, "/sys/none"), -ENOENT);
        assert_false(kfs_is_live(f->kfs));
        assert_string_equal(kfs_root(f->kfs), f->root);
}

static void test_live(void **state) {
        _cleanup_kfs_ Kfs *kfs = NULL;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(kfs_new("/", &kfs), 0);
        assert_true(kfs_is_live(kfs));
        assert_int_equal(kfs_read(kfs, "/proc/sys/kernel/ostype", &text), 0);
        assert_string_equal(text, "Linux");
        assert_int_equal(kfs_write(kfs, "/tmp/test-kfs-is-not-there", "1"), -ENOENT);
        assert_int_equal(kfs_new("/proc/none", &kfs), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_read),
                TEST(test_walk),
                TEST(test_write),
                cmocka_unit_test(test_subtree_control),
                TEST(test_set),
                TEST(test_hook),
                TEST(test_list),
                TEST(test_folders),
                TEST(test_probes),
                cmocka_unit_test(test_live),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
