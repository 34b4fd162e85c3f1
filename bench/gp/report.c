/* Means over seeds with their intervals, learning curves with whiskers. */
#include "bench/gp/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gp/cells.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

#define SEEDS_MOST 64

struct found {
    size_t count;
    double final[SEEDS_MOST], curve[METHODS_BLOCKS][SEEDS_MOST];
    double low, high, seconds;
    bool has_curve;
};

static void take(struct found *f, char *rest)
{
    char *at = rest;
    if (f->count == SEEDS_MOST)
        return;
    f->final[f->count] = strtod(at, &at);
    f->low = strtod(at, &at);
    f->high = strtod(at, &at);
    f->seconds += strtod(at, &at);
    for (int i = 0; i < METHODS_BLOCKS; i++) {
        char *end = at;
        f->curve[i][f->count] = strtod(at, &end);
        f->has_curve = end != at;
        at = end;
    }
    f->count++;
}

static void find(const char *path, const char *cell, struct found *out)
{
    char line[1024];
    size_t length = strlen(cell);
    FILE *file = fopen(path, "r");
    memset(out, 0, sizeof *out);
    out->low = out->high = NAN;
    while (file && fgets(line, sizeof line, file)) {
        char *rest = line + length;
        if (strncmp(line, cell, length) == 0 && *rest == '\t' && strchr(rest, '\n')) {
            (void)strtoul(rest, &rest, 10); /* the seed */
            take(out, rest);
        }
    }
    if (file)
        fclose(file);
}

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
    find(results, name, &audited);
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
    find(results, cell->name, &f);
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
        if (cells[c].kind != CELL_AUDIT && strcmp(own, world) == 0)
            row(file, &cells[c], results, sided);
    }
    fprintf(file, "\n");
}

static double all_seconds(const char *results)
{
    size_t count;
    double sum = 0.0;
    const struct cell *cells = cells_all(&count);
    for (size_t c = 0; c < count; c++) {
        struct found f;
        find(results, cells[c].name, &f);
        sum += f.seconds;
    }
    return sum;
}

/* ---- plots */

static void label_of(const struct cell *cell, char *out, size_t size)
{
    if (cell->claimed > 0)
        snprintf(out, size, "%s, ε %g", cell->says, cell->claimed);
    else
        snprintf(out, size, "%s", cell->says);
}

static bool curves(const char *results, const char *path, const char *title,
                   const char *const *names, size_t name_count)
{
    struct plot_line lines[12];
    static struct plot_point points[12][METHODS_BLOCKS];
    char labels[12][80];
    size_t count, shown = 0;
    const struct cell *cells = cells_all(&count);
    for (size_t n = 0; n < name_count; n++) {
        struct found f;
        find(results, names[n], &f);
        if (f.count == 0 || !f.has_curve)
            continue;
        labels[shown][0] = '\0';
        for (size_t c = 0; c < count; c++)
            if (strcmp(cells[c].name, names[n]) == 0)
                label_of(&cells[c], labels[shown], sizeof labels[shown]);
        for (int i = 0; i < METHODS_BLOCKS; i++) {
            struct sample_mean mean = sample_mean_of(f.curve[i], f.count);
            points[shown][i] = (struct plot_point){.x = 5.0 * i + 2.5,
                                                   .y = mean.mean,
                                                   .low = mean.mean - mean.half,
                                                   .high = mean.mean + mean.half};
        }
        lines[shown] = (struct plot_line){
            .label = labels[shown], .points = points[shown], .count = METHODS_BLOCKS, .band = true};
        shown++;
    }
    const struct plot plot = {.title = title,
                              .x_label = "episode",
                              .y_label = "return",
                              .lines = lines,
                              .line_count = shown};
    return shown == 0 || plot_write(path, &plot);
}

bool report_write(const char *results, const char *folder)
{
    static const char *const sigmas[] = {
        "plain",           "printed-0.2-fresh",  "printed-0.5-fresh",
        "printed-1-fresh", "printed-0.2-reused", "printed-0.5-reused",
        "printed-1-reused"};
    static const char *const methods[] = {"plain",        "printed-0.2-fresh", "printed-eps0.9",
                                          "input-eps0.9", "input-eps0.45",     "dpsgd-eps0.9",
                                          "dpsgd-eps0.45"};
    char path[300];
    snprintf(path, sizeof path, "%s/gp-tables.md", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    table(file, results, "One dimension", "line");
    table(file, results, "CartPole", "cartpole");
    fprintf(file, "CPU time of all runs: %.0f seconds.\n", all_seconds(results));
    bool good = fclose(file) == 0;
    snprintf(path, sizeof path, "%s/gp-sigma.svg", folder);
    good = curves(results, path, "Algorithm 1 as printed, 10 seeds", sigmas, 7) && good;
    snprintf(path, sizeof path, "%s/gp-methods.svg", folder);
    return curves(results, path, "Methods at what they claim, 10 seeds", methods, 7) && good;
}
