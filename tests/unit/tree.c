/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"
#include "test.h"

#include <ftw.h>
#include <sys/stat.h>

Tree *tree_new(void) {
        const char *tmp = getenv("TMPDIR");
        Tree *tree = calloc(1, sizeof(*tree));

        assert_non_null(tree);
        assert_int_equal(util_asprintf(&tree->root, "%s/rtisold-tree-XXXXXX", tmp ? tmp : "/tmp"), 0);
        assert_non_null(mkdtemp(tree->root));
        assert_int_equal(kfs_new(tree->root, &tree->kfs), 0);
        return tree;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
        return remove(path);
}

void tree_free(Tree *tree) {
        kfs_free(tree->kfs);
        (void) nftw(tree->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free(tree->root);
        free(tree);
}

void tree_put(Tree *tree, const char *path, const char *text) {
        _cleanup_free_ char *full = NULL;
        _cleanup_fclose_ FILE *file = NULL;

        assert_int_equal(util_asprintf(&full, "%s/%s", tree->root, path), 0);
        for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
        file = fopen(full, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
}

void tree_putf(Tree *tree, const char *text, const char *path_format, ...) {
        _cleanup_free_ char *path = NULL;
        va_list ap;

        va_start(ap, path_format);
        assert_true(vasprintf(&path, path_format, ap) > 0);
        va_end(ap);
        tree_put(tree, path, text);
}

void tree_remove(Tree *tree, const char *path) {
        _cleanup_free_ char *full = NULL;

        assert_int_equal(util_asprintf(&full, "%s/%s", tree->root, path), 0);
        assert_int_equal(remove(full), 0);
}

void tree_fill(Tree *tree, const char *lines) {
        _cleanup_strv_ char **all = NULL;

        assert_int_equal(util_strv_split(lines, "\n", &all), 0);
        STRV_FOREACH (line, all) {
                char *equals = strchr(*line, '=');

                assert_non_null(equals);
                *equals = '\0';
                tree_put(tree, *line, equals + 1);
        }
}

/* The SMT siblings of one CPU, as the kernel prints them. */
static char *siblings_of(
        unsigned cpu, unsigned first, unsigned cpus_per_node, unsigned threads, bool apart) {
        unsigned cores = cpus_per_node / threads, core = (cpu - first) % cores;
        _cleanup_cpulist_ CpuList list = { 0 };
        char *text;

        for (unsigned i = 0; i < threads; i++)
                assert_int_equal(
                        cpulist_add(&list, apart ? first + core + i * cores : cpu - cpu % threads + i), 0);
        assert_int_equal(cpulist_format(&list, &text), 0);
        return text;
}

void tree_put_cpus(Tree *tree, unsigned nodes, unsigned cpus_per_node, unsigned threads, bool apart) {
        static const char *const lists[] = { "possible", "present", "online" };
        _cleanup_free_ char *all = NULL;

        assert_int_equal(util_asprintf(&all, "0-%u\n", nodes * cpus_per_node - 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                tree_putf(tree, all, "sys/devices/system/cpu/%s", lists[i]);
        for (unsigned cpu = 0; cpu < nodes * cpus_per_node; cpu++) {
                unsigned node = cpu / cpus_per_node, first = node * cpus_per_node;
                _cleanup_free_ char *siblings = siblings_of(cpu, first, cpus_per_node, threads, apart);
                _cleanup_free_ char *package = NULL, *node_cpus = NULL;

                assert_int_equal(util_asprintf(&package, "%u\n", node), 0);
                assert_int_equal(util_asprintf(&node_cpus, "%u-%u\n", first, first + cpus_per_node - 1), 0);
                tree_putf(tree, siblings, "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
                tree_putf(tree, package, "sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
                tree_putf(tree, "3\n", "sys/devices/system/cpu/cpu%u/cache/index3/level", cpu);
                tree_putf(tree, "Unified\n", "sys/devices/system/cpu/cpu%u/cache/index3/type", cpu);
                tree_putf(tree, node_cpus, "sys/devices/system/cpu/cpu%u/cache/index3/shared_cpu_list", cpu);
                tree_putf(tree, node_cpus, "sys/devices/system/node/node%u/cpulist", node);
                if (cpu > 0)
                        tree_putf(tree, "1\n", "sys/devices/system/cpu/cpu%u/online", cpu);
        }
}
