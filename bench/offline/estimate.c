/* Means over seeds, and quotients of them. */
#include "bench/offline/estimate.h"

#include <math.h>
#include <string.h>

#include "bench/plot/sample.h"

#define SEEDS 64 /* of a cell, at most */

struct estimate estimate_of(const struct results *all, uint32_t experts, const char *world,
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

struct estimate estimate_usual(const struct results *all, uint32_t experts, const char *world,
                               const char *algorithm, const char *method, double epsilon)
{
    return estimate_of(all, experts, world, algorithm, method, epsilon, "-");
}

double estimate_fraction(const struct estimate *e, const struct estimate *plain, double *half)
{
    double top = e->mean - e->random, bottom = plain->mean - plain->random;
    double quotient = bottom > 0.0 ? top / bottom : NAN;
    unsigned fewer = e->count < plain->count ? e->count : plain->count;
    double a = e->deviation * e->deviation / e->count;
    double b = plain->deviation * plain->deviation / plain->count * quotient * quotient;
    *half = fewer > 1 ? sample_student(fewer - 1) * sqrt(a + b) / fabs(bottom) : NAN;
    return quotient;
}

void estimate_print(FILE *out, double fraction, double half)
{
    if (isnan(half))
        fprintf(out, "%.2f, 1 seed", fraction);
    else
        fprintf(out, "%.2f ± %.2f", fraction, half);
}
