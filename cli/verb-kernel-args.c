/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-entry.h"
#include "kernel-args.h"
#include "machine.h"
#include "plan-sets.h"
#include "record.h"

static void tell_all(char *const *sentences) {
        STRV_FOREACH (sentence, sentences)
                cli_error("%s", *sentence);
}

/* The words for a profile.  EXIT_HOLDS, another exit code where it was told why not, or a negative errno. */
static int make_args(const Machine *machine, const Profile *profile, char *const *own, KernelArgs *ret) {
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
        _cleanup_world_ World *world = NULL;
        int r = plan ? world_new(machine->kfs, &world) : -ENOMEM;

        r = r ?: kernel_args_read(world);
        r = r ?: plan_sets(profile, world, &machine->state.steps, PLAN_MEND, plan);
        if (r < 0)
                return r;
        for (size_t i = 0; i < plan->n_refusals; i++)
                cli_error("%s", plan->refusals[i].what);
        if (plan->n_refusals > 0)
                return EXIT_REFUSED;
        r = kernel_args_make(profile, plan, world, own, ret);
        if (r < 0)
                return r;
        tell_all(ret->problems);
        tell_all(ret->notes);
        return ret->problems ? EXIT_REFUSED : EXIT_HOLDS;
}

static json_t *words_record(char *const *words) {
        json_t *list = json_array();

        STRV_FOREACH (word, words)
                if (list)
                        (void) json_array_append_new(list, record_text(*word));
        return list;
}

static int print_args(
        const Cli *cli, const Profile *profile, const BootEntry *installed, const KernelArgs *args) {
        _cleanup_record_ json_t *record = NULL;
        _cleanup_free_ char *line = NULL;
        int r = util_strv_join(args->words, " ", &line);

        if (r < 0)
                return r;
        if (!cli_has(cli, OPTION_JSON)) {
                printf("%s\n", line);
                return EXIT_HOLDS;
        }
        record = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "profile",
                record_text(profile->name), "line", record_text(line), "words", words_record(args->words),
                "missing", words_record(args->missing), "left_out", words_record(args->notes), "installed",
                words_record(installed->words));
        return record ? record_print_json(record, false) : -ENOMEM;
}

static int tell_failure(const Cli *cli, int error, const char *why) {
        if (error == -ENOMEM)
                return error;
        if (error == -EOPNOTSUPP)
                cli_error("this machine's boot loader is none that is known here (GRUB with update-grub or "
                          "grubby, or "
                          "/etc/kernel/cmdline): put the line that rtisoctl kernel-args prints on its "
                          "command line by "
                          "hand");
        else if (error == -EACCES || error == -EPERM || error == -EROFS)
                cli_error("the kernel command line cannot be changed: %s", strerror(-error));
        else
                cli_error("the kernel command line could not be changed%s: %s", cli->root ? " there" : "",
                        why ?: strerror(-error));
        return error == -EACCES || error == -EPERM ? EXIT_NO_DAEMON : EXIT_REFUSED;
}

static int install(const Cli *cli, const Profile *profile, const KernelArgs *args) {
        _cleanup_free_ char *why = NULL;
        int r;

        if (!args->words) {
                cli_error("%s has no part that only the kernel command line can give on this machine",
                        profile->name);
                return EXIT_HOLDS;
        }
        r = boot_entry_install(cli->root, profile->name, args->words, &why);
        if (r < 0)
                return tell_failure(cli, r, why);
        printf(r > 0 ? "%s: changed; it counts from the next boot\n" : "%s: nothing to change\n",
                boot_entry_file(boot_entry_detect(cli->root)));
        return EXIT_HOLDS;
}

static int take_off(const Cli *cli) {
        _cleanup_free_ char *why = NULL;
        int r = boot_entry_remove(cli->root, &why);

        if (r < 0)
                return tell_failure(cli, r, why);
        printf(r > 0 ? "%s: as it was; it counts from the next boot\n"
                     : "nothing was installed by rtisoctl kernel-args\n",
                boot_entry_file(boot_entry_detect(cli->root)));
        return EXIT_HOLDS;
}

int verb_kernel_args(Cli *cli) {
        _cleanup_boot_entry_ BootEntry installed = {};
        _cleanup_kernel_args_ KernelArgs args = {};
        _cleanup_machine_ Machine machine = {};
        _cleanup_profile_ Profile *profile = NULL;
        int r;

        if (cli_has(cli, OPTION_INSTALL) && cli_has(cli, OPTION_REMOVE)) {
                cli_error("--install and --remove are opposites: give one of them");
                return EXIT_USAGE;
        }
        if (cli_has(cli, OPTION_REMOVE))
                return take_off(cli);
        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = machine_load_profile(&machine, cli->arguments[0] ?: machine.state.mode, &profile);
        if (r != EXIT_HOLDS)
                return r;
        r = boot_entry_read(cli->root, &installed);
        if (r == -ENOMEM)
                return r;
        r = make_args(&machine, profile, installed.words, &args);
        if (r != EXIT_HOLDS)
                return r;
        return cli_has(cli, OPTION_INSTALL) ? install(cli, profile, &args)
                                            : print_args(cli, profile, &installed, &args);
}
