/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <sys/stat.h>

#include "apply.h"
#include "fuzz.h"
#include "kfs-provider.h"
#include "providers.h"
#include "test.h"
#include "tree.h"

/* What is found where the journal should be.  A line that begins with `=` gets its checksum here: otherwise nothing
 * but damage would be tried.  A journal that is believed is acted on: a recovery on a machine of files. */

#define BOOT_ID "1a2b"

static char *folder;

static void clean_up(void) {
        DIR *dir = opendir(folder);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                (void) unlinkat(dirfd(dir), entry->d_name, 0);
        if (dir)
                (void) closedir(dir);
}

static void clean_up_all(void) {
        clean_up();
        (void) rmdir(folder);
}

static void make_folder(void) {
        const char *tmp = getenv("TMPDIR");

        if (folder)
                return;
        FUZZ_HOLDS(util_asprintf(&folder, "%s/rtisold-fuzz-XXXXXX", tmp ?: "/tmp") == 0);
        FUZZ_HOLDS(mkdtemp(folder));
        FUZZ_HOLDS(atexit(clean_up_all) == 0);
}

static uint64_t checksum(const char *data, size_t size) {
        uint64_t sum = 0xcbf29ce484222325u;

        for (size_t i = 0; i < size; i++)
                sum = (sum ^ (unsigned char) data[i]) * 0x100000001b3u;
        return sum;
}

static void put_line(FILE *file, const char *line, size_t size, bool whole) {
        if (size > 0 && *line == '=')
                FUZZ_HOLDS(fprintf(file, "{\"sum\":\"%016llx\",\"data\":%.*s}",
                                   (unsigned long long) checksum(line + 1, size - 1), (int) (size - 1),
                                   line + 1) > 0);
        else
                FUZZ_HOLDS(fwrite(line, 1, size, file) == size);
        if (whole)
                FUZZ_HOLDS(fputc('\n', file) == '\n');
}

static void put_journal(const char *text, size_t size) {
        _cleanup_free_ char *path = NULL;
        FILE *file;

        FUZZ_HOLDS(util_asprintf(&path, "%s/journal", folder) == 0);
        file = fopen(path, "we");
        FUZZ_HOLDS(file);
        for (const char *line = text, *end = text + size; line < end;) {
                const char *newline = memchr(line, '\n', (size_t) (end - line));

                put_line(file, line, (size_t) ((newline ?: end) - line), newline != NULL);
                line = newline ? newline + 1 : end;
        }
        (void) fclose(file);
}

static Tree *machine(void) {
        Tree *tree = tree_new();

        FUZZ_HOLDS(providers_add(tree->kfs) == 0);
        tree_put_cpus(tree, 1, 2, 1, false);
        tree_fill(tree,
                "/proc/sys/vm/swappiness=60\n"
                "/sys/fs/cgroup/cgroup.controllers=cpuset cpu\n"
                "/sys/fs/cgroup/cgroup.subtree_control=cpu\n"
                "/sys/fs/cgroup/cgroup.procs=1\n");
        return tree;
}

/* What was undone is over, and what could not be is still there when the journal is opened again. */
static void recover(Journal *journal) {
        _cleanup_tree_ Tree *tree = machine();
        ApplyProblems problems = {};
        ApplyOutcome outcome;

        if (apply_recover(tree->kfs, journal, NULL, NULL, &outcome, &problems) == 0)
                FUZZ_HOLDS(!journal_unfinished(journal));
        for (size_t i = 0; i < problems.n; i++) {
                _cleanup_free_ char *sentence = NULL;

                FUZZ_HOLDS(apply_problem_sentence(problems.items + i, &sentence) == 0);
        }
        apply_problems_done(&problems);
}

static void open_again(const char *mode, size_t n) {
        _cleanup_journal_ Journal *journal = NULL;

        FUZZ_HOLDS(journal_open(folder, BOOT_ID, &journal) == 0);
        FUZZ_HOLDS(streq(journal_mode(journal), mode));
        FUZZ_HOLDS(journal_steps(journal)->n == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_journal_ Journal *journal = NULL;
        _cleanup_free_ char *mode = NULL;
        size_t n;
        int r;

        make_folder();
        clean_up();
        put_journal((const char *) data, size);
        r = journal_open(folder, BOOT_ID, &journal);
        FUZZ_HOLDS(r >= 0);
        FUZZ_HOLDS(r == 0 || journal_problem(journal));
        FUZZ_HOLDS(journal_mode(journal) && journal_by(journal) && journal_profile_sha256(journal));
        if (r > 0)
                FUZZ_HOLDS(streq(journal_mode(journal), "green") && !journal_unfinished(journal));
        if (journal_unfinished(journal))
                recover(journal);
        mode = strdup(journal_mode(journal));
        n = journal_steps(journal)->n;
        journal_free(TAKE_PTR(journal));
        open_again(mode, n);
        return 0;
}
