/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-systemd.h"

#include <systemd/sd-bus.h>
#include <time.h>

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER SYSTEMD_NAME ".Manager"
#define SYSTEMD_SLICE SYSTEMD_NAME ".Slice"

#define JOB_TIMEOUT_USEC (60 * UINT64_C(1000000))

#define _cleanup_bus_ _cleanup_(sd_bus_flush_close_unrefp)

/* systemd's own socket is for root and needs no bus daemon. */
static int manager_open_private(sd_bus **ret) {
        _cleanup_bus_ sd_bus *bus = NULL;
        int r = sd_bus_new(&bus);

        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, "unix:path=/run/systemd/private");
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int manager_open(sd_bus **ret) {
        int r = manager_open_private(ret);

        return r < 0 ? sd_bus_open_system(ret) : 0;
}

void systemd_link_close(SystemdLink *link) {
        link->bus = sd_bus_flush_close_unref(link->bus);
}

/* What was told since the last call is of no interest; the end of the connection is. */
static int link_get(SystemdLink *link, sd_bus **ret) {
        int r = 1;

        while (link->bus && r > 0)
                r = sd_bus_process(link->bus, NULL);
        if (r < 0 || (link->bus && sd_bus_is_open(link->bus) <= 0))
                systemd_link_close(link);
        r = link->bus ? 0 : manager_open(&link->bus);
        if (r < 0)
                return r;
        *ret = link->bus;
        return 0;
}

/* The errno that systemd's error stands for. */
static int error_to_errno(const sd_bus_error *error, int r) {
        static const struct {
                const char *name;
                int error;
        } table[] = {
                { SYSTEMD_NAME ".UnitExists", -EEXIST },
                { SYSTEMD_NAME ".NoSuchUnit", -ENOENT },
                { SYSTEMD_NAME ".UnitMasked", -ERFKILL },
                { SYSTEMD_NAME ".TransactionIsDestructive", -EBUSY },
                { "org.freedesktop.DBus.Error.UnknownProperty", -ENOENT },
                { "org.freedesktop.DBus.Error.PropertyReadOnly", -ENOENT },
                { "org.freedesktop.DBus.Error.UnknownObject", -ENOENT },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (sd_bus_error_has_name(error, table[i].name))
                        return table[i].error;
        return r;
}

/* Jobs */

typedef struct Job {
        const char *path;
        char result[32]; /* "" while it runs */
} Job;

static int job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *path, *unit, *result;
        Job *job = userdata;
        uint32_t id;
        int r = sd_bus_message_read(message, "uoss", &id, &path, &unit, &result);

        if (r >= 0 && job->path && streq(path, job->path))
                snprintf(job->result, sizeof(job->result), "%s", result);
        return 0;
}

static uint64_t now_usec(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static int job_errno(const char *result) {
        static const struct {
                const char *result;
                int error;
        } table[] = {
                { "done", 0 },
                { "canceled", -ECANCELED },
                { "timeout", -ETIMEDOUT },
                { "dependency", -ENOLINK },
                { "skipped", -ENOEXEC },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (streq(result, table[i].result))
                        return table[i].error;
        return -EIO;
}

static int job_wait(sd_bus *bus, Job *job) {
        uint64_t end = now_usec() + JOB_TIMEOUT_USEC;

        while (!*job->result) {
                uint64_t now = now_usec();
                int r = sd_bus_process(bus, NULL);

                if (r == 0 && now >= end)
                        return -ETIMEDOUT;
                if (r == 0)
                        r = sd_bus_wait(bus, end - now);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        return job_errno(job->result);
}

/* systemd writes to control groups between two messages that it reads: once it has answered one more, what
 * was asked for before is done. */
static int manager_settle(sd_bus *bus) {
        return sd_bus_call_method(
                bus, SYSTEMD_NAME, SYSTEMD_PATH, "org.freedesktop.DBus.Peer", "Ping", NULL, NULL, "");
}

/* Calls a method that queues a job, and sees it through.  Takes the message. */
static int manager_run_job(sd_bus *bus, sd_bus_message *call) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL, *message = call;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        Job job = {};
        int r;

        r = sd_bus_match_signal(
                bus, &slot, NULL, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved", job_removed, &job);
        /* On its own socket systemd tells everything unasked. */
        if (r >= 0 && sd_bus_is_bus_client(bus) > 0)
                r = sd_bus_call_method(
                        bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe", NULL, NULL, "");
        if (r < 0)
                return r;
        r = sd_bus_call(bus, message, JOB_TIMEOUT_USEC, &error, &reply);
        if (r < 0)
                return error_to_errno(&error, r);
        r = sd_bus_message_read(reply, "o", &job.path);
        if (r >= 0)
                r = job_wait(bus, &job);
        return r < 0 ? r : manager_settle(bus);
}

static int manager_call_unit(sd_bus *bus, const char *method, const char *unit) {
        sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(
                bus, &message, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, method);

        if (r < 0)
                return r;
        /* `fail`: a job for something in the slice that is under way is not to be cancelled. */
        r = sd_bus_message_append(message, "ss", unit, "fail");
        if (r < 0) {
                sd_bus_message_unref(message);
                return r;
        }
        return manager_run_job(bus, message);
}

/* Properties */

/* `AllowedCPUs=` and `AllowedMemoryNodes=` are arrays of bytes, eight CPUs each, the lowest bit first. */
static int append_cpus(sd_bus_message *message, const char *name, const CpuList *cpus) {
        size_t n = (size_t) (cpulist_last(cpus) + 8) / 8;
        _cleanup_free_ uint8_t *bytes = calloc(1, n + 1);
        int r;

        if (!bytes)
                return -ENOMEM;
        CPULIST_FOREACH (cpu, cpus)
                bytes[cpu / 8] = (uint8_t) (bytes[cpu / 8] | 1u << cpu % 8);
        r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", name);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', bytes, n);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_limits(sd_bus_message *message, const CpuList *cpus, const CpuList *mems) {
        int r = sd_bus_message_open_container(message, 'a', "(sv)");

        if (r >= 0)
                r = append_cpus(message, "AllowedCPUs", cpus);
        if (r >= 0)
                r = append_cpus(message, "AllowedMemoryNodes", mems);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int slice_start_transient(sd_bus *bus, const char *unit, const CpuList *cpus, const CpuList *mems) {
        sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(
                bus, &message, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");

        if (r < 0)
                return r;
        r = sd_bus_message_append(message, "ss", unit, "fail");
        if (r >= 0)
                r = append_limits(message, cpus, mems);
        if (r >= 0)
                r = sd_bus_message_append(message, "a(sa(sv))", 0);
        if (r < 0) {
                sd_bus_message_unref(message);
                return r;
        }
        return manager_run_job(bus, message);
}

static int append_scope(sd_bus_message *message, const char *slice, const char *description, unsigned pid) {
        int r = sd_bus_message_open_container(message, 'a', "(sv)");

        if (r >= 0)
                r = sd_bus_message_append(message, "(sv)", "Slice", "s", slice);
        if (r >= 0)
                r = sd_bus_message_append(message, "(sv)", "Description", "s", description);
        /* A scope that failed (out of memory) is not kept: it would keep its slice. */
        if (r >= 0)
                r = sd_bus_message_append(message, "(sv)", "CollectMode", "s", "inactive-or-failed");
        if (r >= 0)
                r = sd_bus_message_append(message, "(sv)", "PIDs", "au", 1, pid);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

int systemd_scope_start(const char *unit, const char *slice, const char *description, unsigned pid) {
        _cleanup_bus_ sd_bus *bus = NULL;
        sd_bus_message *message = NULL;
        int r = manager_open(&bus);

        if (r >= 0)
                r = sd_bus_message_new_method_call(
                        bus, &message, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");
        if (r < 0)
                return r;
        /* Others than root are asked for a password where there is somebody to type it. */
        r = sd_bus_message_set_allow_interactive_authorization(message, true);
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", unit, "fail");
        if (r >= 0)
                r = append_scope(message, slice, description, pid);
        if (r >= 0)
                r = sd_bus_message_append(message, "a(sa(sv))", 0);
        if (r < 0) {
                sd_bus_message_unref(message);
                return r;
        }
        r = manager_run_job(bus, message);
        return r < 0 ? r : 0;
}

static int slice_set_properties(sd_bus *bus, const char *unit, const CpuList *cpus, const CpuList *mems) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(
                bus, &message, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "SetUnitProperties");

        if (r >= 0)
                r = sd_bus_message_append(message, "sb", unit, 1);
        if (r >= 0)
                r = append_limits(message, cpus, mems);
        if (r < 0)
                return r;
        r = sd_bus_call(bus, message, JOB_TIMEOUT_USEC, &error, NULL);
        return r < 0 ? error_to_errno(&error, r) : manager_settle(bus);
}

/* A slice that has a unit file, or that is there already, cannot be made anew. */
int systemd_slice_set(SystemdLink *link, const char *unit, const CpuList *cpus, const CpuList *mems) {
        sd_bus *bus;
        int r = link_get(link, &bus);

        if (r < 0)
                return r;
        r = slice_start_transient(bus, unit, cpus, mems);
        if (r != -EEXIST)
                return r;
        r = slice_set_properties(bus, unit, cpus, mems);
        return r < 0 ? r : manager_call_unit(bus, "StartUnit", unit);
}

#define NESTING_MAX 8

static int unit_get(
        sd_bus *bus, const char *unit, const char *property, const char *type, sd_bus_message **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *path = NULL;
        int r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path);

        if (r < 0)
                return r;
        r = sd_bus_get_property(bus, SYSTEMD_NAME, path, SYSTEMD_NAME ".Unit", property, &error, ret, type);
        return r < 0 ? error_to_errno(&error, r) : 0;
}

static int unit_is_active(sd_bus *bus, const char *unit) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *state;
        int r = unit_get(bus, unit, "ActiveState", "s", &reply);

        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &state);
        return r < 0 ? r : !streq(state, "inactive") && !streq(state, "failed");
}

/* A slice below is stopped with it, and is as good as what is in it. */
static int slice_is_needed(sd_bus *bus, const char *unit, unsigned depth) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_strv_ char **names = NULL;
        int r = unit_get(bus, unit, "RequiredBy", "as", &reply);

        if (r >= 0)
                r = sd_bus_message_read_strv(reply, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                const char *suffix = strrchr(*name, '.');

                if (suffix && streq(suffix, ".slice") && depth < NESTING_MAX)
                        r = slice_is_needed(bus, *name, depth + 1);
                else
                        r = unit_is_active(bus, *name);
                if (r != 0)
                        return r;
        }
        return 0;
}

int systemd_slice_is_needed(SystemdLink *link, const char *unit) {
        sd_bus *bus;
        int r = link_get(link, &bus);

        return r < 0 ? r : slice_is_needed(bus, unit, 0);
}

int systemd_slice_stop(SystemdLink *link, const char *unit) {
        sd_bus *bus;
        int r = link_get(link, &bus);

        return r < 0 ? r : manager_call_unit(bus, "StopUnit", unit);
}

int systemd_slice_get_partition(SystemdLink *link, const char *unit, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *path = NULL, *partition = NULL;
        sd_bus *bus;
        int r = link_get(link, &bus);

        if (r >= 0)
                r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path);
        if (r < 0)
                return r;
        r = sd_bus_get_property_string(
                bus, SYSTEMD_NAME, path, SYSTEMD_SLICE, "CPUSetPartition", &error, &partition);
        if (r < 0)
                return error_to_errno(&error, r);
        *ret = TAKE_PTR(partition);
        return 0;
}

int systemd_slice_set_partition(SystemdLink *link, const char *unit, const char *partition) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus *bus;
        int r = link_get(link, &bus);

        if (r < 0)
                return r;
        r = sd_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "SetUnitProperties", &error,
                NULL, "sba(sv)", unit, 1, 1, "CPUSetPartition", "s", partition);
        return r < 0 ? error_to_errno(&error, r) : manager_settle(bus);
}
