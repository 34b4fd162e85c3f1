#include "bench/kickstart/summary.h"

#include <math.h>
#include <string.h>

static bool seen(const struct result *const *runs, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i]->seed == seed)
            return true;
    return false;
}

static double answers_of(const struct result *r)
{
    return (double)r->account.answers;
}

static double epsilon_of(const struct result *r)
{
    return r->account.epsilon;
}

static double paper_of(const struct result *r)
{
    return r->account.paper;
}

static double reached_of(const struct result *r)
{
    return r->reached > 0 ? (double)r->reached : (double)INFINITY;
}

static double last_of(const struct result *r)
{
    return r->final_return;
}

static struct sample_quartiles over(const struct result *const *runs, size_t count,
                                    double (*value)(const struct result *r))
{
    double values[SUMMARY_SEEDS] = {0};
    for (size_t i = 0; i < count; i++)
        values[i] = value(runs[i]);
    if (isnan(values[0]))
        return (struct sample_quartiles){NAN, NAN, NAN};
    return sample_quartiles_of(values, count);
}

bool summary_of(const struct results *results, const char *world, const char *variant,
                struct summary *out)
{
    const struct result *runs[SUMMARY_SEEDS];
    *out = (struct summary){0};
    if (results->count == 0)
        return false;
    for (size_t i = 0; i < SUMMARY_SEEDS; i++)
        runs[i] = results->all;
    for (size_t i = 0; i < results->count && out->count < SUMMARY_SEEDS; i++) {
        const struct result *r = &results->all[i];
        if (strcmp(r->world, world) == 0 && strcmp(r->variant, variant) == 0 &&
            !seen(runs, out->count, r->seed)) {
            runs[out->count++] = r;
            out->cpu_seconds += r->cpu_seconds;
        }
    }
    if (out->count == 0)
        return false;
    out->one = runs[0];
    out->reached = over(runs, out->count, reached_of);
    out->last = over(runs, out->count, last_of);
    out->answers = over(runs, out->count, answers_of).median;
    out->epsilon = over(runs, out->count, epsilon_of).median;
    out->paper = over(runs, out->count, paper_of).median;
    for (unsigned p = 0; p < RESULT_POINTS; p++) {
        double values[SUMMARY_SEEDS];
        for (size_t i = 0; i < out->count; i++)
            values[i] = runs[i]->curve[p];
        out->curve[p] = sample_quartiles_of(values, out->count);
        out->area += out->curve[p].median / RESULT_POINTS;
    }
    return true;
}
