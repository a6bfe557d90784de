/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "measure/clock.h"
#include "measure/report.h"
#include "measure/request.h"
#include "measure/svg.h"
#include "test.h"
#include "tree.h"

#define assert_near(a, b)                                                                                   \
        do {                                                                                                \
                double _a = (a), _b = (b);                                                                  \
                if (fabs(_a - _b) > 1e-6 * (1 + fabs(_b)))                                                  \
                        fail_msg("%s: %.9g instead of %.9g", #a, _a, _b);                                   \
        } while (0)

/* Statistics */

static const double series[] = { 4, 7, 13, 16, -2, 1000, 4 };

static Stats stats_of(size_t from, size_t to) {
        Stats stats = {};

        for (size_t i = from; i < to; i++)
                stats_add(&stats, series[i]);
        return stats;
}

static void test_stats(void **state) {
        static const struct {
                size_t n;
                double min, max, mean, sigma, sum;
        } rows[] = {
                { 0, 0, 0, 0, 0, 0 },
                { 1, 4, 4, 4, 0, 4 },
                { 4, 4, 16, 10, 4.743416490, 40 },
                { 5, -2, 16, 7.6, 6.406246951, 38 },
                { 7, -2, 1000, 1042.0 / 7, 347.5220119, 1042 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Stats stats = stats_of(0, rows[i].n);

                assert_int_equal(stats.n, rows[i].n);
                assert_near(stats.min, rows[i].min);
                assert_near(stats.max, rows[i].max);
                assert_near(stats.mean, rows[i].mean);
                assert_near(stats_sigma(&stats), rows[i].sigma);
                assert_near(stats_sum(&stats), rows[i].sum);
        }
}

/* Wherever a series is cut, both parts together are the whole. */
static void test_stats_merge(void **state) {
        Stats whole = stats_of(0, ARRAY_SIZE(series));

        for (size_t cut = 0; cut <= ARRAY_SIZE(series); cut++) {
                Stats first = stats_of(0, cut), second = stats_of(cut, ARRAY_SIZE(series));

                stats_merge(&first, &second);
                assert_int_equal(first.n, whole.n);
                assert_near(first.min, whole.min);
                assert_near(first.max, whole.max);
                assert_near(first.mean, whole.mean);
                assert_near(stats_sigma(&first), stats_sigma(&whole));
        }
}

/* A constant far from 0 has no deviation: sums of squares would have lost it. */
static void test_stats_precision(void **state) {
        Stats stats = {};

        for (int i = 0; i < 1000000; i++)
                stats_add(&stats, 1e9 + (i % 2));
        assert_near(stats_sigma(&stats), 0.5);
        assert_near(stats.mean, 1e9 + 0.5);
}

static void test_histogram(void **state) {
        static const uint64_t values[] = { 0, 1, 15, 16, 17, 31, 32, 33, 1000, 999999, UINT64_C(1) << 47,
                (UINT64_C(1) << 48) - 1 };

        for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                unsigned bucket = histogram_bucket(values[i]);

                if (values[i] < histogram_from(bucket) || values[i] >= histogram_from(bucket + 1))
                        fail_msg("%llu is not in bucket %u, from %llu to %llu",
                                (unsigned long long) values[i], bucket,
                                (unsigned long long) histogram_from(bucket),
                                (unsigned long long) histogram_from(bucket + 1));
        }
        /* A bucket is never wider than a sixteenth of what is in it, and they follow each other. */
        for (unsigned bucket = HISTOGRAM_STEPS; bucket + 1 < HISTOGRAM_BUCKETS; bucket++) {
                uint64_t from = histogram_from(bucket), to = histogram_from(bucket + 1);

                assert_true(to > from && (to - from) * HISTOGRAM_STEPS <= from);
                assert_int_equal(histogram_bucket(from), bucket);
                assert_int_equal(histogram_bucket(to - 1), bucket);
        }
        assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void test_quantiles(void **state) {
        Histogram histogram = {}, other = {};

        assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
        for (int i = 0; i < 999; i++)
                histogram_add(&histogram, 10);
        histogram_add(&other, 12);
        histogram_merge(&histogram, &other);
        assert_int_equal(histogram_total(&histogram), 1000);
        assert_int_equal(histogram_quantile(&histogram, 0.5), 10);
        assert_int_equal(histogram_quantile(&histogram, 0.999), 10);
        assert_int_equal(histogram_quantile(&histogram, 1), 12);
}

/* The tight loop */

static void fill(Histogram *histogram, uint64_t value, unsigned n) {
        while (n-- > 0)
                histogram_add(histogram, value);
}

static void test_calibrate(void **state) {
        /* A loop of 10 ticks, sometimes of 14; one round in ten thousand is disturbed and must not count. */
        static const struct {
                unsigned plain, slow, disturbed;
                double limit_ns;
                uint64_t loop, limit;
        } rows[] = {
                { 99990, 0, 10, 0, 10, 30 }, { 90000, 9990, 10, 0, 10, 30 }, { 40000, 59990, 10, 0, 14, 42 },
                { 99990, 0, 10, 5000, 10, 10010 }, /* half a nanosecond a tick */
        };
        Histogram empty = {};
        Pert pert;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Histogram rounds = {};

                fill(&rounds, 10, rows[i].plain);
                fill(&rounds, 14, rows[i].slow);
                fill(&rounds, 90000, rows[i].disturbed);
                assert_int_equal(pert_calibrate(&rounds, 0.5, rows[i].limit_ns, &pert), 0);
                assert_int_equal(pert.loop, rows[i].loop);
                assert_int_equal(pert.limit, rows[i].limit);
        }
        assert_int_equal(pert_calibrate(&empty, 0.5, 0, &pert), -ENODATA);
}

/* Perturbations of 1 us, and one of 10 us: it alone is above twice the running mean. */
static void test_running_threshold(void **state) {
        Pert pert = { .ns_per_tick = 0.5, .loop = 10, .limit = 30 };
        Histogram histogram = {};
        Interval interval = {};

        for (int i = 0; i < 100; i++)
                pert_add(&pert, 2010, &interval, &histogram);
        assert_int_equal(interval.above.n, 0);
        assert_near(interval.threshold, 2000);
        pert_add(&pert, 20010, &interval, &histogram);
        assert_int_equal(interval.all.n, 101);
        assert_int_equal(interval.above.n, 1);
        assert_near(interval.above.max, 10000);
        assert_near(stats_sum(&interval.all), 110000);
        /* The mean has gone up by a sixteenth of the difference. */
        assert_near(pert.mean, 1000 + 9000.0 / 16);
        assert_int_equal(histogram_total(&histogram), 101);
}

/* Lanes */

static void test_due(void **state) {
        static const struct {
                unsigned hz;
                uint64_t period_ns, n, due;
        } rows[] = {
                { 960, 0, 960, 1000000000 },
                { 666, 0, 666 * 3600, UINT64_C(3600000000000) }, /* no rounding adds up in an hour */
                { 300, 0, 1, 3333333 },
                { 960, 0, UINT64_C(960) * 400 * 86400, UINT64_C(400) * 86400 * 1000000000 },
                { 0, 1042000, 3, 3126000 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Lane lane = { .hz = rows[i].hz, .period_ns = rows[i].period_ns };

                assert_int_equal(lane_due(&lane, rows[i].n), rows[i].due);
        }
}

static void test_ring(void **state) {
        _cleanup_run_ Run *run = run_new(1);
        Lane *lane = &run->lanes[0];
        Interval interval;
        unsigned read = 0;

        assert_false(lane_take(lane, &read, &interval));
        for (int i = 1; i <= 3; i++) {
                interval_add(&lane->current, i);
                lane_publish(lane, i);
        }
        for (int i = 1; i <= 3; i++) {
                assert_true(lane_take(lane, &read, &interval));
                assert_near(interval.all.mean, i);
                assert_near(interval.seconds, 1);
        }
        assert_false(lane_take(lane, &read, &interval));
        /* A reader that comes late misses the oldest, and gets the newest. */
        for (int i = 4; i <= 100; i++) {
                interval_add(&lane->current, i);
                lane_publish(lane, i);
        }
        assert_true(lane_take(lane, &read, &interval));
        assert_near(interval.all.mean, 100 - (LANE_INTERVALS - 2));
        while (lane_take(lane, &read, &interval))
                ;
        assert_near(interval.all.mean, 100);
        assert_int_equal(lane->total.all.n, 100);
        assert_near(lane->total.all.mean, 50.5);
        assert_near(lane->total.seconds, 100);
}

/* Clocks */

static void test_clock(void **state) {
        static const struct {
                const char *machine, *current, *available, *flags;
                const char *name;
                bool call;
        } rows[] = {
                { "x86_64", "tsc", "tsc hpet acpi_pm", "fpu tsc", "tsc", false },
                { "x86_64", "hpet", "hpet acpi_pm", "fpu tsc constant_tsc nonstop_tsc", "clock_gettime",
                        true },
                { "x86_64", "hpet", "hpet tsc-early acpi_pm", "constant_tsc nonstop_tsc", "clock_gettime",
                        true },
                { "x86_64", "kvm-clock", "kvm-clock tsc acpi_pm", "constant_tsc nonstop_tsc", "tsc", false },
                { "x86_64", "kvm-clock", "kvm-clock tsc acpi_pm", "fpu tsc", "clock_gettime", false },
                { "x86_64", "acpi_pm", "acpi_pm", "", "clock_gettime", true },
                { "aarch64", "arch_sys_counter", "arch_sys_counter", "", "cntvct", false },
                { "", "tsc", "tsc", "", "clock_gettime", false },
                { "riscv64", "riscv_clocksource", "riscv_clocksource", "", "clock_gettime", false },
                { "x86_64", NULL, NULL, "constant_tsc nonstop_tsc", "clock_gettime", false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *info = NULL;
                Clock clock;

                if (rows[i].current) {
                        tree_put(tree, "sys/devices/system/clocksource/clocksource0/current_clocksource",
                                rows[i].current);
                        tree_put(tree, "sys/devices/system/clocksource/clocksource0/available_clocksource",
                                rows[i].available);
                }
                assert_int_equal(util_asprintf(&info, "processor : 0\nflags\t\t: %s\n", rows[i].flags), 0);
                tree_put(tree, "proc/cpuinfo", info);
                clock = clock_choose(tree->kfs, rows[i].machine);
                if (!streq(clock_name(&clock), rows[i].name) || clock.call != rows[i].call || !*clock.why)
                        fail_msg("row %zu: %s, call %d, \"%s\"", i, clock_name(&clock), clock.call,
                                clock.why);
        }
}

/* Options */

static void test_duration(void **state) {
        static const struct {
                const char *text;
                int r;
                uint64_t seconds;
        } rows[] = {
                { "0", 0, 0 },
                { "90", 0, 90 },
                { "90s", 0, 90 },
                { "10m", 0, 600 },
                { "1h30m", 0, 5400 },
                { "1h5", 0, 3605 },
                { "2d", 0, 172800 },
                { "400d", 0, UINT64_C(400) * 86400 },
                { "401d", -ERANGE, 0 },
                { "99999999999999999999d", -ERANGE, 0 },
                { "18446744073709551615d", -ERANGE, 0 },
                { "", -EINVAL, 0 },
                { "h", -EINVAL, 0 },
                { "1.5h", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "1w", -EINVAL, 0 },
                { "1 h", -EINVAL, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint64_t ns = 0;
                int r = request_parse_duration(rows[i].text, &ns);

                if (r != rows[i].r || ns != rows[i].seconds * 1000000000)
                        fail_msg("\"%s\": %d, %llu ns", rows[i].text, r, (unsigned long long) ns);
        }
}

/* Records */

/* A measurement of two CPUs of which the first saw latencies of 1 to n us. */
static json_t *record_of(int n) {
        _cleanup_run_ Run *run = run_new(2);

        run->kind = MEASURE_JITTER;
        for (size_t i = 0; i < 2; i++) {
                run->lanes[i] = (Lane){ .cpu = (unsigned) i + 2, .hz = 960, .set = i ? "<&>" : NULL };
                run->lanes[i].current.threshold = 5000;
        }
        for (int i = 1; i <= n; i++) {
                interval_add(&run->lanes[0].current, i * 1000);
                histogram_add(&run->lanes[0].histogram, (uint64_t) i * 1000);
        }
        lane_publish(&run->lanes[0], 2);
        return json_pack("{s:s, s:s, s:s, s:f, s:o, s:o}", "measure", "jitter", "host", "a<b>&c\033[31m",
                "mode", n > 6 ? "green" : "quiet", "seconds", 2.0, "rows", report_rows(run), "all",
                report_all(run));
}

static double get(const json_t *record, const char *member, const char *key) {
        return json_number_value(json_object_get(json_object_get(record, member), key));
}

static void test_record(void **state) {
        _cleanup_record_ json_t *record = record_of(8);
        const json_t *row = json_array_get(json_object_get(record, "rows"), 0);

        assert_near(get(record, "all", "mean_us"), 4.5);
        assert_near(get(record, "all", "max_us"), 8);
        assert_near(get(record, "all", "jitter_us"), 7);
        assert_near(get(record, "all", "hits"), 3);
        assert_near(get(record, "all", "hit_min_us"), 6);
        assert_near(get(record, "all", "hit_mean_us"), 7);
        assert_int_equal(json_array_size(json_object_get(row, "histogram")), 8);
        assert_int_equal(json_integer_value(json_object_get(row, "cpu")), 2);
        assert_true(json_is_false(json_object_get(row, "complete")));
}

static void test_compare(void **state) {
        _cleanup_record_ json_t *first = record_of(8), *second = record_of(4);
        _cleanup_record_ json_t *both = report_compare(first, second);
        const json_t *ratio = json_object_get(both, "ratio");

        assert_near(get(ratio, "all", "max_us"), 0.5);
        assert_near(get(ratio, "all", "mean_us"), 2.5 / 4.5);
        assert_near(get(ratio, "all", "hits"), 0);
        assert_int_equal(json_array_size(json_object_get(ratio, "rows")), 2);
        /* Nothing was seen on the other CPU: there is no ratio to it. */
        assert_true(
                json_is_null(json_object_get(json_array_get(json_object_get(ratio, "rows"), 1), "max_us")));
}

static char *draw(const json_t *record) {
        char *text = NULL;
        size_t size;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_int_equal(svg_write(file, record), 0);
        assert_int_equal(fclose(file), 0);
        return text;
}

/* Whatever a host is called, it is no markup and steers no terminal; one piece of a path for each bucket. */
static void test_svg(void **state) {
        _cleanup_record_ json_t *first = record_of(8), *second = record_of(4);
        _cleanup_record_ json_t *both = report_compare(first, second);
        _cleanup_free_ char *one = draw(first), *two = draw(both);

        assert_non_null(strstr(one, "a&lt;b&gt;&amp;c\\x1b[31m"));
        assert_null(strchr(one, '\033'));
        assert_non_null(strstr(one, "mode green"));
        assert_null(strstr(one, "mode quiet"));
        assert_non_null(strstr(two, "mode quiet"));
        assert_non_null(strstr(two, "0.500"));
        assert_string_equal(two + strlen(two) - 7, "</svg>\n");
        assert_null(strstr(two, "nan"));
        assert_null(strstr(two, "inf"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stats),
                cmocka_unit_test(test_stats_merge),
                cmocka_unit_test(test_stats_precision),
                cmocka_unit_test(test_histogram),
                cmocka_unit_test(test_quantiles),
                cmocka_unit_test(test_calibrate),
                cmocka_unit_test(test_running_threshold),
                cmocka_unit_test(test_due),
                cmocka_unit_test(test_ring),
                cmocka_unit_test(test_clock),
                cmocka_unit_test(test_duration),
                cmocka_unit_test(test_record),
                cmocka_unit_test(test_compare),
                cmocka_unit_test(test_svg),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
