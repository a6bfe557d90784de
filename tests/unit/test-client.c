/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "cli.h"
#include "client.h"
#include "protocol.h"

/* Answers as a daemon would: the mode asked for says how; the options come back as the degraded part. */
static int serve_set_mode(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        char options[256] = "";
        const char *mode, *name, *type;
        sd_bus *bus = sd_bus_message_get_bus(message);

        if (sd_bus_message_read(message, "s", &mode) < 0 ||
                sd_bus_message_enter_container(message, 'a', "{sv}") < 0)
                return -EBADMSG;
        while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                uint32_t number = 0;

                if (sd_bus_message_read(message, "s", &name) < 0 ||
                        sd_bus_message_peek_type(message, NULL, &type) < 0 ||
                        sd_bus_message_read(message, "v", type, &number) < 0)
                        return -EBADMSG;
                (void) sd_bus_message_exit_container(message);
                (void) snprintf(options + strlen(options), sizeof(options) - strlen(options), "%s=%s%u ",
                        name, type, number);
        }
        (void) sd_bus_emit_signal(
                bus, RTISOL_OBJECT, RTISOL_INTERFACE, "Progress", "su", "irq/1/affinity", 50);
        if (streq(mode, "die"))
                _exit(0);
        if (util_startswith(mode, "org."))
                return sd_bus_error_set(error, mode, "first\nsecond");
        (void) sd_bus_emit_signal(bus, RTISOL_OBJECT, RTISOL_INTERFACE, "Notice", "s", "left");
        (void) sd_bus_emit_signal(bus, RTISOL_OBJECT, RTISOL_INTERFACE, "Notice", "s", "alone");
        return sd_bus_reply_method_return(
                message, "a(sss)", 2, "tick/skew", "boot", options, "a/b", "refused", "");
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("SetMode", "sa{sv}", "a(sss)", serve_set_mode, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL("Progress", "su", 0),
        SD_BUS_SIGNAL("Notice", "s", 0),
        SD_BUS_VTABLE_END,
};

static void serve(int fd) {
        sd_bus *bus;
        int r = sd_bus_new(&bus);

        if (r >= 0)
                r = sd_bus_set_fd(bus, fd, fd);
        if (r >= 0)
                r = sd_bus_set_server(
                        bus, true, SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f, 0));
        if (r >= 0)
                r = sd_bus_set_anonymous(bus, true);
        if (r >= 0)
                r = sd_bus_add_object_vtable(bus, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, vtable, NULL);
        if (r >= 0)
                r = sd_bus_start(bus);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        _exit(0);
}

/* A client of a daemon that lives in a child. */
static sd_bus *connect_child(pid_t *ret) {
        int fds[2];
        sd_bus *bus;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        *ret = fork();
        assert_true(*ret >= 0);
        if (*ret == 0) {
                (void) close(fds[0]);
                serve(fds[1]);
        }
        (void) close(fds[1]);
        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_fd(bus, fds[0], fds[0]) >= 0);
        assert_true(sd_bus_start(bus) >= 0);
        return bus;
}

static void ask(const char *mode, const ClientOptions *options, ClientAnswer *ret) {
        pid_t pid;
        sd_bus *bus = connect_child(&pid);

        assert_int_equal(client_set_mode(bus, mode, options, ret), 0);
        sd_bus_flush_close_unref(bus);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_errors(void **state) {
        static const struct {
                const char *name;
                int exit;
        } table[] = {
                { RTISOL_ERROR_BAD_PROFILE, 2 },
                { RTISOL_ERROR_NO_SUCH_PROFILE, 2 },
                { RTISOL_ERROR_BAD_OPTION, 2 },
                { RTISOL_ERROR_REFUSED, 1 },
                { RTISOL_ERROR_NOT_BEGUN, 1 },
                { RTISOL_ERROR_FAILED, 6 },
                { RTISOL_ERROR_FAILED_INCOMPLETE, 9 },
                { RTISOL_ERROR_NOT_PERMITTED, 7 },
                { SD_BUS_ERROR_ACCESS_DENIED, 7 },
                { SD_BUS_ERROR_SERVICE_UNKNOWN, 7 },
                { "org.rtisold.Error.FromALaterVersion", 1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_client_answer_ ClientAnswer answer = {};

                ask(table[i].name, &(ClientOptions){}, &answer);
                if (answer.exit != table[i].exit || !answer.message ||
                        !streq(answer.message, "first\nsecond"))
                        fail_msg("%s: %d, %s", table[i].name, answer.exit, answer.message);
        }
}

static void test_options(void **state) {
        static const struct {
                ClientOptions options;
                const char *sent;
        } table[] = {
                { {}, "" },
                { { .force = true }, "force=b1 " },
                { { .no_disturb = true, .confirm = 120 }, "no-disturb=b1 confirm=u120 " },
                { { .confirmed = true, .progress = true }, "confirmed=b1 " },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_client_answer_ ClientAnswer answer = {};
                const json_t *first;

                ask("low-jitter", &table[i].options, &answer);
                first = json_array_get(answer.degraded, 0);
                if (answer.exit != EXIT_HOLDS || !answer.message || !streq(answer.message, "left\nalone") ||
                        json_array_size(answer.degraded) != 2 ||
                        !streq(record_get(first, "reason"), table[i].sent))
                        fail_msg("line %zu: %d, %s", i, answer.exit, record_get(first, "reason"));
                assert_string_equal(record_get(first, "step"), "tick/skew");
                assert_string_equal(record_get(first, "state"), "boot");
        }
}

static void test_daemon_dies(void **state) {
        _cleanup_client_answer_ ClientAnswer answer = {};

        ask("die", &(ClientOptions){}, &answer);
        assert_int_equal(answer.exit, EXIT_NO_DAEMON);
        assert_non_null(strstr(answer.message, "went away"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_options),
                cmocka_unit_test(test_daemon_dies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
