/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "svg.h"

#include <locale.h>
#include <math.h>

#include "report.h"
#include "text.h"

#define WIDTH 900
#define LEFT 80.0
#define RIGHT 870.0
#define CHART_HEIGHT 260.0
#define CPU_HEIGHT 16.0
#define LINE_HEIGHT 20.0

static const char *const colours[] = { "#1f5fa8", "#d1541b" };

/* What is drawn: one measurement, or two. */
typedef struct Picture {
        FILE *file;
        const json_t *records[2];
        size_t n;
        const json_t *ratio; /* or NULL */
        double y;            /* where the next thing goes */
        double low, high;    /* decades of microseconds that the axes show */
} Picture;

/* What a name may hold is no markup. */
static int put_text(FILE *file, const char *text) {
        _cleanup_free_ char *printable = NULL;
        int r = text_printable(text, &printable);

        for (const char *p = printable; r == 0 && *p; p++)
                switch (*p) {
                case '<': fputs("&lt;", file); break;
                case '>': fputs("&gt;", file); break;
                case '&': fputs("&amp;", file); break;
                default: fputc(*p, file);
                }
        return r;
}

static int put_label(const Picture *picture, double x, double y, const char *anchor, const char *colour,
        const char *text) {
        int r;

        fprintf(picture->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor,
                colour);
        r = put_text(picture->file, text);
        fputs("</text>\n", picture->file);
        return r;
}

static double number(const json_t *row, const char *key) {
        return json_number_value(json_object_get(row, key));
}

/* The mean has the name that people know it by. */
static double mean_of(const json_t *row) {
        return json_object_get(row, "mean_us") ? number(row, "mean_us") : number(row, "avg_us");
}

static const json_t *histogram_of(const Picture *picture, size_t i) {
        return json_object_get(json_object_get(picture->records[i], "all"), "histogram");
}

/* Axes */

static void find_range(Picture *picture) {
        double low = INFINITY, high = 0;

        for (size_t i = 0; i < picture->n; i++) {
                const json_t *bucket;
                size_t j;

                json_array_foreach(histogram_of(picture, i), j, bucket) {
                        low = fmin(low, fmax(number(bucket, "from_us"), 0.01));
                        high = fmax(high, number(bucket, "to_us"));
                }
        }
        picture->low = isinf(low) ? 0 : floor(log10(low));
        picture->high = high > 0 ? ceil(log10(high)) : 1;
        if (picture->high <= picture->low)
                picture->high = picture->low + 1;
}

static double x_of(const Picture *picture, double us) {
        double decade = log10(fmax(us, pow(10, picture->low)));

        return LEFT + (decade - picture->low) / (picture->high - picture->low) * (RIGHT - LEFT);
}

static int put_x_axis(const Picture *picture, double top, double bottom) {
        int r = 0;

        for (double decade = picture->low; decade <= picture->high && r == 0; decade++) {
                double x = x_of(picture, pow(10, decade));
                char label[32];

                (void) snprintf(label, sizeof(label), "%g us", pow(10, decade));
                fprintf(picture->file,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x, top,
                        x, bottom);
                r = put_label(picture, x, bottom + 15, "middle", "#555", label);
        }
        return r;
}

/* Histograms: counts as powers of ten too, so that one late timer among millions is seen. */

static double most_of(const Picture *picture) {
        double most = 1;

        for (size_t i = 0; i < picture->n; i++) {
                const json_t *bucket;
                size_t j;

                json_array_foreach(histogram_of(picture, i), j, bucket) most =
                        fmax(most, number(bucket, "count"));
        }
        return ceil(log10(most + 1));
}

static double y_of(double top, double decades, double count) {
        return top + CHART_HEIGHT * (1 - log10(count + 1) / decades);
}

static void put_histogram(const Picture *picture, size_t i, double top, double decades) {
        double bottom = top + CHART_HEIGHT, last = -1;
        const json_t *bucket;
        size_t j;

        fprintf(picture->file, "<path fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" d=\"", colours[i]);
        json_array_foreach(histogram_of(picture, i), j, bucket) {
                double from = number(bucket, "from_us"), to = number(bucket, "to_us");
                double y = y_of(top, decades, number(bucket, "count"));

                if (from != last && last >= 0)
                        fprintf(picture->file, "V%.1f", bottom);
                if (from != last)
                        fprintf(picture->file, "M%.1f %.1f", x_of(picture, from), bottom);
                fprintf(picture->file, "V%.1fH%.1f", y, x_of(picture, to));
                last = to;
        }
        fprintf(picture->file, "V%.1f\"/>\n", bottom);
}

static int put_histograms(Picture *picture) {
        double decades = most_of(picture), top = picture->y;
        int r = put_x_axis(picture, top, top + CHART_HEIGHT);

        for (double decade = 0; decade < decades && r == 0; decade++) {
                double y = y_of(top, decades, pow(10, decade));
                char label[32];

                (void) snprintf(label, sizeof(label), "%g", pow(10, decade));
                fprintf(picture->file,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, y,
                        RIGHT, y);
                r = put_label(picture, LEFT - 6, y + 4, "end", "#555", label);
        }
        for (size_t i = 0; i < picture->n && r == 0; i++)
                if (json_array_size(histogram_of(picture, i)) > 0)
                        put_histogram(picture, i, top, decades);
        picture->y += CHART_HEIGHT + 50;
        return r;
}

/* Least, mean and most of each CPU. */

static void put_span(const Picture *picture, const json_t *row, const char *colour, double y) {
        if (!row || number(row, "max_us") <= 0)
                return;
        fprintf(picture->file,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\" "
                "opacity=\"0.5\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                x_of(picture, number(row, "min_us")), y, x_of(picture, number(row, "max_us")), y, colour,
                x_of(picture, mean_of(row)), y, colour);
}

static int put_cpus(Picture *picture) {
        const json_t *rows = json_object_get(picture->records[0], "rows"), *row;
        double top = picture->y, bottom = top + CPU_HEIGHT * (double) json_array_size(rows);
        int r = put_x_axis(picture, top, bottom);
        size_t i;

        json_array_foreach(rows, i, row) {
                double y = top + CPU_HEIGHT * ((double) i + 0.5);
                char label[32];

                (void) snprintf(label, sizeof(label), "CPU %.0f", number(row, "cpu"));
                r = r ?: put_label(picture, LEFT - 6, y + 4, "end", "#333", label);
                for (size_t j = 0; j < picture->n; j++)
                        put_span(picture, json_array_get(json_object_get(picture->records[j], "rows"), i),
                                colours[j], y + (j ? 4 : -2));
        }
        picture->y = bottom + 50;
        return r;
}

/* Texts */

static int put_line(Picture *picture, const char *colour, const char *text) {
        int r = put_label(picture, 20, picture->y, "start", colour, text);

        picture->y += LINE_HEIGHT;
        return r;
}

static int put_head(Picture *picture) {
        const json_t *record = picture->records[0], *clock = json_object_get(record, "clock");
        _cleanup_free_ char *title = NULL, *where = NULL, *how = NULL;
        int r = util_asprintf(&title, "rtisold: %s on CPUs %s of %s", record_get(record, "measure"),
                record_get(record, "cpus"), record_get(record, "host"));

        r = r
                ?: util_asprintf(&where, "kernel %s, %s", record_get(record, "kernel"),
                           record_get(record, "time"));
        r = r ?: util_asprintf(&how, "clock %s: %s", record_get(clock, "name"), record_get(clock, "why"));
        r = r ?: put_line(picture, "#000", title);
        r = r ?: put_line(picture, "#555", where);
        r = r ?: put_line(picture, "#555", how);
        for (size_t i = 0; i < picture->n && i < ARRAY_SIZE(colours) && r == 0; i++) {
                _cleanup_free_ char *line = NULL;

                r = util_asprintf(&line, "mode %s, %.1f s%s", record_get(picture->records[i], "mode"),
                        number(picture->records[i], "seconds"),
                        json_is_true(json_object_get(picture->records[i], "interrupted")) ? ", interrupted"
                                                                                          : "");
                r = r ?: put_line(picture, colours[i], line);
        }
        picture->y += LINE_HEIGHT / 2;
        return r;
}

static int put_value(
        const Picture *picture, double x, const char *colour, const json_t *row, const char *key) {
        const json_t *value = json_object_get(row, key);
        char text[64] = "-";

        if (json_is_number(value))
                (void) snprintf(text, sizeof(text), "%.3f", json_number_value(value));
        return put_label(picture, x, picture->y, "end", colour, text);
}

static int put_figures(Picture *picture) {
        const Figure *figures;
        size_t n;
        int r = 0;

        figures = report_figures(record_get(picture->records[0], "measure"), &n);
        if (picture->ratio)
                r = put_label(picture, 620, picture->y, "end", "#555", "ratio");
        picture->y += LINE_HEIGHT;
        for (size_t i = 0; i < n && r == 0; i++, picture->y += LINE_HEIGHT) {
                r = put_label(picture, 20, picture->y, "start", "#000", figures[i].name);
                for (size_t j = 0; j < picture->n && r == 0; j++)
                        r = put_value(picture, 320 + 150 * (double) j, colours[j],
                                json_object_get(picture->records[j], "all"), figures[i].key);
                if (r == 0 && picture->ratio)
                        r = put_value(picture, 620, "#000", json_object_get(picture->ratio, "all"),
                                figures[i].key);
        }
        return r;
}

static double height_of(const Picture *picture) {
        double cpus = (double) json_array_size(json_object_get(picture->records[0], "rows"));

        return 500 + CHART_HEIGHT + cpus * CPU_HEIGHT;
}

static int put_all(Picture *picture) {
        bool drawn = json_array_size(histogram_of(picture, 0)) > 0 ||
                (picture->n > 1 && json_array_size(histogram_of(picture, 1)) > 0);
        int r;

        fprintf(picture->file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" "
                "fill=\"#fff\"/>\n",
                WIDTH, height_of(picture));
        picture->y = 30;
        find_range(picture);
        r = put_head(picture);
        if (r == 0 && drawn)
                r = put_histograms(picture);
        if (r == 0 && drawn)
                r = put_cpus(picture);
        r = r ?: put_figures(picture);
        fputs("</svg>\n", picture->file);
        return r;
}

int svg_write(FILE *file, const json_t *record) {
        const json_t *compared = json_object_get(record, "compare");
        Picture picture = { .file = file, .records = { record }, .n = 1 };
        locale_t plain, found;
        int r;

        if (compared) {
                picture.records[0] = json_array_get(compared, 0);
                picture.records[1] = json_array_get(compared, 1);
                picture.ratio = json_object_get(record, "ratio");
                picture.n = 2;
        }
        /* Numbers have a decimal point there, whatever the user's language. */
        plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t) 0);
        if (!plain)
                return -ENOMEM;
        found = uselocale(plain);
        r = put_all(&picture);
        (void) uselocale(found);
        freelocale(plain);
        if (r == 0 && (fflush(file) != 0 || ferror(file)))
                r = -EIO;
        return r;
}
