/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world.h"

#include <stdarg.h>

#include "kfs.h"

void world_irq_done(WorldIrq *irq) {
        free(irq->name);
        free(irq->chip);
        free(irq->counts);
        cpulist_done(&irq->live);
        cpulist_done(&irq->found);
        cpulist_done(&irq->effective);
}

static void world_task_done(WorldTask *task) {
        free(task->comm);
        free(task->cgroup);
        cpulist_done(&task->live);
        cpulist_done(&task->found);
}

static void world_cgroup_done(WorldCgroup *cgroup) {
        free(cgroup->path);
        free(cgroup->cpus);
        free(cgroup->effective);
        free(cgroup->exclusive);
        free(cgroup->exclusive_effective);
        free(cgroup->partition);
        free(cgroup->isolated);
        free(cgroup->mems);
        free(cgroup->subtree_control);
        free(cgroup->controllers);
}

static void world_value_done(WorldValue *value) {
        free(value->object);
        free(value->live);
        free(value->found);
}

void world_free(World *world) {
        if (!world)
                return;
        for (size_t i = 0; i < world->n_irqs; i++)
                world_irq_done(&world->irqs[i]);
        for (size_t i = 0; i < world->n_tasks; i++)
                world_task_done(&world->tasks[i]);
        for (size_t i = 0; i < world->n_cgroups; i++)
                world_cgroup_done(&world->cgroups[i]);
        for (size_t i = 0; i < world->n_values; i++)
                world_value_done(&world->values[i]);
        for (size_t i = 0; i < world->n_nets; i++)
                world_net_done(&world->nets[i]);
        free(world->irqs);
        free(world->nets);
        free(world->tasks);
        free(world->cgroups);
        free(world->values);
        if (world->topology)
                topology_free(world->topology);
        free(world->kernel);
        free(world->cmdline);
        free(world->boot_id);
        free(world->cgroup_root);
        cpulist_done(&world->irq_default_live);
        cpulist_done(&world->irq_default_found);
        free(world);
}

/* A file that a captured tree may lack: NULL then. */
static int read_optional(Kfs *kfs, const char *path, char **ret) {
        int r = kfs_read(kfs, path, ret);

        return r == -ENOMEM ? r : 0;
}

static int world_read_lockdown(World *world) {
        _cleanup_free_ char *text = NULL, *chosen = NULL;
        int r = read_optional(world->kfs, "/sys/kernel/security/lockdown", &text);

        if (r < 0 || !text)
                return r;
        r = value_choice(text, &chosen);
        if (r < 0)
                return r;
        world->lockdown = !streq(chosen, "none");
        return 0;
}

int world_new(Kfs *kfs, World **ret) {
        _cleanup_world_ World *world = calloc(1, sizeof(World));
        int r;

        if (!world)
                return -ENOMEM;
        world->kfs = kfs;
        r = topology_read(kfs, &world->topology);
        if (r < 0)
                return r;
        r = read_optional(kfs, "/proc/sys/kernel/osrelease", &world->kernel);
        r = r ?: read_optional(kfs, "/proc/cmdline", &world->cmdline);
        r = r ?: read_optional(kfs, "/proc/sys/kernel/random/boot_id", &world->boot_id);
        r = r ?: world_read_lockdown(world);
        if (r < 0)
                return r;
        world->systemd = kfs_exists(kfs, "/run/systemd/system");
        *ret = TAKE_PTR(world);
        return 0;
}

/* Where the object is, or where it belongs. */
static size_t world_value_index(const World *world, const char *object, bool *ret_found) {
        size_t low = 0, high = world->n_values;

        while (low < high) {
                size_t middle = (low + high) / 2;
                int order = strcmp(world->values[middle].object, object);

                if (order == 0) {
                        *ret_found = true;
                        return middle;
                }
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        *ret_found = false;
        return low;
}

int world_read(World *world, const char *object) {
        WorldValue value = {};
        bool found;
        size_t i = world_value_index(world, object, &found);
        int r;

        if (found)
                return 0;
        value.error = kfs_read(world->kfs, object, &value.live);
        /* What is no file can be written where it can be read, and was just read. */
        value.writable = object[0] == '/' ? kfs_is_writable(world->kfs, object) : value.error >= 0;
        value.object = strdup(object);
        value.found = value.live ? strdup(value.live) : NULL;
        r = value.error == -ENOMEM || !value.object || (value.live && !value.found)
                ? -ENOMEM
                : GROW(world->values, world->n_values);
        if (r < 0) {
                world_value_done(&value);
                return r;
        }
        memmove(&world->values[i + 1], &world->values[i], (world->n_values - i) * sizeof(WorldValue));
        world->values[i] = value;
        world->n_values++;
        return 0;
}

int world_readf(World *world, const char *format, ...) {
        _cleanup_free_ char *object = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(&object, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        return world_read(world, object);
}

const WorldValue *world_value(const World *world, const char *object) {
        bool found;
        size_t i = world_value_index(world, object, &found);

        return found ? &world->values[i] : NULL;
}

const char *world_live(const World *world, const char *object) {
        const WorldValue *value = world_value(world, object);

        return value ? value->live : NULL;
}

const WorldCgroup *world_cgroup(const World *world, const char *path) {
        for (size_t i = 0; i < world->n_cgroups; i++)
                if (streq(world->cgroups[i].path, path))
                        return &world->cgroups[i];
        return NULL;
}

const WorldIrq *world_irq(const World *world, unsigned irq) {
        for (size_t i = 0; i < world->n_irqs; i++)
                if (world->irqs[i].irq == irq)
                        return &world->irqs[i];
        return NULL;
}

/* `task/PID/START/affinity` and `/proc/irq/N/smp_affinity_list` are not in world->values but in the tables.
 */
static CpuList *world_found_affinity(World *world, const char *object) {
        unsigned irq;
        uint64_t start;
        int tid, end = 0;

        if (sscanf(object, "/proc/irq/%u/smp_affinity_list%n", &irq, &end) == 1 && end && !object[end])
                for (size_t i = 0; i < world->n_irqs; i++)
                        if (world->irqs[i].irq == irq)
                                return &world->irqs[i].found;
        if (sscanf(object, "task/%d/%lu/affinity%n", &tid, &start, &end) == 2 && end && !object[end])
                for (size_t i = 0; i < world->n_tasks; i++)
                        if (world->tasks[i].tid == tid && world->tasks[i].start == start)
                                return &world->tasks[i].found;
        return NULL;
}

static int world_overlay_list(CpuList *found, const char *before) {
        CpuList list = {};
        int r = cpulist_parse(before, &list, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        cpulist_done(found);
        *found = list;
        return 0;
}

static int world_overlay_step(World *world, const Step *step) {
        bool known;
        size_t i = world_value_index(world, step->object, &known);
        CpuList *list;

        if (!step->before)
                return 0;
        if (known) {
                char *copy = strdup(step->before);

                if (!copy)
                        return -ENOMEM;
                free(world->values[i].found);
                world->values[i].found = copy;
        }
        if (step->phase == PHASE_IRQ_DEFAULT) {
                CpuList mask = {};
                int r = cpulist_parse_mask(step->before, &mask);

                if (r < 0)
                        return r == -ENOMEM ? r : 0;
                cpulist_done(&world->irq_default_found);
                world->irq_default_found = mask;
                return 0;
        }
        list = world_found_affinity(world, step->object);
        return list ? world_overlay_list(list, step->before) : 0;
}

int world_overlay(World *world, const Steps *in_force) {
        for (size_t i = 0; in_force && i < in_force->n; i++) {
                int r = world_overlay_step(world, &in_force->items[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}
