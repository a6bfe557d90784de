/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "options.h"

#include <getopt.h>

#define HELP 'h'
#define VERSION 'V'

/* Values of getopt's long options: a bit's place, above all letters. */
#define VALUE_BASE 256

/* Where in a Cli the argument of an option is kept. */
#define VALUE(member) offsetof(Cli, member)

static const struct OptionInfo {
        CliOption bit;
        char letter; /* or NUL */
        const char *name, *argument, *help;
        size_t value; /* of every option with an argument */
} infos[] = {
        { OPTION_JSON, 0, "json", NULL, "print a record for programs" },
        { OPTION_ROOT, 0, "root", "DIR", "look at the captured machine in DIR", VALUE(root) },
        { OPTION_VERBOSE, 'v', "verbose", NULL, "show more: every step, every CPU" },
        { OPTION_CPU, 0, "cpu", "LIST", "show these CPUs", VALUE(cpu) },
        { OPTION_WATCH, 0, "watch", NULL, "show it again whenever it changes" },
        { OPTION_WAIT, 0, "wait", NULL, "return when every required part holds" },
        { OPTION_STRICT, 0, "strict", NULL, "fail where an optional part does not hold (exit 4 and 5)" },
        { OPTION_DRY_RUN, 0, "dry-run", NULL, "show the plan and change nothing" },
        { OPTION_FORCE, 0, "force", NULL, "go green although a real-time task runs in a set" },
        { OPTION_NO_DISTURB, 0, "no-disturb", NULL, "leave out steps that disturb other CPUs" },
        { OPTION_CONFIRM, 0, "confirm", "SECONDS", "go back by itself unless `mode --confirmed` follows",
                VALUE(confirm) },
        { OPTION_CONFIRMED, 0, "confirmed", NULL, "keep the mode that waits to be confirmed" },
        { OPTION_CPUS, 'a', "cpus", "EXPRESSION", "measure these CPUs; without it those of the sets",
                VALUE(cpus) },
        { OPTION_DURATION, 'D', "duration", "TIME", "how long, as 90, 10m or 1h; 0: until ^C",
                VALUE(duration) },
        { OPTION_FREQUENCY, 'f', "frequency", "HZ", "timers or frames a second; frame takes a list",
                VALUE(frequency) },
        { OPTION_INTERVAL, 'i', "interval", "US", "the same as the time between two", VALUE(interval) },
        { OPTION_LOOPS, 'l', "loops", "N", "end after that many timers or frames", VALUE(loops) },
        { OPTION_TOLERANCE, 0, "tolerance", "US", "what is later, or takes more, is counted apart",
                VALUE(tolerance) },
        { OPTION_PRIORITY, 'p', "priority", "N", "FIFO priority of what measures, 0 for none",
                VALUE(priority) },
        { OPTION_LOAD, 0, "load", "PERCENT", "part of a frame that its work takes", VALUE(load) },
        { OPTION_THREADS, 't', "threads", "N", "how many threads work", VALUE(threads) },
        { OPTION_COMPARE, 0, "compare", "MODE,MODE", "measure in both modes and go back", VALUE(compare) },
        { OPTION_SVG, 0, "svg", "FILE", "draw it, too", VALUE(svg) },
        { OPTION_QUIET, 'q', "quiet", NULL, "print only the end" },
        { OPTION_SECONDS, 0, "seconds", "N", "watch for that long (10 seconds unless given)",
                VALUE(seconds) },
        { OPTION_MODE, 0, "mode", "NAME", "enter this mode first", VALUE(mode) },
        { OPTION_SET, 0, "set", "SET", "run in this set, where the mode has several", VALUE(set) },
        { OPTION_INSTALL, 0, "install", NULL, "put it on the command line of the next boot" },
        { OPTION_REMOVE, 0, "remove", NULL, "take back what this verb put there" },
        { OPTION_METRICS, 0, "metrics", NULL,
                "print OpenMetrics text, for node_exporter's textfile collector" },
        { OPTION_HOST, 'H', "host", "HOST", "run the verb there, over ssh; several: a line each",
                VALUE(hosts) },
};

static const struct OptionInfo *option_find(unsigned bit) {
        for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
                if (infos[i].bit == bit)
                        return &infos[i];
        return NULL;
}

void options_print(unsigned options) {
        for (size_t i = 0; i < ARRAY_SIZE(infos); i++) {
                char left[32];

                if (!(options & infos[i].bit))
                        continue;
                (void) snprintf(left, sizeof(left), "--%s %s", infos[i].name, infos[i].argument ?: "");
                if (infos[i].letter)
                        printf("  -%c %-24s %s\n", infos[i].letter, left, infos[i].help);
                else
                        printf("     %-24s %s\n", left, infos[i].help);
        }
        printf("  -h %-24s %s\n", "--help", "this");
}

int options_check(unsigned given, unsigned allowed, const char *verb) {
        unsigned wrong = given & ~allowed;
        const struct OptionInfo *info = option_find(wrong & -wrong);

        if (!info)
                return EXIT_HOLDS;
        cli_error("%s does not take --%s; rtisoctl %s --help lists its options", verb, info->name, verb);
        return EXIT_USAGE;
}

/* What an option was given, or NULL for a flag. */
static const char *option_value(const Cli *cli, const struct OptionInfo *info) {
        return info->argument ? *(const char *const *) ((const char *) cli + info->value) : NULL;
}

int options_to_words(const Cli *cli, char ***ret) {
        _cleanup_strv_ char **words = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(infos); i++) {
                const char *value = option_value(cli, &infos[i]);
                _cleanup_free_ char *word = NULL;
                int r;

                if (!(cli->options & infos[i].bit) || infos[i].bit == OPTION_HOST)
                        continue;
                r = util_asprintf(&word, "--%s%s%s", infos[i].name, value ? "=" : "", value ?: "");
                r = r ?: util_strv_push(&words, word);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(words);
        return 0;
}

static int take_option(const struct OptionInfo *info, const char *argument, Cli *cli) {
        cli->options |= info->bit;
        if (info->bit == OPTION_HOST)
                return util_strv_push(&cli->hosts, argument) < 0 ? EXIT_REFUSED : EXIT_HOLDS;
        if (info->argument)
                *(const char **) ((char *) cli + info->value) = argument;
        return EXIT_HOLDS;
}

static int usage_option(const char *word) {
        const char *known[ARRAY_SIZE(infos) + 2] = { "help", "version" };
        const char *name = util_startswith(word, "--");
        _cleanup_free_ char *nearest = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
                known[i + 2] = infos[i].name;
        nearest = name ? cli_nearest(name, known, ARRAY_SIZE(known)) : NULL;
        cli_error("there is no option %s%s", word, nearest ?: "");
        return EXIT_USAGE;
}

static void fill_long_options(struct option *options) {
        size_t n = ARRAY_SIZE(infos);

        for (size_t i = 0; i < n; i++)
                options[i] = (struct option){ infos[i].name,
                        infos[i].argument ? required_argument : no_argument, NULL, VALUE_BASE + (int) i };
        options[n] = (struct option){ "help", no_argument, NULL, HELP };
        options[n + 1] = (struct option){ "version", no_argument, NULL, VERSION };
}

static const struct OptionInfo *option_of_letter(int letter) {
        for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
                if (infos[i].letter && infos[i].letter == letter)
                        return &infos[i];
        return NULL;
}

/* As getopt wants the letters: a colon behind those with an argument, one before all to tell errors apart. */
static void fill_letters(char letters[static 2 * ARRAY_SIZE(infos) + 3]) {
        char *end = stpcpy(letters, ":h");

        for (size_t i = 0; i < ARRAY_SIZE(infos); i++) {
                if (!infos[i].letter)
                        continue;
                *end++ = infos[i].letter;
                if (infos[i].argument)
                        *end++ = ':';
        }
        *end = 0;
}

static int wrong_option(char **argv, int c) {
        if (c == ':')
                cli_error("%s needs an argument", argv[optind - 1]);
        else if (optopt >= VALUE_BASE)
                cli_error("--%s takes no argument", infos[optopt - VALUE_BASE].name);
        else if (optopt)
                cli_error("there is no option -%c", optopt);
        else
                return usage_option(argv[optind - 1]);
        return EXIT_USAGE;
}

int options_parse(int argc, char **argv, Cli *cli) {
        struct option options[ARRAY_SIZE(infos) + 3] = { 0 };
        char letters[2 * ARRAY_SIZE(infos) + 3];
        int c, r = EXIT_HOLDS;

        fill_long_options(options);
        fill_letters(letters);
        opterr = 0;
        while (r == EXIT_HOLDS && (c = getopt_long(argc, argv, letters, options, NULL)) >= 0) {
                if (c == HELP)
                        cli->help = true;
                else if (c == VERSION)
                        cli->version = true;
                else if (c >= VALUE_BASE)
                        r = take_option(&infos[c - VALUE_BASE], optarg, cli);
                else if (option_of_letter(c))
                        r = take_option(option_of_letter(c), optarg, cli);
                else
                        r = wrong_option(argv, c);
        }
        cli->arguments = argv + optind;
        cli->n_arguments = argc - optind;
        return r;
}
