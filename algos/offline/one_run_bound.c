/* The recursion, what it makes of several runs, and of a claim with other noise. */
#include "algos/offline/one_run_bound.h"

#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

#define FIRST_DELTA 0.4
#define NEXT_DELTA  0.2   /* of one point in the one before; the last is 1e-11 */
#define LEAST_LOG   -80.0 /* of a p-value */
#define MOST_CHANGE 4.0   /* of the noise */

struct scored {
    double score;
    bool there;
};

static int higher_first(const void *a, const void *b)
{
    double x = ((const struct scored *)a)->score, y = ((const struct scored *)b)->score;
    return (x < y) - (x > y);
}

void one_run_guess(const double *scores, const bool *there, uint32_t count, double share,
                   struct one_run_guesses *out)
{
    const uint32_t side = (uint32_t)(share * count);
    struct scored *scored = memory_new(count, sizeof *scored);
    for (uint32_t i = 0; i < count; i++)
        scored[i] = (struct scored){scores[i], there[i]};
    qsort(scored, count, sizeof *scored, higher_first);
    *out = (struct one_run_guesses){.canaries = count, .guesses = 2 * side};
    for (uint32_t i = 0; i < side; i++)
        out->right += scored[i].there + !scored[count - 1 - i].there;
    free(scored);
}

bool one_run_claim_of(const struct dp_sgd_plan *plan, struct one_run_claim *out)
{
    struct dp_sgd_plan at = *plan;
    at.delta = FIRST_DELTA;
    out->count = 0;
    for (int i = 0; i < ONE_RUN_POINTS; i++, at.delta *= NEXT_DELTA) {
        if (dp_sgd_plan_account(&at) != DP_SGD_PLAN_OK)
            continue;
        out->epsilon[out->count] = at.epsilon;
        out->delta[out->count++] = at.delta;
    }
    return out->count > 0;
}

static double least_probability(const struct one_run_claim *claim, double y)
{
    double low = 0.0;
    for (unsigned i = 0; i < claim->count; i++) {
        double ratio = exp(claim->epsilon[i]), delta = claim->delta[i];
        low = fmax(low, fmax((y - delta) / ratio, 1.0 - delta - ratio * (1.0 - y)));
    }
    return low;
}

/* Whether SEEN->right or more right guesses may have PROBABILITY. */
static bool claim_allows(const struct one_run_claim *claim, const struct one_run_guesses *seen,
                         double probability)
{
    double q = probability, beyond = 0.0; /* q_i, and the sum of those above */
    for (uint32_t i = seen->right; i > 0 && q <= 1.0; i--) {
        double hit = (i * q + beyond) / seen->canaries;
        beyond += q;
        double next =
            (seen->canaries * least_probability(claim, hit) + beyond) / (seen->guesses - i + 1.0);
        q = fmax(q, next);
    }
    return q <= 1.0;
}

double one_run_p_value(const struct one_run_claim *claim, const struct one_run_guesses *seen)
{
    double low = LEAST_LOG, high = 0.0;
    if (claim_allows(claim, seen, 1.0))
        return 1.0;
    while (high - low > 1e-3) {
        double middle = 0.5 * (low + high);
        if (claim_allows(claim, seen, exp(middle)))
            low = middle;
        else
            high = middle;
    }
    return exp(high);
}

double one_run_p_value_of_all(const struct one_run_claim *claim, const struct one_run_guesses *seen,
                              uint32_t count)
{
    double log_product = 0.0, sum = 0.0;
    for (uint32_t i = 0; i < count; i++)
        log_product += log(one_run_p_value(claim, &seen[i]));
    if (log_product >= 0.0)
        return 1.0;
    for (uint32_t i = 0; i < count;
         i++) /* in logarithms: the product may be too small for a double */
        sum += exp(log_product + i * log(-log_product) - lgamma(i + 1.0));
    return fmin(1.0, sum);
}

static bool runs_refute(const struct dp_sgd_plan *plan, double noise,
                        const struct one_run_guesses *seen, uint32_t count, double false_alarm)
{
    struct dp_sgd_plan other = *plan;
    struct one_run_claim claim;
    other.noise_multiplier = noise;
    return one_run_claim_of(&other, &claim) &&
           one_run_p_value_of_all(&claim, seen, count) <= false_alarm;
}

double one_run_shown(const struct dp_sgd_plan *plan, const struct one_run_guesses *seen,
                     uint32_t count, double false_alarm)
{
    double low = plan->noise_multiplier / MOST_CHANGE, high = plan->noise_multiplier * MOST_CHANGE;
    if (!runs_refute(plan, high, seen, count, false_alarm))
        return 0.0;
    while (high > 1.05 * low) {
        double middle = sqrt(low * high);
        if (runs_refute(plan, middle, seen, count, false_alarm))
            high = middle;
        else
            low = middle;
    }
    struct dp_sgd_plan shown = *plan;
    shown.noise_multiplier = high;
    return dp_sgd_plan_account(&shown) == DP_SGD_PLAN_OK ? shown.epsilon : 0.0;
}
