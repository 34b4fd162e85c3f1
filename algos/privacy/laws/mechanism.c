/* The ranges of the leaves' parameters. */
#include "algos/privacy/laws/mechanism.h"

#include <math.h>

#include "algos/privacy/laws/dirichlet.h"

static bool is_positive(double value)
{
    return value > 0.0 && isfinite(value); /* false for NaN */
}

static const char *gaussian_problem(const struct mechanism *m)
{
    if (!(m->gaussian.sampling_rate > 0.0 && m->gaussian.sampling_rate <= 1.0))
        return "sampling_rate must be above 0 and at most 1";
    if (!is_positive(m->gaussian.noise_multiplier))
        return "noise_multiplier must be positive and finite";
    return NULL;
}

static const char *response_problem(const struct mechanism *m)
{
    if (!(m->response.noise_parameter > 0.0 && m->response.noise_parameter < 1.0))
        return "noise_parameter must be above 0 and below 1";
    if (m->response.buckets < 2)
        return "buckets must be at least 2";
    return NULL;
}

static const char *pair_problem(const struct mechanism *m)
{
    if (!(m->pair.epsilon >= 0.0 && isfinite(m->pair.epsilon)))
        return "epsilon must be at least 0 and finite";
    if (!(m->pair.delta >= 0.0 && m->pair.delta < 1.0))
        return "delta must be at least 0 and below 1";
    return NULL;
}

const char *mechanism_problem(const struct mechanism *mechanism)
{
    switch (mechanism->kind) {
    case MECHANISM_SUBSAMPLED_GAUSSIAN: return gaussian_problem(mechanism);
    case MECHANISM_LAPLACE:
        return is_positive(mechanism->laplace.noise_multiplier)
                   ? NULL
                   : "noise_multiplier must be positive and finite";
    case MECHANISM_RANDOMIZED_RESPONSE: return response_problem(mechanism);
    case MECHANISM_EPSILON_DELTA: return pair_problem(mechanism);
    case MECHANISM_DIRICHLET: {
        struct dirichlet dirichlet = {.actions = mechanism->dirichlet.actions,
                                      .concentration = mechanism->dirichlet.concentration,
                                      .min_probability = mechanism->dirichlet.min_probability,
                                      .sensitivity = mechanism->dirichlet.sensitivity};
        return dirichlet_problem(&dirichlet);
    }
    }
    return "unknown mechanism";
}
