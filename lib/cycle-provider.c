/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "providers.h"

/* How often a CPU that does not come back is asked for. */
#define ONLINE_TRIES 3

static int online_file(const char *object, char **ret) {
        const char *number = util_startswith(object, "cycle/");
        unsigned cpu;

        if (!number || util_parse_unsigned(number, &cpu) < 0)
                return -EINVAL;
        return util_asprintf(ret, "/sys/devices/system/cpu/cpu%u/online", cpu);
}

/* A CPU that has no such file cannot be taken away: it is online. */
static int cycle_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        _cleanup_free_ char *file = NULL;
        int r = online_file(object, &file);

        r = r ?: kfs_read(kfs, file, ret);
        if (r != -ENOENT)
                return r;
        *strrchr(file, '/') = '\0';
        return kfs_exists(kfs, file) ? util_asprintf(ret, "1") : -ENOENT;
}

/* The accesses of the file pass the hook: a kill between the two leaves a CPU away. */
static int cycle_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        _cleanup_free_ char *file = NULL, *online = NULL;
        int r = online_file(object, &file);

        if (!streq(value, "1"))
                return -EINVAL;
        r = r ?: kfs_read(kfs, file, &online);
        if (r < 0)
                return r;
        if (streq(online, "1")) {
                r = kfs_write(kfs, file, "0");
                if (r < 0)
                        return r;
        }
        for (int i = 0; i < ONLINE_TRIES; i++) {
                r = kfs_write(kfs, file, "1");
                if (r >= 0)
                        break;
        }
        return r;
}

int cycle_provide(Kfs *kfs) {
        static const KfsProvider provider = { .scheme = "cycle", .read = cycle_read, .write = cycle_write };

        return kfs_provide(kfs, &provider, NULL);
}
