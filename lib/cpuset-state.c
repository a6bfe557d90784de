/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuset.h"

/* The kernel's reason in `isolated invalid (Cpu list in cpuset.cpus not exclusive)`; NULL for a valid state. */
static int invalid_reason(const char *partition, char **ret) {
        const char *open, *close;

        if (!strstr(partition, "invalid"))
                return 0;
        open = strchr(partition, '(');
        close = open ? strrchr(open, ')') : NULL;
        return close ? util_asprintf(ret, "%.*s", (int) (close - open - 1), open + 1)
                     : util_asprintf(ret, "%s", partition);
}

/* `isolated invalid` of `isolated invalid (…)` */
static int short_state(const char *partition, char **ret) {
        const char *open = strstr(partition, " (");

        return util_asprintf(
                ret, "%.*s", open ? (int) (open - partition) : (int) strlen(partition), partition);
}

static int check_own(const WorldCgroup *cgroup, const StepSet *set, char **ret) {
        int r = invalid_reason(cgroup->partition, ret);

        if (r < 0 || *ret || streq(cgroup->partition, set->partition))
                return r;
        return util_asprintf(
                ret, "its cpuset.cpus.partition is %s, not %s", cgroup->partition, set->partition);
}

/* A level above that turned invalid says so itself, while the set below it may go on reading `isolated`. */
static int check_parent(const World *world, char **ret) {
        const WorldCgroup *parent = world_cgroup(world, CPUSET_PARENT_PATH);
        _cleanup_free_ char *reason = NULL;
        int r;

        if (!parent || !parent->partition)
                return 0;
        r = invalid_reason(parent->partition, &reason);
        if (r < 0 || !reason)
                return r;
        return util_asprintf(ret, CPUSET_PARENT_UNIT " above it is invalid: %s", reason);
}

static int check_root(const World *world, const StepSet *set, const CpuList *cpus, char **ret) {
        const WorldCgroup *root = world_cgroup(world, "/");
        _cleanup_cpulist_ CpuList effective = {}, isolated = {};
        _cleanup_free_ char *text = NULL;
        int r;

        if (!root)
                return 0;
        r = cpulist_parse(root->effective ?: "", &effective, NULL);
        r = r ?: cpulist_parse(root->isolated ?: "", &isolated, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        cpulist_intersect(&effective, cpus);
        if (!cpulist_is_empty(&effective)) {
                r = cpulist_format(&effective, &text);
                return r ?: util_asprintf(ret, "the root's cpuset.cpus.effective still has CPUs %s", text);
        }
        if (!root->isolated || !streq(set->partition, "isolated") || cpulist_is_subset(cpus, &isolated))
                return 0;
        return util_asprintf(ret, "the root's cpuset.cpus.isolated is \"%s\", without all of %s",
                root->isolated, set->cpus);
}

/* All CPUs of the set that are online are its own. */
static int check_effective(const WorldCgroup *cgroup, const StepSet *set, const CpuList *cpus, char **ret) {
        _cleanup_cpulist_ CpuList effective = {};
        int r;

        if (!cgroup->effective)
                return 0;
        r = cpulist_parse(cgroup->effective, &effective, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (cpulist_equal(cpus, &effective))
                return 0;
        return util_asprintf(
                ret, "its cpuset.cpus.effective is \"%s\", not %s", cgroup->effective, set->cpus);
}

static int check_chain(const World *world, const WorldCgroup *cgroup, const StepSet *set, char **ret) {
        _cleanup_cpulist_ CpuList cpus = {};
        int r = cpulist_parse(set->cpus, &cpus, NULL);

        if (r < 0)
                return r;
        cpulist_intersect(&cpus, &world->topology->online);
        r = check_own(cgroup, set, ret);
        if (r >= 0 && !*ret)
                r = check_parent(world, ret);
        if (r >= 0 && !*ret)
                r = check_effective(cgroup, set, &cpus, ret);
        if (r >= 0 && !*ret)
                r = check_root(world, set, &cpus, ret);
        return r;
}

int cpuset_set_state(const World *world, const StepSet *set, char **ret_partition, char **ret_reason) {
        _cleanup_free_ char *path = NULL, *partition = NULL, *reason = NULL;
        const WorldCgroup *cgroup;
        int r = cpuset_path(set->name, &path);

        if (r < 0)
                return r;
        cgroup = world_cgroup(world, path);
        if (streq(set->partition, "none"))
                r = util_asprintf(&partition, "none");
        else if (!cgroup || !cgroup->partition) {
                r = util_asprintf(&partition, "%s", "");
                r = r ?: util_asprintf(&reason, cgroup ? "it has no cpuset files" : "its slice is gone");
        } else {
                r = short_state(cgroup->partition, &partition);
                r = r ?: check_chain(world, cgroup, set, &reason);
        }
        if (r < 0)
                return r;
        *ret_partition = TAKE_PTR(partition);
        *ret_reason = TAKE_PTR(reason);
        return 0;
}
