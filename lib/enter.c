/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "enter.h"

#include <inttypes.h>
#include <time.h>

#include "cpuset.h"
#include "unit-systemd.h"

/* A scope may outlive its first process, whose number is then used anew: the time makes the name unique. */
static int enter_scope(const char *set, unsigned pid, const char *description) {
        _cleanup_free_ char *slice = NULL, *unit = NULL;
        struct timespec now;
        int r = cpuset_unit(set, &slice);

        (void) clock_gettime(CLOCK_BOOTTIME, &now);
        r = r
                ?: util_asprintf(&unit, "rtisoctl-run-%u-%" PRIu64 ".scope", pid,
                           (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000);
        return r < 0 ? r : systemd_scope_start(unit, slice, description, pid);
}

static int enter_group(Kfs *kfs, const char *group, const char *pid) {
        _cleanup_free_ char *file = NULL;
        int r = util_asprintf(&file, "/sys/fs/cgroup%s/cgroup.procs", group);

        if (r < 0)
                return r;
        return kfs_exists(kfs, file) ? kfs_write(kfs, file, pid) : -ENOENT;
}

int enter_set(Kfs *kfs, const char *set, unsigned pid, const char *description) {
        _cleanup_free_ char *tasks = NULL, *path = NULL;
        char text[16];
        int r;

        if (kfs_is_live(kfs) && kfs_exists(kfs, "/run/systemd/system"))
                return enter_scope(set, pid, description);
        (void) snprintf(text, sizeof(text), "%u", pid);
        r = cpuset_tasks_path(set, &tasks);
        r = r ?: cpuset_path(set, &path);
        if (r < 0)
                return r;
        r = enter_group(kfs, tasks, text);
        return r == -ENOENT ? enter_group(kfs, path, text) : r;
}
