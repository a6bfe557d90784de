/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bus-internal.h"

#include <pwd.h>

#include "config.h"
#include "log.h"
#include "polkit.h"
#include "protocol.h"

/* A method call that is answered later. */
typedef struct Operation Operation;
struct Operation {
        Bus *bus;
        sd_bus_message *message;
        int (*run)(Operation *operation); /* once it is allowed */
        char by[64];
};

static const char *const error_names[_OUTCOME_MAX] = {
        [OUTCOME_BAD_PROFILE] = RTISOL_ERROR_BAD_PROFILE,
        [OUTCOME_NO_SUCH_PROFILE] = RTISOL_ERROR_NO_SUCH_PROFILE,
        [OUTCOME_REFUSED] = RTISOL_ERROR_REFUSED,
        [OUTCOME_NOT_BEGUN] = RTISOL_ERROR_NOT_BEGUN,
        [OUTCOME_FAILED] = RTISOL_ERROR_FAILED,
        [OUTCOME_INCOMPLETE] = RTISOL_ERROR_FAILED_INCOMPLETE,
};

static void operation_free(Operation *operation) {
        if (!operation)
                return;
        sd_bus_message_unref(operation->message);
        free(operation);
}
DEFINE_CLEANUP_POINTER(Operation, operation_free)

/* The person behind the call: who logged in, also through sudo; else the user it runs as. */
static void sender_name(sd_bus_message *message, char *name, size_t size) {
        __attribute__((cleanup(sd_bus_creds_unrefp))) sd_bus_creds *creds = NULL;
        const struct passwd *passwd;
        uid_t uid;

        (void) snprintf(name, size, "unknown");
        if (sd_bus_query_sender_creds(message,
                    SD_BUS_CREDS_EUID | SD_BUS_CREDS_AUDIT_LOGIN_UID | SD_BUS_CREDS_AUGMENT, &creds) < 0)
                return;
        if (sd_bus_creds_get_audit_login_uid(creds, &uid) < 0 && sd_bus_creds_get_euid(creds, &uid) < 0)
                return;
        passwd = uid == 0 ? NULL : getpwuid(uid);
        if (uid == 0 || passwd)
                (void) snprintf(name, size, "%s", passwd ? passwd->pw_name : "root");
        else
                (void) snprintf(name, size, "uid %u", uid);
}

static unsigned sender_pid(sd_bus_message *message) {
        __attribute__((cleanup(sd_bus_creds_unrefp))) sd_bus_creds *creds = NULL;
        pid_t pid = 0;

        if (sd_bus_query_sender_creds(message, SD_BUS_CREDS_PID, &creds) >= 0)
                (void) sd_bus_creds_get_pid(creds, &pid);
        return pid > 0 ? (unsigned) pid : 0;
}

static void reply_errno(sd_bus_message *message, int error) {
        (void) sd_bus_reply_method_errorf(
                message, RTISOL_ERROR_NOT_BEGUN, "The daemon could not do it: %s.", strerror(-error));
}

static void on_answer(void *userdata, int allowed) {
        _cleanup_(operation_freep) Operation *operation = userdata;
        int r;

        if (allowed <= 0) {
                (void) sd_bus_reply_method_errorf(operation->message, RTISOL_ERROR_NOT_PERMITTED,
                        "%s may not do this: polkit does not allow " RTISOL_POLKIT_ACTION "%s%s.",
                        operation->by, allowed < 0 ? ", or could not be asked: " : "",
                        allowed < 0 ? strerror(-allowed) : "");
                return;
        }
        r = operation->run(operation);
        if (r < 0) {
                reply_errno(operation->message, r);
                return;
        }
        if (r > 0) /* goes on: whoever answers frees it */
                operation = NULL;
}

/* Who gets into the private socket is root: that was checked when he came. */
static int operation_start(Bus *bus, sd_bus_message *message, int (*run)(Operation *)) {
        _cleanup_(operation_freep) Operation *operation = calloc(1, sizeof(Operation));
        int r;

        if (!operation)
                return -ENOMEM;
        *operation = (Operation){ .bus = bus, .message = sd_bus_message_ref(message), .run = run };
        sender_name(message, operation->by, sizeof(operation->by));
        if (!bus->system || sd_bus_message_get_bus(message) != bus->system) {
                on_answer(TAKE_PTR(operation), 1);
                return 1;
        }
        r = polkit_check(bus->system, message, RTISOL_POLKIT_ACTION, on_answer, operation);
        if (r < 0)
                return r;
        operation = NULL;
        return 1;
}

static int append_degraded(sd_bus_message *message, const Degraded *degraded, size_t n) {
        int r = sd_bus_message_open_container(message, 'a', "(sss)");

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = sd_bus_message_append(
                        message, "(sss)", degraded[i].step, degraded[i].state, degraded[i].reason);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static void reply_failure(sd_bus_message *message, const Outcome *outcome) {
        if (sd_bus_reply_method_errorf(
                    message, error_names[outcome->kind], "%s", outcome->message ?: "Out of memory.") < 0)
                (void) sd_bus_reply_method_errorf(
                        message, error_names[outcome->kind], "%s", "The reason is in the daemon's log.");
}

/* What a request that was carried out has to say beside: to the caller alone, and before its answer. */
static int send_notices(sd_bus_message *call, const Outcome *outcome) {
        _cleanup_strv_ char **lines = NULL;
        int r = util_strv_split(outcome->message ?: "", "\n", &lines);

        STRV_FOREACH (line, lines) {
                __attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *notice = NULL;
                const char *caller = sd_bus_message_get_sender(call);

                r = sd_bus_message_new_signal(
                        sd_bus_message_get_bus(call), &notice, RTISOL_OBJECT, RTISOL_INTERFACE, "Notice");
                if (r >= 0 && caller)
                        r = sd_bus_message_set_destination(notice, caller);
                if (r >= 0)
                        r = sd_bus_message_append(notice, "s", *line);
                if (r >= 0)
                        r = sd_bus_send(NULL, notice, NULL);
                if (r < 0)
                        return r;
        }
        return r;
}

static void on_mode_done(void *userdata, const Outcome *outcome, int fd) {
        _cleanup_(operation_freep) Operation *operation = userdata;
        __attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *reply = NULL;
        int r;

        if (outcome->kind != OUTCOME_DONE) {
                reply_failure(operation->message, outcome);
                return;
        }
        r = send_notices(operation->message, outcome);
        if (r >= 0)
                r = sd_bus_message_new_method_return(operation->message, &reply);
        if (r >= 0)
                r = append_degraded(reply, outcome->degraded, outcome->n_degraded);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        /* Who waits is told something in any case. */
        if (r < 0)
                reply_errno(operation->message, r);
}

static int read_option(sd_bus_message *message, const char *name, ModeOptions *options) {
        int flag = 0, r;

        if (streq(name, RTISOL_OPTION_CONFIRM))
                return sd_bus_message_read(message, "v", "u", &options->confirm);
        if (streq(name, RTISOL_OPTION_WHY))
                return sd_bus_message_read(message, "v", "s", &options->why);
        if (!streq(name, RTISOL_OPTION_FORCE) && !streq(name, RTISOL_OPTION_NO_DISTURB) &&
                !streq(name, RTISOL_OPTION_CONFIRMED))
                return -ENOENT;
        r = sd_bus_message_read(message, "v", "b", &flag);
        if (r < 0)
                return r;
        if (streq(name, RTISOL_OPTION_FORCE))
                options->force = flag;
        else if (streq(name, RTISOL_OPTION_NO_DISTURB))
                options->no_disturb = flag;
        else
                options->confirmed = flag;
        return 0;
}

/* 1 where an option is wrong, which is answered then. */
static int read_options(sd_bus_message *message, ModeOptions *options) {
        const char *name;
        int r = sd_bus_message_enter_container(message, 'a', "{sv}");

        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = sd_bus_message_read(message, "s", &name);
                if (r < 0)
                        return r;
                r = read_option(message, name, options);
                if (r == -ENOENT || r == -ENXIO) {
                        r = sd_bus_reply_method_errorf(message, RTISOL_ERROR_BAD_OPTION,
                                r == -ENOENT ? "SetMode knows no option '%s'."
                                             : "The option '%s' has a value of the wrong type.",
                                name);
                        return r < 0 ? r : 1;
                }
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        return r < 0 ? r : sd_bus_message_exit_container(message) < 0 ? -EBADMSG : 0;
}

static int run_set_mode(Operation *operation) {
        ModeOptions options = { .by = operation->by };
        const char *mode;
        int r = sd_bus_message_read(operation->message, "s", &mode);

        if (r >= 0)
                r = read_options(operation->message, &options);
        if (r != 0)
                return r < 0 ? r : 0;
        r = manager_set_mode(operation->bus->manager, mode, &options, on_mode_done, operation);
        return r < 0 ? r : 1;
}

static int method_set_mode(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return operation_start(userdata, message, run_set_mode);
}

static void on_lease_done(void *userdata, const Outcome *outcome, int fd) {
        _cleanup_(operation_freep) Operation *operation = userdata;
        _cleanup_close_ int holder = fd;

        if (outcome->kind != OUTCOME_DONE)
                reply_failure(operation->message, outcome);
        else {
                (void) send_notices(operation->message, outcome);
                (void) sd_bus_reply_method_return(operation->message, "h", holder);
        }
}

static int run_lease(Operation *operation) {
        const char *mode, *why;
        int r = sd_bus_message_read(operation->message, "ss", &mode, &why);

        if (r >= 0)
                r = manager_lease(operation->bus->manager, mode, why, operation->by,
                        sender_pid(operation->message), on_lease_done, operation);
        return r < 0 ? r : 1;
}

static int method_lease(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return operation_start(userdata, message, run_lease);
}

static int append_lease(sd_bus_message *reply, const Lease *lease) {
        char id[16];

        (void) snprintf(id, sizeof(id), "%u", lease->id);
        return sd_bus_message_append(
                reply, "(sssut)", id, lease->mode, lease->why, lease->pid, lease->since);
}

static int method_list_leases(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        __attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *reply = NULL;
        Bus *bus = userdata;
        const Leases *leases = manager_leases(bus->manager);
        int r = sd_bus_message_new_method_return(message, &reply);

        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(sssut)");
        for (size_t i = 0; r >= 0 && i < leases_count(leases); i++)
                r = append_lease(reply, leases_get(leases, i));
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static void on_reload_done(void *userdata, const Outcome *outcome, int fd) {
        _cleanup_(operation_freep) Operation *operation = userdata;

        if (outcome->kind != OUTCOME_DONE)
                reply_failure(operation->message, outcome);
        else {
                (void) send_notices(operation->message, outcome);
                (void) sd_bus_reply_method_return(operation->message, NULL);
        }
}

static int run_reload(Operation *operation) {
        int r = manager_reload(operation->bus->manager, on_reload_done, operation);

        return r < 0 ? r : 1;
}

static int method_reload(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return operation_start(userdata, message, run_reload);
}

static int get_mode(sd_bus *connection, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;

        return sd_bus_message_append(reply, "s", manager_mode(bus->manager));
}

static int get_profiles(sd_bus *connection, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_strv_ char **names = NULL;
        Bus *bus = userdata;
        int r = profile_list(manager_kfs(bus->manager), &names);

        return r < 0 ? r : sd_bus_message_append_strv(reply, names);
}

static int get_degraded(sd_bus *connection, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        const DriftReport *report;
        int r = drift_report(bus->drift, &report);

        return r < 0 ? r : append_degraded(reply, report->degraded, report->n_degraded);
}

static int get_drift(sd_bus *connection, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        const DriftReport *report;
        int r = drift_report(bus->drift, &report);

        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssss)");
        for (size_t i = 0; r >= 0 && i < report->n_drifted; i++) {
                const Drifted *drifted = &report->drifted[i];

                r = sd_bus_message_append(
                        reply, "(ssss)", drifted->step, drifted->wanted, drifted->live, drifted->writer);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int get_version(sd_bus *connection, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", RTISOLD_VERSION);
}

/* Whether a caller may is for polkit to say: the bus lets everybody call. */
#define OPEN SD_BUS_VTABLE_UNPRIVILEGED

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("SetMode", SD_BUS_ARGS("s", mode, "a{sv}", options),
                SD_BUS_RESULT("a(sss)", degraded), method_set_mode, OPEN),
        SD_BUS_METHOD_WITH_ARGS(
                "Lease", SD_BUS_ARGS("s", mode, "s", why), SD_BUS_RESULT("h", holder), method_lease, OPEN),
        SD_BUS_METHOD_WITH_ARGS(
                "ListLeases", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(sssut)", leases), method_list_leases, OPEN),
        SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_reload, OPEN),
        SD_BUS_PROPERTY("Mode", "s", get_mode, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Profiles", "as", get_profiles, 0, 0),
        SD_BUS_PROPERTY("Degraded", "a(sss)", get_degraded, 0, SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION),
        SD_BUS_PROPERTY("Drift", "a(ssss)", get_drift, 0, SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_SIGNAL_WITH_ARGS("Progress", SD_BUS_ARGS("s", step, "u", percent), 0),
        SD_BUS_SIGNAL_WITH_ARGS("Notice", SD_BUS_ARGS("s", sentence), 0),
        SD_BUS_VTABLE_END,
};

int bus_offer(Bus *bus, sd_bus *connection) {
        return sd_bus_add_object_vtable(connection, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, vtable, bus);
}

typedef void (*Tell)(sd_bus *connection, const char *step, unsigned percent);

/* A signal that cannot be sent is lost: those who ask get the truth.  What a client does not read piles up here, so
 * one that reads nothing is told nothing more. */
static void tell_everybody(Bus *bus, Tell tell, const char *step, unsigned percent) {
        if (bus->system && sd_bus_is_ready(bus->system) > 0)
                tell(bus->system, step, percent);
        for (size_t i = 0; i < bus->n_clients; i++) {
                sd_bus *client = bus->clients[i].connection;
                uint64_t waiting = 0;

                if (sd_bus_get_n_queued_write(client, &waiting) < 0 || waiting < CLIENT_WAITING_MAX)
                        tell(client, step, percent);
        }
}

static void tell_progress(sd_bus *connection, const char *step, unsigned percent) {
        (void) sd_bus_emit_signal(
                connection, RTISOL_OBJECT, RTISOL_INTERFACE, "Progress", "su", step, percent);
}

static void tell_changed(sd_bus *connection, const char *step, unsigned percent) {
        (void) sd_bus_emit_properties_changed(
                connection, RTISOL_OBJECT, RTISOL_INTERFACE, "Mode", "Degraded", "Drift", NULL);
}

void bus_progress(Bus *bus, const char *step, unsigned percent) {
        tell_everybody(bus, tell_progress, step, percent);
}

void bus_changed(Bus *bus) {
        tell_everybody(bus, tell_changed, NULL, 0);
}
