/* From settings to terms, noise and price.
 *
 * DESIGN. Whatever its form, the release is one Gaussian mechanism: something moves by at most
 * `sensitivity` in a 2-norm (of the kernel's space for a path) and gets noise of deviation sigma
 * there. The accountant is told so in its own words: one step at rate 1 with noise multiplier
 * sigma / sensitivity. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/offline/offline.h"
#include "algos/offline/shards.h"
#include "algos/privacy/functions/gaussian_path.h"
#include "algos/privacy/functions/gaussian_process_features.h"
#include "algos/privacy/functions/gaussian_process_plan.h"
#include "algos/privacy/functions/gaussian_tree.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/release/gp_q_learning.h"
#include "algos/release/knots.h"

#define UP               (1.0 + 1e-14)
#define USUAL_SHARDS     300
#define EXPERTS_OF_SHARD 5      /* at least, unless more shards are asked for */
#define GRID_MOST        262144 /* values */

double gp_q_number(const struct algorithm_request *request, enum gp_q_parameter which)
{
    return request->parameters.value[which].number[0];
}

/* The number of shards of REQUEST: what it asks for, or what its public number of experts gives. */
static uint32_t shard_count(const struct algorithm_request *request)
{
    uint32_t asked = (uint32_t)gp_q_number(request, GP_Q_SHARDS);
    uint32_t share = request->nominal_experts / EXPERTS_OF_SHARD;
    if (asked > 0)
        return asked;
    if (share >= USUAL_SHARDS)
        return USUAL_SHARDS;
    return share > 0 ? share : 1;
}

void gp_q_shards(const struct algorithm_request *request, struct shards *out)
{
    *out = (struct shards){.algorithm = gp_q_bases[(unsigned)gp_q_number(request, GP_Q_BASE)],
                           .request = *request,
                           .count = shard_count(request)};
    const struct algorithm *base = out->algorithm;
    assert(base);
    algorithm_defaults(base, NULL, &out->request.parameters);
    for (unsigned i = 0; i < GP_Q_BASE_COUNT; i++) {
        int at = parameters_index(base->parameters, base->parameter_count, gp_q_parameters[i].name);
        if (at >= 0)
            out->request.parameters.value[at] = request->parameters.value[i];
    }
}

/* ---- terms */

static enum q_form form_of(const struct algorithm_request *request)
{
    int asked = (int)gp_q_number(request, GP_Q_FORM);
    if (asked == 0)
        return request->state_dim == 1 ? Q_FORM_PATH : Q_FORM_FEATURES;
    return (enum q_form)(asked - 1);
}

const char *gp_q_bounds(const struct algorithm_request *request, struct q_terms *out)
{
    out->state_dim = request->state_dim;
    out->action_count = request->action_count;
    out->clamps = gp_q_number(request, GP_Q_OUTSIDE) != 0;
    const struct parameter_value *low = &request->parameters.value[GP_Q_LOW];
    const struct parameter_value *high = &request->parameters.value[GP_Q_HIGH];
    uint32_t n = request->state_dim;
    if (n < 1 || n > ENV_MAX_STATE_DIM || request->action_count > ENV_MAX_ACTIONS)
        return "states must have from 1 to 16 numbers, and there may be 16 actions at most";
    if ((low->count != 1 && low->count != n) || (high->count != 1 && high->count != n))
        return "low and high must have one number, or one for each coordinate of a state";
    for (uint32_t i = 0; i < n; i++) {
        out->low[i] = low->number[low->count == 1 ? 0 : i];
        out->high[i] = high->number[high->count == 1 ? 0 : i];
        if (!(out->low[i] < out->high[i]))
            return "low must be below high in every coordinate";
    }
    return NULL;
}

static const char *path_terms(const struct algorithm_request *request, struct q_terms *out)
{
    if (request->state_dim != 1)
        return "form path needs states of one number: take features or grid";
    out->lipschitz = gp_q_number(request, GP_Q_LIPSCHITZ);
    out->bits = (uint32_t)gp_q_number(request, GP_Q_BITS);
    out->knot_bits = (uint32_t)gp_q_number(request, GP_Q_KNOT_BITS);
    if (out->knot_bits > out->bits)
        return "knot_bits must not be above bits";
    const struct lipschitz_class class = {out->lipschitz, out->value_limit};
    const char *problem = lipschitz_class_problem(&class);
    if (problem)
        return problem;
    struct gaussian_process_plan plan = {.value_limit = out->value_limit,
                                         .lipschitz = out->lipschitz,
                                         .shards = out->shards,
                                         .actions = out->action_count,
                                         .bits = out->bits,
                                         .evaluation_error =
                                             knots_error(out->knot_bits, out->action_count, &class),
                                         .epsilon = request->epsilon,
                                         .delta = request->delta};
    problem = gaussian_process_plan_complete(&plan);
    out->beta = plan.beta;
    out->sensitivity = plan.sensitivity;
    out->sigma = plan.sigma;
    return problem;
}

static const char *features_terms(const struct algorithm_request *request, struct q_terms *out)
{
    out->value_limit = gp_q_number(request, GP_Q_RADIUS);
    out->features = (uint32_t)gp_q_number(request, GP_Q_FEATURES);
    out->seed = request->seed;
    if (out->features <= out->state_dim)
        return "features must be more than the numbers of a state";
    out->sensitivity = gaussian_features_sensitivity(out->value_limit, out->shards);
    return NULL;
}

/* The values at nodes act as coefficients, of norm at most V sqrt(nodes x actions). */
static const char *grid_terms(const struct algorithm_request *request, struct q_terms *out)
{
    out->knot_bits = (uint32_t)gp_q_number(request, GP_Q_NODES);
    double values = out->action_count;
    for (uint32_t i = 0; i < out->state_dim; i++)
        values *= out->knot_bits;
    if (values > GRID_MOST)
        return "nodes must be fewer: the grid may have 262144 values at most";
    out->sensitivity =
        gaussian_features_sensitivity(out->value_limit * sqrt(values) * UP, out->shards);
    return NULL;
}

static const char *expert_terms(const struct algorithm_request *request, struct q_terms *out)
{
    *out = (struct q_terms){.form = form_of(request),
                            .updates = 1,
                            .advantages = gp_q_number(request, GP_Q_RELEASED) != 0,
                            .shards = shard_count(request),
                            .value_limit = gp_q_number(request, GP_Q_VALUE_LIMIT)};
    const char *problem = gp_q_bounds(request, out);
    if (problem)
        return problem;
    if (!(request->epsilon >= 1e-6 && request->epsilon <= 1000.0) ||
        !(request->delta >= 1e-30 && request->delta <= 0.5))
        return "epsilon must be from 1e-6 to 1000 and delta from 1e-30 to 0.5";
    if (out->form == Q_FORM_PATH)
        return path_terms(request, out);
    problem =
        out->form == Q_FORM_FEATURES ? features_terms(request, out) : grid_terms(request, out);
    if (!problem)
        out->sigma = gaussian_dp_sigma(out->sensitivity, request->epsilon, request->delta);
    return problem;
}

/* ---- the price */

static enum dp_sgd_plan_status price_noise(const struct algorithm_request *request,
                                           struct q_terms *terms, struct dp_sgd_plan *privacy)
{
    double margin = 1e-12, sigma = terms->sigma;
    enum dp_sgd_plan_status status = DP_SGD_PLAN_INFEASIBLE;
    uint32_t experts = request->nominal_experts > 0 ? request->nominal_experts : 1;
    for (int i = 0; i < 20; i++, margin *= 4.0) {
        *privacy =
            (struct dp_sgd_plan){.sampling_rate = 1.0,
                                 .noise_multiplier = sigma / terms->sensitivity * (1.0 - 1e-15),
                                 .clip_norm = terms->sensitivity,
                                 .batch_size = experts,
                                 .nominal_experts = experts,
                                 .steps = terms->updates,
                                 .delta = request->delta};
        terms->sigma = sigma;
        status = dp_sgd_plan_account(privacy);
        if (status != DP_SGD_PLAN_OK || privacy->epsilon <= request->epsilon)
            return status;
        sigma *= 1.0 + margin;
    }
    return DP_SGD_PLAN_INFEASIBLE;
}

enum algorithm_status gp_q_price(const struct algorithm_request *request, struct q_terms *terms,
                                 struct dp_sgd_plan *privacy, const char **message)
{
    enum dp_sgd_plan_status priced = price_noise(request, terms, privacy);
    if (priced == DP_SGD_PLAN_BAD)
        priced = DP_SGD_PLAN_INFEASIBLE;
    enum algorithm_status status =
        offline_plan_status(priced, "no noise fits this epsilon and delta", message);
    if (status != ALGORITHM_OK)
        return status;
    double root = sqrt((double)terms->updates);
    terms->mu = root / privacy->noise_multiplier * UP;
    terms->noise_to_range = root * terms->sigma / terms->value_limit;
    return ALGORITHM_OK;
}

/* What the form's own ranges leave: see gaussian_path.h and gaussian_tree.h. */
static const char *noise_problem(const struct q_terms *t)
{
    if (!(t->sigma > 1e-12 && t->sigma < 1e12) || !(t->value_limit / t->sigma < 0x1p39))
        return "with these settings the noise is out of the range that can be drawn";
    if (t->form != Q_FORM_PATH)
        return NULL;
    const struct gaussian_path_law law = {
        .beta = t->beta, .sigma = t->sigma, .bits = t->bits, .dimensions = 1};
    const char *problem = gaussian_path_problem(&law);
    if (!problem && !gaussian_tree_fits(&law, t->action_count, t->sensitivity))
        problem = "bits must be fewer: with so much noise a path of so many points cannot be drawn";
    return problem;
}

enum algorithm_status gp_q_plan(const struct algorithm_request *request, struct algorithm_plan *out,
                                const char **message)
{
    struct algorithm_plan plan = {0};
    struct shards shards;
    if (request->protects_rewards)
        return gp_q_reward_plan(request, out, message);
    *message = expert_terms(request, &plan.release);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    gp_q_shards(request, &shards);
    enum algorithm_status status = shards_plan(&shards, &plan.total_steps, &plan.shape, message);
    if (status != ALGORITHM_OK)
        return status;
    plan.parameter_count = mlp_parameter_count(&plan.shape);
    status = gp_q_price(request, &plan.release, &plan.privacy, message);
    if (status != ALGORITHM_OK)
        return status;
    *message = noise_problem(&plan.release);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    *out = plan;
    return ALGORITHM_OK;
}
