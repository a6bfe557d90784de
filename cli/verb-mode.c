/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client.h"
#include "machine.h"
#include "verb-plan.h"

static int print_mode(const Cli *cli) {
        _cleanup_machine_ Machine machine = {};
        _cleanup_record_ json_t *record = NULL;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        if (!cli_has(cli, OPTION_JSON)) {
                printf("%s\n", machine.state.mode);
                return EXIT_HOLDS;
        }
        record = json_pack("{s:i, s:s}", "version", 1, "mode", machine.state.mode);
        return record ? record_print_json(record, false) : -ENOMEM;
}

/* What --strict makes of parts that do not hold: boot-only ones come first. */
static int strict_exit(const json_t *degraded) {
        const json_t *part;
        size_t i;
        int r = EXIT_HOLDS;

        json_array_foreach(degraded, i, part) {
                if (streq(record_get(part, "state"), "boot"))
                        return EXIT_BOOT;
                r = EXIT_UNSUPPORTED;
        }
        return r;
}

static int print_degraded(const Cli *cli, const json_t *degraded) {
        static const Column columns[] = {
                { "DEGRADED", "step" },
                { "STATE", "state", COLUMN_STATE },
                { "REASON", "reason" },
        };

        return record_print_table(degraded, columns, ARRAY_SIZE(columns), cli->colour);
}

static int print_answer(const Cli *cli, const char *mode, const ClientAnswer *answer) {
        _cleanup_record_ json_t *record = NULL;

        if (answer->message)
                cli_error_lines(answer->message);
        if (!cli_has(cli, OPTION_JSON))
                return print_degraded(cli, answer->degraded);
        record = json_pack("{s:i, s:o, s:o, s:o, s:i}", "version", 1, "mode", record_text(mode), "degraded",
                answer->degraded ? json_incref(answer->degraded) : json_array(), "message",
                record_text(answer->message), "exit", answer->exit);
        return record ? record_print_json(record, false) : -ENOMEM;
}

/* EXIT_HOLDS, or EXIT_USAGE where an error was told. */
static int take_confirm(const Cli *cli, unsigned *ret) {
        if (!cli->confirm)
                return EXIT_HOLDS;
        if (util_parse_unsigned(cli->confirm, ret) == 0 && *ret > 0)
                return EXIT_HOLDS;
        cli_error("--confirm takes a number of seconds, not \"%s\"", cli->confirm);
        return EXIT_USAGE;
}

static int switch_mode(const Cli *cli, const char *mode, unsigned confirm) {
        ClientOptions options = {
                .no_disturb = cli_has(cli, OPTION_NO_DISTURB),
                .force = cli_has(cli, OPTION_FORCE),
                .confirmed = cli_has(cli, OPTION_CONFIRMED),
                .confirm = confirm,
                .progress = cli->colour && isatty(STDERR_FILENO),
        };
        _cleanup_client_answer_ ClientAnswer answer = {};
        _cleanup_client_ sd_bus *bus = NULL;
        int r = client_connect(&bus);

        if (r < 0)
                return client_tell_no_daemon(r);
        r = client_set_mode(bus, mode, &options, &answer);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return client_tell_no_daemon(r);
        if (answer.exit == EXIT_HOLDS && cli_has(cli, OPTION_STRICT))
                answer.exit = strict_exit(answer.degraded);
        r = print_answer(cli, mode, &answer);
        return r < 0 ? r : answer.exit;
}

int verb_mode(Cli *cli) {
        const char *mode = cli->arguments[0];
        unsigned confirm = 0;

        if (take_confirm(cli, &confirm) != EXIT_HOLDS)
                return EXIT_USAGE;
        if (!mode && !cli_has(cli, OPTION_CONFIRMED)) {
                if (cli->options & ~(unsigned) OPTION_JSON) {
                        cli_error("mode needs the NAME of a profile for these options");
                        return EXIT_USAGE;
                }
                return print_mode(cli);
        }
        if (cli_has(cli, OPTION_CONFIRM) && cli_has(cli, OPTION_CONFIRMED)) {
                cli_error("--confirm begins to wait and --confirmed ends it: give one of them");
                return EXIT_USAGE;
        }
        if (cli_has(cli, OPTION_DRY_RUN)) {
                if (!mode) {
                        cli_error("mode --dry-run needs the NAME of a profile");
                        return EXIT_USAGE;
                }
                return plan_print(cli, mode);
        }
        return switch_mode(cli, mode ?: "", confirm);
}
