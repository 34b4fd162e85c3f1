/* Plots by gnuplot, which reads its commands and the points from a pipe. */
#include "bench/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/plot/place.h"

static const char *const colors[PLOT_LINES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#555555"};

/* Filled circle, square, triangle and diamond, and an open circle. */
static const int marks[PLOT_LINES] = {7, 5, 9, 13, 6};

#define MARK_SIZE   "0.7"
#define SHORT_LABEL 25 /* bytes; two such stand beside each other in a legend */

/* Sizes in pixels. */
#define WIDTH       480
#define TEXT_HEIGHT 17
#define AREA_HEIGHT 200 /* between a panel's axes */
#define ABOVE_AREA  34  /* the panel's title */
#define BELOW_AREA  48  /* the axis: its numbers and its name */

static bool shown(const struct plot *plot, const struct plot_point *point)
{
    return isfinite(point->x) && isfinite(point->y) && (!plot->log_x || point->x > 0) &&
           (!plot->log_y || point->y > 0);
}

/* Points and crosses of line L. */
static size_t count_shown(const struct plot *plot, size_t l)
{
    size_t count = 0;
    for (size_t i = 0; i < plot->lines[l].count; i++)
        count += shown(plot, &plot->lines[l].points[i]);
    for (size_t i = 0; i < plot->unpaid_count; i++)
        count += plot->unpaid[i].line == l;
    return count;
}

static bool has_points(const struct plot *plot)
{
    for (size_t l = 0; l < plot->line_count; l++)
        for (size_t i = 0; i < plot->lines[l].count; i++)
            if (shown(plot, &plot->lines[l].points[i]))
                return true;
    return false;
}

/* TEXT between single quotes, as gnuplot takes them; its line ends stand between double ones. */
static void write_quoted(FILE *out, const char *before, const char *text)
{
    fprintf(out, "%s '", before);
    for (; *text; text++)
        if (*text == '\n')
            fputs("'.\"\\n\".'", out);
        else
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

/* Every EACH-th mark of a line, from the one with number FIRST on. */
static void write_marks(FILE *out, const char *points, size_t name, size_t each, size_t first,
                        int mark, const char *color)
{
    fprintf(out,
            ", $%s%zu using 1:2 every %zu::%zu with points pointtype %d pointsize " MARK_SIZE
            " linecolor rgb '%s' notitle",
            points, name, each, first, mark, color);
}

static void write_line(FILE *out, const struct plot *plot, size_t l, size_t name,
                       struct drawn drawn)
{
    const struct plot_line *line = &plot->lines[l];
    const char *color = colors[l];
    int mark = marks[l], dash = line->dashed ? 2 : 1;
    /* Marks of a band here and there, not all at the same places, so that lines differ in grey. */
    size_t each = line->band ? line->count / 4 + 1 : 1;
    if (drawn.spread > 0 && line->band)
        fprintf(out,
                ", $spread%zu using 1:3:4 with filledcurves fillstyle transparent solid 0.18 "
                "linecolor rgb '%s' notitle",
                name, color);
    else if (drawn.spread > 0)
        fprintf(out,
                ", $spread%zu using 1:2:3:4 with yerrorbars pointtype %d pointsize " MARK_SIZE
                " linecolor rgb '%s' notitle",
                name, mark, color);
    if (drawn.joined > 0) {
        fprintf(out,
                ", $line%zu using 1:2 with lines linewidth 1.6 linecolor rgb '%s' dashtype %d "
                "notitle",
                name, color, dash);
        write_marks(out, "line", name, each, l * each / PLOT_LINES, mark, color);
    }
    if (drawn.alone > 0)
        write_marks(out, "alone", name, 1, 0, mark, color);
    if (count_shown(plot, l) > 0) /* its place in the legend */
        fprintf(out,
                ", NaN with %s pointtype %d pointsize " MARK_SIZE
                " linewidth 1.6 linecolor rgb '%s' dashtype %d title label%zu",
                drawn.joined > 0 ? "linespoints" : "points", mark, color, dash, name);
}

static void write_ticks(FILE *out, const double *at, size_t count)
{
    fputs("unset mxtics\nset xtics (", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, at[i] < 1000.0 ? "%s'%.3g' %.9g" : "%s'%.0f' %.9g", i ? ", " : "", at[i],
                at[i]);
    fputs(")\n", out);
}

static void write_references(FILE *out, const struct plot *plot)
{
    static const char *const align[PLACES] = {"0.03, first %.9g left", "0.5, first %.9g center",
                                              "0.97, first %.9g right"};
    struct place places[PLOT_REFERENCES];
    place_labels(plot, places);
    for (size_t i = 0; i < plot->reference_count; i++) {
        const struct plot_reference *r = &plot->references[i];
        write_quoted(out, "said =", r->label);
        fprintf(out,
                "set arrow from graph 0, first %.9g to graph 1, first %.9g nohead dashtype 3 "
                "linewidth 1.2 linecolor rgb '#333333'\n",
                r->y, r->y);
        fputs("set label said at graph ", out);
        fprintf(out, align[places[i].at], r->y);
        fprintf(out, " offset 0, %s font ',10' boxed front\n", places[i].above ? "0.6" : "-0.6");
    }
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
    if (plot->x_tick_count > 0)
        write_ticks(out, plot->x_ticks, plot->x_tick_count);
    write_references(out, plot);
    for (size_t i = 0; i < plot->unpaid_count; i++)
        fprintf(out,
                "set label at first %.9g, graph 0.04 point pointtype 2 pointsize " MARK_SIZE
                " linewidth 2 linecolor rgb '%s'\n",
                plot->unpaid[i].x, colors[plot->unpaid[i].line]);
}

/* How many lines of text the legend of PLOT has, and in how many columns. */
static size_t legend_rows(const struct plot *plot, size_t *out_columns)
{
    size_t entries = plot->unpaid_count > 0;
    *out_columns = 2;
    for (size_t l = 0; l < plot->line_count; l++) {
        if (count_shown(plot, l) == 0)
            continue;
        entries++;
        if (strlen(plot->lines[l].label) > SHORT_LABEL)
            *out_columns = 1;
    }
    return (entries + *out_columns - 1) / *out_columns;
}

/* Draws PLOT from TOP on in a picture of HEIGHT pixels; gives where it ends. */
static size_t write_panel(FILE *out, const struct plot *plot, size_t first_name, size_t top,
                          size_t height)
{
    struct drawn drawn[PLOT_LINES];
    size_t columns, rows = legend_rows(plot, &columns), area = top + ABOVE_AREA;
    size_t legend = area + AREA_HEIGHT + BELOW_AREA;
    double pixels = (double)height;
    fprintf(out,
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
            "set key at screen 0.55, screen %.4f center top Left reverse samplen 2.5 maxrows %zu\n",
            1.0 - (double)area / pixels, 1.0 - (double)(area + AREA_HEIGHT) / pixels,
            1.0 - (double)legend / pixels, rows);
    write_axes(out, plot);
    for (size_t l = 0; l < plot->line_count; l++)
        drawn[l] = write_points(out, plot, l, first_name + l);
    fputs("plot NaN notitle", out);
    for (size_t l = 0; l < plot->line_count; l++)
        write_line(out, plot, l, first_name + l, drawn[l]);
    if (plot->unpaid_count > 0)
        fputs(", NaN with points pointtype 2 pointsize " MARK_SIZE " linewidth 2 linecolor rgb "
              "'#333333' title 'cannot be paid'",
              out);
    fputc('\n', out);
    return legend + TEXT_HEIGHT * rows;
}

static size_t panel_height(const struct plot *plot)
{
    size_t columns;
    return ABOVE_AREA + AREA_HEIGHT + BELOW_AREA + TEXT_HEIGHT * legend_rows(plot, &columns);
}

/* Of a title and its caption. */
static size_t title_height(const char *text)
{
    size_t lines = 1;
    for (; *text; text++)
        lines += *text == '\n';
    return TEXT_HEIGHT * lines + 8;
}

/* NULL: gnuplot is missing. */
static FILE *open_gnuplot(const char *path, size_t height)
{
    FILE *out = popen("gnuplot", "w");
    if (!out)
        return NULL;
    fprintf(out,
            "set terminal svg size %d,%zu noenhanced font 'sans-serif,12' background 'white'\n"
            "set grid linecolor rgb '#dddddd'\nset lmargin 9\nset rmargin 3\n"
            "set xlabel offset 0, 0.4\nset title offset 0, -0.5\n"
            "set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.3, 0.2\n",
            WIDTH, height);
    write_quoted(out, "set output", path);
    return out;
}

bool plot_write_panels(const char *path, const char *title, const struct plot *panels, size_t count)
{
    size_t top = title_height(title), height = top + TEXT_HEIGHT / 2;
    for (size_t i = 0; i < count; i++) {
        if (panels[i].line_count > PLOT_LINES || panels[i].reference_count > PLOT_REFERENCES ||
            !has_points(&panels[i]))
            return false;
        height += panel_height(&panels[i]);
    }
    FILE *out = count > 0 && count <= PLOT_PANELS ? open_gnuplot(path, height) : NULL;
    if (!out)
        return false;
    write_quoted(out, "label_of_all =", title);
    fprintf(out, "set multiplot layout %zu,1 title label_of_all\n", count);
    for (size_t i = 0; i < count; i++)
        top = write_panel(out, &panels[i], i * PLOT_LINES, top, height);
    fputs("unset multiplot\n", out);
    return pclose(out) == 0;
}

bool plot_write(const char *path, const struct plot *plot)
{
    struct plot untitled = *plot;
    untitled.title = "";
    return plot_write_panels(path, plot->title, &untitled, 1);
}
