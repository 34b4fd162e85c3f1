/* Bounds and noise of observations. The bounds below are declared once and for all: no run changes
 * them, so they tell nothing. */
#include "algos/online/observation_privacy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise.h"
#include "algos/privacy/noise/noise_lattice.h"

#define PI 3.14159265358979323846

struct declared {
    const char *world;
    struct observation_bounds bounds;
};

/* CartPole ends at |x| 2.4 and |angle| 12 degrees; its speeds have no bound, and balancing needs
 * none beyond these. Acrobot's are Gymnasium's own, the lander's nearly (half a turn). The
 * patient's numbers are decimal logarithms of counts per millilitre. The others keep within theirs
 * by construction. */
static const struct declared table[] = {
    {"cartpole", {4, {-2.4, -3, -0.2095, -3.5}, {2.4, 3, 0.2095, 3.5}}},
    {"acrobot", {6, {-1, -1, -1, -1, -4 * PI, -9 * PI}, {1, 1, 1, 1, 4 * PI, 9 * PI}}},
    {"lunar_lander", {8, {-1.5, -1.5, -5, -5, -PI, -5, 0, 0}, {1.5, 1.5, 5, 5, PI, 5, 1, 1}}},
    {"hiv", {6, {-2, -2, -2, -2, -2, -2}, {8, 8, 8, 8, 8, 8}}},
    {"ward", {6, {30, 30, -0.6, 60, 0, 0}, {220, 140, 1.4, 100, 1, 1}}},
    {"fund", {6, {-10, -0.4, 0, 0, 0, 0}, {10, 1, 100, 1, 1, 1}}},
    {"factory", {3, {20, 0, 0}, {150, 100, 50}}},
};

bool observation_bounds_of(const char *world, uint32_t dim, double bound,
                           struct observation_bounds *out)
{
    if (dim < 1 || dim > ENV_MAX_STATE_DIM)
        return false;
    if (bound > 0.0) {
        out->count = dim;
        for (uint32_t i = 0; i < dim; i++) {
            out->low[i] = -bound;
            out->high[i] = bound;
        }
        return true;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].world, world) == 0 && table[i].bounds.count == dim) {
            *out = table[i].bounds;
            return true;
        }
    }
    return false;
}

enum dp_sgd_plan_status observation_plan(uint32_t dim, double epsilon, double delta,
                                         struct dp_sgd_plan *out)
{
    struct dp_sgd_plan plan = {.sampling_rate = 1.0,
                               .clip_norm = sqrt(dim),
                               .batch_size = 1,
                               .nominal_experts = 1,
                               .steps = 1,
                               .delta = delta};
    enum dp_sgd_plan_status status = dp_sgd_plan_find_noise(&plan, epsilon);
    if (status == DP_SGD_PLAN_OK)
        *out = plan;
    return status;
}

double observation_noise(const struct dp_sgd_plan *plan)
{
    return nextafter(plan->noise_multiplier * plan->clip_norm, INFINITY);
}

double observation_epsilon(const struct dp_sgd_plan *plan, uint64_t observations)
{
    double mu = sqrt((double)observations) / plan->noise_multiplier;
    return gaussian_dp_epsilon_interval(mu, plan->delta).upper;
}

void observation_hide(const struct observation_bounds *bounds, const struct dp_sgd_plan *plan,
                      struct noise_source *noise, float *state)
{
    double deviation = observation_noise(plan), step = fmin(noise_grid_step(deviation), 1.0);
    uint64_t scale = (uint64_t)ceil(ldexp(deviation / step, NOISE_LATTICE_FRACTION));
    for (uint32_t i = 0; i < bounds->count; i++) {
        double low = bounds->low[i], range = bounds->high[i] - low;
        double part = fmin(fmax(((double)state[i] - low) / range, 0.0), 1.0);
        /* 1 is a multiple of STEP: after rounding, too, two parts are at most 1 apart. */
        int64_t units = llrint(part / step) + noise_lattice_gaussian(noise, scale);
        state[i] = (float)(low + range * ((double)units * step));
    }
}

void observation_describe(const struct dp_sgd_plan *plan, const struct observation_bounds *bounds,
                          uint64_t observations, struct statement *out)
{
    out->unit = "observation";
    out->neighbours = "Two runs are neighbours when one observation of one episode, within the "
                      "public bounds, is any other one.";
    out->accountant = "closed form of the Gaussian: epsilon is of one observation, of 2-norm "
                      "sensitivity sqrt(numbers) in units of the ranges; epsilon_episode of all "
                      "observations of the longest episode, composed adaptively";
    statement_add(out->assumptions,
                  "Observations are clipped to the stated bounds, which are public, and noised "
                  "before anything learns from them; each is noised once.");
    statement_add(out->assumptions,
                  "Rewards, actions and the length of an episode are public: they are not "
                  "randomised.");
    statement_add(out->warnings,
                  "epsilon is of a single observation. A person whose whole episode is in the data "
                  "has epsilon_episode; where that matters, randomised gradients (pgc_a3c, or "
                  "aggregations) protect far better for the same usefulness.");
    statement_number(out, "noise_deviation", observation_noise(plan));
    statement_number(out, "observations_per_episode", (double)observations);
    statement_number(out, "epsilon_episode", observation_epsilon(plan, observations));
    statement_list(out, "observation_low", bounds->low, bounds->count);
    statement_list(out, "observation_high", bounds->high, bounds->count);
}
