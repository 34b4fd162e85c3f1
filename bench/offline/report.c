/* Means over seeds, beside the published figures. */
#include "bench/offline/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/offline/results.h"
#include "bench/plot/plot.h"
#include "bench/plot/sample.h"

#define METHODS  5
#define EPSILONS 4
#define SIZES    8  /* numbers of experts */
#define SEEDS    64 /* of a cell, at most */

static const char *const methods[METHODS] = {"none", "dpsgd", "selective", "selective_paper",
                                             "consensus"};
static const char *const labels[METHODS] = {"not private", "DP-SGD", "selective DP-SGD",
                                            "selective, published thresholds", "consensus labels"};
static const double epsilons[EPSILONS] = {2.5, 5, 7.5, 10};

/* Sharma et al. 2025: best private figure and plain DP-SGD, as fractions of the non-private run,
 * under their own accounting; 0: not stated as a number. */
static const struct {
    const char *world, *algorithm;
    double epsilon, best, dpsgd;
} published[] = {
    {"cartpole", "cql", 10, 1.03, .92},    {"cartpole", "bcq", 10, .99, .67},
    {"cartpole", "bcq", 5, 0, .60},        {"cartpole", "bcq", 2.5, 0, .58},
    {"acrobot", "bcq", 2.5, 0, .95},       {"lunar_lander", "cql", 10, .75, .67},
    {"lunar_lander", "bcq", 10, .57, .54},
};

/* Where the best policy stands: the longest episode in CartPole, elsewhere the best of the 3,000
 * experts of seed 1, by its mean return in the usual world (20 episodes, arg-max actions). */
static const struct {
    const char *world;
    double mean_return;
} best_known[] = {{"cartpole", 1000}, {"acrobot", -74.3}, {"lunar_lander", 277}, {"hiv", 1.694e9}};

static double best_known_return(const char *world)
{
    for (size_t i = 0; i < sizeof best_known / sizeof best_known[0]; i++)
        if (strcmp(best_known[i].world, world) == 0)
            return best_known[i].mean_return;
    return NAN;
}

struct estimate {
    unsigned count; /* seeds */
    unsigned infeasible;
    double mean, deviation, median; /* of returns over seeds */
    double random, certified, cpu_seconds;
};

static struct estimate estimate_with(const struct results *all, uint32_t experts, const char *world,
                                     const char *algorithm, const char *method, double epsilon,
                                     const char *options)
{
    struct estimate e = {0};
    double returns[SEEDS];
    for (size_t i = 0; i < all->count && e.count < SEEDS; i++) {
        const struct result *r = &all->all[i];
        if (strcmp(r->world, world) != 0 || strcmp(r->algorithm, algorithm) != 0 ||
            strcmp(r->method, method) != 0 || r->epsilon != epsilon || r->experts != experts ||
            strcmp(r->options, options) != 0)
            continue;
        if (!r->feasible) {
            e.infeasible++;
            continue;
        }
        returns[e.count++] = r->mean_return;
        e.random = r->random_return;
        e.certified = fmax(e.certified, r->certified_epsilon);
        e.cpu_seconds += r->cpu_seconds;
    }
    if (e.count == 0)
        return e;
    struct sample_mean all_seeds = sample_mean_of(returns, e.count);
    e.mean = all_seeds.mean;
    e.deviation = all_seeds.deviation;
    e.median = sample_quartiles_of(returns, e.count).median;
    return e;
}

static struct estimate estimate_of(const struct results *all, uint32_t experts, const char *world,
                                   const char *algorithm, const char *method, double epsilon)
{
    return estimate_with(all, experts, world, algorithm, method, epsilon, "-");
}

/* The quotient of two means and half its interval, by the delta method; NaN with one seed. Both are
 * NaN where the run without privacy is no better than random play. */
static double fraction_of(const struct estimate *e, const struct estimate *plain, double *half)
{
    double top = e->mean - e->random, bottom = plain->mean - plain->random;
    double quotient = bottom > 0.0 ? top / bottom : NAN;
    unsigned fewer = e->count < plain->count ? e->count : plain->count;
    double a = e->deviation * e->deviation / e->count;
    double b = plain->deviation * plain->deviation / plain->count * quotient * quotient;
    *half = fewer > 1 ? sample_student(fewer - 1) * sqrt(a + b) / fabs(bottom) : NAN;
    return quotient;
}

/* ---- the table */

static void write_fraction(FILE *out, double quotient, double half)
{
    if (isnan(half))
        fprintf(out, " %.2f, 1 seed", quotient);
    else
        fprintf(out, " %.2f ± %.2f", quotient, half);
}

static void write_cell(FILE *out, const struct estimate *e, const struct estimate *plain)
{
    double half = NAN, quotient;
    if (e->count == 0) {
        fprintf(out, " %s |", e->infeasible > 0 ? "cannot be paid" : "not run");
        return;
    }
    quotient = plain->count > 0 ? fraction_of(e, plain, &half) : NAN;
    if (isnan(quotient)) {
        fprintf(out, " (%.4g) |", e->mean);
        return;
    }
    write_fraction(out, quotient, half);
    fprintf(out, " (%.4g) |", e->mean);
}

static void write_published(FILE *out, const char *world, const char *algorithm)
{
    fprintf(out, "| *published, DP-SGD / best* |");
    for (int e = 0; e < EPSILONS; e++) {
        bool found = false;
        for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
            if (strcmp(published[i].world, world) != 0 ||
                strcmp(published[i].algorithm, algorithm) != 0 ||
                published[i].epsilon != epsilons[e])
                continue;
            found = true;
            fprintf(out, " %.2f / ", published[i].dpsgd);
            if (published[i].best > 0)
                fprintf(out, "%.2f |", published[i].best);
            else
                fprintf(out, "– |");
        }
        if (!found)
            fprintf(out, " – |");
    }
    fprintf(out, "\n");
}

static void write_median(FILE *out, const struct estimate *e, double best)
{
    if (e->count == 0)
        fprintf(out, " – |");
    else
        fprintf(out, " %.4g, %.2f |", e->median, (e->median - e->random) / (best - e->random));
}

/* The same runs: the median seed, and where it stands between random play and the best policy, so
 * that a weak run without privacy cannot flatter. */
static void write_medians(FILE *out, const struct results *all, uint32_t experts, const char *world,
                          const char *algorithm)
{
    double best = best_known_return(world);
    struct estimate plain = estimate_of(all, experts, world, algorithm, "none", 0);
    fprintf(out, "\nThe median of the seeds, and its fraction of the best known return %.4g:\n\n",
            best);
    fprintf(out, "| | ε = 2.5 | 5 | 7.5 | 10 |\n|---|---|---|---|---|\n| %s |", labels[0]);
    for (int e = 0; e < EPSILONS; e++)
        write_median(out, &plain, best);
    fprintf(out, "\n");
    for (int m = 1; m < METHODS; m++) {
        unsigned known = 0;
        struct estimate cells[EPSILONS];
        for (int e = 0; e < EPSILONS; e++) {
            cells[e] = estimate_of(all, experts, world, algorithm, methods[m], epsilons[e]);
            known += cells[e].count;
        }
        if (known == 0)
            continue;
        fprintf(out, "| %s |", labels[m]);
        for (int e = 0; e < EPSILONS; e++)
            write_median(out, &cells[e], best);
        fprintf(out, "\n");
    }
}

static void write_table(FILE *out, const struct results *all, uint32_t experts, const char *world,
                        const char *algorithm)
{
    struct estimate plain = estimate_of(all, experts, world, algorithm, "none", 0);
    double cpu = plain.cpu_seconds;
    fprintf(out, "## %s, %s, %" PRIu32 " experts\n\n", world, algorithm, experts);
    fprintf(out, "Random play %.4g; not private %.4g, %u seed%s.\n\n", plain.random, plain.mean,
            plain.count, plain.count == 1 ? "" : "s");
    fprintf(out, "| | ε = 2.5 | 5 | 7.5 | 10 |\n|---|---|---|---|---|\n");
    for (int m = 1; m < METHODS; m++) {
        struct estimate cells[EPSILONS];
        unsigned known = 0;
        for (int e = 0; e < EPSILONS; e++) {
            cells[e] = estimate_of(all, experts, world, algorithm, methods[m], epsilons[e]);
            known += cells[e].count + cells[e].infeasible;
            cpu += cells[e].cpu_seconds;
        }
        if (known == 0)
            continue;
        fprintf(out, "| %s |", labels[m]);
        for (int e = 0; e < EPSILONS; e++)
            write_cell(out, &cells[e], &plain);
        fprintf(out, "\n");
    }
    write_published(out, world, algorithm);
    write_medians(out, all, experts, world, algorithm);
    fprintf(out, "\n%.0f s of CPU time together.\n\n![%s, %s](offline-%s-%s-%" PRIu32 ".svg)\n\n",
            cpu, world, algorithm, world, algorithm, experts);
}

/* ---- the plot: fraction over epsilon, a line for each method */

static struct plot_point point_of(const struct results *all, uint32_t experts, const char *world,
                                  const char *algorithm, int method, double epsilon)
{
    struct estimate plain = estimate_of(all, experts, world, algorithm, "none", 0);
    struct estimate e = estimate_of(all, experts, world, algorithm, methods[method], epsilon);
    struct plot_point point = {epsilon + 0.06 * (method - 2), NAN, NAN, NAN};
    double half;
    if (e.count == 0)
        return point;
    point.y = fraction_of(&e, &plain, &half);
    point.low = point.y - half;
    point.high = point.y + half;
    return point;
}

static struct plot_point published_point(const char *world, const char *algorithm, bool best,
                                         double epsilon)
{
    struct plot_point point = {epsilon, NAN, NAN, NAN};
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        double value = best ? published[i].best : published[i].dpsgd;
        if (strcmp(published[i].world, world) == 0 &&
            strcmp(published[i].algorithm, algorithm) == 0 && published[i].epsilon == epsilon &&
            value > 0)
            point.y = value;
    }
    return point;
}

static bool write_plot(const struct results *all, uint32_t experts, const char *world,
                       const char *algorithm, const char *directory)
{
    char path[4096], title[128];
    struct plot_point points[METHODS + 1][EPSILONS];
    struct plot_line lines[METHODS + 1];
    size_t count = 0;
    for (int line = 1; line < METHODS + 2; line++) {
        bool best = line == METHODS, theirs = line >= METHODS, any = false;
        struct plot_point *to = points[count];
        for (int e = 0; e < EPSILONS; e++) {
            to[e] = theirs ? published_point(world, algorithm, best, epsilons[e])
                           : point_of(all, experts, world, algorithm, line, epsilons[e]);
            any = any || !isnan(to[e].y);
        }
        const char *label = !theirs ? labels[line] : best ? "published, best" : "published, DP-SGD";
        lines[count] =
            (struct plot_line){.label = label, .points = to, .count = EPSILONS, .dashed = theirs};
        count += any;
    }
    snprintf(path, sizeof path, "%s/offline-%s-%s-%" PRIu32 ".svg", directory, world, algorithm,
             experts);
    snprintf(title, sizeof title, "%s, %s, %" PRIu32 " experts", world, algorithm, experts);
    const struct plot plot = {.title = title,
                              .x_label = "ε",
                              .y_label = "return, fraction of the non-private",
                              .lines = lines,
                              .line_count = count};
    if (count == 0 || plot_write(path, &plot))
        return true;
    fprintf(stderr, "%s: cannot be written\n", path);
    return false;
}

/* Numbers of experts that WORLD has a non-private run of, growing; gives how many. */
static unsigned sizes_of(const struct results *all, const char *world, const char *algorithm,
                         uint32_t sizes[SIZES])
{
    unsigned count = 0;
    uint32_t last = 0;
    while (count < SIZES) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < all->count; i++) {
            const struct result *r = &all->all[i];
            if (strcmp(r->world, world) == 0 && strcmp(r->algorithm, algorithm) == 0 &&
                strcmp(r->method, "none") == 0 && strcmp(r->options, "-") == 0 &&
                r->experts > last && r->experts < next)
                next = r->experts;
        }
        if (next == UINT32_MAX)
            break;
        sizes[count++] = last = next;
    }
    return count;
}

static bool write_all(FILE *out, const struct results *all, const char *world,
                      const char *algorithm, const char *directory)
{
    uint32_t sizes[SIZES];
    bool good = true;
    unsigned count = sizes_of(all, world, algorithm, sizes);
    for (unsigned i = 0; good && i < count; i++) {
        write_table(out, all, sizes[i], world, algorithm);
        good = write_plot(all, sizes[i], world, algorithm, directory);
    }
    return good;
}

/* ---- ours beside theirs */

static void write_duel(FILE *out, const struct results *all, size_t row)
{
    const char *world = published[row].world, *algorithm = published[row].algorithm;
    double theirs = fmax(published[row].best, published[row].dpsgd), half = NAN, best = NAN;
    double best_half = NAN, returned = NAN;
    uint32_t sizes[SIZES];
    int method = -1;
    unsigned count = sizes_of(all, world, algorithm, sizes);
    if (count == 0)
        return;
    uint32_t experts = sizes[count - 1];
    struct estimate plain = estimate_of(all, experts, world, algorithm, "none", 0);
    for (int m = 1; m < METHODS; m++) {
        struct estimate e =
            estimate_of(all, experts, world, algorithm, methods[m], published[row].epsilon);
        double quotient = e.count > 0 ? fraction_of(&e, &plain, &half) : NAN;
        if (isnan(quotient) || (method >= 0 && quotient <= best))
            continue;
        best = quotient;
        best_half = half;
        returned = e.mean;
        method = m;
    }
    if (method < 0)
        return;
    fprintf(out, "| %s, %s | %g | %.2f |", world, algorithm, published[row].epsilon, theirs);
    write_fraction(out, best, best_half);
    struct estimate chosen =
        estimate_with(all, experts, world, algorithm, "none", 0, "candidates=100");
    if (chosen.count > 0)
        fprintf(out, " | %.2f", (returned - plain.random) / (chosen.mean - plain.random));
    else
        fprintf(out, " | –");
    fprintf(out, " | %.4g | %s | %" PRIu32 " |\n", returned, labels[method], experts);
}

static void write_duels(FILE *out, const struct results *all)
{
    fprintf(out, "## Where a figure was published\n\nTheir best under their accounting, ours "
                 "under the certified one; fractions of the non-private run, then of one whose "
                 "result is chosen by play as ours is, and the mean return.\n\n"
                 "| | ε | published | ours | of a chosen one | return | by | experts |\n"
                 "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        write_duel(out, all, i);
    fprintf(out, "\n");
}

bool report_write(const char *path, const char *directory)
{
    static const char *const worlds[] = {"cartpole", "acrobot", "lunar_lander", "hiv"};
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    struct results all;
    unsigned line;
    char name[4096];
    snprintf(name, sizeof name, "%s/offline-tables.md", directory);
    if (!results_load(path, &all, &line)) {
        fprintf(stderr, "%s: unreadable, or line %u is no result\n", path, line);
        return false;
    }
    FILE *out = fopen(name, "w");
    bool good = out != NULL;
    if (good)
        fprintf(out, "# Tables of the offline reproduction\n\nWritten by `make reproduce-offline` "
                     "from offline.tsv; [offline.md](offline.md) says what the numbers are.\n\n");
    if (good)
        write_duels(out, &all);
    for (int w = 0; good && w < 4; w++)
        for (int a = 0; good && a < 3; a++)
            good = write_all(out, &all, worlds[w], algorithms[a], directory);
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s: cannot be written\n", name);
    results_free(&all);
    return good;
}
