/* Line plots in SVG for docs/results, drawn by gnuplot: several lines over one axis, with whiskers
 * or bands, in one panel or in several below each other, narrow enough for a phone and for a column
 * of print. */
#ifndef TACET_BENCH_PLOT_PLOT_H
#define TACET_BENCH_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct plot_point {
    double x, y;
    double low, high; /* whisker or band; NaN: none */
};

struct plot_line {
    const char *label; /* UTF-8 without markup */
    const struct plot_point *points;
    size_t count; /* growing in x; a point whose y is NaN breaks the line, and one between two
                     such, or alone, is a mark */
    bool band;    /* LOW to HIGH shaded, no marks; otherwise a mark and a whisker at every point */
    bool dashed;  /* for what is only compared with */
};

/* Colours and marks are chosen by a line's place, fit for colour-blind eyes and for print in grey,
 * up to this many; a panel has no more lines. */
#define PLOT_LINES 5

/* A dotted line across the panel. Its LABEL (ASCII) stands where it hides least, on white. */
struct plot_reference {
    double y;
    const char *label;
};

#define PLOT_REFERENCES 3 /* a panel has no more */

/* A cross at the bottom, in the colour of a line, where no budget pays for a point of it. */
struct plot_unpaid {
    double x;
    size_t line;
};

struct plot {
    const char *title, *x_label, *y_label;
    bool log_x, log_y;     /* then all of that axis is positive; other points are left out */
    double y_low, y_high;  /* the axis; equal: what the lines need */
    double x_low, x_high;  /* likewise */
    const double *x_ticks; /* the values that were run */
    size_t x_tick_count;   /* 0: gnuplot's choice */
    const struct plot_reference *references;
    size_t reference_count;
    const struct plot_unpaid *unpaid;
    size_t unpaid_count;
    const struct plot_line *lines;
    size_t line_count;
};

/* Writes PLOT to PATH. What follows the first line of its title is its caption: seeds, and what
 * bands and whiskers are. False: gnuplot is missing or could not write it, there are too many
 * lines or references, or no point can be shown. */
bool plot_write(const char *path, const struct plot *plot);

#define PLOT_PANELS 4

/* The same of 1 .. PLOT_PANELS plots below each other, each with its own title and legend, under
 * one TITLE, which may have such a caption. */
bool plot_write_panels(const char *path, const char *title, const struct plot *panels,
                       size_t count);

#endif
