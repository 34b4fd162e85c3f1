/* Plots by gnuplot, which reads its commands and the points from a pipe. */
#include "bench/plot/plot.h"

#include <math.h>
#include <stdio.h>

static const char *const colors[PLOT_COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#555555", "#e69f00", "#56b4e9", "#8c510a"};

#define PLOT_LINES 64 /* of one plot, at most */

static bool shown(const struct plot *plot, const struct plot_point *point)
{
    return isfinite(point->x) && isfinite(point->y) && (!plot->log_x || point->x > 0) &&
           (!plot->log_y || point->y > 0);
}

static size_t count_shown(const struct plot *plot)
{
    size_t count = 0;
    for (size_t l = 0; l < plot->line_count; l++)
        for (size_t i = 0; i < plot->lines[l].count; i++)
            count += shown(plot, &plot->lines[l].points[i]);
    return count;
}

/* TEXT between single quotes, as gnuplot takes them. */
static void write_quoted(FILE *out, const char *before, const char *text)
{
    fprintf(out, "%s '", before);
    for (; *text; text++)
        fprintf(out, *text == '\'' ? "''" : "%c", *text);
    fputs("'\n", out);
}

static bool has_spread(const struct plot_point *point)
{
    return isfinite(point->low) && isfinite(point->high);
}

/* What surrounds line L (its points with a band or whisker), the line (a point
 * that is not shown breaks it) and its label, by name. Gives how many points
 * have a band or whisker. */
static size_t write_points(FILE *out, const struct plot *plot, size_t l)
{
    const struct plot_line *line = &plot->lines[l];
    size_t spread = 0;
    fprintf(out, "$spread%zu << END\n", l);
    for (size_t i = 0; i < line->count; i++) {
        const struct plot_point *p = &line->points[i];
        if (!shown(plot, p) || !has_spread(p))
            continue;
        fprintf(out, "%.9g %.9g %.9g %.9g\n", p->x, p->y, p->low, p->high);
        spread++;
    }
    fprintf(out, "END\n$line%zu << END\n", l);
    for (size_t i = 0; i < line->count; i++)
        if (shown(plot, &line->points[i]))
            fprintf(out, "%.9g %.9g\n", line->points[i].x, line->points[i].y);
        else
            fputc('\n', out);
    fprintf(out, "END\nlabel%zu =", l);
    write_quoted(out, "", line->label);
    return spread;
}

static void write_line(FILE *out, const struct plot_line *line, size_t l, bool spread)
{
    const char *color = colors[l % PLOT_COLORS];
    const char *form = line->band ? "lines" : "linespoints pointtype 7 pointsize 0.5";
    const char *around = line->band ? "1:3:4 with filledcurves fillstyle transparent solid 0.18"
                                    : "1:2:3:4 with yerrorbars pointtype 7 pointsize 0.5";
    if (spread)
        fprintf(out, " $spread%zu using %s linecolor rgb '%s' notitle,", l, around, color);
    fprintf(out,
            " $line%zu using 1:2 with %s linewidth 1.6 linecolor rgb '%s'%s "
            "title label%zu,",
            l, form, color, line->dashed ? " dashtype 2" : "", l);
}

bool plot_write(const char *path, const struct plot *plot)
{
    bool spread[PLOT_LINES];
    if (count_shown(plot) == 0 || plot->line_count > PLOT_LINES)
        return false;
    FILE *out = popen("gnuplot", "w");
    if (!out)
        return false;
    fputs("set terminal svg size 740,340 noenhanced font 'sans-serif,11' "
          "background 'white'\n"
          "set key outside right top Left reverse\nset grid linecolor rgb "
          "'#dddddd'\n",
          out);
    write_quoted(out, "set output", path);
    write_quoted(out, "set title", plot->title);
    write_quoted(out, "set xlabel", plot->x_label);
    write_quoted(out, "set ylabel", plot->y_label);
    fputs(plot->log_x ? "set logscale x\n" : "", out);
    fputs(plot->log_y ? "set logscale y\n" : "", out);
    if (plot->y_low < plot->y_high)
        fprintf(out, "set yrange [%.9g:%.9g]\n", plot->y_low, plot->y_high);
    for (size_t l = 0; l < plot->line_count; l++)
        spread[l] = write_points(out, plot, l) > 0;
    fputs("plot", out);
    for (size_t l = 0; l < plot->line_count; l++)
        write_line(out, &plot->lines[l], l, spread[l]);
    fputc('\n', out);
    return pclose(out) == 0;
}
