/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "client.h"
#include "cpuexpr.h"
#include "status-record.h"
#include "status-table.h"

/* How often --watch and --wait look. */
#define WATCH_MSEC 2000u

static void sleep_msec(unsigned msec) {
        struct timespec time = { .tv_sec = msec / 1000, .tv_nsec = (long) (msec % 1000) * 1000000 };

        while (nanosleep(&time, &time) < 0 && errno == EINTR)
                ;
}

/* On a big machine the list is most of the work, and the short table does not show it. */
static bool lists_cpus(const Cli *cli) {
        return cli->cpu || cli->options & (OPTION_JSON | OPTION_VERBOSE | OPTION_METRICS);
}

/* The CPUs to list: those that --cpu names, or those in sets. */
static int choose_cpus(const Cli *cli, Machine *machine, const Audit *audit, CpuList *ret) {
        CpuExprError error = {};
        int r;

        if (!cli->cpu)
                return lists_cpus(cli) ? cpulist_copy(&audit->isolated, ret) : 0;
        r = cpuexpr_evaluate(cli->cpu, audit->world->topology, machine_set, machine, ret, &error);
        if (r != -EINVAL)
                return r;
        cli_error("--cpu \"%s\", column %zu: %s", cli->cpu, error.column, error.message);
        cpuexpr_error_done(&error);
        return EXIT_USAGE;
}

/* Looks at the machine once.  EXIT_HOLDS with *ret, another Exit where an error was told, or a negative errno. */
static int look(const Cli *cli, json_t **ret) {
        _cleanup_machine_ Machine machine = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_audit_ Audit *audit = NULL;
        _cleanup_cpulist_ CpuList cpus = {};
        _cleanup_record_ json_t *leases = NULL;
        bool live;
        int r;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        live = kfs_is_live(machine.kfs);
        r = machine_audit(&machine, &profile, &audit);
        r = r ?: choose_cpus(cli, &machine, audit, &cpus);
        if (r != EXIT_HOLDS)
                return r;
        r = live ? client_leases(&leases) : 0;
        if (r < 0 && r != -ETIMEDOUT)
                return r;
        *ret = status_record(&(StatusInput){
                .machine = &machine,
                .audit = audit,
                .cpus = &cpus,
                .daemon = live && client_daemon_runs(),
                .leases = leases,
                .silent = r == -ETIMEDOUT,
        });
        return *ret ? EXIT_HOLDS : -ENOMEM;
}

static int print_status(const Cli *cli, const json_t *record, int exit_code) {
        bool verbose = cli_has(cli, OPTION_VERBOSE);

        if (cli_has(cli, OPTION_METRICS))
                return status_print_metrics(record, exit_code);
        if (cli_has(cli, OPTION_JSON))
                return record_print_json(record, cli_has(cli, OPTION_WATCH));
        return status_print(record, exit_code, verbose, verbose || cli->cpu, cli->colour);
}

/* The record without what changes at every look. */
static json_t *lasting_part(const json_t *record) {
        static const char *const passing[] = { "time", "load_percent", "cpus", "irq_vectors" };
        json_t *part = json_deep_copy(record), *set;
        size_t i;

        for (i = 0; part && i < ARRAY_SIZE(passing); i++)
                (void) json_object_del(part, passing[i]);
        json_array_foreach(json_object_get(part, "sets"), i, set) {
                (void) json_object_del(set, "busy");
                (void) json_object_del(set, "irqs_per_second");
                (void) json_object_del(set, "stolen_us_per_second");
                (void) json_object_del(set, "worst_us");
        }
        return part;
}

/* Shows the status again whenever it is another one, until it is interrupted or cannot be written. */
static int watch(const Cli *cli) {
        _cleanup_record_ json_t *shown = NULL;

        for (;; sleep_msec(WATCH_MSEC)) {
                _cleanup_record_ json_t *record = NULL, *part = NULL;
                int r = look(cli, &record);

                if (r != EXIT_HOLDS)
                        return r;
                part = lasting_part(record);
                if (!part)
                        return -ENOMEM;
                if (shown && json_equal(shown, part))
                        continue;
                if (shown && !cli_has(cli, OPTION_JSON))
                        putchar('\n');
                r = print_status(cli, record, status_exit(record, cli_has(cli, OPTION_STRICT)));
                if (r < 0)
                        return r;
                if (fflush(stdout) != 0)
                        return EXIT_REFUSED;
                json_decref(shown);
                shown = TAKE_PTR(part);
        }
}

/* Does every required part hold, and every part with --strict? */
static bool holds(const json_t *record, int exit_code) {
        const json_t *step;
        size_t i;

        json_array_foreach(json_object_get(record, "steps"), i,
                step) if (json_is_true(json_object_get(step, "required")) &&
                streq(record_get(step, "state"), "drifted")) return false;
        return exit_code != EXIT_BOOT && exit_code != EXIT_UNSUPPORTED;
}

int verb_status(Cli *cli) {
        int r, exit_code;

        if (cli_has(cli, OPTION_METRICS) && cli->options & (OPTION_WATCH | OPTION_JSON)) {
                cli_error("--metrics is one look, in a format of its own: neither --watch nor --json goes "
                          "with it");
                return EXIT_USAGE;
        }
        if (cli_has(cli, OPTION_WATCH))
                return watch(cli);
        for (;; sleep_msec(WATCH_MSEC)) {
                _cleanup_record_ json_t *record = NULL;

                r = look(cli, &record);
                if (r != EXIT_HOLDS)
                        return r;
                exit_code = status_exit(record, cli_has(cli, OPTION_STRICT));
                if (cli_has(cli, OPTION_WAIT) && !holds(record, exit_code))
                        continue;
                r = print_status(cli, record, exit_code);
                return r < 0 ? r : exit_code;
        }
}
