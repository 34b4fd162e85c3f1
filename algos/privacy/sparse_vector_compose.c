/* What T runs of the sparse vector cost together, and what one run may cost.
 *
 * Optimal composition of T mechanisms known only to be (e0, d0)-private (Kairouz, Oh and Viswanath
 * 2015, Theorem 3.3): delta(eps) = 1 - (1 - d0)^T (1 - H) with H the sum over j with
 * (2j - T) e0 > eps of Bin(j; T, e^e0/(1 + e^e0)) (1 - e^(eps - (2j - T) e0)). */
#include "algos/privacy/sparse_vector.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/special.h"

static double composed_delta(double e0, double d0, uint32_t t, double epsilon)
{
    double log_hit = -log1p(exp(-e0)), log_miss = -e0 + log_hit, sum = 0;
    double log_factorial = special_log_gamma(t + 1.0);
    for (uint32_t j = t / 2; j <= t; j++) {
        double loss = (2.0 * j - t) * e0;
        if (loss <= epsilon)
            continue;
        double log_mass = log_factorial - special_log_gamma(j + 1.0) -
                          special_log_gamma(t - j + 1.0) + j * log_hit + (t - j) * log_miss;
        sum += exp(log_mass) * -expm1(epsilon - loss);
    }
    double keep = exp(t * log1p(-d0));
    return -expm1(t * log1p(-d0)) + keep * sum * (1.0 + 1e-8);
}

enum sparse_vector_status sparse_vector_run_epsilon(double epsilon, double delta,
                                                    uint32_t trajectories, double run_delta,
                                                    double *out)
{
    double low = 0.0, high = epsilon + 1.0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (composed_delta(middle, run_delta, trajectories, epsilon) <= delta)
            low = middle;
        else
            high = middle;
    }
    *out = low;
    return SPARSE_VECTOR_OK;
}

enum sparse_vector_status sparse_vector_composed_epsilon(double run_epsilon, double run_delta,
                                                         uint32_t trajectories, double delta,
                                                         double *out)
{
    double low = 0.0, high = run_epsilon * trajectories * (1.0 + 1e-12);
    if (composed_delta(run_epsilon, run_delta, trajectories, high) > delta) {
        *out = INFINITY;
        return SPARSE_VECTOR_OK;
    }
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (composed_delta(run_epsilon, run_delta, trajectories, middle) <= delta)
            high = middle;
        else
            low = middle;
    }
    *out = high;
    return SPARSE_VECTOR_OK;
}
