/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>

#include "cli.h"
#include "config.h"
#include "options.h"
#include "remote-many.h"
#include "remote.h"

static const Verb verbs[] = {
        { "mode", "[NAME]", 0, 1,
                OPTION_JSON | OPTION_DRY_RUN | OPTION_STRICT | OPTION_FORCE | OPTION_NO_DISTURB |
                        OPTION_CONFIRM | OPTION_CONFIRMED,
                "print the mode in force, or switch to another",
                "Without NAME the mode's name alone is printed.  `green` is the machine as it was found.",
                verb_mode },
        { "status", "", 0, 0,
                OPTION_JSON | OPTION_ROOT | OPTION_VERBOSE | OPTION_STRICT | OPTION_CPU | OPTION_WATCH |
                        OPTION_WAIT | OPTION_METRICS,
                "compare the mode with the machine", NULL, verb_status },
        { "plan", "NAME", 1, 1, OPTION_JSON | OPTION_ROOT | OPTION_VERBOSE | OPTION_NO_DISTURB,
                "show what a switch would do, in its order",
                "Only steps whose value differs are shown; -v shows every step of the mode.", verb_plan },
        { "profile", "list | show NAME | check FILE...", 1, -1, OPTION_JSON | OPTION_ROOT,
                "list, show and check profiles", NULL, verb_profile },
        { "measure", "pert | jitter | frame | itimer", 1, 1,
                OPTION_JSON | OPTION_VERBOSE | OPTION_QUIET | OPTION_CPUS | OPTION_DURATION |
                        OPTION_FREQUENCY | OPTION_INTERVAL | OPTION_LOOPS | OPTION_TOLERANCE |
                        OPTION_PRIORITY | OPTION_LOAD | OPTION_THREADS | OPTION_COMPARE | OPTION_SVG,
                "measure how quiet CPUs are",
                "  pert    a tight loop: how often, and for how long, each CPU was taken from it\n"
                "  jitter  a timer on each CPU: how late it is\n"
                "  frame   frames of work in lockstep at several frequencies: how late each is done\n"
                "  itimer  what a timer of the process's CPU time costs its threads",
                verb_measure },
        { "history", "[N]", 0, 1, OPTION_JSON | OPTION_VERBOSE, "show the last N switches (20)",
                "Who switched what, when and why, as the systemd journal has it; with -v what was said "
                "then.",
                verb_history },
        { "accept", "[FINDING...]", 0, -1, OPTION_JSON | OPTION_ROOT | OPTION_REMOVE,
                "live with findings of status",
                "FINDING is the id that `status --json` tells, KIND:NAME, or a shell pattern of some.  "
                "Without one,\n"
                "what is accepted is shown.",
                verb_accept },
        { "doctor", "", 0, 0, OPTION_JSON | OPTION_ROOT, "show which mechanisms this kernel has", NULL,
                verb_doctor },
        { "explain", "", 0, 0, OPTION_JSON | OPTION_VERBOSE | OPTION_CPU | OPTION_SECONDS,
                "name what takes isolated CPUs away from their work",
                "The kernel's own events are recorded for a while, so it takes root.  Switching them on and "
                "off\n"
                "interrupts every CPU for a moment.",
                verb_explain },
        { "cpus", "EXPRESSION", 1, 1, OPTION_JSON | OPTION_ROOT, "print the CPUs that an expression names",
                "Terms are separated by commas and read from left to right; ^TERM takes away:\n"
                "  0-3 0-31:2/8 N all online node:0 package:0 core:2 llc:0 siblings:4-7 set:rt auto auto:2",
                verb_cpus },
        { "capture", "FILE.tar", 1, 1, OPTION_ROOT, "write what --root needs into an archive",
                "Unpacked elsewhere, it gives the same plan, status, doctor and cpus.  `-` is standard "
                "output.",
                verb_capture },
        { "kernel-args", "[NAME]", 0, 1, OPTION_JSON | OPTION_ROOT | OPTION_INSTALL | OPTION_REMOVE,
                "print the kernel command line that a profile needs",
                "Without NAME it is the mode in force.  Only what cannot be switched while this kernel runs "
                "is\n"
                "printed; what contradicts it on the running command line is refused.",
                verb_kernel_args },
        { "run", "-- COMMAND [ARGUMENT...]", 1, -1, OPTION_MODE | OPTION_SET,
                "run a command in a set, in a mode that lasts as long as it",
                "The mode before is in force again once the last command that asked for one is over.  "
                "Signals\n"
                "are passed on, and so is the exit code; 125 to 127 are rtisoctl's own failures.",
                verb_run, 125 },
};

static const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

static void print_help(void) {
        printf("Usage: rtisoctl [OPTION...] VERB [ARGUMENT...]\n\n"
               "Isolate CPUs for real-time work on a running machine, and give them back.\n\n"
               "Verbs:\n");
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                printf("  %-11s %-32s %s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary);
        printf("\nOptions of every verb:\n"
               "  -h --help                   this, or the help of a verb\n"
               "     --version                print the version\n"
               "  -H --host HOST              run the verb there, over ssh; several: a line each\n"
               "\nrtisoctl VERB --help tells the options of a verb.\n"
               "\nExit codes: 0 every required part holds, 1 refused or failed before the first write, 2 "
               "usage or a\n"
               "bad profile, 3 drifted, 4 a boot-only part is missing and 5 this kernel cannot do a part "
               "(--strict),\n"
               "6 failed and undone, 7 not permitted or no daemon, 8 a finding of severity error, 9 failed "
               "and the\n"
               "undo is incomplete.\n");
}

static void print_verb_help(const Verb *verb) {
        printf("Usage: rtisoctl %s %s%s\n\n%c%s.\n", verb->name, verb->options ? "[OPTION...] " : "",
                verb->arguments, verb->summary[0] - 'a' + 'A', verb->summary + 1);
        if (verb->details)
                printf("%s\n", verb->details);
        printf("\nOptions:\n");
        options_print(verb->options | OPTION_HOST);
}

static int usage_verb(const char *name) {
        const char *known[ARRAY_SIZE(verbs)];
        _cleanup_free_ char *nearest = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                known[i] = verbs[i].name;
        nearest = cli_nearest(name, known, ARRAY_SIZE(known));
        cli_error("there is no verb \"%s\"%s; rtisoctl --help lists them", name, nearest ?: "");
        return EXIT_USAGE;
}

static int check_arguments(const Cli *cli) {
        const Verb *verb = cli->verb;

        if (cli->n_arguments < verb->min_arguments) {
                cli_error("%s needs %s", verb->name, verb->arguments);
                return EXIT_USAGE;
        }
        if (verb->max_arguments >= 0 && cli->n_arguments > verb->max_arguments) {
                cli_error("%s does not take \"%s\": usage is rtisoctl %s %s", verb->name,
                        cli->arguments[verb->max_arguments], verb->name, verb->arguments);
                return EXIT_USAGE;
        }
        return options_check(cli->options, verb->options | OPTION_HOST, verb->name);
}

/* Scripts tell the failure of a verb that passes an exit code on from that exit code: also where its options are
 * wrong, and it was not looked at yet. */
static int wrong_options(char **argv) {
        for (char **word = argv + 1; *word; word++) {
                const Verb *verb = verb_find(*word);

                if (verb)
                        return verb->failed ?: EXIT_USAGE;
        }
        return EXIT_USAGE;
}

static bool wants_colour(void) {
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(STDOUT_FILENO) && (!no_color || !*no_color) && term && !streq(term, "dumb");
}

static int run_verb(Cli *cli) {
        int r = cli->verb->run(cli);

        if (r < 0) {
                cli_error("%s failed: %s", cli->verb->name, strerror(-r));
                r = EXIT_REFUSED;
        }
        /* A full disk or a closed pipe must not look like an empty answer. */
        if (fflush(stdout) != 0 || ferror(stdout)) {
                cli_error("the output could not be written: %s", strerror(errno));
                if (r == EXIT_HOLDS)
                        r = EXIT_REFUSED;
        }
        return r;
}

static int run_main(int argc, char **argv, Cli *cli) {
        int r = options_parse(argc, argv, cli);

        if (r != EXIT_HOLDS)
                return wrong_options(argv);
        if (cli->version) {
                printf("rtisoctl %s\n", RTISOLD_VERSION);
                return EXIT_HOLDS;
        }
        if (cli->n_arguments == 0) {
                if (cli->help) {
                        print_help();
                        return EXIT_HOLDS;
                }
                cli_error("a verb is missing; rtisoctl --help lists them");
                return EXIT_USAGE;
        }
        cli->verb = verb_find(cli->arguments[0]);
        if (!cli->verb)
                return usage_verb(cli->arguments[0]);
        cli->arguments++;
        cli->n_arguments--;
        if (cli->help) {
                print_verb_help(cli->verb);
                return EXIT_HOLDS;
        }
        r = check_arguments(cli);
        if (r != EXIT_HOLDS)
                return cli->verb->failed ?: r;
        if (util_strv_length(cli->hosts) > 1)
                return remote_run_many(cli);
        return cli->hosts ? remote_run(cli) : run_verb(cli);
}

int main(int argc, char **argv) {
        Cli cli = { .colour = wants_colour() };
        int r;

        (void) setlocale(LC_CTYPE, "");
        r = run_main(argc, argv, &cli);
        util_strv_free(cli.hosts);
        return r;
}
