/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"
#include "record.h"

static int probe_all(Kfs *kfs, Mechanisms *mechanisms) {
        for (const Backend *const *backend = backends; *backend; backend++) {
                int r = (*backend)->probe ? (*backend)->probe(kfs, mechanisms) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

static json_t *mechanisms_record(const Machine *machine, const Mechanisms *mechanisms) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < mechanisms->n; i++) {
                const MechanismInfo *info = &mechanisms->items[i];

                if (json_array_append_new(list,
                            json_pack("{s:o, s:s, s:o, s:o}", "name", record_text(info->name), "mechanism",
                                    machine_mechanism(machine, info->mechanism), "file",
                                    record_text(info->file), "advice", record_text(info->advice))) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

static int print_doctor(const Cli *cli, const json_t *record) {
        static const Column columns[] = {
                { "MECHANISM", "name" },
                { "WHEN", "mechanism", COLUMN_STATE },
                { "FILE", "file" },
                { "TO GET IT", "advice" },
        };
        _cleanup_free_ char *kernel = NULL;
        int r = record_show(record, "kernel", &kernel);

        if (r < 0)
                return r;
        printf("kernel %s\n\n", kernel);
        return record_print_table(
                json_object_get(record, "mechanisms"), columns, ARRAY_SIZE(columns), cli->colour);
}

int verb_doctor(Cli *cli) {
        _cleanup_(mechanisms_done) Mechanisms mechanisms = {};
        _cleanup_machine_ Machine machine = {};
        _cleanup_record_ json_t *record = NULL;
        _cleanup_free_ char *kernel = NULL;
        int r;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = probe_all(machine.kfs, &mechanisms);
        if (r < 0)
                return r;
        kernel = machine_text(&machine, "/proc/sys/kernel/osrelease");
        record = json_pack("{s:i, s:o, s:o}", "version", 1, "kernel", record_text(kernel), "mechanisms",
                mechanisms_record(&machine, &mechanisms));
        if (!record)
                return -ENOMEM;
        return cli_has(cli, OPTION_JSON) ? record_print_json(record, false) : print_doctor(cli, record);
}
