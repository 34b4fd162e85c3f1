/* The distribution of returns in numbers. */
#include "cli/returns_report.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Minimum, 5, 25, 50, 75, 95 per cent, maximum, as fractions. */
static const double returns_levels[RETURNS_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

static const char *const level_names[RETURNS_QUANTILES] = {"minimum", "5 %",  "25 %",   "median",
                                                           "75 %",    "95 %", "maximum"};
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The FRACTION quantile of sorted[count], count at least 1: linear between order statistics (type 7
 * of Hyndman and Fan 1996, as NumPy and R have it). */
static double returns_quantile(const double *sorted, size_t count, double fraction)
{
    assert(count > 0 && fraction >= 0 && fraction <= 1);
    double place = fraction * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

size_t returns_part(double x, double low, double high, size_t parts)
{
    assert(parts > 0);
    if (!(high > low) || x <= low)
        return 0;
    double part = (x - low) / (high - low) * (double)parts;
    return part < (double)parts ? (size_t)part : parts - 1;
}

void returns_report_make(double *returns, size_t count, double random, struct returns_report *out)
{
    assert(count > 0);
    qsort(returns, count, sizeof *returns, by_value);
    double low = returns[0], high = returns[count - 1], sum = 0, squares = 0;
    *out = (struct returns_report){.count = count, .random = random};
    out->near_best = random + 0.9 * (high - random);
    for (size_t i = 0; i < count; i++)
        sum += returns[i];
    out->mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        double off = returns[i] - out->mean;
        squares += off * off;
        out->decile[returns_part(returns[i], low, high, RETURNS_DECILES)]++;
        out->below_random += returns[i] < random;
        out->above_near_best += returns[i] > out->near_best;
    }
    out->deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    for (size_t q = 0; q < RETURNS_QUANTILES; q++)
        out->quantile[q] = returns_quantile(returns, count, returns_levels[q]);
}

static double percent_of(size_t part, size_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

void returns_report_text(const struct returns_report *report, FILE *out)
{
    double low = report->quantile[0], high = report->quantile[RETURNS_QUANTILES - 1];
    double width = (high - low) / RETURNS_DECILES;
    fprintf(out, "returns of %zu experts in %s, episodes of at most %u steps\n", report->count,
            report->world, report->max_steps);
    fprintf(out, "%-20s %12.6g\n%-20s %12.6g\n", "mean", report->mean, "standard deviation",
            report->deviation);
    for (size_t q = 0; q < RETURNS_QUANTILES; q++)
        fprintf(out, "%-20s %12.6g\n", level_names[q], report->quantile[q]);
    fprintf(out, "%-20s %12.6g\n", "random actions", report->random);
    fprintf(out, "%-20s %11.1f%%\n", "below random",
            percent_of(report->below_random, report->count));
    fprintf(out, "%-20s %11.1f%%   above %.6g\n", "near the best",
            percent_of(report->above_near_best, report->count), report->near_best);
    fputs("experts in each tenth of the range\n", out);
    for (size_t d = 0; d < RETURNS_DECILES; d++)
        fprintf(out, "%12.6g .. %-12.6g %6zu\n", low + width * (double)d,
                d + 1 == RETURNS_DECILES ? high : low + width * (double)(d + 1), report->decile[d]);
}

void returns_report_json(const struct returns_report *report, FILE *out)
{
    fprintf(out, "{\"environment\":\"%s\",\"max_steps\":%u,\"experts\":%zu,", report->world,
            report->max_steps, report->count);
    fprintf(out, "\"mean\":%.17g,\"standard_deviation\":%.17g,\"quantiles\":{", report->mean,
            report->deviation);
    for (size_t q = 0; q < RETURNS_QUANTILES; q++)
        fprintf(out, "%s\"%g\":%.17g", q > 0 ? "," : "", returns_levels[q], report->quantile[q]);
    fputs("},\"deciles\":[", out);
    for (size_t d = 0; d < RETURNS_DECILES; d++)
        fprintf(out, "%s%zu", d > 0 ? "," : "", report->decile[d]);
    fprintf(out,
            "],\"random_return\":%.17g,\"below_random\":%zu,\"near_best\":%.17g,"
            "\"above_near_best\":%zu}\n",
            report->random, report->below_random, report->near_best, report->above_near_best);
}
