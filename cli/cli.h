/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"

/* Exit codes, design section 5: scripts lean on them. */
typedef enum Exit {
        EXIT_HOLDS = 0,
        EXIT_REFUSED = 1, /* or failed before the first write */
        EXIT_USAGE = 2,   /* or a bad profile */
        EXIT_DRIFTED = 3,
        EXIT_BOOT = 4,        /* with --strict */
        EXIT_UNSUPPORTED = 5, /* with --strict */
        EXIT_UNDONE = 6,
        EXIT_NO_DAEMON = 7, /* or not permitted */
        EXIT_FINDING = 8,
        EXIT_INCOMPLETE = 9,
        EXIT_NOT_REACHED = 255,
} Exit;

/* Which options a verb takes, as bits. */
typedef enum CliOption {
        OPTION_JSON = 1 << 0,
        OPTION_ROOT = 1 << 1,
        OPTION_VERBOSE = 1 << 2,
        OPTION_STRICT = 1 << 3,
        OPTION_DRY_RUN = 1 << 4,
        OPTION_FORCE = 1 << 5,
        OPTION_NO_DISTURB = 1 << 6,
        OPTION_CONFIRM = 1 << 7,
        OPTION_CONFIRMED = 1 << 8,
        OPTION_CPU = 1 << 9,
        OPTION_WATCH = 1 << 10,
        OPTION_WAIT = 1 << 11,
        OPTION_HOST = 1 << 12, /* of every verb */
        OPTION_CPUS = 1 << 13,
        OPTION_FREQUENCY = 1 << 14,
        OPTION_INTERVAL = 1 << 15,
        OPTION_DURATION = 1 << 16,
        OPTION_LOOPS = 1 << 17,
        OPTION_TOLERANCE = 1 << 18,
        OPTION_PRIORITY = 1 << 19,
        OPTION_LOAD = 1 << 20,
        OPTION_THREADS = 1 << 21,
        OPTION_COMPARE = 1 << 22,
        OPTION_SVG = 1 << 23,
        OPTION_QUIET = 1 << 24,
        OPTION_SECONDS = 1 << 25,
        OPTION_MODE = 1 << 26,
        OPTION_SET = 1 << 27,
        OPTION_INSTALL = 1 << 28,
        OPTION_REMOVE = 1 << 29,
        OPTION_METRICS = 1 << 30,
} CliOption;

struct Verb;

/* What was asked for. */
typedef struct Cli {
        const struct Verb *verb;
        char **arguments; /* behind the verb, NULL at the end */
        int n_arguments;
        unsigned options;    /* CliOption bits that were given */
        const char *root;    /* or NULL: the live machine */
        const char *cpu;     /* --cpu */
        const char *mode;    /* --mode, or NULL: the one in force */
        const char *set;     /* --set, or NULL */
        char **hosts;        /* -H, each one; NULL: this machine */
        const char *confirm; /* seconds */
        /* Of measure; each is the option's argument, or NULL. */
        const char *cpus, *frequency, *interval, *duration, *loops, *tolerance, *priority, *load, *threads,
                *compare, *svg;
        const char *seconds; /* of explain */
        bool colour;         /* standard output is a terminal that wants colours */
        bool help, version;
} Cli;

typedef struct Verb {
        const char *name;
        const char *arguments; /* for the usage line */
        int min_arguments, max_arguments;
        unsigned options;
        const char *summary;  /* one line, for --help */
        const char *details;  /* more of it, or NULL */
        int (*run)(Cli *cli); /* an Exit, or a negative errno that was not yet told */
        int failed;           /* what it exits with where not even its words are right; 0: EXIT_USAGE */
} Verb;

int verb_accept(Cli *cli);
int verb_capture(Cli *cli);
int verb_cpus(Cli *cli);
int verb_doctor(Cli *cli);
int verb_explain(Cli *cli);
int verb_history(Cli *cli);
int verb_kernel_args(Cli *cli);
int verb_measure(Cli *cli);
int verb_mode(Cli *cli);
int verb_plan(Cli *cli);
int verb_profile(Cli *cli);
int verb_run(Cli *cli);
int verb_status(Cli *cli);

static inline bool cli_has(const Cli *cli, CliOption option) {
        return cli->options & option;
}

/* The machine that --root names, or the live one; an error is told. */
int cli_open_machine(const Cli *cli, Kfs **ret);

/* A line on standard error with the program's name before it; control characters are escaped. */
void cli_error(const char *format, ...) _printf_(1, 2);
/* The same for a text of several lines: each gets the name. */
void cli_error_lines(const char *text);

/* `did you mean` for a word, or "". */
char *cli_nearest(const char *word, const char *const *known, size_t n_known);
