/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "machine.h"
#include "protocol.h"

/* The daemon on a bus of its own, with an authority that says what the test wants. */
#define INTERVAL "/proc/sys/vm/stat_interval"
#define NOBODY 65534
#define TRIES 200

#define POLKIT "org.freedesktop.PolicyKit1"
#define POLKIT_OBJECT "/org/freedesktop/PolicyKit1/Authority"

typedef struct Scene {
        char folder[40];
        pid_t bus, authority;
} Scene;

static pid_t start(void) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

static void stop(pid_t pid) {
        if (pid <= 0)
                return;
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
}

static void write_config(const Scene *scene, const char *path) {
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        (void) fprintf(f,
                "<busconfig><type>custom</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>"
                "<policy context='default'><allow user='*'/><allow own='*'/><allow send_destination='*'/>"
                "<allow send_type='signal'/><allow receive_type='method_call'/><allow "
                "receive_type='signal'/>"
                "<allow receive_type='method_return'/><allow receive_type='error'/></policy></busconfig>\n",
                scene->folder);
        assert_int_equal(fclose(f), 0);
}

static void start_bus(Scene *scene) {
        _cleanup_free_ char *config = NULL, *option = NULL, *address = NULL, *socket = NULL;

        (void) strcpy(scene->folder, "/tmp/rtisold-bus-XXXXXX");
        assert_non_null(mkdtemp(scene->folder));
        assert_int_equal(chmod(scene->folder, 0755), 0);
        assert_int_equal(util_asprintf(&config, "%s/config", scene->folder), 0);
        assert_int_equal(util_asprintf(&socket, "%s/bus", scene->folder), 0);
        assert_int_equal(util_asprintf(&option, "--config-file=%s", config), 0);
        assert_int_equal(util_asprintf(&address, "unix:path=%s", socket), 0);
        write_config(scene, config);
        assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1), 0);
        scene->bus = start();
        if (scene->bus == 0) {
                (void) execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", NULL);
                _exit(127);
        }
        for (int i = 0; i < TRIES && access(socket, F_OK) < 0; i++)
                (void) usleep(20000);
}

static int on_check(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *answer = userdata, *action;

        if (sd_bus_message_skip(message, "(sa{sv})") < 0 || sd_bus_message_read(message, "s", &action) < 0)
                return -EBADMSG;
        if (streq(answer, "error") || !streq(action, RTISOL_POLKIT_ACTION))
                return sd_bus_error_set(error, POLKIT ".Error.Failed", "out of order");
        return sd_bus_reply_method_return(
                message, "(bba{ss})", streq(answer, "yes"), streq(answer, "challenge"), 0);
}

static int run_authority(const char *answer) {
        static const sd_bus_vtable vtable[] = {
                SD_BUS_VTABLE_START(0),
                SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_check,
                        SD_BUS_VTABLE_UNPRIVILEGED),
                SD_BUS_VTABLE_END,
        };
        sd_bus *bus;
        int r = sd_bus_open_system(&bus);

        if (r >= 0)
                r = sd_bus_add_object_vtable(
                        bus, NULL, POLKIT_OBJECT, POLKIT ".Authority", vtable, (void *) answer);
        if (r >= 0)
                r = sd_bus_request_name(bus, POLKIT, 0);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        return 1;
}

/* Waits until somebody has the name: the calls of the test are not to be early. */
static void await_name(const char *name) {
        sd_bus *bus;
        int owned = 0;

        assert_true(sd_bus_open_system(&bus) >= 0);
        for (int i = 0; i < TRIES && !owned; i++) {
                sd_bus_message *reply = NULL;

                if (sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                            "org.freedesktop.DBus", "NameHasOwner", NULL, &reply, "s", name) >= 0)
                        (void) sd_bus_message_read(reply, "b", &owned);
                sd_bus_message_unref(reply);
                if (!owned)
                        (void) usleep(20000);
        }
        (void) sd_bus_flush_close_unref(bus);
        assert_true(owned);
}

/* The caller's side: 0 where the mode was switched to, 1 where that was not permitted, else 2. */
static int run_caller(bool root, const char *mode) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus *bus;
        int r = 0;

        if (!root && getuid() == 0)
                r = setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                                setresuid(NOBODY, NOBODY, NOBODY) < 0
                        ? -EPERM
                        : 0;
        if (r >= 0)
                r = sd_bus_open_system(&bus);
        if (r >= 0)
                r = sd_bus_call_method(bus, RTISOL_BUS_NAME, RTISOL_OBJECT, RTISOL_INTERFACE, "SetMode",
                        &error, NULL, "sa{sv}", mode, 0);
        if (r >= 0)
                return 0;
        return error.name && streq(error.name, RTISOL_ERROR_NOT_PERMITTED) ? 1 : 2;
}

static int call(bool root, const char *mode) {
        pid_t pid = start();
        int status;

        if (pid == 0)
                _exit(run_caller(root, mode));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void start_authority(Scene *scene, const char *answer) {
        if (!answer)
                return;
        scene->authority = start();
        if (scene->authority == 0)
                _exit(run_authority(answer));
        await_name(POLKIT);
}

static void end_scene(Scene *scene) {
        static const char *const files[] = { "bus", "config" };

        stop(scene->authority);
        stop(scene->bus);
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *path = NULL;

                if (util_asprintf(&path, "%s/%s", scene->folder, files[i]) >= 0)
                        (void) unlink(path);
        }
        (void) rmdir(scene->folder);
}

static void test_answers(void **state) {
        static const struct {
                const char *answer; /* NULL: there is no authority on the bus */
                bool root;
                int result; /* of the caller */
                const char *mode, *interval;
        } table[] = {
                { "yes", false, 0, "quick", "10" },
                { "no", false, 1, "green", "1" },
                { "challenge", false, 1, "green", "1" },
                { "error", false, 1, "green", "1" },
                { NULL, false, 1, "green", "1" },
                { "no", true, 0, "quick", "10" },
                { NULL, true, 0, "quick", "10" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                _cleanup_free_ char *mode = NULL, *live = NULL;
                Scene scene = {};
                int result;

                /* Only root can be root, and only he becomes somebody else. */
                if (table[i].root && getuid() != 0)
                        continue;
                start_bus(&scene);
                start_authority(&scene, table[i].answer);
                machine->on_bus = true;
                machine_start(machine);
                await_name(RTISOL_BUS_NAME);
                result = call(table[i].root, "quick");
                mode = machine_mode(machine);
                live = machine_read(machine, INTERVAL);
                end_scene(&scene);
                if (result != table[i].result || !streq(mode, table[i].mode) ||
                        !streq(live, table[i].interval))
                        fail_msg("row %zu, authority says %s: %d, mode %s, %s", i,
                                table[i].answer ?: "nothing", result, mode, live);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
