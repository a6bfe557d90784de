/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>

#include "machine.h"
#include "manager.h"
#include "tasks.h"

/* A manager in this process, on the files of a machine. */
typedef struct Place {
        Machine *machine;
        sd_event *event;
        Manager *manager;
        Tasks *tasks;
} Place;

static void put_thread(
        Machine *machine, int pid, int tid, const char *comm, const char *cgroup, const char *cpus) {
        _cleanup_free_ char *stat = NULL, *status = NULL, *group = NULL, *name = NULL;

        assert_int_equal(
                util_asprintf(&stat,
                        "%d (%s) S 1 1 1 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 "
                        "0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                        tid, comm, tid * 10),
                0);
        assert_int_equal(util_asprintf(&status, "Name:\t%s\nCpus_allowed_list:\t%s\n", comm, cpus), 0);
        assert_int_equal(util_asprintf(&group, "0::%s\n", cgroup), 0);
        assert_int_equal(util_asprintf(&name, "%s\n", comm), 0);
        tree_putf(machine->tree, stat, "/proc/%d/task/%d/stat", pid, tid);
        tree_putf(machine->tree, status, "/proc/%d/task/%d/status", pid, tid);
        if (pid != tid)
                return;
        tree_putf(machine->tree, stat, "/proc/%d/stat", pid);
        tree_putf(machine->tree, status, "/proc/%d/status", pid);
        tree_putf(machine->tree, group, "/proc/%d/cgroup", pid);
        tree_putf(machine->tree, name, "/proc/%d/comm", pid);
}

static void put_cgroup(Machine *machine, const char *path) {
        tree_putf(machine->tree, "cpuset cpu\n", "/sys/fs/cgroup%s/cgroup.controllers", path);
        tree_putf(machine->tree, "\n", "/sys/fs/cgroup%s/cgroup.subtree_control", path);
        tree_putf(machine->tree, "\n", "/sys/fs/cgroup%s/cgroup.procs", path);
        tree_putf(machine->tree, "populated 1\n", "/sys/fs/cgroup%s/cgroup.events", path);
        tree_putf(machine->tree, "\n", "/sys/fs/cgroup%s/cpuset.cpus", path);
        tree_putf(machine->tree, "0-3\n", "/sys/fs/cgroup%s/cpuset.cpus.effective", path);
        tree_putf(machine->tree, "member\n", "/sys/fs/cgroup%s/cpuset.cpus.partition", path);
        tree_putf(machine->tree, "\n", "/sys/fs/cgroup%s/cpuset.mems", path);
}

/* Until nothing waits any more. */
static void run_events(Place *place) {
        int r;

        while ((r = sd_event_run(place->event, 0)) > 0)
                ;
        assert_int_equal(r, 0);
}

static void on_done(void *userdata, const Outcome *outcome, int fd) {
        if (outcome->kind != OUTCOME_DONE)
                fail_msg("%s", outcome->message);
        *(bool *) userdata = true;
}

static void place_set_mode(Place *place, const char *mode) {
        bool done = false;

        assert_int_equal(
                manager_set_mode(place->manager, mode, &(ModeOptions){ .by = "test" }, on_done, &done), 0);
        run_events(place);
        assert_true(done);
        tasks_follow(place->tasks);
}

static void place_start(Place *place, const char *profile) {
        static const ManagerHooks hooks;
        ManagerPaths paths;

        place->machine = machine_new();
        tree_put(place->machine->tree, "/etc/rtisold/profiles/placed.ini", profile);
        put_cgroup(place->machine, "/system.slice");
        put_cgroup(place->machine, "/system.slice/x.service");
        paths = (ManagerPaths){ place->machine->tree->root, place->machine->runtime };
        assert_true(sd_event_new(&place->event) >= 0);
        assert_int_equal(manager_new(&paths, place->event, &hooks, NULL, &place->manager), 0);
        assert_int_equal(manager_start(place->manager), 0);
        assert_int_equal(tasks_new(place->event, place->manager, false, &place->tasks), 0);
        place_set_mode(place, "placed");
}

static void place_end(Place *place) {
        tasks_free(place->tasks);
        manager_free(place->manager);
        sd_event_unref(place->event);
        machine_free(place->machine);
}

/* `CGROUP CPUS`, as the files say. */
static char *where_is(Place *place, int pid, int tid) {
        _cleanup_free_ char *cgroup = NULL, *status = NULL;
        char *text;

        assert_int_equal(kfs_readf(place->machine->tree->kfs, &cgroup, "/proc/%d/cgroup", pid), 0);
        assert_int_equal(
                kfs_readf(place->machine->tree->kfs, &status, "/proc/%d/task/%d/status", pid, tid), 0);
        assert_non_null(strstr(status, "list:\t"));
        assert_int_equal(
                util_asprintf(&text, "%s %s", cgroup + strlen("0::"), strstr(status, "list:\t") + 6), 0);
        text[strcspn(text, "\n")] = '\0';
        return text;
}

#define SET "[cpuset rt]\ncpus = 1-3\npartition = isolated\n"
#define CONTROL SET "control_cpus = 1\n"
#define RULE "[task fwd]\nmatch = fwd*\nset = rt\n"
#define INSIDE "/rtisol.slice/rtisol-rt.slice"
#define TASKS INSIDE "/rtisol-rt-tasks.slice"

static void test_exec(void **state) {
        static const struct {
                const char *what, *profile, *comm, *cgroup, *cpus, *placed;
                const char *back; /* the affinity after green */
        } table[] = {
                { "another program", SET RULE, "cat", "/system.slice/x.service", "0-3",
                        "/system.slice/x.service 0-3", "0-3" },
                { "by name", SET RULE "cpus = set:rt\n", "fwd1", "/system.slice/x.service", "0",
                        TASKS " 1-3", "0-3" },
                { "was pinned", SET RULE "cpus = 2\n", "fwd1", "/", "0", TASKS " 2", "0-3" },
                /* The kernel gives a task that comes the CPUs of the set; the files say so from the start. */
                { "without CPUs", SET RULE, "fwd1", "/system.slice/x.service", "1-3", TASKS " 1-3", "1-3" },
                { "by unit", SET "[task x]\nunit = x.service\nset = rt\ncpus = 3\n", "any",
                        "/system.slice/x.service", "0-3", TASKS " 3", "0-3" },
                { "another unit", SET "[task x]\nunit = y.service\nset = rt\n", "any",
                        "/system.slice/x.service", "0-3", "/system.slice/x.service 0-3", "0-3" },
                { "in the set", CONTROL, "any", INSIDE "/a.service", "1-3", INSIDE "/a.service 1", "0-3" },
                { "in the set, pinned", CONTROL, "any", INSIDE "/a.service", "3", INSIDE "/a.service 3",
                        "3" },
                { "in the set, by a rule", CONTROL RULE "cpus = 2-3\n", "fwd", INSIDE "/a.service", "1-3",
                        INSIDE "/a.service 2-3", "0-3" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *placed = NULL, *mended = NULL, *back = NULL, *wanted = NULL;
                Place place;

                place_start(&place, table[i].profile);
                put_thread(place.machine, 100, 100, table[i].comm, table[i].cgroup, table[i].cpus);
                tasks_exec(place.tasks, 100);
                run_events(&place);
                placed = where_is(&place, 100, 100);
                if (!streq(placed, table[i].placed))
                        fail_msg("%s: is at '%s', not '%s'", table[i].what, placed, table[i].placed);
                /* What was placed is at home there: mending leaves it. */
                assert_int_equal(manager_mend(place.manager, SCOPE_ALL), 0);
                run_events(&place);
                mended = where_is(&place, 100, 100);
                if (!streq(mended, placed))
                        fail_msg("%s: mended to '%s' from '%s'", table[i].what, mended, placed);
                place_set_mode(&place, "green");
                back = where_is(&place, 100, 100);
                assert_int_equal(util_asprintf(&wanted, "%s %s", table[i].cgroup, table[i].back), 0);
                if (!streq(back, wanted))
                        fail_msg("%s: is back at '%s', not '%s'", table[i].what, back, wanted);
                place_end(&place);
        }
}

static void check_threads(const char *profile, const char *fwd, const char *log) {
        const struct {
                int tid;
                const char *comm, *cpus;
        } table[] = {
                { 200, "fwd", fwd },
                { 201, "worker-1", "2-3" },
                { 202, "worker-2", "2-3" },
                { 203, "log", log },
        };
        Place place;

        place_start(&place, profile);
        put_thread(place.machine, 200, 200, "fwd", "/", "0-3");
        put_thread(place.machine, 200, 201, "worker-1", "/", "0-3");
        put_thread(place.machine, 200, 203, "log", "/", "0-3");
        tasks_exec(place.tasks, 200);
        run_events(&place);
        /* One that takes its name later. */
        put_thread(place.machine, 200, 202, "worker-2", TASKS, "1");
        tasks_comm(place.tasks, 200, "worker-2");
        run_events(&place);
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *where = where_is(&place, 200, table[i].tid);

                if (!streq(strrchr(where, ' ') + 1, table[i].cpus))
                        fail_msg("%s: %s is at %s", profile, table[i].comm, where);
        }
        place_end(&place);
}

static void test_threads(void **state) {
        static const struct {
                const char *profile, *fwd, *log;
        } table[] = {
                { CONTROL RULE "thread = worker-*\ncpus = 2-3\n", "1", "1" },
                /* Two rules for one program: the first moves it, the second is about some threads. */
                { CONTROL RULE "[task workers]\nmatch = fwd*\nset = rt\nthread = worker-*\ncpus = 2-3\n",
                        "1", "1" },
                /* The first that fits a thread counts. */
                { CONTROL RULE "thread = worker-*\ncpus = 2-3\n"
                               "[task rest]\nmatch = fwd*\nset = rt\ncpus = 3\n",
                        "3", "3" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                check_threads(table[i].profile, table[i].fwd, table[i].log);
}

/* A process that ended is forgotten when the next one is placed. */
static void test_forgets(void **state) {
        Place place;

        place_start(&place, SET RULE "cpus = 2\n");
        for (int pid = 300; pid < 310; pid++) {
                put_thread(place.machine, pid, pid, "fwd", "/", "0-3");
                tasks_exec(place.tasks, pid);
                run_events(&place);
                for (const char *const *file = (const char *const[]){ "task/%d/stat", "task/%d/status",
                             "stat", "status", "cgroup", "comm", NULL };
                        *file; file++) {
                        _cleanup_free_ char *name = NULL, *path = NULL;

                        if (strchr(*file, '%'))
                                assert_int_equal(
                                        util_asprintf(&name, "task/%d/%s", pid, strrchr(*file, '/') + 1), 0);
                        assert_int_equal(util_asprintf(&path, "/proc/%d/%s", pid, name ?: *file), 0);
                        tree_remove(place.machine->tree, path);
                }
        }
        {
                const Steps *steps = journal_steps(manager_journal(place.manager));
                size_t n = 0;

                for (size_t i = 0; i < steps->n; i++)
                        n += util_startswith(steps->items[i].object, "task/") != NULL;
                if (n > 2)
                        fail_msg("%zu records of processes that ended", n);
        }
        place_end(&place);
}

/* What others did to known objects is not fought because something new came; interrupts are, since a device that
 * was reset has its old numbers. */
static void test_scope(void **state) {
        static const struct {
                SwitchScope scope;
                const char *interval, *irq;
        } table[] = { { SCOPE_NEW, "7", "0" }, { SCOPE_CPUS, "10", "0" }, { SCOPE_ALL, "10", "0" } };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *interval = NULL, *irq = NULL;
                Place place;

                place_start(&place, SET "[sysctl]\nvm.stat_interval = 10\n");
                tree_put(place.machine->tree, "/proc/sys/vm/stat_interval", "7\n");
                tree_put(place.machine->tree, "/proc/irq/25/smp_affinity_list", "2\n");
                assert_int_equal(manager_mend(place.manager, table[i].scope), 0);
                run_events(&place);
                interval = machine_read(place.machine, "/proc/sys/vm/stat_interval");
                irq = machine_read(place.machine, "/proc/irq/25/smp_affinity_list");
                if (!streq(interval, table[i].interval) || !streq(irq, table[i].irq))
                        fail_msg("row %zu: interval %s, irq %s", i, interval, irq);
                place_end(&place);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exec),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_forgets),
                cmocka_unit_test(test_scope),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
