/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-journal.h>
#include <time.h>

#include "cli.h"
#include "log-id.h"
#include "record.h"

#define SHOWN 20u

static void journal_close(sd_journal **journal) {
        if (*journal)
                sd_journal_close(*journal);
}
#define _cleanup_journal_ _cleanup_(journal_close)

/* What a message with that id tells of. */
static const struct Event {
        const char *id, *result;
} events[] = {
        { LOG_ID_SWITCHED, "switched" },
        { LOG_ID_MENDED, "mended" },
        { LOG_ID_FAILED, "failed" },
        { LOG_ID_INCOMPLETE, "incomplete" },
        { LOG_ID_REFUSED, "refused" },
        { LOG_ID_STARTED, "started" },
};

static int open_journal(sd_journal **ret) {
        _cleanup_journal_ sd_journal *journal = NULL;
        int r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(events); i++) {
                _cleanup_free_ char *match = NULL;

                r = util_asprintf(&match, "MESSAGE_ID=%s", events[i].id);
                if (r >= 0)
                        r = sd_journal_add_match(journal, match, 0);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(journal);
        return 0;
}

/* A field of the message, null where it has none. */
static json_t *field(sd_journal *journal, const char *name) {
        _cleanup_free_ char *text = NULL;
        size_t size, skip = strlen(name) + 1;
        const void *data;

        if (sd_journal_get_data(journal, name, &data, &size) < 0 || size < skip)
                return json_null();
        if (util_asprintf(&text, "%.*s", (int) (size - skip), (const char *) data + skip) < 0)
                return NULL;
        return record_text(text);
}

static json_t *time_text(sd_journal *journal) {
        char text[40];
        uint64_t usec;
        time_t seconds;
        struct tm tm;

        if (sd_journal_get_realtime_usec(journal, &usec) < 0)
                return json_null();
        seconds = (time_t) (usec / 1000000);
        if (!localtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%FT%T%z", &tm) == 0)
                return json_null();
        return json_string(text);
}

static json_t *result_text(sd_journal *journal) {
        _cleanup_record_ json_t *id = field(journal, "MESSAGE_ID");
        const char *text = json_string_value(id);

        for (size_t i = 0; text && i < ARRAY_SIZE(events); i++)
                if (streq(text, events[i].id))
                        return json_string(events[i].result);
        return json_null();
}

static json_t *event_record(sd_journal *journal) {
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "time", time_text(journal), "result",
                result_text(journal), "mode", field(journal, "RTISOL_MODE"), "by",
                field(journal, "RTISOL_BY"), "why", field(journal, "RTISOL_WHY"), "message",
                field(journal, "MESSAGE"));
}

/* The last n, the newest at the end. */
static int read_events(sd_journal *journal, unsigned n, json_t **ret) {
        _cleanup_record_ json_t *list = json_array();
        int r = list ? sd_journal_seek_tail(journal) : -ENOMEM;

        while (r >= 0 && json_array_size(list) < n && (r = sd_journal_previous(journal)) > 0)
                if (json_array_insert_new(list, 0, event_record(journal)) < 0)
                        return -ENOMEM;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

static int print_events(const Cli *cli, const json_t *list) {
        static const Column columns[] = { { "TIME", "time" }, { "RESULT", "result", COLUMN_STATE },
                { "MODE", "mode" }, { "BY", "by" }, { "WHY", "why" } };
        static const Column verbose[] = { { "TIME", "time" }, { "MESSAGE", "message" } };
        _cleanup_record_ json_t *record = NULL;

        if (cli_has(cli, OPTION_JSON)) {
                record = json_pack("{s:i, s:O}", "version", 1, "events", list);
                return record ? record_print_json(record, false) : -ENOMEM;
        }
        if (json_array_size(list) == 0 && geteuid() != 0)
                cli_error("nothing is seen: root, and members of systemd-journal or adm, see the system's "
                          "journal");
        return cli_has(cli, OPTION_VERBOSE)
                ? record_print_table(list, verbose, ARRAY_SIZE(verbose), cli->colour)
                : record_print_table(list, columns, ARRAY_SIZE(columns), cli->colour);
}

int verb_history(Cli *cli) {
        _cleanup_journal_ sd_journal *journal = NULL;
        _cleanup_record_ json_t *list = NULL;
        unsigned n = SHOWN;
        int r;

        if (cli->n_arguments > 0 && (util_parse_unsigned(cli->arguments[0], &n) < 0 || n == 0)) {
                cli_error("history takes a number of switches, not \"%s\"", cli->arguments[0]);
                return EXIT_USAGE;
        }
        r = open_journal(&journal);
        r = r < 0 ? r : read_events(journal, n, &list);
        if (r < 0) {
                cli_error("the systemd journal, which has the history, cannot be read: %s", strerror(-r));
                return EXIT_REFUSED;
        }
        return print_events(cli, list);
}
