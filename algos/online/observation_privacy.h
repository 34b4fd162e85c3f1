/* Local privacy of observations: each is clipped to public bounds, scaled to [0, 1] in every
 * coordinate, given Gaussian noise of one deviation (in units of the ranges), and rounded to a
 * public grid. Whoever learns sees nothing else of it.
 *
 * Unit: one observation, neighbours any two: within the bounds they are at most sqrt(n) apart, so
 * with deviation s one observation is sqrt(n)/s-GDP, and an episode of at most H of them, drawn
 * adaptively, sqrt(n H)/s-GDP (Dong, Roth, Su 2022, Cor. 3.3). Rewards, actions and the length of
 * an episode are not noised: they are public, and so is what they tell. */
#ifndef TACET_ALGOS_ONLINE_OBSERVATION_PRIVACY_H
#define TACET_ALGOS_ONLINE_OBSERVATION_PRIVACY_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/training/dp_sgd_plan.h"
#include "algos/statement.h"

struct observation_bounds {
    uint32_t count;
    double low[ENV_MAX_STATE_DIM], high[ENV_MAX_STATE_DIM];
};

/* Finds the bounds of every coordinate: +-BOUND, or with BOUND 0 the declared bounds of the WORLD
 * of that name with DIM numbers. False: there are none. */
bool observation_bounds_of(const char *world, uint32_t dim, double bound,
                           struct observation_bounds *out);

/* Plans the least noise at which one observation of DIM numbers is (EPSILON, DELTA)-private. *OUT
 * is a plain Gaussian of sensitivity clip_norm = sqrt(dim); observation_noise gives its
 * deviation. */
enum dp_sgd_plan_status observation_plan(uint32_t dim, double epsilon, double delta,
                                         struct dp_sgd_plan *out);

/* The standard deviation of PLAN's noise, in units of the ranges. */
double observation_noise(const struct dp_sgd_plan *plan);

/* Bounds the epsilon of OBSERVATIONS observations together at the plan's delta. */
double observation_epsilon(const struct dp_sgd_plan *plan, uint64_t observations);

/* Replaces STATE[bounds->count] by its noised observation, in the world's own units. A NaN counts
 * as the lower bound. */
void observation_hide(const struct observation_bounds *bounds, const struct dp_sgd_plan *plan,
                      struct noise_source *noise, float *state);

/* Writes the certificate's sentences and figures for episodes of at most OBSERVATIONS
 * observations. */
void observation_describe(const struct dp_sgd_plan *plan, const struct observation_bounds *bounds,
                          uint64_t observations, struct statement *out);

#endif
