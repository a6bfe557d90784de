/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>

#include "client.h"
#include "measure/print.h"
#include "measure/session.h"
#include "measure/svg.h"

static volatile int interrupted;

static void on_signal(int signal) {
        interrupted = signal;
}

/* ^C ends the measurement, not the command: it prints what there is, and a mode that was entered is left. */
static void catch_signals(void) {
        static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
        struct sigaction action = { .sa_handler = on_signal };

        for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
                (void) sigaction(caught[i], &action, NULL);
        (void) signal(SIGPIPE, SIG_IGN);
}

/* The picture's file is opened before an hour is spent on what goes into it. */
static int open_svg(const Cli *cli, FILE **ret) {
        if (!cli->svg)
                return EXIT_HOLDS;
        *ret = fopen(cli->svg, "we");
        if (*ret)
                return EXIT_HOLDS;
        cli_error("%s cannot be written: %s", cli->svg, strerror(errno));
        return EXIT_REFUSED;
}

static int write_svg(const Cli *cli, FILE *file, const json_t *record) {
        int r = file ? svg_write(file, record) : 0;

        if (r == -EIO) {
                cli_error("%s could not be written: %s", cli->svg, strerror(errno));
                return EXIT_REFUSED;
        }
        return r;
}

/* In the mode in force.  cpus: NULL where they are to be chosen now. */
static int measure_here(const Cli *cli, const Request *request, const CpuList *cpus, json_t **ret) {
        _cleanup_machine_ Machine machine = {};
        _cleanup_measure_sets_ MeasureSets sets = {};
        _cleanup_cpulist_ CpuList chosen = {};
        Session session = { .cli = cli,
                .request = request,
                .machine = &machine,
                .sets = &sets,
                .cpus = cpus,
                .interrupted = &interrupted };
        int r;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = measure_sets_add_live(&sets, &machine);
        if (r == 0 && !cpus) {
                r = measure_choose_cpus(cli, machine.kfs, &sets, &chosen);
                session.cpus = &chosen;
        }
        if (r != EXIT_HOLDS)
                return r;
        return request->kind == MEASURE_ITIMER ? session_run_itimer(&session, ret)
                                               : session_run(&session, ret);
}

static int measure_once(const Cli *cli, const Request *request, FILE *svg) {
        _cleanup_record_ json_t *record = NULL;
        int r = measure_here(cli, request, NULL, &record);

        if (r != EXIT_HOLDS)
                return r;
        if (cli_has(cli, OPTION_JSON))
                r = record_print_json(record, false);
        else
                print_report(record, cli_has(cli, OPTION_VERBOSE));
        return r ?: write_svg(cli, svg, record);
}

/* Two modes */

typedef struct Compare {
        const Cli *cli;
        const Request *request;
        char *found; /* the mode that is gone back to */
        CpuList cpus;
        json_t *records[2];
} Compare;

static void compare_done(Compare *compare) {
        free(compare->found);
        cpulist_done(&compare->cpus);
        json_decref(compare->records[0]);
        json_decref(compare->records[1]);
}

static int tell_answer(const ClientAnswer *answer, const char *what, const char *mode) {
        if (answer->exit != EXIT_HOLDS) {
                cli_error("%s %s failed:", what, mode);
                cli_error_lines(answer->message ?: "");
        }
        return answer->exit;
}

/* The CPUs are the same in both modes: those of all sets of both. */
static int compare_prepare(Compare *compare) {
        _cleanup_measure_sets_ MeasureSets sets = {};
        _cleanup_machine_ Machine machine = {};
        int r;

        if (machine_open(compare->cli, &machine) < 0)
                return EXIT_REFUSED;
        for (size_t i = 0; i < ARRAY_SIZE(compare->request->modes); i++) {
                r = measure_sets_add_mode(&sets, &machine, compare->request->modes[i]);
                if (r != EXIT_HOLDS)
                        return r;
        }
        r = measure_choose_cpus(compare->cli, machine.kfs, &sets, &compare->cpus);
        return r ?: util_copy(machine.state.mode, &compare->found);
}

/* A lease holds the mode: should this command be killed, the daemon goes back by itself. */
static int compare_one(Compare *compare, size_t i) {
        _cleanup_client_answer_ ClientAnswer answer = {};
        const char *mode = compare->request->modes[i];
        _cleanup_client_ sd_bus *bus = NULL;
        _cleanup_close_ int lease = -1;
        int r = client_connect(&bus);

        if (r >= 0)
                r = client_lease(bus, mode, "rtisoctl measure --compare", &answer, &lease);
        if (r < 0)
                return r == -ENOMEM ? r : client_tell_no_daemon(r);
        r = tell_answer(&answer, "switching to", mode);
        if (r != EXIT_HOLDS || interrupted)
                return r;
        if (!cli_has(compare->cli, OPTION_JSON))
                printf("%s== %s\n", i ? "\n" : "", mode);
        r = measure_here(compare->cli, compare->request, &compare->cpus, &compare->records[i]);
        if (r == EXIT_HOLDS && !cli_has(compare->cli, OPTION_JSON))
                print_report(compare->records[i], cli_has(compare->cli, OPTION_VERBOSE));
        (void) fflush(stdout);
        return r;
}

static int compare_go_back(const Compare *compare) {
        _cleanup_client_answer_ ClientAnswer answer = {};
        _cleanup_client_ sd_bus *bus = NULL;
        int r = client_connect(&bus);

        if (r >= 0)
                r = client_set_mode(bus, compare->found, &(ClientOptions){}, &answer);
        if (r < 0)
                return r == -ENOMEM ? r : client_tell_no_daemon(r);
        return tell_answer(&answer, "going back to", compare->found);
}

static int compare_print(const Compare *compare, FILE *svg) {
        _cleanup_record_ json_t *record = NULL;
        int r = 0;

        if (!compare->records[0] || !compare->records[1]) {
                if (compare->records[0] && cli_has(compare->cli, OPTION_JSON))
                        r = record_print_json(compare->records[0], false);
                if (interrupted)
                        cli_error("interrupted: there is nothing to compare");
                return r < 0 ? r : EXIT_REFUSED;
        }
        record = report_compare(compare->records[0], compare->records[1]);
        if (!record)
                return -ENOMEM;
        if (cli_has(compare->cli, OPTION_JSON))
                r = record_print_json(record, false);
        else
                print_compare(record, cli_has(compare->cli, OPTION_VERBOSE));
        return r ?: write_svg(compare->cli, svg, record);
}

static int measure_compare(const Cli *cli, const Request *request, FILE *svg) {
        _cleanup_(compare_done) Compare compare = { .cli = cli, .request = request };
        int r = compare_prepare(&compare), back;

        if (r != EXIT_HOLDS)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(request->modes) && r == EXIT_HOLDS && !interrupted; i++)
                r = compare_one(&compare, i);
        back = compare_go_back(&compare);
        if (r == EXIT_HOLDS || interrupted)
                r = compare_print(&compare, svg);
        return back != EXIT_HOLDS ? back : r;
}

int verb_measure(Cli *cli) {
        _cleanup_request_ Request request = {};
        _cleanup_fclose_ FILE *svg = NULL;
        int r = request_parse(cli, &request);

        r = r ?: open_svg(cli, &svg);
        if (r != EXIT_HOLDS)
                return r;
        catch_signals();
        return request.modes[0] ? measure_compare(cli, &request, svg) : measure_once(cli, &request, svg);
}
