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

/* A row of the overview: all learners under one noise. */
static void write_overview_row(FILE *out, const struct results *all, double multiplier)
{
    static struct result_cell cell; /* large */
    if (multiplier > 0.0)
        fprintf(out, "| %g |", multiplier);
    else
        fprintf(out, "| no noise |");
    for (unsigned a = 0; a < learner_count; a++) {
        results_cell(all, "central", learners[a].name, multiplier, &cell);
        if (cell.count == 0) {
            fprintf(out, " not run |");
            continue;
        }
        struct sample_mean mean = sample_mean_of(cell.score, cell.count);
        fprintf(out, " %.0f, %zu of %zu", mean.mean, cell.succeeded, cell.count);
        if (multiplier > 0.0)
            fprintf(out, " at ε = %.3g", cell.epsilon);
        fprintf(out, " |");
    }
    fprintf(out, "\n");
}

/* All learners under noise on gradients. */
static void write_overview(FILE *out, const struct results *all)
{
    double settings[RESULT_SETTINGS];
    unsigned count = results_settings(all, "central", "dqn", settings);
    fprintf(out, "## Noise on gradients, all learners\n\nThe mean return of the last policy, how "
                 "many seeds solved the task on the way, and ε.\n\n| noise multiplier |");
    for (unsigned a = 0; a < learner_count; a++)
        fprintf(out, " %s |", learners[a].label);
    fprintf(out, "\n|---|---|---|---|---|\n");
    for (unsigned s = 0; s < count; s++)
        write_overview_row(out, all, settings[s]);
    fprintf(out, "\n");
}

static void write_figures(FILE *out, const char *experiment)
{
    fprintf(out, "![against epsilon](online-%s.svg)\n\n", experiment);
    fprintf(out, "![against the noise](online-%s-noise.svg)\n\n", experiment);
}

/* Collection, or the two learners. */
static void write_head(FILE *out, const struct results *all, bool collection)
{
    double cpu = 0.0;
    const char *page = collection ? "collection" : "online";
    for (size_t i = 0; i < all->count; i++)
        if (collection == (strcmp(all->all[i].experiment, "collection") == 0))
            cpu += all->all[i].cpu_seconds;
    fprintf(out,
            "# Tables of %s\n\nWritten by `make reproduce-local` from local.tsv; "
            "[%s.md](%s.md) says what the numbers are. %.0f s of CPU time together.\n\n",
            collection ? "the collection of gradients" : "REINFORCE and DQN", page, page, cpu);
}

static void write_learners(FILE *out, const struct results *all)
{
    static const char *const experiments[] = {"central", "local"};
    write_overview(out, all);
    for (int e = 0; e < 2; e++) {
        for (unsigned a = 0; a < learner_count; a++)
            write_learner(out, all, experiments[e], &learners[a]);
        write_figures(out, experiments[e]);
    }
}

static bool write_tables(const struct results *all, bool collection, const char *directory)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%s-tables.md", directory, collection ? "collection" : "online");
    FILE *out = fopen(name, "w");
    if (!out)
        return false;
    write_head(out, all, collection);
    if (collection)
        collection_report_tables(out, all);
    else
        write_learners(out, all);
    return fclose(out) == 0;
}

bool report_write(const char *path, const char *directory)
{
    struct results all;
    if (!results_load(path, &all))
        return false;
    bool good = write_tables(&all, true, directory) && write_tables(&all, false, directory) &&
                collection_report_plots(&all, directory) && figures_write(&all, directory);
    if (!good)
        fprintf(stderr, "%s: tables or plots cannot be written there\n", directory);
    results_free(&all);
    return good;
}
