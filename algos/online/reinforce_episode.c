/* Episodes of REINFORCE and the gradients of their losses. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/softmax.h"
#include "algos/online/reinforce.h"

#include "algos/online/online_run.h"
#include "memory/memory.h"

/* Room for the rounding of the factor and of the scaled gradient. */
#define ROUNDING_MARGIN (1.0 - 0x1p-20)

void reinforce_episode_init(struct reinforce_episode *episode, uint32_t input, uint32_t max_steps)
{
    assert(input > 0 && max_steps > 0 && max_steps <= ONLINE_MAX_STEPS);
    *episode = (struct reinforce_episode){.max_steps = max_steps};
    episode->states = memory_new((size_t)max_steps * input, sizeof *episode->states);
    episode->actions = memory_new(max_steps, sizeof *episode->actions);
    episode->rewards = memory_new(max_steps, sizeof *episode->rewards);
    episode->weights = memory_new(max_steps, sizeof *episode->weights);
}

void reinforce_episode_clear(struct reinforce_episode *episode)
{
    free(episode->states);
    free(episode->actions);
    free(episode->rewards);
    free(episode->weights);
    *episode = (struct reinforce_episode){0};
}

/* Writes the softmax of LOGITS to P. False: it is not finite. */
static bool probabilities_of(const float *logits, uint32_t n, double *p)
{
    for (uint32_t a = 0; a < n; a++)
        p[a] = logits[a];
    return softmax(p, n);
}

enum reinforce_play reinforce_play(struct reinforce_episode *episode, const struct mlp_shape *shape,
                                   const float *parameters, const struct env *env, void *state,
                                   const double *physics, const struct reinforce_view *view,
                                   struct rng *rng, float *scratch)
{
    double seen[ENV_MAX_STATE_DIM], p[ENV_MAX_ACTIONS];
    float logits[ENV_MAX_ACTIONS];
    episode->steps = 0;
    episode->score = 0.0;
    if (!env->reset(state, physics, rng, seen))
        return REINFORCE_WORLD_BROKE;
    while (episode->steps < episode->max_steps) {
        float *row = episode->states + (size_t)episode->steps * shape->input;
        for (uint32_t i = 0; i < shape->input; i++)
            row[i] = (float)seen[i];
        if (view->bounds)
            observation_hide(view->bounds, view->plan, view->noise, row);
        mlp_forward_one(shape, parameters, row, logits, scratch);
        bool finite = probabilities_of(logits, env->action_count, p);
        if (!finite && !view->goes_on)
            return REINFORCE_NOT_FINITE;
        for (uint32_t a = 0; a < env->action_count && !finite; a++)
            p[a] = 1.0 / env->action_count;
        uint32_t action = softmax_draw(p, env->action_count, 1.0, rng);
        struct env_outcome outcome = env->step(state, physics, action, rng, seen);
        if (outcome.failed)
            return REINFORCE_WORLD_BROKE;
        episode->actions[episode->steps] = (uint16_t)action;
        episode->rewards[episode->steps++] = outcome.reward;
        episode->score += outcome.reward;
        if (outcome.terminated)
            break;
    }
    return REINFORCE_PLAYED;
}

void reinforce_weigh(struct reinforce_episode *episode, double discount)
{
    uint32_t n = episode->steps;
    double to_go = 0.0, mean = 0.0, squares = 0.0;
    for (uint32_t t = n; t-- > 0;) {
        to_go = episode->rewards[t] + discount * to_go;
        episode->weights[t] = to_go;
        mean += to_go / n;
    }
    for (uint32_t t = 0; t < n; t++)
        squares += (episode->weights[t] - mean) * (episode->weights[t] - mean) / n;
    double deviation = sqrt(squares);
    bool alike = !(deviation > 1e-9 * fabs(mean)) || !isfinite(deviation);
    for (uint32_t t = 0; t < n; t++)
        episode->weights[t] = alike ? 0.0 : (episode->weights[t] - mean) / deviation;
}

void reinforce_gradient(const struct reinforce_episode *episode, struct batch *batch,
                        const float *parameters, float *gradient)
{
    const struct mlp_shape *shape = &batch->shape;
    size_t count = mlp_parameter_count(shape);
    uint32_t actions = shape->width[shape->layer_count - 1];
    bool finite = true;
    memset(gradient, 0, count * sizeof *gradient);
    for (uint32_t first = 0; first < episode->steps && finite; first += batch->capacity) {
        uint32_t left = episode->steps - first;
        uint32_t rows = left < batch->capacity ? left : batch->capacity;
        memcpy(batch_input(batch), episode->states + (size_t)first * shape->input,
               (size_t)rows * shape->input * sizeof(float));
        const float *logits = batch_forward(batch, parameters, rows);
        float *error = batch_output_error(batch);
        for (uint32_t i = 0; i < rows && finite; i++) {
            double p[ENV_MAX_ACTIONS], weight = episode->weights[first + i];
            finite = probabilities_of(logits + (size_t)i * actions, actions, p);
            for (uint32_t a = 0; a < actions && finite; a++) {
                double taken = a == episode->actions[first + i] ? 1.0 : 0.0;
                error[(size_t)i * actions + a] = (float)(weight * (p[a] - taken));
            }
        }
        if (finite) {
            batch_backward(batch, parameters, rows);
            batch_gradient_add(batch, rows, gradient);
        }
    }
    for (size_t i = 0; i < count && finite; i++)
        finite = isfinite(gradient[i]);
    if (!finite)
        memset(gradient, 0, count * sizeof *gradient);
}

void reinforce_add_clipped(const float *gradient, size_t count, double clip_norm, float *sum)
{
    double squares = 0.0, factor = 1.0;
    for (size_t i = 0; i < count; i++)
        squares += (double)gradient[i] * (double)gradient[i];
    double norm = sqrt(squares);
    if (clip_norm > 0.0 && norm > clip_norm * ROUNDING_MARGIN)
        factor = clip_norm / norm * ROUNDING_MARGIN;
    if (!isfinite(norm)) /* the sum of its squares overflows a double, so nothing of it is used */
        return;
    for (size_t i = 0; i < count; i++)
        sum[i] += (float)(factor * (double)gradient[i]);
}
