/* One picture for each world and number of experts. */
#include "bench/offline/report_plots.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "bench/offline/estimate.h"
#include "bench/offline/shown.h"
#include "bench/plot/plot.h"

#define ALGORITHMS 2
#define CELLS      (PLOT_LINES * SHOWN_EPSILONS)

static const char *const algorithms[ALGORITHMS] = {"cql", "bcq"};
static const char *const titles[ALGORITHMS] = {"CQL", "BCQ"};
static const struct plot_reference references[] = {{1, "not private"}, {0, "random play"}};

/* A panel and what it points to. */
struct panel {
    struct plot plot;
    struct plot_point points[PLOT_LINES][SHOWN_EPSILONS];
    struct plot_line lines[PLOT_LINES];
    struct plot_unpaid unpaid[CELLS];
    double ticks[SHOWN_EPSILONS];
};

/* Seeds of the cells of a picture. */
struct seeds {
    unsigned least, most;
};

/* Whiskers stand side by side. */
static double place_of(size_t line, double epsilon)
{
    return epsilon + 0.12 * ((double)line - 1.0);
}

/* Ours, METHOD of shown_methods: what was run, and crosses where the budget does not pay. */
static void add_ours(struct panel *p, const struct results *all, uint32_t experts,
                     const char *world, const char *algorithm, int method, struct seeds *seeds)
{
    size_t line = p->plot.line_count;
    unsigned known = 0;
    struct estimate plain = estimate_usual(all, experts, world, algorithm, "none", 0);
    if (line == PLOT_LINES || plain.count == 0)
        return;
    for (int i = 0; i < SHOWN_EPSILONS; i++) {
        double half, x = place_of(line, shown_epsilons[i]);
        struct estimate e = estimate_usual(all, experts, world, algorithm, shown_methods[method],
                                           shown_epsilons[i]);
        p->points[line][i] = (struct plot_point){x, NAN, NAN, NAN};
        known += e.count + e.infeasible;
        if (e.count == 0) {
            if (e.infeasible > 0)
                p->unpaid[p->plot.unpaid_count++] = (struct plot_unpaid){x, line};
            continue;
        }
        double y = estimate_fraction(&e, &plain, &half);
        p->points[line][i] = (struct plot_point){x, y, y - half, y + half};
        seeds->least = e.count < seeds->least ? e.count : seeds->least;
        seeds->most = e.count > seeds->most ? e.count : seeds->most;
    }
    if (known == 0)
        return;
    p->lines[line] = (struct plot_line){
        .label = shown_labels[method], .points = p->points[line], .count = SHOWN_EPSILONS};
    p->plot.line_count++;
}

/* The published figures, whose number of experts is named where ours is another. */
static void add_theirs(struct panel *p, uint32_t experts, const char *world, const char *algorithm,
                       bool best)
{
    static const char *const labels[2][2] = {
        {"published, DP-SGD", "published, best"},
        {"published, DP-SGD (3,000)", "published, best (3,000)"}};
    size_t line = p->plot.line_count;
    bool any = false;
    if (line == PLOT_LINES)
        return;
    for (int i = 0; i < SHOWN_EPSILONS; i++) {
        const struct shown_published *found = shown_find(world, algorithm, shown_epsilons[i]);
        double y = !found ? 0.0 : best ? found->best : found->dpsgd;
        p->points[line][i] =
            (struct plot_point){place_of(line, shown_epsilons[i]), y > 0.0 ? y : NAN, NAN, NAN};
        any = any || y > 0.0;
    }
    if (!any)
        return;
    p->lines[line] = (struct plot_line){.label = labels[experts != SHOWN_PUBLISHED_EXPERTS][best],
                                        .points = p->points[line],
                                        .count = SHOWN_EPSILONS,
                                        .dashed = true};
    p->plot.line_count++;
}

/* An axis that has both references and every whisker. */
static void put_axis(struct panel *p)
{
    double low = 0.0, high = 1.0;
    for (size_t l = 0; l < p->plot.line_count; l++)
        for (int i = 0; i < SHOWN_EPSILONS; i++) {
            const struct plot_point *at = &p->points[l][i];
            low = fmin(low, fmin(at->y, at->low)); /* fmin and fmax leave NaN out */
            high = fmax(high, fmax(at->y, at->high));
        }
    double room = 0.1 * (high - low);
    p->plot.y_low = low - room;
    p->plot.y_high = high + room;
}

/* Ticks at the values of ε that were run or published. */
static void put_ticks(struct panel *p)
{
    for (int i = 0; i < SHOWN_EPSILONS; i++) {
        bool known = false;
        for (size_t l = 0; l < p->plot.line_count; l++) {
            known = known || isfinite(p->points[l][i].y);
            for (size_t u = 0; u < p->plot.unpaid_count; u++)
                known = known || p->unpaid[u].x == p->points[l][i].x;
        }
        if (known)
            p->ticks[p->plot.x_tick_count++] = shown_epsilons[i];
    }
}

/* False: there is no private run. */
static bool make_panel(struct panel *p, const struct results *all, uint32_t experts,
                       const char *world, int algorithm, struct seeds *seeds)
{
    *p = (struct panel){.plot = {.title = titles[algorithm],
                                 .x_label = "ε",
                                 .y_label = "fraction",
                                 .x_low = 1.8,
                                 .x_high = 12.5,
                                 .x_ticks = p->ticks,
                                 .references = references,
                                 .reference_count = 2,
                                 .unpaid = p->unpaid,
                                 .lines = p->lines}};
    for (int m = 1; m < SHOWN_METHODS; m++)
        add_ours(p, all, experts, world, algorithms[algorithm], m, seeds);
    bool any = p->plot.line_count > 0;
    add_theirs(p, experts, world, algorithms[algorithm], false);
    add_theirs(p, experts, world, algorithms[algorithm], true);
    put_axis(p);
    put_ticks(p);
    return any;
}

bool report_plots_world(FILE *out, const struct results *all, uint32_t experts, const char *world,
                        const char *directory)
{
    struct panel panels[ALGORITHMS];
    struct plot plots[ALGORITHMS];
    struct seeds seeds = {UINT_MAX, 0};
    size_t count = 0;
    char path[4096], title[256], range[32] = "";
    for (int a = 0; a < ALGORITHMS; a++)
        if (make_panel(&panels[count], all, experts, world, a, &seeds)) {
            plots[count] = panels[count].plot;
            count++;
        }
    if (count == 0)
        return true;
    if (seeds.least < seeds.most)
        snprintf(range, sizeof range, "%u to ", seeds.least);
    snprintf(title, sizeof title,
             "%s, %" PRIu32 " experts: fraction of the non-private return\n"
             "mean of %s%u seeds, with 95 %% interval",
             world, experts, range, seeds.most);
    snprintf(path, sizeof path, "%s/offline-%s-%" PRIu32 ".svg", directory, world, experts);
    fprintf(out, "![%s, %" PRIu32 " experts](offline-%s-%" PRIu32 ".svg)\n\n", world, experts,
            world, experts);
    if (plot_write_panels(path, title, plots, count))
        return true;
    fprintf(stderr, "%s: cannot be written\n", path);
    return false;
}
