/* Tables and plots over the share of epsilon, the number of experts and their spread of skill. */
#include "bench/offline/sweeps.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "bench/offline/estimate.h"
#include "bench/plot/plot.h"

#define EPSILONS   2
#define ALGORITHMS 2
#define SHARES     5
#define SIZES      3
#define SPREADS    2
#define METHODS    3
#define WIDEST     5 /* SHARES, or SIZES */

static const double epsilons[EPSILONS] = {5, 10};
static const char *const algorithms[ALGORITHMS] = {"cql", "bcq"};

/* The usual share of selective is a half; a share of 0 is DP-SGD. With a share of 1 nothing is left
 * for noisy steps, and all steps are plain ones on stable prefixes: the paper's p = 0. */
static const struct {
    double share;
    const char *method, *options;
} shares[SHARES] = {{0, "dpsgd", "-"},
                    {0.25, "selective", "stable_share=0.25"},
                    {0.5, "selective", "-"},
                    {0.75, "selective", "stable_share=0.75"},
                    {1, "selective", "stable_share=1,plain_share=1"}};

static const uint32_t sizes[SIZES] = {1000, 2000, 3000};
static const struct {
    const char *name, *label;
} methods[METHODS] = {
    {"dpsgd", "DP-SGD"}, {"selective", "selective DP-SGD"}, {"consensus", "consensus labels"}};

/* One row of a table and one line of a plot. */
struct sweep_row {
    struct estimate cells[WIDEST], plain[WIDEST];
    double x[WIDEST];
    unsigned count;
};

static unsigned sweep_known(const struct sweep_row *row)
{
    unsigned known = 0;
    for (unsigned i = 0; i < row->count; i++)
        known += row->cells[i].count + row->cells[i].infeasible;
    return known;
}

static void sweep_write_row(FILE *out, const struct sweep_row *row)
{
    for (unsigned i = 0; i < row->count; i++) {
        const struct estimate *cell = &row->cells[i];
        double half, fraction;
        if (cell->count == 0 || row->plain[i].count == 0) {
            fprintf(out, " %s |", cell->infeasible > 0 ? "cannot be paid" : "–");
            continue;
        }
        fraction = estimate_fraction(cell, &row->plain[i], &half);
        fputc(' ', out);
        estimate_print(out, fraction, half);
        fprintf(out, " (%.4g) |", cell->mean);
    }
    fputc('\n', out);
}

/* Gives how many points there are. */
static unsigned sweep_points(const struct sweep_row *row, double shift,
                             struct plot_point out[WIDEST])
{
    unsigned known = 0;
    for (unsigned i = 0; i < row->count; i++) {
        double half;
        out[i] = (struct plot_point){row->x[i] + shift, NAN, NAN, NAN};
        if (row->cells[i].count == 0 || row->plain[i].count == 0)
            continue;
        out[i].y = estimate_fraction(&row->cells[i], &row->plain[i], &half);
        out[i].low = out[i].y - half;
        out[i].high = out[i].y + half;
        known++;
    }
    return known;
}

/* A plot's panel under construction. */
struct sweep_panel {
    char title[32];
    struct plot_point points[METHODS][WIDEST];
    struct plot_line lines[METHODS];
    unsigned count;
    unsigned least, most; /* seeds of a point; 0: no point yet */
};

static void sweep_add_line(struct sweep_panel *panel, const char *label,
                           const struct sweep_row *row, double shift)
{
    struct plot_point *to = panel->points[panel->count];
    for (unsigned i = 0; i < row->count; i++) {
        unsigned seeds = row->cells[i].count;
        if (seeds > 0 && (panel->least == 0 || seeds < panel->least))
            panel->least = seeds;
        panel->most = seeds > panel->most ? seeds : panel->most;
    }
    if (sweep_points(row, shift, to) > 0)
        panel->lines[panel->count++] =
            (struct plot_line){.label = label, .points = to, .count = row->count};
}

/* An axis that has random play, the run without privacy and every whisker. */
static void sweep_put_axis(const struct sweep_panel *panel, struct plot *plot)
{
    double low = 0.0, high = 1.0;
    for (unsigned l = 0; l < panel->count; l++)
        for (size_t i = 0; i < panel->lines[l].count; i++) {
            const struct plot_point *at = &panel->points[l][i];
            low = fmin(low, fmin(at->y, at->low)); /* fmin and fmax leave NaN out */
            high = fmax(high, fmax(at->y, at->high));
        }
    double room = 0.1 * (high - low);
    plot->y_low = low - room;
    plot->y_high = high + room;
}

static bool sweep_write_plot(const char *directory, const char *kind, const char *world,
                             const char *x_label, const double *ticks, size_t tick_count,
                             const struct sweep_panel *panels, unsigned count)
{
    char path[4096], title[128], range[32] = "";
    struct plot plots[PLOT_PANELS];
    static const struct plot_reference plain = {1, "not private"};
    double width = ticks[tick_count - 1] - ticks[0];
    unsigned least = panels[0].least, most = panels[0].most;
    for (unsigned i = 0; i < count; i++) {
        least = panels[i].least < least ? panels[i].least : least;
        most = panels[i].most > most ? panels[i].most : most;
        plots[i] = (struct plot){.title = panels[i].title,
                                 .x_label = x_label,
                                 .y_label = "fraction of the non-private return",
                                 .x_ticks = ticks,
                                 .x_tick_count = tick_count,
                                 .x_low = ticks[0] - 0.05 * width,
                                 .x_high = ticks[tick_count - 1] + 0.25 * width, /* a label */
                                 .references = &plain,
                                 .reference_count = 1,
                                 .lines = panels[i].lines,
                                 .line_count = panels[i].count};
        sweep_put_axis(&panels[i], &plots[i]);
    }
    snprintf(path, sizeof path, "%s/offline-%s-%s.svg", directory, kind, world);
    if (least < most)
        snprintf(range, sizeof range, "%u to ", least);
    snprintf(title, sizeof title, "%s, %s\nmean of %s%u seeds, with 95 %% interval", world, x_label,
             range, most);
    if (plot_write_panels(path, title, plots, count))
        return true;
    fprintf(stderr, "%s: cannot be written\n", path);
    return false;
}

/* ---- the share of epsilon that pays for stable prefixes */

static const char *const share_worlds[] = {"cartpole", "acrobot", "hiv", "lunar_lander"};
#define SHARE_WORLDS (sizeof share_worlds / sizeof share_worlds[0])

static struct sweep_row sweep_shares_row(const struct results *all, const char *world,
                                         const char *algorithm, double epsilon)
{
    struct sweep_row row = {.count = SHARES};
    for (unsigned i = 0; i < SHARES; i++) {
        row.x[i] = shares[i].share;
        row.cells[i] =
            estimate_of(all, 3000, world, algorithm, shares[i].method, epsilon, shares[i].options);
        row.plain[i] = estimate_usual(all, 3000, world, algorithm, "none", 0);
    }
    return row;
}

static bool sweep_shares_world(FILE *out, const struct results *all, const char *world,
                               const char *directory)
{
    struct sweep_panel panels[ALGORITHMS] = {0};
    double ticks[SHARES];
    unsigned known = 0;
    for (unsigned i = 0; i < SHARES; i++)
        ticks[i] = shares[i].share;
    for (unsigned a = 0; a < ALGORITHMS; a++) {
        static const char *const labels[EPSILONS] = {"ε = 5", "ε = 10"};
        snprintf(panels[a].title, sizeof panels[a].title, "%s", algorithms[a]);
        for (unsigned e = 0; e < EPSILONS; e++) {
            struct sweep_row row = sweep_shares_row(all, world, algorithms[a], epsilons[e]);
            known += row.cells[SHARES - 1].count + row.cells[SHARES - 1].infeasible;
            fprintf(out, "| %s, %s, ε = %g |", world, algorithms[a], epsilons[e]);
            sweep_write_row(out, &row);
            sweep_add_line(&panels[a], labels[e], &row, e == 0 ? -0.005 : 0.005);
        }
    }
    return known == 0 ||
           sweep_write_plot(directory, "shares", world, "share of ε for stable prefixes", ticks,
                            SHARES, panels, ALGORITHMS);
}

static bool sweep_shares(FILE *out, const struct results *all, const char *directory)
{
    fprintf(out,
            "## Splits of ε between the stages\n\nSelective DP-SGD on 3,000 experts, with other "
            "shares of ε for stable prefixes. A share of 0 is DP-SGD. With a share of 1 all steps "
            "are plain ones on the prefixes (the paper's p = 0). Fractions of the non-private run, "
            "and mean returns. There are five seeds with shares of 0 and 0.5, and three with the "
            "others.\n\n| | 0 | 0.25 | 0.5 | 0.75 | 1 |\n|---|---|---|---|---|---|\n");
    bool good = true;
    for (size_t w = 0; good && w < SHARE_WORLDS; w++)
        good = sweep_shares_world(out, all, share_worlds[w], directory);
    fprintf(out, "\n");
    for (size_t w = 0; w < SHARE_WORLDS; w++)
        fprintf(out, "![%s](offline-shares-%s.svg)\n\n", share_worlds[w], share_worlds[w]);
    return good;
}

/* ---- the number of experts */

static struct sweep_row sweep_sizes_row(const struct results *all, const char *world,
                                        const char *algorithm, const char *method, double epsilon)
{
    struct sweep_row row = {.count = SIZES};
    for (unsigned i = 0; i < SIZES; i++) {
        row.x[i] = sizes[i];
        row.cells[i] = estimate_usual(all, sizes[i], world, algorithm, method, epsilon);
        row.plain[i] = estimate_usual(all, sizes[i], world, algorithm, "none", 0);
    }
    return row;
}

static bool sweep_sizes(FILE *out, const struct results *all, const char *world,
                        const char *directory)
{
    struct sweep_panel panels[ALGORITHMS * EPSILONS] = {0};
    double ticks[SIZES];
    unsigned known = 0;
    for (unsigned i = 0; i < SIZES; i++)
        ticks[i] = sizes[i];
    fprintf(out,
            "## Numbers of experts, %s\n\nThe settings are those of 3,000 experts, and δ is 1 / "
            "(number of experts). Fractions of the non-private run on as many experts, and mean "
            "returns. There are five seeds.\n\n"
            "| | 1,000 experts | 2,000 | 3,000 |\n|---|---|---|---|\n",
            world);
    for (unsigned a = 0; a < ALGORITHMS; a++) {
        for (unsigned e = 0; e < EPSILONS; e++) {
            struct sweep_panel *panel = &panels[a * EPSILONS + e];
            snprintf(panel->title, sizeof panel->title, "%s, ε = %g", algorithms[a], epsilons[e]);
            for (unsigned m = 0; m < METHODS; m++) {
                struct sweep_row row =
                    sweep_sizes_row(all, world, algorithms[a], methods[m].name, epsilons[e]);
                if (sweep_known(&row) == 0)
                    continue;
                known += row.cells[0].count;
                fprintf(out, "| %s, %s |", panel->title, methods[m].label);
                sweep_write_row(out, &row);
                sweep_add_line(panel, methods[m].label, &row, 20.0 * ((double)m - 1.0));
            }
        }
    }
    fprintf(out, "\n![%s](offline-experts-%s.svg)\n", world, world);
    return known == 0 || sweep_write_plot(directory, "experts", world, "number of experts", ticks,
                                          SIZES, panels, ALGORITHMS * EPSILONS);
}

/* ---- the spread of the experts' skill */

static void sweep_spreads(FILE *out, const struct results *all, const char *world)
{
    static const char *const options[SPREADS] = {"spread=narrow", "spread=wide"};
    fprintf(
        out,
        "\n## Spreads of skill, %s\n\nA third of the 3,000 experts each: those in the middle of "
        "the order by return (narrow), and every third of that order (wide). Fractions of the "
        "non-private run on the same experts, and mean returns. There are five seeds.\n\n"
        "| | narrow | wide |\n|---|---|---|\n",
        world);
    for (unsigned a = 0; a < ALGORITHMS; a++)
        for (unsigned e = 0; e < EPSILONS; e++)
            for (unsigned m = 0; m < METHODS; m++) {
                struct sweep_row row = {.count = SPREADS};
                for (unsigned i = 0; i < SPREADS; i++) {
                    row.cells[i] = estimate_of(all, 1000, world, algorithms[a], methods[m].name,
                                               epsilons[e], options[i]);
                    row.plain[i] =
                        estimate_of(all, 1000, world, algorithms[a], "none", 0, options[i]);
                }
                if (sweep_known(&row) == 0)
                    continue;
                fprintf(out, "| %s, ε = %g, %s |", algorithms[a], epsilons[e], methods[m].label);
                sweep_write_row(out, &row);
            }
}

bool sweeps_write(FILE *out, const struct results *all, const char *directory)
{
    if (!sweep_shares(out, all, directory) || !sweep_sizes(out, all, "acrobot", directory))
        return false;
    sweep_spreads(out, all, "acrobot");
    return true;
}
