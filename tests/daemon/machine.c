/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__has_feature)
#define WITH_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#else
#define WITH_ASAN 0
#endif
#if WITH_ASAN
size_t __sanitizer_get_current_allocated_bytes(void);
#else
#include <malloc.h>
#endif

#include "daemon.h"
#include "protocol.h"

#define WAIT_MS 10000

static const char tree_lines[] = "/proc/sys/kernel/random/boot_id=11111111-2222-3333-4444-555555555555\n"
                                 "/proc/sys/kernel/osrelease=6.12.0-test\n"
                                 "/proc/sys/vm/stat_interval=1\n"
                                 "/proc/irq/default_smp_affinity=f\n"
                                 "/proc/irq/25/smp_affinity_list=0-3\n"
                                 "/proc/irq/25/effective_affinity_list=0\n"
                                 "/proc/irq/25/actions=eth0\n"
                                 "/sys/fs/cgroup/cgroup.controllers=cpuset cpu io memory pids\n"
                                 "/sys/fs/cgroup/cgroup.subtree_control=cpuset cpu io memory pids\n"
                                 "/sys/fs/cgroup/cgroup.procs=\n"
                                 "/sys/fs/cgroup/cpuset.cpus.effective=0-3\n"
                                 "/sys/fs/cgroup/cpuset.cpus.isolated=\n"
                                 "/sys/fs/cgroup/cpuset.mems.effective=0\n"
                                 "/sys/devices/virtual/workqueue/cpumask=f\n";

static void put_profile(Machine *machine, const char *name, const char *text) {
        tree_putf(machine->tree, text, "/etc/rtisold/profiles/%s.ini", name);
}

Machine *machine_new(void) {
        Machine *machine = calloc(1, sizeof(*machine));

        assert_non_null(machine);
        machine->uid = getuid();
        machine->tree = tree_new();
        tree_put_cpus(machine->tree, 1, 4, 1, false);
        tree_fill(machine->tree, tree_lines);
        put_profile(machine, "quick", "[sysctl]\nvm.stat_interval = 10\n");
        put_profile(machine, "slow", "[sysctl]\nvm.stat_interval = 20\n");
        put_profile(machine, "set",
                "[cpuset rt]\ncpus = 2-3\npartition = isolated\n[sysctl]\nvm.stat_interval = 30\n");
        put_profile(machine, "wide",
                "[cpuset rt]\ncpus = 1-3\npartition = isolated\n[sysctl]\nvm.stat_interval = 30\n");
        assert_int_equal(util_asprintf(&machine->runtime, "%s/runtime", machine->tree->root), 0);
        assert_int_equal(mkdir(machine->runtime, 0755), 0);
        return machine;
}

void machine_free(Machine *machine) {
        machine->bus = sd_bus_close_unref(machine->bus);
        if (machine->pid > 0)
                (void) machine_end(machine, SIGKILL);
        tree_free(machine->tree);
        free(machine->notices);
        free(machine->degraded);
        free(machine->runtime);
        free(machine);
}

static char *runtime_path(const char *runtime, const char *name) {
        char *path;

        return util_asprintf(&path, "%s/%s", runtime, name) < 0 ? NULL : path;
}

static bool file_says(const char *runtime, const char *name, const char *object) {
        _cleanup_free_ char *path = runtime_path(runtime, name);
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        char text[256] = "";

        return file && fgets(text, sizeof(text), file) && streq(text, object);
}

static void note_write(const char *runtime, const char *object, const char *value) {
        _cleanup_free_ char *path = runtime_path(runtime, "writes");
        _cleanup_fclose_ FILE *file = fopen(path, "ae");

        if (file)
                (void) fprintf(file, "%s=%s\n", object, value);
}

/* What is allocated, exactly: resident memory is a matter of the allocator's. */
static size_t allocated(void) {
#if WITH_ASAN
        return __sanitizer_get_current_allocated_bytes();
#else
        return mallinfo2().uordblks;
#endif
}

static void note_memory(const char *runtime) {
        _cleanup_free_ char *path = runtime_path(runtime, "memory");
        _cleanup_fclose_ FILE *file = fopen(path, "we");

        if (file)
                (void) fprintf(file, "%zu\n", allocated());
}

/* In the daemon. */
static int on_access(void *userdata, KfsMoment moment, const char *object, const char *value) {
        const char *runtime = userdata;

        if (moment != KFS_BEFORE_WRITE)
                return 0;
        if (file_says(runtime, "die", object))
                (void) kill(getpid(), SIGKILL);
        if (file_says(runtime, "hup", object))
                (void) kill(getpid(), SIGHUP);
        if (file_says(runtime, "fail-twice", object) && !streq(value, "10"))
                return -EIO;
        note_write(runtime, object, value);
        note_memory(runtime);
        return file_says(runtime, "fail", object) ? -EIO : 0;
}

static int run_daemon(Machine *machine) {
        _cleanup_free_ char *socket = runtime_path(machine->runtime, "private");
        DaemonOptions options = { .paths = { .root = machine->tree->root, .runtime = machine->runtime },
                .socket = socket,
                .uid = machine->uid,
                .bus = machine->on_bus };
        sd_event *event;
        Daemon *daemon;
        int r = sd_event_new(&event);

        if (r >= 0)
                r = daemon_new(&options, event, &daemon);
        if (r < 0)
                return 100 - r;
        kfs_hook(manager_kfs(daemon_manager(daemon)), on_access, machine->runtime);
        r = sd_event_loop(event);
        daemon_free(daemon);
        sd_event_unref(event);
        return r;
}

static void block_signals(void) {
        sigset_t signals;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGHUP);
        (void) sigprocmask(SIG_BLOCK, &signals, NULL);
}

static void wait_ms(long ms) {
        (void) nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void add_line(char **text, const char *line) {
        char *longer;

        assert_int_equal(util_asprintf(&longer, "%s%s\n", *text ?: "", line), 0);
        free(*text);
        *text = longer;
}

static int on_notice(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Machine *machine = userdata;
        const char *sentence;

        assert_true(sd_bus_message_read(message, "s", &sentence) >= 0);
        add_line(&machine->notices, sentence);
        return 0;
}

void machine_connect(Machine *machine) {
        _cleanup_free_ char *socket = runtime_path(machine->runtime, "private");
        _cleanup_free_ char *address = NULL;

        assert_int_equal(util_asprintf(&address, "unix:path=%s", socket), 0);
        for (int i = 0; i < WAIT_MS / 10; i++) {
                int r;

                machine->bus = sd_bus_close_unref(machine->bus);
                assert_true(sd_bus_new(&machine->bus) >= 0);
                assert_true(sd_bus_set_address(machine->bus, address) >= 0);
                assert_true(sd_bus_negotiate_fds(machine->bus, 1) >= 0);
                r = sd_bus_start(machine->bus);
                if (r >= 0)
                        r = sd_bus_match_signal(machine->bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE,
                                "Notice", on_notice, machine);
                if (r >= 0)
                        return;
                wait_ms(10);
        }
        fail_msg("the daemon's socket does not answer");
}

void machine_start(Machine *machine) {
        _cleanup_free_ char *socket = runtime_path(machine->runtime, "private");

        (void) unlink(socket);
        machine->pid = fork();
        assert_true(machine->pid >= 0);
        if (machine->pid == 0) {
                block_signals();
                /* The daemon must not outlive a test that failed. */
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                /* A lease's descriptor must not live on in the daemon. */
                (void) close_range(3, ~0u, 0);
                exit(run_daemon(machine));
        }
        machine_connect(machine);
        /* The socket is there before the daemon has adopted or entered a mode; an answer comes only after. */
        if (machine->uid == getuid())
                free(machine_mode(machine));
}

int machine_end(Machine *machine, int signal) {
        int status;

        machine->bus = sd_bus_close_unref(machine->bus);
        if (signal)
                (void) kill(machine->pid, signal);
        assert_int_equal(waitpid(machine->pid, &status, 0), machine->pid);
        machine->pid = 0;
        return status;
}

void machine_tell(Machine *machine, const char *name, const char *text) {
        _cleanup_free_ char *path = runtime_path(machine->runtime, name);
        _cleanup_fclose_ FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
}

bool machine_has(Machine *machine, const char *name) {
        _cleanup_free_ char *path = runtime_path(machine->runtime, name);

        return access(path, F_OK) == 0;
}

char *machine_read(Machine *machine, const char *path) {
        char *text;

        if (kfs_read(machine->tree->kfs, path, &text) < 0)
                fail_msg("%s cannot be read", path);
        return text;
}

unsigned machine_writes(Machine *machine, const char *object) {
        _cleanup_free_ char *path = runtime_path(machine->runtime, "writes"), *line = NULL;
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        size_t size = 0;
        unsigned n = 0;

        while (file && getline(&line, &size, file) > 0)
                n += !object || util_startswith(line, object);
        return n;
}

size_t machine_memory(Machine *machine) {
        _cleanup_free_ char *path = runtime_path(machine->runtime, "memory");
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        size_t bytes = 0;

        assert_true(file && fscanf(file, "%zu", &bytes) == 1);
        return bytes;
}

void machine_await(Machine *machine, const char *path, const char *text) {
        _cleanup_free_ char *live = NULL;

        for (int i = 0; i < WAIT_MS / 20; i++) {
                free(live);
                live = machine_read(machine, path);
                if (streq(live, text))
                        return;
                wait_ms(20);
        }
        fail_msg("%s reads '%s', not '%s', after %d ms", path, live, text, WAIT_MS);
}

static char *error_name(const sd_bus_error *error, char **ret_message) {
        char *name = strdup(error->name ?: "?");

        assert_non_null(name);
        if (ret_message)
                *ret_message = strdup(error->message ?: "");
        return name;
}

static void append_options(sd_bus_message *call, va_list ap) {
        const char *option;

        assert_true(sd_bus_message_open_container(call, 'a', "{sv}") >= 0);
        while ((option = va_arg(ap, const char *))) {
                const char *type = va_arg(ap, const char *);

                if (*type == 's')
                        assert_true(
                                sd_bus_message_append(call, "{sv}", option, "s", va_arg(ap, char *)) >= 0);
                else
                        assert_true(sd_bus_message_append(call, "{sv}", option, type, va_arg(ap, int)) >= 0);
        }
        assert_true(sd_bus_message_close_container(call) >= 0);
}

static void read_degraded(Machine *machine, sd_bus_message *reply) {
        const char *step, *state, *reason;

        free(TAKE_PTR(machine->degraded));
        assert_true(sd_bus_message_enter_container(reply, 'a', "(sss)") >= 0);
        while (sd_bus_message_read(reply, "(sss)", &step, &state, &reason) > 0) {
                _cleanup_free_ char *line = NULL;

                assert_int_equal(util_asprintf(&line, "%s %s %s", step, state, reason), 0);
                add_line(&machine->degraded, line);
        }
}

char *machine_set_mode(Machine *machine, char **ret_message, const char *mode, ...) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *call, *reply = NULL;
        char *name = NULL;
        va_list ap;
        int r;

        assert_true(sd_bus_message_new_method_call(
                            machine->bus, &call, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "SetMode") >= 0);
        assert_true(sd_bus_message_append(call, "s", mode) >= 0);
        va_start(ap, mode);
        append_options(call, ap);
        va_end(ap);
        r = sd_bus_call(machine->bus, call, 0, &error, &reply);
        if (r < 0)
                name = error_name(&error, ret_message);
        else {
                assert_string_equal(sd_bus_message_get_signature(reply, 1), "a(sss)");
                read_degraded(machine, reply);
        }
        while (sd_bus_process(machine->bus, NULL) > 0)
                ;
        sd_bus_error_free(&error);
        sd_bus_message_unref(call);
        sd_bus_message_unref(reply);
        return name;
}

int machine_lease(Machine *machine, const char *mode, const char *why, char **ret_error) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        int fd = -1, r;

        r = sd_bus_call_method(machine->bus, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "Lease", &error, &reply,
                "ss", mode, why);
        if (r < 0)
                *ret_error = error_name(&error, NULL);
        else {
                assert_true(sd_bus_message_read(reply, "h", &fd) >= 0);
                fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
                assert_true(fd >= 0);
        }
        sd_bus_error_free(&error);
        sd_bus_message_unref(reply);
        return fd;
}

char *machine_leases(Machine *machine) {
        sd_bus_message *reply = NULL;
        const char *id, *mode, *why;
        char *text = strdup("");
        uint64_t since;
        uint32_t pid;
        int r;

        r = sd_bus_call_method(
                machine->bus, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "ListLeases", NULL, &reply, NULL);
        assert_true(r >= 0);
        assert_true(sd_bus_message_enter_container(reply, 'a', "(sssut)") >= 0);
        while (sd_bus_message_read(reply, "(sssut)", &id, &mode, &why, &pid, &since) > 0) {
                char *longer;

                assert_int_equal(pid, getpid());
                assert_true(since > 0);
                assert_int_equal(util_asprintf(&longer, "%s%s:%s:%s ", text, id, mode, why), 0);
                free(text);
                text = longer;
        }
        sd_bus_message_unref(reply);
        return text;
}

char *machine_mode(Machine *machine) {
        char *mode = NULL;
        int r = sd_bus_get_property_string(
                machine->bus, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "Mode", NULL, &mode);

        assert_true(r >= 0);
        return mode;
}

void assert_machine(Machine *machine, const char *mode, const char *interval) {
        _cleanup_free_ char *live_mode = machine_mode(machine),
                            *live = machine_read(machine, MACHINE_INTERVAL);

        if (!streq(live_mode, mode) || !streq(live, interval))
                fail_msg("mode %s, interval %s; wanted %s, %s", live_mode, live, mode, interval);
}

void assert_set_mode(Machine *machine, const char *mode) {
        _cleanup_free_ char *message = NULL, *error = machine_set_mode(machine, &message, mode, NULL);

        if (error)
                fail_msg("%s: %s: %s", mode, error, message);
}

unsigned machine_descriptors(Machine *machine) {
        _cleanup_free_ char *path = NULL;
        struct dirent *entry;
        unsigned n = 0;
        DIR *folder;

        assert_int_equal(util_asprintf(&path, "/proc/%d/fd", (int) machine->pid), 0);
        folder = opendir(path);
        assert_non_null(folder);
        while ((entry = readdir(folder)))
                n += entry->d_name[0] != '.';
        (void) closedir(folder);
        return n;
}
