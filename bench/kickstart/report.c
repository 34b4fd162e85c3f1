/* Tables and plots. */
#include "bench/kickstart/report.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench/kickstart/summary.h"
#include "bench/kickstart/variants.h"
#include "bench/plot/plot.h"

#define PANELS 3

static const char *const worlds[] = {"cartpole", "acrobot", "lunar_lander"};

/* One picture: in each panel the un-helped student and what is compared with it. */
static const struct picture {
    const char *name, *title;
    struct {
        const char *title;
        const char *variants[PLOT_LINES];
    } panels[PANELS];
} pictures[] = {
    {"reference", "with and without a teacher", {{"", {"alone", "teacher", "exact"}}}},
    {"vanishing",
     "Dirichlet answers that vanish",
     {{"slowly", {"alone", "exact", "vanish_0.9", "vanish_0.8", "vanish_0.7"}},
      {"faster", {"alone", "vanish_0.6", "vanish_0.5", "vanish_0.4"}},
      {"at once", {"alone", "vanish_0.3", "vanish_0.2", "vanish_0.1"}}}},
    {"budget",
     "16 roll-outs of answers for a budget",
     {{"Dirichlet noise", {"alone", "exact", "dirichlet_1", "dirichlet_4", "dirichlet_16"}},
      {"Gaussian noise", {"alone", "exact", "gaussian_1", "gaussian_4", "gaussian_16"}}}},
    {"unaware",
     "aware of the noise and not",
     {{"Dirichlet noise that vanishes", {"alone", "vanish_0.9", "unaware_vanish_0.9"}},
      {"Dirichlet noise", {"alone", "dirichlet_4", "unaware_dirichlet_4"}},
      {"Gaussian noise", {"alone", "gaussian_4", "unaware_gaussian_4"}}}},
    {"published",
     "k = 5 and a budget of ε = 1",
     {{"silent or random behind the budget",
       {"alone", "five_silent_0.5", "five_silent_0", "five_random_0.5", "five_random_0"}},
      {"random behind the budget: how large λ must be",
       {"alone", "five_random_2", "five_random_1", "five_random_0.1"}}}},
    {"published-vanishing",
     "k = 5 that vanishes, then random answers",
     {{"aware (λ = 0.5)",
       {"alone", "five_vanish_0.8_0.5", "five_vanish_0.6_0.5", "five_vanish_0.4_0.5",
        "five_vanish_0.2_0.5"}},
      {"unaware",
       {"alone", "five_vanish_0.8_0", "five_vanish_0.6_0", "five_vanish_0.4_0",
        "five_vanish_0.2_0"}}}},
    {"experts",
     "a teacher that protects experts",
     {{"1000 shards",
       {"alone", "experts_1000_exact", "experts_1000_gaussian_4", "experts_1000_gaussian_1",
        "experts_1000_dirichlet_4"}},
      {"200 shards",
       {"alone", "experts_200_exact", "experts_200_gaussian_16", "experts_200_gaussian_4",
        "experts_200_gaussian_1"}},
      {"fewer shards, and Dirichlet noise",
       {"alone", "experts_200_dirichlet_16", "experts_50_gaussian_4"}}}},
};

/* ---- the plots */

static size_t write_points(const struct summary *s, struct plot_point *out)
{
    double step = (double)s->one->transitions / RESULT_POINTS / 1000.0;
    for (unsigned p = 0; p < RESULT_POINTS; p++)
        out[p] = (struct plot_point){step * (p + 1), s->curve[p].median, s->curve[p].low,
                                     s->curve[p].high};
    return RESULT_POINTS;
}

/* A panel and what it points to. */
struct panel {
    struct plot plot;
    struct plot_point points[PLOT_LINES][RESULT_POINTS];
    struct plot_line lines[PLOT_LINES];
    struct plot_reference references[2];
};

/* Seeds of the lines of a picture; ALONE of the student that the others are compared with. */
struct seeds {
    size_t least, most, alone;
};

/* The axis of a world's returns. */
static void put_returns(struct panel *p, const struct result *r)
{
    double spread = r->teacher_return - r->random_return;
    p->references[0] = (struct plot_reference){r->level, "the teacher's level"};
    p->references[1] = (struct plot_reference){r->random_return, "random play"};
    p->plot.references = p->references;
    p->plot.reference_count = 2;
    p->plot.y_low = r->random_return - 0.16 * spread;
    p->plot.y_high = r->teacher_return + 0.06 * spread;
    p->plot.x_low = 0.0;
    p->plot.x_high = 1.02 * (double)r->transitions / 1000.0; /* the last mark is inside */
}

/* False: no student has been run but those that stand in several panels to compare with. */
static bool make_panel(const struct results *all, const char *world, const struct picture *picture,
                       int index, struct panel *p, struct seeds *seeds)
{
    const char *const *names = picture->panels[index].variants;
    bool any = false;
    *p = (struct panel){.plot = {.title = picture->panels[index].title,
                                 .x_label = "thousand transitions played",
                                 .y_label = "return",
                                 .lines = p->lines}};
    for (int v = 0; v < PLOT_LINES && names[v]; v++) {
        struct summary s;
        size_t i = p->plot.line_count;
        if (!summary_of(all, world, names[v], &s))
            continue;
        p->lines[i] = (struct plot_line){.label = variant_find(names[v])->label,
                                         .points = p->points[i],
                                         .count = write_points(&s, p->points[i]),
                                         .band = true,
                                         .dashed = v == 0};
        p->plot.line_count++;
        any = any || (strcmp(names[v], "alone") != 0 && strcmp(names[v], "exact") != 0);
        put_returns(p, s.one);
        if (v == 0)
            seeds->alone = s.count;
        if (v > 0 && s.count < seeds->least)
            seeds->least = s.count;
        if (v > 0 && s.count > seeds->most)
            seeds->most = s.count;
    }
    return any;
}

/* False: it could not be written. A world that has not run enough for it has no such picture. */
static bool write_curves(FILE *out, const struct results *all, const char *world,
                         const struct picture *picture, const char *directory)
{
    static struct panel panels[PANELS]; /* large */
    struct plot plots[PANELS];
    struct seeds seeds = {SIZE_MAX, 0, 0};
    size_t count = 0;
    char path[4096], title[256], range[48] = "", alone[48] = "";
    for (int i = 0; i < PANELS && picture->panels[i].title; i++)
        if (make_panel(all, world, picture, i, &panels[count], &seeds)) {
            plots[count] = panels[count].plot;
            count++;
        }
    if (count == 0)
        return true;
    if (seeds.least < seeds.most)
        snprintf(range, sizeof range, "%zu to ", seeds.least);
    if (seeds.alone != seeds.most)
        snprintf(alone, sizeof alone, " (un-helped: %zu)", seeds.alone);
    snprintf(title, sizeof title, "%s: %s\nmedian of %s%zu seeds%s, with quartiles", world,
             picture->title, range, seeds.most, alone);
    snprintf(path, sizeof path, "%s/kickstart-%s-%s.svg", directory, world, picture->name);
    fprintf(out, "![%s: %s](kickstart-%s-%s.svg)\n\n", world, picture->title, world, picture->name);
    return plot_write_panels(path, title, plots, count);
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

/* One cell of the overview: how soon the level is reached, and the return in the end. */
static void write_overview_cell(FILE *out, const struct results *all, const char *world,
                                const char *variant)
{
    struct summary s;
    if (!summary_of(all, world, variant, &s)) {
        fprintf(out, " – |");
        return;
    }
    if (isinf(s.reached.median))
        fprintf(out, " never; ");
    else
        fprintf(out, " %.1f; ", s.reached.median / 1000.0);
    fprintf(out, "%.0f |", s.last.median);
}

/* Some rows of all worlds. */
static void write_overview(FILE *out, const struct results *all)
{
    static const char *const shown[] = {"teacher",
                                        "alone",
                                        "exact",
                                        "vanish_0.9",
                                        "dirichlet_1",
                                        "gaussian_1",
                                        "dirichlet_4",
                                        "gaussian_4",
                                        "five_silent_0",
                                        "five_random_0",
                                        "five_random_0.5",
                                        "five_random_2",
                                        "experts_200_gaussian_4",
                                        "experts_1000_gaussian_1",
                                        "experts_1000_gaussian_4"};
    fprintf(out, "## All worlds\n\nThousand transitions until the teacher's level, and the return "
                 "in the end; medians over seeds.\n\n| student |");
    for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++)
        fprintf(out, " %s |", worlds[w]);
    fprintf(out, "\n|---|---|---|---|\n");
    for (size_t v = 0; v < sizeof shown / sizeof shown[0]; v++) {
        fprintf(out, "| %s |", variant_find(shown[v])->label);
        for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++)
            write_overview_cell(out, all, worlds[w], shown[v]);
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
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
    if (good)
        write_overview(out, &all);
    for (size_t w = 0; good && w < sizeof worlds / sizeof worlds[0]; w++)
        good = write_world(out, &all, worlds[w], directory);
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s: cannot be written\n", directory);
    results_free(&all);
    return good;
}
