/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-search.h"
#include "profiles.h"
#include "test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "conf.h"
#include "config.h"

#define ETC "etc/rtisold/profiles/"
#define RUN "run/rtisold/profiles/"
#define USR PROFILE_VENDOR_DIR "/"
#define LINK "\x1b" /* the text is where a link goes */
#define FILES_MAX 8

typedef struct File {
        const char *path, *text;
} File;

static void put(Tree *tree, const File *file) {
        const char *target = util_startswith(file->text, LINK);
        _cleanup_free_ char *path = NULL;

        tree_put(tree, file->path, file->text);
        if (!target)
                return;
        assert_int_equal(util_asprintf(&path, "%s/%s", tree->root, file->path), 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(target, path), 0);
}

static const struct {
        const char *what;
        File files[FILES_MAX];
        const char *expected;
} file_cases[] = {
        { "nothing", {}, "ENOENT" },
        { "the vendor's", { { USR "x.ini", "[tick]\nskew_tick = on\n" } }, "[tick]\nskew_tick = on\n" },
        { "etc replaces it whole",
                { { USR "x.ini", "[tick]\nskew_tick = on\n" }, { RUN "x.ini", "[sysctl]\nvm.r = 1\n" },
                        { ETC "x.ini", "[sysctl]\nvm.e = 1\n" } },
                "[sysctl]\nvm.e = 1\n" },
        { "and so does run",
                { { USR "x.ini", "[tick]\nskew_tick = on\n" }, { RUN "x.ini", "[sysctl]\nvm.r = 1\n" } },
                "[sysctl]\nvm.r = 1\n" },
        { "a profile's link", { { ETC "x.ini", LINK "y.ini" }, { ETC "y.ini", "[sysctl]\nvm.y = 1\n" } },
                "[sysctl]\nvm.y = 1\n" },
        { "drop-ins, by name across the folders",
                { { USR "x.ini", "[sysctl]\nvm.a = 0\nvm.b = 0\nvm.c = 0\n" },
                        { USR "x.ini.d/30.ini", "[sysctl]\nvm.a = 30\n" },
                        { ETC "x.ini.d/10.ini", "[sysctl]\nvm.a = 10\nvm.b = 10\n" },
                        { RUN "x.ini.d/20.ini", "[sysctl]\nvm.b = 20\nvm.d = 20\n" },
                        { RUN "x.ini.d/90.conf", "[sysctl]\nvm.a = 90\n" } },
                "[sysctl]\nvm.a = 30\nvm.b = 20\nvm.c = 0\nvm.d = 20\n" },
        { "by name as text: 10 before 9",
                { { USR "x.ini", "[sysctl]\nvm.a = 0\n" }, { ETC "x.ini.d/9.ini", "[sysctl]\nvm.a = 9\n" },
                        { ETC "x.ini.d/10.ini", "[sysctl]\nvm.a = 10\n" } },
                "[sysctl]\nvm.a = 9\n" },
        { "a drop-in of the same name replaces the vendor's",
                { { USR "x.ini", "[sysctl]\nvm.a = 0\n" },
                        { USR "x.ini.d/10.ini", "[sysctl]\nvm.a = 1\nvm.b = 1\n" },
                        { ETC "x.ini.d/10.ini", "[sysctl]\nvm.a = 2\n" } },
                "[sysctl]\nvm.a = 2\n" },
        { "an empty value goes back to the default",
                { { USR "x.ini", "[cpuset rt]\ncpus = 1\nnohz = off\n" },
                        { ETC "x.ini.d/10.ini", "[cpuset rt]\nnohz =\n" } },
                "[cpuset rt]\ncpus = 1\n" },
        { "an empty cpus removes a set",
                { { USR "x.ini", "[cpuset rt]\ncpus = 1\nnohz = off\n[cpuset b]\ncpus = 2\n" },
                        { ETC "x.ini.d/10.ini", "[cpuset rt]\ncpus =\nsmt = warn\n" } },
                "[cpuset b]\ncpus = 2\n" },
        { "and a later one brings it back",
                { { USR "x.ini", "[cpuset rt]\ncpus = 1\nnohz = off\n" },
                        { ETC "x.ini.d/10.ini", "[cpuset rt]\ncpus =\n" },
                        { ETC "x.ini.d/20.ini", "[cpuset rt]\ncpus = 3\n" } },
                "[cpuset rt]\ncpus = 3\nnohz = off\n" },
        { "other sections go in the same way",
                { { USR "x.ini", "[irq a]\nmatch = a\ncpus = 1\n[kthread k]\nmatch = k\npolicy = other\n" },
                        { ETC "x.ini.d/10.ini", "[irq a]\nmatch =\n[kthread k]\npolicy =\n" } },
                "" },
        { "a set that others need must not go",
                { { USR "x.ini", "[cpuset rt]\ncpus = 1\n[task t]\nset = rt\nmatch = a\n" },
                        { ETC "x.ini.d/10.ini", "[cpuset rt]\ncpus =\n" } },
                USR "x.ini:4: task t: set: there is no set \"rt\" in this profile" },
        { "masked by a link",
                { { USR "x.ini", "[tick]\nskew_tick = on\n" }, { ETC "x.ini", LINK "/dev/null" } },
                "ESHUTDOWN" },
        { "masked by an empty file", { { USR "x.ini", "[tick]\nskew_tick = on\n" }, { RUN "x.ini", "" } },
                "ESHUTDOWN" },
        { "a mask of the vendor's masks nothing of etc",
                { { USR "x.ini", LINK "/dev/null" }, { ETC "x.ini", "[sysctl]\nvm.e = 1\n" } },
                "[sysctl]\nvm.e = 1\n" },
        { "masked drop-ins",
                { { USR "x.ini", "[sysctl]\nvm.a = 0\n" }, { USR "x.ini.d/10.ini", "[sysctl]\nvm.a = 1\n" },
                        { USR "x.ini.d/20.ini", "[sysctl]\nvm.a = 2\n" },
                        { ETC "x.ini.d/10.ini", LINK "/dev/null" }, { RUN "x.ini.d/20.ini", "" } },
                "[sysctl]\nvm.a = 0\n" },
        { "links to nowhere",
                { { USR "x.ini", "[sysctl]\nvm.a = 0\n" }, { ETC "x.ini", LINK "../nowhere" },
                        { ETC "x.ini.d/1.ini", LINK "self" }, { ETC "x.ini.d/self", LINK "self" } },
                "/" ETC "x.ini: it is a link to ../nowhere, which is not there; mend or remove it "
                "(a link to "
                "/dev/null masks)\n"
                "/" ETC "x.ini.d/1.ini: it cannot be opened: Too many levels of symbolic links" },
        { "a link out of the root leads nowhere",
                { { ETC "x.ini", LINK "../../../../../../../../etc/passwd" } },
                "/" ETC "x.ini: it is a link to ../../../../../../../../etc/passwd, which is not "
                "there; mend "
                "or remove it (a link to /dev/null masks)" },
        { "a folder in the way", { { ETC "x.ini/a", "" }, { USR "x.ini.d", "not a folder\n" } },
                "/" ETC "x.ini: it is no regular file\n" USR
                "x.ini.d: it cannot be listed: Not a directory" },
        { "all errors of all files",
                { { USR "x.ini", "[tick]\nskew = on\n[profile]\ninclude = y\n" },
                        { ETC "x.ini.d/10.ini", "[tick]\nnonsense\nskew_tick = 3\n" },
                        { USR "y.ini", "[tik]\n" } },
                USR "x.ini:2: tick: skew: there is no such key; keys of [tick] are skew_tick\n"
                    "/" ETC "x.ini.d/10.ini:2: a line is [SECTION], KEY = VALUE or a comment\n"
                    "/" ETC "x.ini.d/10.ini:3: tick: skew_tick: \"3\" is not allowed; write on or off\n" USR
                    "y.ini:1: tik: there is no such section (did you mean \"tick\"?); sections are "
                    "profile, "
                    "cpuset, tick, sched_features, keep_off_sets, irq, net, kthread, task, kvm, sysctl and "
                    "sysfs" },
};

static void test_files(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(file_cases); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *result = NULL;

                for (const File *file = file_cases[i].files;
                        file < file_cases[i].files + FILES_MAX && file->path; file++)
                        put(tree, file);
                result = profiles_load(tree, "x");
                if (!streq(result, file_cases[i].expected))
                        fail_msg("%s\n--- gives\n%s\n--- not\n%s", file_cases[i].what, result,
                                file_cases[i].expected);
        }
}

static void test_includes(void **state) {
        static const struct {
                const char *what;
                File files[FILES_MAX];
                const char *expected;
        } table[] = {
                { "read first, with its drop-ins",
                        { { USR "x.ini", "[profile]\ninclude = base\n[sysctl]\nvm.b = 9\n" },
                                { USR "base.ini", "[sysctl]\nvm.a = 0\nvm.b = 0\nvm.c = 0\n" },
                                { ETC "base.ini.d/1.ini", "[sysctl]\nvm.a = 1\nvm.b = 1\n" } },
                        "[sysctl]\nvm.a = 1\nvm.b = 9\nvm.c = 0\n\n[profile]\ninclude = base\n" },
                { "a list, in its order",
                        { { USR "x.ini", "[profile]\ninclude = a\n  b\n" },
                                { USR "a.ini", "[sysctl]\nvm.a = a\n" },
                                { USR "b.ini", "[sysctl]\nvm.a = b\n" } },
                        "[sysctl]\nvm.a = b\n\n[profile]\ninclude = a b\n" },
                { "what both include is read once",
                        { { USR "x.ini", "[profile]\ninclude = a b\n" },
                                { USR "a.ini", "[profile]\ninclude = base\n[sysctl]\nvm.a = a\n" },
                                { USR "b.ini", "[profile]\ninclude = base\n" },
                                { USR "base.ini", "[sysctl]\nvm.a = base\n" } },
                        "[sysctl]\nvm.a = a\n\n[profile]\ninclude = a b\n" },
                { "a drop-in changes what is included",
                        { { USR "x.ini", "[profile]\ninclude = a\n" },
                                { USR "a.ini", "[sysctl]\nvm.a = a\n" },
                                { USR "b.ini", "[sysctl]\nvm.b = b\n" },
                                { ETC "x.ini.d/1.ini", "[profile]\ninclude = b\n" } },
                        "[sysctl]\nvm.b = b\n\n[profile]\ninclude = b\n" },
                { "or takes it away",
                        { { USR "x.ini", "[profile]\ninclude = a\n[sysctl]\nvm.x = x\n" },
                                { USR "a.ini", "[sysctl]\nvm.a = a\n" },
                                { ETC "x.ini.d/1.ini", "[profile]\ninclude =\n" } },
                        "[sysctl]\nvm.x = x\n" },
                { "a set of an included profile, removed",
                        { { USR "x.ini", "[profile]\ninclude = a\n[cpuset rt]\ncpus =\n" },
                                { USR "a.ini", "[cpuset rt]\ncpus = 1\n" } },
                        "[profile]\ninclude = a\n" },
                { "a loop",
                        { { USR "x.ini", "[profile]\ninclude = a\n" },
                                { USR "a.ini", "[profile]\ninclude = b\n" },
                                { USR "b.ini", "[tick]\n[profile]\ninclude = a\n" } },
                        USR "b.ini:3: profile: include: this is a loop: a includes b includes a" },
                { "itself", { { USR "x.ini", "[profile]\ninclude = x\n" } },
                        USR "x.ini:2: profile: include: this is a loop: x includes x" },
                { "what is not there",
                        { { USR "x.ini", "[profile]\ninclude = bsae nothing-like-it\n" },
                                { USR "base.ini", "\n" } },
                        USR "x.ini:2: profile: include: there is no profile \"bsae\" (did you mean "
                            "\"base\"?)\n" USR
                            "x.ini:2: profile: include: there is no profile \"nothing-like-it\"" },
                { "what is masked",
                        { { USR "x.ini", "[profile]\ninclude = base\n" }, { USR "base.ini", "\n" },
                                { ETC "base.ini", LINK "/dev/null" } },
                        USR "x.ini:2: profile: include: the profile \"base\" is masked by /" ETC
                            "base.ini" },
                { "green is always there", { { USR "x.ini", "[profile]\ninclude = green\n" } },
                        "[profile]\ninclude = green\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *result = NULL;

                for (const File *file = table[i].files; file < table[i].files + FILES_MAX && file->path;
                        file++)
                        put(tree, file);
                result = profiles_load(tree, "x");
                if (!streq(result, table[i].expected))
                        fail_msg("%s\n--- gives\n%s\n--- not\n%s", table[i].what, result, table[i].expected);
        }
}

static void test_deep_includes(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *result = NULL;

        tree_put(tree, USR "x.ini", "[profile]\ninclude = p0\n");
        for (int i = 0; i < 40; i++) {
                _cleanup_free_ char *text = NULL;

                assert_int_equal(util_asprintf(&text, "[profile]\ninclude = p%d\n", i + 1), 0);
                tree_putf(tree, text, USR "p%d.ini", i);
        }
        result = profiles_load(tree, "x");
        assert_string_equal(
                result, USR "p30.ini:2: profile: include: profiles include each other more than 32 deep");
}

/* Names come from anybody who may ask the daemon. */
static void test_names(void **state) {
        static const char *const names[] = { "", ".", "..", "../x", "a/b", "/etc/passwd", "x.ini", "-x",
                "x y", "x\n", "é", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
        _cleanup_tree_ Tree *tree = tree_new();

        tree_put(tree, "etc/rtisold/x.ini", "\n");
        tree_put(tree, ETC "-x.ini", "\n");
        tree_put(tree, ETC "a/b.ini", "\n");
        tree_put(tree, ETC ".ini", "\n");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *result = profiles_load(tree, names[i]);

                if (!streq(result, "ENOENT"))
                        fail_msg("\"%s\": %s", names[i], result);
        }
}

static void test_green(void **state) {
        static const struct {
                File file;
                const char *expected;
        } table[] = {
                { { ETC "green.ini", "[sysctl]\nvm.a = 1\n" }, "[sysctl]\nvm.a = 1\n" },
                { { ETC "green.ini.d/1.ini", "[sysctl]\nvm.a = 1\n" }, "[sysctl]\nvm.a = 1\n" },
                { { ETC "green.ini", LINK "/dev/null" }, "" },
                { { ETC "green.ini", "[cpuset rt]\ncpus = 1\n" },
                        "/" ETC "green.ini:1: cpuset rt: green is the mode without sets; put this set into "
                        "a profile "
                        "of another name" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *result = NULL;

                put(tree, &table[i].file);
                result = profiles_load(tree, "green");
                if (!streq(result, table[i].expected))
                        fail_msg("%s gives %s", table[i].file.text, result);
        }
}

/* What green is where its files are wrong. */
static void test_plain_green(void **state) {
        static const struct {
                const char *vendor, *vendor_drop_in, *etc, *expected;
        } table[] = {
                { NULL, NULL, "[broken\n", "" },
                { "[sysctl]\nvm.a = 1\n", NULL, "[broken\n", "[sysctl]\nvm.a = 1\n" },
                { "[sysctl]\nvm.a = 1\n", "[sysctl]\nvm.b = 1\n", "[broken\n", "[sysctl]\nvm.a = 1\n" },
                { "[broken\n", NULL, "[sysctl]\nvm.a = 1\n", "" },
                { "[cpuset rt]\ncpus = 1\n", NULL, NULL, "" },
                { "[profile]\ninclude = nosuch\n", NULL, NULL, "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_profile_ Profile *profile = NULL;
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *text = NULL;

                if (table[i].vendor)
                        tree_put(tree, USR "green.ini", table[i].vendor);
                if (table[i].vendor_drop_in)
                        tree_put(tree, USR "green.ini.d/1.ini", table[i].vendor_drop_in);
                if (table[i].etc)
                        tree_put(tree, ETC "green.ini", table[i].etc);
                assert_int_equal(profile_load_plain_green(tree->kfs, &profile), 0);
                assert_int_equal(profile_format(profile, false, &text), 0);
                assert_string_equal(profile->name, "green");
                if (!streq(text, table[i].expected))
                        fail_msg("row %zu: %s", i, text);
        }
}

static void test_list(void **state) {
        static const File files[] = { { USR "low-jitter.ini", "\n" }, { USR "masked.ini", "\n" },
                { ETC "masked.ini", LINK "/dev/null" }, { RUN "empty.ini", "" },
                { ETC "audio.ini", "[broken\n" }, { ETC "low-jitter.ini", "\n" }, { RUN "notes.txt", "\n" },
                { RUN "not a name.ini", "\n" } };
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *text = NULL;
        _cleanup_tree_ Tree *tree = tree_new();

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                put(tree, files + i);
        assert_int_equal(profile_list(tree->kfs, &names), 0);
        assert_int_equal(util_strv_join(names, " ", &text), 0);
        assert_string_equal(text, "audio green low-jitter");
}

static void test_check_name(void **state) {
        static const struct {
                const char *name, *why; /* NULL: allowed */
        } table[] = {
                { "low-jitter", NULL },
                { "a", NULL },
                { "A_1-b", NULL },
                { "0123456789012345678901234567890123456789012345678901234567890123", NULL },
                { "01234567890123456789012345678901234567890123456789012345678901234",
                        "\"012345678901234567890123456789012345678901234567890123456789…\"" },
                { "", "\"\"" },
                { "-x", "\"-x\"" },
                { "a b", "\"a b\"" },
                { "../x", "\"../x\"" },
                { "\x1b[31m\n", "\"\\x1b[31m\\x0a\"" },
                { "\xff", "\"\\xff\"" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *why = NULL;
                int r = profile_check_name(table[i].name, &why);

                if (r != (table[i].why ? -EINVAL : 0) || (why && !util_startswith(why, table[i].why)))
                        fail_msg("%s: %d, %s", table[i].name, r, why);
        }
}

static void test_misnamed(void **state) {
        static const File files[] = { { USR "a b.ini", "\n" }, { ETC "-x.ini", "\n" },
                { RUN "good.ini", "\n" }, { RUN "a b.txt", "\n" }, { RUN ".ini", "\n" } };
        _cleanup_strv_ char **paths = NULL;
        _cleanup_free_ char *text = NULL;
        _cleanup_tree_ Tree *tree = tree_new();

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                put(tree, files + i);
        assert_int_equal(profile_list_misnamed(tree->kfs, &paths), 0);
        assert_int_equal(util_strv_join(paths, "|", &text), 0);
        assert_string_equal(text, "/" ETC "-x.ini|" USR "a b.ini");
}

static char *full_path(Tree *tree, const char *path) {
        char *full;

        assert_int_equal(util_asprintf(&full, "%s/%s", tree->root, path), 0);
        return full;
}

/* Whatever lies there in a profile's place: no hang, no crash. */
static void test_no_files(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *fifo = NULL, *sock = NULL, *huge = NULL, *result = NULL;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        tree_put(tree, ETC "x.ini", "[profile]\ninclude = fifo sock huge\n");
        fifo = full_path(tree, ETC "fifo.ini");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        sock = full_path(tree, ETC "sock.ini");
        assert_true(strlen(sock) < sizeof(address.sun_path));
        strcpy(address.sun_path, sock);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        tree_put(tree, ETC "huge.ini", "\n");
        huge = full_path(tree, ETC "huge.ini");
        assert_int_equal(truncate(huge, (16 << 20) + 1), 0);
        result = profiles_load(tree, "x");
        assert_string_equal(result,
                "/" ETC "fifo.ini: it is no regular file\n/" ETC "sock.ini: it is no regular file\n/" ETC
                "huge.ini: it is larger than 16 MiB");
}

/* A hostile file costs no more than its size. */
static void test_many_lines(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *text = NULL, *result = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        for (int i = 0; i < 50000; i++)
                fprintf(f, "[irq r%d]\nmatch = a\ncpus = 1\nbad\n[sysctl]\nvm.a%d = 1\n", i, i);
        assert_int_equal(fclose(f), 0);
        tree_put(tree, ETC "x.ini", text);
        result = profiles_load(tree, "x");
        assert_non_null(strstr(result, "x.ini:4: a line is [SECTION], KEY = VALUE or a comment\n"));
        assert_non_null(strstr(result, "and more errors, which are not shown"));
}

static void test_distrust(void **state) {
        static const struct {
                uid_t uid;
                gid_t gid;
                mode_t mode;
                bool trusted;
        } table[] = {
                { 0, 0, S_IFREG | 0644, true },
                { 0, 0, S_IFREG | 0664, true },
                { 0, 4, S_IFREG | 0640, true },
                { 0, 4, S_IFREG | 0660, false },
                { 0, 0, S_IFREG | 0646, false },
                { 0, 0, S_IFDIR | 0755, true },
                { 0, 0, S_IFDIR | 01777, false },
                { 1000, 0, S_IFREG | 0644, false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                struct stat st = {
                        .st_uid = table[i].uid, .st_gid = table[i].gid, .st_mode = table[i].mode
                };
                const char *why = profile_distrust(&st);

                if (!why != table[i].trusted)
                        fail_msg("%u:%u %o: %s", st.st_uid, st.st_gid, st.st_mode, why);
        }
}

static char *check_file(const char *path) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        int r = profile_check_file(path, &errors);

        assert_int_equal(r, errors.n > 0 ? -EINVAL : 0);
        return profiles_errors(&errors);
}

static void test_check_file(void **state) {
        static const File files[] = { { "x.ini", "[profile]\ninclude = rtisold-test-beside\n" },
                { "rtisold-test-beside.ini", "[sysctl]\nvm.a = 1\n" },
                { "bad.ini", "[tick]\n\nskew_tick = 3\n" }, { "x.ini.d/1.ini", "[broken\n" },
                { "empty.ini", "" }, { "null.ini", LINK "/dev/null" } };
        static const struct {
                const char *path, *expected; /* behind the path */
        } table[] = {
                { "x.ini", "" },
                { "bad.ini", ":3: tick: skew_tick: \"3\" is not allowed; write on or off" },
                { "empty.ini", ": it is empty, which masks the profile of its name" },
                { "null.ini", ": it is empty, which masks the profile of its name" },
                { "nothing.ini", ": there is no such file" },
                { "x.ini.d", ": it is no regular file" },
        };
        _cleanup_tree_ Tree *tree = tree_new();

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                put(tree, files + i);
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *path = full_path(tree, table[i].path), *result = check_file(path);
                _cleanup_free_ char *expected = NULL;

                assert_int_equal(
                        util_asprintf(&expected, "%s%s", *table[i].expected ? path : "", table[i].expected),
                        0);
                if (!streq(result, expected))
                        fail_msg("%s gives %s", table[i].path, result);
        }
}

/* The digest is of what is in force: not of comments, of where it is written or of how it is split. */
static void test_digest(void **state) {
        static const File same[] = { { ETC "a.ini", "[cpuset rt]\ncpus = 1\nnohz = off\n" },
                { ETC "b.ini", "; a comment\n[cpuset rt]\n  ; another\ncpus=2\n" },
                { ETC "b.ini.d/1.ini", "[cpuset rt]\ncpus = 1\nnohz = off\n" },
                { ETC "c.ini", "[cpuset rt]\ncpus = 1\nnohz = full\n" } };
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_profile_ Profile *a = NULL, *b = NULL, *c = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(same); i++)
                put(tree, same + i);
        assert_int_equal(profile_load(tree->kfs, "a", &a, NULL), 0);
        assert_int_equal(profile_load(tree->kfs, "b", &b, NULL), 0);
        assert_int_equal(profile_load(tree->kfs, "c", &c, NULL), 0);
        assert_string_equal(a->sha256, b->sha256);
        assert_string_not_equal(a->sha256, c->sha256);
}

static void test_sources(void **state) {
        static const File files[] = { { USR "x.ini", "\n[cpuset rt]\ncpus = 1\nnohz = off\n" },
                { ETC "x.ini.d/1.ini", "[cpuset rt]\n\n\ncpus = 2,\n  3\n[sysctl]\n-vm.a = 1\n" } };
        _cleanup_tree_ Tree *tree = tree_new(), *again = tree_new();
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_free_ char *text = NULL, *plain = NULL, *reread = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                put(tree, files + i);
        assert_int_equal(profile_load(tree->kfs, "x", &profile, NULL), 0);
        assert_int_equal(profile_format(profile, true, &text), 0);
        assert_string_equal(text,
                "[cpuset rt]\n"
                "cpus = 2, 3                             ; /" ETC "x.ini.d/1.ini:4\n"
                "nohz = off                              ; " USR "x.ini:4\n"
                "\n[sysctl]\n"
                "-vm.a = 1                               ; /" ETC "x.ini.d/1.ini:7\n");
        /* It is a profile itself. */
        assert_int_equal(profile_format(profile, false, &plain), 0);
        tree_put(again, ETC "x.ini", text);
        reread = profiles_load(again, "x");
        assert_string_equal(reread, plain);
}

static void test_conf(void **state) {
        static const struct {
                const char *text;
                const char *expected; /* mode and on_stop, or errors */
        } table[] = {
                { NULL, "- 0" },
                { "", "- 0" },
                { "[daemon]\n", "- 0" },
                { "[daemon]\nmode = low-jitter\non_stop = green\n", "low-jitter 1" },
                { "[daemon]\nmode = low-jitter\nmode =\non_stop = leave ; the default\n", "- 0" },
                { "[daemon]\nmode = a/b\non_stop = red\nonstop = green\n[demon]\n",
                        CONF_FILE
                        ":2: daemon: mode: \"a/b\" is no profile's name, which has letters, digits, - and "
                        "_, 64 at most, without folder or .ini, and no dash in front\n" CONF_FILE
                        ":3: daemon: on_stop: \"red\" is not allowed; write leave or green\n" CONF_FILE
                        ":4: daemon: onstop: there is no such key (did you mean \"on_stop\"?); keys of "
                        "[daemon] are mode and on_stop\n" CONF_FILE
                        ":5: demon: there is no such section (did you mean \"daemon\"?); sections are "
                        "daemon" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_profile_errors_ ProfileErrors errors = {};
                _cleanup_conf_ Conf conf = {};
                _cleanup_free_ char *result = NULL;
                int r;

                if (table[i].text)
                        tree_put(tree, CONF_FILE, table[i].text);
                r = conf_load(tree->kfs, &conf, &errors);
                if (r == -EINVAL)
                        result = profiles_errors(&errors);
                else
                        assert_int_equal(util_asprintf(&result, "%s %d", conf.mode ?: "-", conf.on_stop), r);
                if (!streq(result, table[i].expected))
                        fail_msg("%s\n--- gives\n%s\n--- not\n%s", table[i].text, result, table[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_includes),
                cmocka_unit_test(test_deep_includes),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_green),
                cmocka_unit_test(test_plain_green),
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_check_name),
                cmocka_unit_test(test_misnamed),
                cmocka_unit_test(test_no_files),
                cmocka_unit_test(test_many_lines),
                cmocka_unit_test(test_distrust),
                cmocka_unit_test(test_check_file),
                cmocka_unit_test(test_digest),
                cmocka_unit_test(test_sources),
                cmocka_unit_test(test_conf),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
