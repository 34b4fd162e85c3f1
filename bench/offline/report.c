/* Means over seeds, beside the published figures. */
#include "bench/offline/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/offline/estimate.h"
#include "bench/offline/report_plots.h"
#include "bench/offline/results.h"
#include "bench/offline/shown.h"
#include "bench/offline/sweeps.h"

#define METHODS  SHOWN_METHODS
#define EPSILONS SHOWN_EPSILONS
#define SIZES    8 /* numbers of experts */

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

/* ---- the table */

static void write_cell(FILE *out, const struct estimate *e, const struct estimate *plain)
{
    double half = NAN, quotient;
    if (e->count == 0) {
        fprintf(out, " %s |", e->infeasible > 0 ? "cannot be paid" : "not run");
        return;
    }
    quotient = plain->count > 0 ? estimate_fraction(e, plain, &half) : NAN;
    if (isnan(quotient)) {
        fprintf(out, " (%.4g) |", e->mean);
        return;
    }
    fputc(' ', out);
    estimate_print(out, quotient, half);
    fprintf(out, " (%.4g) |", e->mean);
}

static void write_published(FILE *out, const char *world, const char *algorithm)
{
    fprintf(out, "| *published, DP-SGD / best* |");
    for (int e = 0; e < EPSILONS; e++) {
        const struct shown_published *found = shown_find(world, algorithm, shown_epsilons[e]);
        if (!found)
            fprintf(out, " – |");
        else if (found->best > 0)
            fprintf(out, " %.2f / %.2f |", found->dpsgd, found->best);
        else
            fprintf(out, " %.2f / – |", found->dpsgd);
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
    struct estimate plain = estimate_usual(all, experts, world, algorithm, "none", 0);
    fprintf(out, "\nThe median of the seeds, and its fraction of the best known return %.4g:\n\n",
            best);
    fprintf(out, "| | ε = 2.5 | 5 | 7.5 | 10 |\n|---|---|---|---|---|\n| %s |", shown_labels[0]);
    for (int e = 0; e < EPSILONS; e++)
        write_median(out, &plain, best);
    fprintf(out, "\n");
    for (int m = 1; m < METHODS; m++) {
        unsigned known = 0;
        struct estimate cells[EPSILONS];
        for (int e = 0; e < EPSILONS; e++) {
            cells[e] =
                estimate_usual(all, experts, world, algorithm, shown_methods[m], shown_epsilons[e]);
            known += cells[e].count;
        }
        if (known == 0)
            continue;
        fprintf(out, "| %s |", shown_labels[m]);
        for (int e = 0; e < EPSILONS; e++)
            write_median(out, &cells[e], best);
        fprintf(out, "\n");
    }
}

static void write_table(FILE *out, const struct results *all, uint32_t experts, const char *world,
                        const char *algorithm)
{
    struct estimate plain = estimate_usual(all, experts, world, algorithm, "none", 0);
    double cpu = plain.cpu_seconds;
    fprintf(out, "## %s, %s, %" PRIu32 " experts\n\n", world, algorithm, experts);
    fprintf(out, "Random play %.4g; not private %.4g, %u seed%s.\n\n", plain.random, plain.mean,
            plain.count, plain.count == 1 ? "" : "s");
    fprintf(out, "| | ε = 2.5 | 5 | 7.5 | 10 |\n|---|---|---|---|---|\n");
    for (int m = 1; m < METHODS; m++) {
        struct estimate cells[EPSILONS];
        unsigned known = 0;
        for (int e = 0; e < EPSILONS; e++) {
            cells[e] =
                estimate_usual(all, experts, world, algorithm, shown_methods[m], shown_epsilons[e]);
            known += cells[e].count + cells[e].infeasible;
            cpu += cells[e].cpu_seconds;
        }
        if (known == 0)
            continue;
        fprintf(out, "| %s |", shown_labels[m]);
        for (int e = 0; e < EPSILONS; e++)
            write_cell(out, &cells[e], &plain);
        fprintf(out, "\n");
    }
    write_published(out, world, algorithm);
    write_medians(out, all, experts, world, algorithm);
    fprintf(out, "\n%.0f s of CPU time together.\n\n", cpu);
}

/* ---- the worlds */

/* Numbers of experts that WORLD has a non-private run of ALGORITHM of (NULL: of any), growing;
 * gives how many. */
static unsigned sizes_of(const struct results *all, const char *world, const char *algorithm,
                         uint32_t sizes[SIZES])
{
    unsigned count = 0;
    uint32_t last = 0;
    while (count < SIZES) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < all->count; i++) {
            const struct result *r = &all->all[i];
            if (strcmp(r->world, world) == 0 &&
                (!algorithm || strcmp(r->algorithm, algorithm) == 0) &&
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

static bool write_world(FILE *out, const struct results *all, const char *world,
                        const char *directory)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    uint32_t sizes[SIZES];
    bool good = true;
    for (int a = 0; a < 3; a++) {
        unsigned count = sizes_of(all, world, algorithms[a], sizes);
        for (unsigned i = 0; i < count; i++)
            write_table(out, all, sizes[i], world, algorithms[a]);
    }
    unsigned count = sizes_of(all, world, NULL, sizes);
    for (unsigned i = 0; good && i < count; i++)
        good = report_plots_world(out, all, sizes[i], world, directory);
    return good;
}

/* ---- ours beside theirs */

/* The greatest number of experts with which WORLD had all methods, the dearest of which is
 * consensus; 0: there is none. */
static uint32_t duel_experts(const struct results *all, const char *world, const char *algorithm,
                             double epsilon)
{
    uint32_t sizes[SIZES];
    unsigned count = sizes_of(all, world, algorithm, sizes);
    while (count > 0 &&
           estimate_usual(all, sizes[count - 1], world, algorithm, "consensus", epsilon).count == 0)
        count--;
    return count > 0 ? sizes[count - 1] : 0;
}

static void write_duel(FILE *out, const struct results *all, size_t row)
{
    const char *world = shown_published[row].world, *algorithm = shown_published[row].algorithm;
    double theirs = fmax(shown_published[row].best, shown_published[row].dpsgd), half = NAN,
           best = NAN;
    double best_half = NAN, returned = NAN;
    int method = -1;
    uint32_t experts = duel_experts(all, world, algorithm, shown_published[row].epsilon);
    if (experts == 0)
        return;
    struct estimate plain = estimate_usual(all, experts, world, algorithm, "none", 0);
    for (int m = 1; m < METHODS; m++) {
        struct estimate e = estimate_usual(all, experts, world, algorithm, shown_methods[m],
                                           shown_published[row].epsilon);
        double quotient = e.count > 0 ? estimate_fraction(&e, &plain, &half) : NAN;
        if (isnan(quotient) || (method >= 0 && quotient <= best))
            continue;
        best = quotient;
        best_half = half;
        returned = e.mean;
        method = m;
    }
    if (method < 0)
        return;
    fprintf(out, "| %s, %s | %g | %.2f |", world, algorithm, shown_published[row].epsilon, theirs);
    fputc(' ', out);
    estimate_print(out, best, best_half);
    struct estimate chosen =
        estimate_of(all, experts, world, algorithm, "none", 0, "candidates=100");
    if (chosen.count > 0)
        fprintf(out, " | %.2f", (returned - plain.random) / (chosen.mean - plain.random));
    else
        fprintf(out, " | –");
    fprintf(out, " | %.4g | %s | %" PRIu32 " |\n", returned, shown_labels[method], experts);
}

static void write_duels(FILE *out, const struct results *all)
{
    fprintf(out,
            "## Where a figure was published\n\nTheir best under their accounting, ours "
            "under the certified one; fractions of the non-private run, then of one whose "
            "result is chosen by play as ours is, and the mean return. The experts are the most "
            "with which consensus labels were run.\n\n"
            "| | ε | published | ours | of a chosen one | return | by | experts |\n"
            "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < SHOWN_PUBLISHED; i++)
        write_duel(out, all, i);
    fprintf(out, "\n");
}

/* ---- all worlds on 3,000 experts */

#define MOST_EXPERTS 3000

/* The lowest and the highest return of the seeds of a cell. */
static void write_range(FILE *out, const struct results *all, const char *world,
                        const char *algorithm, const char *method, double epsilon)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < all->count; i++) {
        const struct result *r = &all->all[i];
        if (strcmp(r->world, world) != 0 || strcmp(r->algorithm, algorithm) != 0 ||
            strcmp(r->method, method) != 0 || r->epsilon != epsilon || r->experts != MOST_EXPERTS ||
            strcmp(r->options, "-") != 0 || !r->feasible)
            continue;
        low = fmin(low, r->mean_return);
        high = fmax(high, r->mean_return);
    }
    fprintf(out, "(%.3g to %.3g)", low, high);
}

static void write_overview_row(FILE *out, const struct results *all, const char *world,
                               const char *algorithm, int method)
{
    const char *name = shown_methods[method];
    struct estimate plain = estimate_usual(all, MOST_EXPERTS, world, algorithm, "none", 0);
    struct estimate cells[EPSILONS];
    unsigned known = 0;
    for (int e = 0; e < EPSILONS; e++) {
        cells[e] = estimate_usual(all, MOST_EXPERTS, world, algorithm, name, shown_epsilons[e]);
        known += cells[e].count + cells[e].infeasible;
    }
    if (known == 0 || plain.count == 0)
        return;
    fprintf(out, "| %s, %s, %s | %.3g |", world, algorithm, shown_labels[method], plain.mean);
    for (int e = 0; e < EPSILONS; e++) {
        double half;
        if (cells[e].count == 0) {
            fprintf(out, " %s |", cells[e].infeasible > 0 ? "cannot be paid" : "not run");
            continue;
        }
        fprintf(out, " %.2f ", estimate_fraction(&cells[e], &plain, &half));
        write_range(out, all, world, algorithm, name, shown_epsilons[e]);
        fprintf(out, " |");
    }
    fprintf(out, "\n");
}

/* What needs no simulator: DP-SGD and selective DP-SGD. */
static void write_overview(FILE *out, const struct results *all)
{
    static const char *const worlds[] = {"cartpole", "acrobot", "hiv", "lunar_lander"};
    static const char *const algorithms[] = {"cql", "bcq"};
    fprintf(out, "## All worlds, 3,000 experts, without a simulator\n\nThe mean fraction of the "
                 "non-private run, and the lowest and highest return of the seeds. LunarLander has "
                 "10 trajectories of each expert, and 5,000 noisy steps.\n\n"
                 "| | not private | ε = 2.5 | 5 | 7.5 | 10 |\n|---|---|---|---|---|---|\n");
    for (int w = 0; w < 4; w++)
        for (int a = 0; a < 2; a++)
            for (int m = 1; m <= 2; m++)
                write_overview_row(out, all, worlds[w], algorithms[a], m);
    fprintf(out, "\n");
}

bool report_write(const char *path, const char *directory)
{
    static const char *const worlds[] = {"cartpole", "acrobot", "lunar_lander", "hiv"};
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
    if (good) {
        write_overview(out, &all);
        write_duels(out, &all);
    }
    for (int w = 0; good && w < 4; w++)
        good = write_world(out, &all, worlds[w], directory);
    good = good && sweeps_write(out, &all, directory);
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s: cannot be written\n", name);
    results_free(&all);
    return good;
}
