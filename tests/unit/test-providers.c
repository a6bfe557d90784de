/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "providers.h"
#include "task-provider.h"
#include "tree.h"

#define STAT(tid, comm, flags, policy)                                                                      \
        tid " (" comm ") S 1 1 1 0 -1 " flags " 0 0 0 0 0 0 0 0 " policy                                    \
            " 1 0 777 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 2 "

static int setup(void **state) {
        Tree *tree = tree_new();

        assert_int_equal(providers_add(tree->kfs), 0);
        tree_put(tree, "/sys/devices/system/cpu/online", "0-3\n");
        tree_put(tree, "/sys/devices/system/cpu/cpu0/topology/core_id", "0\n");
        tree_put(tree, "/sys/devices/system/cpu/cpu2/online", "1\n");
        tree_put(tree, "/proc/41/stat", STAT("41", "a) b (c", "4194560", "20 0") "0 0 0 0 0\n");
        tree_put(
                tree, "/proc/41/status", "Name:\ta\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\nMems:\t0\n");
        tree_put(tree, "/proc/41/cgroup", "0::/system.slice/x.service\n");
        tree_put(tree, "/proc/41/task/43/stat", STAT("43", "a", "4194560", "-3 0") "2 1 0 0 0\n");
        tree_put(tree, "/proc/41/task/43/status", "Cpus_allowed_list:\t1\n");
        tree_put(tree, "/proc/42/stat", STAT("42", "fixed", "69238848", "0 -20") "0 0 0 0 0\n");
        tree_put(tree, "/proc/42/status", "Cpus_allowed_list:\t2\n");
        tree_put(tree, "/sys/fs/cgroup/system.slice/x.service/cgroup.procs", "9\n41\n100\n");
        tree_put(tree, "/sys/fs/cgroup/rtisol-rt.slice/cgroup.procs", "");
        *state = tree;
        return 0;
}

static int teardown(void **state) {
        tree_free(*state);
        return 0;
}

static void test_read(void **state) {
        Tree *tree = *state;
        static const struct {
                const char *object;
                int error;
                const char *text;
        } table[] = {
                { "task/41/777/affinity", 0, "0-7" }, /* with those that are away */
                { "task/43/777/affinity", 0, "1" },
                { "task/41/777/policy", 0, "other 0" },
                { "task/43/777/policy", 0, "fifo 2" },
                { "task/41/777/cgroup", 0, "/system.slice/x.service" },
                { "task/43/777/cgroup", 0, "/system.slice/x.service" },
                { "task/42/777/cgroup", -ESRCH, NULL },
                { "task/41/778/affinity", -ESRCH, NULL },
                { "task/44/777/affinity", -ESRCH, NULL },
                { "task/41/777/colour", -EINVAL, NULL },
                { "task/41", -EINVAL, NULL },
                { "task/-41/777/affinity", -EINVAL, NULL },
                { "cycle/0", 0, "1" },
                { "cycle/2", 0, "1" },
                { "cycle/9", -ENOENT, NULL },
                { "cycle/x", -EINVAL, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = NULL;
                int r = kfs_read(tree->kfs, table[i].object, &text);

                if (r != table[i].error || (table[i].text && !streq(text, table[i].text)))
                        fail_msg("%s: %d \"%s\"", table[i].object, r, text);
        }
}

/* What a write leaves in the files, and that the way back leaves what was. */
static void test_write(void **state) {
        Tree *tree = *state;
        static const struct {
                const char *object, *value;
                int error;
                const char *file, *text; /* a part of the file, to be read then */
        } table[] = {
                { "task/41/777/affinity", "0", 0, "/proc/41/status",
                        "ff\nCpus_allowed_list:\t0\nMems:\t0\n" },
                { "task/41/777/affinity", "", -EINVAL, "/proc/41/status", "list:\t0\n" },
                { "task/42/777/affinity", "0", -EINVAL, "/proc/42/status", "list:\t2\n" },
                { "task/43/777/affinity", "2-3", 0, "/proc/41/task/43/status", "list:\t2-3\n" },
                { "task/41/778/affinity", "0", -ESRCH, "/proc/41/status", "list:\t0\n" },
                { "task/41/777/policy", "fifo 50", 0, "/proc/41/stat", "0 0 -51 0 1 0 777 " },
                { "task/41/777/policy", "rr 1", 0, "/proc/41/stat", "17 2 1 2 0 0 0\n" },
                { "task/41/777/policy", "other 0", 0, "/proc/41/stat", "0 0 20 0 1 0 777 " },
                { "task/41/777/policy", "other 0", 0, "/proc/41/stat", "17 2 0 0 0 0 0\n" },
                { "task/42/777/policy", "fifo 2", 0, "/proc/42/stat", "0 0 -3 -20 1 0 777 " },
                { "task/42/777/policy", "other 0", 0, "/proc/42/stat", "0 0 0 -20 1 0 777 " },
                { "task/41/777/policy", "fifo 100", -EINVAL, NULL, NULL },
                { "task/41/777/policy", "fifo 0", -EINVAL, NULL, NULL },
                { "task/41/777/policy", "other 1", -EINVAL, NULL, NULL },
                { "task/41/777/policy", "red 1", -EINVAL, NULL, NULL },
                { "task/41/777/policy", "", -EINVAL, NULL, NULL },
                { "task/41/777/cgroup", "/rtisol-rt.slice", 0, "/proc/41/cgroup", "0::/rtisol-rt.slice\n" },
                { "task/41/777/cgroup", "/none.slice", -ENOENT,
                        "/sys/fs/cgroup/rtisol-rt.slice/cgroup.procs", "41\n" },
                { "task/43/777/cgroup", "/system.slice/x.service", 0,
                        "/sys/fs/cgroup/system.slice/x.service/cgroup.procs", "9\n41\n100\n" },
                { "task/41/777/cgroup", "relative", -EINVAL, "/proc/41/cgroup",
                        "0::/system.slice/x.service\n" },
                { "cycle/2", "1", 0, "/sys/devices/system/cpu/cpu2/online", "1\n" },
                { "cycle/2", "0", -EINVAL, NULL, NULL },
                { "cycle/0", "1", -ENOENT, NULL, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = NULL;
                int r = kfs_write(tree->kfs, table[i].object, table[i].value);

                if (r != table[i].error)
                        fail_msg("%s = %s: %d", table[i].object, table[i].value, r);
                if (table[i].file &&
                        (kfs_read_raw(tree->kfs, table[i].file, &text, NULL) < 0 ||
                                !strstr(text, table[i].text)))
                        fail_msg(
                                "%s = %s: %s: \"%s\"", table[i].object, table[i].value, table[i].file, text);
        }
}

static int log_writes(void *userdata, KfsMoment moment, const char *object, const char *value) {
        char *log = userdata;

        if (moment == KFS_BEFORE_WRITE)
                sprintf(log + strlen(log), "%s=%s ", object, value);
        return 0;
}

/* A kill can come between the two writes of a cycle; what then is left is mended by writing once more. */
static void test_cycle(void **state) {
        Tree *tree = *state;
        char log[512] = "";

        kfs_hook(tree->kfs, log_writes, log);
        assert_int_equal(kfs_write(tree->kfs, "cycle/2", "1"), 0);
        assert_string_equal(log,
                "cycle/2=1 /sys/devices/system/cpu/cpu2/online=0 "
                "/sys/devices/system/cpu/cpu2/online=1 ");
        tree_put(tree, "/sys/devices/system/cpu/cpu2/online", "0\n");
        log[0] = '\0';
        assert_int_equal(kfs_write(tree->kfs, "cycle/2", "1"), 0);
        assert_string_equal(log, "cycle/2=1 /sys/devices/system/cpu/cpu2/online=1 ");
}

static void test_policies(void **state) {
        static const char *const table[] = { "other 0", "fifo 99", "rr 1", "batch 0", "idle 0", "ext 0",
                "other 0 reset", "fifo 2 reset", "deadline 1000000 2000000 3000000" };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = NULL;
                TaskPolicy policy = {};

                if (task_policy_parse(table[i], &policy) < 0 || task_policy_format(&policy, &text) < 0 ||
                        !streq(text, table[i]))
                        fail_msg("%s: %s", table[i], text);
        }
}

/* A child of this test is the only task of the machine that is touched. */
static void test_live(void **state) {
        _cleanup_kfs_ Kfs *kfs = NULL;
        _cleanup_free_ char *stat = NULL, *object = NULL, *before = NULL, *policy = NULL, *after = NULL;
        char number[16];
        cpu_set_t one;
        int first = -1, status;
        pid_t child;

        assert_int_equal(kfs_new(NULL, &kfs), 0);
        assert_int_equal(providers_add(kfs), 0);
        child = fork();
        if (child == 0)
                for (;;)
                        pause();
        assert_true(child > 0);
        assert_int_equal(kfs_readf(kfs, &stat, "/proc/%d/stat", child), 0);
        assert_int_equal(util_asprintf(&object, "task/%d/%ld/affinity", child,
                                 strtol(task_stat_field(stat, 22), NULL, 10)),
                0);
        assert_int_equal(kfs_read(kfs, object, &before), 0);
        sscanf(before, "%d", &first);
        snprintf(number, sizeof(number), "%d", first);
        assert_int_equal(kfs_set(kfs, object, VALUE_CPULIST, number, NULL, &after), strlen(before) > 1);
        assert_int_equal(sched_getaffinity(child, sizeof(one), &one), 0);
        assert_int_equal(CPU_COUNT(&one), 1);
        assert_true(CPU_ISSET(first, &one));

        strcpy(strrchr(object, '/'), "/policy");
        assert_int_equal(kfs_set(kfs, object, VALUE_TEXT, "batch 0 reset", NULL, &policy), 1);
        assert_int_equal(sched_getscheduler(child), SCHED_BATCH | SCHED_RESET_ON_FORK);

        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(kfs_write(kfs, object, "other 0"), -ESRCH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_read),
                TEST(test_write),
                TEST(test_cycle),
                cmocka_unit_test(test_policies),
                cmocka_unit_test(test_live),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
