/* Returns and times of REINFORCE and DQN against noise, and the whole of the tables. */
#include "bench/local/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/local/collection_report.h"
#include "bench/local/figures.h"
#include "bench/local/learner.h"
#include "bench/plot/sample.h"

static void write_learner(FILE *out, const struct results *all, const char *experiment,
                          const struct learner *learner)
{
    static struct result_cell cell;
    double settings[RESULT_SETTINGS];
    bool central = strcmp(experiment, "central") == 0;
    unsigned count = results_settings(all, experiment, learner->name, settings);
    if (count == 0)
        return;
    fprintf(out, "## %s: %s\n\n", learner->label,
            central ? "noise on gradients (central)" : "noise on observations (local)");
    fprintf(out,
            "| %s | ε%s | mean return ± 95 %% | last policy solves | solved on the way | %s until "
            "then, median | seeds |\n|---|---|---|---|---|---|---|\n",
            central ? "noise multiplier" : "ε asked", central ? "" : " of an observation",
            learner->fixed ? "updates" : "episodes");
    for (unsigned s = 0; s < count; s++) {
        results_cell(all, experiment, learner->name, settings[s], &cell);
        struct sample_mean mean = sample_mean_of(cell.score, cell.count);
        struct sample_quartiles time = sample_quartiles_of(cell.time, cell.count);
        size_t ended = 0;
        for (size_t i = 0; i < cell.count; i++)
            ended += cell.score[i] >= LEARNER_SOLVED;
        if (settings[s] > 0.0)
            fprintf(out, "| %g | %.3g | ", settings[s], cell.epsilon);
        else
            fprintf(out, "| no noise | ∞ | ");
        if (cell.count > 1)
            fprintf(out, "%.0f ± %.0f | ", mean.mean, mean.half);
        else
            fprintf(out, "%.0f | ", mean.mean);
        fprintf(out, "%zu of %zu | %zu of %zu | ", ended, cell.count, cell.succeeded, cell.count);
        collection_report_time(out, time.median);
        fprintf(out, " | %zu |\n", cell.count);
    }
    fprintf(out, "\n");
}

static void write_figures(FILE *out, const char *experiment)
{
    fprintf(out, "![against epsilon](local-%s.svg)\n\n", experiment);
    fprintf(out, "![against the noise](local-%s-noise.svg)\n\n", experiment);
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
    write_figures(out, "central");
    for (unsigned a = 0; a < learner_count; a++)
        write_learner(out, all, "local", &learners[a]);
    write_figures(out, "local");
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
                figures_write(&all, directory);
    if (!good)
        fprintf(stderr, "%s: tables or plots cannot be written there\n", directory);
    results_free(&all);
    return good;
}
