/* Private runs beside those without privacy, for somebody who has no simulator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "bench/advise/table.h"

/* The runs of one candidate: all seeds together. */
struct compare_row {
    const struct outcome *first;
    double sum, low, high;
    unsigned runs;
};

static bool same_size(const struct outcome *a, const struct outcome *b)
{
    return strcmp(a->world, b->world) == 0 && a->experts == b->experts;
}

static bool same_row(const struct outcome *a, const struct outcome *b)
{
    return same_size(a, b) && strcmp(a->method, b->method) == 0 &&
           strcmp(a->algorithm, b->algorithm) == 0 && a->size == b->size &&
           a->epsilon == b->epsilon;
}

static struct compare_row compare_sum(const struct outcomes *all, const struct outcome *of)
{
    struct compare_row row = {.first = of, .low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < all->count; i++) {
        const struct outcome *r = &all->all[i];
        if (!same_row(r, of) || !isfinite(r->mean_return))
            continue;
        row.sum += r->mean_return;
        row.low = fmin(row.low, r->mean_return);
        row.high = fmax(row.high, r->mean_return);
        row.runs++;
    }
    return row;
}

/* The best mean without privacy on the very same data. */
static double compare_best(const struct outcomes *all, const struct outcome *of)
{
    double best = NAN;
    for (size_t i = 0; i < all->count; i++) {
        const struct outcome *r = &all->all[i];
        if (!same_size(r, of) || strcmp(r->method, "none") != 0)
            continue;
        struct compare_row row = compare_sum(all, r);
        best = fmax(best, row.sum / row.runs);
    }
    return best;
}

/* Whether it may be asked for without a simulator, had a plan and gave a policy. */
static bool needs_nothing(const struct outcome *r)
{
    int method = advice_method_find(r->method);
    if (!isfinite(r->mean_return))
        return false;
    return method == ADVICE_DPSGD || method == ADVICE_LINEAR || method == ADVICE_GRID;
}

/* What the advisor expects of R where no run of its world is in the table. */
static double compare_expected(const struct outcome *r)
{
    struct advice_outlook look;
    advice_look((enum advice_method)advice_method_find(r->method), r->algorithm, "", r->world,
                r->signal, &look);
    return look.verdict == ADVICE_HOPELESS ? look.expected - 10 : look.expected;
}

/* The candidate that the advisor ranks first among those of R's cell that need no simulator. */
static const struct outcome *compare_auto(const struct outcomes *all, const struct outcome *of)
{
    const struct outcome *best = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const struct outcome *r = &all->all[i];
        if (same_size(r, of) && r->epsilon == of->epsilon && needs_nothing(r) &&
            (!best || compare_expected(r) > compare_expected(best)))
            best = r;
    }
    return best;
}

static void compare_write_row(FILE *file, const struct outcomes *all, const struct outcome *r)
{
    struct compare_row row = compare_sum(all, r);
    double mean = row.sum / row.runs, best = compare_best(all, r);
    const char *mark = "";
    if (needs_nothing(r) && same_row(compare_auto(all, r), r))
        mark = ", **the advisor's first**";
    fprintf(file, "| %s | %u | ", r->world, r->experts);
    if (r->epsilon > 0)
        fprintf(file, "%g | %s, %s", r->epsilon, r->method, r->algorithm);
    else
        fprintf(file, "| %s, %s", r->method, r->algorithm);
    if (r->size > 0)
        fprintf(file, " %u", r->size);
    fprintf(file, "%s | %.1f | %.1f to %.1f | %.2f |\n", mark, mean, row.low, row.high,
            (mean - r->random_return) / (best - r->random_return));
}

bool compare_write(const struct outcomes *outcomes, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    fputs("| world | experts | epsilon | policy | mean return | lowest to highest | of the best "
          "without privacy |\n|---|---|---|---|---|---|---|\n",
          file);
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct outcome *r = &outcomes->all[i];
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before = before || same_row(&outcomes->all[k], r);
        if (!before && (needs_nothing(r) || !(r->epsilon > 0)))
            compare_write_row(file, outcomes, r);
    }
    return fclose(file) == 0;
}
