/* Tables and plots. */
#include "bench/kickstart/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/kickstart/summary.h"
#include "bench/kickstart/variants.h"
#include "bench/plot/plot.h"

#define LINES 8

static const char *const worlds[] = {"cartpole", "acrobot", "lunar_lander"};

/* One picture: the un-helped student and what is compared with it. */
static const struct picture {
    const char *name, *title;
    const char *variants[LINES];
} pictures[] = {
    {"reference", "with and without a teacher", {"alone", "teacher", "exact"}},
    {"vanishing",
     "Dirichlet answers that vanish",
     {"alone", "exact", "vanish_0.9", "vanish_0.7", "vanish_0.5", "vanish_0.3", "vanish_0.1"}},
    {"budget",
     "16 roll-outs of answers for a budget",
     {"alone", "exact", "dirichlet_1", "dirichlet_4", "dirichlet_16", "gaussian_1", "gaussian_4",
      "gaussian_16"}},
    {"unaware",
     "aware of the noise and not",
     {"alone", "vanish_0.9", "unaware_vanish_0.9", "dirichlet_4", "unaware_dirichlet_4",
      "gaussian_4", "unaware_gaussian_4"}},
    {"published",
     "k = 5, and random answers behind a budget of ε = 1",
     {"alone", "five_silent_0.5", "five_random_2", "five_random_0.5", "five_random_0"}},
    {"published-vanishing",
     "k = 5 that vanishes, then random answers",
     {"alone", "five_vanish_0.8_0.5", "five_vanish_0.8_0", "five_vanish_0.2_0.5",
      "five_vanish_0.2_0"}},
    {"experts",
     "a teacher that protects experts",
     {"alone", "experts_200_exact", "experts_200_gaussian_1", "experts_200_gaussian_4",
      "experts_200_gaussian_16", "experts_200_dirichlet_16", "experts_50_gaussian_4"}},
};

/* ---- the plots */

static size_t write_points(const struct summary *s, struct plot_point *out)
{
    double step = (double)s->one->transitions / RESULT_POINTS;
    for (unsigned p = 0; p < RESULT_POINTS; p++)
        out[p] = (struct plot_point){step * (p + 1), s->curve[p].median, s->curve[p].low,
                                     s->curve[p].high};
    return RESULT_POINTS;
}

/* False: it could not be written. A world that has not run enough for it has no such picture. */
static bool write_curves(FILE *out, const struct results *all, const char *world,
                         const struct picture *picture, const char *directory)
{
    struct plot_point points[LINES][RESULT_POINTS];
    struct plot_line lines[LINES];
    char path[4096], title[128];
    struct plot plot = {.title = title,
                        .x_label = "transitions played",
                        .y_label = "return, median and quartiles over seeds",
                        .lines = lines};
    for (unsigned v = 0; v < LINES && picture->variants[v]; v++) {
        struct summary s;
        size_t i = plot.line_count;
        if (!summary_of(all, world, picture->variants[v], &s))
            continue;
        lines[i] = (struct plot_line){.label = variant_find(picture->variants[v])->label,
                                      .points = points[i],
                                      .count = write_points(&s, points[i]),
                                      .band = true,
                                      .dashed = v == 0};
        plot.line_count++;
    }
    if (plot.line_count < 3) /* nothing but what all are compared with */
        return true;
    snprintf(title, sizeof title, "%s: %s", world, picture->title);
    snprintf(path, sizeof path, "%s/kickstart-%s-%s.svg", directory, world, picture->name);
    fprintf(out, "![%s: %s](kickstart-%s-%s.svg)\n\n", world, picture->title, world, picture->name);
    return plot_write(path, &plot);
}

/* ---- the tables */

static void write_amount(FILE *out, double value)
{
    if (isnan(value))
        fprintf(out, " – |");
    else if (isinf(value))
        fprintf(out, " ∞ |");
    else
        fprintf(out, " %.3g |", value);
}

static void write_steps(FILE *out, const struct sample_quartiles *q)
{
    const double values[] = {q->median, q->low, q->high};
    for (int i = 0; i < 3; i++) {
        fprintf(out, "%s", i == 0 ? " " : i == 1 ? " (" : "–");
        if (isinf(values[i]))
            fprintf(out, "never");
        else
            fprintf(out, "%.1f", values[i] / 1000.0);
    }
    fprintf(out, ") |");
}

static void write_row(FILE *out, const struct summary *s, const struct variant *variant,
                      const struct summary *alone, const struct summary *teacher)
{
    fprintf(out, "| %s | %.0f |", variant->label, s->answers);
    write_amount(out, variant->asks ? s->epsilon : NAN);
    write_amount(out, s->paper > 0 ? s->paper : NAN);
    write_steps(out, &s->reached);
    write_amount(out, isinf(s->reached.median) || !teacher
                          ? NAN
                          : teacher->reached.median / s->reached.median);
    write_amount(out, isinf(s->reached.median) ? NAN : alone->reached.median / s->reached.median);
    double gained =
        100.0 * (s->area - alone->area) / (s->one->teacher_return - s->one->random_return);
    fprintf(out, " %+.1f |", gained);
    write_amount(out, variant->asks && isfinite(s->epsilon) && s->epsilon > 0 ? gained / s->epsilon
                                                                              : NAN);
    fprintf(out, " %.0f (%.0f–%.0f) | %zu |\n", s->last.median, s->last.low, s->last.high,
            s->count);
}

static void write_table(FILE *out, const struct results *all, const char *world)
{
    struct summary alone, teacher;
    bool compared = summary_of(all, world, "teacher", &teacher);
    double cpu = 0.0;
    if (!summary_of(all, world, "alone", &alone))
        return;
    const struct result *r = alone.one;
    fprintf(
        out,
        "## %s\n\nTeacher %.1f, random play %.1f, the teacher's level %.1f; %llu transitions.\n\n"
        "| student | answers | ε, certified | ε by (12) | thousand steps to the level | × teacher "
        "| × alone | gain | gain per ε | return in the end | seeds |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n",
        world, r->teacher_return, r->random_return, r->level, (unsigned long long)r->transitions);
    for (unsigned v = 0; v < variant_count; v++) {
        struct summary s;
        if (!summary_of(all, world, variants[v].name, &s))
            continue;
        write_row(out, &s, &variants[v], &alone, compared ? &teacher : NULL);
        cpu += s.cpu_seconds;
    }
    fprintf(out, "\n%.0f s of CPU time together.\n\n", cpu);
}

static bool write_world(FILE *out, const struct results *all, const char *world,
                        const char *directory)
{
    bool good = true;
    write_table(out, all, world);
    for (size_t i = 0; good && i < sizeof pictures / sizeof pictures[0]; i++)
        good = write_curves(out, all, world, &pictures[i], directory);
    return good;
}

bool report_write(const char *path, const char *directory)
{
    struct results all;
    char name[4096];
    if (!results_load(path, &all))
        return false;
    snprintf(name, sizeof name, "%s/kickstart-tables.md", directory);
    FILE *out = fopen(name, "w");
    bool good = out != NULL;
    if (good)
        fprintf(out, "# Tables of the kickstart reproduction\n\nWritten by `make "
                     "reproduce-kickstart` from kickstart.tsv; [kickstart.md](kickstart.md) says "
                     "what the numbers are. Medians over seeds, quartiles in brackets.\n\n");
    for (size_t w = 0; good && w < sizeof worlds / sizeof worlds[0]; w++)
        good = write_world(out, &all, worlds[w], directory);
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s: cannot be written\n", directory);
    results_free(&all);
    return good;
}
