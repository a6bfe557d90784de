/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuset.h"

/* A mode whose record was lost still has its slices: they tell which CPUs it took, and can be taken apart. */

static bool is_partition(const WorldCgroup *cgroup) {
        return cgroup->partition && !streq(cgroup->partition, "member");
}

static bool is_explained(const char *path, const Steps *in_force) {
        for (size_t i = 0; i < in_force->n_sets; i++) {
                _cleanup_free_ char *own = NULL;

                if (streq(in_force->sets[i].partition, "none"))
                        continue;
                if (streq(path, CPUSET_PARENT_PATH))
                        return true;
                if (cpuset_path(in_force->sets[i].name, &own) >= 0 && streq(path, own))
                        return true;
        }
        return false;
}

/* `rtisol-rt.slice` of `/rtisol.slice/rtisol-rt.slice`; NULL for a group that no mode makes. */
static const char *slice_of(const char *path) {
        _cleanup_free_ char *expected = NULL;
        const char *unit = strrchr(path, '/') + 1;

        if (!cpuset_is_below(path, CPUSET_PARENT_PATH) || cpuset_unit_path(unit, &expected) < 0)
                return NULL;
        return streq(expected, path) ? unit : NULL;
}

int cpuset_unexplained(const World *world, const Steps *in_force, char ***ret) {
        _cleanup_strv_ char **paths = NULL;

        for (size_t i = 0; i < world->n_cgroups; i++) {
                const WorldCgroup *cgroup = &world->cgroups[i];
                int r;

                if (!is_partition(cgroup) || !slice_of(cgroup->path) || is_explained(cgroup->path, in_force))
                        continue;
                r = util_strv_push(&paths, cgroup->path);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 0;
}

typedef struct MadeUp {
        const Steps *in_force;
        Steps *steps;
        const char *unit;
        int depth; /* below rtisol.slice */
} MadeUp;

static int add_step(MadeUp *made, const char *object, const char *what, ValueKind kind, const char *before,
        const char *wanted, int order) {
        Step step = {
                .kind = kind,
                .phase = PHASE_CGROUP,
                .order = order,
                .flags = STEP_MADE_UP | STEP_VOLATILE,
        };
        int r;

        if (steps_find(made->in_force, object))
                return 0;
        if (util_startswith(object, "unit/"))
                step.flags = STEP_MADE_UP | STEP_RECREATE;
        r = util_asprintf(&step.id, "cpuset/%s/%s", made->unit, what);
        r = r ?: util_copy(object, &step.object);
        r = r ?: util_copy(before, &step.before);
        r = r ?: util_copy(wanted, &step.wanted);
        r = r ?: util_copy("cpuset", &step.backend);
        if (r < 0) {
                step_done(&step);
                return r;
        }
        return steps_add(made->steps, &step);
}

static int add_file(MadeUp *made, const char *path, const char *file, const char *what, ValueKind kind,
        const char *before, const char *live, int order) {
        _cleanup_free_ char *object = NULL;
        int r;

        if (!live || value_equal(kind, live, before))
                return 0;
        r = util_asprintf(&object, "/sys/fs/cgroup%s/%s", path, file);
        return r ?: add_step(made, object, what, kind, before, live, order);
}

/* As add_set_unit() and its like have them: the way back goes from the last order to the first. */
static int make_up_group(MadeUp *made, const WorldCgroup *cgroup) {
        static const int units[] = { CPUSET_ORDER_PARENT, CPUSET_ORDER_SETS, CPUSET_ORDER_TASKS };
        _cleanup_free_ char *object = NULL, *value = NULL;
        int r = util_asprintf(&object, "unit/%s", made->unit);

        r = r ?: cpuset_unit_value(cgroup->cpus ?: "", cgroup->mems ?: "", &value);
        r = r ?: add_step(made, object, "slice", VALUE_TEXT, "absent", value, units[made->depth]);
        r = r
                ?: add_file(made, cgroup->path, "cpuset.cpus.exclusive", "exclusive", VALUE_CPULIST, "",
                           cgroup->exclusive,
                           made->depth == 0 ? CPUSET_ORDER_PARENT_EXCLUSIVE : CPUSET_ORDER_SETS + 2);
        return r
                ?: add_file(made, cgroup->path, "cpuset.cpus.partition", "partition", VALUE_PARTITION,
                           "member", cgroup->partition, CPUSET_ORDER_PARTITION + made->depth);
}

static int depth_of(const char *path) {
        int depth = -1;

        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
                depth++;
        return depth;
}

int cpuset_make_up(const World *world, const Steps *in_force, Steps *ret) {
        for (size_t i = 0; i < world->n_cgroups; i++) {
                const WorldCgroup *cgroup = &world->cgroups[i];
                MadeUp made = { in_force, ret, slice_of(cgroup->path), depth_of(cgroup->path) };
                int r;

                if (!made.unit || made.depth < 0 || made.depth > 2)
                        continue;
                r = make_up_group(&made, cgroup);
                if (r < 0)
                        return r;
        }
        return 0;
}
