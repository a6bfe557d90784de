/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "work.h"
#include "test.h"

#include <ftw.h>
#include <sys/stat.h>

#include "apply.h"
#include "providers.h"

#define CGROUP "/sys/fs/cgroup"

Tree *work_tree(bool remote) {
        Tree *tree = tree_new();

        assert_int_equal(providers_add(tree->kfs), 0);
        tree_put_cpus(tree, 1, 4, 1, false);
        tree_put(tree, "/proc/sys/kernel/osrelease", "1\n");
        tree_put(tree, CGROUP "/cgroup.controllers", "cpuset cpu memory\n");
        tree_put(tree, CGROUP "/cgroup.subtree_control", "memory\n");
        tree_put(tree, CGROUP "/cgroup.procs", "1\n");
        if (remote)
                tree_put(tree, CGROUP "/cpuset.cpus.isolated", "\n");
        work_put_group(tree, "/system.slice", NULL, NULL);
        return tree;
}

static void put_file(Tree *tree, const char *path, const char *file, const char *text) {
        _cleanup_free_ char *line = NULL;

        assert_int_equal(util_asprintf(&line, "%s\n", text), 0);
        tree_putf(tree, line, CGROUP "%s/%s", path, file);
}

void work_put_group(Tree *tree, const char *path, const char *cpus, const char *partition) {
        put_file(tree, path, "cgroup.events", "populated 0");
        tree_putf(tree, "", CGROUP "%s/cgroup.procs", path);
        if (!cpus)
                return;
        put_file(tree, path, "cpuset.cpus", cpus);
        put_file(tree, path, "cpuset.mems", "");
        put_file(tree, path, "cpuset.cpus.partition", partition ?: "member");
        put_file(tree, path, "cpuset.cpus.effective", *cpus ? cpus : "0-3");
}

/* A group is populated by what is below it. */
static void populate(Tree *tree, const char *cgroup, int pid) {
        _cleanup_free_ char *path = strdup(cgroup), *procs = NULL, *more = NULL;

        assert_non_null(path);
        (void) kfs_readf(tree->kfs, &procs, CGROUP "%s/cgroup.procs", path);
        assert_int_equal(util_asprintf(&more, "%s%s%d\n", procs ?: "", procs && *procs ? "\n" : "", pid), 0);
        tree_putf(tree, more, CGROUP "%s/cgroup.procs", path);
        for (char *slash; *path; *slash = '\0') {
                put_file(tree, path, "cgroup.events", "populated 1");
                slash = strrchr(path, '/');
        }
}

void work_put_task(Tree *tree, WorkTask task) {
        _cleanup_free_ char *stat = NULL, *status = NULL, *cgroup = NULL;

        task.tid = task.tid ?: task.pid;
        assert_int_equal(util_asprintf(&stat,
                                 "%d (%s) S %d 1 1 0 -1 %u 0 0 0 0 %u 0 0 0 20 0 1 0 %d 0 0 "
                                 "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 %d %d 0\n",
                                 task.tid, task.comm, task.ppid, task.flags, task.ticks, 100 + task.tid,
                                 task.policy ? 10 : 0, task.policy),
                0);
        assert_int_equal(
                util_asprintf(&status, "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t%s\n", task.cpus),
                0);
        assert_int_equal(util_asprintf(&cgroup, "0::%s\n", task.cgroup), 0);
        tree_putf(tree, stat, "/proc/%d/task/%d/stat", task.pid, task.tid);
        tree_putf(tree, status, "/proc/%d/task/%d/status", task.pid, task.tid);
        if (task.tid != task.pid)
                return;
        tree_putf(tree, stat, "/proc/%d/stat", task.pid);
        tree_putf(tree, status, "/proc/%d/status", task.pid);
        tree_putf(tree, cgroup, "/proc/%d/cgroup", task.pid);
        populate(tree, task.cgroup, task.pid);
}

static Profile *load(Tree *tree, const char *text) {
        ProfileErrors errors = {};
        Profile *profile = NULL;

        tree_put(tree, "/etc/rtisold/profiles/test.ini", text);
        if (profile_load(tree->kfs, "test", &profile, &errors) < 0)
                fail_msg("%s: %s", text, errors.n > 0 ? errors.items[0].message : "?");
        tree_remove(tree, "/etc/rtisold/profiles/test.ini");
        return profile;
}

Plan *work_plan(Tree *tree, const char *text, const Steps *in_force, World **ret_world) {
        _cleanup_profile_ Profile *profile = load(tree, text);
        _cleanup_world_ World *world = NULL;
        Plan *plan = NULL;

        assert_int_equal(plan_audit(tree->kfs, profile, in_force, &world), 0);
        assert_int_equal(plan_make(profile, world, in_force, 0, &plan), 0);
        if (ret_world)
                *ret_world = TAKE_PTR(world);
        return plan;
}

static void append(char **text, char *line) {
        char *longer;

        assert_int_equal(util_asprintf(&longer, "%s%s\n", *text ?: "", line), 0);
        free(*text);
        free(line);
        *text = longer;
}

static char *whole(char *text) {
        char *copy = text ?: strdup("");

        assert_non_null(copy);
        return copy;
}

char *work_steps(const Plan *plan, const char *backend) {
        char *text = NULL;

        for (size_t i = 0; i < plan->steps.n; i++) {
                const Step *step = &plan->steps.items[i];
                char *line;

                if (!streq(step->backend, backend))
                        continue;
                assert_int_equal(
                        util_asprintf(&line, "%s%s: %s → %s", step->flags & STEP_UNRECORDED ? "!" : "",
                                step->id, step->now ?: "-", step->wanted),
                        0);
                append(&text, line);
        }
        return whole(text);
}

char *work_refusals(const Plan *plan) {
        char *text = NULL;

        for (size_t i = 0; i < plan->n_refusals; i++)
                append(&text, strdup(plan->refusals[i].what));
        return whole(text);
}

char *work_warnings(const Plan *plan) {
        char *text = NULL;

        STRV_FOREACH (warning, plan->warnings)
                append(&text, strdup(*warning));
        return whole(text);
}

void work_compare(const char *what, char *is, const char *wanted) {
        _cleanup_free_ char *text = is;

        if (!streq(text, wanted))
                fail_msg("%s: is\n%swanted\n%s", what, text, wanted);
}

static void steps_replace(Steps *steps, Steps *with) {
        steps_done(steps);
        *steps = *with;
        *with = (Steps){};
}

void work_switch(Tree *tree, const char *profile, Steps *in_force) {
        char directory[] = "/tmp/rtisold-journal-XXXXXX";
        _cleanup_(apply_problems_done) ApplyProblems problems = {};
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = work_plan(tree, profile, in_force, &world);
        _cleanup_switch_ Switch *sw = NULL;
        _cleanup_journal_ Journal *journal = NULL;
        ApplyOutcome outcome;

        work_compare("refused", work_refusals(plan), "");
        assert_non_null(mkdtemp(directory));
        assert_int_equal(journal_open(directory, "boot", &journal), 0);
        assert_int_equal(plan_switch(plan, "test", in_force, world, 0, &sw), 0);
        assert_int_equal(
                apply_switch(tree->kfs, journal, sw, "sha", "test", NULL, NULL, &outcome, &problems), 0);
        for (size_t i = 0; i < problems.n; i++)
                if (outcome != APPLY_DONE || problems.items[i].error != -ENOENT)
                        fail_msg("%s %s → %s: %d, reads %s", problems.items[i].id, problems.items[i].object,
                                problems.items[i].wanted, problems.items[i].error,
                                problems.items[i].live ?: "-");
        steps_replace(in_force, &sw->in_force);
        (void) nftw(directory, (__nftw_func_t) (void *) remove, 8, FTW_DEPTH | FTW_PHYS);
}

static char *all_files;
static size_t root_length;

static int add_file(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
        _cleanup_fclose_ FILE *file = NULL;
        char content[512] = "", *line;

        if (kind == FTW_F) {
                file = fopen(path, "r");
                assert_non_null(file);
                content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
        }
        assert_int_equal(util_asprintf(&line, "%s=%s", path + root_length, content), 0);
        append(&all_files, line);
        return 0;
}

static int compare_lines(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

char *work_files(Tree *tree, const char *folder) {
        _cleanup_free_ char *path = NULL;
        _cleanup_strv_ char **lines = NULL;
        char *text;

        all_files = NULL;
        root_length = strlen(tree->root);
        assert_int_equal(util_asprintf(&path, "%s%s", tree->root, folder), 0);
        assert_int_equal(nftw(path, add_file, 16, FTW_PHYS), 0);
        assert_int_equal(util_strv_split(all_files, "\n", &lines), 0);
        free(all_files);
        qsort(lines, util_strv_length(lines), sizeof(char *), compare_lines);
        assert_int_equal(util_strv_join(lines, "\n", &text), 0);
        return text;
}
