/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "machine.h"
#include "protocol.h"

/* Neighbours who are root and mean no good, or are broken: whatever they do to the private socket, everybody else is
 * served, nothing grows, and the mode is what was asked for last. */

#define CROWD 1000
#define GREETING "\0AUTH ANONYMOUS 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"

static int join(Machine *machine) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r = 0;

        assert_true(fd >= 0);
        (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/private", machine->runtime);
        /* The queue of connections is short: who comes in a crowd tries again. */
        for (int i = 0; i < 1000; i++) {
                r = connect(fd, (struct sockaddr *) &address, sizeof(address));
                if (r == 0 || errno != EAGAIN)
                        break;
                (void) usleep(5000);
        }
        assert_int_equal(r, 0);
        return fd;
}

static void assert_descriptors(Machine *machine, unsigned wanted) {
        unsigned n = 0;

        for (int i = 0; i < 500; i++) {
                n = machine_descriptors(machine);
                if (n == wanted)
                        return;
                (void) usleep(20000);
        }
        fail_msg("the daemon has %u descriptors, %u before", n, wanted);
}

/* A thousand that connect and say nothing, or half of something: who was there before goes on, and when they are gone
 * so is all they took. */
static void test_crowd(void **state) {
        static const struct {
                const char *bytes;
                size_t size;
        } table[] = {
                { NULL, 0 },
                { "\0", 1 },
                { "\0AUTH", 5 },
                { GREETING, sizeof(GREETING) - 1 },
                { GREETING "l\1\0", sizeof(GREETING) + 2 },
                /* A header that announces 64 MiB. */
                { GREETING "l\1\0\1\0\0\0\4\1\0\0\0\x10\0\0\0", sizeof(GREETING) + 15 },
                /* One that announces more than a message may have. */
                { GREETING "l\1\0\1\xff\xff\xff\x7f\1\0\0\0\xff\xff\xff\x7f", sizeof(GREETING) + 15 },
                { "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27 },
        };
        _cleanup_machine_ Machine *machine = machine_new();
        static int crowd[CROWD];
        unsigned before;

        machine_start(machine);
        assert_set_mode(machine, "quick");
        before = machine_descriptors(machine);
        for (size_t i = 0; i < CROWD; i++) {
                size_t row = i % ARRAY_SIZE(table);

                crowd[i] = join(machine);
                if (table[row].size > 0)
                        (void) !send(crowd[i], table[row].bytes, table[row].size, MSG_NOSIGNAL);
                if (i % 200 == 0)
                        assert_set_mode(machine, i % 400 ? "slow" : "quick");
        }
        assert_set_mode(machine, "slow");
        assert_machine(machine, "slow", "20");
        for (size_t i = 0; i < CROWD; i++)
                (void) close(crowd[i]);
        assert_descriptors(machine, before);
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
        assert_int_equal(machine_end(machine, SIGTERM), 0);
}

#define MANY 100
#define LONG                                                                                                \
        "a_name_as_long_as_a_name_may_be_so_that_the_buffers_of_the_kernel_are_full_sooner_than_it_gets_"   \
        "boring_"                                                                                           \
        "to_wait_for_it_which_takes_some_megabytes_and_many_thousands_of_signals_each_of_which_names_its_"  \
        "step_"

/* Two profiles of many steps: each step is a signal. */
static void put_many(Machine *machine) {
        _cleanup_free_ char *one = strdup("[sysctl]\n"), *two = strdup("[sysctl]\n");

        for (int i = 0; i < MANY; i++) {
                char *longer_one, *longer_two;

                tree_putf(machine->tree, "0\n", "/proc/sys/vm/" LONG "%d", i);
                assert_int_equal(util_asprintf(&longer_one, "%svm." LONG "%d = 1\n", one, i), 0);
                assert_int_equal(util_asprintf(&longer_two, "%svm." LONG "%d = 2\n", two, i), 0);
                free(one);
                free(two);
                one = longer_one;
                two = longer_two;
        }
        tree_put(machine->tree, "/etc/rtisold/profiles/one.ini", one);
        tree_put(machine->tree, "/etc/rtisold/profiles/two.ini", two);
}

/* Clients that listen and never read: what they are told does not pile up for ever.  A socket of sd-bus takes 8 MiB,
 * so it takes about 140 switches until it does. */
static void test_deaf(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        size_t before, after;
        int deaf[2];

        put_many(machine);
        machine_start(machine);
        for (size_t i = 0; i < ARRAY_SIZE(deaf); i++) {
                deaf[i] = join(machine);
                assert_int_equal(
                        send(deaf[i], GREETING, sizeof(GREETING) - 1, MSG_NOSIGNAL), sizeof(GREETING) - 1);
        }
        for (int i = 0; i < 200; i++)
                assert_set_mode(machine, i % 2 ? "one" : "two");
        before = machine_memory(machine);
        for (int i = 0; i < 50; i++)
                assert_set_mode(machine, i % 2 ? "one" : "two");
        after = machine_memory(machine);
        if (after > before + 65536)
                fail_msg("%zu bytes allocated before 50 switches, %zu after", before, after);
        for (size_t i = 0; i < ARRAY_SIZE(deaf); i++)
                (void) close(deaf[i]);
}

typedef struct Storm {
        sd_bus *bus;
        unsigned sent, answered, errors;
        uint64_t last; /* the request that was answered last */
} Storm;

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Storm *storm = userdata;
        uint64_t request;

        if (!storm)
                return 1;
        assert_true(sd_bus_message_get_reply_cookie(reply, &request) >= 0);
        assert_true(request > storm->last);
        storm->last = request;
        storm->answered++;
        storm->errors += sd_bus_message_is_method_error(reply, NULL) > 0;
        return 1;
}

static void storm_open(Storm *storm, Machine *machine) {
        _cleanup_free_ char *address = NULL;

        assert_int_equal(util_asprintf(&address, "unix:path=%s/private", machine->runtime), 0);
        assert_true(sd_bus_new(&storm->bus) >= 0 && sd_bus_set_address(storm->bus, address) >= 0);
        assert_true(sd_bus_start(storm->bus) >= 0);
}

static void storm_send(Storm *storm, const char *mode) {
        assert_true(sd_bus_call_method_async(storm->bus, NULL, NULL, RTISOL_OBJECT, RTISOL_INTERFACE,
                            "SetMode", on_answer, storm, "sa{sv}", mode, 0) >= 0);
        storm->sent++;
}

static void storm_wait(Storm *storm) {
        for (int i = 0; i < 6000 && storm->answered < storm->sent; i++) {
                int r = sd_bus_process(storm->bus, NULL);

                assert_true(r >= 0);
                if (r == 0)
                        (void) sd_bus_wait(storm->bus, 10000);
        }
        assert_int_equal(storm->answered, storm->sent);
        assert_int_equal(storm->errors, 0);
}

/* Several clients and SIGHUPs at once: every request is answered, each client's in the order it sent them, and the last
 * one counts. */
static void test_storm(void **state) {
        static const char *const modes[] = { "quick", "slow", "green" };
        _cleanup_machine_ Machine *machine = machine_new();
        Storm storms[4] = {};
        unsigned before;

        machine_start(machine);
        before = machine_descriptors(machine);
        for (size_t i = 0; i < ARRAY_SIZE(storms); i++)
                storm_open(&storms[i], machine);
        for (size_t round = 0; round < 30; round++) {
                for (size_t i = 0; i < ARRAY_SIZE(storms); i++) {
                        storm_send(&storms[i], modes[(round + i) % ARRAY_SIZE(modes)]);
                        assert_true(sd_bus_flush(storms[i].bus) >= 0);
                }
                assert_int_equal(kill(machine->pid, SIGHUP), 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(storms); i++)
                storm_wait(&storms[i]);
        assert_set_mode(machine, "slow");
        assert_machine(machine, "slow", "20");
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
        for (size_t i = 0; i < ARRAY_SIZE(storms); i++)
                sd_bus_close_unref(storms[i].bus);
        assert_descriptors(machine, before);
}

/* A switch that is under way when its client leaves is finished, and the next client sees the truth. */
static void test_gone(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        for (int i = 0; i < 20; i++) {
                Storm storm = {};

                storm_open(&storm, machine);
                storm_send(&storm, i % 2 ? "quick" : "slow");
                assert_true(sd_bus_flush(storm.bus) >= 0);
                sd_bus_close_unref(storm.bus);
        }
        assert_set_mode(machine, "set");
        assert_machine(machine, "set", "30");
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
}

#define SILENT 200

static int ask(sd_bus *bus, unsigned questions) {
        int r = 0;

        for (unsigned i = 0; r >= 0 && i < questions; i++)
                r = sd_bus_call_method_async(bus, NULL, NULL, RTISOL_OBJECT,
                        "org.freedesktop.DBus.Properties", "GetAll", on_answer, NULL, "s", RTISOL_INTERFACE);
        return r < 0 ? r : sd_bus_flush(bus);
}

/* Connects and greets, asks as often as wanted, and neither reads nor says anything from then on. */
static sd_bus *join_and_ask(Machine *machine, unsigned questions) {
        Storm storm = {};

        storm_open(&storm, machine);
        assert_true(ask(storm.bus, questions) >= 0);
        return storm.bus;
}

/* More than the socket has places, whether they said nothing, or greeted, or once asked: the next client is served,
 * and who speaks now and then stays. */
static void test_silent(void **state) {
        static const struct {
                bool greets;
                unsigned questions;
        } table[] = { { false, 0 }, { true, 0 }, { true, 1 } };
        _cleanup_machine_ Machine *machine = machine_new();
        static sd_bus *buses[SILENT];
        static int fds[SILENT];

        machine_start(machine);
        for (size_t row = 0; row < ARRAY_SIZE(table); row++) {
                for (size_t i = 0; i < SILENT; i++) {
                        if (table[row].greets)
                                buses[i] = join_and_ask(machine, table[row].questions);
                        else
                                fds[i] = join(machine);
                        if (i % 50 == 49)
                                assert_set_mode(machine, i % 100 == 99 ? "quick" : "slow");
                }
                machine_connect(machine);
                assert_set_mode(machine, "set");
                assert_machine(machine, "set", "30");
                for (size_t i = 0; i < SILENT; i++) {
                        if (table[row].greets)
                                sd_bus_close_unref(buses[i]);
                        else
                                (void) close(fds[i]);
                }
        }
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
        assert_int_equal(machine_end(machine, SIGTERM), 0);
}

/* A thousand that ask and never read the answer: nothing grows. */
static void test_answers_unread(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        static sd_bus *crowd[CROWD];
        size_t before, after;
        unsigned descriptors;

        machine_start(machine);
        assert_set_mode(machine, "slow");
        assert_set_mode(machine, "quick");
        before = machine_memory(machine);
        descriptors = machine_descriptors(machine);
        for (size_t i = 0; i < CROWD; i++) {
                crowd[i] = join_and_ask(machine, 1);
                if (i % 50 == 49)
                        assert_set_mode(machine, i % 100 == 99 ? "quick" : "slow");
        }
        for (size_t i = 0; i < CROWD; i++)
                sd_bus_close_unref(crowd[i]);
        assert_descriptors(machine, descriptors);
        assert_set_mode(machine, "slow");
        assert_set_mode(machine, "quick");
        after = machine_memory(machine);
        if (after > before + 262144)
                fail_msg("%zu bytes allocated before the crowd, %zu after", before, after);
}

/* Who asks on and on and never reads is dropped before the answers fill the memory. */
static void test_insatiable(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        Storm storm = {};
        int r = 0;

        machine_start(machine);
        storm_open(&storm, machine);
        for (int i = 0; r >= 0 && i < 200; i++)
                r = ask(storm.bus, 500);
        assert_true(r == -EPIPE || r == -ECONNRESET || r == -ENOTCONN);
        assert_set_mode(machine, "quick");
        sd_bus_close_unref(storm.bus);
}

int main(void) {
        static const struct rlimit many = { 4096, 4096 };
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_crowd),
                cmocka_unit_test(test_deaf),
                cmocka_unit_test(test_storm),
                cmocka_unit_test(test_gone),
                cmocka_unit_test(test_silent),
                cmocka_unit_test(test_answers_unread),
                cmocka_unit_test(test_insatiable),
        };

        (void) setrlimit(RLIMIT_NOFILE, &many);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
