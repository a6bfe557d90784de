/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../unit/test.h"
#include "fault.h"

/* What can be wrong with the journal itself: torn, no room for it, another boot's, another version's, no journal at
 * all. */

static char *journal_path(const Fault *fault) {
        char *path = NULL;

        assert_int_equal(util_asprintf(&path, "%s/journal", fault->journal), 0);
        return path;
}

static off_t size_of(const char *path) {
        struct stat st;

        return stat(path, &st) < 0 ? 0 : st.st_size;
}

static void require(const Fault *fault, bool ok, const char *what, size_t at) {
        if (!ok)
                fail_msg("%s: %s, place %zu", fault->name, what, at);
}

static void require_tree(const Fault *fault, const Snapshot *expected, const char *what, size_t at) {
        _cleanup_snapshot_ Snapshot *now = snapshot_take(fault->root);
        _cleanup_free_ char *difference = snapshot_differ(expected, now);

        if (difference)
                fail_msg("%s: %s, place %zu: %s", fault->name, what, at, difference);
}

/* The next start of a daemon; what it finds wrong with the journal is at *ret_problem. */
static void restart(Fault *fault, bool *ret_problem) {
        _cleanup_(apply_problems_done) ApplyProblems problems = {};
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        _cleanup_journal_ Journal *opened = NULL;
        ApplyOutcome outcome;
        int r;

        r = journal_open(fault->journal, FAULT_BOOT_ID, &opened);
        assert_true(r >= 0);
        *ret_problem = journal_problem(opened) != NULL;
        assert_int_equal(apply_recover(kfs, opened, NULL, NULL, &outcome, &problems), 0);
        assert_int_equal(problems.n, 0);
        fault->runs++;
}

/* Begun, and killed while the record was written: nothing of it was done, and nothing of it is there. */
void fault_torn(Fault *fault) {
        _cleanup_free_ char *path = journal_path(fault);
        _cleanup_snapshot_ Snapshot *begun = NULL;
        off_t whole, size, step;

        snapshot_restore(fault->before, fault->root);
        snapshot_restore(fault->journal_before, fault->journal);
        whole = size_of(path);
        {
                _cleanup_journal_ Journal *journal = fault_open_journal(fault);

                assert_int_equal(journal_begin(journal, fault->sw), 0);
        }
        begun = snapshot_take(fault->journal);
        size = size_of(path);
        step = (size - whole) / 40 + 1;
        for (off_t cut = whole + 1; cut < size; cut += step) {
                _cleanup_journal_ Journal *journal = NULL;
                bool problem;

                snapshot_restore(begun, fault->journal);
                assert_int_equal(truncate(path, cut), 0);
                restart(fault, &problem);
                require_tree(fault, fault->before, "torn, and not as before", (size_t) cut);
                journal = fault_open_journal(fault);
                /* Of a journal that begins with this record, the header and what is in force may be torn, too. */
                require(fault, problem || whole == 0, "a torn record, and nothing is told", (size_t) cut);
                require(fault, !journal_unfinished(journal), "the torn record counts", (size_t) cut);
                require(fault, streq(journal_mode(journal), fault->sw->from) || whole == 0, "another mode",
                        (size_t) cut);
        }
}

/* No room for more than so many bytes, from none to enough: done or as before, and the journal says which. */
void fault_full(Fault *fault) {
        _cleanup_free_ char *path = journal_path(fault);
        off_t most, step;

        snapshot_restore(fault->before, fault->root);
        snapshot_restore(fault->journal_before, fault->journal);
        {
                _cleanup_journal_ Journal *journal = fault_open_journal(fault);

                assert_int_equal(journal_begin(journal, fault->sw), 0);
                most = size_of(path);
        }
        step = most / 25 + 1;
        for (off_t room = 0; room <= most + step; room += step) {
                ApplyOutcome outcome;
                int r = fault_with_room(fault, (size_t) room, &outcome);
                _cleanup_journal_ Journal *journal = fault_open_journal(fault);
                bool done = r >= 0 && outcome == APPLY_DONE;

                require(fault, r == -EFBIG || r == 0, "another errno", (size_t) room);
                require(fault, r < 0 || outcome != APPLY_INCOMPLETE, "incomplete", (size_t) room);
                require_tree(fault, done ? fault->after : fault->before, "no room", (size_t) room);
                require(fault, !journal_problem(journal) && !journal_unfinished(journal),
                        "the journal is no good", (size_t) room);
                require(fault, streq(journal_mode(journal), done ? fault->sw->to : fault->sw->from),
                        "another mode", (size_t) room);
                fault->runs++;
        }
}

static uint64_t checksum(const char *text) {
        uint64_t sum = 0xcbf29ce484222325u;

        for (; *text; text++)
                sum = (sum ^ (unsigned char) *text) * 0x100000001b3u;
        return sum;
}

#define HEADER(version, boot)                                                                               \
        "{\"format\":\"rtisold-journal\",\"version\":" version ",\"boot_id\":\"" boot "\"}"

/* What no daemon of this boot and version wrote is not believed, nothing of the machine is touched for it, and it is kept
 * unless it is of another boot. */
void fault_foreign(Fault *fault) {
        static const struct {
                const char *header, *text;
                bool kept;
        } table[] = {
                { HEADER("1", "another"), "", false },
                { HEADER("1", "another"), "garbage", false },
                { HEADER("0", FAULT_BOOT_ID), "garbage", true },
                { HEADER("2", FAULT_BOOT_ID), "garbage", true },
                { HEADER("1", FAULT_BOOT_ID), "", true },
                { HEADER("1", FAULT_BOOT_ID), "garbage", true },
                { NULL, "", true },
                { NULL, "garbage", true },
                { NULL, "\n\n\n", true },
                { NULL, "{\"sum\":\"0000000000000000\",\"data\":{}}\n", true },
        };
        _cleanup_free_ char *path = journal_path(fault);

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *beside = NULL;
                bool problem;
                FILE *file;

                snapshot_restore(fault->after, fault->root);
                snapshot_restore(fault->journal_before, fault->journal);
                file = fopen(path, "w");
                assert_non_null(file);
                if (table[i].header)
                        fprintf(file, "{\"sum\":\"%016llx\",\"data\":%s}\n",
                                (unsigned long long) checksum(table[i].header), table[i].header);
                fputs(table[i].text, file);
                assert_int_equal(fclose(file), 0);
                restart(fault, &problem);
                require(fault, problem, "not one of ours, and nothing is told", i);
                require_tree(fault, fault->after, "not one of ours, and the machine was touched", i);
                assert_int_equal(util_asprintf(&beside, "%s.unusable-1", path), 0);
                require(fault, (access(beside, F_OK) == 0) == table[i].kept, "kept, or not", i);
        }
}
