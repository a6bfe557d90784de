/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clock.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"
#define MEASURE_NSEC 100000000u

/* Is it one of the words of a text? */
static bool has_word(const char *text, const char *word) {
        size_t n = strlen(word);

        for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
                if ((p == text || p[-1] == ' ' || p[-1] == '\t') && (!p[n] || strchr(" \t\n", p[n])))
                        return true;
        return false;
}

static char *read_text(Kfs *kfs, const char *file) {
        char *text = NULL;

        return kfs_read(kfs, file, &text) < 0 ? strdup("") : text;
}

/* Clocks that user space reads without a system call, where the kernel keeps time by them. */
static bool is_mapped(const char *source) {
        static const char *const mapped[] = { "tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                "arch_sys_counter", "riscv_clocksource", "timebase", "tod" };

        for (size_t i = 0; i < ARRAY_SIZE(mapped); i++)
                if (streq(source, mapped[i]))
                        return true;
        return false;
}

static bool never_stops(Kfs *kfs) {
        _cleanup_free_ char *info = read_text(kfs, "/proc/cpuinfo");

        return info && has_word(info, "constant_tsc") && has_word(info, "nonstop_tsc");
}

static void choose_x86(Kfs *kfs, const char *source, const char *available, Clock *clock) {
        if (streq(source, "tsc")) {
                clock->kind = CLOCK_KIND_TSC;
                (void) snprintf(clock->why, sizeof(clock->why), "the kernel keeps time by it");
        } else if (has_word(available, "tsc") && never_stops(kfs)) {
                clock->kind = CLOCK_KIND_TSC;
                (void) snprintf(clock->why, sizeof(clock->why),
                        "the kernel keeps time by %.20s and trusts it too", source);
        } else
                (void) snprintf(clock->why, sizeof(clock->why),
                        "the kernel keeps time by %.20s and does not trust the TSC", source);
}

Clock clock_choose(Kfs *kfs, const char *machine) {
        _cleanup_free_ char *source = read_text(kfs, CLOCKSOURCE "current_clocksource");
        _cleanup_free_ char *available = read_text(kfs, CLOCKSOURCE "available_clocksource");
        Clock clock = { .kind = CLOCK_KIND_GETTIME, .ns_per_tick = 1 };

        if (!source || !available || !*source) {
                (void) snprintf(
                        clock.why, sizeof(clock.why), "the kernel does not say what it keeps time by");
                return clock;
        }
        if (streq(machine, "x86_64"))
                choose_x86(kfs, source, available, &clock);
        else if (streq(machine, "aarch64")) {
                clock.kind = CLOCK_KIND_CNTVCT;
                (void) snprintf(clock.why, sizeof(clock.why), "every arm64 processor has it");
        } else
                (void) snprintf(clock.why, sizeof(clock.why), "the kernel keeps time by %.20s", source);
        clock.call = clock.kind == CLOCK_KIND_GETTIME && !is_mapped(source);
        return clock;
}

/* Both clocks at one moment: the pair that was read fastest of some. */
static void read_pair(ClockKind kind, uint64_t *ret_ns, uint64_t *ret_ticks) {
        uint64_t best = UINT64_MAX;

        for (int i = 0; i < 20; i++) {
                uint64_t before = clock_ns(), ticks = clock_read(kind), after = clock_ns();

                if (after - before >= best)
                        continue;
                best = after - before;
                *ret_ns = before + best / 2;
                *ret_ticks = ticks;
        }
}

void clock_measure(Clock *clock) {
        struct timespec wait = { .tv_nsec = MEASURE_NSEC };
        uint64_t ns = 0, ticks = 0, later_ns = 0, later_ticks = 0;

        if (clock->kind == CLOCK_KIND_GETTIME)
                return;
        read_pair(clock->kind, &ns, &ticks);
        (void) nanosleep(&wait, NULL);
        read_pair(clock->kind, &later_ns, &later_ticks);
        if (later_ticks > ticks)
                clock->ns_per_tick = (double) (later_ns - ns) / (double) (later_ticks - ticks);
}

const char *clock_name(const Clock *clock) {
        switch (clock->kind) {
        case CLOCK_KIND_TSC: return "tsc";
        case CLOCK_KIND_CNTVCT: return "cntvct";
        default: return "clock_gettime";
        }
}
