/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client.h"
#include "enter.h"
#include "machine.h"
#include "spawn.h"

/* As env(1) and timeout(1) have it: what is not the command's own exit code. */
#define EXIT_RUN_FAILED 125
#define EXIT_RUN_CANNOT 126
#define EXIT_RUN_NOT_FOUND 127

/* The reason of the lease is the command's name: its arguments may hold what is not for everybody's eyes. */
static int lease_reason(const char *command, char **ret) {
        const char *slash = strrchr(command, '/');
        char *why = strdup(slash ? slash + 1 : command);

        if (!why)
                return -ENOMEM;
        for (char *p = why; *p; p++)
                if ((unsigned char) *p < ' ' || *p == 127)
                        *p = '?';
        *ret = why;
        return 0;
}

static int list_sets(const Machine *machine, char **ret) {
        _cleanup_strv_ char **names = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < machine->state.steps.n_sets; i++)
                r = util_strv_push(&names, machine->state.steps.sets[i].name);
        return r < 0 ? r : util_strv_join(names, ", ", ret);
}

/* The set to run in.  *ret stays NULL where there is no slice to enter: the CPUs of the set are somebody else's
 * (`partition = none`), or the mode only tunes the machine.  EXIT_HOLDS, or a failure that was told. */
static int choose_set(const Machine *machine, const char *name, const StepSet **ret) {
        const Steps *steps = &machine->state.steps;
        _cleanup_free_ char *names = NULL;
        const StepSet *set = name    ? steps_find_set(steps, name)
                : steps->n_sets == 1 ? &steps->sets[0]
                                     : NULL;

        if (list_sets(machine, &names) < 0)
                return EXIT_RUN_FAILED;
        if (!set && name)
                cli_error("mode %s has no set %s; its sets are: %s", machine->state.mode, name,
                        *names ? names : "none");
        else if (steps->n_sets > 1 && !set)
                cli_error("mode %s has several sets (%s): --set says which", machine->state.mode, names);
        else if (!set && streq(machine->state.mode, "green"))
                cli_error("mode green has no set to run in; --mode names another");
        else {
                *ret = set && !streq(set->partition, "none") ? set : NULL;
                return EXIT_HOLDS;
        }
        return EXIT_RUN_FAILED;
}

static int enter(const Cli *cli, const Machine *machine, const StepSet *set, unsigned pid) {
        _cleanup_free_ char *command = NULL;
        int r = lease_reason(cli->arguments[0], &command);

        r = r ?: enter_set(machine->kfs, set->name, pid, command);
        if (r < 0)
                cli_error("%s cannot be put into the slice of set %s: %s", cli->arguments[0], set->name,
                        r == -EACCES || r == -EPERM ? "this user may not" : strerror(-r));
        return r;
}

static int run_in(const Cli *cli, const Machine *machine, const StepSet *set) {
        _cleanup_spawn_ Spawn spawn = { -1, -1, -1 };
        int r = spawn_start(cli->arguments, &spawn);

        if (r < 0) {
                cli_error("no process can be made: %s", strerror(-r));
                return EXIT_RUN_FAILED;
        }
        if (set && enter(cli, machine, set, (unsigned) spawn.pid) < 0)
                return EXIT_RUN_FAILED;
        r = spawn_go(&spawn);
        if (r == 0)
                return spawn_wait(&spawn);
        cli_error("%s cannot be executed: %s", cli->arguments[0], strerror(-r));
        return r == -ENOENT ? EXIT_RUN_NOT_FOUND : EXIT_RUN_CANNOT;
}

static int take_lease(const Cli *cli, int *ret_fd) {
        _cleanup_client_answer_ ClientAnswer answer = {};
        _cleanup_client_ sd_bus *bus = NULL;
        _cleanup_free_ char *why = NULL;
        int r = client_connect(&bus);

        if (r < 0)
                return client_tell_no_daemon(r);
        r = lease_reason(cli->arguments[0], &why);
        r = r ?: client_lease(bus, cli->mode ?: "", why, &answer, ret_fd);
        if (r < 0)
                return client_tell_no_daemon(r);
        if (answer.message)
                cli_error_lines(answer.message);
        return answer.exit;
}

/* Without a mode, what runs in green would be leased green. */
static int check_mode(const Cli *cli) {
        _cleanup_machine_ Machine machine = {};
        const StepSet *set = NULL;

        if (cli->mode)
                return EXIT_HOLDS;
        if (machine_open(cli, &machine) < 0)
                return EXIT_RUN_FAILED;
        return choose_set(&machine, cli->set, &set);
}

int verb_run(Cli *cli) {
        _cleanup_machine_ Machine machine = {};
        _cleanup_close_ int lease = -1;
        const StepSet *set = NULL;

        /* The mode in force may be a stricter one than that asked for: it has the same sets. */
        if (check_mode(cli) != EXIT_HOLDS || take_lease(cli, &lease) != EXIT_HOLDS ||
                machine_open(cli, &machine) < 0 || choose_set(&machine, cli->set, &set) != EXIT_HOLDS)
                return EXIT_RUN_FAILED;
        return run_in(cli, &machine, set);
}
