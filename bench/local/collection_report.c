/* Medians, ratios and areas over trials beside the published ones. */
#include "bench/local/collection_report.h"

#include <math.h>
#include <stdlib.h>

#include "bench/local/methods.h"
#include "bench/local/trial.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

#define EPSILONS 4

static const double epsilons[EPSILONS] = {1, 2, 5, 10};

/* Their tables 1 and 2: medians of the first success and success ratios. */
static const struct {
    const char *label;
    double median[EPSILONS], ratio[EPSILONS];
} published[] = {
    {"published: Laplace", {18377, 20238.5, 5714.5, 4055}, {.80, .90, 1, 1}},
    {"published: PRS", {25226.5, 7549, 2656.5, 11217.5}, {.85, .95, .90, .90}},
};
#define PUBLISHED_COUNT (sizeof published / sizeof published[0])
#define PUBLISHED_PLAIN 1769

/* Their table 3, the better of the two mechanisms. */
static const double published_area[EPSILONS] = {.673, .862, .909, .965};

enum table { TABLE_MEDIAN, TABLE_RATIO, TABLE_AREA, TABLE_SCORE, TABLES };

static const char *const titles[TABLES] = {
    "Table 1: submissions until the first success, median (quartiles)",
    "Table 2: share of trials that succeed",
    ("Table 3: area under the curve of success ratio against submissions, relative to no noise "
     "with λ = 0"),
    "Mean score of the first 20,000 submissions (of 200)",
};

void collection_report_time(FILE *out, double time)
{
    if (isinf(time))
        fprintf(out, "∞");
    else
        fprintf(out, "%.0f", time);
}

/* The area under the share of trials that have succeeded, from 0 to TRIAL_MOST submissions, over
 * TRIAL_MOST: a trial adds the part of the axis that is behind its success. */
static double success_area(const struct result_cell *cell)
{
    double sum = 0.0;
    for (size_t i = 0; i < cell->count; i++)
        sum += fmax(0.0, 1.0 - cell->time[i] / TRIAL_MOST);
    return sum / (double)cell->count;
}

static void write_quartiles(FILE *out, struct sample_quartiles q)
{
    fprintf(out, " ");
    collection_report_time(out, q.median);
    fprintf(out, " (");
    collection_report_time(out, q.low);
    fprintf(out, "–");
    collection_report_time(out, q.high);
    fprintf(out, ") |");
}

static void write_cell(FILE *out, enum table table, struct result_cell *cell,
                       const struct result_cell *plain)
{
    if (cell->count == 0) {
        fprintf(out, " not run |");
        return;
    }
    switch (table) {
    case TABLE_MEDIAN: write_quartiles(out, sample_quartiles_of(cell->time, cell->count)); break;
    case TABLE_RATIO: fprintf(out, " %zu/%zu |", cell->succeeded, cell->count); break;
    case TABLE_AREA:
        fprintf(out, " %.3f |", success_area(cell) / (plain->count ? success_area(plain) : NAN));
        break;
    default:
        fprintf(out, " %.0f |", TRIAL_CAP * sample_mean_of(cell->score, cell->count).mean);
        break;
    }
}

static void write_published(FILE *out, enum table table)
{
    for (size_t p = 0; table <= TABLE_RATIO && p < PUBLISHED_COUNT; p++) {
        fprintf(out, "| *%s* |", published[p].label);
        for (int e = 0; e < EPSILONS; e++)
            fprintf(out, table == TABLE_MEDIAN ? " %g |" : " %.2f |",
                    table == TABLE_MEDIAN ? published[p].median[e] : published[p].ratio[e]);
        fprintf(out, "\n");
    }
    if (table == TABLE_MEDIAN)
        fprintf(out, "| *published: no noise* | %d | | | |\n", PUBLISHED_PLAIN);
    if (table == TABLE_RATIO)
        fprintf(out, "| *published: no noise* | 1.00 | | | |\n");
    if (table == TABLE_AREA) {
        fprintf(out, "| *published: better of the two* |");
        for (int e = 0; e < EPSILONS; e++)
            fprintf(out, " %.3f |", published_area[e]);
        fprintf(out, "\n");
    }
}

static void write_table(FILE *out, const struct results *all, enum table table)
{
    static struct result_cell cell, plain; /* large */
    fprintf(out, "## %s\n\n| | ε = 1 | 2 | 5 | 10 |\n|---|---|---|---|---|\n", titles[table]);
    results_cell(all, "collection", "plain", 0.0, &plain);
    for (unsigned m = 0; m < method_count; m++) {
        const struct method *method = &methods[m];
        fprintf(out, "| %s |", method->label);
        for (int e = 0; e < (method->randomiser ? EPSILONS : 1); e++) {
            results_cell(all, "collection", method->name, method->randomiser ? epsilons[e] : 0.0,
                         &cell);
            write_cell(out, table, &cell, &plain);
        }
        fprintf(out, method->randomiser ? "\n" : " | | |\n");
    }
    write_published(out, table);
    fprintf(out, "\n");
}

void collection_report_tables(FILE *out, const struct results *all)
{
    for (int table = 0; table < TABLES; table++)
        write_table(out, all, (enum table)table);
    fprintf(out, "![submissions until success](collection-medians.svg)\n\n"
                 "![share of trials that have succeeded](collection-success.svg)\n\n");
}

/* ---- their figure 2 */

/* Quartiles behind the limit are drawn at the limit. */
static struct plot_point point_of(double x, struct result_cell *cell)
{
    if (cell->count == 0)
        return (struct plot_point){x, NAN, NAN, NAN};
    struct sample_quartiles q = sample_quartiles_of(cell->time, cell->count);
    return (struct plot_point){x, fmin(q.median, TRIAL_MOST), fmin(q.low, TRIAL_MOST),
                               fmin(q.high, TRIAL_MOST)};
}

static bool plot_medians(const struct results *all, const char *directory)
{
    static const char *const shown[] = {"privunit", "signs_tutorial", "laplace_tutorial"};
    enum { OURS = sizeof shown / sizeof shown[0], LINES = OURS + PUBLISHED_COUNT };
    static struct result_cell cell;
    struct plot_point points[LINES][EPSILONS];
    struct plot_line lines[LINES];
    const struct plot_reference reference = {PUBLISHED_PLAIN, "no noise, published"};
    const struct plot plot = {
        .title = "Submissions until the first success\n"
                 "median of 20 trials, with quartiles; whiskers at the top: no success",
        .x_label = "ε of an agent",
        .y_label = "submissions",
        .y_low = 500,
        .y_high = 1.15 * TRIAL_MOST,
        .references = &reference,
        .reference_count = 1,
        .log_x = true,
        .log_y = true,
        .x_low = 0.8,
        .x_high = 12.5,
        .x_ticks = epsilons,
        .x_tick_count = EPSILONS,
        .lines = lines,
        .line_count = LINES};
    char path[4096];
    for (unsigned l = 0; l < LINES; l++) {
        bool ours = l < OURS;
        for (int e = 0; e < EPSILONS; e++) {
            double x = epsilons[e] * (1.0 + 0.03 * ((double)l - 2.0)); /* whiskers side by side */
            if (ours)
                results_cell(all, "collection", shown[l], epsilons[e], &cell);
            points[l][e] = ours ? point_of(x, &cell)
                                : (struct plot_point){x, published[l - OURS].median[e], NAN, NAN};
        }
        lines[l] = (struct plot_line){.label = ours ? method_find(shown[l])->label
                                                    : published[l - OURS].label,
                                      .points = points[l],
                                      .count = EPSILONS,
                                      .dashed = !ours};
    }
    snprintf(path, sizeof path, "%s/collection-medians.svg", directory);
    return plot_write(path, &plot);
}

/* ---- their figure 3 */

#define STEPS      (2 * RESULT_SEEDS + 2)
#define AXIS_START 200

/* The share of trials that have succeeded, as steps. Gives the number of points. */
static size_t success_steps(struct result_cell *cell, struct plot_point out[STEPS])
{
    size_t n = 0;
    double share = 0.0;
    if (cell->count == 0)
        return 0;
    sample_quartiles_of(cell->time, cell->count); /* which sorts them */
    out[n++] = (struct plot_point){AXIS_START, 0.0, NAN, NAN};
    for (size_t i = 0; i < cell->count && isfinite(cell->time[i]); i++) {
        out[n++] = (struct plot_point){cell->time[i], share, NAN, NAN};
        share = (double)(i + 1) / (double)cell->count;
        out[n++] = (struct plot_point){cell->time[i], share, NAN, NAN};
    }
    out[n++] = (struct plot_point){TRIAL_MOST, share, NAN, NAN};
    return n;
}

static const double success_ticks[] = {200, 1000, 5000, 20000, TRIAL_MOST};

struct success_panel {
    struct plot_point points[EPSILONS + 1][STEPS];
    struct plot_line lines[EPSILONS + 1];
};

static struct plot success_plot(const struct results *all, const char *private, const char *plain,
                                struct success_panel *panel)
{
    static const char *const labels[] = {"no noise", "ε = 10", "ε = 5", "ε = 2", "ε = 1"};
    static struct result_cell cell;
    for (int l = 0; l <= EPSILONS; l++) {
        results_cell(all, "collection", l == 0 ? plain : private,
                     l == 0 ? 0.0 : epsilons[EPSILONS - l], &cell);
        panel->lines[l] = (struct plot_line){.label = labels[l],
                                             .points = panel->points[l],
                                             .count = success_steps(&cell, panel->points[l]),
                                             .band = true,
                                             .dashed = l == 0};
    }
    return (struct plot){.title = method_find(private)->label,
                         .x_label = "submissions",
                         .y_label = "share of trials",
                         .log_x = true,
                         .x_low = AXIS_START,
                         .x_high = TRIAL_MOST,
                         .x_ticks = success_ticks,
                         .x_tick_count = sizeof success_ticks / sizeof success_ticks[0],
                         .y_low = 0.0,
                         .y_high = 1.05,
                         .lines = panel->lines,
                         .line_count = EPSILONS + 1};
}

static bool plot_success(const struct results *all, const char *directory)
{
    static struct success_panel room[3];
    const struct plot panels[] = {
        success_plot(all, "privunit", "plain", &room[0]),
        success_plot(all, "signs_tutorial", "plain_tutorial", &room[1]),
        success_plot(all, "laplace_tutorial", "plain_tutorial", &room[2]),
    };
    char path[4096];
    snprintf(path, sizeof path, "%s/collection-success.svg", directory);
    return plot_write_panels(path, "Share of trials that have succeeded\n20 trials to a line",
                             panels, 3);
}

bool collection_report_plots(const struct results *all, const char *directory)
{
    return plot_medians(all, directory) && plot_success(all, directory);
}
