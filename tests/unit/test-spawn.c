/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spawn.h"
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

/* Runs a command in a process of its own, which stands for rtisoctl, and sends that a signal; its exit status. */
static int run(char *const *argv, int sig) {
        int ready[2], status;
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                Spawn spawn = { -1, -1, -1 };
                int r;

                /* What a shell finds ignored it cannot trap, and these tests may themselves run under nohup. */
                (void) signal(SIGHUP, SIG_DFL);
                r = spawn_start(argv, &spawn);

                r = r ?: spawn_go(&spawn);
                (void) !write(ready[1], "", 1);
                _exit(r < 0 ? -r : spawn_wait(&spawn));
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        if (sig) {
                (void) usleep(300000);
                assert_int_equal(kill(pid, sig), 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        (void) close(ready[0]);
        (void) close(ready[1]);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_status(void **state) {
        static const struct {
                const char *script;
                int signal, status;
        } rows[] = {
                { "exit 0", 0, 0 },
                { "exit 42", 0, 42 },
                { "kill -KILL $$", 0, 128 + SIGKILL },
                { "exec sleep 100", SIGTERM, 128 + SIGTERM },
                { "trap 'exit 7' HUP; while :; do sleep 0.1; done", SIGHUP, 7 },
                { "trap 'exit 8' USR2; while :; do sleep 0.1; done", SIGUSR2, 8 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char *argv[] = { (char *) "sh", (char *) "-c", (char *) rows[i].script, NULL };
                int status = run(argv, rows[i].signal);

                if (status != rows[i].status)
                        fail_msg("%s: %d, not %d", rows[i].script, status, rows[i].status);
        }
}

static void test_not_executed(void **state) {
        char *nowhere[] = { (char *) "/nowhere", NULL }, *folder[] = { (char *) "/etc", NULL };

        assert_int_equal(run(nowhere, 0), ENOENT);
        assert_int_equal(run(folder, 0), EACCES);
}

/* One that was not let go does nothing. */
static void test_not_let_go(void **state) {
        char path[] = "/tmp/test-spawn-XXXXXX";
        char *argv[] = { (char *) "rm", path, NULL };
        Spawn spawn;
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(spawn_start(argv, &spawn), 0);
        spawn_done(&spawn);
        assert_int_equal(access(path, F_OK), 0);
        (void) unlink(path);
        (void) close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_not_executed),
                cmocka_unit_test(test_not_let_go),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
