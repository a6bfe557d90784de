/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "request.h"

#include "options.h"

#define USEC_NSEC 1000u
#define SECOND_NSEC UINT64_C(1000000000)
#define MAX_SECONDS (400u * 24 * 3600)
#define MAX_HZ 100000u
#define MAX_THREADS 4096u

#define OPTIONS_ALL                                                                                         \
        (OPTION_JSON | OPTION_VERBOSE | OPTION_QUIET | OPTION_CPUS | OPTION_DURATION | OPTION_SVG |         \
                OPTION_COMPARE | OPTION_PRIORITY)
#define OPTIONS_TIMER (OPTION_FREQUENCY | OPTION_INTERVAL | OPTION_LOOPS | OPTION_TOLERANCE)

/* The kinds, and what holds where nothing else is asked for. */
static const struct KindInfo {
        const char *name;
        unsigned options;
        Request defaults;
} kinds[] = {
        [MEASURE_PERT] = { "pert", OPTIONS_ALL | OPTION_TOLERANCE, { .duration_ns = 10 * SECOND_NSEC } },
        [MEASURE_JITTER] = { "jitter", OPTIONS_ALL | OPTIONS_TIMER,
                { .duration_ns = 10 * SECOND_NSEC,
                        .hz = { 960 },
                        .n_hz = 1,
                        .priority = 80,
                        .tolerance_ns = 50000 } },
        [MEASURE_FRAME] = { "frame", OPTIONS_ALL | OPTIONS_TIMER | OPTION_LOAD,
                { .duration_ns = 10 * SECOND_NSEC,
                        .hz = { 960, 666, 300 },
                        .n_hz = 3,
                        .priority = 80,
                        .tolerance_ns = 50000,
                        .load = 0.2 } },
        [MEASURE_ITIMER] = { "itimer", OPTIONS_ALL | OPTION_FREQUENCY | OPTION_INTERVAL | OPTION_THREADS,
                { .duration_ns = 5 * SECOND_NSEC, .hz = { 100 }, .n_hz = 1 } },
};

void request_done(Request *request) {
        free(request->modes[0]);
        free(request->modes[1]);
        *request = (Request){};
}

static int wrong(const char *option, const char *wants, const char *argument) {
        cli_error("--%s takes %s, not \"%s\"", option, wants, argument);
        return EXIT_USAGE;
}

/* A number with a decimal point or without: in any locale a point. */
static int parse_number(const char *text, double *ret) {
        const char *point = strchr(text, '.');
        _cleanup_free_ char *whole = strndup(text, point ? (size_t) (point - text) : strlen(text));
        unsigned units, part = 0;
        double scale = 1;

        if (!whole)
                return -ENOMEM;
        if (util_parse_unsigned(whole, &units) < 0 || (point && strlen(point) > 7))
                return -EINVAL;
        if (point && util_parse_unsigned(point + 1, &part) < 0)
                return -EINVAL;
        for (const char *p = point ? point + 1 : ""; *p; p++)
                scale *= 10;
        *ret = units + part / scale;
        return 0;
}

static uint64_t unit_seconds(char letter) {
        switch (letter) {
        case 0:
        case 's': return 1;
        case 'm': return 60;
        case 'h': return 3600;
        case 'd': return 24 * 3600;
        default: return 0;
        }
}

int request_parse_duration(const char *text, uint64_t *ret_ns) {
        uint64_t seconds = 0;

        if (!*text)
                return -EINVAL;
        while (*text) {
                size_t digits = strspn(text, "0123456789");
                _cleanup_free_ char *number = strndup(text, digits);
                uint64_t value, unit = unit_seconds(text[digits]);
                int r;

                if (!number)
                        return -ENOMEM;
                r = util_parse_u64(number, &value);
                if (r < 0)
                        return r;
                if (unit == 0)
                        return -EINVAL;
                if (value > MAX_SECONDS || seconds + value * unit > MAX_SECONDS)
                        return -ERANGE;
                seconds += value * unit;
                text += digits + (text[digits] ? 1 : 0);
        }
        *ret_ns = seconds * SECOND_NSEC;
        return 0;
}

static int parse_frequencies(const Cli *cli, Request *request) {
        _cleanup_strv_ char **words = NULL;
        size_t most = request->kind == MEASURE_FRAME ? REQUEST_FREQUENCIES : 1;
        int r = util_strv_split(cli->frequency, ",", &words);

        if (r < 0)
                return r;
        request->n_hz = util_strv_length(words);
        if (request->n_hz == 0 || request->n_hz > most)
                return wrong("frequency", most > 1 ? "up to 8 frequencies in Hz" : "one frequency in Hz",
                        cli->frequency);
        for (size_t i = 0; i < request->n_hz; i++)
                if (util_parse_unsigned(words[i], &request->hz[i]) < 0 || request->hz[i] == 0 ||
                        request->hz[i] > MAX_HZ)
                        return wrong("frequency", "whole numbers of Hz from 1 to 100000", cli->frequency);
        return EXIT_HOLDS;
}

static int parse_interval(const Cli *cli, Request *request) {
        unsigned usec;

        if (cli_has(cli, OPTION_FREQUENCY)) {
                cli_error("--interval and --frequency say the same: give one of them");
                return EXIT_USAGE;
        }
        if (util_parse_unsigned(cli->interval, &usec) < 0 || usec < 10 || usec > 1000000)
                return wrong("interval", "microseconds from 10 to 1000000", cli->interval);
        request->n_hz = 0;
        request->period_ns = (uint64_t) usec * USEC_NSEC;
        return EXIT_HOLDS;
}

static int parse_duration(const Cli *cli, Request *request) {
        if (request_parse_duration(cli->duration, &request->duration_ns) < 0)
                return wrong("duration", "a time as 90, 10m or 1h30m, at most 400d", cli->duration);
        if (request->kind == MEASURE_ITIMER && request->duration_ns == 0)
                return wrong("duration", "the seconds of work for each thread", cli->duration);
        return EXIT_HOLDS;
}

static int parse_tolerance(const Cli *cli, Request *request) {
        double usec;

        if (parse_number(cli->tolerance, &usec) < 0 || usec <= 0)
                return wrong("tolerance", "a number of microseconds", cli->tolerance);
        request->tolerance_ns = usec * USEC_NSEC;
        return EXIT_HOLDS;
}

static int parse_load(const Cli *cli, Request *request) {
        double percent;

        if (parse_number(cli->load, &percent) < 0 || percent > 90)
                return wrong("load", "the percentage of a frame that its work takes, at most 90", cli->load);
        request->load = percent / 100;
        return EXIT_HOLDS;
}

static int parse_priority(const Cli *cli, Request *request) {
        unsigned priority;

        if (util_parse_unsigned(cli->priority, &priority) < 0 || priority > 99)
                return wrong("priority", "a FIFO priority from 1 to 99, or 0 for none", cli->priority);
        request->priority = (int) priority;
        return EXIT_HOLDS;
}

static int parse_loops(const Cli *cli, Request *request) {
        if (util_parse_u64(cli->loops, &request->loops) < 0 || request->loops == 0)
                return wrong("loops", "a number of cycles", cli->loops);
        return EXIT_HOLDS;
}

static int parse_threads(const Cli *cli, Request *request) {
        if (util_parse_unsigned(cli->threads, &request->threads) < 0 || request->threads == 0 ||
                request->threads > MAX_THREADS)
                return wrong("threads", "a number of threads, at most 4096", cli->threads);
        return EXIT_HOLDS;
}

static int parse_compare(const Cli *cli, Request *request) {
        _cleanup_strv_ char **words = NULL;
        int r = util_strv_split(cli->compare, ", ", &words);

        if (r < 0)
                return r;
        if (util_strv_length(words) != 2 || streq(words[0], words[1]))
                return wrong("compare", "two modes as green,low-jitter", cli->compare);
        request->modes[0] = strdup(words[0]);
        request->modes[1] = strdup(words[1]);
        return request->modes[0] && request->modes[1] ? EXIT_HOLDS : -ENOMEM;
}

static int parse_values(const Cli *cli, Request *request) {
        static const struct {
                CliOption option;
                int (*parse)(const Cli *cli, Request *request);
        } parsers[] = {
                { OPTION_FREQUENCY, parse_frequencies },
                { OPTION_INTERVAL, parse_interval },
                { OPTION_DURATION, parse_duration },
                { OPTION_TOLERANCE, parse_tolerance },
                { OPTION_LOAD, parse_load },
                { OPTION_PRIORITY, parse_priority },
                { OPTION_LOOPS, parse_loops },
                { OPTION_THREADS, parse_threads },
                { OPTION_COMPARE, parse_compare },
        };
        int r = EXIT_HOLDS;

        for (size_t i = 0; i < ARRAY_SIZE(parsers) && r == EXIT_HOLDS; i++)
                if (cli_has(cli, parsers[i].option))
                        r = parsers[i].parse(cli, request);
        return r;
}

static int wrong_kind(const char *word) {
        const char *known[ARRAY_SIZE(kinds)];
        _cleanup_free_ char *nearest = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                known[i] = kinds[i].name;
        nearest = cli_nearest(word, known, ARRAY_SIZE(known));
        cli_error("measure does not know \"%s\"%s; it measures pert, jitter, frame and itimer", word,
                nearest ?: "");
        return EXIT_USAGE;
}

int request_parse(const Cli *cli, Request *ret) {
        _cleanup_request_ Request request = {};
        _cleanup_free_ char *verb = NULL;
        size_t i = 0;
        int r;

        while (i < ARRAY_SIZE(kinds) && !streq(kinds[i].name, cli->arguments[0]))
                i++;
        if (i == ARRAY_SIZE(kinds))
                return wrong_kind(cli->arguments[0]);
        request = kinds[i].defaults;
        request.kind = (MeasureKind) i;
        request.name = kinds[i].name;
        r = util_asprintf(&verb, "measure %s", request.name);
        r = r ?: options_check(cli->options, kinds[i].options | OPTION_HOST, verb);
        r = r ?: parse_values(cli, &request);
        if (r != EXIT_HOLDS)
                return r;
        *ret = request;
        request = (Request){};
        return EXIT_HOLDS;
}
