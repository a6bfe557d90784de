/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuset.h"

int cpuset_unit(const char *set, char **ret) {
        return util_asprintf(ret, "rtisol-%s.slice", set);
}

int cpuset_path(const char *set, char **ret) {
        return util_asprintf(ret, CPUSET_PARENT_PATH "/rtisol-%s.slice", set);
}

int cpuset_file(const char *set, const char *file, char **ret) {
        return util_asprintf(ret, "/sys/fs/cgroup" CPUSET_PARENT_PATH "/rtisol-%s.slice/%s", set, file);
}

int cpuset_tasks_unit(const char *set, char **ret) {
        return util_asprintf(ret, "rtisol-%s-tasks.slice", set);
}

int cpuset_tasks_path(const char *set, char **ret) {
        return util_asprintf(ret, CPUSET_PARENT_PATH "/rtisol-%s.slice/rtisol-%s-tasks.slice", set, set);
}

static bool is_slice_name(const char *unit, size_t n) {
        return n > 0 && unit[0] != '-' && unit[n - 1] != '-' && !memchr(unit, '/', n) && !strstr(unit, "--");
}

int cpuset_unit_path(const char *unit, char **ret) {
        const char *suffix = strrchr(unit, '.');
        _cleanup_free_ char *path = NULL;
        size_t n = suffix ? (size_t) (suffix - unit) : 0;

        if (!suffix || !streq(suffix, ".slice") || !is_slice_name(unit, n))
                return -EINVAL;
        for (size_t i = 1; i <= n; i++) {
                char *longer;

                if (i < n && unit[i] != '-')
                        continue;
                if (util_asprintf(&longer, "%s/%.*s.slice", path ?: "", (int) i, unit) < 0)
                        return -ENOMEM;
                free(path);
                path = longer;
        }
        *ret = TAKE_PTR(path);
        return 0;
}

bool cpuset_is_inside(const char *cgroup, char **ret_set) {
        const char *name = util_startswith(cgroup, CPUSET_PARENT_PATH "/rtisol-"), *end;

        end = name ? strstr(name, ".slice") : NULL;
        if (!end || (end[6] && end[6] != '/') || memchr(name, '-', (size_t) (end - name)))
                return false;
        if (ret_set)
                *ret_set = strndup(name, (size_t) (end - name));
        return true;
}

int cpuset_unit_value(const char *cpus, const char *mems, char **ret) {
        return util_asprintf(ret, "cpus=%s mems=%s", cpus, mems);
}
