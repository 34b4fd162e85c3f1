/* How well the table predicts a world from the others: the runs of one world are left out, what is
 * left forecasts them, and the forecasts are held against what was measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "bench/advise/table.h"

#define WORLDS_MAX 16

struct forecast {
    const struct advice_run *run;
    struct advice_outlook look;
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
        quality[i] = all[i].run->quality;
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
        if (same_candidate(all[k].run, all[i].run)) {
            sum += all[k].run->quality;
            runs++;
        }
    }
    return sum / runs;
}

struct cells {
    double advised, best, mean; /* sums over cells */
    unsigned count;
};

/* Adds the cell of forecast I, which is the first of its cell. WORLDLESS: candidates that need a
 * world do not count. */
static void add_cell(const struct forecast *all, size_t count, size_t i, bool worldless,
                     struct cells *out)
{
    double best = -INFINITY, expected = -INFINITY, advised = NAN, sum = 0, runs = 0;
    for (size_t k = i; k < count; k++) {
        const struct advice_run *run = all[k].run;
        bool plays = run->method == ADVICE_CONSENSUS || run->method == ADVICE_SELECTIVE;
        if (!same_cell(run, all[i].run) || (worldless && plays))
            continue;
        double mean = candidate_mean(all, count, k);
        best = fmax(best, mean);
        sum += mean;
        runs++;
        if (all[k].look.expected > expected) {
            expected = all[k].look.expected;
            advised = mean;
        }
    }
    if (runs == 0)
        return;
    out->advised += advised;
    out->best += best;
    out->mean += sum / runs;
    out->count++;
}

static struct cells sum_cells(const struct forecast *all, size_t count, bool worldless)
{
    struct cells cells = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = !same_cell(all[k].run, all[i].run);
        if (first)
            add_cell(all, count, i, worldless, &cells);
    }
    return cells;
}

/* ---- the page */

static size_t forecast_world(const char *world, struct forecast *out)
{
    size_t count = 0;
    for (unsigned i = 0; i < advice_run_count; i++) {
        const struct advice_run *run = &advice_runs[i];
        if (strcmp(run->world, world) != 0)
            continue;
        out[count].run = run;
        advice_look(run->method, run->algorithm, "", world, run->signal, &out[count].look);
        count += !isnan(out[count].look.expected);
    }
    return count;
}

static void write_worlds(FILE *file, const char *const *worlds, unsigned count,
                         struct forecast *all, size_t *out_total)
{
    fputs("| world left out | runs | rank correlation | within the interval | advised | best | "
          "candidate at random | advised, no world | best, no world |\n"
          "|---|---|---|---|---|---|---|---|---|\n",
          file);
    for (unsigned w = 0; w < count; w++) {
        struct forecast *these = all + *out_total;
        size_t runs = forecast_world(worlds[w], these), within = 0;
        for (size_t i = 0; i < runs; i++)
            within += these[i].run->quality >= these[i].look.low &&
                      these[i].run->quality <= these[i].look.high;
        struct cells any = sum_cells(these, runs, false), bare = sum_cells(these, runs, true);
        fprintf(file, "| %s | %zu | %.2f | %.0f %% | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
                worlds[w], runs, rank_correlation(these, runs),
                100.0 * (double)within / (double)runs, any.advised / any.count,
                any.best / any.count, any.mean / any.count, bare.advised / bare.count,
                bare.best / bare.count);
        *out_total += runs;
    }
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
            sum += all[i].run->quality;
            runs++;
            bad += all[i].run->quality < 0.1;
            good += all[i].run->quality >= ADVICE_GOOD_FROM;
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

static unsigned list_worlds(const char *out[WORLDS_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < advice_run_count; i++) {
        bool known = false;
        for (unsigned w = 0; w < count; w++)
            known = known || strcmp(out[w], advice_runs[i].world) == 0;
        if (!known && count < WORLDS_MAX)
            out[count++] = advice_runs[i].world;
    }
    return count;
}

bool held_out_write(const char *path)
{
    const char *worlds[WORLDS_MAX];
    unsigned world_count = list_worlds(worlds);
    struct forecast *all = calloc(advice_run_count, sizeof *all);
    FILE *file = fopen(path, "w");
    if (!file || !all) {
        fprintf(stderr, "%s: cannot be written\n", path);
        free(all);
        return false;
    }
    size_t total = 0;
    write_worlds(file, worlds, world_count, all, &total);
    fprintf(file, "| all | %zu | %.2f |\n", total, rank_correlation(all, total));
    write_verdicts(file, all, total);
    write_forecasts(file);
    free(all);
    return fclose(file) == 0;
}
