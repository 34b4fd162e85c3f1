/* PPO's roll-out: all worlds take a step together, so that the policy sees one batch a step. The
 * value network is asked once, for the whole roll-out. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/online/ppo_state.h"

void ppo_begin_episode(struct ppo *ppo, uint32_t w)
{
    struct ppo_world *world = &ppo->world[w];
    world->episode_return = 0.0;
    world->episode_steps = 0;
    if (!ppo->env->reset(ppo->instances[w], ppo->physics, &ppo->rng, world->observation))
        ppo->failed = true;
}

static void write_observation(const struct ppo *ppo, uint32_t w, float *row)
{
    for (unsigned k = 0; k < ppo->env->state_dim; k++)
        row[k] = (float)ppo->world[w].observation[k];
}

/* An action drawn from softmax(logits), and its log probability. */
static uint32_t draw_action(const float *logits, uint32_t actions, struct rng *rng,
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
    double u = sum * rng_uniform(rng);
    uint32_t action = 0;
    while (action + 1 < actions && u >= weight[action])
        u -= weight[action++];
    *log_probability = (float)(logits[action] - top - log(sum));
    return action;
}

static void end_episode(struct ppo *ppo, uint32_t w)
{
    ppo->recent[ppo->episodes % PPO_RECENT] = ppo->world[w].episode_return;
    ppo->episodes++;
    ppo_begin_episode(ppo, w);
}

/* The value of where an episode was cut off: the world would have gone on from there. */
static float value_of_cut(struct ppo *ppo, uint32_t w)
{
    float row[ENV_MAX_STATE_DIM], value;
    write_observation(ppo, w, row);
    mlp_forward_one(&ppo->value_shape, ppo->weights + ppo->policy_count, row, &value, ppo->scratch);
    return value;
}

static void step_world(struct ppo *ppo, uint32_t w, size_t i, const float *logits)
{
    struct ppo_rollout *r = &ppo->rollout;
    struct ppo_world *world = &ppo->world[w];
    uint32_t action =
        draw_action(logits, ppo->env->action_count, &ppo->rng, &r->log_probability[i]);
    struct env_outcome outcome =
        ppo->env->step(ppo->instances[w], ppo->physics, action, &ppo->rng, world->observation);
    if (outcome.failed)
        ppo->failed = true;
    world->episode_return += outcome.reward;
    world->episode_steps++;
    bool truncated = world->episode_steps >= ppo->settings.step_limit;
    r->actions[i] = action;
    r->reward[i] = (float)(outcome.reward * ppo->settings.reward_scale);
    r->ended[i] = outcome.terminated || truncated;
    r->next_value[i] = 0.0F;
    if (!r->ended[i])
        return;
    if (!outcome.terminated)
        r->next_value[i] = value_of_cut(ppo, w);
    end_episode(ppo, w);
}

/* Values of all states of the roll-out, a workspace at a time; then those that follow. */
static void judge(struct ppo *ppo)
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
    for (size_t i = 0; i < total - worlds; i++) {
        if (!r->ended[i])
            r->next_value[i] = r->value[i + worlds];
    }
}

void ppo_play(struct ppo *ppo)
{
    struct ppo_rollout *r = &ppo->rollout;
    uint32_t worlds = ppo->settings.worlds;
    size_t dim = ppo->env->state_dim, row = worlds * dim;
    for (uint32_t t = 0; t <= ppo->settings.steps; t++) {
        for (uint32_t w = 0; w < worlds; w++)
            write_observation(ppo, w, r->states + t * row + w * dim);
        if (t == ppo->settings.steps)
            break;
        memcpy(batch_input(ppo->acting), r->states + t * row, row * sizeof(float));
        const float *logits = batch_forward(ppo->acting, ppo->weights, worlds);
        for (uint32_t w = 0; w < worlds; w++)
            step_world(ppo, w, (size_t)t * worlds + w, logits + (size_t)w * ppo->env->action_count);
    }
    ppo->transitions += (uint64_t)ppo->settings.steps * worlds;
    judge(ppo);
}
