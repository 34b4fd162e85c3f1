/* Returns and times of REINFORCE and DQN against noise, and the whole of the tables. */
#include "bench/local/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/local/collection_report.h"
#include "bench/local/learner.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

#define METHODS  16
#define SETTINGS 16

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
    static struct result_cell cell;
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
        results_cell(all, experiment, learner->name, settings[s], &cell);
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
        collection_report_time(out, time.median);
        fprintf(out, " (%zu of %zu) | %zu |\n", cell.succeeded, cell.count, cell.count);
    }
    fprintf(out, "\n");
}

static bool plot_learners(const struct results *all, const char *experiment, const char *directory)
{
    static struct result_cell cell;
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
            results_cell(all, experiment, learners[a].name, settings[at], &cell);
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
    collection_report_tables(out, all);
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
    bool good = out && fclose(out) == 0 && collection_report_plots(&all, directory) &&
                plot_learners(&all, "central", directory) &&
                plot_learners(&all, "local", directory);
    if (!good)
        fprintf(stderr, "%s: tables or plots cannot be written there\n", directory);
    results_free(&all);
    return good;
}
