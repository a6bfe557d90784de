/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ftw.h>
#include <signal.h>

#include "machine.h"
#include "protocol.h"

/* The runtime folder, or a part of it, is taken away under the daemon or between two of its lives. */

/* Takes away a file or folder of the runtime folder.  A daemon that puts it back meanwhile may be faster. */
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
        return remove(path);
}

static void remove_runtime(Machine *machine, const char *name) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(util_asprintf(&path, "%s/%s", machine->runtime, name), 0);
        (void) nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void await_runtime(Machine *machine, const char *name) {
        for (int i = 0; i < 500 && !machine_has(machine, name); i++)
                (void) usleep(20000);
        if (!machine_has(machine, name))
                fail_msg("%s does not come back", name);
}

static void damage_journal(Machine *machine) {
        tree_put(machine->tree, "/runtime/journal/journal", "{ this is no journal\n");
}

/* A journal that is gone or that nobody can read is made up for by the state file beside it. */
static void test_lost_journal(void **state) {
        static const char *const what[] = { "removed", "its file removed", "damaged", "all removed" };

        for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                bool known = i != 3;

                machine_start(machine);
                assert_set_mode(machine, "quick");
                (void) machine_end(machine, i % 2 ? SIGKILL : SIGTERM);
                if (i == 2)
                        damage_journal(machine);
                else
                        remove_runtime(machine, i == 1 ? "journal/journal" : "journal");
                if (!known)
                        remove_runtime(machine, "state.json");
                machine_start(machine);
                assert_machine(machine, known ? "quick" : "green", "10");
                assert_set_mode(machine, "slow");
                assert_machine(machine, "slow", "20");
                assert_set_mode(machine, "green");
                assert_machine(machine, "green", known ? "1" : "10");
        }
}

/* Somebody who went green on purpose is not sent into the boot mode, whatever became of the journal. */
static void test_lost_green(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        tree_put(machine->tree, "/etc/rtisold/rtisold.conf", "[daemon]\nmode = quick\n");
        machine_start(machine);
        assert_set_mode(machine, "green");
        (void) machine_end(machine, SIGTERM);
        remove_runtime(machine, "journal");
        machine_start(machine);
        assert_machine(machine, "green", "1");
}

/* While the daemon runs, it knows what was in the journal: written anew at once, also for a switch that comes at the
 * same time. */
static void test_journal_removed_meanwhile(void **state) {
        static const struct {
                const char *remove;
                bool wait;
        } table[] = { { "journal", false }, { "journal/journal", false }, { "journal", true },
                { "journal/journal", true } };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_machine_ Machine *machine = machine_new();
                const char *mode = table[i].wait ? "quick" : "slow", *interval = table[i].wait ? "10" : "20";

                machine_start(machine);
                assert_set_mode(machine, "quick");
                remove_runtime(machine, table[i].remove);
                remove_runtime(machine, "state.json");
                if (table[i].wait)
                        await_runtime(machine, "state.json");
                else
                        assert_set_mode(machine, "slow");
                assert_true(machine_has(machine, "journal/journal"));
                (void) machine_end(machine, SIGKILL);
                machine_start(machine);
                assert_machine(machine, mode, interval);
                assert_set_mode(machine, "green");
                assert_machine(machine, "green", "1");
        }
}

/* A second removal is seen like the first: the folder that was made anew is watched, too. */
static void test_journal_removed_twice(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        assert_set_mode(machine, "quick");
        for (int i = 0; i < 2; i++) {
                remove_runtime(machine, "journal");
                await_runtime(machine, "journal/journal");
        }
}

/* The whole folder: those on the private socket find it again, too. */
static void test_runtime_removed(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();

        machine_start(machine);
        assert_set_mode(machine, "quick");
        remove_runtime(machine, "leases");
        remove_runtime(machine, "private");
        remove_runtime(machine, "journal");
        remove_runtime(machine, "state.json");
        await_runtime(machine, "private");
        await_runtime(machine, "leases");
        machine_connect(machine);
        assert_machine(machine, "quick", "10");
        assert_set_mode(machine, "green");
        assert_machine(machine, "green", "1");
}

static void assert_refused(Machine *machine, const char *mode, const char *part) {
        _cleanup_free_ char *message = NULL, *error = machine_set_mode(machine, &message, mode, NULL);

        if (!error || !streq(error, RTISOL_ERROR_REFUSED) || !strstr(message, part))
                fail_msg("%s: %s: %s", mode, error ?: "no error", message ?: "");
}

/* All records are gone, and the kernel still isolates: nothing is taken for what was found, until somebody says so; and
 * green takes the partition apart then, since a mode made it. */
static void test_lost_isolation(void **state) {
        _cleanup_machine_ Machine *machine = machine_new();
        _cleanup_free_ char *error = NULL, *partition = NULL, *again = NULL;

        tree_put(machine->tree, "/etc/rtisold/rtisold.conf", "[daemon]\nmode = quick\n");
        machine_start(machine);
        assert_set_mode(machine, "set");
        for (int i = 0; i < 2; i++) {
                (void) machine_end(machine, SIGTERM);
                remove_runtime(machine, "journal");
                if (i == 0)
                        remove_runtime(machine, "state.json");
                machine_start(machine);
                assert_machine(machine, "green", "30");
                partition = machine_read(machine, MACHINE_PARTITION);
                assert_string_equal(partition, "isolated");
                free(TAKE_PTR(partition));
                assert_refused(machine, "quick", "reboot, or add --force");
                assert_refused(machine, "green", "/journal/journal was lost");
        }
        error = machine_set_mode(machine, NULL, "green", RTISOL_OPTION_FORCE, "b", 1, NULL);
        assert_null(error);
        assert_int_equal(kfs_read(machine->tree->kfs, MACHINE_PARTITION, &partition), -ENOENT);
        assert_set_mode(machine, "set");
        again = machine_read(machine, MACHINE_PARTITION);
        assert_string_equal(again, "isolated");
        assert_set_mode(machine, "green");
        assert_int_equal(kfs_read(machine->tree->kfs, MACHINE_PARTITION, &partition), -ENOENT);
        assert_machine(machine, "green", "30");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lost_journal),
                cmocka_unit_test(test_lost_green),
                cmocka_unit_test(test_journal_removed_meanwhile),
                cmocka_unit_test(test_journal_removed_twice),
                cmocka_unit_test(test_runtime_removed),
                cmocka_unit_test(test_lost_isolation),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
