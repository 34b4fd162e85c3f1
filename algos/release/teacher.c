/* A teacher's sensitivity, answers and prices, whatever its mechanism. */
#include "algos/release/teacher.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "algos/nn/lipschitz.h"
#include "algos/privacy/laws/gaussian_dp.h"

#define LEAST_SENSITIVITY 1e-9 /* a constant network still pays something */

static const char *temperature_problem(const struct teacher *teacher)
{
    bool fits = teacher->temperature >= 1e-6 && teacher->temperature <= 1e6;
    return fits ? NULL : "temperature must be from 1e-6 to 1e6";
}

static const char *settings_problem(const struct teacher *teacher, const struct policy *policy)
{
    if (policy->output == POLICY_ARGMAX)
        return "a policy that only plays its best action has no Lipschitz bound";
    if (policy->output == POLICY_BCQ)
        return "the set of actions that a bcq policy allows changes by jumps, so it has no "
               "Lipschitz "
               "bound; a cql or behaviour_cloning policy has one";
    if (policy_action_count(policy) != teacher->actions)
        return "the policy has another number of actions";
    if (!(teacher->radius > 0.0 && isfinite(teacher->radius)))
        return "radius must be positive and finite";
    return temperature_problem(teacher);
}

double teacher_change(const struct teacher *teacher)
{
    if (teacher->shards > 0)
        return ensemble_change(teacher->shards);
    double change = fmin(teacher->lipschitz * teacher->radius, M_SQRT2) * (1.0 + 1e-12);
    return fmax(change, LEAST_SENSITIVITY);
}

double teacher_resolved_up_to(double radius)
{
    int exponent; /* 2^(exponent - 1) <= radius < 2^exponent */
    if (radius < FLT_TRUE_MIN)
        return 0.0;
    frexp(radius, &exponent);
    /* Floats just above 2^e are 2^(e + 1 - FLT_MANT_DIG) apart. */
    return ldexp(1.0, exponent - 1 + FLT_MANT_DIG);
}

const char teacher_no_memory[] = "not enough memory for the network's Lipschitz bound";

/* Computes LIPSCHITZ from the weights: softmax is 1/2-Lipschitz. */
static const char *measure_lipschitz(struct teacher *teacher, const struct policy *policy)
{
    double network = lipschitz_mlp_bound(&policy->shape, policy->parameters);
    if (network < 0.0)
        return teacher_no_memory;
    if (!isfinite(network))
        return "the network has no finite Lipschitz bound";
    teacher->lipschitz = network / (2.0 * teacher->temperature) * (1.0 + 1e-12);
    return NULL;
}

const char *teacher_prepare(struct teacher *teacher, const struct policy *policy)
{
    const char *problem = settings_problem(teacher, policy);
    if (problem)
        return problem;
    if (teacher->secret)
        teacher->lipschitz = M_SQRT2 / teacher->radius * (1.0 + 1e-12);
    else
        problem = measure_lipschitz(teacher, policy);
    if (problem)
        return problem;
    double sensitivity = teacher->mechanism->sensitivity(teacher, teacher_change(teacher));
    return teacher_complete(teacher, fmax(sensitivity * (1.0 + 1e-12), LEAST_SENSITIVITY));
}

const char *teacher_prepare_ensemble(struct teacher *teacher)
{
    const char *problem = temperature_problem(teacher);
    if (problem)
        return problem;
    assert(teacher->shards > 0);
    teacher->radius = teacher->lipschitz = 0.0;
    return teacher_complete(teacher,
                            teacher->mechanism->sensitivity(teacher, teacher_change(teacher)));
}

const char *teacher_complete(struct teacher *teacher, double sensitivity)
{
    if (teacher->actions > TEACHER_MAX_ACTIONS)
        return "the policy has too many actions";
    teacher->sensitivity = sensitivity;
    return teacher->mechanism->complete(teacher, sensitivity);
}

static bool finite_state(const float *state, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(state[i]))
            return false;
    return true;
}

static bool finite_states(const float *states, uint32_t count, uint32_t dim)
{
    for (uint32_t s = 0; s < count; s++)
        if (!finite_state(states + (size_t)s * dim, dim))
            return false;
    return true;
}

static bool of_policy(const struct teacher *teacher, const struct policy *policy,
                      const float *states, uint32_t count, double *p)
{
    uint32_t dim = policy->shape.input, actions = teacher->actions;
    assert(teacher->shards == 0);
    if (!finite_states(states, count, dim))
        return false;
    for (uint32_t s = 0; s < count; s++) {
        double *out = p + (size_t)s * actions;
        if (!policy_probabilities(policy, states + (size_t)s * dim, teacher->temperature, out))
            answer_error_uniform(actions, out);
    }
    return true;
}

static bool of_ensemble(const struct teacher *teacher, const struct ensemble *ensemble,
                        const float *states, uint32_t count, double *p)
{
    /* The price was computed for this number of shards. */
    assert(teacher->shards == ensemble->count && teacher->actions == ensemble->actions);
    if (!finite_states(states, count, ensemble->shape.input))
        return false;
    ensemble_probabilities(ensemble, states, count, teacher->temperature, p);
    return true;
}

bool teacher_distributions(const struct teacher *teacher, const struct policy *policy,
                           const struct ensemble *ensemble, const float *states, uint32_t count,
                           double *p)
{
    return policy ? of_policy(teacher, policy, states, count, p)
                  : of_ensemble(teacher, ensemble, states, count, p);
}

bool teacher_answer_about(const struct teacher *teacher, double concentration,
                          struct noise_source *noise, double *p, double *z)
{
    struct teacher now = *teacher;
    return now.mechanism->weaken(&now, concentration) && now.mechanism->answer(&now, noise, p, z);
}

bool teacher_price(const struct teacher *teacher, double concentration, double order, int64_t share,
                   struct filter_price *out)
{
    struct teacher now = *teacher;
    if (!now.mechanism->weaken(&now, concentration))
        return false;
    const struct filter_release release = now.mechanism->release(&now);
    return filter_price(order, share, &release, 1, out);
}

double teacher_error_radius(const struct teacher *teacher, double concentration, double beta)
{
    struct teacher now = *teacher;
    return now.mechanism->weaken(&now, concentration) ? now.mechanism->error_radius(&now, beta)
                                                      : (double)INFINITY;
}

struct answer_error teacher_answer_error(const struct teacher *teacher, double concentration,
                                         const double *policy)
{
    struct teacher now = *teacher;
    bool weakened = now.mechanism->weaken(&now, concentration);
    assert(weakened);
    /* cppcheck-suppress returnDanglingLifetime ; two numbers, no pointer */
    return now.mechanism->error(&now, policy);
}

bool teacher_gaussian_for(const struct teacher *teacher, double order, int64_t share,
                          const struct filter_price *price, struct teacher *out)
{
    struct teacher other = *teacher;
    other.mechanism = &teacher_gaussian_simplex;
    double change = teacher_change(&other), units = (double)price->units * FILTER_UNIT;
    /* One unit less, because prices are rounded up. */
    double most = fmax(0.5 * FILTER_UNIT, units - FILTER_UNIT);
    double mu = order > 1.0
                    ? sqrt(2.0 * most / order)
                    : gaussian_dp_mu_for(most, (double)share * FILTER_DELTA_UNIT * (1.0 - 1e-9));
    double sigma = gaussian_simplex_sigma(other.actions, change, 1.0, mu) * (1.0 + 1e-9);
    other.gaussian.sigma = fmax(sigma, GAUSSIAN_SIMPLEX_SIGMA_MIN);
    struct filter_price paid;
    if (teacher_complete(&other, change) || !teacher_price(&other, 0.0, order, share, &paid) ||
        paid.units > price->units)
        return false;
    *out = other;
    return true;
}
