/* DESIGN. One frame maps values to the picture, in log10 where the axis is logarithmic; ticks stand
 * at round steps, on a logarithmic axis at powers of ten.
 * The legend stands right of the frame, so that no line runs beneath it. */
#include "bench/plot/plot.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 740, HEIGHT = 340, LEFT = 62, RIGHT = 310, TOP = 34, BOTTOM = 46 };

static const char *const colors[PLOT_COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#555555", "#e69f00", "#56b4e9", "#8c510a"};

struct axis {
    bool logarithmic;
    double low, high; /* in log10 when logarithmic */
    double from, to;  /* places in the picture */
};

static double unit_of(const struct axis *axis, double value)
{
    return axis->logarithmic ? log10(value) : value;
}

static double place(const struct axis *axis, double value)
{
    double share = (unit_of(axis, value) - axis->low) / (axis->high - axis->low);
    return axis->from + fmin(fmax(share, 0.0), 1.0) * (axis->to - axis->from);
}

static bool shown(const struct plot *plot, const struct plot_point *point)
{
    return isfinite(point->x) && isfinite(point->y) && (!plot->log_x || point->x > 0) &&
           (!plot->log_y || point->y > 0);
}

static void widen(struct axis *axis, double value)
{
    if (!isfinite(value) || (axis->logarithmic && value <= 0))
        return;
    axis->low = fmin(axis->low, unit_of(axis, value));
    axis->high = fmax(axis->high, unit_of(axis, value));
}

/* A round step that gives at most eight ticks. */
static double step_of(const struct axis *axis)
{
    double span = axis->high - axis->low, step = pow(10, floor(log10(span / 8)));
    if (span / step > 8)
        step *= span / step > 40 ? 10 : span / step > 16 ? 5 : 2;
    return step;
}

static bool find_frame(const struct plot *plot, struct axis *x, struct axis *y)
{
    *x = (struct axis){plot->log_x, INFINITY, -INFINITY, LEFT, WIDTH - RIGHT};
    *y = (struct axis){plot->log_y, INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP};
    for (size_t l = 0; l < plot->line_count; l++) {
        for (size_t i = 0; i < plot->lines[l].count; i++) {
            const struct plot_point *point = &plot->lines[l].points[i];
            if (!shown(plot, point))
                continue;
            widen(x, point->x);
            widen(y, point->y);
            widen(y, point->low);
            widen(y, point->high);
        }
    }
    if (!(x->low <= x->high))
        return false;
    if (plot->y_low < plot->y_high) {
        y->low = unit_of(y, plot->y_low);
        y->high = unit_of(y, plot->y_high);
    } else {
        double margin = y->high > y->low ? 0.05 * (y->high - y->low) : 0.5;
        y->low -= margin;
        y->high += margin;
    }
    if (x->low == x->high) {
        x->low -= 0.5;
        x->high += 0.5;
    }
    return y->low < y->high;
}

static void write_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
}

static void write_tick(FILE *out, const struct axis *axis, double value, bool horizontal)
{
    double p = place(axis, value);
    if (horizontal)
        fprintf(out,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#eeeeee\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n",
                p, p, TOP, HEIGHT - BOTTOM, p, HEIGHT - BOTTOM + 16, value);
    else
        fprintf(out,
                "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
                LEFT, WIDTH - RIGHT, p, p, LEFT - 6, p + 4, value);
}

/* Powers of ten; with their 2 and 5 while there are few. */
static void write_log_ticks(FILE *out, const struct axis *axis, bool horizontal)
{
    unsigned most = axis->high - axis->low <= 3.0 ? 3 : 1;
    double step = ceil((axis->high - axis->low) / 8);
    for (double decade = floor(axis->low); decade <= axis->high; decade += step) {
        for (unsigned i = 0; i < most; i++) {
            double value = (double[]){1, 2, 5}[i] * pow(10, decade), at = log10(value);
            if (at >= axis->low - 1e-9 && at <= axis->high + 1e-9)
                write_tick(out, axis, value, horizontal);
        }
    }
}

static void write_ticks(FILE *out, const struct axis *axis, bool horizontal)
{
    if (axis->logarithmic) {
        write_log_ticks(out, axis, horizontal);
        return;
    }
    double step = step_of(axis);
    for (double at = ceil(axis->low / step) * step; at <= axis->high + 1e-9 * step; at += step)
        write_tick(out, axis, fabs(at) < 1e-9 * step ? 0 : at, horizontal);
}

static void write_frame(FILE *out, const struct plot *plot, const struct axis *x,
                        const struct axis *y)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    write_ticks(out, x, true);
    write_ticks(out, y, false);
    fprintf(out, "<text x=\"%d\" y=\"18\" font-size=\"13\">", LEFT);
    write_text(out, plot->title);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
    write_text(out, plot->x_label);
    fprintf(out,
            "</text>\n<text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" "
            "text-anchor=\"middle\">",
            HEIGHT / 2, HEIGHT / 2);
    write_text(out, plot->y_label);
    fprintf(out, "</text>\n");
}

static void write_band(FILE *out, const struct plot *plot, const struct plot_line *line,
                       const struct axis *x, const struct axis *y, const char *color)
{
    fprintf(out, "<path fill=\"%s\" fill-opacity=\"0.18\" d=\"", color);
    const char *next = "M";
    for (size_t i = 0; i < line->count; i++) {
        const struct plot_point *point = &line->points[i];
        if (!shown(plot, point) || !isfinite(point->low) || !isfinite(point->high))
            continue;
        fprintf(out, "%s%.1f %.1f", next, place(x, point->x), place(y, point->high));
        next = "L";
    }
    for (size_t i = line->count; i-- > 0;) {
        const struct plot_point *point = &line->points[i];
        if (shown(plot, point) && isfinite(point->low) && isfinite(point->high))
            fprintf(out, "%s%.1f %.1f", next, place(x, point->x), place(y, point->low));
    }
    fprintf(out, "\"/>\n");
}

static void write_marks(FILE *out, const struct plot *plot, const struct plot_line *line,
                        const struct axis *x, const struct axis *y, const char *color)
{
    for (size_t i = 0; i < line->count; i++) {
        const struct plot_point *point = &line->points[i];
        if (!shown(plot, point))
            continue;
        double at = place(x, point->x);
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", at,
                place(y, point->y), color);
        if (isfinite(point->low) && isfinite(point->high))
            fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                    at, at, place(y, point->low), place(y, point->high), color);
    }
}

static void write_line(FILE *out, const struct plot *plot, const struct plot_line *line,
                       const struct axis *x, const struct axis *y, const char *color)
{
    bool pen_down = false;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s d=\"", color,
            line->dashed ? " stroke-dasharray=\"5 4\"" : "");
    for (size_t i = 0; i < line->count; i++) {
        const struct plot_point *point = &line->points[i];
        bool seen = shown(plot, point);
        if (seen)
            fprintf(out, "%s%.1f %.1f", pen_down ? "L" : "M", place(x, point->x),
                    place(y, point->y));
        pen_down = seen;
    }
    fprintf(out, "\"/>\n");
}

bool plot_write(const char *path, const struct plot *plot)
{
    struct axis x, y;
    if (!find_frame(plot, &x, &y))
        return false;
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    write_frame(out, plot, &x, &y);
    for (size_t l = 0; l < plot->line_count; l++) {
        const struct plot_line *line = &plot->lines[l];
        const char *color = colors[l % PLOT_COLORS];
        if (line->band)
            write_band(out, plot, line, &x, &y, color);
        else
            write_marks(out, plot, line, &x, &y, color);
        write_line(out, plot, line, &x, &y, color);
        fprintf(out, "<text x=\"%d\" y=\"%zu\" fill=\"%s\">", WIDTH - RIGHT + 10, TOP + 12 + 18 * l,
                color);
        write_text(out, line->label);
        fprintf(out, "</text>\n");
    }
    fprintf(out, "</svg>\n");
    bool written = !ferror(out);
    return fclose(out) == 0 && written;
}
