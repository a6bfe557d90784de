/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "irq.h"

#include <ctype.h>

static int read_affinity(Kfs *kfs, unsigned irq, const char *name, CpuList *ret) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_readf(kfs, &text, "/proc/irq/%u/%s_list", irq, name);

        if (r >= 0)
                return cpulist_parse(text, ret, NULL);
        if (r != -ENOENT)
                return r;
        r = kfs_readf(kfs, &text, "/proc/irq/%u/%s", irq, name);
        return r < 0 ? r : cpulist_parse_mask(text, ret);
}

static int read_optional(Kfs *kfs, unsigned irq, const char *file, char **ret) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_readf(kfs, &text, "/sys/kernel/irq/%u/%s", irq, file);

        if (r < 0 || !*text)
                return r == -ENOMEM ? r : 0;
        *ret = TAKE_PTR(text);
        return 0;
}

/* What the kernel's own debugging says; few kernels have it, and only root may look. */
static int read_debug(Kfs *kfs, WorldIrq *irq) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_readf(kfs, &text, "/sys/kernel/debug/irq/irqs/%u", irq->irq);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        irq->managed = strstr(text, "IRQD_AFFINITY_MANAGED");
        if (irq->managed || strstr(text, "IRQD_PER_CPU") || strstr(text, "IRQD_NO_BALANCING") ||
                strstr(text, "_IRQ_PER_CPU_DEVID"))
                irq->writable = false;
        return 0;
}

/* A kernel that knows that an interrupt cannot be moved takes the write bits off its file; an older one
 * refuses when it is written. */
static int read_writable(Kfs *kfs, WorldIrq *irq) {
        _cleanup_free_ char *object = NULL;
        int r = util_asprintf(&object, "/proc/irq/%u/smp_affinity_list", irq->irq);

        if (r < 0)
                return r;
        irq->writable = !kfs_exists(kfs, object) || kfs_is_writable(kfs, object);
        return 0;
}

static int read_irq(World *world, unsigned number, bool may_write) {
        WorldIrq irq = { .irq = number, .writable = true };
        int r;

        r = read_affinity(world->kfs, number, "smp_affinity", &irq.live);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = cpulist_copy(&irq.live, &irq.found);
        if (r >= 0)
                r = read_affinity(world->kfs, number, "effective_affinity", &irq.effective);
        irq.has_effective = r >= 0;
        r = r == -ENOMEM ? r : 0;
        r = r ?: read_optional(world->kfs, number, "actions", &irq.name);
        r = r ?: read_optional(world->kfs, number, "chip_name", &irq.chip);
        if (r == 0 && may_write)
                r = read_writable(world->kfs, &irq);
        r = r ?: read_debug(world->kfs, &irq);
        r = r ?: GROW(world->irqs, world->n_irqs);
        if (r < 0) {
                world_irq_done(&irq);
                return r;
        }
        world->irqs[world->n_irqs++] = irq;
        return 0;
}

static int fill_names(World *world) {
        for (size_t i = 0; i < world->n_irqs; i++) {
                WorldIrq *irq = &world->irqs[i];

                irq->name = irq->name ?: strdup("");
                irq->chip = irq->chip ?: strdup("");
                if (!irq->name || !irq->chip)
                        return -ENOMEM;
        }
        return 0;
}

static int read_default(World *world) {
        const char *text;
        int r = world_read(world, "/proc/irq/default_smp_affinity");

        if (r < 0)
                return r;
        text = world_live(world, "/proc/irq/default_smp_affinity");
        if (!text || cpulist_parse_mask(text, &world->irq_default_live) < 0)
                return 0;
        return cpulist_copy(&world->irq_default_live, &world->irq_default_found);
}

int irq_read(World *world) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *text = NULL;
        bool may_write;
        int r;

        r = read_default(world);
        if (r < 0)
                return r;
        /* Who may not even write this file cannot tell what could be written. */
        may_write = kfs_is_writable(world->kfs, "/proc/irq/default_smp_affinity");
        r = kfs_list(world->kfs, "/proc/irq", &names);
        if (r == -ENOMEM)
                return r;
        STRV_FOREACH (name, names) {
                unsigned number;

                if (util_parse_unsigned(*name, &number) < 0)
                        continue;
                r = read_irq(world, number, may_write);
                if (r < 0)
                        return r;
        }
        r = kfs_read(world->kfs, "/proc/interrupts", &text);
        if (r >= 0)
                r = irq_parse_interrupts(world, text);
        return r == -ENOMEM ? r : fill_names(world);
}

/* The columns of the first line: which CPU each is of. */
static int parse_header(const char *line, size_t n, unsigned **ret, size_t *ret_n) {
        _cleanup_free_ char *copy = strndup(line, n);
        _cleanup_strv_ char **words = NULL;
        _cleanup_free_ unsigned *cpus = NULL;
        size_t n_cpus = 0;
        int r = copy ? util_strv_split(copy, " \t", &words) : -ENOMEM;

        STRV_FOREACH (word, words) {
                const char *number = util_startswith(*word, "CPU");

                if (r >= 0)
                        r = GROW(cpus, n_cpus);
                if (r < 0)
                        return r;
                if (!number || util_parse_unsigned(number, &cpus[n_cpus]) < 0 || cpus[n_cpus] > CPULIST_MAX)
                        return -EBADMSG;
                n_cpus++;
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(cpus);
        *ret_n = n_cpus;
        return 0;
}

/* The end of the chip's name and the start of what follows the interrupt's number on that chip, which has
 * the kind of trigger behind a dash: `PCI-MSIX-0000:00:05.0 1-edge virtio1-req.0`. A name may have
 * blanks; where there is no number, two of them end it. */
static char *find_chip_end(char *text, char **ret_rest) {
        char *end = text, *gap = strstr(text, "  ");

        for (char *p = text; *p; p += strspn(p, " ")) {
                size_t length = strcspn(p, " "), digits = strspn(p, "0123456789");

                if (p > text && digits > 0 && (digits == length || p[digits] == '-')) {
                        *ret_rest = p + length;
                        return end;
                }
                p += length;
                end = p;
        }
        *ret_rest = gap ?: end;
        return *ret_rest;
}

/* Some kernels have the trigger as a word of its own. */
static char *skip_trigger(char *p) {
        static const char *const kinds[] = { "Level", "Edge" };

        p += strspn(p, " ");
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                size_t n = strlen(kinds[i]);

                if (strncmp(p, kinds[i], n) == 0 && strchr(" -", p[n])) {
                        p += n + strcspn(p + n, " ");
                        return p + strspn(p, " ");
                }
        }
        return p;
}

/* Splits what stands behind the counts. */
static int split_description(char *text, char **ret_chip, char **ret_name) {
        char *rest, *chip_end = find_chip_end(text, &rest);
        _cleanup_free_ char *chip = strndup(text, (size_t) (chip_end - text));
        _cleanup_free_ char *name = strdup(skip_trigger(rest));

        if (!name || !chip)
                return -ENOMEM;
        *ret_chip = TAKE_PTR(chip);
        *ret_name = TAKE_PTR(name);
        return 0;
}

/* `a, b` as /proc/interrupts has it becomes `a,b` as /sys/kernel/irq/N/actions has it. */
static void join_actions(char *name) {
        char *out = name;

        for (const char *p = name; *p; p++) {
                *out++ = *p;
                if (p[0] == ',' && p[1] == ' ')
                        p++;
        }
        *out = '\0';
}

static WorldIrq *find_or_add(World *world, unsigned number, int *error) {
        size_t i = 0;

        while (i < world->n_irqs && world->irqs[i].irq < number)
                i++;
        if (i < world->n_irqs && world->irqs[i].irq == number)
                return &world->irqs[i];
        *error = GROW(world->irqs, world->n_irqs);
        if (*error < 0)
                return NULL;
        memmove(&world->irqs[i + 1], &world->irqs[i], (world->n_irqs - i) * sizeof(WorldIrq));
        world->irqs[i] = (WorldIrq){ .irq = number };
        world->n_irqs++;
        return &world->irqs[i];
}

static int describe(WorldIrq *irq, char *rest) {
        _cleanup_free_ char *chip = NULL, *name = NULL;
        int r;

        if (irq->name && irq->chip)
                return 0;
        r = split_description(rest, &chip, &name);
        if (r < 0)
                return r;
        join_actions(name);
        if (!irq->name)
                irq->name = TAKE_PTR(name);
        if (!irq->chip)
                irq->chip = TAKE_PTR(chip);
        return 0;
}

/* The counts of one row, index = CPU number; *p moves behind them.  -ENODATA for a row that is cut short. */
static int parse_counts(char **p, const unsigned *cpus, size_t n_cpus, uint64_t **ret, size_t *ret_n) {
        _cleanup_free_ uint64_t *counts = NULL;
        size_t n = 0;

        for (size_t i = 0; i < n_cpus; i++)
                n = cpus[i] >= n ? cpus[i] + 1 : n;
        counts = calloc(n ?: 1, sizeof(uint64_t));
        if (!counts)
                return -ENOMEM;
        for (size_t i = 0; i < n_cpus; i++) {
                char *word = *p + strspn(*p, " "), *end = word + strcspn(word, " "), saved = *end;
                int r;

                *end = '\0';
                r = util_parse_u64(word, &counts[cpus[i]]);
                *end = saved;
                if (r < 0)
                        return -ENODATA;
                *p = end;
        }
        *ret = TAKE_PTR(counts);
        *ret_n = n;
        return 0;
}

/* One row; it is changed. */
static int parse_row(World *world, char *row, const unsigned *cpus, size_t n_cpus) {
        _cleanup_free_ uint64_t *counts = NULL;
        char *colon = strchr(row, ':'), *p;
        size_t n_counts;
        WorldIrq *irq;
        unsigned number;
        int r = 0;

        if (!colon)
                return 0;
        *colon = '\0';
        if (util_parse_unsigned(util_strip(row), &number) < 0)
                return 0; /* `LOC:`: an interrupt of each CPU's own, without a number */
        p = colon + 1;
        r = parse_counts(&p, cpus, n_cpus, &counts, &n_counts);
        if (r < 0)
                return r == -ENODATA ? 0 : r;
        irq = find_or_add(world, number, &r);
        if (!irq)
                return r;
        free(irq->counts);
        irq->counts = TAKE_PTR(counts);
        irq->n_counts = n_counts;
        return describe(irq, util_strip(p));
}

int irq_parse_interrupts(World *world, const char *text) {
        _cleanup_free_ unsigned *cpus = NULL;
        size_t n_cpus = 0, n = strcspn(text, "\n");
        int r = parse_header(text, n, &cpus, &n_cpus);

        if (r < 0)
                return r;
        for (text += n; *text; text += n) {
                _cleanup_free_ char *row = NULL;

                text += strspn(text, "\n");
                n = strcspn(text, "\n");
                row = strndup(text, n);
                if (!row)
                        return -ENOMEM;
                r = parse_row(world, row, cpus, n_cpus);
                if (r < 0)
                        return r;
        }
        return 0;
}

int irq_free_vectors(const char *text, const CpuList *cpus, uint64_t *ret) {
        const char *p = strstr(text, "| CPU |");
        uint64_t total = 0;
        bool any = false;

        for (p = p ? strchr(p, '\n') : NULL; p && p[1]; p = strchr(p + 1, '\n')) {
                unsigned cpu, available;

                if (sscanf(p + 1, "%u %u", &cpu, &available) != 2)
                        break;
                if (!cpulist_has(cpus, cpu))
                        continue;
                total += available;
                any = true;
        }
        if (!any)
                return -ENODATA;
        *ret = total;
        return 0;
}
