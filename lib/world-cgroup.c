/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world-read.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

static bool has_word(const char *text, const char *word) {
        _cleanup_strv_ char **words = NULL;

        return text && util_strv_split(text, " \n", &words) >= 0 && util_strv_contains(words, word);
}

/* The names of control files begin with `cgroup.` or a controller's name and a dot; systemd and the kernel's
 * documentation keep groups from being called so. */
static bool is_control_file(const char *name) {
        static const char *const prefixes[] = {
                "cgroup.",
                "cpu.",
                "cpuset.",
                "memory.",
                "io.",
                "pids.",
                "hugetlb.",
                "rdma.",
                "misc.",
                "irq.",
                "dmem.",
        };

        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
                if (util_startswith(name, prefixes[i]))
                        return true;
        return false;
}

/* NULL stays where there is no such file, or this user may not read it. */
static int read_file(World *world, char *const *names, const char *path, const char *name, char **ret) {
        int r;

        if (!util_strv_contains(names, name))
                return 0;
        r = kfs_readf(world->kfs, ret, CGROUP_ROOT "%s/%s", path, name);
        return r == -ENOMEM ? r : 0;
}

static int read_population(World *world, char *const *names, WorldCgroup *cgroup) {
        const char *path = streq(cgroup->path, "/") ? "" : cgroup->path;
        _cleanup_free_ char *events = NULL, *procs = NULL;
        int r = read_file(world, names, path, "cgroup.events", &events);

        r = r ?: read_file(world, names, path, "cgroup.procs", &procs);
        /* The root has no events and is never empty; the processes of a threaded group cannot be read. */
        cgroup->populated = events ? strstr(events, "populated 1") != NULL : !*path;
        cgroup->has_tasks = procs ? *procs != '\0' : cgroup->populated;
        return r;
}

static int read_files(World *world, char *const *names, WorldCgroup *cgroup) {
        const char *path = streq(cgroup->path, "/") ? "" : cgroup->path;
        int r = read_population(world, names, cgroup);

        r = r ?: read_file(world, names, path, "cpuset.cpus", &cgroup->cpus);
        r = r ?: read_file(world, names, path, "cpuset.cpus.effective", &cgroup->effective);
        r = r ?: read_file(world, names, path, "cpuset.cpus.exclusive", &cgroup->exclusive);
        r = r
                ?: read_file(world, names, path, "cpuset.cpus.exclusive.effective",
                           &cgroup->exclusive_effective);
        r = r ?: read_file(world, names, path, "cpuset.cpus.isolated", &cgroup->isolated);
        r = r ?: read_file(world, names, path, "cpuset.cpus.partition", &cgroup->partition);
        r = r ?: read_file(world, names, path, "cpuset.mems", &cgroup->mems);
        r = r ?: read_file(world, names, path, "cgroup.subtree_control", &cgroup->subtree_control);
        return r ?: read_file(world, names, path, "cgroup.controllers", &cgroup->controllers);
}

static int add_cgroup(World *world, const char *path, char *const *names) {
        WorldCgroup *cgroup;
        int r = GROW(world->cgroups, world->n_cgroups);

        if (r < 0)
                return r;
        cgroup = &world->cgroups[world->n_cgroups++];
        *cgroup = (WorldCgroup){ .path = strdup(*path ? path : "/") };
        return cgroup->path ? read_files(world, names, cgroup) : -ENOMEM;
}

/* path is "" for the root.  -ENOTDIR is a file of a name not known here. */
static int read_tree(World *world, const char *path) {
        _cleanup_free_ char *directory = NULL;
        _cleanup_strv_ char **names = NULL;
        int r = util_asprintf(&directory, CGROUP_ROOT "%s", path);

        if (r < 0)
                return r;
        r = kfs_list(world->kfs, directory, &names);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = add_cgroup(world, path, names);
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *child = NULL;

                if (r < 0 || is_control_file(*name))
                        continue;
                r = util_asprintf(&child, "%s/%s", path, *name);
                r = r ?: read_tree(world, child);
        }
        return r;
}

/* Version 1 has a folder for each controller there; a hybrid machine has `unified` beside them. */
static bool is_version_1(Kfs *kfs) {
        _cleanup_strv_ char **names = NULL;

        return kfs_list(kfs, CGROUP_ROOT, &names) >= 0 && *names;
}

int world_read_cgroups(World *world) {
        _cleanup_free_ char *controllers = NULL;
        int r;

        if (world->cgroup_root || world->cgroup_hybrid)
                return 0;
        r = kfs_read(world->kfs, CGROUP_ROOT "/cgroup.controllers", &controllers);
        if (r == -ENOMEM)
                return r;
        if (controllers && has_word(controllers, "cpuset")) {
                world->cgroup_root = strdup(CGROUP_ROOT);
                return world->cgroup_root ? read_tree(world, "") : -ENOMEM;
        }
        if (controllers) {
                world->cgroup_hybrid = kfs_exists(world->kfs, CGROUP_ROOT "/cpuset");
                return 0;
        }
        if (is_version_1(world->kfs)) {
                world->cgroup_hybrid = true;
                return 0;
        }
        if (kfs_is_live(world->kfs))
                return 0;
        world->cgroup_root = strdup(CGROUP_ROOT);
        return world->cgroup_root ? 0 : -ENOMEM;
}
