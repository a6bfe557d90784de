/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"

#include "accepted.h"
#include "protocol.h"
#include "providers.h"

/* How long is looked at what the CPUs do. */
#define LOOK_MSEC 200u

static int read_state(const Cli *cli, Machine *machine) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = util_asprintf(&path, "%s" RTISOL_STATE_FILE, cli->root ?: "");
        if (r < 0)
                return r;
        r = state_read(path, machine->boot_id, &machine->state);
        if (r == -ENOENT) {
                machine->state = (State){ .mode = strdup("green") };
                return machine->state.mode ? 0 : -ENOMEM;
        }
        if (r < 0)
                cli_error("what is in force cannot be read from %s: %s", path, strerror(-r));
        return r;
}

int machine_open(const Cli *cli, Machine *ret) {
        _cleanup_machine_ Machine machine = {};
        int r = cli_open_machine(cli, &machine.kfs);

        if (r < 0)
                return r;
        r = providers_add(machine.kfs);
        if (r < 0) {
                cli_error("tasks and units cannot be looked at: %s", strerror(-r));
                return r;
        }
        machine.boot_id = machine_text(&machine, "/proc/sys/kernel/random/boot_id");
        machine.whole = kfs_exists(machine.kfs, "/proc/sys/kernel/osrelease");
        r = read_state(cli, &machine);
        if (r < 0)
                return r;
        *ret = machine;
        machine = (Machine){};
        return 0;
}

void machine_done(Machine *machine) {
        state_done(&machine->state);
        free(machine->boot_id);
        if (machine->kfs)
                kfs_free(machine->kfs);
        *machine = (Machine){};
}

int machine_set(void *userdata, const char *name, CpuList *ret) {
        const Machine *machine = userdata;
        const StepSet *set = steps_find_set(&machine->state.steps, name);

        return set ? cpulist_parse(set->cpus, ret, NULL) : -ENOENT;
}

const char *machine_mechanism(const Machine *machine, Mechanism mechanism) {
        if (mechanism != MECHANISM_RUNTIME && !machine->whole)
                return "unknown";
        return mechanism_to_string(mechanism);
}

char *machine_text(const Machine *machine, const char *file) {
        char *text = NULL;

        return kfs_read(machine->kfs, file, &text) < 0 ? NULL : text;
}

/* The nearest of the profiles of a machine, as cli_nearest() has it. */
static char *nearest_profile(Kfs *kfs, const char *name) {
        _cleanup_strv_ char **names = NULL;

        if (!kfs || profile_list(kfs, &names) < 0)
                return NULL;
        return cli_nearest(name, (const char *const *) names, util_strv_length(names));
}

static int no_such_profile(Kfs *kfs, Kfs *live, const char *name, int error) {
        _cleanup_free_ char *nearest = NULL;

        _cleanup_free_ char *why = NULL;

        if (profile_check_name(name, &why) < 0) {
                cli_error("name not allowed: %s", why ?: "out of memory");
                return EXIT_USAGE;
        }
        if (error == -ESHUTDOWN) {
                cli_error("profile \"%s\" is masked: its file is empty or a link to /dev/null", name);
                return EXIT_USAGE;
        }
        nearest = nearest_profile(kfs, name) ?: nearest_profile(live, name);
        cli_error("there is no profile \"%s\"%s; rtisoctl profile list shows them", name, nearest ?: "");
        return EXIT_USAGE;
}

static int tell_errors(const ProfileErrors *errors) {
        for (size_t i = 0; i < errors->n; i++) {
                _cleanup_free_ char *sentence = NULL;
                int r = profile_error_sentence(&errors->items[i], &sentence);

                if (r < 0)
                        return r;
                cli_error("%s", sentence);
        }
        return EXIT_USAGE;
}

static int load_profile(Kfs *kfs, const char *name, Profile **ret) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        int r = profile_load(kfs, name, ret, &errors);

        if (r == -EINVAL)
                return tell_errors(&errors);
        return r;
}

int machine_load_profile(const Machine *machine, const char *name, Profile **ret) {
        _cleanup_kfs_ Kfs *live = NULL;
        int r = load_profile(machine->kfs, name, ret);

        if (r == -ENOENT && !kfs_is_live(machine->kfs)) {
                r = kfs_new(NULL, &live);
                if (r == 0)
                        r = load_profile(live, name, ret);
        }
        if (r == -ENOENT || r == -ESHUTDOWN)
                return no_such_profile(machine->kfs, live, name, r);
        return r;
}

/* The profile in force, where its files still say what was applied; its errors are no matter here. */
static void load_profile_in_force(const Machine *machine, Profile **ret) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;

        if (profile_load(machine->kfs, machine->state.mode, &profile, &errors) == 0 &&
                machine->state.profile_sha256 && streq(profile->sha256, machine->state.profile_sha256))
                *ret = TAKE_PTR(profile);
}

int machine_audit(const Machine *machine, Profile **ret_profile, Audit **ret) {
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_strv_ char **accepted = NULL;
        int r = accepted_read(machine->kfs, &accepted);

        if (r == -ENOMEM)
                return r;
        load_profile_in_force(machine, &profile);
        r = audit_look(machine->kfs,
                &(AuditInput){
                        .in_force = &machine->state.steps,
                        .mode = machine->state.mode,
                        .profile = profile,
                        .accepted = accepted,
                        .look_msec = kfs_is_live(machine->kfs) ? LOOK_MSEC : 0,
                },
                ret);
        if (r < 0)
                return r;
        *ret_profile = TAKE_PTR(profile);
        return 0;
}
