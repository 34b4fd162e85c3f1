/* gp_q_learning, unit reward: from settings to terms and price, and the loop over logged
 * transitions or in a world.
 *
 * DESIGN. One update is one Gaussian mechanism, whose input is the function that the update before
 * gave: the accountant is told of as many steps at rate 1, with noise multiplier sigma /
 * sensitivity. Which transitions an update takes, and how a world is explored, are public coins, so
 * that nothing but the rewards is private. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/online/online_run.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise_source.h"
#include "algos/release/gp_q_learning.h"
#include "algos/release/reward_q.h"
#include "envs/env_batch.h"

#define BATCH_STREAM UINT64_C(1000) /* of the public seed, and one for each update */
#define WORLD_STREAM UINT64_C(2000000)
#define LEAST_SHARE  0x1p-18 /* of sigma that an update may do with: see reward_q_update */

/* ---- the plan */

static bool path_form(const struct algorithm_request *request)
{
    int asked = (int)gp_q_number(request, GP_Q_FORM); /* automatic, path, features, grid */
    return asked == 1 || asked == 3 || (asked == 0 && request->state_dim == 1);
}

static const char *reward_terms(const struct algorithm_request *request, struct q_terms *out)
{
    bool path = path_form(request);
    *out = (struct q_terms){.unit = Q_UNIT_REWARD,
                            .form = path ? Q_FORM_GRID : Q_FORM_FEATURES,
                            .updates = (uint64_t)gp_q_number(request, GP_Q_UPDATES),
                            .rate = gp_q_number(request, GP_Q_RATE),
                            .error_limit = gp_q_number(request, GP_Q_ERROR_LIMIT),
                            .reward_scale = gp_q_number(request, GP_Q_REWARD_SCALE),
                            .batch = (uint32_t)gp_q_number(request, GP_Q_BATCH_SIZE)};
    const char *problem = gp_q_bounds(request, out);
    if (problem)
        return problem;
    if (path && request->state_dim != 1)
        return "unit reward over several coordinates takes form features";
    if (!(request->epsilon >= 1e-6 && request->epsilon <= 1000.0) ||
        !(request->delta >= 1e-30 && request->delta <= 0.5))
        return "epsilon must be from 1e-6 to 1000 and delta from 1e-30 to 0.5";
    if (path) {
        out->value_limit = gp_q_number(request, GP_Q_VALUE_LIMIT);
        out->knot_bits = (UINT32_C(1) << (uint32_t)gp_q_number(request, GP_Q_KNOT_BITS)) + 1;
        out->beta = gp_q_number(request, GP_Q_BETA);
        return NULL;
    }
    out->value_limit = gp_q_number(request, GP_Q_RADIUS);
    out->features = (uint32_t)gp_q_number(request, GP_Q_FEATURES);
    out->seed = request->seed;
    return out->features <= out->state_dim ? "features must be more than the numbers of a state"
                                           : NULL;
}

static struct reward_q_settings reward_settings(const struct q_terms *t, double discount)
{
    struct reward_q_settings s = {.state_dim = t->state_dim,
                                  .actions = t->action_count,
                                  .beta = t->beta,
                                  .features = t->features,
                                  .seed = t->seed,
                                  .batch = t->batch,
                                  .rate = t->rate,
                                  .error_limit = t->error_limit,
                                  .discount = discount,
                                  .reward_scale = t->reward_scale,
                                  .value_limit = t->value_limit};
    for (uint32_t nodes = t->form == Q_FORM_GRID ? t->knot_bits - 1 : 1; nodes > 1; nodes /= 2)
        s.knot_bits++;
    for (uint32_t i = 0; i < t->state_dim; i++) {
        s.low[i] = t->low[i];
        s.high[i] = t->high[i];
    }
    return s;
}

enum algorithm_status gp_q_reward_plan(const struct algorithm_request *request,
                                       struct algorithm_plan *out, const char **message)
{
    struct algorithm_plan plan = {0};
    struct q_terms *t = &plan.release;
    *message = reward_terms(request, t);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    const struct reward_q_settings settings = reward_settings(t, 0.0);
    t->sensitivity = reward_q_step_sensitivity(&settings);
    t->sigma = gaussian_dp_sigma(t->sensitivity * sqrt((double)t->updates), request->epsilon,
                                 request->delta);
    enum algorithm_status status = gp_q_price(request, t, &plan.privacy, message);
    if (status != ALGORITHM_OK)
        return status;
    if (!(t->sigma * LEAST_SHARE > 1e-12 && t->sigma < 1e12) ||
        !((t->value_limit + t->rate * t->error_limit) / (t->sigma * LEAST_SHARE) < 0x1p39)) {
        *message = "with these settings the noise is out of the range that can be drawn";
        return ALGORITHM_BAD_INPUT;
    }
    bool network = t->form == Q_FORM_FEATURES;
    plan.shape =
        (struct mlp_shape){.input = t->state_dim,
                           .layer_count = network ? 2 : 1,
                           .width = {network ? t->features : t->action_count, t->action_count},
                           .activation = MLP_RELU};
    plan.parameter_count = (uint64_t)(network ? t->features : t->knot_bits) * t->action_count;
    plan.total_steps = t->updates;
    *message = "";
    *out = plan;
    return ALGORITHM_OK;
}

/* ---- the loop */

struct learning {
    const struct algorithm_run *run;
    const struct q_terms *terms;
    struct reward_q *q;
    struct noise_source *noise;
    struct env_batch *world;
    uint64_t updates; /* done */
};

static void add_logged(struct learning *l, struct rng *rng)
{
    const struct dataset *data = l->run->data;
    uint32_t n = data->state_dim;
    for (uint32_t i = 0; i < l->terms->batch; i++) {
        uint64_t t = (uint64_t)(rng_uniform(rng) * (double)data->transition_count);
        const float *state = data->states + data->state_row[t] * n;
        reward_q_add(l->q, state, data->actions[t], (double)data->rewards[t], state + n,
                     data->terminated[t] != 0);
    }
}

static uint32_t choose_action(const struct learning *l, const float *state, struct rng *rng)
{
    double values[ENV_MAX_ACTIONS];
    uint32_t actions = l->terms->action_count, best = 0;
    if (rng_uniform(rng) < gp_q_number(l->run->request, GP_Q_EXPLORATION))
        return rng_below(rng, actions);
    reward_q_values(l->q, state, values);
    for (uint32_t a = 1; a < actions; a++)
        best = values[a] > values[best] ? a : best;
    return best;
}

/* Plays a batch of transitions in the world and adds them to the update. False: the world broke. */
static bool take_played(struct learning *l, struct rng *rng)
{
    struct env_batch *world = l->world;
    float before[ENV_MAX_STATE_DIM];
    for (uint32_t i = 0; i < l->terms->batch; i++) {
        if (world->ended[0] != ENV_RUNNING && !env_batch_reset(world, 0))
            return false;
        for (uint32_t k = 0; k < l->terms->state_dim; k++)
            before[k] = world->observations[k];
        uint32_t action = choose_action(l, before, rng);
        if (!env_batch_step(world, &action))
            return false;
        reward_q_add(l->q, before, action, world->rewards[0], world->observations,
                     world->ended[0] == ENV_TERMINATED);
    }
    return true;
}

static enum algorithm_status learn_rewards(struct learning *l, const char **message)
{
    const struct algorithm_run *run = l->run;
    uint64_t fingerprint = online_fingerprint(run, GP_Q_COUNT);
    struct online_memory memory = {.updates = &l->updates};
    memory.vector[0] = reward_q_numbers(l->q, &memory.count);
    if (run->checkpoint && !online_from_bytes(&memory, fingerprint, run->plan->total_steps,
                                              run->checkpoint, run->checkpoint_size)) {
        *message = "the checkpoint is damaged or of another run";
        return ALGORITHM_BAD_CHECKPOINT;
    }
    if (l->world)
        rng_seed(&l->world->generators[0], run->request->seed, WORLD_STREAM + l->updates);
    while (l->updates < run->plan->total_steps) {
        struct rng rng;
        enum algorithm_status status = online_pulse(run, fingerprint, &memory);
        if (status != ALGORITHM_OK)
            return status;
        rng_seed(&rng, run->request->seed, BATCH_STREAM + l->updates);
        if (!l->world) {
            add_logged(l, &rng);
        } else if (!take_played(l, &rng)) {
            *message = "the world broke";
            return ALGORITHM_BAD_INPUT;
        }
        reward_q_update(l->q, l->noise, l->terms->sigma);
        l->updates++;
    }
    return ALGORITHM_OK;
}

static struct q_release *learned_release(const struct learning *l)
{
    if (l->terms->form == Q_FORM_FEATURES)
        return q_release_features(l->terms, reward_q_network(l->q));
    double *wide = reward_q_doubles(l->q);
    struct q_release *release = q_release_grid(l->terms, wide);
    free(wide);
    return release;
}

/* Opens the world and the learner. False: the world did not open. */
static bool prepare_learning(struct learning *l, struct noise_source *own)
{
    const struct algorithm_request *request = l->run->request;
    double discount = request->world ? gp_q_number(request, GP_Q_DISCOUNT) : request->discount;
    const struct reward_q_settings settings = reward_settings(l->terms, discount);
    l->noise = l->run->noise ? l->run->noise : own;
    l->q = reward_q_new(&settings);
    if (!request->world)
        return true;
    l->world = env_batch_new(request->world, 1, request->world->max_episode_steps);
    if (l->world)
        env_batch_physics(l->world, 0, request->world_parameters);
    return l->world;
}

enum algorithm_status gp_q_reward_train(const struct algorithm_run *run, const char **message)
{
    struct learning l = {.run = run, .terms = &run->plan->release};
    const struct dataset *data = run->data;
    assert(l.terms->unit == Q_UNIT_REWARD);
    *message = "";
    if (!run->request->world &&
        (!data || data->transition_count == 0 || data->state_dim != l.terms->state_dim ||
         data->action_count != l.terms->action_count)) {
        *message = "the dataset holds no transition, or its dimensions are not the request's";
        return ALGORITHM_BAD_INPUT;
    }
    struct noise_source *own = run->noise ? NULL : noise_source_new("functional q-learning");
    if (!run->noise && !own)
        return ALGORITHM_NO_RANDOMNESS;
    enum algorithm_status status = ALGORITHM_BAD_INPUT;
    if (prepare_learning(&l, own))
        status = learn_rewards(&l, message);
    else
        *message = "the world did not open";
    if (status == ALGORITHM_OK)
        gp_q_give(run, learned_release(&l), noise_source_is_injected(l.noise));
    env_batch_free(l.world);
    reward_q_free(l.q);
    noise_source_free(own);
    return status;
}
