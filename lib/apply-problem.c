/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply-op.h"

void apply_problem_done(ApplyProblem *problem) {
        free(problem->id);
        free(problem->object);
        free(problem->wanted);
        free(problem->live);
        free(problem->reason);
        *problem = (ApplyProblem){};
}

void apply_problems_done(ApplyProblems *problems) {
        for (size_t i = 0; i < problems->n; i++)
                apply_problem_done(&problems->items[i]);
        free(problems->items);
        *problems = (ApplyProblems){};
}

static StepState error_to_state(int error) {
        return error_is_gone(error) || error == -EOPNOTSUPP || error == -ENOSYS ? STATE_UNSUPPORTED
                                                                                : STATE_REFUSED;
}

/* `isolated invalid (Cpu list in cpuset.cpus not exclusive)`: what stands in the brackets. */
static char *partition_reason(const char *live) {
        const char *open = strchr(live, '('), *close = strrchr(live, ')');

        return open && close && close > open ? strndup(open + 1, (size_t) (close - open) - 1) : NULL;
}

int problems_add(
        ApplyProblems *problems, const Step *step, const char *wanted, const char *live, int error) {
        ApplyProblem problem = {
                .id = strdup(step->id),
                .object = strdup(step->object),
                .wanted = strdup(wanted),
                .live = live ? strdup(live) : NULL,
                .error = error,
                .state = error_to_state(error),
        };
        int r = problem.id && problem.object && problem.wanted && (!live || problem.live)
                ? GROW(problems->items, problems->n)
                : -ENOMEM;

        if (r < 0) {
                apply_problem_done(&problem);
                return r;
        }
        if (live && step->kind == VALUE_PARTITION)
                problem.reason = partition_reason(live);
        problems->items[problems->n++] = problem;
        return 0;
}

const ApplyProblem *problems_find(const ApplyProblems *problems, const char *object) {
        for (size_t i = 0; i < problems->n; i++)
                if (streq(problems->items[i].object, object))
                        return &problems->items[i];
        return NULL;
}

/* Sentences */

static const char *error_name(int error) {
        return strerrorname_np(-error) ?: "an unknown error";
}

static const char *error_text(int error) {
        return strerrordesc_np(-error) ?: "no text";
}

#define NEEDS_ROOT                                                                                          \
        "this needs root with the capabilities that the unit of the service keeps (systemctl cat "          \
        "rtisold), and a "                                                                                  \
        "kernel that is not locked down"

/* What somebody can do about an errno, 0 for any; the first row that fits counts.  The prefix is that of the
 * object, or of its step's id. */
static const struct {
        const char *prefix;
        int error;
        const char *advice;
} advices[] = {
        { "/proc/irq/", -EIO,
                "the kernel does not let this interrupt be moved; take it away from the CPUs by its "
                "driver's "
                "queue settings, or let the profile do without" },
        { "/proc/irq/", -EPERM,
                "the kernel moves this interrupt by itself; managed interrupts are kept off CPUs by "
                "isolcpus=managed_irq on the kernel command line (rtisoctl kernel-args)" },
        { "/proc/irq/", -ENOSPC,
                "no interrupt vector is free on these CPUs; leave more housekeeping CPUs or fewer queues" },
        { "/proc/irq/", -EBUSY, "the interrupt is being moved just now; switch again" },
        { "/proc/irq/", -EINVAL, "none of these CPUs is online; bring one of them online" },
        { "/proc/sys/kernel/sched_rt_runtime_us", -EINVAL,
                "it refuses to be lowered while a control group's cpu.rt_runtime_us holds more; lower that "
                "first" },
        { "/proc/sys/kernel/sched_rt_runtime_us", -EBUSY,
                "it refuses to be lowered while SCHED_DEADLINE tasks hold more; end them first" },
        { "/sys/kernel/debug/", -EPERM, "the kernel is locked down (see kernel_lockdown(7))" },
        { "cycle/", -EBUSY,
                "something holds the CPU, or it is the last one; leave [keep_off_sets] timers off" },
        { "task/", -EINVAL,
                "the task's cgroup allows none of these CPUs, or they are offline; look at its cpuset" },
        { "task/", -EPERM,
                "the kernel does not let this task be moved; let [keep_off_sets] except name it" },
        { "task/", -EBUSY, "a deadline task holds its CPUs; stop it first" },
        { "net/", -EOPNOTSUPP, "the device's driver cannot do it; let the profile do without" },
        { "net/", -EINVAL,
                "the driver does not take it; see ethtool -l for what it has, and ethtool -x for an "
                "indirection table "
                "that needs the queues" },
        { "net/", -EBUSY, "somebody uses the queues (AF_XDP, a filter); free them and switch again" },
        { "unit/", -ETIMEDOUT,
                "wait until systemd is through with what it does (systemctl list-jobs), then switch again" },
        { "unit/", -EBUSY,
                "tasks run or units are active in it (systemctl list-units, systemctl status); stop them "
                "first" },
        { "/sys/fs/cgroup", -EBUSY, "the cgroup is in use; stop or move the tasks in it first" },
        { "/sys/fs/cgroup", -ENOSPC, "tasks in the cgroup would have no CPU or memory node left" },
        { "/sys/kernel/debug/sched/fair_server/", -EBUSY,
                "the kernel refuses while the CPU is isolated; go green first, then to this mode" },
        { "/sys/kernel/debug/sched/ext_server/", -EBUSY,
                "the kernel refuses while the CPU is isolated; go green first, then to this mode" },
        { "/sys/kernel/debug/", -ENOENT, "mount debugfs at /sys/kernel/debug, if the kernel has it" },
        { "journal", -ENOSPC, "make room in the file system of /run/rtisold" },
        { "journal", -ENOENT, "somebody removed its folder, make that again: mkdir -p /run/rtisold" },
        { "journal", -EROFS,
                "its folder cannot be written to; make /run/rtisold again if it is not there, and look at "
                "the "
                "sandbox of the service" },
        { "", -ENOENT, "this kernel does not have it; a dash before the key makes it optional" },
        { "", -EINVAL, "the kernel does not take this value; see what it offers and correct the profile" },
        { "", -EBUSY, "somebody else uses it; find out who and switch again" },
        { "", -ENOSPC, "the kernel has no room for it" },
        { "", -EPERM, NEEDS_ROOT },
        { "", -EACCES, NEEDS_ROOT },
        { "", -EROFS, "it is mounted read-only here; look at the sandbox of the service" },
        { "", -EIO, "the driver behind it failed; see the kernel's log" },
        { "", -EBADMSG, "another program may be setting it; find it and switch again" },
        { "unit/", 0, "see what systemd tells of it (systemctl status, journalctl -b _PID=1)" },
        { "", 0, "see the kernel's log, and rtisoctl doctor" },
};

/* What somebody can do about a partition that the kernel calls invalid, by words of its reason
 * (kernel/cgroup/cpuset.c, perr_strings). */
static const struct {
        const char *words;
        const char *advice;
} partition_advices[] = {
        { "not exclusive",
                "take the overlap out of the cgroup that has it (systemctl revert), then switch again" },
        { "not permitted",
                "the kernel asks whoever writes it for CAP_SYS_ADMIN outside of any container; let the unit "
                "of the "
                "service keep it (systemctl cat rtisold)" },
        { "hotplug", "none of its CPUs is online; bring one of them online, then switch again" },
        { "housekeeping",
                "isolcpus= or nohz_full= on the kernel command line is in the way; take it off there, or "
                "leave more "
                "housekeeping CPUs" },
        { "remote partition underneath", "a control group below it is a partition; end that first" },
        { "Parent",
                "the control group above is no valid partition or has no CPU to give; look at its "
                "cpuset.cpus.partition, then switch again" },
        { "", "look at cpuset.cpus of this control group and of those beside it, then switch again" },
};

static const char *partition_advice(const char *reason) {
        size_t i = 0;

        while (!strstr(reason, partition_advices[i].words))
                i++;
        return partition_advices[i].advice;
}

static bool advice_fits(size_t i, const ApplyProblem *problem) {
        const char *prefix = advices[i].prefix;

        return (advices[i].error == 0 || advices[i].error == problem->error) &&
                (util_startswith(problem->object, prefix) || util_startswith(problem->id, prefix));
}

static const char *error_advice(const ApplyProblem *problem) {
        size_t i = 0;

        if (problem->reason)
                return partition_advice(problem->reason);

        /* The last row fits everything. */
        while (!advice_fits(i, problem))
                i++;
        return advices[i].advice;
}

/* Whom a step asked: not everything is a file of the kernel. */
static const char *asked(const char *object) {
        if (util_startswith(object, "unit/"))
                return "systemd";
        return util_startswith(object, "irqbalance/") ? "irqbalance" : "the kernel";
}

static int format_said(const ApplyProblem *problem, char **ret) {
        const char *who = asked(problem->object);

        if (problem->error != -EBADMSG)
                return util_asprintf(
                        ret, "%s said %s (%s)", who, error_name(problem->error), error_text(problem->error));
        if (problem->reason)
                return util_asprintf(ret, "%s took it (EBADMSG) and reads %s: its reason is %s", who,
                        problem->live, problem->reason);
        return util_asprintf(ret, "%s took it (EBADMSG) and reads %s", who,
                problem->live && problem->live[0] ? problem->live : "nothing");
}

int apply_problem_sentence(const ApplyProblem *problem, char **ret) {
        _cleanup_free_ char *said = NULL;
        bool named = streq(problem->id, problem->object);
        int r = format_said(problem, &said);

        return r
                ?: util_asprintf(ret, "%s%s%s: wanted %s, but %s; %s", problem->id, named ? "" : " in ",
                           named ? "" : problem->object, problem->wanted[0] ? problem->wanted : "nothing",
                           said, error_advice(problem));
}

static const char *const state_words[_STATE_MAX] = {
        [STATE_OK] = "ok",
        [STATE_DRIFTED] = "drifted",
        [STATE_BOOT] = "boot",
        [STATE_UNSUPPORTED] = "unsupported",
        [STATE_REFUSED] = "refused",
};

const char *step_state_to_string(StepState state) {
        return state < _STATE_MAX ? state_words[state] : NULL;
}
