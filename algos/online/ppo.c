/* PPO: an agent's life. Its roll-out is in ppo_play.c, its updates are in ppo_update.c, the losses
 * in ppo_loss.c, its byte form in ppo_bytes.c. All memory is taken in ppo_new. */
#include "algos/online/ppo.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/orthogonal.h"
#include "algos/online/ppo_state.h"
#include "memory/memory.h"

struct ppo_settings ppo_defaults(void)
{
    return (struct ppo_settings){
        .hidden_count = 2,
        .hidden = {64, 64},
        .activation = MLP_TANH,
        .worlds = 4,
        .steps = 128,
        .epochs = 4,
        .minibatch = 128,
        .step_limit = 500,
        .discount = 0.99,
        .lambda = 0.95,
        .clip = 0.2,
        .entropy_bonus = 0.01,
        .value_weight = 0.5,
        .max_gradient_norm = 0.5,
        .reward_scale = 1.0,
    };
}

static struct mlp_shape ppo_shape(const struct ppo_settings *s, const struct env *env,
                                  uint32_t outputs)
{
    struct mlp_shape shape = {
        .input = env->state_dim, .layer_count = s->hidden_count + 1, .activation = s->activation};
    for (uint32_t l = 0; l < s->hidden_count; l++)
        shape.width[l] = s->hidden[l];
    shape.width[s->hidden_count] = outputs;
    return shape;
}

struct mlp_shape ppo_settings_shape(const struct ppo_settings *settings, const struct env *env)
{
    return ppo_shape(settings, env, env->action_count);
}

static bool is_within(double x, double low, double high)
{
    return x >= low && x <= high; /* false for NaN */
}

const char *ppo_settings_problem(const struct ppo_settings *s, const struct env *env)
{
    if (s->hidden_count >= MLP_MAX_LAYERS)
        return "too many hidden layers";
    struct mlp_shape shape = ppo_shape(s, env, env->action_count);
    if (!mlp_shape_valid(&shape))
        return "a hidden layer's width is out of range";
    if (s->worlds == 0 || s->worlds > PPO_MAX_WORLDS || s->steps == 0 || s->steps > PPO_MAX_STEPS ||
        (uint64_t)s->worlds * s->steps > PPO_MAX_TRANSITION)
        return "worlds and steps of a roll-out are out of range";
    if (s->minibatch == 0 || s->minibatch > s->worlds * s->steps || s->minibatch > BATCH_MAX_ROWS)
        return "a minibatch must not be larger than a roll-out";
    if (s->epochs == 0 || s->epochs > 1000 || s->step_limit == 0)
        return "epochs and the step limit must be positive";
    if (!is_within(s->discount, 0.0, 1.0) || !is_within(s->lambda, 0.0, 1.0) ||
        !is_within(s->clip, 1e-6, 1.0))
        return "discount, lambda and clip must be within 0 and 1";
    if (!is_within(s->entropy_bonus, 0.0, 1e6) || !is_within(s->value_weight, 0.0, 1e6) ||
        !is_within(s->max_gradient_norm, 1e-9, 1e9) || !is_within(s->reward_scale, 1e-9, 1e9))
        return "a weight, norm or scale is out of range";
    return NULL;
}

void ppo_free(struct ppo *ppo)
{
    if (!ppo)
        return;
    free(ppo->weights);
    free(ppo->gradient);
    optimizer_clear(&ppo->adam);
    batch_free(ppo->acting);
    batch_free(ppo->improving);
    batch_free(ppo->judging);
    free(ppo->scratch);
    env_batch_free(ppo->worlds);
    free(ppo->actions);
    free(ppo->discounted);
    free(ppo->rollout.states);
    free(ppo->rollout.actions);
    free(ppo->rollout.log_probability);
    free(ppo->rollout.reward);
    free(ppo->rollout.value);
    free(ppo->rollout.next_value);
    free(ppo->rollout.ended);
    free(ppo->rollout.advantage);
    free(ppo->rollout.target);
    free(ppo->order);
    ppo_clear_guidance(&ppo->guidance);
    free(ppo);
}

static void allocate_rollout(struct ppo *ppo)
{
    const struct ppo_settings *s = &ppo->settings;
    struct ppo_rollout *r = &ppo->rollout;
    size_t n = (size_t)s->worlds * s->steps, visited = n + s->worlds;
    r->states = memory_new(visited * ppo->env->state_dim, sizeof *r->states);
    r->actions = memory_new(n, sizeof *r->actions);
    r->log_probability = memory_new(n, sizeof *r->log_probability);
    r->reward = memory_new(n, sizeof *r->reward);
    r->value = memory_new(visited, sizeof *r->value);
    r->next_value = memory_new(n, sizeof *r->next_value);
    r->ended = memory_new(n, sizeof *r->ended);
    r->advantage = memory_new(n, sizeof *r->advantage);
    r->target = memory_new(n, sizeof *r->target);
    ppo->order = memory_new(n, sizeof *ppo->order);
    for (size_t i = 0; i < n; i++)
        ppo->order[i] = (uint32_t)i;
}

static void ppo_allocate(struct ppo *ppo)
{
    const struct ppo_settings *s = &ppo->settings;
    const struct optimizer_settings adam = {
        .kind = OPTIMIZER_ADAM, .momentum = 0.9, .beta2 = 0.999, .epsilon = 1e-5};
    ppo->weights = memory_new(ppo->count, sizeof *ppo->weights);
    ppo->gradient = memory_new(ppo->count, sizeof *ppo->gradient);
    ppo->acting = memory_must(batch_new(&ppo->policy_shape, s->worlds));
    ppo->improving = memory_must(batch_new(&ppo->policy_shape, s->minibatch));
    ppo->judging = memory_must(batch_new(&ppo->value_shape, s->minibatch));
    ppo->scratch = memory_new(mlp_scratch_count(&ppo->value_shape), sizeof *ppo->scratch);
    ppo->actions = memory_new(s->worlds, sizeof *ppo->actions);
    ppo->discounted = memory_new(s->worlds, sizeof *ppo->discounted);
    if (!optimizer_init(&ppo->adam, &adam, ppo->count))
        memory_must(NULL);
    allocate_rollout(ppo);
}

size_t ppo_bytes(const struct ppo_settings *s, const struct env *env)
{
    const struct mlp_shape shape = ppo_settings_shape(s, env);
    size_t transitions = (size_t)s->worlds * s->steps;
    return 24 * mlp_parameter_count(&shape) * sizeof(float) + batch_bytes(&shape, s->worlds) +
           2 * batch_bytes(&shape, s->minibatch) +
           2 * transitions * (env->state_dim + 8) * sizeof(float);
}

struct ppo *ppo_new(const struct ppo_settings *settings, const struct env *env,
                    const double *parameters, const struct rng *rng)
{
    assert(!ppo_settings_problem(settings, env));
    struct ppo *ppo = memory_new(1, sizeof *ppo);
    ppo->settings = *settings;
    ppo->env = env;
    ppo->rng = *rng;
    ppo->policy_shape = ppo_shape(settings, env, env->action_count);
    ppo->value_shape = ppo_shape(settings, env, 1);
    ppo->policy_count = mlp_parameter_count(&ppo->policy_shape);
    ppo->count = ppo->policy_count + mlp_parameter_count(&ppo->value_shape);
    const double hidden_gain = sqrt(2.0);
    ppo->worlds = env_batch_new(env, settings->worlds, settings->step_limit);
    if (!ppo->worlds) {
        ppo_free(ppo);
        return NULL;
    }
    ppo_allocate(ppo);
    orthogonal_initialize(&ppo->policy_shape, &ppo->rng, hidden_gain, 0.01, ppo->weights);
    orthogonal_initialize(&ppo->value_shape, &ppo->rng, hidden_gain, 1.0,
                          ppo->weights + ppo->policy_count);
    uint64_t seed = rng_next(&ppo->rng);
    for (uint32_t w = 0; w < settings->worlds; w++) {
        rng_seed(&ppo->worlds->generators[w], seed, w);
        env_batch_physics(ppo->worlds, w, parameters);
    }
    (void)ppo_begin_episodes(ppo); /* if a world broke, the first update reports it */
    return ppo;
}

const struct mlp_shape *ppo_policy_shape(const struct ppo *ppo)
{
    return &ppo->policy_shape;
}

bool ppo_write_policy(const struct ppo *ppo, float *parameters)
{
    memcpy(parameters, ppo->weights, ppo->policy_count * sizeof *parameters);
    if (ppo->settings.normalize_observations)
        normalizer_fold(&ppo->frozen.observations, &ppo->policy_shape, parameters);
    for (size_t i = 0; i < ppo->policy_count; i++)
        if (!isfinite(parameters[i]))
            return false;
    return true;
}

uint64_t ppo_updates(const struct ppo *ppo)
{
    return ppo->updates;
}

struct ppo_report ppo_report_of(const struct ppo *ppo)
{
    return ppo->report;
}
