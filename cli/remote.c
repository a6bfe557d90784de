/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "remote.h"

#include "options.h"

int remote_quote(const char *word, char **ret) {
        /* Each quote becomes four bytes. */
        char *quoted = malloc(strlen(word) * 4 + 3), *end = quoted;

        if (!quoted)
                return -ENOMEM;
        *end++ = '\'';
        for (; *word; word++) {
                if (*word == '\'')
                        end = stpcpy(end, "'\\''");
                else
                        *end++ = *word;
        }
        memcpy(end, "'", sizeof("'"));
        *ret = quoted;
        return 0;
}

static int push_quoted(char ***words, const char *word) {
        _cleanup_free_ char *quoted = NULL;
        int r = remote_quote(word, &quoted);

        return r < 0 ? r : util_strv_push(words, quoted);
}

int remote_command(const Cli *cli, char **ret) {
        _cleanup_strv_ char **options = NULL, **words = NULL;
        int r = options_to_words(cli, &options);

        if (r == 0)
                r = util_strv_push(&words, "rtisoctl");
        STRV_FOREACH (option, options)
                r = r ?: push_quoted(&words, *option);
        r = r ?: util_strv_push(&words, "--");
        r = r ?: push_quoted(&words, cli->verb->name);
        STRV_FOREACH (argument, cli->arguments)
                r = r ?: push_quoted(&words, *argument);
        return r ?: util_strv_join(words, " ", ret);
}

/* ssh would take it for an option. */
bool remote_is_host(const char *host) {
        if (*host && *host != '-')
                return true;
        cli_error("\"%s\" is no name of a host", host);
        return false;
}

int remote_run(const Cli *cli) {
        /* A command gets a terminal where there is one: it is what passes signals on, too. */
        bool terminal = cli->verb->failed && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        _cleanup_free_ char *line = NULL;

        if (!remote_is_host(cli->hosts[0]))
                return EXIT_USAGE;
        if (remote_command(cli, &line) < 0) {
                cli_error("out of memory");
                return EXIT_REFUSED;
        }
        if (terminal)
                (void) execlp("ssh", "ssh", "-t", "--", cli->hosts[0], line, NULL);
        else
                (void) execlp("ssh", "ssh", "--", cli->hosts[0], line, NULL);
        cli_error("ssh cannot be started: %s", strerror(errno));
        return EXIT_NOT_REACHED;
}
