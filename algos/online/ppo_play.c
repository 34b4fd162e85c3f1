/* PPO's roll-out: all worlds take a step together, so that the policy sees one batch a step. The
 * value network is asked once, for the whole roll-out. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/online/ppo_state.h"

#include "algos/nn/softmax.h"

bool ppo_begin_episodes(struct ppo *ppo)
{
    for (uint32_t w = 0; w < ppo->settings.worlds; w++) {
        ppo->discounted[w] = 0.0;
        ppo->failed = ppo->failed || !env_batch_reset(ppo->worlds, w);
    }
    return !ppo->failed;
}

double ppo_reward_factor(const struct ppo *ppo, const struct ppo_scales *scales)
{
    double factor = ppo->settings.reward_scale;
    if (!ppo->settings.normalize_rewards)
        return factor;
    return factor / normalizer_deviation(&scales->returns, 0);
}

static void write_states(const struct ppo *ppo, float *rows)
{
    const float *seen = ppo->worlds->observations;
    size_t worlds = ppo->settings.worlds, dim = ppo->env->state_dim;
    if (ppo->settings.normalize_observations)
        normalizer_apply(&ppo->frozen.observations, (uint32_t)dim, seen, worlds, rows);
    else
        memcpy(rows, seen, worlds * dim * sizeof *rows);
}

/* Draws an action from softmax(logits), with its log probability. */
static uint32_t draw_from_logits(const float *logits, uint32_t actions, struct rng *rng,
                                 float *log_probability)
{
    assert(actions > 0 && actions <= ENV_MAX_ACTIONS);
    double top = logits[0];
    for (uint32_t a = 1; a < actions; a++)
        top = logits[a] > top ? logits[a] : top;
    double weight[ENV_MAX_ACTIONS];
    double sum = weight[0] = exp(logits[0] - top);
    for (uint32_t a = 1; a < actions; a++) {
        weight[a] = exp(logits[a] - top);
        sum += weight[a];
    }
    uint32_t action = softmax_draw(weight, actions, sum, rng);
    *log_probability = (float)(logits[action] - top - log(sum));
    return action;
}

/* The value of the state at which an episode was truncated, where the world would have
 * continued. */
static float value_of_cut(struct ppo *ppo, uint32_t w)
{
    uint32_t dim = ppo->env->state_dim;
    const float *seen = ppo->worlds->observations + (size_t)w * dim;
    float row[ENV_MAX_STATE_DIM], value;
    if (ppo->settings.normalize_observations)
        normalizer_apply(&ppo->frozen.observations, dim, seen, 1, row);
    else
        memcpy(row, seen, dim * sizeof *row);
    mlp_forward_one(&ppo->value_shape, ppo->weights + ppo->policy_count, row, &value, ppo->scratch);
    return value;
}

/* Stores what world W's step gave as transition I. */
static void note_step(struct ppo *ppo, uint32_t w, size_t i, double factor)
{
    struct ppo_rollout *r = &ppo->rollout;
    const struct env_batch *worlds = ppo->worlds;
    r->actions[i] = ppo->actions[w];
    r->reward[i] = (float)(worlds->rewards[w] * factor);
    r->ended[i] = worlds->ended[w] != ENV_RUNNING;
    r->next_value[i] = 0.0F;
    if (ppo->settings.normalize_rewards) {
        ppo->discounted[w] = worlds->rewards[w] + ppo->settings.discount * ppo->discounted[w];
        normalizer_see_one(&ppo->seen.returns, ppo->discounted[w]);
    }
    if (!r->ended[i])
        return;
    if (worlds->ended[w] == ENV_TRUNCATED)
        r->next_value[i] = value_of_cut(ppo, w);
    ppo->recent[ppo->episodes % PPO_RECENT] = worlds->returns[w];
    ppo->episodes++;
    ppo->discounted[w] = 0.0;
}

/* Computes the values of all states of the roll-out, a workspace at a time, and then the values of
 * the states that follow them. */
static void judge_states(struct ppo *ppo)
{
    struct ppo_rollout *r = &ppo->rollout;
    size_t worlds = ppo->settings.worlds, dim = ppo->env->state_dim;
    size_t total = (ppo->settings.steps + (size_t)1) * worlds;
    const float *weights = ppo->weights + ppo->policy_count;
    for (size_t first = 0; first < total; first += ppo->judging->capacity) {
        size_t left = total - first;
        uint32_t rows = left < ppo->judging->capacity ? (uint32_t)left : ppo->judging->capacity;
        memcpy(batch_input(ppo->judging), r->states + first * dim, rows * dim * sizeof(float));
        const float *values = batch_forward(ppo->judging, weights, rows);
        memcpy(r->value + first, values, rows * sizeof(float));
    }
    for (size_t i = 0; i < total - worlds; i++)
        if (!r->ended[i])
            r->next_value[i] = r->value[i + worlds];
}

/* Moves every world by step T. */
static void step_worlds(struct ppo *ppo, uint32_t t, double factor)
{
    struct ppo_rollout *r = &ppo->rollout;
    uint32_t worlds = ppo->settings.worlds, actions = ppo->env->action_count;
    size_t first = (size_t)t * worlds;
    const float *logits = batch_forward(ppo->acting, ppo->weights, worlds);
    for (uint32_t w = 0; w < worlds; w++)
        ppo->actions[w] =
            draw_from_logits(logits + (size_t)w * actions, actions, &ppo->worlds->generators[w],
                             &r->log_probability[first + w]);
    ppo->failed = !env_batch_step(ppo->worlds, ppo->actions);
    for (uint32_t w = 0; w < worlds && !ppo->failed; w++)
        note_step(ppo, w, first + w, factor);
    ppo->failed = ppo->failed || !env_batch_restart(ppo->worlds);
}

void ppo_play(struct ppo *ppo)
{
    struct ppo_rollout *r = &ppo->rollout;
    uint32_t worlds = ppo->settings.worlds, dim = ppo->env->state_dim;
    size_t row = (size_t)worlds * dim;
    double factor = ppo_reward_factor(ppo, &ppo->frozen);
    for (uint32_t t = 0; t <= ppo->settings.steps && !ppo->failed; t++) {
        write_states(ppo, r->states + t * row);
        if (t == ppo->settings.steps)
            break;
        if (ppo->guidance.plain)
            memcpy(ppo->guidance.plain + t * row, ppo->worlds->observations, row * sizeof(float));
        if (ppo->settings.normalize_observations)
            normalizer_see(&ppo->seen.observations, dim, ppo->worlds->observations, worlds);
        memcpy(batch_input(ppo->acting), r->states + t * row, row * sizeof(float));
        step_worlds(ppo, t, factor);
    }
    ppo->transitions += (uint64_t)ppo->settings.steps * worlds;
    if (!ppo->failed)
        judge_states(ppo);
}
