/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "cli.h"
#include "protocol.h"
#include "text.h"

/* A switch of a big machine takes its time; a daemon that died is noticed at once all the same. */
#define SET_MODE_TIMEOUT_USEC (30 * 60 * UINT64_C(1000000))
/* Who only looks does not wait for the end of a switch, nor for a daemon that somebody has stopped. */
#define LOOK_TIMEOUT_USEC (5 * UINT64_C(1000000))

/* A descriptor where somebody listens on the private socket. */
static int open_socket(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = RTISOL_PRIVATE_SOCKET };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        return connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ? -errno : TAKE_FD(fd);
}

static int connect_private(sd_bus **ret) {
        _cleanup_client_ sd_bus *bus = NULL;
        _cleanup_close_ int fd = open_socket();
        int r = fd < 0 ? fd : sd_bus_new(&bus);

        if (r >= 0)
                r = sd_bus_set_fd(bus, fd, fd);
        if (r >= 0) {
                TAKE_FD(fd); /* the connection owns it now */
                r = sd_bus_start(bus);
        }
        if (r < 0)
                return r == -ECONNREFUSED ? -ENOENT : r;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int name_is_owned(sd_bus *bus) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        int owned = 0, r;

        r = sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                "NameHasOwner", &error, &reply, "s", RTISOL_BUS_NAME);
        if (r >= 0)
                r = sd_bus_message_read(reply, "b", &owned);
        sd_bus_message_unref(reply);
        return r < 0 ? r : owned;
}

static int connect_system(sd_bus **ret) {
        _cleanup_client_ sd_bus *bus = NULL;
        int r = sd_bus_open_system(&bus);

        if (r >= 0)
                r = name_is_owned(bus);
        if (r < 0)
                return r;
        if (r == 0)
                return -ENOENT;
        *ret = TAKE_PTR(bus);
        return 0;
}

int client_connect(sd_bus **ret) {
        int r = connect_private(ret);

        if (r != -EACCES && r != -EPERM)
                return r;
        /* No bus either: then it is the missing right that stands in the way. */
        return connect_system(ret) < 0 ? r : 0;
}

int client_tell_no_daemon(int error) {
        if (error == -EACCES || error == -EPERM)
                cli_error("this user may not switch modes: only root gets in on the private socket, and "
                          "there is "
                          "no system bus to ask polkit on");
        else if (error == -ENOENT)
                cli_error("the daemon is not running: systemctl start rtisold starts it");
        else
                cli_error("the daemon cannot be reached: %s", strerror(-error));
        return EXIT_NO_DAEMON;
}

bool client_daemon_runs(void) {
        _cleanup_client_ sd_bus *bus = NULL;
        _cleanup_close_ int fd = open_socket();
        int r = fd < 0 ? fd : 0;

        return r == 0 || ((r == -EACCES || r == -EPERM) && connect_system(&bus) == 0);
}

void client_answer_done(ClientAnswer *answer) {
        free(answer->message);
        json_decref(answer->degraded);
        *answer = (ClientAnswer){};
}

static int exit_of_error(const sd_bus_error *error) {
        static const struct {
                const char *name;
                Exit exit;
        } exits[] = {
                { RTISOL_ERROR_BAD_PROFILE, EXIT_USAGE },
                { RTISOL_ERROR_NO_SUCH_PROFILE, EXIT_USAGE },
                { RTISOL_ERROR_BAD_OPTION, EXIT_USAGE },
                { RTISOL_ERROR_REFUSED, EXIT_REFUSED },
                { RTISOL_ERROR_NOT_BEGUN, EXIT_REFUSED },
                { RTISOL_ERROR_FAILED, EXIT_UNDONE },
                { RTISOL_ERROR_FAILED_INCOMPLETE, EXIT_INCOMPLETE },
                { RTISOL_ERROR_NOT_PERMITTED, EXIT_NO_DAEMON },
                { SD_BUS_ERROR_ACCESS_DENIED, EXIT_NO_DAEMON },
                { SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, EXIT_NO_DAEMON },
                { SD_BUS_ERROR_SERVICE_UNKNOWN, EXIT_NO_DAEMON },
                { SD_BUS_ERROR_NAME_HAS_NO_OWNER, EXIT_NO_DAEMON },
                { SD_BUS_ERROR_NO_REPLY, EXIT_NO_DAEMON },
                { SD_BUS_ERROR_DISCONNECTED, EXIT_NO_DAEMON },
        };

        for (size_t i = 0; i < ARRAY_SIZE(exits); i++)
                if (error->name && streq(error->name, exits[i].name))
                        return exits[i].exit;
        return EXIT_REFUSED;
}

static bool daemon_is_lost(const sd_bus_error *error) {
        return sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) ||
                sd_bus_error_has_name(error, SD_BUS_ERROR_DISCONNECTED);
}

static int take_error(const sd_bus_error *error, ClientAnswer *ret) {
        ret->exit = exit_of_error(error);
        free(TAKE_PTR(ret->message));
        if (daemon_is_lost(error))
                return util_asprintf(&ret->message,
                        "the daemon went away during the switch (%s); when it starts again it finishes "
                        "undoing, or keeps the mode: look at rtisoctl status",
                        error->message ?: error->name);
        return util_asprintf(&ret->message, "%s", error->message ?: error->name);
}

static int take_degraded(sd_bus_message *reply, ClientAnswer *ret) {
        const char *step, *state, *reason;
        int r = sd_bus_message_enter_container(reply, 'a', "(sss)");

        ret->degraded = json_array();
        if (!ret->degraded)
                return -ENOMEM;
        while (r >= 0 && (r = sd_bus_message_read(reply, "(sss)", &step, &state, &reason)) > 0)
                if (json_array_append_new(ret->degraded,
                            json_pack("{s:s, s:s, s:s}", "step", step, "state", state, "reason", reason)) <
                        0)
                        return -ENOMEM;
        return r;
}

/* One call under way. */
typedef struct Call {
        ClientAnswer answer;
        bool done, progress;
        bool lease; /* what is answered is the holder's end */
        int error, fd;
} Call;

static int take_holder(sd_bus_message *reply, Call *call) {
        int fd, r = sd_bus_message_read(reply, "h", &fd);

        if (r < 0)
                return r;
        /* The message's own is closed with it. */
        call->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        return call->fd < 0 ? -errno : 0;
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);
        Call *call = userdata;

        call->done = true;
        if (error)
                call->error = take_error(error, &call->answer);
        else
                call->error = call->lease ? take_holder(reply, call) : take_degraded(reply, &call->answer);
        return 0;
}

static int on_progress(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        _cleanup_free_ char *printable = NULL;
        const char *step;
        uint32_t percent;

        if (sd_bus_message_read(message, "su", &step, &percent) < 0 || text_printable(step, &printable) < 0)
                return 0;
        fprintf(stderr, "\r\033[K%3u%% %.60s", percent, printable);
        return 0;
}

static int on_notice(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        Call *call = userdata;
        const char *sentence;
        char *all;

        if (sd_bus_message_read(message, "s", &sentence) < 0 ||
                util_asprintf(&all, "%s%s%s", call->answer.message ?: "", call->answer.message ? "\n" : "",
                        sentence) < 0)
                return 0;
        free(call->answer.message);
        call->answer.message = all;
        return 0;
}

static int append_flag(sd_bus_message *message, const char *name, bool value) {
        return value ? sd_bus_message_append(message, "{sv}", name, "b", 1) : 0;
}

static int append_options(sd_bus_message *message, const ClientOptions *options) {
        int r = sd_bus_message_open_container(message, 'a', "{sv}");

        if (r >= 0)
                r = append_flag(message, RTISOL_OPTION_NO_DISTURB, options->no_disturb);
        if (r >= 0)
                r = append_flag(message, RTISOL_OPTION_FORCE, options->force);
        if (r >= 0)
                r = append_flag(message, RTISOL_OPTION_CONFIRMED, options->confirmed);
        if (r >= 0 && options->confirm > 0)
                r = sd_bus_message_append(message, "{sv}", RTISOL_OPTION_CONFIRM, "u", options->confirm);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int send_set_mode(sd_bus *bus, const char *mode, const ClientOptions *options, Call *call) {
        sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(
                bus, &message, RTISOL_BUS_NAME, RTISOL_OBJECT, RTISOL_INTERFACE, "SetMode");

        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(message, true);
        if (r >= 0)
                r = sd_bus_message_append(message, "s", mode);
        if (r >= 0)
                r = append_options(message, options);
        if (r >= 0 && options->progress)
                r = sd_bus_match_signal(
                        bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "Progress", on_progress, call);
        if (r >= 0)
                r = sd_bus_match_signal(
                        bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "Notice", on_notice, call);
        if (r >= 0)
                r = sd_bus_call_async(bus, NULL, message, on_reply, call, SET_MODE_TIMEOUT_USEC);
        sd_bus_message_unref(message);
        return r;
}

/* Until the call is answered; a signal meanwhile is the caller's matter. */
static int call_wait(sd_bus *bus, Call *call, ClientAnswer *ret) {
        int r = 0;

        while ((r >= 0 || r == -EINTR) && !call->done) {
                r = sd_bus_process(bus, NULL);
                if (r == 0 && !call->done)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        /* Once it is answered, that the daemon closed the connection behind it is no matter. */
        r = call->done ? call->error : r;
        if (r < 0) {
                client_answer_done(&call->answer);
                return r;
        }
        *ret = call->answer;
        return 0;
}

int client_set_mode(sd_bus *bus, const char *mode, const ClientOptions *options, ClientAnswer *ret) {
        Call call = {};
        int r = send_set_mode(bus, mode, options, &call);

        if (r >= 0)
                r = call_wait(bus, &call, ret);
        if (options->progress)
                fputs("\r\033[K", stderr);
        return r < 0 ? r : 0;
}

int client_lease(sd_bus *bus, const char *mode, const char *why, ClientAnswer *ret, int *ret_fd) {
        Call call = { .lease = true, .fd = -1 };
        sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(
                bus, &message, RTISOL_BUS_NAME, RTISOL_OBJECT, RTISOL_INTERFACE, "Lease");

        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(message, true);
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", mode, why);
        if (r >= 0)
                r = sd_bus_call_async(bus, NULL, message, on_reply, &call, SET_MODE_TIMEOUT_USEC);
        sd_bus_message_unref(message);
        if (r >= 0)
                r = call_wait(bus, &call, ret);
        if (r < 0)
                return r;
        *ret_fd = call.fd;
        return 0;
}

static int read_leases(sd_bus_message *reply, json_t *leases) {
        const char *id, *mode, *why;
        uint32_t pid;
        uint64_t since;
        int r = sd_bus_message_enter_container(reply, 'a', "(sssut)");

        while (r >= 0 && (r = sd_bus_message_read(reply, "(sssut)", &id, &mode, &why, &pid, &since)) > 0)
                if (json_array_append_new(leases,
                            json_pack("{s:s, s:s, s:o, s:I, s:I}", "id", id, "mode", mode, "why",
                                    record_text(why), "pid", (json_int_t) pid, "since",
                                    (json_int_t) since)) < 0)
                        return -ENOMEM;
        return r;
}

static int on_leases(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        sd_bus_message **reply = userdata;

        *reply = sd_bus_message_ref(message);
        return 0;
}

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* A call's own limit begins when the daemon has greeted, which one that does not run never does. */
static int ask_for_leases(sd_bus *bus, sd_bus_message **reply) {
        uint64_t end = now_usec() + LOOK_TIMEOUT_USEC;
        int r = sd_bus_call_method_async(bus, NULL, RTISOL_BUS_NAME, RTISOL_OBJECT, RTISOL_INTERFACE,
                "ListLeases", on_leases, reply, NULL);

        while ((r >= 0 || r == -EINTR) && !*reply) {
                uint64_t now = now_usec();

                if (now >= end)
                        return -ETIMEDOUT;
                r = sd_bus_process(bus, NULL);
                if (r == 0 && !*reply)
                        r = sd_bus_wait(bus, end - now);
        }
        if (*reply && sd_bus_message_is_method_error(*reply, NULL))
                return -sd_bus_message_get_errno(*reply);
        return *reply ? 0 : r;
}

int client_leases(json_t **ret) {
        /* Not flushed: that would wait for the daemon, too. */
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_record_ json_t *leases = json_array();
        int r = leases ? client_connect(&bus) : -ENOMEM;

        if (r == 0)
                r = ask_for_leases(bus, &reply);
        if (r >= 0)
                r = read_leases(reply, leases);
        if (r == -ETIMEDOUT || r == -ENOMEM)
                return r;
        *ret = TAKE_PTR(leases);
        return 0;
}
