/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-provider.h"

#include "cpuset.h"
#include "unit-systemd.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* What `unit/NAME` or `unit/NAME/partition` names. */
typedef struct Unit {
        char *name;
        char *directory; /* of its control group */
        bool partition;
} Unit;

static void unit_done(Unit *unit) {
        free(unit->name);
        free(unit->directory);
}
#define _cleanup_unit_ _cleanup_(unit_done)

static int unit_parse(const char *object, Unit *ret) {
        const char *name = util_startswith(object, "unit/"), *slash = name ? strchr(name, '/') : NULL;
        _cleanup_free_ char *path = NULL;
        _cleanup_unit_ Unit unit = {};
        int r;

        if (!name || (slash && !streq(slash, "/partition")))
                return -EINVAL;
        unit.partition = slash;
        unit.name = strndup(name, slash ? (size_t) (slash - name) : strlen(name));
        if (!unit.name)
                return -ENOMEM;
        r = cpuset_unit_path(unit.name, &path);
        r = r ?: util_asprintf(&unit.directory, CGROUP_ROOT "%s", path);
        if (r < 0)
                return r;
        *ret = unit;
        unit = (Unit){};
        return 0;
}

static bool has_systemd(Kfs *kfs) {
        return kfs_is_live(kfs) && kfs_exists(kfs, "/run/systemd/system");
}

/* Reading */

static int read_limit(Kfs *kfs, const Unit *unit, const char *file, char **ret) {
        int r = kfs_readf(kfs, ret, "%s/%s", unit->directory, file);

        /* A group without the controller has no limit. */
        return r == -ENOENT ? util_asprintf(ret, "%s", "") : r;
}

static int unit_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        _cleanup_free_ char *cpus = NULL, *mems = NULL;
        _cleanup_unit_ Unit unit = {};
        int r = unit_parse(object, &unit);

        if (r < 0)
                return r;
        if (unit.partition)
                return has_systemd(kfs) ? systemd_slice_get_partition(userdata, unit.name, ret) : -ENOENT;
        if (!kfs_exists(kfs, unit.directory))
                return util_asprintf(ret, "%s", "absent");
        r = read_limit(kfs, &unit, "cpuset.cpus", &cpus);
        r = r ?: read_limit(kfs, &unit, "cpuset.mems", &mems);
        return r ?: cpuset_unit_value(cpus, mems, ret);
}

/* Control groups without systemd, and on a root that is only files */

static int write_file(Kfs *kfs, const char *directory, const char *file, const char *value) {
        _cleanup_free_ char *path = NULL, *live = NULL;
        int r = util_asprintf(&path, "%s/%s", directory, file);

        if (r < 0)
                return r;
        r = kfs_read(kfs, path, &live);
        if (r == -ENOENT && !kfs_is_live(kfs))
                return kfs_write(kfs, path, value);
        /* Without the controller there is no file, and no limit. */
        if (r == -ENOENT && !*value)
                return 0;
        if (r < 0)
                return r;
        return value_equal(VALUE_CPULIST, live, value) ? 0 : kfs_write(kfs, path, value);
}

/* The files that a kernel puts into a new group and that this program looks at. */
static int fill_group(Kfs *kfs, const char *directory) {
        static const char *const files[][2] = {
                { "cgroup.procs", "" },
                { "cgroup.events", "populated 0" },
                { "cgroup.subtree_control", "" },
                { "cpuset.cpus", "" },
                { "cpuset.cpus.partition", "member" },
                { "cpuset.mems", "" },
                { "cpuset.cpus.exclusive", "" },
        };
        bool remote = kfs_exists(kfs, CGROUP_ROOT "/cpuset.cpus.isolated");
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(files) - !remote; i++)
                r = write_file(kfs, directory, files[i][0], files[i][1]);
        return r;
}

static int make_group(Kfs *kfs, const char *directory) {
        int r;

        if (kfs_exists(kfs, directory))
                return 0;
        r = kfs_mkdir(kfs, directory);
        if (r < 0)
                return r == -EEXIST ? 0 : r;
        return kfs_is_live(kfs) ? 0 : fill_group(kfs, directory);
}

static int enable_controller(Kfs *kfs, const char *directory) {
        _cleanup_free_ char *path = NULL, *enabled = NULL;
        _cleanup_strv_ char **words = NULL;
        int r = util_asprintf(&path, "%s/cgroup.subtree_control", directory);

        if (r < 0)
                return r;
        r = kfs_read(kfs, path, &enabled);
        r = r ?: util_strv_split(enabled, " ", &words);
        return r < 0 || util_strv_contains(words, "cpuset") ? r : kfs_write(kfs, path, "+cpuset");
}

/* The groups above are made where they are not there, with the controller enabled on the way down.  The root's
 * is a step of its own, since the way back has to know what was there. */
static int make_path(Kfs *kfs, const char *directory, bool limits) {
        const char *below = directory + strlen(CGROUP_ROOT) + 1;
        int r = 0;

        for (const char *slash = strchr(below, '/'); r >= 0 && slash; slash = strchr(slash + 1, '/')) {
                _cleanup_free_ char *above = strndup(directory, (size_t) (slash - directory));

                if (!above)
                        return -ENOMEM;
                r = make_group(kfs, above);
                if (r >= 0 && limits)
                        r = enable_controller(kfs, above);
        }
        return r < 0 ? r : make_group(kfs, directory);
}

static int direct_set(Kfs *kfs, const Unit *unit, const char *cpus, const char *mems) {
        int r = make_path(kfs, unit->directory, *cpus || *mems);

        if (r >= 0)
                r = write_file(kfs, unit->directory, "cpuset.mems", mems);
        return r < 0 ? r : write_file(kfs, unit->directory, "cpuset.cpus", cpus);
}

/* Writing */

static int is_populated(Kfs *kfs, const Unit *unit) {
        _cleanup_free_ char *events = NULL;
        int r = kfs_readf(kfs, &events, "%s/cgroup.events", unit->directory);

        return r < 0 ? r : strstr(events, "populated 1") != NULL;
}

static int systemd_set(Kfs *kfs, SystemdLink *link, const Unit *unit, const char *cpus, const char *mems) {
        _cleanup_cpulist_ CpuList cpu_list = {}, mem_list = {};
        int r = cpulist_parse(cpus, &cpu_list, NULL);

        r = r ?: cpulist_parse(mems, &mem_list, NULL);
        r = r ?: systemd_slice_set(link, unit->name, &cpu_list, &mem_list);
        /* An emptied AllowedCPUs= leaves the file as it was. */
        if (r >= 0 && !*mems)
                r = write_file(kfs, unit->directory, "cpuset.mems", "");
        if (r >= 0 && !*cpus)
                r = write_file(kfs, unit->directory, "cpuset.cpus", "");
        return r < 0 ? r : 0;
}

/* Units without a process would be stopped, too: they keep the slice, without its limits. */
static int systemd_remove(Kfs *kfs, SystemdLink *link, const Unit *unit) {
        int r = systemd_slice_is_needed(link, unit->name);

        if (r <= 0)
                return r < 0 && r != -ENOENT ? r : systemd_slice_stop(link, unit->name);
        r = systemd_set(kfs, link, unit, "", "");
        return r < 0 ? r : -EBUSY;
}

/* Stopping a slice kills what runs in it, so it is only done to an empty one.  A group that systemd does not
 * know of is removed by hand. */
static int unit_remove(Kfs *kfs, SystemdLink *link, const Unit *unit) {
        int r;

        if (!kfs_exists(kfs, unit->directory))
                return 0;
        r = is_populated(kfs, unit);
        if (r > 0)
                return -EBUSY;
        if (r < 0 && r != -ENOENT)
                return r;
        r = has_systemd(kfs) ? systemd_remove(kfs, link, unit) : 0;
        if (r < 0 && r != -ENOENT)
                return r;
        return kfs_exists(kfs, unit->directory) ? kfs_rmdir(kfs, unit->directory) : 0;
}

/* `cpus=1-3 mems=0` */
static int parse_value(const char *value, char **ret_cpus, char **ret_mems) {
        const char *cpus = util_startswith(value, "cpus="), *mems;

        mems = cpus ? strstr(cpus, " mems=") : NULL;
        if (!mems)
                return -EINVAL;
        *ret_cpus = strndup(cpus, (size_t) (mems - cpus));
        *ret_mems = strdup(mems + strlen(" mems="));
        return *ret_cpus && *ret_mems ? 0 : -ENOMEM;
}

static int unit_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        _cleanup_free_ char *cpus = NULL, *mems = NULL;
        _cleanup_unit_ Unit unit = {};
        SystemdLink *link = userdata;
        int r = unit_parse(object, &unit);

        if (r < 0)
                return r;
        if (unit.partition)
                return has_systemd(kfs) ? systemd_slice_set_partition(link, unit.name, value) : -ENOENT;
        if (streq(value, "absent"))
                return unit_remove(kfs, link, &unit);
        r = parse_value(value, &cpus, &mems);
        if (r < 0)
                return r;
        return has_systemd(kfs) ? systemd_set(kfs, link, &unit, cpus, mems)
                                : direct_set(kfs, &unit, cpus, mems);
}

/* controller/cpuset */

static int controller_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        _cleanup_free_ char *enabled = NULL;
        _cleanup_strv_ char **words = NULL;
        int r;

        if (!streq(object, CPUSET_CONTROLLER))
                return -EINVAL;
        r = kfs_read(kfs, CGROUP_ROOT "/cgroup.subtree_control", &enabled);
        r = r ?: util_strv_split(enabled, " ", &words);
        return r ?: util_asprintf(ret, "%s", util_strv_contains(words, "cpuset") ? "on" : "off");
}

static int controller_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        if (!streq(object, CPUSET_CONTROLLER) || (!streq(value, "on") && !streq(value, "off")))
                return -EINVAL;
        return kfs_write(
                kfs, CGROUP_ROOT "/cgroup.subtree_control", streq(value, "on") ? "+cpuset" : "-cpuset");
}

static void unit_rest(void *userdata) {
        systemd_link_close(userdata);
}

static void unit_free(void *userdata) {
        systemd_link_close(userdata);
        free(userdata);
}

static const KfsProvider unit_provider = {
        .scheme = "unit",
        .read = unit_read,
        .write = unit_write,
        .free = unit_free,
        .rest = unit_rest,
};
static const KfsProvider controller_provider = {
        .scheme = "controller",
        .read = controller_read,
        .write = controller_write,
};

int unit_provide(Kfs *kfs) {
        _cleanup_free_ SystemdLink *link = calloc(1, sizeof(SystemdLink));
        int r = link ? kfs_provide(kfs, &unit_provider, link) : -ENOMEM;

        if (r < 0)
                return r;
        link = NULL; /* the context owns it now */
        return kfs_provide(kfs, &controller_provider, NULL);
}
