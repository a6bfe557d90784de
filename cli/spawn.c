/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT,
        SIGTSTP, SIGWINCH };

static void fill_signals(sigset_t *set) {
        (void) sigemptyset(set);
        (void) sigaddset(set, SIGCHLD);
        for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
                (void) sigaddset(set, passed_on[i]);
}

static void child(char *const *argv, const sigset_t *mask, pid_t parent, int gate, int error) {
        char byte;
        int r;

        /* Killed with SIGKILL, the parent cannot pass it on. */
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || read(gate, &byte, 1) != 1)
                _exit(125);
        (void) sigprocmask(SIG_SETMASK, mask, NULL);
        (void) execvp(argv[0], argv);
        r = errno;
        (void) !write(error, &r, sizeof(r));
        _exit(127);
}

int spawn_start(char *const *argv, Spawn *ret) {
        int gate[2], error[2], r = 0;
        sigset_t set, before;
        pid_t parent = getpid(), pid;

        if (pipe2(gate, O_CLOEXEC) < 0)
                return -errno;
        if (pipe2(error, O_CLOEXEC) < 0) {
                r = -errno;
                (void) close(gate[0]);
                (void) close(gate[1]);
                return r;
        }
        fill_signals(&set);
        (void) sigprocmask(SIG_BLOCK, &set, &before);
        pid = fork();
        if (pid < 0)
                r = -errno;
        if (pid == 0) {
                /* Else it would keep its own gate open. */
                (void) close(gate[1]);
                child(argv, &before, parent, gate[0], error[1]);
        }
        (void) close(gate[0]);
        (void) close(error[1]);
        *ret = (Spawn){ .pid = pid, .gate = gate[1], .error = error[0] };
        return r;
}

int spawn_go(Spawn *spawn) {
        int error = 0;
        ssize_t n;

        if (write(spawn->gate, "", 1) != 1)
                return -errno;
        do
                n = read(spawn->error, &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        return n == sizeof(error) ? -error : 0;
}

/* Its exit code, or -1 while it goes on. */
static int child_changed(const Spawn *spawn) {
        int status;

        while (waitpid(spawn->pid, &status, WNOHANG | WUNTRACED) == spawn->pid) {
                if (WIFEXITED(status))
                        return WEXITSTATUS(status);
                if (WIFSIGNALED(status))
                        return 128 + WTERMSIG(status);
                /* The shell that started us waits for us, not for it. */
                if (WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP)
                        (void) raise(SIGSTOP);
        }
        return -1;
}

int spawn_wait(Spawn *spawn) {
        siginfo_t info;
        sigset_t set;
        int signal, code;

        fill_signals(&set);
        for (;;) {
                signal = sigwaitinfo(&set, &info);
                if (signal == SIGCHLD) {
                        code = child_changed(spawn);
                        if (code < 0)
                                continue;
                        spawn->pid = -1;
                        return code;
                }
                /* What the terminal sends it sends to the whole group, the command among it. */
                if (signal > 0 && info.si_code <= 0 && info.si_pid != spawn->pid)
                        (void) kill(spawn->pid, signal);
        }
}

void spawn_done(Spawn *spawn) {
        if (spawn->pid > 0) {
                (void) kill(spawn->pid, SIGKILL);
                (void) waitpid(spawn->pid, NULL, 0);
        }
        if (spawn->gate >= 0)
                (void) close(spawn->gate);
        if (spawn->error >= 0)
                (void) close(spawn->error);
}
