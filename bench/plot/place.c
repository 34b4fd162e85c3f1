/* Costs of places for labels. All lengths are shares of the panel's width or height. */
#include "bench/plot/place.h"

#include <math.h>
#include <string.h>

/* Of a label, in a panel of 480 by 200 pixels with letters of 10 pixels. */
#define LETTER_WIDTH 0.0155
#define HEIGHT       0.07
#define FROM_LINE    0.015
#define FROM_EDGE    0.03

#define SAMPLES      8     /* of a piece of a line */
#define HIDDEN       1.0   /* cost of a line behind the whole label */
#define SHADED       0.2   /* of a band */
#define MARKED       0.5   /* of a mark or whisker */
#define FORBIDDEN    100.0 /* outside the panel, or on another label */

/* What the panel's axes show. */
struct frame {
    double x_low, x_high, y_low, y_high;
    bool log_x, log_y;
};

struct box {
    double left, right, low, high;
};

static void widen(double value, double *low, double *high)
{
    if (!isfinite(value))
        return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

static struct frame frame_of(const struct plot *plot)
{
    struct frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY, plot->log_x, plot->log_y};
    for (size_t l = 0; l < plot->line_count; l++)
        for (size_t i = 0; i < plot->lines[l].count; i++) {
            const struct plot_point *p = &plot->lines[l].points[i];
            widen(p->x, &f.x_low, &f.x_high);
            widen(p->y, &f.y_low, &f.y_high);
            widen(p->low, &f.y_low, &f.y_high);
            widen(p->high, &f.y_low, &f.y_high);
        }
    if (plot->x_low < plot->x_high) {
        f.x_low = plot->x_low;
        f.x_high = plot->x_high;
    }
    if (plot->y_low < plot->y_high) {
        f.y_low = plot->y_low;
        f.y_high = plot->y_high;
    }
    return f;
}

static double share_of(double value, double low, double high, bool logarithmic)
{
    return logarithmic ? log(value / low) / log(high / low) : (value - low) / (high - low);
}

static double height_of(const struct frame *f, double y)
{
    return share_of(y, f->y_low, f->y_high, f->log_y);
}

/* POINT in shares; a value that is not there stays NaN. */
static struct plot_point within(const struct frame *f, const struct plot_point *point)
{
    return (struct plot_point){share_of(point->x, f->x_low, f->x_high, f->log_x),
                               height_of(f, point->y), height_of(f, point->low),
                               height_of(f, point->high)};
}

static bool overlap(const struct box *box, double x, double low, double high)
{
    return x > box->left && x < box->right && high > box->low && low < box->high;
}

static double mix(double a, double b, double share)
{
    return a + share * (b - a);
}

/* What the piece between two points of a line, and of its band, costs. */
static double piece_cost(const struct box *box, const struct plot_point *a,
                         const struct plot_point *b, bool band)
{
    double cost = 0.0, length = hypot(b->x - a->x, b->y - a->y) / (box->right - box->left);
    for (int s = 0; s < SAMPLES; s++) {
        double t = (s + 0.5) / SAMPLES, x = mix(a->x, b->x, t), y = mix(a->y, b->y, t);
        cost += overlap(box, x, y, y) ? HIDDEN : 0.0;
        if (band && overlap(box, x, mix(a->low, b->low, t), mix(a->high, b->high, t)))
            cost += SHADED;
    }
    return isfinite(length) ? cost * length / SAMPLES : 0.0;
}

static double lines_cost(const struct plot *plot, const struct frame *f, const struct box *box)
{
    double cost = 0.0;
    for (size_t l = 0; l < plot->line_count; l++) {
        const struct plot_line *line = &plot->lines[l];
        for (size_t i = 0; i < line->count; i++) {
            struct plot_point p = within(f, &line->points[i]);
            if (!line->band && overlap(box, p.x, fmin(p.y, p.low), fmax(p.y, p.high)))
                cost += MARKED;
            if (i + 1 == line->count)
                continue;
            struct plot_point next = within(f, &line->points[i + 1]);
            cost += piece_cost(box, &p, &next, line->band);
        }
    }
    return cost;
}

static struct box box_of(const struct plot *plot, const struct frame *f, size_t r,
                         struct place place)
{
    double y = height_of(f, plot->references[r].y);
    double width = LETTER_WIDTH * (double)strlen(plot->references[r].label);
    double left = mix(FROM_EDGE, 1.0 - FROM_EDGE - width, place.at / (PLACES - 1.0));
    double low = place.above ? y + FROM_LINE : y - FROM_LINE - HEIGHT;
    return (struct box){left, left + width, low, low + HEIGHT};
}

static double place_cost(const struct plot *plot, const struct frame *f, size_t r,
                         const struct place *places)
{
    struct box box = box_of(plot, f, r, places[r]);
    double cost = lines_cost(plot, f, &box);
    cost += box.low < 0.0 || box.high > 1.0 ? FORBIDDEN : 0.0;
    for (size_t other = 0; other < plot->reference_count; other++) {
        double y = height_of(f, plot->references[other].y);
        cost += other != r && y > box.low && y < box.high ? HIDDEN : 0.0;
        if (other >= r)
            continue;
        struct box taken = box_of(plot, f, other, places[other]);
        if (box.left < taken.right && taken.left < box.right && box.low < taken.high &&
            taken.low < box.high)
            cost += FORBIDDEN;
    }
    return cost;
}

void place_labels(const struct plot *plot, struct place out[PLOT_REFERENCES])
{
    struct frame frame = frame_of(plot);
    for (size_t r = 0; r < plot->reference_count; r++) {
        struct place best = {0};
        double least = INFINITY;
        for (unsigned p = 0; p < 2 * PLACES; p++) {
            out[r] = (struct place){PLACES - 1 - p / 2, p % 2 == 1};
            double cost = place_cost(plot, &frame, r, out);
            if (cost < least) {
                least = cost;
                best = out[r];
            }
        }
        out[r] = best;
    }
}
