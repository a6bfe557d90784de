/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli.h"

#include <stdarg.h>

#include "text.h"
#include "words.h"

void cli_error(const char *format, ...) {
        _cleanup_free_ char *text = NULL, *printable = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&text, format, ap);
        va_end(ap);
        if (r < 0) {
                text = NULL;
                r = -ENOMEM;
        } else
                r = text_printable(text, &printable);
        fprintf(stderr, "rtisoctl: %s\n", r < 0 ? "out of memory" : printable);
}

void cli_error_lines(const char *text) {
        _cleanup_strv_ char **lines = NULL;

        if (util_strv_split(text, "\n", &lines) < 0)
                return;
        STRV_FOREACH (line, lines)
                cli_error("%s", *line);
}

char *cli_nearest(const char *word, const char *const *known, size_t n_known) {
        const char *nearest = words_nearest(word, known, n_known);
        char *text = NULL;

        if (!nearest || util_asprintf(&text, "; did you mean \"%s\"?", nearest) < 0)
                return NULL;
        return text;
}

int cli_open_machine(const Cli *cli, Kfs **ret) {
        int r = kfs_new(cli->root, ret);

        if (r < 0)
                cli_error("the machine in %s cannot be looked at: %s", cli->root ?: "/", strerror(-r));
        return r;
}
