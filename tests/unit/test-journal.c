/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "journal.h"
#include "state.h"
#include "tree.h"

#define BOOT "b0"

static char *text(const char *value) {
        char *copy = value ? strdup(value) : NULL;

        assert_true(!value || copy);
        return copy;
}

static Step make_step(const char *object, const char *before, const char *wanted) {
        return (Step){ .id = text(object),
                .object = text(object),
                .before = text(before),
                .wanted = text(wanted),
                .within = text("0-1"),
                .kind = VALUE_WITHIN,
                .phase = PHASE_IRQ,
                .order = -3,
                .flags = STEP_REQUIRED | STEP_VOLATILE,
                .mechanism = MECHANISM_RUNTIME,
                .reason = text("why"),
                .refused = -EIO,
                .set = text("rt"),
                .backend = text("irq") };
}

static Switch *make_switch(const char *from, const char *to, const char *object, const char *was) {
        Switch *sw = calloc(1, sizeof(Switch));
        Step step = make_step(object, was, "0-1");

        assert_non_null(sw);
        sw->from = text(from);
        sw->to = text(to);
        sw->ops = calloc(1, sizeof(Op));
        assert_non_null(sw->ops);
        sw->n_ops = 1;
        assert_int_equal(step_copy(&step, &sw->ops[0].step), 0);
        sw->ops[0].was = text(was);
        sw->ops[0].target = text("0-1");
        assert_int_equal(steps_add(&sw->in_force, &step), 0);
        assert_int_equal(steps_add_set(&sw->in_force,
                                 &(StepSet){ (char *) "rt", (char *) "2-3", (char *) "isolated",
                                         (char *) "off", (char *) "" }),
                0);
        return sw;
}

typedef struct Fixture {
        Tree *tree;
        char *directory, *file;
        Journal *journal;
        const char *fail; /* the moment that fails */
        int error;
        bool over; /* a moment that did not come is a test that says nothing */
} Fixture;

static int fail_at(void *userdata, const char *moment) {
        Fixture *f = userdata;

        if (!f->fail || !streq(f->fail, moment))
                return 0;
        f->over = true;
        return f->error;
}

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(Fixture));

        assert_non_null(f);
        f->tree = tree_new();
        assert_int_equal(util_asprintf(&f->directory, "%s/journal", f->tree->root), 0);
        assert_int_equal(util_asprintf(&f->file, "%s/journal", f->directory), 0);
        assert_int_equal(journal_open(f->directory, BOOT, &f->journal), 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        journal_free(f->journal);
        tree_free(f->tree);
        free(f->directory);
        free(f->file);
        free(f);
        return 0;
}

static int reopen(Fixture *f, const char *boot_id) {
        journal_free(TAKE_PTR(f->journal));
        return journal_open(f->directory, boot_id, &f->journal);
}

static void check_step(const Step *step, const Step *expected) {
        assert_string_equal(step->id, expected->id);
        assert_string_equal(step->object, expected->object);
        assert_string_equal(step->before, expected->before);
        assert_string_equal(step->wanted, expected->wanted);
        assert_string_equal(step->within, expected->within);
        assert_string_equal(step->reason, expected->reason);
        assert_string_equal(step->set, expected->set);
        assert_string_equal(step->backend, expected->backend);
        assert_null(step->disturbs);
        assert_int_equal(step->kind, expected->kind);
        assert_int_equal(step->phase, expected->phase);
        assert_int_equal(step->order, expected->order);
        assert_int_equal(step->flags, expected->flags);
        assert_int_equal(step->mechanism, expected->mechanism);
        assert_int_equal(step->refused, expected->refused);
}

static void test_empty(void **state) {
        Fixture *f = *state;

        assert_string_equal(journal_mode(f->journal), "green");
        assert_int_equal(journal_steps(f->journal)->n, 0);
        assert_null(journal_unfinished(f->journal));
        assert_null(journal_problem(f->journal));
        assert_int_equal(access(f->file, F_OK), -1);
}

/* Names of objects and values may be any bytes. */
static void test_life(void **state) {
        Fixture *f = *state;
        static const char odd[] = "odd \xff\xfe \"\\\n\t\xc3\xa9";
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", odd, "2");
        const Switch *unfinished;
        uint64_t since;

        assert_int_equal(journal_begin(f->journal, sw), 0);
        assert_int_equal(journal_begin(f->journal, sw), -EBUSY);
        assert_int_equal(reopen(f, BOOT), 0);
        assert_null(journal_problem(f->journal));
        assert_string_equal(journal_mode(f->journal), "green");
        unfinished = journal_unfinished(f->journal);
        assert_non_null(unfinished);
        assert_string_equal(unfinished->from, "green");
        assert_string_equal(unfinished->to, "quiet");
        assert_int_equal(unfinished->n_ops, 1);
        check_step(&unfinished->ops[0].step, &sw->ops[0].step);
        assert_string_equal(unfinished->ops[0].was, sw->ops[0].was);
        assert_string_equal(unfinished->ops[0].target, sw->ops[0].target);

        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        assert_int_equal(reopen(f, BOOT), 0);
        assert_null(journal_unfinished(f->journal));
        assert_string_equal(journal_mode(f->journal), "quiet");
        assert_string_equal(journal_by(f->journal), "ops");
        assert_string_equal(journal_profile_sha256(f->journal), "abc");
        assert_int_equal(journal_steps(f->journal)->n, 1);
        check_step(&journal_steps(f->journal)->items[0], &sw->in_force.items[0]);
        assert_string_equal(journal_steps(f->journal)->sets[0].cpus, "2-3");
        since = journal_since(f->journal);
        assert_true(since > 0);

        /* Mending the mode leaves since when and by whom. */
        assert_int_equal(journal_commit(f->journal, sw, "abd", "somebody else"), 0);
        assert_string_equal(journal_by(f->journal), "ops");
        assert_string_equal(journal_profile_sha256(f->journal), "abd");
        assert_int_equal(journal_since(f->journal), since);
}

static void test_abort(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");
        _cleanup_steps_ Steps left = {};
        Step step = make_step("/b", "1", "2");

        assert_int_equal(journal_begin(f->journal, sw), 0);
        assert_int_equal(journal_abort(f->journal, NULL), 0);
        assert_int_equal(reopen(f, BOOT), 0);
        assert_null(journal_unfinished(f->journal));
        assert_null(journal_problem(f->journal));
        assert_int_equal(journal_steps(f->journal)->n, 0);

        assert_int_equal(steps_add(&left, &step), 0);
        assert_int_equal(journal_begin(f->journal, sw), 0);
        assert_int_equal(reopen(f, BOOT), 0);
        assert_int_equal(journal_abort(f->journal, &left), 0);
        assert_int_equal(reopen(f, BOOT), 0);
        assert_string_equal(journal_mode(f->journal), "green");
        assert_null(journal_unfinished(f->journal));
        assert_int_equal(journal_steps(f->journal)->n, 1);
        assert_string_equal(journal_steps(f->journal)->items[0].object, "/b");
}

static char *read_file(const char *path, size_t *ret_size) {
        _cleanup_fclose_ FILE *file = fopen(path, "r");
        char *data = calloc(1, 1 << 16);

        assert_non_null(file);
        assert_non_null(data);
        *ret_size = fread(data, 1, (1 << 16) - 1, file);
        return data;
}

static void write_file(const char *path, const char *data, size_t size) {
        _cleanup_fclose_ FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, size, file), size);
}

/* Cut anywhere in its last record, that record was never there; the next switch goes through. */
static void test_torn(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");
        _cleanup_free_ char *data = NULL;
        size_t size, whole, checked = 0;

        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        free(read_file(f->file, &whole));
        assert_int_equal(journal_begin(f->journal, sw), 0);
        data = read_file(f->file, &size);
        for (size_t n = whole + 1; n < size; n += 7, checked++) {
                write_file(f->file, data, n);
                if (reopen(f, BOOT) != 0 || journal_unfinished(f->journal) || !journal_problem(f->journal) ||
                        !streq(journal_mode(f->journal), "quiet"))
                        fail_msg("cut at %zu of %zu: %s", n, size, journal_problem(f->journal));
                if (journal_begin(f->journal, sw) < 0 || reopen(f, BOOT) != 0 ||
                        !journal_unfinished(f->journal))
                        fail_msg("begin after a cut at %zu of %zu", n, size);
        }
        assert_true(checked > 50);
}

/* One changed byte in what is in force is never taken for it: the file is put aside. */
static void test_damaged(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");
        _cleanup_free_ char *data = NULL, *kept = NULL;
        size_t size;

        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        data = read_file(f->file, &size);
        for (size_t n = 0; n < size; n++) {
                int r;

                data[n] ^= 1;
                write_file(f->file, data, size);
                data[n] ^= 1;
                r = reopen(f, BOOT);
                if (r != 1 || !streq(journal_mode(f->journal), "green") ||
                        !strstr(journal_problem(f->journal), "journal.unusable-"))
                        fail_msg("byte %zu: %d, %s, %s", n, r, journal_mode(f->journal),
                                journal_problem(f->journal));
        }
        assert_int_equal(util_asprintf(&kept, "%s.unusable-%zu", f->file, size), 0);
        assert_int_equal(access(kept, F_OK), 0);
        assert_int_equal(access(f->file, F_OK), -1);
        assert_int_equal(journal_begin(f->journal, sw), 0);
}

static void test_boot(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");

        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        assert_int_equal(reopen(f, "b1"), 0);
        assert_string_equal(journal_mode(f->journal), "green");
        assert_non_null(strstr(journal_problem(f->journal), "another boot"));
        assert_int_equal(journal_begin(f->journal, sw), 0);
        assert_int_equal(reopen(f, "b1"), 0);
        assert_non_null(journal_unfinished(f->journal));
}

/* Each operation on the files failing in turn leaves the journal as it was, and the next try goes through. */
static void test_failures(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");
        static const struct {
                const char *moment;
                enum { BEGIN, COMMIT, ABORT } what;
        } table[] = {
                { "before write", BEGIN },
                { "after write", BEGIN },
                { "before rename", BEGIN },
                { "before append", BEGIN },
                { "after append", BEGIN },
                { "before write", COMMIT },
                { "after write", COMMIT },
                { "before rename", COMMIT },
                { "before cut", ABORT },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                int r = table[i].what == BEGIN ? 0 : journal_begin(f->journal, sw);

                assert_int_equal(r, 0);
                f->fail = table[i].moment;
                f->error = -ENOSPC;
                f->over = false;
                journal_hook(f->journal, fail_at, f);
                switch (table[i].what) {
                case BEGIN: r = journal_begin(f->journal, sw); break;
                case COMMIT: r = journal_commit(f->journal, sw, "abc", "ops"); break;
                case ABORT: r = journal_abort(f->journal, NULL); break;
                }
                journal_hook(f->journal, NULL, NULL);
                if (r != -ENOSPC || !f->over)
                        fail_msg("%s: %d, came %d", table[i].moment, r, f->over);
                if ((journal_unfinished(f->journal) != NULL) != (table[i].what != BEGIN))
                        fail_msg("%s: in memory", table[i].moment);
                if (reopen(f, BOOT) != 0 || journal_problem(f->journal) ||
                        (journal_unfinished(f->journal) != NULL) != (table[i].what != BEGIN))
                        fail_msg("%s: on disk", table[i].moment);
                assert_string_equal(journal_mode(f->journal), "green");
                assert_int_equal(journal_abort(f->journal, NULL), 0);
                (void) unlink(f->file);
                assert_int_equal(reopen(f, BOOT), 0);
        }
}

/* A file system that is full takes a part of the record: it is cut off again. */
static void test_full(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");
        struct rlimit old, small;
        struct stat st, after;

        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        assert_int_equal(stat(f->file, &st), 0);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        signal(SIGXFSZ, SIG_IGN);
        for (rlim_t room = 0; room < 200; room += 19) {
                int begun, committed;

                small = (struct rlimit){ (rlim_t) st.st_size + room, old.rlim_max };
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
                begun = journal_begin(f->journal, sw);
                small.rlim_cur = room;
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
                committed = journal_commit(f->journal, sw, "abd", "ops");
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
                assert_int_equal(begun, -EFBIG);
                assert_int_equal(committed, -EFBIG);
                assert_int_equal(stat(f->file, &after), 0);
                assert_int_equal(after.st_size, st.st_size);
                assert_int_equal(reopen(f, BOOT), 0);
                assert_null(journal_problem(f->journal));
                assert_string_equal(journal_profile_sha256(f->journal), "abc");
        }
        signal(SIGXFSZ, SIG_DFL);
        assert_int_equal(journal_begin(f->journal, sw), 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
        return remove(path);
}

/* Somebody removes the journal while it is open: the next record finds all that was there before it in place. */
static void test_removed(void **state) {
        static const char *const what[] = { "the file", "its folder", "the folder above" };
        enum { BEGIN, COMMIT, ABORT, KEEP, _OPERATIONS };
        Fixture *f = *state;
        _cleanup_switch_ Switch *first = make_switch("green", "quiet", "/a", "2");
        _cleanup_switch_ Switch *next = make_switch("quiet", "still", "/b", "3");

        free(f->directory);
        free(f->file);
        assert_int_equal(util_asprintf(&f->directory, "%s/run/journal", f->tree->root), 0);
        assert_int_equal(util_asprintf(&f->file, "%s/journal", f->directory), 0);
        for (size_t i = 0; i < _OPERATIONS * ARRAY_SIZE(what); i++) {
                size_t operation = i / ARRAY_SIZE(what), removed = i % ARRAY_SIZE(what);
                _cleanup_free_ char *above = NULL;
                const Switch *unfinished;
                int r = 0;

                assert_int_equal(util_asprintf(&above, "%s/run", f->tree->root), 0);
                (void) nftw(above, remove_one, 8, FTW_DEPTH | FTW_PHYS);
                assert_int_equal(mkdir(above, 0755), 0);
                assert_int_equal(reopen(f, BOOT), 0);
                assert_int_equal(journal_commit(f->journal, first, "abc", "ops"), 0);
                assert_false(journal_take_restored(f->journal));
                if (operation != BEGIN)
                        assert_int_equal(journal_begin(f->journal, next), 0);
                (void) nftw(removed == 0       ? f->file
                                : removed == 1 ? f->directory
                                               : above,
                        remove_one, 8, FTW_DEPTH | FTW_PHYS);
                switch (operation) {
                case BEGIN: r = journal_begin(f->journal, next); break;
                case COMMIT: r = journal_commit(f->journal, next, "def", "ops"); break;
                case ABORT: r = journal_abort(f->journal, NULL); break;
                case KEEP: r = journal_keep(f->journal) == 1 ? 0 : -EIO; break;
                }
                if (r < 0 || !journal_take_restored(f->journal) || journal_take_restored(f->journal))
                        fail_msg("%s, operation %zu: %d", what[removed], operation, r);
                assert_int_equal(journal_keep(f->journal), 0);
                assert_int_equal(reopen(f, BOOT), 0);
                unfinished = journal_unfinished(f->journal);
                assert_null(journal_problem(f->journal));
                assert_string_equal(journal_mode(f->journal), operation == COMMIT ? "still" : "quiet");
                assert_string_equal(
                        journal_steps(f->journal)->items[0].object, operation == COMMIT ? "/b" : "/a");
                assert_int_equal(unfinished ? unfinished->n_ops : 0,
                        operation == COMMIT || operation == ABORT ? 0 : 1);
        }
}

/* A folder that cannot be made again fails the record, and nothing of it is remembered. */
static void test_removed_for_good(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");

        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        (void) nftw(f->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        write_file(f->directory, "", 0);
        assert_int_equal(journal_begin(f->journal, sw), -ENOTDIR);
        assert_null(journal_unfinished(f->journal));
        assert_int_equal(remove(f->directory), 0);
        assert_int_equal(journal_begin(f->journal, sw), 0);
        assert_true(journal_take_restored(f->journal));
}

/* What is known from elsewhere becomes what is in force, since when it was. */
static void test_adopt(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");

        assert_false(journal_is_on_disk(f->journal));
        assert_int_equal(journal_adopt(f->journal, "quiet", "ops", "abc", 77, &sw->in_force), 0);
        assert_true(journal_is_on_disk(f->journal));
        assert_int_equal(reopen(f, BOOT), 0);
        assert_string_equal(journal_mode(f->journal), "quiet");
        assert_string_equal(journal_by(f->journal), "ops");
        assert_int_equal(journal_since(f->journal), 77);
        check_step(&journal_steps(f->journal)->items[0], &sw->in_force.items[0]);
        assert_int_equal(journal_begin(f->journal, sw), 0);
        assert_int_equal(journal_adopt(f->journal, "quiet", "ops", "abc", 77, &sw->in_force), -EBUSY);
}

/* One that a later version wrote is kept beside: it may tell what this one cannot. */
static void test_version(void **state) {
        Fixture *f = *state;
        static const char data[] = "{\"format\":\"rtisold-journal\",\"version\":2,\"boot_id\":\"" BOOT "\"}";
        char line[256];
        uint64_t sum = 0xcbf29ce484222325u;

        for (const char *p = data; *p; p++)
                sum = (sum ^ (unsigned char) *p) * 0x100000001b3u;
        snprintf(line, sizeof(line), "{\"sum\":\"%016llx\",\"data\":%s}\nsomething else\n",
                (unsigned long long) sum, data);
        write_file(f->file, line, strlen(line));
        assert_int_equal(reopen(f, BOOT), 1);
        assert_string_equal(journal_mode(f->journal), "green");
        assert_non_null(strstr(journal_problem(f->journal), "version"));
        assert_non_null(strstr(journal_problem(f->journal), "journal.unusable-1"));
        assert_int_equal(reopen(f, BOOT), 0);
}

static void test_state(void **state) {
        Fixture *f = *state;
        _cleanup_switch_ Switch *sw = make_switch("green", "quiet", "/a", "2");
        _cleanup_free_ char *path = NULL;
        _cleanup_state_ State read = {};
        struct stat st;

        assert_int_equal(util_asprintf(&path, "%s/state.json", f->tree->root), 0);
        assert_int_equal(state_read(path, BOOT, &read), -ENOENT);
        assert_int_equal(journal_commit(f->journal, sw, "abc", "ops"), 0);
        umask(077);
        assert_int_equal(state_write(path, f->journal, BOOT), 0);
        umask(022);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0644);
        assert_int_equal(state_read(path, "b1", &read), -ENOENT);
        assert_int_equal(state_read(path, NULL, &read), 0);
        assert_string_equal(read.mode, "quiet");
        assert_string_equal(read.by, "ops");
        assert_string_equal(read.profile_sha256, "abc");
        assert_int_equal(read.since, journal_since(f->journal));
        check_step(&read.steps.items[0], &sw->in_force.items[0]);
        write_file(path, "{\"version\":2}", 13);
        assert_int_equal(state_read(path, NULL, &read), -EPROTO);
        write_file(path, "{", 1);
        assert_int_equal(state_read(path, NULL, &read), -EPROTO);
        assert_int_equal(state_write("/none/at/all", f->journal, BOOT), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_empty),
                TEST(test_life),
                TEST(test_abort),
                TEST(test_torn),
                TEST(test_damaged),
                TEST(test_boot),
                TEST(test_failures),
                TEST(test_full),
                TEST(test_removed),
                TEST(test_removed_for_good),
                TEST(test_adopt),
                TEST(test_version),
                TEST(test_state),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
