/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample.h"

#include <inttypes.h>
#include <time.h>

#include "cpulist.h"

void sample_done(Sample *sample) {
        free(sample->busy);
        free(sample->total);
        free(sample->steal);
        free(sample->interrupts);
        free(sample->timer);
        *sample = (Sample){};
}

/* Room for CPU numbers below n, zeroed. */
static int sample_widen(Sample *sample, size_t n) {
        uint64_t **arrays[] = { &sample->busy, &sample->total, &sample->steal, &sample->interrupts,
                &sample->timer };

        if (n <= sample->n)
                return 0;
        if (n > (size_t) CPULIST_MAX + 1)
                return -ERANGE;
        for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
                uint64_t *grown = reallocarray(*arrays[i], n, sizeof(uint64_t));

                if (!grown)
                        return -ENOMEM;
                memset(grown + sample->n, 0, (n - sample->n) * sizeof(uint64_t));
                *arrays[i] = grown;
        }
        sample->n = n;
        return 0;
}

/* `cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL …`: guest time is in user time already. */
static int take_stat_line(Sample *sample, const char *line) {
        uint64_t fields[8] = {}, total = 0;
        unsigned cpu;
        int r;

        if (sscanf(line,
                    "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                    " %" SCNu64,
                    &cpu, &fields[0], &fields[1], &fields[2], &fields[3], &fields[4], &fields[5], &fields[6],
                    &fields[7]) < 5)
                return 0;
        r = sample_widen(sample, (size_t) cpu + 1);
        if (r < 0)
                return r == -ERANGE ? 0 : r;
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                total += fields[i];
        sample->total[cpu] = total;
        sample->busy[cpu] = total - fields[3] - fields[4];
        sample->steal[cpu] = fields[7];
        return 0;
}

/* The CPUs that head the columns. */
static int take_heading(const char *line, unsigned **ret, size_t *ret_n) {
        _cleanup_free_ unsigned *cpus = NULL;
        size_t n = 0;

        for (const char *p = strstr(line, "CPU"); p; p = strstr(p + 3, "CPU")) {
                int r = GROW(cpus, n);

                if (r < 0)
                        return r;
                cpus[n++] = (unsigned) strtoul(p + 3, NULL, 10);
        }
        *ret = TAKE_PTR(cpus);
        *ret_n = n;
        return 0;
}

/* Are there numbers for n columns? */
static bool has_columns(const char *p, size_t n) {
        char *end;

        for (; n > 0; n--, p = end) {
                (void) strtoull(p, &end, 10);
                if (end == p)
                        return false;
        }
        return true;
}

/* Each CPU's own timer: x86 has a row of its own for it, others an interrupt that says so. */
static bool is_timer(const char *line) {
        return util_startswith(line + strspn(line, " "), "LOC:") || strstr(line, "arch_timer") ||
                strstr(line, "riscv-timer") || strstr(line, "Timer interrupts");
}

/* `25:  12  0 … name`, `LOC: 99 98 …`: a number for each column; `ERR: 7` belongs to no CPU. */
static void take_interrupts_line(Sample *sample, const char *line, const unsigned *cpus, size_t n) {
        const char *p = strchr(line, ':');
        bool timer = is_timer(line);
        char *end;

        if (!p || !has_columns(p + 1, n))
                return;
        p++;
        sample->has_timer = sample->has_timer || timer;
        for (size_t i = 0; i < n; i++, p = end) {
                uint64_t count = strtoull(p, &end, 10);

                if (cpus[i] >= sample->n)
                        continue;
                sample->interrupts[cpus[i]] += count;
                sample->timer[cpus[i]] += timer ? count : 0;
        }
}

static int take_stat(Kfs *kfs, Sample *sample) {
        _cleanup_free_ char *text = NULL;
        char *state = NULL;

        if (kfs_read(kfs, "/proc/stat", &text) < 0)
                return 0;
        for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                int r = take_stat_line(sample, line);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_interrupts(Kfs *kfs, Sample *sample) {
        _cleanup_free_ unsigned *cpus = NULL;
        _cleanup_free_ char *text = NULL;
        char *state = NULL, *line;
        size_t n;
        int r;

        if (kfs_read(kfs, "/proc/interrupts", &text) < 0)
                return 0;
        line = strtok_r(text, "\n", &state);
        if (!line)
                return 0;
        r = take_heading(line, &cpus, &n);
        while (r == 0 && (line = strtok_r(NULL, "\n", &state)))
                take_interrupts_line(sample, line, cpus, n);
        return r;
}

int sample_take(Kfs *kfs, Sample *ret) {
        _cleanup_sample_ Sample sample = {};
        struct timespec now;
        int r = take_stat(kfs, &sample);

        if (r == 0)
                r = take_interrupts(kfs, &sample);
        if (r < 0)
                return r;
        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        sample.at = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
        *ret = sample;
        sample = (Sample){};
        return 0;
}

/* The part of a CPU's time that a counter of it makes up. */
static double share(const Sample *before, const Sample *after, unsigned cpu, const uint64_t *earlier,
        const uint64_t *later) {
        if (cpu >= before->n || cpu >= after->n || after->total[cpu] <= before->total[cpu] ||
                later[cpu] < earlier[cpu])
                return -1;
        return (double) (later[cpu] - earlier[cpu]) / (double) (after->total[cpu] - before->total[cpu]);
}

double sample_busy(const Sample *before, const Sample *after, unsigned cpu) {
        return share(before, after, cpu, before->busy, after->busy);
}

double sample_steal(const Sample *before, const Sample *after, unsigned cpu) {
        return share(before, after, cpu, before->steal, after->steal);
}

static double per_second(const Sample *before, const Sample *after, unsigned cpu, const uint64_t *earlier,
        const uint64_t *later) {
        if (cpu >= before->n || cpu >= after->n || after->at <= before->at || later[cpu] < earlier[cpu])
                return 0;
        return (double) (later[cpu] - earlier[cpu]) * 1e6 / (double) (after->at - before->at);
}

double sample_interrupts(const Sample *before, const Sample *after, unsigned cpu) {
        return per_second(before, after, cpu, before->interrupts, after->interrupts);
}

double sample_timer(const Sample *before, const Sample *after, unsigned cpu) {
        return per_second(before, after, cpu, before->timer, after->timer);
}
