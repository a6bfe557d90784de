/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply-op.h"

#include <time.h>

/* A busy kernel is asked again after so many milliseconds. */
static const unsigned retry_ms[] = { 1, 3, 9 };

static bool error_is_transient(int error) {
        return error == -EBUSY || error == -EAGAIN || error == -EINTR;
}

bool error_is_gone(int error) {
        return error == -ENOENT || error == -ESRCH || error == -ENODEV;
}

bool error_is_refusal(int error) {
        return error == -EIO || error == -EPERM || error == -ENOSPC || error == -EBUSY;
}

static void wait_ms(unsigned ms) {
        struct timespec ts = { .tv_nsec = (long) ms * 1000000 };

        while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
                ;
}

/* What is written for a value that was read: the chosen word of `always [madvise] never`, and a partition's
 * type without what the kernel says of it. */
static int writable_text(ValueKind kind, const char *value, char **ret) {
        if (kind == VALUE_CHOICE)
                return value_choice(value, ret);
        if (kind == VALUE_PARTITION)
                return util_asprintf(ret, "%.*s", (int) strcspn(value, " \t\n"), value);
        return util_asprintf(ret, "%s", value);
}

/* Do a task's CPUs differ from what was wanted by nothing but CPUs that are away?  Some kernels, and control groups
 * with cpuset files, keep those out of a mask until they come back. */
static bool lacks_cpus_away(Kfs *kfs, const Step *step, const char *live, const char *wanted) {
        _cleanup_cpulist_ CpuList is = {}, should = {}, online = {};
        _cleanup_free_ char *text = NULL;

        if (!live || !util_startswith(step->object, "task/") ||
                (step->kind != VALUE_CPULIST && step->kind != VALUE_WITHIN) ||
                kfs_read(kfs, "/sys/devices/system/cpu/online", &text) < 0 ||
                cpulist_parse(text, &online, NULL) < 0 || cpulist_parse(live, &is, NULL) < 0 ||
                cpulist_parse(wanted, &should, NULL) < 0 || !cpulist_is_subset(&is, &should))
                return false;
        cpulist_intersect(&should, &online);
        cpulist_intersect(&is, &online);
        return cpulist_equal(&is, &should);
}

static int set_patiently(
        Kfs *kfs, const Step *step, const char *value, const char *within, char **ret_live) {
        int r = -EAGAIN;

        for (size_t i = 0; error_is_transient(r) && i <= ARRAY_SIZE(retry_ms); i++) {
                if (i > 0)
                        wait_ms(retry_ms[i - 1]);
                free(TAKE_PTR(*ret_live));
                r = kfs_set(kfs, step->object, step->kind, value, within, ret_live);
        }
        if (r == -EBADMSG && lacks_cpus_away(kfs, step, *ret_live, value))
                return OP_LACKS_CPUS;
        return r < 0 ? r : 0;
}

static int write_patiently(Kfs *kfs, const char *object, const char *value) {
        int r = kfs_write(kfs, object, value);

        for (size_t i = 0; error_is_transient(r) && i < ARRAY_SIZE(retry_ms); i++) {
                wait_ms(retry_ms[i]);
                r = kfs_write(kfs, object, value);
        }
        return r;
}

/* What the kernel may have changed is put right to the value, not just to within its bounds: a mask that was
 * forgotten is a wider one. */
static const char *op_bounds(const Op *op) {
        return op->back || op->step.flags & STEP_VOLATILE ? NULL : op->step.within;
}

int op_do(Kfs *kfs, const Op *op, char **ret_live) {
        _cleanup_free_ char *value = NULL;
        int r;

        if (op->step.flags & STEP_ACTION)
                return op->back ? 0 : write_patiently(kfs, op->step.object, op->target);
        if (op->step.flags & STEP_KEPT && !op->back)
                return 0;
        r = writable_text(op->step.kind, op->target, &value);
        return r ?: set_patiently(kfs, &op->step, value, op_bounds(op), ret_live);
}

/* An act is not undone, but one that was cut short (a CPU taken away and not back) is ended. */
static int op_undo_action(Kfs *kfs, const Op *op, char **ret_live) {
        int r;

        if (!op->was || op->back)
                return 0;
        r = kfs_read(kfs, op->step.object, ret_live);
        if (r < 0 || streq(*ret_live, op->was))
                return r;
        return write_patiently(kfs, op->step.object, op->target);
}

/* A partition that was invalid is asked for again; whether it is one now is for the kernel to say. */
static int op_undo_invalid(Kfs *kfs, const Op *op, char **ret_live) {
        _cleanup_free_ char *type = NULL;
        int r = writable_text(VALUE_PARTITION, op->was, &type);

        r = r ?: kfs_read(kfs, op->step.object, ret_live);
        if (r < 0 || util_startswith(*ret_live, type))
                return r;
        return write_patiently(kfs, op->step.object, type);
}

int op_undo(Kfs *kfs, const Op *op, char **ret_live) {
        _cleanup_free_ char *value = NULL;
        int r;

        if (op->step.flags & STEP_ACTION)
                return op_undo_action(kfs, op, ret_live);
        if (!op->was)
                return 0;
        if (op->step.kind == VALUE_PARTITION && strchr(op->was, ' '))
                return op_undo_invalid(kfs, op, ret_live);
        r = kfs_read(kfs, op->step.object, ret_live);
        if (r < 0 || value_equal(op->step.kind, *ret_live, op->was))
                return r;
        r = writable_text(op->step.kind, op->was, &value);
        return r ?: set_patiently(kfs, &op->step, value, NULL, ret_live);
}

bool op_holds(Kfs *kfs, const Op *op) {
        _cleanup_free_ char *live = NULL;
        int r;

        if (op->step.flags & STEP_ACTION)
                return op->back;
        r = kfs_read(kfs, op->step.object, &live);
        if (r < 0)
                return error_is_gone(r) && !op->was && op->step.flags & STEP_TRANSIENT;
        if (op->step.flags & STEP_KEPT && !op->back)
                return true;
        return value_holds(op->step.kind, live, op->target, op->back ? NULL : op->step.within);
}
