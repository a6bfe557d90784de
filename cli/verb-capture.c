/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "accepted.h"
#include "capture.h"
#include "kernel-args.h"
#include "machine.h"
#include "protocol.h"
#include "record.h"
#include "tar.h"

/* Reads all that status reads. */
static int look_status(const Machine *machine) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_strv_ char **accepted = NULL;
        _cleanup_audit_ Audit *audit = NULL;
        int r = accepted_read(machine->kfs, &accepted);

        if (r == -ENOMEM)
                return r;
        (void) profile_load(machine->kfs, machine->state.mode, &profile, &errors);
        return audit_look(machine->kfs,
                &(AuditInput){
                        .in_force = &machine->state.steps,
                        .mode = machine->state.mode,
                        .profile = profile,
                        .accepted = accepted,
                },
                &audit);
}

/* The same for a plan of one profile, and its kernel command line; a profile with errors is captured as it is. */
static int look_profile(const Machine *machine, const char *name) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_world_ World *world = NULL;
        int r = profile_load(machine->kfs, name, &profile, &errors);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = plan_audit(machine->kfs, profile, &machine->state.steps, &world);
        return r ?: kernel_args_read(world);
}

static int look_doctor(const Machine *machine) {
        _cleanup_(mechanisms_done) Mechanisms mechanisms = {};
        int r = 0;

        for (const Backend *const *backend = backends; r == 0 && *backend; backend++)
                r = (*backend)->probe ? (*backend)->probe(machine->kfs, &mechanisms) : 0;
        return r;
}

static int look(const Machine *machine) {
        _cleanup_strv_ char **names = NULL;
        int r = profile_list(machine->kfs, &names);

        r = r ?: look_doctor(machine);
        STRV_FOREACH (name, names)
                r = r ?: look_profile(machine, *name);
        r = r ?: look_status(machine);
        free(machine_text(machine, "/proc/sys/kernel/hostname"));
        free(machine_text(machine, "/proc/sys/kernel/osrelease"));
        free(machine_text(machine, "/proc/sys/kernel/random/boot_id"));
        (void) kfs_exists(machine->kfs, "/run/systemd/system");
        return r;
}

/* What is in force, without who wanted it. */
static int add_state(const Cli *cli, Capture *capture) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        _cleanup_record_ json_t *state = NULL;

        if (util_asprintf(&path, "%s" RTISOL_STATE_FILE, cli->root ?: "") < 0)
                return -ENOMEM;
        state = json_load_file(path, 0, NULL);
        if (!state)
                return 0;
        if (json_object_set_new(state, "by", json_string("")) < 0)
                return -ENOMEM;
        text = json_dumps(state, JSON_INDENT(1));
        return text ? capture_add(capture, RTISOL_STATE_FILE, text) : -ENOMEM;
}

/* Behind a text is a newline, as the kernel has it. */
static int write_entry(FILE *archive, const CaptureEntry *entry, time_t now) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (!entry->text)
                return tar_folder(archive, entry->path + 1, now);
        r = util_asprintf(&text, "%s%s", entry->text, *entry->text ? "\n" : "");
        return r ?: tar_file(archive, entry->path + 1, text, strlen(text), now);
}

static int write_archive(FILE *archive, const Capture *capture) {
        time_t now = time(NULL);
        int r = 0;

        for (size_t i = 0; r == 0 && i < capture->n; i++)
                if (capture->items[i].path[1])
                        r = write_entry(archive, &capture->items[i], now);
        return r ?: tar_end(archive);
}

/* `-` is standard output.  A file that is there already is not overwritten: it may be another machine's. */
static int store(const char *path, const Capture *capture) {
        _cleanup_fclose_ FILE *archive = NULL;
        int fd, r;

        if (streq(path, "-"))
                return write_archive(stdout, capture);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        archive = fdopen(fd, "w");
        if (!archive) {
                (void) close(fd);
                return -ENOMEM;
        }
        r = write_archive(archive, capture);
        if (r < 0)
                (void) unlink(path);
        return r;
}

int verb_capture(Cli *cli) {
        const char *path = cli->arguments[0];
        _cleanup_capture_ Capture capture = {};
        _cleanup_machine_ Machine machine = {};
        int r;

        if (streq(path, "-") && isatty(STDOUT_FILENO)) {
                cli_error("an archive on a terminal is of no use: give it a file's name, or redirect it");
                return EXIT_USAGE;
        }
        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        capture_begin(&capture, machine.kfs);
        r = look(&machine);
        r = capture_end(&capture, machine.kfs) ?: r;
        r = r ?: add_state(cli, &capture);
        r = r ?: store(path, &capture);
        if (r < 0) {
                cli_error("%s cannot be written: %s", path, strerror(-r));
                return EXIT_REFUSED;
        }
        fprintf(stderr,
                "%s: %zu entries.  Left out: the names of the machine and of who switched, users and "
                "addresses of "
                "processes, and of the kernel command line what is not about CPUs.  Names of programs, "
                "interrupts and "
                "control groups are in it.\n",
                path, capture.n);
        return EXIT_HOLDS;
}
