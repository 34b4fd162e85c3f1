/* A teacher's sensitivity, answers and prices. */
#include "algos/release/teacher.h"

#include <math.h>
#include <stddef.h>

#include "algos/nn/lipschitz.h"

#define NANO              1e9
#define COARSE_LEAST      0x1p-10
#define LEAST_SENSITIVITY 1e-9 /* a constant network still pays something */

static const char *settings_problem(const struct teacher *teacher, const struct policy *policy)
{
    if (policy->output == POLICY_ARGMAX)
        return "a policy that only plays its best action has no Lipschitz bound";
    if (policy->shape.width[policy->shape.layer_count - 1] != teacher->mechanism.actions)
        return "the policy has another number of actions";
    if (!(teacher->temperature >= 1e-6 && teacher->temperature <= 1e6))
        return "temperature must be from 1e-6 to 1e6";
    if (!(teacher->radius > 0.0 && isfinite(teacher->radius)))
        return "radius must be positive and finite";
    return NULL;
}

/* The least power of two that is not below BOUND. Rounding happens before the temperature divides:
 * after it, trying temperatures would find the exact bound by bisection. */
static double round_up_to_power(double bound)
{
    int exponent;
    double at_least = fmax(bound, COARSE_LEAST);
    double fraction = frexp(at_least, &exponent);
    return fraction == 0.5 ? at_least : ldexp(1.0, exponent);
}

const char *teacher_prepare(struct teacher *teacher, const struct policy *policy)
{
    const char *problem = settings_problem(teacher, policy);
    if (problem)
        return problem;
    double network = lipschitz_mlp_bound(&policy->shape, policy->parameters);
    if (network < 0.0)
        return "not enough memory for the network's Lipschitz bound";
    if (teacher->coarse)
        network = round_up_to_power(network);
    if (!isfinite(network))
        return "the network has no finite Lipschitz bound";
    struct dirichlet *mechanism = &teacher->mechanism;
    teacher->lipschitz = lipschitz_softmax_bound(network, teacher->temperature);
    double apart = fmin(teacher->lipschitz * teacher->radius * (1.0 + 1e-15), M_SQRT2);
    double change = lipschitz_mixed_bound(apart, mechanism->actions, mechanism->min_probability);
    mechanism->sensitivity = fmax(change, LEAST_SENSITIVITY);
    return dirichlet_problem(mechanism);
}

bool teacher_answer(const struct teacher *teacher, const struct policy *policy,
                    double concentration, struct noise_source *noise, const float *state, double *z)
{
    struct dirichlet mechanism = teacher->mechanism;
    if (!(concentration <= mechanism.concentration))
        return false;
    mechanism.concentration = concentration;
    double p[DIRICHLET_MAX_ACTIONS];
    if (dirichlet_problem(&mechanism) ||
        !policy_probabilities(policy, state, teacher->temperature, p))
        return false;
    dirichlet_mix(&mechanism, p);
    return dirichlet_sample(&mechanism, noise, p, z);
}

uint64_t teacher_price(const struct teacher *teacher, double concentration, double order)
{
    struct dirichlet mechanism = teacher->mechanism;
    if (!(concentration <= mechanism.concentration) || !(order > 1.0))
        return UINT64_MAX;
    mechanism.concentration = concentration;
    if (dirichlet_problem(&mechanism))
        return UINT64_MAX;
    double price = ceil(dirichlet_renyi_bound(&mechanism, order) * NANO * (1.0 + 1e-15));
    if (!(price < 0x1p62))
        return UINT64_MAX;
    return price < 1.0 ? 1 : (uint64_t)price;
}
