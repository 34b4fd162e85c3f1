/* Tables: means over seeds with their intervals. */
#include "bench/gp/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gp/cells.h"
#include "bench/gp/found.h"
#include "bench/plot/sample.h"

/* ---- tables */

static void number_text(double epsilon, char out[32])
{
    if (isnan(epsilon))
        snprintf(out, 32, " ");
    else if (isinf(epsilon))
        snprintf(out, 32, "infinite");
    else
        snprintf(out, 32, epsilon < 100 ? "%.3g" : "%.0f", epsilon);
}

/* What is proved from below, by audit and in closed form, and from above. */
static void truth(FILE *file, const struct cell *cell, const char *results, const struct found *f)
{
    char name[64], text[4][32];
    struct found audited;
    snprintf(name, sizeof name, "audit-%s", cell->name);
    found_cell(results, name, &audited);
    bool printed = cell->kind == CELL_METHOD && cell->method == METHOD_PRINTED;
    double sigma = printed ? cell_sigma(cell) : NAN;
    number_text(audited.count > 0 ? audited.low : NAN, text[0]);
    number_text(printed ? method_single_state_epsilon(sigma, cell->per_path) : NAN, text[1]);
    number_text(printed ? method_constant_epsilon(sigma, cell->per_path) : NAN, text[2]);
    number_text(printed ? INFINITY : f->high, text[3]);
    fprintf(file, " | %s | %s | %s | %s", text[0], text[1], text[2], text[3]);
}

static void row(FILE *file, const struct cell *cell, const char *results, bool sided)
{
    struct found f;
    char claim[32] = "none";
    found_cell(results, cell->name, &f);
    if (f.count == 0)
        return;
    struct sample_mean mean = sample_mean_of(f.final, f.count);
    if (cell->claimed > 0.0)
        snprintf(claim, sizeof claim, "%g", cell->claimed);
    fprintf(file, "| %s | ", cell->says);
    if (cell->kind == CELL_METHOD)
        fprintf(file, "%.3g | ", cell_sigma(cell));
    else if (sided)
        fprintf(file, " | ");
    fprintf(file, "%s", claim);
    if (sided)
        truth(file, cell, results, &f);
    fprintf(file, " | %.2f", mean.mean);
    if (!isnan(mean.half))
        fprintf(file, " ± %.2f", mean.half);
    fprintf(file, " | %zu |\n", f.count);
}

static void table(FILE *file, const char *results, const char *title, const char *world)
{
    size_t count;
    const struct cell *cells = cells_all(&count);
    bool sided = strcmp(world, "line") == 0;
    fprintf(
        file, "## %s\n\n%s", title,
        sided
            ? "| method | sigma | claimed epsilon | at least: audit | at least: one state | at "
              "most: a constant | at most | return | seeds |\n|---|---|---|---|---|---|---|---|"
              "---|\n"
            : "| method | epsilon, claimed and certified | return | seeds |\n|---|---|---|---|\n");
    for (size_t c = 0; c < count; c++) {
        const char *own = cells[c].world ? cells[c].world : "line";
        if (cells[c].kind != CELL_AUDIT && cells[c].says && strcmp(own, world) == 0)
            row(file, &cells[c], results, sided);
    }
    fprintf(file, "\n");
}

/* ---- methods at one true epsilon */

static void mean_text(FILE *file, const struct found *f)
{
    struct sample_mean mean = sample_mean_of(f->final, f->count);
    if (f->count > 1)
        fprintf(file, " %.2f ± %.2f |", mean.mean, mean.half);
    else
        fprintf(file, "   |");
}

static void matrix(FILE *file, const char *results, const struct found_row *rows, const char *form,
                   const double *values)
{
    for (int r = 0; r < FOUND_ROWS; r++) {
        struct found plain = {0};
        fprintf(file, "| %s |", rows[r].says);
        for (int v = 0; v < FOUND_VALUES; v++) {
            struct found f = found_at(results, &rows[r], form, values[v]);
            mean_text(file, &f);
        }
        if (rows[r].plain)
            found_cell(results, rows[r].plain, &plain);
        mean_text(file, &plain);
        fprintf(file, "\n");
    }
}

static void equal_tables(FILE *file, const char *results)
{
    static const char *const forms[] = {"reward-%g-eps0.9", "reward-%g-eps0.45"};
    for (int t = 0; t < 2; t++) {
        fprintf(file,
                "## Unit reward at true epsilon %s, neighbours within a distance\n\n"
                "| method | 0.001 | 0.01 | 0.1 | 1 | no noise |\n|---|---|---|---|---|---|\n",
                t == 0 ? "0.9" : "0.45");
        matrix(file, results, found_rewards, forms[t], found_distances);
        fprintf(file, "\n");
    }
    fprintf(file, "## Unit expert at a true epsilon, 3000 experts\n\n"
                  "| method | 0.1 | 0.45 | 0.9 | 3 | no noise |\n|---|---|---|---|---|---|\n");
    matrix(file, results, found_experts, "expert-eps%g", found_epsilons);
    fprintf(file, "\nWhat the last row's claims truly are, at most:");
    for (int v = 0; v < FOUND_VALUES; v++)
        fprintf(file, "%s %.3g", v ? "," : "", baseline_published_epsilon(found_epsilons[v]));
    fprintf(file, ".\n\n");
}

static double all_seconds(const char *results)
{
    size_t count;
    double sum = 0.0;
    const struct cell *cells = cells_all(&count);
    for (size_t c = 0; c < count; c++) {
        struct found f;
        found_cell(results, cells[c].name, &f);
        sum += f.seconds;
    }
    return sum;
}

bool report_write(const char *results, const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/gp-tables.md", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    table(file, results, "One dimension: methods as they are printed", "line");
    equal_tables(file, results);
    table(file, results, "CartPole", "cartpole");
    fprintf(file, "CPU time of all runs: %.0f seconds.\n", all_seconds(results));
    bool good = fclose(file) == 0;
    snprintf(path, sizeof path, "%s/gp-sigma.svg", folder);
    good = report_sigmas(results, path) && good;
    snprintf(path, sizeof path, "%s/gp-methods.svg", folder);
    return report_methods(results, path) && good;
}
