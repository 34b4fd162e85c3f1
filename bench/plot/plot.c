/* Plots by gnuplot, which reads its commands and the points from a pipe. */
#include "bench/plot/plot.h"

#include <math.h>
#include <stdio.h>

static const char *const colors[PLOT_COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#555555", "#e69f00", "#56b4e9", "#8c510a"};

/* Filled: circle, square, triangle, diamond; and open. */
static const int marks[PLOT_COLORS] = {7, 5, 9, 13, 6, 4, 8, 12};

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

/* Whether LINE has a point I and it is shown. */
static bool is_there(const struct plot *plot, const struct plot_line *line, size_t i)
{
    return i < line->count && shown(plot, &line->points[i]);
}

static bool is_alone(const struct plot *plot, const struct plot_line *line, size_t i)
{
    return !is_there(plot, line, i - 1) && !is_there(plot, line, i + 1);
}

/* How many points of a line are drawn in which way. */
struct drawn {
    size_t spread; /* with a band or whisker */
    size_t joined; /* by a line */
    size_t alone;  /* without a neighbour: a line would be a path without length */
};

/* What surrounds line L (its points with a band or whisker), the line (a point that is not shown
 * breaks it), its points without neighbours, and its label, by names that end in NAME. */
static struct drawn write_points(FILE *out, const struct plot *plot, size_t l, size_t name)
{
    const struct plot_line *line = &plot->lines[l];
    struct drawn drawn = {0};
    fprintf(out, "$spread%zu << END\n", name);
    for (size_t i = 0; i < line->count; i++) {
        const struct plot_point *p = &line->points[i];
        if (!shown(plot, p) || !has_spread(p))
            continue;
        fprintf(out, "%.9g %.9g %.9g %.9g\n", p->x, p->y, p->low, p->high);
        drawn.spread++;
    }
    fprintf(out, "END\n$line%zu << END\n", name);
    for (size_t i = 0; i < line->count; i++) {
        bool joined = is_there(plot, line, i) && !is_alone(plot, line, i);
        if (joined)
            fprintf(out, "%.9g %.9g\n", line->points[i].x, line->points[i].y);
        else
            fputc('\n', out);
        drawn.joined += joined;
    }
    fprintf(out, "END\n$alone%zu << END\n", name);
    for (size_t i = 0; i < line->count; i++) {
        if (!is_there(plot, line, i) || !is_alone(plot, line, i))
            continue;
        fprintf(out, "%.9g %.9g\n", line->points[i].x, line->points[i].y);
        drawn.alone++;
    }
    fprintf(out, "END\nlabel%zu =", name);
    write_quoted(out, "", line->label);
    return drawn;
}

static void write_line(FILE *out, const struct plot_line *line, size_t l, size_t name,
                       struct drawn drawn)
{
    const char *color = colors[l % PLOT_COLORS];
    int mark = marks[l % PLOT_COLORS], dash = line->dashed ? 2 : 1;
    if (drawn.spread > 0 && line->band)
        fprintf(out,
                " $spread%zu using 1:3:4 with filledcurves fillstyle transparent solid 0.18 "
                "linecolor rgb '%s' notitle,",
                name, color);
    else if (drawn.spread > 0)
        fprintf(out,
                " $spread%zu using 1:2:3:4 with yerrorbars pointtype %d pointsize 0.6 linecolor "
                "rgb '%s' notitle,",
                name, mark, color);
    if (drawn.joined > 0) {
        fprintf(out, " $line%zu using 1:2 with linespoints pointtype %d pointsize 0.6", name, mark);
        if (line->band) /* a mark here and there, so that lines differ in grey */
            fprintf(out, " pointinterval %zu", line->count / 4 + 1);
        fprintf(out, " linewidth 1.6 linecolor rgb '%s' dashtype %d title label%zu,", color, dash,
                name);
    }
    if (drawn.alone == 0)
        return;
    fprintf(out, " $alone%zu using 1:2 with points pointtype %d pointsize 0.6 linecolor rgb '%s'",
            name, mark, color);
    if (drawn.joined > 0)
        fputs(" notitle,", out);
    else
        fprintf(out, " title label%zu,", name);
}

/* Sets what belongs to one panel alone. */
static void write_axes(FILE *out, const struct plot *plot)
{
    write_quoted(out, "set title", plot->title);
    write_quoted(out, "set xlabel", plot->x_label);
    write_quoted(out, "set ylabel", plot->y_label);
    fputs(plot->log_x ? "set logscale x\n" : "unset logscale x\n", out);
    fputs(plot->log_y ? "set logscale y\n" : "unset logscale y\n", out);
    fputs("set autoscale\nunset label\nunset arrow\nset xtics autofreq\n", out);
    if (plot->y_low < plot->y_high)
        fprintf(out, "set yrange [%.9g:%.9g]\n", plot->y_low, plot->y_high);
    if (plot->x_low < plot->x_high)
        fprintf(out, "set xrange [%.9g:%.9g]\n", plot->x_low, plot->x_high);
    for (size_t i = 0; i < plot->x_tick_count; i++)
        fprintf(out, "%s%.9g%s", i ? ", " : "unset mxtics\nset xtics (", plot->x_ticks[i],
                i + 1 == plot->x_tick_count ? ")\n" : "");
    for (size_t i = 0; i < plot->reference_count; i++) {
        const struct plot_reference *r = &plot->references[i];
        write_quoted(out, "said =", r->label);
        fprintf(out,
                "set arrow from graph 0, first %.9g to graph 1, first %.9g nohead dashtype 3 "
                "linewidth 1.2 linecolor rgb '#333333'\n"
                "set label said at graph %s, first %.9g %s offset 0, -0.6 font ',9'\n",
                r->y, r->y, r->left ? "0.02" : "0.98", r->y, r->left ? "left" : "right");
    }
}

static void write_panel(FILE *out, const struct plot *plot, size_t first_name)
{
    struct drawn drawn[PLOT_LINES];
    write_axes(out, plot);
    for (size_t l = 0; l < plot->line_count; l++)
        drawn[l] = write_points(out, plot, l, first_name + l);
    fputs("plot", out);
    for (size_t l = 0; l < plot->line_count; l++)
        write_line(out, &plot->lines[l], l, first_name + l, drawn[l]);
    fputc('\n', out);
}

static FILE *open_gnuplot(const char *path, unsigned width, unsigned height)
{
    FILE *out = popen("gnuplot", "w");
    if (!out)
        return NULL;
    fprintf(out,
            "set terminal svg size %u,%u noenhanced font 'sans-serif,11' background 'white'\n"
            "set grid linecolor rgb '#dddddd'\n",
            width, height);
    write_quoted(out, "set output", path);
    return out;
}

bool plot_write(const char *path, const struct plot *plot)
{
    if (count_shown(plot) == 0 || plot->line_count > PLOT_LINES)
        return false;
    FILE *out = open_gnuplot(path, 740, 340);
    if (!out)
        return false;
    fputs("set key outside right top Left reverse\n", out);
    write_panel(out, plot, 0);
    return pclose(out) == 0;
}

bool plot_write_panels(const char *path, const char *title, const struct plot *panels, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (count_shown(&panels[i]) == 0 || panels[i].line_count > PLOT_LINES)
            return false;
        most = panels[i].line_count > most ? panels[i].line_count : most;
    }
    FILE *out = count > 0 && count <= PLOT_PANELS
                    ? open_gnuplot(path, 320 * (unsigned)count, 340 + 19 * (unsigned)most)
                    : NULL;
    if (!out)
        return false;
    write_quoted(out, "label_of_all =", title);
    fprintf(out,
            "set key below center Left reverse maxcols 1 samplen 2 width -4\nset bmargin %.1f\n"
            "set multiplot layout 1,%zu title label_of_all\n",
            (double)most + 4.0, count);
    for (size_t i = 0; i < count; i++)
        write_panel(out, &panels[i], i * PLOT_LINES);
    fputs("unset multiplot\n", out);
    return pclose(out) == 0;
}
