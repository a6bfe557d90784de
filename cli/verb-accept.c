/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>
#include <pwd.h>
#include <time.h>

#include "accepted.h"
#include "machine.h"
#include "record.h"

static int accepted_path(const Cli *cli, char **ret) {
        return util_asprintf(ret, "%s" ACCEPTED_FILE, cli->root ?: "");
}

static int tell_failure(const char *path, int error) {
        cli_error("%s cannot be written: %s", path, strerror(-error));
        return error == -EACCES || error == -EPERM ? EXIT_NO_DAEMON : EXIT_REFUSED;
}

/* The ids that a pattern stands for just now. */
static size_t count_matches(const Audit *audit, const char *pattern) {
        size_t n = 0;

        for (size_t i = 0; i < audit->n_findings; i++)
                n += fnmatch(pattern, audit->findings[i].id, 0) == 0;
        return n;
}

static int list_record(const Machine *machine, const Audit *audit, json_t **ret) {
        _cleanup_strv_ char **patterns = NULL;
        json_t *list;
        int r = accepted_read(machine->kfs, &patterns);

        if (r < 0)
                return r;
        list = json_array();
        STRV_FOREACH (pattern, patterns)
                if (json_array_append_new(list,
                            json_pack("{s:o, s:I}", "finding", record_text(*pattern), "now",
                                    (json_int_t) count_matches(audit, *pattern))) < 0) {
                        json_decref(list);
                        return -ENOMEM;
                }
        *ret = list;
        return 0;
}

static int print_list(const Cli *cli, const Machine *machine, const Audit *audit) {
        static const Column columns[] = { { "ACCEPTED", "finding" }, { "NOW", "now", COLUMN_RIGHT } };
        _cleanup_record_ json_t *list = NULL, *record = NULL;
        int r = list_record(machine, audit, &list);

        if (r < 0) {
                cli_error(ACCEPTED_FILE " cannot be read: %s", strerror(-r));
                return EXIT_REFUSED;
        }
        if (!cli_has(cli, OPTION_JSON))
                return record_print_table(list, columns, ARRAY_SIZE(columns), cli->colour);
        record = json_pack("{s:i, s:O}", "version", 1, "accepted", list);
        return record ? record_print_json(record, false) : -ENOMEM;
}

/* What is accepted must be there: a slip of the pen would accept nothing, and nobody would know. */
static int no_such_finding(const Audit *audit, const char *finding) {
        _cleanup_free_ const char **known = calloc(audit->n_findings + 1, sizeof(char *));
        _cleanup_free_ char *nearest = NULL;

        if (!known)
                return -ENOMEM;
        for (size_t i = 0; i < audit->n_findings; i++)
                known[i] = audit->findings[i].id;
        nearest = cli_nearest(finding, known, audit->n_findings);
        cli_error("there is no finding \"%s\" now%s; the ids are in rtisoctl status --json", finding,
                nearest ?: "");
        return EXIT_REFUSED;
}

/* `by ops, 2026-11-30`: who it is even behind sudo. */
static int format_comment(char **ret) {
        const char *name = getenv("SUDO_USER");
        const struct passwd *user = name && *name ? NULL : getpwuid(getuid());
        time_t now = time(NULL);
        struct tm tm;
        char day[16];

        if (!localtime_r(&now, &tm) || strftime(day, sizeof(day), "%F", &tm) == 0)
                return -EINVAL;
        return util_asprintf(ret, "by %s, %s", name && *name ? name : user ? user->pw_name : "?", day);
}

static int change(const Cli *cli, const Audit *audit, const char *path, const char *finding) {
        _cleanup_free_ char *comment = NULL;
        int r;

        if (strpbrk(finding, "\n#") || !*finding) {
                cli_error("\"%s\" is no id of a finding", finding);
                return EXIT_USAGE;
        }
        if (cli_has(cli, OPTION_REMOVE)) {
                r = accepted_remove(path, finding);
                if (r == 0) {
                        cli_error("\"%s\" is not accepted; rtisoctl accept shows what is", finding);
                        return EXIT_REFUSED;
                }
                return r < 0 ? tell_failure(path, r) : EXIT_HOLDS;
        }
        if (count_matches(audit, finding) == 0)
                return no_such_finding(audit, finding);
        r = format_comment(&comment);
        if (r < 0)
                return r;
        r = accepted_add(path, finding, comment);
        return r < 0 ? tell_failure(path, r) : EXIT_HOLDS;
}

int verb_accept(Cli *cli) {
        _cleanup_machine_ Machine machine = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_audit_ Audit *audit = NULL;
        _cleanup_free_ char *path = NULL;
        int r = EXIT_HOLDS;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = machine_audit(&machine, &profile, &audit);
        r = r ?: accepted_path(cli, &path);
        if (r < 0)
                return r;
        if (cli->n_arguments == 0)
                return print_list(cli, &machine, audit);
        for (int i = 0; r == EXIT_HOLDS && i < cli->n_arguments; i++)
                r = change(cli, audit, path, cli->arguments[i]);
        return r;
}
