/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "apply.h"

/* Which object, what was wanted, what the kernel said, what to do. */
static void test_sentences(void **state) {
        static const struct {
                const char *id, *object, *wanted, *live, *reason;
                int error;
                const char *sentence;
        } table[] = {
                { "irq/25/affinity", "/proc/irq/25/smp_affinity_list", "0-1", NULL, NULL, -EPERM,
                        "irq/25/affinity in /proc/irq/25/smp_affinity_list: wanted 0-1, but the kernel said "
                        "EPERM "
                        "(Operation not permitted); the kernel moves this interrupt by itself; managed "
                        "interrupts "
                        "are kept off CPUs by isolcpus=managed_irq on the kernel command line (rtisoctl "
                        "kernel-args)" },
                { "irq/25/affinity", "/proc/irq/25/smp_affinity_list", "0-1", NULL, NULL, -ENOSPC,
                        "irq/25/affinity in /proc/irq/25/smp_affinity_list: wanted 0-1, but the kernel said "
                        "ENOSPC "
                        "(No space left on device); no interrupt vector is free on these CPUs; leave more "
                        "housekeeping CPUs or fewer queues" },
                { "cpuset/rt/partition", "/sys/fs/cgroup/rtisol.slice/cpuset.cpus.partition", "isolated",
                        "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
                        "Cpu list in cpuset.cpus not exclusive", -EBADMSG,
                        "cpuset/rt/partition in /sys/fs/cgroup/rtisol.slice/cpuset.cpus.partition: wanted "
                        "isolated, "
                        "but the kernel took it (EBADMSG) and reads isolated invalid (Cpu list in "
                        "cpuset.cpus not "
                        "exclusive): its reason is Cpu list in cpuset.cpus not exclusive; take the overlap "
                        "out of "
                        "the cgroup that has it (systemctl revert), then switch again" },
                { "sysctl/vm.stat_interval", "/proc/sys/vm/stat_interval", "ten", NULL, NULL, -EINVAL,
                        "sysctl/vm.stat_interval in /proc/sys/vm/stat_interval: wanted ten, but the kernel "
                        "said "
                        "EINVAL (Invalid argument); the kernel does not take this value; see what it offers "
                        "and "
                        "correct the profile" },
                { "sysctl/vm.stat_interval", "/proc/sys/vm/stat_interval", "", "", NULL, -EBADMSG,
                        "sysctl/vm.stat_interval in /proc/sys/vm/stat_interval: wanted nothing, but the "
                        "kernel took "
                        "it (EBADMSG) and reads nothing; another program may be setting it; find it and "
                        "switch "
                        "again" },
                { "journal", "/run/rtisold/journal/journal", "low-jitter", NULL, NULL, -ENOSPC,
                        "journal in /run/rtisold/journal/journal: wanted low-jitter, but the kernel said "
                        "ENOSPC (No space left on device); "
                        "make "
                        "room in the file system of /run/rtisold" },
                { "unit/rtisol.slice", "unit/rtisol.slice", "absent", NULL, NULL, -ETIMEDOUT,
                        "unit/rtisol.slice: wanted absent, but systemd said ETIMEDOUT (Connection timed "
                        "out); wait until systemd is through with what it does (systemctl list-jobs), then "
                        "switch again" },
                { "unit/rtisol.slice", "unit/rtisol.slice", "absent", NULL, NULL, -EREMOTEIO,
                        "unit/rtisol.slice: wanted absent, but systemd said EREMOTEIO (Remote I/O error); "
                        "see "
                        "what systemd tells of it (systemctl status, journalctl -b _PID=1)" },
                { "irqbalance/banned", "irqbalance/banned", "1-3", "", NULL, -EBADMSG,
                        "irqbalance/banned: wanted 1-3, but irqbalance took it (EBADMSG) and reads nothing; "
                        "another program may be setting it; find it and switch again" },
                { "x", "/sys/x", "1", NULL, NULL, -ENOTRECOVERABLE,
                        "x in /sys/x: wanted 1, but the kernel said ENOTRECOVERABLE (State not "
                        "recoverable); see "
                        "the kernel's log, and rtisoctl doctor" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                ApplyProblem problem = { .id = (char *) table[i].id,
                        .object = (char *) table[i].object,
                        .wanted = (char *) table[i].wanted,
                        .live = (char *) table[i].live,
                        .reason = (char *) table[i].reason,
                        .error = table[i].error };
                _cleanup_free_ char *sentence = NULL;

                if (apply_problem_sentence(&problem, &sentence) < 0 || !streq(sentence, table[i].sentence))
                        fail_msg("is: %s\nwanted: %s", sentence, table[i].sentence);
        }
}

/* What the kernel calls a partition that it does not take, and the advice. */
static void test_partition_advice(void **state) {
        static const struct {
                const char *reason, *advice;
        } table[] = {
                { "Invalid cpu list in cpuset.cpus.exclusive", "of those beside it" },
                { "Parent is an invalid partition root", "the control group above" },
                { "Parent is not a partition root", "the control group above" },
                { "Cpu list in cpuset.cpus not exclusive", "take the overlap out" },
                { "Parent unable to distribute cpu downstream", "the control group above" },
                { "No cpu available due to hotplug", "bring one of them online" },
                { "cpuset.cpus and cpuset.cpus.exclusive are empty", "of those beside it" },
                { "partition config conflicts with housekeeping setup", "isolcpus=" },
                { "Enable partition not permitted", "CAP_SYS_ADMIN" },
                { "Have remote partition underneath", "below it" },
                { "a word of another kernel", "of those beside it" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                ApplyProblem problem = { .id = (char *) "cpuset/rt/partition",
                        .object = (char *) "/sys/fs/cgroup/rtisol.slice/cpuset.cpus.partition",
                        .wanted = (char *) "isolated",
                        .live = (char *) "isolated invalid",
                        .reason = (char *) table[i].reason,
                        .error = -EBADMSG };
                _cleanup_free_ char *sentence = NULL;

                if (apply_problem_sentence(&problem, &sentence) < 0 || !strstr(sentence, table[i].advice))
                        fail_msg("%s: %s", table[i].reason, sentence);
        }
}

static void test_states(void **state) {
        static const char *const words[] = { "ok", "drifted", "boot", "unsupported", "refused" };

        for (unsigned i = 0; i < _STATE_MAX; i++)
                assert_string_equal(step_state_to_string((StepState) i), words[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_partition_advice),
                cmocka_unit_test(test_sentences),
                cmocka_unit_test(test_states),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
