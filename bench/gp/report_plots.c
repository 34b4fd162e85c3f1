/* Learning curves with bands, and returns with whiskers. */
#include <math.h>

#include "bench/gp/found.h"
#include "bench/gp/report.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

/* A panel and what it borrows. */
struct panel {
    struct plot plot;
    struct plot_reference references[2]; /* random play first */
    struct plot_line lines[FOUND_ROWS];
    struct plot_point points[FOUND_ROWS][METHODS_BLOCKS];
};

/* Bounds of a mean that cannot be below 0. */
static struct plot_point point_of(double x, struct sample_mean mean)
{
    return (struct plot_point){.x = x,
                               .y = mean.mean,
                               .low = fmax(mean.mean - mean.half, 0.0),
                               .high = mean.mean + mean.half};
}

static void start_panel(struct panel *p, const char *results, const char *title,
                        const char *x_label)
{
    struct found plain;
    found_cell(results, "plain", &plain);
    double without = sample_mean_of(plain.final, plain.count).mean;
    *p = (struct panel){.plot = {.title = title,
                                 .x_label = x_label,
                                 .y_label = "return",
                                 .y_low = 0,
                                 .y_high = 25,
                                 .lines = p->lines,
                                 .references = p->references,
                                 .reference_count = plain.count > 0 ? 2 : 1},
                        .references = {{line_world.random_return, "random play"},
                                       {without, "network without noise"}}};
}

/* Adds the learning curve of a cell. */
static void add_curve(struct panel *p, const char *results, const struct found_row *of)
{
    struct found f;
    size_t l = p->plot.line_count;
    found_cell(results, of->key, &f);
    if (f.count < 2 || !f.has_curve)
        return;
    for (int i = 0; i < METHODS_BLOCKS; i++)
        p->points[l][i] = point_of(5.0 * i + 2.5, sample_mean_of(f.curve[i], f.count));
    p->lines[l] = (struct plot_line){
        .label = of->says, .points = p->points[l], .count = METHODS_BLOCKS, .band = true};
    p->plot.line_count++;
}

/* Adds the returns of a row of a matrix, moved a little aside so that whiskers do not hide one
 * another. */
static void add_returns(struct panel *p, const char *results, const struct found_row *row,
                        const char *form, const double *values)
{
    size_t l = p->plot.line_count, n = 0;
    for (int v = 0; v < FOUND_VALUES; v++) {
        struct found f = found_at(results, row, form, values[v]);
        if (f.count > 1)
            p->points[l][n++] =
                point_of(values[v] * pow(1.09, (double)l - 1.5), sample_mean_of(f.final, f.count));
    }
    if (n == 0)
        return;
    p->lines[l] =
        (struct plot_line){.label = row->says, .points = p->points[l], .count = n, .dashed = l > 0};
    p->plot.line_count++;
}

bool report_sigmas(const char *results, const char *path)
{
    static const char *const titles[] = {"a path an update", "a path for 50 updates",
                                         "one path for all updates"};
    static const struct found_row curves[3][3] = {{{"sigma 0.2", "printed-0.2-fresh", NULL},
                                                   {"sigma 0.5", "printed-0.5-fresh", NULL},
                                                   {"sigma 1", "printed-1-fresh", NULL}},
                                                  {{"sigma 0.2", "printed-0.2-reused", NULL},
                                                   {"sigma 0.5", "printed-0.5-reused", NULL},
                                                   {"sigma 1", "printed-1-reused", NULL}},
                                                  {{"sigma 0.2", "printed-0.2-once", NULL},
                                                   {"sigma 0.5", "printed-0.5-once", NULL},
                                                   {"sigma 1", "printed-1-once", NULL}}};
    static const struct found_row plain = {"no noise", "plain", NULL};
    static struct panel panels[3]; /* large */
    struct plot plots[3];
    for (int i = 0; i < 3; i++) {
        start_panel(&panels[i], results, titles[i], "episode");
        panels[i].plot.reference_count = 1; /* these curves explore */
        add_curve(&panels[i], results, &plain);
        for (int c = 0; c < 3; c++)
            add_curve(&panels[i], results, &curves[i][c]);
        plots[i] = panels[i].plot;
    }
    return plot_write_panels(path,
                             "Algorithm 1 as printed\n"
                             "mean return of 10 seeds while they explore, with its 95 % interval",
                             plots, 3);
}

bool report_methods(const char *results, const char *path)
{
    static struct panel panels[3]; /* large */
    struct plot plots[3];
    start_panel(&panels[0], results, "unit expert, 3000 experts", "true ε");
    start_panel(&panels[1], results, "unit reward, ε = 0.9", "neighbours' rewards within");
    start_panel(&panels[2], results, "unit reward, ε = 0.45", "neighbours' rewards within");
    for (int r = 0; r < FOUND_ROWS; r++) {
        if (r < FOUND_ROWS - 1) /* all that are priced truly */
            add_returns(&panels[0], results, &found_experts[r], "expert-eps%g", found_epsilons);
        add_returns(&panels[1], results, &found_rewards[r], "reward-%g-eps0.9", found_distances);
        add_returns(&panels[2], results, &found_rewards[r], "reward-%g-eps0.45", found_distances);
    }
    for (int i = 0; i < 3; i++) {
        struct plot *plot = &panels[i].plot;
        plot->log_x = true;
        plot->x_low = i == 0 ? 0.07 : 0.0005;
        plot->x_high = i == 0 ? 4.5 : 2;
        plot->x_ticks = i == 0 ? found_epsilons : found_distances;
        plot->x_tick_count = FOUND_VALUES;
        plots[i] = *plot;
    }
    return plot_write_panels(path,
                             "Released policies at equal true ε (δ = 1e-4)\n"
                             "mean return of 10 seeds, with its 95 % interval",
                             plots, 3);
}
