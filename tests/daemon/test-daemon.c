/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "machine.h"
#include "protocol.h"

static void test_switch(void **state) {
        static const struct {
                const char *mode, *interval;
                unsigned writes; /* since the beginning */
        } table[] = {
                { "quick", "10", 1 },
                { "quick", "10", 1 },
                { "slow", "20", 2 },
                { "green", "1", 3 },
                { "green", "1", 3 },
        };
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        assert_machine(machine, "green", "1");
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                unsigned writes;

                assert_set_mode(machine, table[i].mode);
                assert_machine(machine, table[i].mode, table[i].interval);
                writes = machine_writes(machine, NULL);
                if (writes != table[i].writes)
                        fail_msg("row %zu: %u writes, wanted %u", i, writes, table[i].writes);
        }
        assert_int_equal(machine_end(machine, SIGTERM), 0);
}

static void test_errors(void **state) {
        static const struct {
                const char *mode, *profile, *fail, *name, *message; /* a part of it */
        } table[] = {
                { "nosuch", NULL, NULL, RTISOL_ERROR_NO_SUCH_PROFILE, "'nosuch'" },
                { "../etc/passwd", NULL, NULL, RTISOL_ERROR_NO_SUCH_PROFILE, "name not allowed" },
                { "\x1b[31m\n", NULL, NULL, RTISOL_ERROR_NO_SUCH_PROFILE, "\"\\x1b[31m\\x0a\" is no" },
                { "bad", "[profile]\nrequier = irqs\nx = 1\n", NULL, RTISOL_ERROR_BAD_PROFILE, "bad.ini:2" },
                { "bad", "[profile]\nrequier = irqs\nx = 1\n", NULL, RTISOL_ERROR_BAD_PROFILE, "bad.ini:3" },
                { "all", "[cpuset rt]\ncpus = 0-3\n", NULL, RTISOL_ERROR_REFUSED, "housekeeping" },
                { "slow", NULL, "fail", RTISOL_ERROR_FAILED, MACHINE_INTERVAL },
                { "slow", NULL, "fail", RTISOL_ERROR_FAILED, "Input/output error" },
                { "slow", NULL, "fail", RTISOL_ERROR_FAILED, "undone" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                _cleanup_free_ char *name = NULL, *message = NULL, *path = NULL;

                if (table[i].profile) {
                        assert_int_equal(
                                util_asprintf(&path, "/etc/rtisold/profiles/%s.ini", table[i].mode), 0);
                        tree_put(machine->tree, path, table[i].profile);
                }
                machine_start(machine);
                assert_set_mode(machine, "quick");
                if (table[i].fail)
                        machine_tell(machine, table[i].fail, MACHINE_INTERVAL);
                name = machine_set_mode(machine, &message, table[i].mode, NULL);
                if (!name || !streq(name, table[i].name) || !strstr(message, table[i].message))
                        fail_msg("row %zu: %s: %s", i, name ?: "no error", message ?: "");
                assert_machine(machine, "quick", "10");
        }
}

static void test_options(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *unknown = NULL, *type = NULL, *unconfirmed = NULL, *why = NULL, *lease = NULL;

        machine_start(machine);
        unknown = machine_set_mode(machine, NULL, "quick", "frobnicate", "b", 1, NULL);
        assert_string_equal(unknown, RTISOL_ERROR_BAD_OPTION);
        type = machine_set_mode(machine, NULL, "quick", RTISOL_OPTION_FORCE, "s", "yes", NULL);
        assert_string_equal(type, RTISOL_ERROR_BAD_OPTION);
        unconfirmed = machine_set_mode(machine, NULL, "", RTISOL_OPTION_CONFIRMED, "b", 1, NULL);
        assert_string_equal(unconfirmed, RTISOL_ERROR_REFUSED);
        why = machine_set_mode(machine, NULL, "quick", RTISOL_OPTION_WHY, "s", "a\x1b[31m", NULL);
        assert_string_equal(why, RTISOL_ERROR_REFUSED);
        assert_int_equal(machine_lease(machine, "quick", "two\nlines", &lease), -1);
        assert_string_equal(lease, RTISOL_ERROR_REFUSED);
        assert_machine(machine, "green", "1");
}

#define FEATURES "/sys/kernel/debug/sched/features"

/* What was left out on request is told, and stays left out until somebody asks for the mode without that. */
static void test_no_disturb(void **state) {
        static const struct {
                const char *key, *error, *degraded; /* of the reply */
        } table[] = {
                { "-HRTICK", NULL, "sched_feature/HRTICK refused left out" },
                { "HRTICK", RTISOL_ERROR_REFUSED, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                _cleanup_free_ char *error = NULL, *live = NULL, *profile = NULL;

                assert_int_equal(util_asprintf(&profile,
                                         "[sched_features]\n%s = on\n[sysctl]\nvm.stat_interval = 10\n",
                                         table[i].key),
                        0);
                tree_put(machine->tree, "/etc/rtisold/profiles/feature.ini", profile);
                tree_put(machine->tree, FEATURES, "GENTLE NO_HRTICK\n");
                machine_start(machine);
                error = machine_set_mode(machine, NULL, "feature", RTISOL_OPTION_NO_DISTURB, "b", 1, NULL);
                assert_string_equal(error ?: "", table[i].error ?: "");
                assert_int_equal(!!machine->degraded, !!table[i].degraded);
                if (table[i].degraded && !util_startswith(machine->degraded, table[i].degraded))
                        fail_msg("%s", machine->degraded);
                live = machine_read(machine, FEATURES);
                assert_string_equal(live, "GENTLE NO_HRTICK");
                assert_machine(machine, table[i].error ? "green" : "feature", table[i].error ? "1" : "10");
                if (table[i].error)
                        continue;
                tree_put(machine->tree, "/etc/rtisold/profiles/feature.ini.d/1.ini",
                        "[sysctl]\nvm.stat_interval = 20\n");
                (void) kill(machine->pid, SIGHUP);
                machine_await(machine, MACHINE_INTERVAL, "20");
                free(TAKE_PTR(live));
                live = machine_read(machine, FEATURES);
                assert_string_equal(live, "GENTLE NO_HRTICK");
                assert_set_mode(machine, "feature");
                machine_await(machine, FEATURES, "GENTLE HRTICK");
                assert_set_mode(machine, "green");
                machine_await(machine, FEATURES, "GENTLE NO_HRTICK");
        }
}

/* How often any thread of the daemon ran and stopped. */
static unsigned long count_wakeups(pid_t pid) {
        char path[64], line[128];
        _cleanup_fclose_ FILE *f = NULL;
        unsigned long total = 0, n;

        (void) snprintf(path, sizeof(path), "/proc/%d/status", pid);
        f = fopen(path, "re");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
                        sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
                        total += n;
        return total;
}

/* Idle, it wakes up never: neither in green, nor in a mode, nor after somebody asked. */
static void test_idle(void **state) {
        static const char *const modes[] = { NULL, "set", "green" };
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                unsigned long before;

                if (modes[i])
                        assert_set_mode(machine, modes[i]);
                (void) sleep(2); /* what a switch stirs up is over */
                before = count_wakeups(machine->pid);
                (void) sleep(3);
                if (count_wakeups(machine->pid) != before)
                        fail_msg("%s: %lu wake-ups", modes[i] ?: "at the start",
                                count_wakeups(machine->pid) - before);
        }
}

/* No file bars the way back, and what was left out for it is told. */
static void test_broken_green(void **state) {
        static const struct {
                const char *file, *text, *notice, *degraded; /* NULL: none */
        } table[] = {
                { "green.ini", "[sysctl]\nvm.stat_interval = 1\n", NULL, NULL },
                { "green.ini", "[broken\n", "green.ini:1: ", "profile/green refused its files have errors" },
                { "green.ini.d/1.ini", "[cpuset rt]\ncpus = 1\n", "1.ini:1: ", "profile/green refused" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();

                tree_putf(machine->tree, table[i].text, "/etc/rtisold/profiles/%s", table[i].file);
                machine_start(machine);
                assert_set_mode(machine, "quick");
                assert_set_mode(machine, "green");
                assert_machine(machine, "green", "1");
                if (!machine->notices != !table[i].notice || !machine->degraded != !table[i].degraded ||
                        (table[i].notice && !strstr(machine->notices, table[i].notice)) ||
                        (table[i].degraded && !util_startswith(machine->degraded, table[i].degraded)))
                        fail_msg("%s: %s: notices %s, degraded %s", table[i].file, table[i].text,
                                machine->notices, machine->degraded);
        }
}

/* What somebody else changed is left, and who asks for the switch is told, whoever else listens. */
static void test_notices(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        assert_set_mode(machine, "quick");
        assert_null(machine->notices);
        tree_put(machine->tree, MACHINE_INTERVAL, "5\n");
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "5");
        assert_non_null(machine->notices);
        if (!strstr(machine->notices, MACHINE_INTERVAL " reads 5, "))
                fail_msg("%s", machine->notices);
}

static void test_restart_adopts(void **state) {
        static const int signals[] = { SIGTERM, SIGKILL, SIGINT };

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                unsigned writes;

                machine_start(machine);
                assert_set_mode(machine, "quick");
                writes = machine_writes(machine, NULL);
                (void) machine_end(machine, signals[i]);
                machine_start(machine);
                assert_machine(machine, "quick", "10");
                assert_int_equal(machine_writes(machine, NULL), writes);
                assert_set_mode(machine, "green");
                assert_machine(machine, "green", "1");
        }
}

/* The undo fails too: that has a name of its own, and green goes on trying. */
static void test_incomplete(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL, *message = NULL;

        tree_put(machine->tree, "/etc/rtisold/profiles/two.ini",
                "[sysctl]\nvm.stat_interval = 10\nvm.swappiness = 10\n");
        tree_put(machine->tree, "/proc/sys/vm/swappiness", "60\n");
        machine_start(machine);
        machine_tell(machine, "fail", "/proc/sys/vm/swappiness");
        machine_tell(machine, "fail-twice", MACHINE_INTERVAL);
        error = machine_set_mode(machine, &message, "two", NULL);
        if (!error || !streq(error, RTISOL_ERROR_FAILED_INCOMPLETE) || !strstr(message, MACHINE_INTERVAL))
                fail_msg("%s: %s", error ?: "no error", message ?: "");
        assert_machine(machine, "green", "10");
        machine_tell(machine, "fail", "");
        machine_tell(machine, "fail-twice", "");
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
}

/* Killed in a switch from A to B: back to A. */
static void test_killed_in_switch(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL;

        machine_start(machine);
        assert_set_mode(machine, "quick");
        machine_tell(machine, "die", MACHINE_INTERVAL);
        error = machine_set_mode(machine, NULL, "slow", NULL);
        assert_non_null(error);
        assert_true(WIFSIGNALED(machine_end(machine, 0)));
        machine_start(machine);
        assert_machine(machine, "quick", "10");
}

static void test_boot_mode(void **state) {
        static const struct {
                const char *conf, *mode, *interval;
        } table[] = {
                { "[daemon]\nmode = quick\n", "quick", "10" },
                { "[daemon]\n", "green", "1" },
                { "[daemon]\nmode = nosuch\n", "green", "1" },
                { "[daemon]\nmood = quick\n", "green", "1" },
                { "[daemon]\nmode = all\n", "green", "1" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();

                tree_put(machine->tree, "/etc/rtisold/profiles/all.ini", "[cpuset rt]\ncpus = 0-3\n");
                tree_put(machine->tree, "/etc/rtisold/rtisold.conf", table[i].conf);
                machine_start(machine);
                assert_machine(machine, table[i].mode, table[i].interval);
        }
}

/* The boot mode is entered once a boot: who went green on purpose stays green over a restart. */
static void test_boot_mode_once(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        tree_put(machine->tree, "/etc/rtisold/rtisold.conf", "[daemon]\nmode = quick\n");
        machine_start(machine);
        assert_set_mode(machine, "green");
        (void) machine_end(machine, SIGTERM);
        machine_start(machine);
        assert_machine(machine, "green", "1");
}

static void test_on_stop(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *live = NULL;

        tree_put(machine->tree, "/etc/rtisold/rtisold.conf", "[daemon]\nmode = quick\non_stop = green\n");
        machine_start(machine);
        assert_machine(machine, "quick", "10");
        assert_int_equal(machine_end(machine, SIGTERM), 0);
        live = machine_read(machine, MACHINE_INTERVAL);
        assert_string_equal(live, "1");
        machine_start(machine);
        assert_machine(machine, "quick", "10");
}

static void test_confirm(void **state) {
        static const struct {
                const char *what;
                bool confirmed, killed, other;
                const char *failing;         /* one that asks for more time and fails */
                const char *mode, *interval; /* after the time is up */
        } table[] = {
                { "not confirmed", false, false, false, NULL, "quick", "10" },
                { "confirmed", true, false, false, NULL, "slow", "20" },
                { "killed meanwhile", false, true, false, NULL, "quick", "10" },
                { "another switch", false, false, true, NULL, "green", "1" },
                { "another switch that is refused", false, false, false, "nosuch", "quick", "10" },
                { "another switch that is undone", false, false, false, "broken", "quick", "10" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                _cleanup_free_ char *error = NULL, *mode = NULL, *live = NULL;

                tree_put(machine->tree, "/etc/rtisold/profiles/broken.ini", "[sysctl]\nvm.nosuch = 1\n");
                machine_start(machine);
                assert_set_mode(machine, "quick");
                error = machine_set_mode(machine, NULL, "slow", RTISOL_OPTION_CONFIRM, "u", 1, NULL);
                assert_null(error);
                assert_machine(machine, "slow", "20");
                if (table[i].confirmed)
                        error = machine_set_mode(
                                machine, NULL, "slow", RTISOL_OPTION_CONFIRMED, "b", 1, NULL);
                assert_null(error);
                if (table[i].other)
                        assert_set_mode(machine, "green");
                if (table[i].failing)
                        error = machine_set_mode(
                                machine, NULL, table[i].failing, RTISOL_OPTION_CONFIRM, "u", 600, NULL);
                assert_int_equal(!!error, !!table[i].failing);
                if (table[i].killed) {
                        (void) machine_end(machine, SIGKILL);
                        machine_start(machine);
                }
                (void) usleep(1500000);
                mode = machine_mode(machine);
                live = machine_read(machine, MACHINE_INTERVAL);
                if (!streq(mode, table[i].mode) || !streq(live, table[i].interval))
                        fail_msg("%s: mode %s, %s", table[i].what, mode, live);
        }
}

static void test_leases(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL, *refused = NULL, *leases = NULL, *again = NULL;
        int first, second, other;

        machine_start(machine);
        first = machine_lease(machine, "quick", "a test", &error);
        assert_true(first >= 0);
        second = machine_lease(machine, "", "another", &error);
        assert_true(second >= 0);
        assert_machine(machine, "quick", "10");
        leases = machine_leases(machine);
        assert_string_equal(leases, "1:quick:a test 2:quick:another ");
        other = machine_lease(machine, "slow", "", &error);
        assert_int_equal(other, -1);
        assert_string_equal(error, RTISOL_ERROR_REFUSED);
        refused = machine_set_mode(machine, NULL, "green", NULL);
        assert_string_equal(refused, RTISOL_ERROR_REFUSED);
        /* One is closed while the daemon is away; the other outlives it. */
        (void) machine_end(machine, SIGKILL);
        (void) close(second);
        machine_start(machine);
        for (int i = 0; i < 100; i++) {
                free(again);
                again = machine_leases(machine);
                if (streq(again, "1:quick:a test "))
                        break;
                (void) usleep(20000);
        }
        assert_string_equal(again, "1:quick:a test ");
        assert_machine(machine, "quick", "10");
        (void) close(first);
        machine_await(machine, MACHINE_INTERVAL, "1");
        assert_machine(machine, "green", "1");
}

static void await_mode(Machine *machine, const char *mode, const char *what) {
        _cleanup_free_ char *live = NULL;

        for (int i = 0; i < 500; i++) {
                free(live);
                live = machine_mode(machine);
                if (streq(live, mode))
                        return;
                (void) usleep(20000);
        }
        fail_msg("%s: in mode %s, not %s", what, live, mode);
}

/* Leases of two modes, one as strict as both: taken in any order, given back in any order, with the daemon killed
 * or not while one of them is given back. */
static void test_lease_strictest(void **state) {
        static const struct {
                const char *first, *second, *both,
                        *left[2]; /* the mode when the first, the second is released */
        } rows[] = {
                { "set", "wide", "wide", { "wide", "set" } },
                { "wide", "set", "wide", { "set", "wide" } },
                { "wide", "wide", "wide", { "wide", "wide" } },
                { "wide", "", "wide", { "wide", "wide" } },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows) * 4; i++) {
                size_t row = i / 4, over = i % 2;
                _cleanup_machine_ Machine *machine = machine_new();
                _cleanup_free_ char *error = NULL;
                bool killed = i % 4 >= 2;
                int fds[2];

                if (killed && row >= 2)
                        continue;
                machine_start(machine);
                fds[0] = machine_lease(machine, rows[row].first, "", &error);
                fds[1] = machine_lease(machine, rows[row].second, "", &error);
                assert_true(fds[0] >= 0 && fds[1] >= 0);
                await_mode(machine, rows[row].both, rows[row].first);
                if (killed)
                        (void) machine_end(machine, SIGKILL);
                (void) close(fds[over]);
                if (killed)
                        machine_start(machine);
                await_mode(machine, rows[row].left[over], over ? "second released" : "first released");
                (void) close(fds[!over]);
                await_mode(machine, "green", "both released");
                assert_machine(machine, "green", "1");
        }
}

/* The mode before serves the lease: it stays, and a switch to one that serves it, too, is where the last release
 * leads to. */
static void test_lease_under_mode(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL, *refused = NULL, *message = NULL;
        int fd, other;

        machine_start(machine);
        assert_set_mode(machine, "set");
        fd = machine_lease(machine, "set", "", &error);
        assert_true(fd >= 0);
        other = machine_lease(machine, "quick", "", &error);
        assert_int_equal(other, -1);
        refused = machine_set_mode(machine, &message, "quick", NULL);
        assert_string_equal(refused, RTISOL_ERROR_REFUSED);
        assert_non_null(strstr(message, "quick does not satisfy set: it has no set rt"));
        assert_set_mode(machine, "wide");
        (void) close(fd);
        (void) usleep(300000);
        await_mode(machine, "wide", "the switch under the lease");
}

/* The way back fails, and is tried again. */
static void test_lease_release_fails(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL;
        int fd;

        machine_start(machine);
        fd = machine_lease(machine, "wide", "", &error);
        assert_true(fd >= 0);
        /* Something runs in the set still. */
        tree_put(machine->tree, "/sys/fs/cgroup/rtisol.slice/cgroup.events", "populated 1\n");
        (void) close(fd);
        (void) usleep(600000);
        await_mode(machine, "wide", "while it runs");
        tree_put(machine->tree, "/sys/fs/cgroup/rtisol.slice/cgroup.events", "populated 0\n");
        await_mode(machine, "green", "once it has ended");
}

static void test_lease_forced(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL, *leases = NULL;
        int fd;

        machine_start(machine);
        fd = machine_lease(machine, "quick", "", &error);
        assert_true(fd >= 0);
        error = machine_set_mode(machine, NULL, "slow", RTISOL_OPTION_FORCE, "b", 1, NULL);
        assert_null(error);
        leases = machine_leases(machine);
        assert_string_equal(leases, "");
        (void) close(fd);
        (void) usleep(200000);
        assert_machine(machine, "slow", "20");
}

/* A SIGHUP in the middle of a switch is heard after it; what it changes comes last. */
static void test_hup_queues(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        machine_tell(machine, "hup", MACHINE_INTERVAL);
        assert_set_mode(machine, "slow");
        assert_machine(machine, "slow", "20");
        machine_tell(machine, "hup", "");
        tree_put(machine->tree, "/etc/rtisold/profiles/slow.ini", "[sysctl]\nvm.stat_interval = 25\n");
        (void) kill(machine->pid, SIGHUP);
        machine_await(machine, MACHINE_INTERVAL, "25");
        assert_machine(machine, "slow", "25");
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
}

/* Many at once: each is answered, in order, and the last one counts. */
static void test_many_requests(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        for (int i = 0; i < 20; i++) {
                int r = sd_bus_call_method_async(machine->bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE,
                        "SetMode", NULL, NULL, "sa{sv}", i % 2 ? "quick" : "slow", 0);
                assert_true(r >= 0);
        }
        assert_set_mode(machine, "slow");
        assert_machine(machine, "slow", "20");
        assert_int_equal(machine_writes(machine, MACHINE_INTERVAL), 21);
}

static char *drift_of(Machine *machine) {
        sd_bus_message *reply = NULL;
        const char *step, *wanted, *live, *writer;
        char *text = strdup("");

        assert_true(sd_bus_get_property(machine->bus, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "Drift", NULL,
                            &reply, "a(ssss)") >= 0);
        assert_true(sd_bus_message_enter_container(reply, 'a', "(ssss)") >= 0);
        while (sd_bus_message_read(reply, "(ssss)", &step, &wanted, &live, &writer) > 0) {
                char *longer;

                assert_int_equal(util_asprintf(&longer, "%s%s=%s ", text, step, live), 0);
                free(text);
                text = longer;
        }
        sd_bus_message_unref(reply);
        return text;
}

static int on_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (*(unsigned *) userdata)++;
        return 0;
}

static bool await_signals(Machine *machine, const unsigned *n, unsigned wanted) {
        for (int i = 0; i < 100 && *n < wanted; i++) {
                while (sd_bus_process(machine->bus, NULL) > 0)
                        ;
                if (*n < wanted)
                        (void) sd_bus_wait(machine->bus, 50000);
        }
        return *n >= wanted;
}

/* A partition that turns invalid is noticed without anybody asking, reported, and not fought. */
static void test_drift(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *before = NULL, *after = NULL, *live = NULL, *mended = NULL;
        unsigned signals = 0, writes;

        machine_start(machine);
        assert_set_mode(machine, "set");
        before = drift_of(machine);
        assert_string_equal(before, "");
        assert_true(
                sd_bus_match_signal(machine->bus, NULL, NULL, RTISOL_OBJECT,
                        "org.freedesktop.DBus.Properties", "PropertiesChanged", on_changed, &signals) >= 0);
        while (sd_bus_process(machine->bus, NULL) > 0)
                ;
        signals = 0;
        writes = machine_writes(machine, NULL);
        tree_put(machine->tree, MACHINE_PARTITION,
                "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n");
        assert_true(await_signals(machine, &signals, 1));
        after = drift_of(machine);
        if (!strstr(after, "cpuset/rt/partition=isolated invalid (Cpu list in cpuset.cpus not exclusive)"))
                fail_msg("drift: %s", after);
        live = machine_read(machine, MACHINE_PARTITION);
        assert_string_equal(live, "isolated invalid (Cpu list in cpuset.cpus not exclusive)");
        assert_int_equal(machine_writes(machine, NULL), writes);
        assert_set_mode(machine, "set");
        mended = machine_read(machine, MACHINE_PARTITION);
        assert_string_equal(mended, "isolated");
}

/* One switch, one signal for all that it changed, and progress on the way. */
static void test_signals(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        unsigned changed = 0, progress = 0;

        machine_start(machine);
        assert_true(
                sd_bus_match_signal(machine->bus, NULL, NULL, RTISOL_OBJECT,
                        "org.freedesktop.DBus.Properties", "PropertiesChanged", on_changed, &changed) >= 0);
        assert_true(sd_bus_match_signal(machine->bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE,
                            "Progress", on_changed, &progress) >= 0);
        assert_set_mode(machine, "quick");
        assert_true(await_signals(machine, &changed, 1));
        assert_int_equal(changed, 1);
        assert_int_equal(progress, 1);
}

/* The way back is heard of, too: the watchdog waits for a step, not for a whole undo. */
static void test_undo_signals(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL;
        unsigned progress = 0;

        tree_put(machine->tree, "/etc/rtisold/profiles/two.ini",
                "[sysctl]\nvm.stat_interval = 10\nvm.swappiness = 10\n");
        tree_put(machine->tree, "/proc/sys/vm/swappiness", "60\n");
        machine_start(machine);
        machine_tell(machine, "fail", "/proc/sys/vm/swappiness");
        assert_true(sd_bus_match_signal(machine->bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE,
                            "Progress", on_changed, &progress) >= 0);
        error = machine_set_mode(machine, NULL, "two", NULL);
        assert_string_equal(error, RTISOL_ERROR_FAILED);
        assert_true(await_signals(machine, &progress, 2));
        assert_int_equal(progress, 2); /* the first step there and the first one back */
        assert_machine(machine, "green", "1");
}

/* Somebody else is turned away at the door. */
static void test_peer_credentials(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *path = NULL;
        struct stat st;

        machine_start(machine);
        assert_int_equal(util_asprintf(&path, "%s/private", machine->runtime), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        (void) machine_end(machine, SIGTERM);
        machine->uid = getuid() + 1;
        machine_start(machine);
        {
                char *mode = NULL;
                int r = sd_bus_get_property_string(
                        machine->bus, NULL, RTISOL_OBJECT, RTISOL_INTERFACE, "Mode", NULL, &mode);

                assert_null(mode);
                assert_true(r < 0);
        }
}

/* Neither switches nor leases nor clients leave a descriptor behind. */
static void test_no_leaks(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        unsigned before, after;

        machine_start(machine);
        assert_set_mode(machine, "set");
        assert_set_mode(machine, "green");
        before = machine_descriptors(machine);
        for (int i = 0; i < 50; i++) {
                _cleanup_free_ char *error = NULL;
                _cleanup_close_ int fd = -1;

                assert_set_mode(machine, i % 2 ? "set" : "slow");
                assert_set_mode(machine, "green");
                fd = machine_lease(machine, "quick", "", &error);
                assert_true(fd >= 0);
        }
        for (int i = 0; i < 100; i++) {
                _cleanup_free_ char *leases = machine_leases(machine);

                if (!*leases)
                        break;
                (void) usleep(20000);
        }
        after = machine_descriptors(machine);
        if (after != before)
                fail_msg("%u descriptors before, %u after", before, after);
}

static void test_state_file(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *green = NULL, *quick = NULL;

        machine_start(machine);
        assert_true(machine_has(machine, "state.json"));
        green = machine_read(machine, "/runtime/state.json");
        assert_set_mode(machine, "quick");
        quick = machine_read(machine, "/runtime/state.json");
        assert_non_null(strstr(green, "\"green\""));
        assert_non_null(strstr(quick, "\"quick\""));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_switch),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_options),
                cmocka_unit_test(test_no_disturb),
                cmocka_unit_test(test_idle),
                cmocka_unit_test(test_broken_green),
                cmocka_unit_test(test_notices),
                cmocka_unit_test(test_restart_adopts),
                cmocka_unit_test(test_incomplete),
                cmocka_unit_test(test_killed_in_switch),
                cmocka_unit_test(test_boot_mode),
                cmocka_unit_test(test_boot_mode_once),
                cmocka_unit_test(test_on_stop),
                cmocka_unit_test(test_confirm),
                cmocka_unit_test(test_leases),
                cmocka_unit_test(test_lease_strictest),
                cmocka_unit_test(test_lease_under_mode),
                cmocka_unit_test(test_lease_release_fails),
                cmocka_unit_test(test_lease_forced),
                cmocka_unit_test(test_hup_queues),
                cmocka_unit_test(test_many_requests),
                cmocka_unit_test(test_drift),
                cmocka_unit_test(test_signals),
                cmocka_unit_test(test_undo_signals),
                cmocka_unit_test(test_peer_credentials),
                cmocka_unit_test(test_no_leaks),
                cmocka_unit_test(test_state_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
