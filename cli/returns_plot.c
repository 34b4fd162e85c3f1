/* A histogram in SVG, by hand.
 *
 * DESIGN. Bins have round edges: their width is a round step that divides the range into at most
 * 30, and the axis begins and ends on one of them, so that no bar shows half a bin. Returns that
 * are all positive and span decades get a logarithmic axis: frame and bins are then in log10, where
 * bar_place() leads. Colours are those of a style sheet inside the picture, which asks for the
 * reader's scheme; the ground stays that of the page. The random policy and the mean are dashed
 * lines with a label above. */
#include "cli/returns_plot.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define MAX_BINS         64
#define WIDTH            720.0
#define HEIGHT           380.0
#define LEFT             64.0
#define RIGHT            32.0
#define TOP              64.0
#define BOTTOM           58.0

#define LOGARITHMIC_FROM 100.0 /* the largest return over the least */

/* The picture's frame in the units of bar_place(). */
struct frame {
    bool logarithmic;
    double low, high; /* on the axis */
    size_t bins;
    size_t count[MAX_BINS];
    double most; /* the vertical axis ends here */
};

double returns_plot_step(double span, unsigned most)
{
    assert(span > 0 && most >= 2);
    double step = pow(10, floor(log10(span / most)));
    static const double factors[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (span / (step * factors[i]) <= most * (1 + 1e-9))
            return step * factors[i];
    return step * 20;
}

static double bar_place(const struct frame *frame, double x)
{
    return frame->logarithmic ? log10(x) : x;
}

/* The value at place AT; near 0 it is exactly 0, so that no axis shows -1.4e-14. */
static double returns_value(const struct frame *frame, double at, double step)
{
    if (frame->logarithmic)
        return pow(10, at);
    return fabs(at) < 1e-9 * step ? 0 : at;
}

static void make_frame(const struct returns_report *report, const double *sorted,
                       struct frame *frame)
{
    double low = sorted[0], high = sorted[report->count - 1];
    if (!(high > low)) { /* all alike: one bar in a range that has a width */
        double around = fabs(low) > 1 ? 0.05 * fabs(low) : 0.5;
        low -= around;
        high += around;
    }
    low = fmin(low, report->random);
    high = fmax(high, report->random);
    *frame = (struct frame){.logarithmic = low > 0 && high / low >= LOGARITHMIC_FROM};
    low = bar_place(frame, low);
    high = bar_place(frame, high);
    double step = returns_plot_step(high - low, 30);
    frame->low = floor(low / step + 1e-9) * step;
    frame->high = ceil(high / step - 1e-9) * step;
    frame->bins = (size_t)llround((frame->high - frame->low) / step);
    assert(frame->bins >= 1 && frame->bins <= MAX_BINS);
    size_t most = 0;
    for (size_t i = 0; i < report->count; i++) {
        size_t bin =
            returns_part(bar_place(frame, sorted[i]), frame->low, frame->high, frame->bins);
        frame->count[bin]++;
        most = frame->count[bin] > most ? frame->count[bin] : most;
    }
    double tick = returns_plot_step((double)most, 6);
    frame->most = ceil((double)most / fmax(tick, 1)) * fmax(tick, 1);
}

/* X in the units of bar_place(). */
static double x_at(const struct frame *frame, double x)
{
    return LEFT + (x - frame->low) / (frame->high - frame->low) * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct frame *frame, double y)
{
    return HEIGHT - BOTTOM - y / frame->most * (HEIGHT - TOP - BOTTOM);
}

static void write_head(const struct returns_report *report, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
            "height=\"%g\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(out, "<title>Returns of %zu experts in %s</title>\n", report->count, report->world);
    fputs("<style>\n"
          "text { fill: #24292f } .soft { fill: #57606a } .grid { stroke: #d0d7de }\n"
          ".axis { stroke: #57606a } .bar { fill: #2f6f9f } .mark { stroke: #b35900 }\n"
          ".marked { fill: #b35900 }\n"
          "@media (prefers-color-scheme: dark) {\n"
          "text { fill: #e6edf3 } .soft { fill: #9aa4af } .grid { stroke: #30363d }\n"
          ".axis { stroke: #9aa4af } .bar { fill: #6cb0e0 } .mark { stroke: #f0a860 }\n"
          ".marked { fill: #f0a860 }\n"
          "}\n"
          "</style>\n",
          out);
    fprintf(out,
            "<text x=\"%g\" y=\"22\" font-size=\"16\" font-weight=\"600\">Returns of %zu experts "
            "in %s</text>\n",
            LEFT, report->count, report->world);
}

static void write_counts_axis(const struct frame *frame, FILE *out)
{
    double step = fmax(returns_plot_step(frame->most, 6), 1);
    for (double y = 0; y <= frame->most * (1 + 1e-9); y += step) {
        double at = y_at(frame, y);
        fprintf(out,
                "<line class=\"%s\" x1=\"%g\" y1=\"%.2f\" x2=\"%g\" y2=\"%.2f\"/>"
                "<text class=\"soft\" x=\"%g\" y=\"%.2f\" text-anchor=\"end\">%g</text>\n",
                y > 0 ? "grid" : "axis", LEFT, at, WIDTH - RIGHT, at, LEFT - 8, at + 4.5, y);
    }
    fprintf(out,
            "<text x=\"18\" y=\"%g\" text-anchor=\"middle\" transform=\"rotate(-90 18 %g)\">"
            "experts</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2);
}

static void write_returns_axis(const struct frame *frame, const struct returns_report *report,
                               FILE *out)
{
    double step = returns_plot_step(frame->high - frame->low, 8), base = HEIGHT - BOTTOM;
    step = frame->logarithmic ? fmax(step, 1) : step; /* whole decades */
    for (double x = ceil(frame->low / step - 1e-9) * step; x <= frame->high + 1e-9 * step;
         x += step)
        fprintf(out,
                "<line class=\"axis\" x1=\"%.2f\" y1=\"%g\" x2=\"%.2f\" y2=\"%g\"/>"
                "<text class=\"soft\" x=\"%.2f\" y=\"%g\" text-anchor=\"middle\">%.6g</text>\n",
                x_at(frame, x), base, x_at(frame, x), base + 5, x_at(frame, x), base + 20,
                returns_value(frame, x, step));
    fprintf(out,
            "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">mean return of an expert, episodes of "
            "at most %u steps%s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, report->max_steps,
            frame->logarithmic ? " (logarithmic)" : "");
}

static void write_bars(const struct frame *frame, FILE *out)
{
    double width = (frame->high - frame->low) / (double)frame->bins;
    for (size_t b = 0; b < frame->bins; b++) {
        if (frame->count[b] == 0)
            continue;
        double from = frame->low + width * (double)b, to = from + width;
        double left = x_at(frame, from), right = x_at(frame, to);
        double top = y_at(frame, (double)frame->count[b]);
        fprintf(out,
                "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">"
                "<title>%.6g to %.6g: %zu</title></rect>\n",
                left + 0.75, top, right - left - 1.5, HEIGHT - BOTTOM - top,
                returns_value(frame, from, width), returns_value(frame, to, width),
                frame->count[b]);
    }
}

/* A dashed line at X with its label above, on row 0 or 1 so that two near ones stay readable. */
static void write_mark(const struct frame *frame, double x, const char *label, int row, FILE *out)
{
    double at = x_at(frame, bar_place(frame, x)), y = TOP - 6 - 15 * row;
    const char *anchor = "middle";
    if (at < LEFT + 70)
        anchor = "start";
    else if (at > WIDTH - RIGHT - 70)
        anchor = "end";
    fprintf(out,
            "<line class=\"mark\" x1=\"%.2f\" y1=\"%g\" x2=\"%.2f\" y2=\"%g\" "
            "stroke-dasharray=\"4 3\"/><text class=\"marked\" x=\"%.2f\" y=\"%g\" "
            "text-anchor=\"%s\">%s %.4g</text>\n",
            at, y + 4, at, HEIGHT - BOTTOM, at, y, anchor, label, x);
}

void returns_plot(const struct returns_report *report, const double *sorted, FILE *out)
{
    struct frame frame;
    make_frame(report, sorted, &frame);
    write_head(report, out);
    write_counts_axis(&frame, out);
    write_bars(&frame, out);
    write_returns_axis(&frame, report, out);
    write_mark(&frame, report->random, "random", 0, out);
    write_mark(&frame, report->mean, "mean", 1, out);
    fputs("</svg>\n", out);
}
