/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../unit/test.h"
#include "journal-json.h"
#include "providers.h"

/* What a kernel says of a partition that it took and did not make. */
#define REASON "Cpu list in cpuset.cpus not exclusive"

/* The linker puts this in the place of the C library's (meson.build). */
static bool fault_read_some;

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);

ssize_t __wrap_read(int fd, void *buffer, size_t size) {
        static unsigned turn;

        return __real_read(fd, buffer, fault_read_some && size > 0 ? 1 + turn++ % 5 % size : size);
}

/* The fixture */

Fault *fault_new(const char *name) {
        Fault *fault = calloc(1, sizeof(Fault));
        char base[] = "/dev/shm/rtisold-fault-XXXXXX", elsewhere[] = "/tmp/rtisold-fault-XXXXXX";

        assert_non_null(fault);
        fault->name = name;
        fault->base = strdup(mkdtemp(base) ?: mkdtemp(elsewhere) ?: "");
        assert_non_null(fault->base);
        assert_true(fault->base[0]);
        assert_int_equal(util_asprintf(&fault->root, "%s/root", fault->base), 0);
        assert_int_equal(util_asprintf(&fault->journal, "%s/journal", fault->base), 0);
        assert_int_equal(mkdir(fault->root, 0755), 0);
        return fault;
}

void fault_free(Fault *fault) {
        static const Snapshot nothing = {};

        snapshot_restore(&nothing, fault->base);
        (void) rmdir(fault->base);
        snapshot_free(fault->before);
        snapshot_free(fault->journal_before);
        snapshot_free(fault->after);
        switch_free(fault->sw);
        free(fault->base);
        free(fault->root);
        free(fault->journal);
        free(fault);
}

Kfs *fault_kfs(const Fault *fault) {
        Kfs *kfs = NULL;

        assert_int_equal(kfs_new(fault->root, &kfs), 0);
        assert_int_equal(providers_add(kfs), 0);
        return kfs;
}

Journal *fault_open_journal(const Fault *fault) {
        Journal *journal = NULL;

        assert_int_equal(journal_open(fault->journal, FAULT_BOOT_ID, &journal), 0);
        return journal;
}

/* apply_switch() adds to the switch it is given. */
static Switch *copy_switch(const Switch *sw) {
        _cleanup_json_ json_t *json = switch_to_json(sw);
        Switch *copy = NULL;

        assert_int_equal(switch_from_json(json, &copy), 0);
        return copy;
}

/* One run */

typedef enum FaultKind {
        FAULT_NONE,
        FAULT_REFUSE,     /* writes of `object` = `value` fail */
        FAULT_TWIST,      /* they read otherwise afterwards */
        FAULT_FAIL_AFTER, /* they are done and fail */
        FAULT_READ,       /* the read number `at` after the first write fails */
        FAULT_KILL,       /* killed at place number `at` */
        FAULT_JOURNAL,    /* the operation number `at` on the journal fails */
        FAULT_REVERT,     /* `undo` reads otherwise once `object` was written */
        FAULT_SHORT,      /* of `value` only the first half is taken */
        FAULT_VANISH,     /* `object` is gone when it is to be written */
        FAULT_UNDO,       /* as REFUSE, and `undo` cannot be written any more after that */
} FaultKind;

typedef struct Run {
        const Fault *fault;
        FaultKind kind;
        const char *object, *value, *undo, *twisted;
        size_t at, count;
        int error;
        bool written, hit;
        ApplyOutcome outcome;
        ApplyProblems problems;
        int result;
} Run;

static void run_done(Run *run) {
        apply_problems_done(&run->problems);
}
#define _cleanup_run_ _cleanup_(run_done)

/* Files of the root are written behind the context's back: this is the kernel. */
static void kernel_put(const Fault *fault, const char *object, const char *text) {
        _cleanup_free_ char *path = NULL;
        FILE *file;

        assert_int_equal(util_asprintf(&path, "%s%s", fault->root, object), 0);
        file = fopen(path, "w");
        if (!file)
                return;
        fputs(text, file);
        fclose(file);
}

static void kernel_remove(const Fault *fault, const char *object) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(util_asprintf(&path, "%s%s", fault->root, object), 0);
        (void) unlink(path);
}

static bool run_is_at(Run *run) {
        bool at = run->count++ == run->at;

        run->hit |= at;
        return at;
}

static bool run_is_target(Run *run, const char *object, const char *value) {
        if (!run->object || !streq(object, run->object) || !value || !streq(value, run->value))
                return false;
        run->hit = true;
        return true;
}

static int before_write(Run *run, const char *object, const char *value) {
        run->written = true;
        if (run->kind == FAULT_KILL && run_is_at(run))
                raise(SIGKILL);
        if (run->kind == FAULT_UNDO && run->hit && streq(object, run->undo))
                return run->error;
        if (run->kind == FAULT_VANISH && run_is_target(run, object, value)) {
                kernel_remove(run->fault, object);
                return -ENOENT; /* on a machine of files the write would make it anew */
        }
        if (run->kind == FAULT_SHORT && run_is_target(run, object, value)) {
                _cleanup_free_ char *half = NULL;

                assert_int_equal(util_asprintf(&half, "%.*s\n", (int) strlen(value) / 2, value), 0);
                kernel_put(run->fault, object, half);
                return -EIO; /* as kfs_write() has it */
        }
        if ((run->kind == FAULT_REFUSE || run->kind == FAULT_UNDO) && run_is_target(run, object, value))
                return run->error;
        return 0;
}

static int after_write(Run *run, const char *object, const char *value) {
        if (run->fault->kernel)
                run->fault->kernel(run->fault->root, object, value);
        if (run->kind == FAULT_KILL && run_is_at(run))
                raise(SIGKILL);
        if (run->kind == FAULT_TWIST && run_is_target(run, object, value))
                kernel_put(run->fault, object, run->twisted);
        if (run->kind == FAULT_REVERT && run_is_target(run, object, value))
                kernel_put(run->fault, run->undo, run->twisted);
        if (run->kind == FAULT_FAIL_AFTER && run_is_target(run, object, value))
                return run->error;
        return 0;
}

static int hook(void *userdata, KfsMoment moment, const char *object, const char *value) {
        Run *run = userdata;

        switch (moment) {
        case KFS_BEFORE_WRITE: return before_write(run, object, value);
        case KFS_AFTER_WRITE: return after_write(run, object, value);
        case KFS_BEFORE_READ:
                if (run->kind == FAULT_READ && run->written && run_is_at(run))
                        return run->error;
                return 0;
        case KFS_AFTER_READ: return 0;
        }
        return 0;
}

static int on_journal(void *userdata, const char *moment) {
        Run *run = userdata;

        if (run->kind == FAULT_KILL && run_is_at(run))
                raise(SIGKILL);
        return run->kind == FAULT_JOURNAL && run_is_at(run) ? run->error : 0;
}

static void run_switch(Run *run) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(run->fault);
        _cleanup_journal_ Journal *journal = fault_open_journal(run->fault);
        _cleanup_switch_ Switch *sw = copy_switch(run->fault->sw);

        kfs_hook(kfs, hook, run);
        journal_hook(journal, on_journal, run);
        run->result =
                apply_switch(kfs, journal, sw, "0123", "tests", NULL, NULL, &run->outcome, &run->problems);
}

static void run_recover(Run *run) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(run->fault);
        _cleanup_journal_ Journal *journal = fault_open_journal(run->fault);

        kfs_hook(kfs, hook, run);
        journal_hook(journal, on_journal, run);
        run->result = apply_recover(kfs, journal, NULL, NULL, &run->outcome, &run->problems);
}

static Run new_run(Fault *fault, FaultKind kind, int error) {
        fault->runs++;
        snapshot_restore(fault->before, fault->root);
        snapshot_restore(fault->journal_before, fault->journal);
        return (Run){ .fault = fault, .kind = kind, .error = error, .at = SIZE_MAX };
}

static char *describe(const Run *run) {
        static const char *const words[] = { "no fault", "refused", "twisted", "failed after it was done",
                "read failed", "killed", "journal failed", "reverted later", "taken by half", "gone",
                "undo failed" };
        char *text = NULL;

        assert_int_equal(
                util_asprintf(&text, "%s: %s, %s = %s, undo of %s, place %zd, %s: result %d, outcome %d",
                        run->fault->name, words[run->kind], run->object, run->value, run->undo,
                        (ssize_t) run->at, run->error ? strerrorname_np(-run->error) : "0", run->result,
                        (int) run->outcome),
                0);
        return text;
}

static void require(const Run *run, bool ok, const char *what) {
        _cleanup_free_ char *text = NULL;

        if (ok)
                return;
        text = describe(run);
        fail_msg("%s: %s", text, what);
}

/* The machine is one of two, byte for byte. */
static void require_tree(const Run *run, const Snapshot *expected, const char *which) {
        _cleanup_snapshot_ Snapshot *now = snapshot_take(run->fault->root);
        _cleanup_free_ char *difference = snapshot_differ(expected, now), *text = NULL;

        if (!difference)
                return;
        text = describe(run);
        fail_msg("%s: not as %s: %s", text, which, difference);
}

static void require_mode(const Run *run, const char *mode) {
        _cleanup_journal_ Journal *journal = fault_open_journal(run->fault);

        require(run, !journal_unfinished(journal), "the journal still has the switch under way");
        require(run, !journal_problem(journal), "the journal was damaged");
        require(run, streq(journal_mode(journal), mode), "the journal names another mode");
}

static void require_undone(const Run *run) {
        require(run, run->result == 0 && run->outcome == APPLY_UNDONE, "should have been undone");
        require(run, run->problems.n == 1, "the failure alone should be told");
        require_tree(run, run->fault->before, "before");
        require_mode(run, run->fault->sw->from);
}

static void require_done(const Run *run) {
        require(run, run->result == 0 && run->outcome == APPLY_DONE, "should have been done");
        require_mode(run, run->fault->sw->to);
}

/* Which object, what was wanted, what the kernel said, what to do. */
static void require_sentence(const Run *run, const ApplyProblem *problem, const Op *op, int error) {
        _cleanup_free_ char *sentence = NULL;
        const char *advice;

        assert_int_equal(apply_problem_sentence(problem, &sentence), 0);
        require(run, streq(problem->object, op->step.object), "the problem names another object");
        require(run, problem->error == error, "the problem has another errno");
        require(run, strstr(sentence, op->step.object), sentence);
        require(run, strstr(sentence, op->target), sentence);
        require(run, strstr(sentence, strerrorname_np(-error)), sentence);
        advice = strrchr(sentence, ';');
        require(run, advice && strlen(advice) > 10, sentence);
}

void fault_once(const Fault *fault, Switch *sw, ApplyOutcome *ret_outcome, size_t *ret_problems) {
        Fault copy = *fault;
        Run run = { .fault = &copy, .kind = FAULT_NONE, .at = SIZE_MAX };

        copy.sw = sw;
        run_switch(&run);
        assert_int_equal(run.result, 0);
        *ret_outcome = run.outcome;
        *ret_problems = run.problems.n;
        run_done(&run);
        switch_free(sw);
}

void fault_prepare(Fault *fault, Switch *sw) {
        Run run;

        if (access(fault->journal, F_OK) < 0)
                journal_free(fault_open_journal(fault));
        snapshot_free(fault->before);
        snapshot_free(fault->journal_before);
        snapshot_free(fault->after);
        switch_free(fault->sw);
        fault->before = snapshot_take(fault->root);
        fault->journal_before = snapshot_take(fault->journal);
        fault->sw = sw;
        run = new_run(fault, FAULT_NONE, 0);
        run_switch(&run);
        if (run.problems.n > 0) {
                _cleanup_free_ char *sentence = NULL;

                assert_int_equal(apply_problem_sentence(&run.problems.items[0], &sentence), 0);
                fail_msg("%s, without a fault: %s", fault->name, sentence);
        }
        require_done(&run);
        fault->after = snapshot_take(fault->root);
        run_done(&run);
}

/* The drivers */

static bool is_refusal(int error) {
        return error == -EIO || error == -EPERM || error == -ENOSPC || error == -EBUSY;
}

static bool op_undoes(const Op *op, int error) {
        if (op->step.flags & STEP_TOLERANT && is_refusal(error))
                return false;
        if (op->back && op->step.phase == PHASE_CGROUP && error == -EBUSY)
                return false;
        return op->step.flags & STEP_REQUIRED;
}

static void require_object(const Run *run, const char *object, ValueKind kind, const char *value) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(run->fault);
        _cleanup_free_ char *live = NULL;

        assert_int_equal(kfs_read(kfs, object, &live), 0);
        require(run, value_equal(kind, live, value), live);
}

/* The text that is written for an op's target. */
static char *written(const Op *op) {
        char *text = NULL;

        if (op->step.kind == VALUE_CHOICE)
                assert_int_equal(value_choice(op->target, &text), 0);
        else
                assert_int_equal(util_asprintf(&text, "%s", op->target), 0);
        return text;
}

static const char *twist(const Op *op) {
        return op->step.kind == VALUE_PARTITION ? "isolated invalid (" REASON ")\n" : "twisted\n";
}

/* Runs with a fault at one op's write, and looks at what came of it. */
static void fault_at_op(Fault *fault, const Op *op, FaultKind kind, int error, int reported) {
        _cleanup_run_ Run run = new_run(fault, kind, error);
        _cleanup_free_ char *value = written(op);
        const ApplyProblem *problem;

        run.object = op->step.object;
        run.value = value;
        run.twisted = twist(op);
        run_switch(&run);
        if (!run.hit) {
                /* It held when its turn came. */
                require(&run,
                        op->step.flags & STEP_VOLATILE || value_equal(op->step.kind, op->was, op->target),
                        "the op was never tried");
                return;
        }
        if (kind == FAULT_FAIL_AFTER && error == -EBUSY) {
                /* Asked again, it holds: the kernel is the truth. */
                require_done(&run);
                require_tree(&run, fault->after, "after");
                return;
        }
        require(&run, run.problems.n > 0, "nothing is told");
        problem = &run.problems.items[0];
        require_sentence(&run, problem, op, reported);
        if (kind == FAULT_TWIST && op->step.kind == VALUE_PARTITION)
                require(&run, problem->reason && streq(problem->reason, REASON),
                        "the kernel's reason is lost");
        if (op_undoes(op, reported)) {
                require_undone(&run);
                return;
        }
        require_done(&run);
        require(&run, problem->state == STATE_REFUSED, "should be degraded as refused");
        if (!op->back && !(op->step.flags & (STEP_ACTION | STEP_VOLATILE)))
                require_object(&run, op->step.object, op->step.kind, op->was);
}

/* Is the next place one of those that this run looks at?  Where the first is changes from driver to driver. */
static bool is_chosen(Fault *fault) {
        return fault->every < 2 || fault->place++ % fault->every == 0;
}

void fault_nothing(Fault *fault, const Switch *sw) {
        _cleanup_kfs_ Kfs *kfs = fault_kfs(fault);
        _cleanup_journal_ Journal *journal = fault_open_journal(fault);
        _cleanup_switch_ Switch *copy = copy_switch(sw);
        _cleanup_snapshot_ Snapshot *before = snapshot_take(fault->journal), *after = NULL;
        _cleanup_free_ char *difference = NULL;
        Run run = { .fault = fault };

        run.result = apply_switch(
                kfs, journal, copy, "0123", "somebody else", NULL, NULL, &run.outcome, &run.problems);
        require_done(&run);
        require(&run, kfs_writes(kfs) == 0, "something was written");
        after = snapshot_take(fault->journal);
        difference = snapshot_differ(before, after);
        require(&run, !difference, difference);
        run_done(&run);
}

void fault_finish(Fault *fault) {
        _cleanup_run_ Run run = new_run(fault, FAULT_NONE, 0);

        run_switch(&run);
        require_done(&run);
        require_tree(&run, fault->after, "after");
}

void fault_refuse(Fault *fault, int error) {
        for (size_t i = 0; i < fault->sw->n_ops; i++)
                if (is_chosen(fault))
                        fault_at_op(fault, &fault->sw->ops[i], FAULT_REFUSE, error, error);
}

void fault_fail_after(Fault *fault, int error) {
        for (size_t i = 0; i < fault->sw->n_ops; i++)
                if (!(fault->sw->ops[i].step.flags & STEP_ACTION) && is_chosen(fault))
                        fault_at_op(fault, &fault->sw->ops[i], FAULT_FAIL_AFTER, error, error);
}

static bool op_can_be_twisted(const Op *op) {
        /* Only plain files can be twisted so that they can be put back. */
        return op->step.object[0] == '/' && !strchr(op->step.object, '#') && op->step.kind != VALUE_CHOICE;
}

void fault_twist(Fault *fault) {
        for (size_t i = 0; i < fault->sw->n_ops; i++) {
                const Op *op = &fault->sw->ops[i];

                if (op_can_be_twisted(op) && is_chosen(fault))
                        fault_at_op(fault, op, FAULT_TWIST, 0, -EBADMSG);
        }
}

void fault_short(Fault *fault) {
        for (size_t i = 0; i < fault->sw->n_ops; i++)
                if (op_can_be_twisted(&fault->sw->ops[i]) && is_chosen(fault))
                        fault_at_op(fault, &fault->sw->ops[i], FAULT_SHORT, -EIO, -EIO);
}

int fault_with_room(Fault *fault, size_t room, ApplyOutcome *ret_outcome) {
        _cleanup_run_ Run run = new_run(fault, FAULT_NONE, 0);
        struct rlimit old, small;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        small = (struct rlimit){ room, old.rlim_max };
        (void) signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        run_switch(&run);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        *ret_outcome = run.outcome;
        return run.result;
}

void fault_trickle(Fault *fault) {
        _cleanup_run_ Run run = new_run(fault, FAULT_NONE, 0);

        fault_read_some = true;
        run_switch(&run);
        fault_read_some = false;
        require_done(&run);
        require_tree(&run, fault->after, "after");
}

/* A file that went away is put back as it was before the switch, so that all the rest can be compared. */
static void put_back(const Fault *fault, const char *object) {
        for (size_t i = 0; i < fault->before->n; i++) {
                const SnapshotEntry *entry = &fault->before->entries[i];

                if (streq(entry->path + (entry->path[0] == '/'), object + 1))
                        kernel_put(fault, object, entry->text);
        }
}

static void vanish(Fault *fault, const Op *op) {
        _cleanup_run_ Run run = new_run(fault, FAULT_VANISH, 0);
        _cleanup_free_ char *value = written(op);

        run.object = op->step.object;
        run.value = value;
        run_switch(&run);
        if (!run.hit)
                return;
        require(&run, run.result == 0, "should have come to an end");
        if (run.outcome == APPLY_DONE) {
                require(&run, op->back || !op_undoes(op, -ENOENT) || op->step.flags & STEP_TRANSIENT,
                        "a required object is gone and nothing was undone");
                require_mode(&run, fault->sw->to);
                return;
        }
        require(&run, run.outcome == APPLY_UNDONE, "the undo is incomplete");
        require_sentence(&run, &run.problems.items[0], op, -ENOENT);
        require_mode(&run, fault->sw->from);
        put_back(fault, op->step.object);
        require_tree(&run, fault->before, "before");
}

void fault_vanish(Fault *fault) {
        for (size_t i = 0; i < fault->sw->n_ops; i++)
                if (op_can_be_twisted(&fault->sw->ops[i]) && is_chosen(fault))
                        vanish(fault, &fault->sw->ops[i]);
}

void fault_revert(Fault *fault) {
        const Op *last = &fault->sw->ops[fault->sw->n_ops - 1];
        _cleanup_free_ char *value = written(last);

        for (size_t i = 0; i + 1 < fault->sw->n_ops; i++) {
                const Op *op = &fault->sw->ops[i];
                _cleanup_run_ Run run = new_run(fault, FAULT_REVERT, 0);

                if (op->back || op->step.flags & STEP_VOLATILE || !op_can_be_twisted(op))
                        continue;
                run.object = last->step.object;
                run.value = value;
                run.undo = op->step.object;
                run.twisted = twist(op);
                run_switch(&run);
                require(&run, run.hit && run.problems.n > 0, "nothing is told");
                require_sentence(&run, &run.problems.items[0], op, -EBADMSG);
                if (op_undoes(op, -EBADMSG) && !(op->step.flags & STEP_TOLERANT))
                        require_undone(&run);
                else
                        require_done(&run);
        }
}

void fault_reads(Fault *fault, int error) {
        for (size_t at = 0;; at++) {
                _cleanup_run_ Run run = new_run(fault, FAULT_READ, error);

                if (!is_chosen(fault))
                        continue;
                run.at = at;
                run_switch(&run);
                if (!run.hit)
                        break;
                require(&run, run.result == 0, "should have come to an end");
                require(&run, run.outcome != APPLY_INCOMPLETE || run.problems.n > 1, "nothing is told");
                if (run.outcome == APPLY_UNDONE)
                        require_undone(&run);
                else if (run.outcome == APPLY_DONE)
                        require_mode(&run, fault->sw->to);
        }
}

/* Runs in a process of its own, which may be killed: true where it was. */
static bool run_apart(Run *run, void (*what)(Run *)) {
        pid_t child = fork();
        int status;

        if (child == 0) {
                what(run);
                _exit(run->result == 0 ? 0 : 1);
        }
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                return true;
        require(run, WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process failed");
        return false;
}

static bool is_tree(const Fault *fault, const Snapshot *expected) {
        _cleanup_snapshot_ Snapshot *now = snapshot_take(fault->root);
        _cleanup_free_ char *difference = snapshot_differ(expected, now);

        return !difference;
}

/* The next start: either all of the mode, or all of what was before. */
static void recover_and_check(Run *run) {
        _cleanup_run_ Run recovery = { .fault = run->fault, .kind = FAULT_NONE, .at = run->at };
        _cleanup_journal_ Journal *journal = NULL;

        run_recover(&recovery);
        require(&recovery, recovery.result == 0 && recovery.outcome != APPLY_INCOMPLETE,
                "the recovery failed");
        journal = fault_open_journal(run->fault);
        /* Of a mode that was mended the journal tells the same before and after; the machine does. */
        if (recovery.outcome == APPLY_DONE &&
                (streq(run->fault->sw->to, run->fault->sw->from)
                                ? is_tree(run->fault, run->fault->after)
                                : streq(journal_mode(journal), run->fault->sw->to))) {
                require_tree(run, run->fault->after, "after");
                require_mode(run, run->fault->sw->to);
        } else {
                require_tree(run, run->fault->before, "before");
                require_mode(run, run->fault->sw->from);
        }
}

/* Killed in the recovery, too. */
static void kill_again(Fault *fault, size_t at, size_t again) {
        for (size_t second = at % again;; second += again) {
                Run run = new_run(fault, FAULT_KILL, 0), recovery;

                run.at = at;
                (void) run_apart(&run, run_switch);
                recovery = (Run){ .fault = fault, .kind = FAULT_KILL, .at = second };
                if (!run_apart(&recovery, run_recover))
                        break;
                recover_and_check(&run);
        }
}

void fault_kill(Fault *fault, size_t again) {
        for (size_t at = 0;; at++) {
                Run run;

                if (!is_chosen(fault))
                        continue;
                run = new_run(fault, FAULT_KILL, 0);
                run.at = at;
                if (!run_apart(&run, run_switch)) {
                        require(&run, at > 2 * fault->sw->n_ops / 3, "hardly a place to be killed at");
                        break;
                }
                recover_and_check(&run);
                if (again > 0)
                        kill_again(fault, at, again);
        }
}

void fault_journal(Fault *fault, int error) {
        for (size_t at = 0;; at++) {
                _cleanup_run_ Run run = new_run(fault, FAULT_JOURNAL, error);

                run.at = at;
                run_switch(&run);
                if (!run.hit)
                        break;
                if (run.result < 0) {
                        require(&run, run.result == error && !run.written,
                                "written before it was in the journal");
                        require_tree(&run, fault->before, "before");
                        require_mode(&run, fault->sw->from);
                } else
                        require_undone(&run);
        }
}

bool fault_undo_fails(Fault *fault, const Op *failing, const Op *undo, int error) {
        _cleanup_run_ Run run = new_run(fault, FAULT_UNDO, error);
        _cleanup_journal_ Journal *journal = NULL;
        _cleanup_free_ char *value = written(failing);
        bool named = false;

        run.object = failing->step.object;
        run.value = value;
        run.undo = undo->step.object;
        run_switch(&run);
        if (!run.hit) {
                require(&run, failing->step.flags & STEP_VOLATILE, "the failing op was never tried");
                return false;
        }
        if (run.outcome == APPLY_UNDONE) {
                /* The op had written nothing. */
                require_undone(&run);
                return false;
        }
        require(&run, run.result == 0 && run.outcome == APPLY_INCOMPLETE, "should be incomplete");
        require(&run, streq(run.problems.items[0].object, failing->step.object), "the failure comes first");
        /* A group that stays holds those above it. */
        for (size_t i = 1; i < run.problems.n; i++)
                named |= streq(run.problems.items[i].object, undo->step.object);
        require(&run, named, "what is left should be named");
        journal = fault_open_journal(fault);
        require(&run, !journal_unfinished(journal) && streq(journal_mode(journal), fault->sw->from),
                "the switch is over");
        require(&run, steps_find(journal_steps(journal), undo->step.object),
                "what is left keeps its record");
        return true;
}

void fault_undo(Fault *fault, int error) {
        const Op *ops = fault->sw->ops;

        for (size_t i = 0; i < fault->sw->n_ops; i++) {
                if (!op_undoes(&ops[i], error))
                        continue;
                for (size_t k = 0; k < i; k++)
                        if (!(ops[k].step.flags & STEP_ACTION) && ops[k].was)
                                (void) fault_undo_fails(fault, &ops[i], &ops[k], error);
        }
}
