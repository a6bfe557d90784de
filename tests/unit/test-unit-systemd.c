/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "tree.h"
#include "unit-systemd.h"

/* What is said to systemd, and what its answers come to: a systemd of this test's own listens on a socket that the
 * linker puts in the place of the real one's (meson.build). */

#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define SLICE_PATH MANAGER_PATH "/unit/rtisol_2drt_2eslice"
#define ERROR "org.freedesktop.systemd1."

/* How it answers. */
typedef struct Answers {
        const char *method, *error; /* which method fails, and how */
        const char *result;         /* of every job; NULL: done */
        const char *partition;      /* CPUSetPartition=, NULL: not known */
} Answers;

typedef struct Fake {
        char *socket, *log;
        pid_t pid;
        const Answers *answers;
        sd_bus *bus;
} Fake;

static char *address; /* for the linker's function below */

int __real_sd_bus_set_address(sd_bus *bus, const char *text);
int __wrap_sd_bus_set_address(sd_bus *bus, const char *text);

int __wrap_sd_bus_set_address(sd_bus *bus, const char *text) {
        assert_string_equal(text, "unix:path=/run/systemd/private");
        return __real_sd_bus_set_address(bus, address);
}

/* The systemd */

static void note(Fake *fake, const char *text) {
        _cleanup_fclose_ FILE *file = fopen(fake->log, "a");

        if (file)
                (void) fputs(text, file);
}

/* One value of an (sv): texts, arrays of bytes and of numbers. */
static void note_value(Fake *fake, sd_bus_message *message, const char *name, const char *type) {
        _cleanup_free_ char *line = NULL;
        const uint8_t *bytes;
        const char *text;
        uint32_t number;
        size_t n;

        if (streq(type, "s") && sd_bus_message_read(message, "s", &text) >= 0)
                (void) util_asprintf(&line, " %s=%s", name, text);
        else if (streq(type, "ay") &&
                sd_bus_message_read_array(message, 'y', (const void **) &bytes, &n) >= 0)
                (void) util_asprintf(&line, " %s=%zu:%02x", name, n, n > 0 ? bytes[n - 1] : 0);
        else if (streq(type, "au") && sd_bus_message_enter_container(message, 'a', "u") >= 0 &&
                sd_bus_message_read(message, "u", &number) >= 0 &&
                sd_bus_message_exit_container(message) >= 0)
                (void) util_asprintf(&line, " %s=%u", name, number);
        note(fake, line ?: " ?");
}

static void note_properties(Fake *fake, sd_bus_message *message) {
        const char *name, *type;

        if (sd_bus_message_enter_container(message, 'a', "(sv)") < 0)
                return;
        while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
                (void) sd_bus_message_read(message, "s", &name);
                (void) sd_bus_message_peek_type(message, NULL, &type);
                (void) sd_bus_message_enter_container(message, 'v', type);
                note_value(fake, message, name, type);
                (void) sd_bus_message_exit_container(message);
                (void) sd_bus_message_exit_container(message);
        }
        (void) sd_bus_message_exit_container(message);
}

/* Another's job ends before ours does. */
static int answer_job(Fake *fake, sd_bus_message *call, const char *unit) {
        int r = sd_bus_reply_method_return(call, "o", "/job/2");

        r = r < 0 ? r
                  : sd_bus_emit_signal(fake->bus, MANAGER_PATH, MANAGER, "JobRemoved", "uoss", 1, "/job/1",
                            "other.service", "failed");
        return r < 0 ? r
                     : sd_bus_emit_signal(fake->bus, MANAGER_PATH, MANAGER, "JobRemoved", "uoss", 2,
                               "/job/2", unit, fake->answers->result ?: "done");
}

static int on_method(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *method = sd_bus_message_get_member(call), *unit, *mode = "";
        Fake *fake = userdata;
        int runtime = 0;

        if (fake->answers->method && streq(method, fake->answers->method))
                return sd_bus_error_set(error, fake->answers->error, "so the test wants it");
        (void) sd_bus_message_read(call, "s", &unit);
        note(fake, method);
        note(fake, " ");
        note(fake, unit);
        if (streq(method, "SetUnitProperties"))
                (void) sd_bus_message_read(call, "b", &runtime);
        else
                (void) sd_bus_message_read(call, "s", &mode);
        note(fake, runtime ? " runtime" : *mode ? " " : "");
        note(fake, mode);
        if (!streq(method, "StartUnit") && !streq(method, "StopUnit"))
                note_properties(fake, call);
        note(fake, "\n");
        return streq(method, "SetUnitProperties") ? sd_bus_reply_method_return(call, "")
                                                  : answer_job(fake, call, unit);
}

static int get_partition(sd_bus *bus, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Fake *fake = userdata;

        if (!fake->answers->partition)
                return sd_bus_error_set(error, SD_BUS_ERROR_UNKNOWN_PROPERTY, "none");
        return sd_bus_message_append(reply, "s", fake->answers->partition);
}

static const sd_bus_vtable manager_table[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("StartTransientUnit", "ssa(sv)a(sa(sv))", "o", on_method, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StartUnit", "ss", "o", on_method, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StopUnit", "ss", "o", on_method, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("SetUnitProperties", "sba(sv)", "", on_method, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable slice_table[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("CPUSetPartition", "s", get_partition, 0, 0),
        SD_BUS_VTABLE_END,
};

/* One client after another, as they come. */
static void serve(Fake *fake, int listener) {
        for (;;) {
                int fd = accept(listener, NULL, NULL), r = 0;

                if (fd < 0 || sd_bus_new(&fake->bus) < 0 || sd_bus_set_fd(fake->bus, fd, fd) < 0 ||
                        sd_bus_set_server(fake->bus, 1, (sd_id128_t){ .qwords = { 1, 2 } }) < 0 ||
                        sd_bus_set_anonymous(fake->bus, 1) < 0 || sd_bus_start(fake->bus) < 0 ||
                        sd_bus_add_object_vtable(
                                fake->bus, NULL, MANAGER_PATH, MANAGER, manager_table, fake) < 0 ||
                        sd_bus_add_object_vtable(fake->bus, NULL, SLICE_PATH,
                                "org.freedesktop.systemd1.Slice", slice_table, fake) < 0)
                        _exit(1);
                while (r >= 0 && sd_bus_is_open(fake->bus) > 0) {
                        r = sd_bus_process(fake->bus, NULL);
                        if (r == 0)
                                r = sd_bus_wait(fake->bus, UINT64_MAX);
                }
                fake->bus = sd_bus_close_unref(fake->bus);
        }
}

static void fake_start(Fake *fake, const Tree *tree, const Answers *answers) {
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        fake->answers = answers;
        assert_int_equal(util_asprintf(&fake->socket, "%s/systemd", tree->root), 0);
        assert_int_equal(util_asprintf(&fake->log, "%s/said", tree->root), 0);
        assert_int_equal(util_asprintf(&address, "unix:path=%s", fake->socket), 0);
        (void) snprintf(name.sun_path, sizeof(name.sun_path), "%s", fake->socket);
        assert_int_equal(bind(listener, (struct sockaddr *) &name, sizeof(name)), 0);
        assert_int_equal(listen(listener, 8), 0);
        fake->pid = fork();
        if (fake->pid == 0)
                serve(fake, listener);
        assert_true(fake->pid > 0);
        (void) close(listener);
}

static void fake_end(Fake *fake) {
        (void) kill(fake->pid, SIGKILL);
        (void) waitpid(fake->pid, NULL, 0);
        (void) unlink(fake->socket);
        free(fake->socket);
        free(fake->log);
        free(address);
        address = NULL;
}

/* What is asked of it */

static int set_slice(SystemdLink *link, char **ret) {
        _cleanup_cpulist_ CpuList cpus = {}, mems = {};

        assert_int_equal(cpulist_parse("1-3,8", &cpus, NULL), 0);
        assert_int_equal(cpulist_parse("0", &mems, NULL), 0);
        return systemd_slice_set(link, "rtisol-rt.slice", &cpus, &mems);
}

static int set_no_limits(SystemdLink *link, char **ret) {
        const CpuList none = {};

        return systemd_slice_set(link, "rtisol-rt.slice", &none, &none);
}

static int stop_slice(SystemdLink *link, char **ret) {
        return systemd_slice_stop(link, "rtisol-rt.slice");
}

static int start_scope(SystemdLink *link, char **ret) {
        return systemd_scope_start("run.scope", "rtisol-rt.slice", "sleep 1", 4711);
}

static int read_partition(SystemdLink *link, char **ret) {
        return systemd_slice_get_partition(link, "rtisol-rt.slice", ret);
}

static int set_partition(SystemdLink *link, char **ret) {
        return systemd_slice_set_partition(link, "rtisol-rt.slice", "isolated");
}

#define NEW "StartTransientUnit rtisol-rt.slice fail AllowedCPUs=2:01 AllowedMemoryNodes=1:01\n"
#define CHANGED                                                                                             \
        "SetUnitProperties rtisol-rt.slice runtime AllowedCPUs=2:01 AllowedMemoryNodes=1:01\n"              \
        "StartUnit rtisol-rt.slice fail\n"
#define SCOPE                                                                                               \
        "StartTransientUnit run.scope fail Slice=rtisol-rt.slice Description=sleep 1 "                      \
        "CollectMode=inactive-or-failed PIDs=4711\n"
#define STOP "StopUnit rtisol-rt.slice fail\n"

static const struct {
        int (*ask)(SystemdLink *link, char **ret);
        Answers answers;
        int error;
        const char *said;
} rows[] = {
        { set_slice, {}, 0, NEW },
        { set_slice, { "StartTransientUnit", ERROR "UnitExists" }, 0, CHANGED },
        { set_slice, { "StartTransientUnit", ERROR "UnitMasked" }, -ERFKILL, "" },
        { set_slice, { "StartTransientUnit", SD_BUS_ERROR_ACCESS_DENIED }, -EACCES, "" },
        { set_slice, { NULL, NULL, "canceled" }, -ECANCELED, NEW },
        { set_slice, { NULL, NULL, "timeout" }, -ETIMEDOUT, NEW },
        { set_slice, { NULL, NULL, "dependency" }, -ENOLINK, NEW },
        { set_slice, { NULL, NULL, "skipped" }, -ENOEXEC, NEW },
        { set_slice, { NULL, NULL, "failed" }, -EIO, NEW },
        { set_no_limits, {}, 0,
                "StartTransientUnit rtisol-rt.slice fail AllowedCPUs=0:00 AllowedMemoryNodes=0:00\n" },
        { stop_slice, {}, 0, STOP },
        { stop_slice, { "StopUnit", ERROR "NoSuchUnit" }, -ENOENT, "" },
        { stop_slice, { "StopUnit", ERROR "TransactionIsDestructive" }, -EBUSY, "" },
        { stop_slice, { NULL, NULL, "canceled" }, -ECANCELED, STOP },
        { start_scope, {}, 0, SCOPE },
        { start_scope, { "StartTransientUnit", SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED }, -EACCES,
                "" },
        { start_scope, { NULL, NULL, "failed" }, -EIO, SCOPE },
        { read_partition, { .partition = "isolated" }, 0, "" },
        { read_partition, {}, -ENOENT, "" },
        { set_partition, {}, 0, "SetUnitProperties rtisol-rt.slice runtime CPUSetPartition=isolated\n" },
        { set_partition, { "SetUnitProperties", SD_BUS_ERROR_PROPERTY_READ_ONLY }, -ENOENT, "" },
};

static void test_rows(void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *said = NULL, *answer = NULL;
                _cleanup_systemd_link_ SystemdLink link = {};
                Fake fake = {};
                int r;

                fake_start(&fake, tree, &rows[i].answers);
                r = rows[i].ask(&link, &answer);
                fake_end(&fake);
                if (kfs_read_raw(tree->kfs, "/said", &said, NULL) < 0)
                        said = NULL;
                if ((r < 0 ? r : 0) != rows[i].error || !streq(said ?: "", rows[i].said) ||
                        !streq(answer ?: "", r == 0 && rows[i].answers.partition ? "isolated" : ""))
                        fail_msg("line %zu: %d, said:\n%s", i, r, said ?: "");
        }
}

/* One connection for all that a switch asks; another one where systemd has closed it. */
static void test_link(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_systemd_link_ SystemdLink link = {};
        _cleanup_free_ char *said = NULL;
        static const Answers answers = {};

        for (unsigned i = 0; i < 2; i++) {
                struct sd_bus *first;
                Fake fake = {};

                fake_start(&fake, tree, &answers);
                assert_true(set_slice(&link, NULL) >= 0);
                first = link.bus;
                assert_non_null(first);
                assert_true(stop_slice(&link, NULL) >= 0);
                assert_ptr_equal(link.bus, first);
                fake_end(&fake);
        }
        assert_int_equal(kfs_read_raw(tree->kfs, "/said", &said, NULL), 0);
        assert_string_equal(said, NEW STOP NEW STOP);
        systemd_link_close(&link);
        assert_null(link.bus);
}

/* Neither systemd nor a bus. */
static void test_nobody(void **state) {
        address = (char *) "unix:path=/nonexistent/systemd";
        assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_systemd_link_ SystemdLink link = {};

                assert_int_equal(rows[i].ask(&link, NULL), -ENOENT);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_link),
                cmocka_unit_test(test_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
