/* Medians, ratios and areas over trials beside the published ones; returns and times against noise.
 */
#include "bench/local/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/local/learner.h"
#include "bench/local/methods.h"
#include "bench/local/results.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

#define EPSILONS   4
#define METHODS    16
#define SETTINGS   16
#define MOST_SEEDS 200

static const double epsilons[EPSILONS] = {1, 2, 5, 10};

/* Ono and Takahashi 2020, tables 1 and 2: medians of the first success and success ratios. */
static const struct {
    const char *label;
    double median[EPSILONS], ratio[EPSILONS];
} published[] = {
    {"published: Laplace", {18377, 20238.5, 5714.5, 4055}, {.80, .90, 1, 1}},
    {"published: PRS", {25226.5, 7549, 2656.5, 11217.5}, {.85, .95, .90, .90}},
};
#define PUBLISHED_PLAIN 1769

/* What trials of one cell came to. */
struct cell {
    size_t count, succeeded;
    double time[MOST_SEEDS], score[MOST_SEEDS]; /* time infinite: no success */
    double epsilon, length, cpu_seconds;
};

static void find(const struct results *all, const char *experiment, const char *method,
                 double setting, struct cell *out)
{
    *out = (struct cell){.count = 0};
    for (size_t i = 0; i < all->count && out->count < MOST_SEEDS; i++) {
        const struct result *r = &all->all[i];
        if (strcmp(r->experiment, experiment) != 0 || strcmp(r->method, method) != 0 ||
            r->setting != setting)
            continue;
        out->time[out->count] = r->time > 0.0 ? r->time : INFINITY;
        out->score[out->count++] = r->score;
        out->succeeded += r->time > 0.0;
        out->epsilon = r->epsilon;
        out->length = (double)r->length;
        out->cpu_seconds += r->cpu_seconds;
    }
}

/* ---- gradient collection */

enum table { TABLE_MEDIAN, TABLE_RATIO, TABLE_AREA, TABLES };

static const char *const titles[TABLES] = {
    "Table 1: submissions until the first success, median (quartiles)",
    "Table 2: share of trials that succeed",
    "Table 3: area under the curve of scores, relative to no noise with λ = 0",
};

static void write_time(FILE *out, double time)
{
    if (isinf(time))
        fprintf(out, "∞");
    else
        fprintf(out, "%.0f", time);
}

static void write_cell(FILE *out, enum table table, struct cell *cell, const struct cell *plain)
{
    if (cell->count == 0) {
        fprintf(out, " not run |");
        return;
    }
    if (table == TABLE_MEDIAN) {
        struct sample_quartiles q = sample_quartiles_of(cell->time, cell->count);
        fprintf(out, " ");
        write_time(out, q.median);
        fprintf(out, " (");
        write_time(out, q.low);
        fprintf(out, "–");
        write_time(out, q.high);
        fprintf(out, ") |");
    } else if (table == TABLE_RATIO) {
        fprintf(out, " %zu/%zu |", cell->succeeded, cell->count);
    } else {
        double area = sample_mean_of(cell->score, cell->count).mean;
        double whole = plain->count > 0 ? sample_mean_of(plain->score, plain->count).mean : NAN;
        fprintf(out, " %.2f |", area / whole);
    }
}

static void write_published(FILE *out, enum table table)
{
    for (size_t p = 0; table != TABLE_AREA && p < sizeof published / sizeof published[0]; p++) {
        fprintf(out, "| *%s* |", published[p].label);
        for (int e = 0; e < EPSILONS; e++)
            fprintf(out, table == TABLE_MEDIAN ? " %g |" : " %.2f |",
                    table == TABLE_MEDIAN ? published[p].median[e] : published[p].ratio[e]);
        fprintf(out, "\n");
    }
    if (table == TABLE_MEDIAN)
        fprintf(out, "| *published: no noise* | %d | | | |\n", PUBLISHED_PLAIN);
}

static void write_table(FILE *out, const struct results *all, enum table table)
{
    static struct cell cell, plain; /* large */
    fprintf(out, "## %s\n\n| | ε = 1 | 2 | 5 | 10 |\n|---|---|---|---|---|\n", titles[table]);
    find(all, "collection", "plain", 0.0, &plain);
    for (unsigned m = 0; m < method_count; m++) {
        const struct method *method = &methods[m];
        fprintf(out, "| %s |", method->label);
        for (int e = 0; e < (method->randomiser ? EPSILONS : 1); e++) {
            find(all, "collection", method->name, method->randomiser ? epsilons[e] : 0.0, &cell);
            write_cell(out, table, &cell, &plain);
        }
        fprintf(out, method->randomiser ? "\n" : " | | |\n");
    }
    write_published(out, table);
    fprintf(out, "\n");
}

static bool plot_medians(const struct results *all, const char *directory)
{
    static struct cell cell;
    struct plot_point points[METHODS][EPSILONS];
    struct plot_line lines[METHODS];
    struct plot plot = {.title = "Submissions until the first success",
                        .x_label = "ε of an agent",
                        .y_label = "median of trials, with quartiles",
                        .log_x = true,
                        .log_y = true,
                        .lines = lines};
    char path[4096];
    for (unsigned m = 0; m < method_count; m++) {
        if (!methods[m].randomiser)
            continue;
        struct plot_point *at = points[plot.line_count];
        for (int e = 0; e < EPSILONS; e++) {
            find(all, "collection", methods[m].name, epsilons[e], &cell);
            struct sample_quartiles q = {NAN, NAN, NAN};
            if (cell.count > 0)
                q = sample_quartiles_of(cell.time, cell.count);
            bool known = isfinite(q.median);
            at[e] = (struct plot_point){epsilons[e], known ? q.median : NAN, q.low,
                                        isfinite(q.high) ? q.high : q.median};
        }
        lines[plot.line_count++] =
            (struct plot_line){.label = methods[m].label, .points = at, .count = EPSILONS};
    }
    for (size_t p = 0; p < sizeof published / sizeof published[0]; p++) {
        struct plot_point *at = points[plot.line_count];
        for (int e = 0; e < EPSILONS; e++)
            at[e] = (struct plot_point){epsilons[e], published[p].median[e], NAN, NAN};
        lines[plot.line_count++] = (struct plot_line){
            .label = published[p].label, .points = at, .count = EPSILONS, .dashed = true};
    }
    snprintf(path, sizeof path, "%s/local-collection.svg", directory);
    return plot_write(path, &plot);
}

/* ---- REINFORCE and DQN */

/* The settings of the EXPERIMENT that are in the file, growing. */
static unsigned settings_of(const struct results *all, const char *experiment, const char *method,
                            double out[SETTINGS])
{
    unsigned count = 0;
    double last = -1.0;
    while (count < SETTINGS) {
        double next = INFINITY;
        for (size_t i = 0; i < all->count; i++) {
            const struct result *r = &all->all[i];
            if (strcmp(r->experiment, experiment) == 0 && strcmp(r->method, method) == 0 &&
                r->setting > last && r->setting < next)
                next = r->setting;
        }
        if (isinf(next))
            break;
        out[count++] = last = next;
    }
    return count;
}

static void write_learner(FILE *out, const struct results *all, const char *experiment,
                          const struct learner *learner)
{
    static struct cell cell;
    double settings[SETTINGS];
    bool central = strcmp(experiment, "central") == 0;
    unsigned count = settings_of(all, experiment, learner->name, settings);
    if (count == 0)
        return;
    fprintf(out, "## %s: %s\n\n", learner->label,
            central ? "noise on gradients (central)" : "noise on observations (local)");
    fprintf(out,
            "| %s | ε%s | mean return ± 95 %% | %s until solved | seeds |\n|---|---|---|---|---|\n",
            central ? "noise multiplier" : "ε asked", central ? "" : " of an observation",
            learner->batch > 0 ? "episodes" : "updates");
    for (unsigned s = 0; s < count; s++) {
        find(all, experiment, learner->name, settings[s], &cell);
        struct sample_mean mean = sample_mean_of(cell.score, cell.count);
        struct sample_quartiles time = sample_quartiles_of(cell.time, cell.count);
        if (settings[s] > 0.0)
            fprintf(out, "| %g | %.3g | ", settings[s], cell.epsilon);
        else
            fprintf(out, "| no noise | ∞ | ");
        if (cell.count > 1)
            fprintf(out, "%.0f ± %.0f | ", mean.mean, mean.half);
        else
            fprintf(out, "%.0f | ", mean.mean);
        write_time(out, time.median);
        fprintf(out, " (%zu of %zu) | %zu |\n", cell.succeeded, cell.count, cell.count);
    }
    fprintf(out, "\n");
}

static bool plot_learners(const struct results *all, const char *experiment, const char *directory)
{
    static struct cell cell;
    struct plot_point points[METHODS][SETTINGS];
    struct plot_line lines[METHODS];
    struct plot plot = {.title = strcmp(experiment, "central") == 0
                                     ? "Return in CartPole, noise on gradients"
                                     : "Return in CartPole, noise on observations",
                        .x_label = strcmp(experiment, "central") == 0
                                       ? "ε (δ = 1e-5) of an episode, or of a transition"
                                       : "ε (δ = 1e-5) of one observation",
                        .y_label = "mean return, 95 % interval",
                        .log_x = true,
                        .y_low = 0.0,
                        .y_high = 500.0,
                        .lines = lines};
    char path[4096];
    for (unsigned a = 0; a < learner_count; a++) {
        double settings[SETTINGS];
        unsigned count = settings_of(all, experiment, learners[a].name, settings), kept = 0;
        for (unsigned s = 0; s < count; s++) {
            /* Epsilon falls as the noise grows. */
            unsigned at = strcmp(experiment, "central") == 0 ? count - 1 - s : s;
            find(all, experiment, learners[a].name, settings[at], &cell);
            struct sample_mean mean = sample_mean_of(cell.score, cell.count);
            bool whisker = cell.count > 1;
            if (settings[at] > 0.0)
                points[a][kept++] = (struct plot_point){
                    cell.epsilon, mean.mean, whisker ? fmax(0.0, mean.mean - mean.half) : NAN,
                    whisker ? fmin(500.0, mean.mean + mean.half) : NAN};
        }
        if (kept > 0)
            lines[plot.line_count++] =
                (struct plot_line){.label = learners[a].label, .points = points[a], .count = kept};
    }
    snprintf(path, sizeof path, "%s/local-%s.svg", directory, experiment);
    return plot.line_count == 0 || plot_write(path, &plot);
}

static void write_all(FILE *out, const struct results *all)
{
    double cpu = 0.0;
    for (size_t i = 0; i < all->count; i++)
        cpu += all->all[i].cpu_seconds;
    fprintf(out,
            "# Tables of the reproduction of local and on-line privacy\n\nWritten by `make "
            "reproduce-local` from local.tsv; [local.md](local.md) says what the numbers are. %.0f "
            "s of CPU time together.\n\n",
            cpu);
    for (int table = 0; table < TABLES; table++)
        write_table(out, all, (enum table)table);
    fprintf(out, "![submissions until success](local-collection.svg)\n\n");
    for (unsigned a = 0; a < learner_count; a++)
        write_learner(out, all, "central", &learners[a]);
    fprintf(out, "![noise on gradients](local-central.svg)\n\n");
    for (unsigned a = 0; a < learner_count; a++)
        write_learner(out, all, "local", &learners[a]);
    fprintf(out, "![noise on observations](local-local.svg)\n");
}

bool report_write(const char *path, const char *directory)
{
    struct results all;
    char name[4096];
    if (!results_load(path, &all))
        return false;
    snprintf(name, sizeof name, "%s/local-tables.md", directory);
    FILE *out = fopen(name, "w");
    if (out)
        write_all(out, &all);
    bool good = out && fclose(out) == 0 && plot_medians(&all, directory) &&
                plot_learners(&all, "central", directory) &&
                plot_learners(&all, "local", directory);
    if (!good)
        fprintf(stderr, "%s: tables or plots cannot be written there\n", directory);
    results_free(&all);
    return good;
}
