/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuexpr.h"
#include "machine.h"
#include "record.h"

static int print_cpus(const Cli *cli, const char *expression, const CpuList *cpus) {
        _cleanup_record_ json_t *record = NULL;
        _cleanup_free_ char *text = NULL;
        int r = cpulist_format(cpus, &text);

        if (r < 0)
                return r;
        if (!cli_has(cli, OPTION_JSON)) {
                printf("%s\n", text);
                return 0;
        }
        record = json_pack("{s:o, s:s, s:I}", "expression", record_text(expression), "cpus", text, "count",
                (json_int_t) cpulist_count(cpus));
        return record ? record_print_json(record, false) : -ENOMEM;
}

int verb_cpus(Cli *cli) {
        const char *expression = cli->arguments[0];
        _cleanup_topology_ Topology *topology = NULL;
        _cleanup_machine_ Machine machine = {};
        _cleanup_cpulist_ CpuList cpus = { 0 };
        CpuExprError error = { 0 };
        int r;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = topology_read(machine.kfs, &topology);
        if (r < 0) {
                cli_error("the CPUs cannot be read from %s/sys/devices/system/cpu: %s", cli->root ?: "",
                        strerror(-r));
                return EXIT_REFUSED;
        }
        r = cpuexpr_evaluate(expression, topology, machine_set, &machine, &cpus, &error);
        if (r == -EINVAL) {
                cli_error("\"%s\", column %zu: %s", expression, error.column, error.message);
                cpuexpr_error_done(&error);
                return EXIT_USAGE;
        }
        if (r < 0)
                return r;
        /* A script that pastes an empty list into a command line gets something else than it asked for. */
        if (cpulist_is_empty(&cpus)) {
                cli_error("\"%s\" is no CPU at all on this machine%s", expression,
                        cpulist_count(&topology->online) == 1
                                ? ", which has one CPU online: nothing can be set apart from it"
                                : "");
                return EXIT_REFUSED;
        }
        return print_cpus(cli, expression, &cpus);
}
