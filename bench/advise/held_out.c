/* How well the table predicts: runs of experts that the table does not know are forecast twice,
 * from the whole table and from the other worlds alone, and held against what was measured. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "bench/advise/table.h"

#define WORLDS_MAX 16

struct forecast {
    struct advice_run run;
    uint64_t seed;
    struct advice_outlook home, look; /* from the whole table; from the other worlds */
};

/* ---- rank correlation */

static int compare_numbers(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Ranks of VALUES[count], those of equals in the middle. */
static void rank_values(const double *values, size_t count, double *out)
{
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        abort();
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, same = 0;
        for (size_t k = 0; k < count; k++) {
            below += sorted[k] < values[i];
            same += sorted[k] == values[i];
        }
        out[i] = (double)below + 0.5 * (double)(same - 1);
    }
    free(sorted);
}

static double correlation_of(const double *a, const double *b, size_t count)
{
    double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < count; i++) {
        ma += a[i] / (double)count;
        mb += b[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return ab / sqrt(aa * bb);
}

/* Spearman's coefficient of forecast and outcome. */
static double rank_correlation(const struct forecast *all, size_t count)
{
    double *numbers = calloc(4 * (count + 1), sizeof *numbers);
    if (!numbers)
        abort();
    double *expected = numbers, *quality = numbers + count;
    for (size_t i = 0; i < count; i++) {
        expected[i] = all[i].look.expected;
        quality[i] = all[i].run.quality;
    }
    rank_values(expected, count, numbers + 2 * count);
    rank_values(quality, count, numbers + 3 * count);
    double rho = correlation_of(numbers + 2 * count, numbers + 3 * count, count);
    free(numbers);
    return rho;
}

/* ---- what an advised user would have got */

static bool same_cell(const struct advice_run *a, const struct advice_run *b)
{
    return strcmp(a->world, b->world) == 0 && a->experts == b->experts && a->epsilon == b->epsilon;
}

static bool same_candidate(const struct advice_run *a, const struct advice_run *b)
{
    return same_cell(a, b) && a->method == b->method && strcmp(a->algorithm, b->algorithm) == 0 &&
           a->signal == b->signal;
}

/* Mean outcome of the candidate that forecast I is of, in its cell. */
static double candidate_mean(const struct forecast *all, size_t count, size_t i)
{
    double sum = 0, runs = 0;
    for (size_t k = 0; k < count; k++) {
        if (same_candidate(&all[k].run, &all[i].run)) {
            sum += all[k].run.quality;
            runs++;
        }
    }
    return sum / runs;
}

/* What the candidates of a cell earned: the one that is ranked first when its world is in the
 * table, and when it is not; the best in hindsight; and all together. */
struct cell {
    double home, away, best, mean;
    unsigned candidates;
};

/* As algos/advice/rank.c has it. */
static bool ranks_before(const struct advice_outlook *a, const struct advice_outlook *b)
{
    bool hopeless = a->verdict == ADVICE_HOPELESS;
    if (hopeless != (b->verdict == ADVICE_HOPELESS))
        return !hopeless;
    return a->expected > b->expected;
}

/* Whether runs of METHOD count: METHODS has a bit for each. */
static bool method_counts(unsigned methods, enum advice_method method)
{
    return methods >> method & 1U;
}

/* The cell of forecast I. */
static struct cell sum_cell(const struct forecast *all, size_t count, size_t i, unsigned methods)
{
    const struct forecast *home = NULL, *away = NULL;
    struct cell cell = {.best = -INFINITY, .home = NAN, .away = NAN, .mean = 0};
    for (size_t k = 0; k < count; k++) {
        const struct forecast *one = &all[k];
        if (!same_cell(&one->run, &all[i].run) || !method_counts(methods, one->run.method))
            continue;
        double mean = candidate_mean(all, count, k);
        cell.best = fmax(cell.best, mean);
        cell.mean += mean;
        cell.candidates++;
        if (!home || ranks_before(&one->home, &home->home)) {
            home = one;
            cell.home = mean;
        }
        if (!away || ranks_before(&one->look, &away->look)) {
            away = one;
            cell.away = mean;
        }
    }
    cell.mean /= cell.candidates;
    return cell;
}

/* As good as the best, for whoever has to choose. */
static bool is_near(double earned, double best)
{
    return earned >= best - 0.05;
}

static bool first_of_cell(const struct forecast *all, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_cell(&all[k].run, &all[i].run))
            return false;
    return true;
}

/* ---- the page */

#define ALL_METHODS ((1U << ADVICE_METHODS) - 1)
#define NEED_WORLD  (1U << ADVICE_CONSENSUS | 1U << ADVICE_SELECTIVE)
#define NO_POLICY   (1U << ADVICE_SHARDS | 1U << ADVICE_RELEASE)

/* Forecasts of all runs that can be forecast either way; gives how many. */
static size_t forecast_runs(const struct outcomes *judged, struct forecast *out)
{
    size_t count = 0;
    for (size_t i = 0; i < judged->count; i++) {
        const struct outcome *r = &judged->all[i];
        int method = advice_method_find(r->method);
        double quality = outcomes_quality(judged, r);
        if (method < 0 || !isfinite(quality) || (NO_POLICY >> method & 1U))
            continue;
        struct forecast *one = &out[count];
        one->run = (struct advice_run){.world = r->world,
                                       .algorithm = r->algorithm,
                                       .method = (enum advice_method)method,
                                       .experts = r->experts,
                                       .epsilon = r->epsilon,
                                       .signal = r->signal,
                                       .quality = quality};
        one->seed = r->seed;
        advice_look(one->run.method, r->algorithm, r->world, NULL, r->signal, &one->home);
        advice_look(one->run.method, r->algorithm, "", r->world, r->signal, &one->look);
        count += !isnan(one->look.expected) && !isnan(one->home.expected);
    }
    return count;
}

/* The row LABEL: cells of METHODS in WORLD (NULL: any) with so many EXPERTS (0: any). */
static void write_row(FILE *file, const char *label, const char *world, uint32_t experts,
                      unsigned methods, const struct forecast *all, size_t count)
{
    struct cell sum = {.candidates = 0};
    unsigned cells = 0, near = 0, below = 0;
    for (size_t i = 0; i < count; i++) {
        if ((world && strcmp(all[i].run.world, world) != 0) ||
            (experts > 0 && all[i].run.experts != experts) || !first_of_cell(all, i))
            continue;
        const struct cell cell = sum_cell(all, count, i, methods);
        if (cell.candidates == 0)
            continue;
        sum.home += cell.home;
        sum.away += cell.away;
        sum.best += cell.best;
        sum.mean += cell.mean;
        near += is_near(cell.home, cell.best);
        below += cell.home < 0;
        cells++;
    }
    double n = cells;
    if (cells > 0)
        fprintf(file, "| %s | %u | %.2f | %.2f | %.2f | %.2f | %u | %u |\n", label, cells,
                sum.home / n, sum.away / n, sum.best / n, sum.mean / n, near, below);
}

static void write_choices(FILE *file, const char *const *worlds, unsigned world_count,
                          unsigned methods, const struct forecast *all, size_t count)
{
    static const uint32_t sizes[] = {30, 60, 120, 300, 1000};
    fputs("\n| world | cells | ranked first, world known | ranked first, world new | best in "
          "hindsight | candidate at random | within 0.05 of the best | below random play |\n"
          "|---|---|---|---|---|---|---|---|\n",
          file);
    for (unsigned w = 0; w < world_count; w++)
        write_row(file, worlds[w], worlds[w], 0, methods, all, count);
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        char label[24];
        snprintf(label, sizeof label, "%" PRIu32 " experts", sizes[n]);
        write_row(file, label, NULL, sizes[n], methods, all, count);
    }
    write_row(file, "all", NULL, 0, methods, all, count);
}

/* ---- each seed for itself */

enum chooser { CHOOSE_KNOWN, CHOOSE_NEW, CHOOSE_TRIED, CHOOSE_BEST, CHOOSERS };

/* What CHOOSER has to go by of run I: its forecast, what other seeds of its candidate earned (NAN
 * where there are none), or what it earned itself. */
static double promise_of(const struct forecast *all, size_t count, size_t i, enum chooser chooser)
{
    const struct advice_outlook *look = chooser == CHOOSE_NEW ? &all[i].look : &all[i].home;
    double sum = 0, runs = 0;
    if (chooser == CHOOSE_BEST)
        return all[i].run.quality;
    if (chooser != CHOOSE_TRIED) /* hopeless ones last */
        return look->expected - (look->verdict == ADVICE_HOPELESS ? 10 : 0);
    for (size_t k = 0; k < count; k++) {
        if (same_candidate(&all[k].run, &all[i].run) && all[k].seed != all[i].seed) {
            sum += all[k].run.quality;
            runs++;
        }
    }
    return sum / runs;
}

/* What the run of I's cell and seed earned that CHOOSER takes; NAN: there is nothing to go by. */
static double chosen_of(const struct forecast *all, size_t count, size_t i, unsigned methods,
                        enum chooser chooser)
{
    double most = -INFINITY, earned = NAN;
    for (size_t k = 0; k < count; k++) {
        if (all[k].seed != all[i].seed || !same_cell(&all[k].run, &all[i].run) ||
            !method_counts(methods, all[k].run.method))
            continue;
        double promise = promise_of(all, count, k, chooser);
        if (promise > most) {
            most = promise;
            earned = all[k].run.quality;
        }
    }
    return earned;
}

static bool first_of_seed(const struct forecast *all, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (all[k].seed == all[i].seed && same_cell(&all[k].run, &all[i].run))
            return false;
    return true;
}

/* A choice beside the best run of the same seed: how much of the distance is luck shows in what
 * one try of every candidate is worth. Only cells that have other seeds to try. */
static void write_choosers(FILE *file, unsigned methods, const struct forecast *all, size_t count)
{
    static const char *const names[CHOOSERS] = {[CHOOSE_KNOWN] = "the forecast, world known",
                                                [CHOOSE_NEW] = "the forecast, world new",
                                                [CHOOSE_TRIED] =
                                                    "the other seed's run of every candidate",
                                                [CHOOSE_BEST] = "hindsight"};
    fputs("\n| chosen by | runs | quality | within 0.05 of the seed's best | below random play |\n"
          "|---|---|---|---|---|\n",
          file);
    for (int chooser = 0; chooser < CHOOSERS; chooser++) {
        double sum = 0;
        unsigned runs = 0, near = 0, below = 0;
        for (size_t i = 0; i < count; i++) {
            if (!first_of_seed(all, i) || isnan(chosen_of(all, count, i, methods, CHOOSE_TRIED)))
                continue;
            double earned = chosen_of(all, count, i, methods, (enum chooser)chooser);
            sum += earned;
            near += is_near(earned, chosen_of(all, count, i, methods, CHOOSE_BEST));
            below += earned < 0;
            runs++;
        }
        fprintf(file, "| %s | %u | %.2f | %u | %u |\n", names[chooser], runs, sum / runs, near,
                below);
    }
}

/* Each cell: what the candidate of each method earned that is ranked first among its method's. */
static void write_cells(FILE *file, const struct forecast *all, size_t count)
{
    static const enum advice_method shown[] = {ADVICE_DPSGD, ADVICE_LINEAR, ADVICE_SELECTIVE,
                                               ADVICE_GRID, ADVICE_CONSENSUS};
    enum { SHOWN = sizeof shown / sizeof shown[0] };
    fputs("\n| world | experts | epsilon |", file);
    for (int m = 0; m < SHOWN; m++)
        fprintf(file, " %s |", advice_method_name(shown[m]));
    fputs(" auto | best | auto, no world | best, no world |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
          file);
    for (size_t i = 0; i < count; i++) {
        const struct advice_run *run = &all[i].run;
        if (!first_of_cell(all, i))
            continue;
        fprintf(file, "| %s | %u | %g |", run->world, run->experts, run->epsilon);
        for (int m = 0; m < SHOWN; m++) {
            const struct cell cell = sum_cell(all, count, i, 1U << shown[m]);
            if (cell.candidates > 0)
                fprintf(file, " %.2f |", cell.home);
            else
                fputs(" |", file);
        }
        const struct cell any = sum_cell(all, count, i, ALL_METHODS);
        const struct cell no_world = sum_cell(all, count, i, ALL_METHODS & ~NEED_WORLD);
        fprintf(file, " %.2f | %.2f | %.2f | %.2f |\n", any.home, any.best, no_world.home,
                no_world.best);
    }
}

/* How well runs of one world are forecast from the others. */
static void write_forecast_quality(FILE *file, const char *const *worlds, unsigned world_count,
                                   const struct forecast *all, size_t count)
{
    struct forecast *these = calloc(count + 1, sizeof *these);
    if (!these)
        abort();
    fputs("| world left out | runs | rank correlation | within the interval |\n|---|---|---|---|\n",
          file);
    for (unsigned w = 0; w < world_count; w++) {
        size_t runs = 0, within = 0;
        for (size_t i = 0; i < count; i++)
            if (strcmp(all[i].run.world, worlds[w]) == 0)
                these[runs++] = all[i];
        for (size_t i = 0; i < runs; i++)
            within += these[i].run.quality >= these[i].look.low &&
                      these[i].run.quality <= these[i].look.high;
        fprintf(file, "| %s | %zu | %.2f | %.0f %% |\n", worlds[w], runs,
                rank_correlation(these, runs), 100.0 * (double)within / (double)runs);
    }
    fprintf(file, "| all | %zu | %.2f | |\n", count, rank_correlation(all, count));
    free(these);
}

static void write_verdicts(FILE *file, const struct forecast *all, size_t count)
{
    fputs("\n| verdict | runs | mean quality | below 0.1 | 0.6 or more |\n|---|---|---|---|---|\n",
          file);
    for (int v = ADVICE_HOPELESS; v <= ADVICE_GOOD; v++) {
        double sum = 0;
        size_t runs = 0, bad = 0, good = 0;
        for (size_t i = 0; i < count; i++) {
            if (all[i].look.verdict != (enum advice_verdict)v)
                continue;
            sum += all[i].run.quality;
            runs++;
            bad += all[i].run.quality < 0.1;
            good += all[i].run.quality >= ADVICE_GOOD_FROM;
        }
        double n = (double)runs;
        if (runs > 0)
            fprintf(file, "| %s | %zu | %.2f | %.0f %% | %.0f %% |\n",
                    advice_verdict_name((enum advice_verdict)v), runs, sum / n,
                    100 * (double)bad / n, 100 * (double)good / n);
    }
}

/* What is forecast in a world that was not measured. */
static void write_forecasts(FILE *file)
{
    static const double signals[] = {0.1, 0.3, 1, 3, 10, 30};
    fputs("\n| method | algorithm | runs |", file);
    for (size_t s = 0; s < sizeof signals / sizeof signals[0]; s++)
        fprintf(file, " signal %g |", signals[s]);
    fputs("\n|---|---|---|---|---|---|---|---|---|\n", file);
    for (unsigned i = 0; i < advice_run_count; i++) {
        const struct advice_run *run = &advice_runs[i];
        unsigned runs = 0, before = 0;
        for (unsigned k = 0; k < advice_run_count; k++) {
            bool same = advice_runs[k].method == run->method &&
                        strcmp(advice_runs[k].algorithm, run->algorithm) == 0;
            runs += same;
            before += same && k < i;
        }
        struct advice_outlook any;
        advice_look(run->method, run->algorithm, "", NULL, 1, &any);
        if (before > 0 || any.verdict == ADVICE_UNKNOWN)
            continue;
        fprintf(file, "| %s | %s | %u |", advice_method_name(run->method), run->algorithm, runs);
        for (size_t s = 0; s < sizeof signals / sizeof signals[0]; s++) {
            struct advice_outlook look;
            advice_look(run->method, run->algorithm, "", NULL, signals[s], &look);
            fprintf(file, " %.2f (%.2f, %.2f) %s%s |", look.expected, look.low, look.high,
                    advice_verdict_name(look.verdict), look.measured ? "" : ", beyond");
        }
        fputs("\n", file);
    }
}

static unsigned list_worlds(const struct forecast *all, size_t count, const char *out[WORLDS_MAX])
{
    unsigned worlds = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (unsigned w = 0; w < worlds; w++)
            known = known || strcmp(out[w], all[i].run.world) == 0;
        if (!known && worlds < WORLDS_MAX)
            out[worlds++] = all[i].run.world;
    }
    return worlds;
}

bool held_out_write(const struct outcomes *judged, const char *path)
{
    const char *worlds[WORLDS_MAX];
    struct forecast *all = calloc(judged->count + 1, sizeof *all);
    FILE *file = fopen(path, "w");
    if (!file || !all) {
        fprintf(stderr, "%s: cannot be written\n", path);
        free(all);
        return false;
    }
    size_t count = forecast_runs(judged, all);
    unsigned world_count = list_worlds(all, count, worlds);
    write_forecast_quality(file, worlds, world_count, all, count);
    write_verdicts(file, all, count);
    write_choices(file, worlds, world_count, ALL_METHODS, all, count);
    write_choices(file, worlds, world_count, ALL_METHODS & ~NEED_WORLD, all, count);
    write_choosers(file, ALL_METHODS, all, count);
    write_choosers(file, ALL_METHODS & ~NEED_WORLD, all, count);
    write_cells(file, all, count);
    write_forecasts(file);
    free(all);
    return fclose(file) == 0;
}
