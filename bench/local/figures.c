/* One plot for each experiment, quantity and axis. */
#include "bench/local/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/online/observation_privacy.h"
#include "bench/local/learner.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

#define MOST_LINES PLOT_LINES
#define MOST_TICKS (2 * RESULT_SETTINGS)
#define MOST_TIME  100000.0

enum quantity { RETURNS, SUCCESS, TIMES };

/* What a panel shows. */
struct figure {
    bool central, against_noise;
    enum quantity quantity;
};

/* A panel with room for what its plot points to. */
struct panel {
    struct plot plot;
    struct plot_point points[MOST_LINES][RESULT_SETTINGS];
    struct plot_line lines[MOST_LINES];
    struct plot_reference references[PLOT_REFERENCES];
    double ticks[MOST_TICKS];
};

static const char *name_of(const struct figure *figure)
{
    return figure->central ? "central" : "local";
}

/* Where a cell lies on the axis; NaN: nowhere. */
static double place_of(const struct figure *figure, double setting, const struct result_cell *cell)
{
    struct dp_sgd_plan plan;
    if (setting <= 0.0)
        return NAN;
    if (!figure->against_noise)
        return cell->epsilon;
    if (figure->central)
        return setting;
    uint32_t numbers = env_find("cartpole")->state_dim;
    return observation_plan(numbers, setting, LEARNER_DELTA, &plan) == DP_SGD_PLAN_OK
               ? observation_noise(&plan)
               : NAN;
}

static struct plot_point point_of(const struct figure *figure, double x, struct result_cell *cell)
{
    struct plot_point point = {x, NAN, NAN, NAN};
    if (cell->count == 0)
        return point;
    if (figure->quantity == SUCCESS) {
        point.y = (double)cell->succeeded / (double)cell->count;
    } else if (figure->quantity == RETURNS) {
        struct sample_mean mean = sample_mean_of(cell->score, cell->count);
        point.y = mean.mean;
        if (cell->count > 1) {
            point.low = fmax(0.0, mean.mean - mean.half);
            point.high = fmin(500.0, mean.mean + mean.half);
        }
    } else {
        struct sample_quartiles time = sample_quartiles_of(cell->time, cell->count);
        if (isfinite(time.median))
            point = (struct plot_point){x, time.median, time.low,
                                        isfinite(time.high) ? time.high : MOST_TIME};
    }
    return point;
}

/* The points of a learner, growing on the axis; gives how many. */
static size_t points_of(const struct results *all, const struct figure *figure,
                        const struct learner *learner, struct plot_point out[RESULT_SETTINGS])
{
    static struct result_cell cell; /* large */
    double settings[RESULT_SETTINGS];
    unsigned count = results_settings(all, name_of(figure), learner->name, settings);
    /* Epsilon falls as noise grows. */
    bool turned = figure->central != figure->against_noise;
    size_t kept = 0;
    for (unsigned s = 0; s < count; s++) {
        double setting = settings[turned ? count - 1 - s : s];
        results_cell(all, name_of(figure), learner->name, setting, &cell);
        double x = place_of(figure, setting, &cell);
        if (isfinite(x))
            out[kept++] = point_of(figure, x, &cell);
    }
    return kept;
}

static const char *axis_label(const struct figure *figure)
{
    if (!figure->against_noise)
        return figure->central ? "ε (δ = 1e-5) of noise multipliers 8, 4, 2, 1, 0.5, 0.25"
                               : "ε (δ = 1e-5) of an observation";
    return figure->central ? "noise multiplier" : "noise over an observation's range";
}

/* The same axis for all quantities: what the first panel needs, and some room. */
static void put_axis(const struct plot *first, struct plot *plot)
{
    double low = INFINITY, high = 0.0;
    for (size_t l = 0; l < first->line_count; l++)
        for (size_t i = 0; i < first->lines[l].count; i++) {
            low = fmin(low, first->lines[l].points[i].x);
            high = fmax(high, first->lines[l].points[i].x);
        }
    plot->x_low = low / 1.3;
    plot->x_high = high * 1.3;
    plot->x_ticks = first->x_ticks;
    plot->x_tick_count = first->x_tick_count;
}

static struct plot plot_of(const struct figure *figure)
{
    static const char *const titles[] = {"return of the last policy: mean, with 95 % interval",
                                         "share of seeds that solve it on the way",
                                         "episodes until solved: median, quartiles (top: never)"};
    static const char *const labels[] = {"return", "share", "episodes"};
    struct plot plot = {.title = titles[figure->quantity],
                        .x_label = axis_label(figure),
                        .y_label = labels[figure->quantity],
                        .log_x = true};
    if (figure->quantity == RETURNS) {
        plot.y_high = 520.0;
    } else if (figure->quantity == SUCCESS) {
        plot.y_low = -0.05;
        plot.y_high = 1.05;
    } else {
        plot.log_y = true;
        plot.y_low = 50.0;
        plot.y_high = 1.3 * MOST_TIME;
    }
    return plot;
}

#define TICK_FACTOR 1.5 /* between two ticks, so that their numbers do not touch */

/* Ticks where the lines have points, but none so close to an earlier one. */
static void put_ticks(struct panel *out)
{
    size_t *count = &out->plot.x_tick_count;
    out->plot.x_ticks = out->ticks;
    for (size_t l = 0; l < out->plot.line_count; l++)
        for (size_t i = 0; i < out->lines[l].count; i++) {
            double x = out->lines[l].points[i].x;
            bool room = *count < MOST_TICKS;
            for (size_t t = 0; t < *count; t++)
                room = room && fabs(log(x / out->ticks[t])) > log(TICK_FACTOR);
            if (room)
                out->ticks[(*count)++] = x;
        }
}

/* The threshold, or how soon the learners are without noise. */
static void put_references(const struct results *all, const struct figure *figure,
                           struct panel *out)
{
    static struct result_cell cell;
    static const char *const names[] = {"REINFORCE without noise", "REINFORCE, 20, without noise",
                                        "DQN without noise"};
    size_t *count = &out->plot.reference_count;
    out->plot.references = out->references;
    if (figure->quantity == RETURNS)
        out->references[(*count)++] = (struct plot_reference){LEARNER_SOLVED, "solved"};
    for (unsigned a = 0; figure->quantity == TIMES && a < 3; a++) {
        results_cell(all, name_of(figure), learners[a].name, 0.0, &cell);
        double median = cell.count > 0 ? sample_quartiles_of(cell.time, cell.count).median : NAN;
        if (isfinite(median))
            out->references[(*count)++] = (struct plot_reference){median, names[a]};
    }
}

static void make_panel(const struct results *all, const struct figure *figure, struct panel *out)
{
    *out = (struct panel){.plot = plot_of(figure)};
    out->plot.lines = out->lines;
    for (unsigned a = 0; a < learner_count && out->plot.line_count < MOST_LINES; a++) {
        struct plot_point *at = out->points[out->plot.line_count];
        size_t count = figure->quantity == TIMES && learners[a].fixed
                           ? 0 /* it counts updates, and never solves it */
                           : points_of(all, figure, &learners[a], at);
        if (count > 0)
            out->lines[out->plot.line_count++] =
                (struct plot_line){.label = learners[a].label, .points = at, .count = count};
    }
    put_ticks(out);
    put_references(all, figure, out);
}

static bool write_row(const struct results *all, bool central, bool against_noise,
                      const char *directory)
{
    static struct panel panels[3]; /* large */
    struct plot plots[3];
    char path[4096];
    for (int q = 0; q < 3; q++) {
        const struct figure figure = {central, against_noise, (enum quantity)q};
        make_panel(all, &figure, &panels[q]);
        plots[q] = panels[q].plot;
        put_axis(&panels[0].plot, &plots[q]);
    }
    snprintf(path, sizeof path, "%s/online-%s%s.svg", directory, central ? "central" : "local",
             against_noise ? "-noise" : "");
    return plot_write_panels(path,
                             central ? "CartPole, noise on gradients\n5 seeds of every setting"
                                     : "CartPole, noise on observations\n5 seeds of every setting",
                             plots, 3);
}

bool figures_write(const struct results *all, const char *directory)
{
    return write_row(all, true, false, directory) && write_row(all, true, true, directory) &&
           write_row(all, false, false, directory) && write_row(all, false, true, directory);
}
