/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture.h"

#include "net.h"

/* Words of the kernel command line that are about CPUs and what disturbs them; others name disks, addresses, keys. */
static const char *const cmdline_keys[] = { "isolcpus", "nohz_full", "nohz", "rcu_nocbs", "rcu_nocb_poll",
        "skew_tick", "irqaffinity", "maxcpus", "nr_cpus", "possible_cpus", "nosmt", "mitigations",
        "cgroup_disable", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy",
        "systemd.legacy_systemd_cgroup_controller", "clocksource", "tsc", "idle", "intel_idle.max_cstate",
        "processor.max_cstate", "intel_pstate", "amd_pstate", "cpuidle.off", "cpufreq.off", "preempt",
        "threadirqs", "nowatchdog", "nmi_watchdog", "nosoftlockup", "workqueue.unbound_cpus",
        "numa_balancing", "transparent_hugepage", "hugepages", "hugepagesz", "default_hugepagesz", "psi",
        "mce", "audit", "no5lvl", "pci", "iommu", "intel_iommu", "amd_iommu", "lockdown", "kthread_cpus",
        "nohlt", "highres", "lapic" };

void capture_done(Capture *capture) {
        for (size_t i = 0; i < capture->n; i++) {
                free(capture->items[i].path);
                free(capture->items[i].text);
        }
        free(capture->items);
        *capture = (Capture){};
}

int capture_add(Capture *capture, const char *path, const char *text) {
        CaptureEntry entry = { .order = capture->n };
        int r = util_copy(path, &entry.path);

        r = r ?: util_copy(text, &entry.text);
        r = r ?: GROW(capture->items, capture->n);
        if (r < 0) {
                free(entry.path);
                free(entry.text);
                return r;
        }
        capture->items[capture->n++] = entry;
        return 0;
}

/* What a device was asked for over netlink is in a file of the captured tree. */
static int add_net(Capture *capture, const char *object, const char *value) {
        _cleanup_free_ char *path = NULL;
        int r = value ? net_provide_file(object, &path) : -EINVAL;

        return r == -EINVAL ? 0 : r ?: capture_add(capture, path, value);
}

/* Only what is a file or a folder has a path. */
static int on_access(void *userdata, KfsMoment moment, const char *object, const char *value) {
        Capture *capture = userdata;

        if (moment != KFS_AFTER_READ || capture->error < 0)
                return 0;
        if (*object != '/') {
                capture->error = add_net(capture, object, value);
                return 0;
        }
        /* A profile that is masked: a link, and as a file it is an empty one. */
        capture->error = capture_add(capture, object, value && streq(value, "/dev/null") ? "" : value);
        return 0;
}

void capture_begin(Capture *capture, Kfs *kfs) {
        kfs_hook(kfs, on_access, capture);
}

/* Personal data */

static bool is_known_key(const char *word) {
        size_t n = strcspn(word, "=");

        for (size_t i = 0; i < ARRAY_SIZE(cmdline_keys); i++)
                if (strlen(cmdline_keys[i]) == n && strncmp(word, cmdline_keys[i], n) == 0)
                        return true;
        return false;
}

static int keep_cmdline(const char *text, char **ret) {
        _cleanup_strv_ char **words = NULL, **kept = NULL;
        int r = util_strv_split(text, " \t\n", &words);

        STRV_FOREACH (word, words)
                if (r == 0 && is_known_key(*word))
                        r = util_strv_push(&kept, *word);
        return r ?: util_strv_join(kept, " ", ret);
}

/* Whose task it is. */
static int keep_status(const char *text, char **ret) {
        static const char *const left_out[] = {
                "Uid:", "Gid:", "Groups:", "Umask:", "NSpid:", "NStgid:", "NSpgid:", "NSsid:"
        };
        _cleanup_strv_ char **lines = NULL, **kept = NULL;
        int r = util_strv_split(text, "\n", &lines);

        STRV_FOREACH (line, lines) {
                bool keep = true;

                for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
                        keep = keep && !util_startswith(*line, left_out[i]);
                if (r == 0 && keep)
                        r = util_strv_push(&kept, *line);
        }
        return r ?: util_strv_join(kept, "\n", ret);
}

/* Where a process's code, stack, heap and environment are. */
static bool is_address(unsigned field) {
        return (field >= 26 && field <= 30) || (field >= 45 && field <= 51);
}

static int keep_stat(const char *text, char **ret) {
        const char *end = strrchr(text, ')');
        _cleanup_strv_ char **fields = NULL, **kept = NULL;
        _cleanup_free_ char *rest = NULL;
        unsigned field = 3;
        int r;

        if (!end)
                return util_copy(text, ret);
        r = util_strv_split(end + 1, " \n", &fields);
        STRV_FOREACH (value, fields)
                r = r ?: util_strv_push(&kept, is_address(field++) ? "0" : *value);
        r = r ?: util_strv_join(kept, " ", &rest);
        return r ?: util_asprintf(ret, "%.*s %s", (int) (end + 1 - text), text, rest);
}

static bool is_named(const char *path, const char *folder, const char *name) {
        const char *last = strrchr(path, '/');

        return util_startswith(path, folder) && last && streq(last + 1, name);
}

/* What of a text is kept; *ret stays where that is all of it. */
static int keep(const CaptureEntry *entry, char **ret) {
        if (streq(entry->path, "/proc/sys/kernel/hostname"))
                return util_copy("captured", ret);
        if (streq(entry->path, "/proc/cmdline"))
                return keep_cmdline(entry->text, ret);
        if (is_named(entry->path, "/proc/", "status"))
                return keep_status(entry->text, ret);
        if (is_named(entry->path, "/proc/", "stat") && !streq(entry->path, "/proc/stat"))
                return keep_stat(entry->text, ret);
        return 0;
}

static bool is_private(const char *path) {
        return is_named(path, "/proc/", "environ") || is_named(path, "/proc/", "syscall") ||
                is_named(path, "/proc/", "stack") || is_named(path, "/proc/", "kallsyms") ||
                (is_named(path, "/proc/", "cmdline") && !streq(path, "/proc/cmdline"));
}

/* Entries */

/* What was looked for and not read: a file that is there, or a folder. */
static int fill(CaptureEntry *entry, Kfs *kfs, bool *ret_there) {
        _cleanup_strv_ char **names = NULL;

        *ret_there = true;
        if (entry->text || kfs_read(kfs, entry->path, &entry->text) >= 0)
                return 0;
        *ret_there = kfs_list(kfs, entry->path, &names) >= 0;
        return 0;
}

static int compare(const void *a, const void *b) {
        const CaptureEntry *x = a, *y = b;
        int order = strcmp(x->path, y->path);

        /* The first text of a path, before what was only looked for. */
        if (order == 0)
                order = !x->text - !y->text;
        return order ?: (x->order > y->order) - (x->order < y->order);
}

int capture_end(Capture *capture, Kfs *kfs) {
        size_t kept = 0;
        int r = capture->error;

        kfs_hook(kfs, NULL, NULL);
        if (capture->n > 0)
                qsort(capture->items, capture->n, sizeof(CaptureEntry), compare);
        for (size_t i = 0; i < capture->n; i++) {
                CaptureEntry entry = capture->items[i];
                bool there = kept == 0 || !streq(capture->items[kept - 1].path, entry.path);
                char *text = NULL;

                there = there && !is_private(entry.path);
                if (there)
                        r = r ?: fill(&entry, kfs, &there);
                if (there && entry.text)
                        r = r ?: keep(&entry, &text);
                if (text) {
                        free(entry.text);
                        entry.text = text;
                }
                if (there)
                        capture->items[kept++] = entry;
                else {
                        free(entry.path);
                        free(entry.text);
                }
        }
        capture->n = kept;
        return r;
}
