/* Forward, backward and play of the small actor and critic. Plain loops: the matrices are of a few
 * rows, and one episode is all that is ever computed at once. */
#include "algos/online/actor_critic.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/softmax.h"
#include "memory/memory.h"

/* Where the matrices lie in the vector of parameters. */
static size_t actor_at(const struct actor_critic *net)
{
    return (size_t)net->hidden * net->input;
}

static size_t critic_at(const struct actor_critic *net)
{
    return actor_at(net) + (size_t)net->actions * net->hidden;
}

size_t actor_critic_count(const struct actor_critic *net)
{
    return critic_at(net) + net->hidden;
}

static void initialize_matrix(struct rng *rng, uint32_t inputs, uint32_t outputs, float *out)
{
    double bound = sqrt(6.0 / ((double)inputs + outputs));
    for (size_t i = 0; i < (size_t)inputs * outputs; i++)
        out[i] = (float)rng_between(rng, -bound, bound);
}

void actor_critic_initialize(const struct actor_critic *net, struct rng *rng, float *parameters)
{
    initialize_matrix(rng, net->input, net->hidden, parameters);
    initialize_matrix(rng, net->hidden, net->actions, parameters + actor_at(net));
    initialize_matrix(rng, net->hidden, 1, parameters + critic_at(net));
}

static double dot_product(const float *a, const double *b, uint32_t n)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

bool actor_critic_forward(const struct actor_critic *net, const float *parameters,
                          const float *state, double *hidden, double *probabilities, double *value)
{
    for (uint32_t h = 0; h < net->hidden; h++) {
        const float *row = parameters + (size_t)h * net->input;
        double x = 0.0;
        for (uint32_t i = 0; i < net->input; i++)
            x += (double)row[i] * state[i];
        hidden[h] = x > 0.0 ? x : 0.0;
    }
    const float *actor = parameters + actor_at(net);
    for (uint32_t a = 0; a < net->actions; a++)
        probabilities[a] = dot_product(actor + (size_t)a * net->hidden, hidden, net->hidden);
    *value = dot_product(parameters + critic_at(net), hidden, net->hidden);
    return softmax(probabilities, net->actions) && isfinite(*value);
}

struct policy *actor_critic_policy(const struct actor_critic *net, const float *parameters)
{
    const struct mlp_shape shape = {.input = net->input,
                                    .layer_count = 2,
                                    .width = {net->hidden, net->actions},
                                    .activation = MLP_RELU};
    struct policy *policy = memory_must(policy_new(&shape, POLICY_SOFTMAX));
    /* Each layer is its weights, then its biases (mlp.h). */
    size_t first = actor_at(net), second = (size_t)net->actions * net->hidden;
    memcpy(policy->parameters, parameters, first * sizeof(float));
    memcpy(policy->parameters + first + net->hidden, parameters + first, second * sizeof(float));
    return policy;
}

/* ---- playing */

void a3c_episode_init(struct a3c_episode *episode, const struct actor_critic *net,
                      uint32_t max_steps)
{
    assert(max_steps > 0);
    *episode = (struct a3c_episode){.max_steps = max_steps};
    episode->states = memory_new((max_steps + (size_t)1) * net->input, sizeof *episode->states);
    episode->actions = memory_new(max_steps, sizeof *episode->actions);
    episode->rewards = memory_new(max_steps, sizeof *episode->rewards);
    episode->hidden = memory_new(net->hidden, sizeof *episode->hidden);
}

void a3c_episode_clear(struct a3c_episode *episode)
{
    free(episode->states);
    free(episode->actions);
    free(episode->rewards);
    free(episode->hidden);
    *episode = (struct a3c_episode){0};
}

static uint32_t explore_or_choose(const double *probabilities, uint32_t actions,
                                  struct a3c_choice choice, struct rng *rng)
{
    uint32_t best = 0;
    if (rng_uniform(rng) < choice.exploration)
        return rng_below(rng, actions);
    if (!choice.greedy)
        return softmax_draw(probabilities, actions, 1.0, rng);
    for (uint32_t a = 1; a < actions; a++)
        best = probabilities[a] > probabilities[best] ? a : best;
    return best;
}

bool a3c_play(struct a3c_episode *episode, const struct actor_critic *net, const float *parameters,
              const struct env *env, void *state, const double *physics, struct a3c_choice choice,
              struct rng *rng)
{
    assert(env->state_dim == net->input && env->action_count == net->actions);
    double seen[ENV_MAX_STATE_DIM], probabilities[ENV_MAX_ACTIONS], value;
    episode->steps = 0;
    episode->terminated = false;
    episode->score = 0.0;
    if (!env->reset(state, physics, rng, seen))
        return false;
    for (;;) {
        float *row = episode->states + (size_t)episode->steps * net->input;
        for (uint32_t i = 0; i < net->input; i++)
            row[i] = (float)seen[i];
        if (episode->terminated || episode->steps == episode->max_steps)
            return true;
        bool finite =
            actor_critic_forward(net, parameters, row, episode->hidden, probabilities, &value);
        for (uint32_t a = 0; a < net->actions && !finite; a++)
            probabilities[a] = 1.0 / net->actions;
        uint32_t action = explore_or_choose(probabilities, net->actions, choice, rng);
        struct env_outcome outcome = env->step(state, physics, action, rng, seen);
        if (outcome.failed)
            return false;
        episode->actions[episode->steps] = (uint16_t)action;
        episode->rewards[episode->steps++] = outcome.reward;
        episode->score += outcome.reward;
        episode->terminated = outcome.terminated;
    }
}

/* ---- the gradient */

/* Adds to GRADIENT the part of one step, from ERROR (dL/dlogits) and VALUE_ERROR (dL/dV) at STATE,
 * whose hidden layer is HIDDEN. */
static void add_step_gradient(const struct actor_critic *net, const float *parameters,
                              const float *state, const double *hidden, const double *error,
                              double value_error, double *gradient)
{
    const float *actor = parameters + actor_at(net), *critic = parameters + critic_at(net);
    for (uint32_t h = 0; h < net->hidden; h++) {
        if (hidden[h] <= 0.0)
            continue;
        double below = value_error * critic[h];
        for (uint32_t a = 0; a < net->actions; a++) {
            size_t i = (size_t)a * net->hidden + h;
            below += error[a] * actor[i];
            gradient[actor_at(net) + i] += error[a] * hidden[h];
        }
        gradient[critic_at(net) + h] += value_error * hidden[h];
        for (uint32_t i = 0; i < net->input; i++)
            gradient[(size_t)h * net->input + i] += below * state[i];
    }
}

/* Replaces the probabilities P by dL/dlogits of one step. */
static void policy_error(double *p, uint32_t actions, uint32_t action, double advantage,
                         double entropy_weight)
{
    double entropy = 0.0;
    for (uint32_t a = 0; a < actions; a++)
        entropy -= p[a] > 0.0 ? p[a] * log(p[a]) : 0.0;
    for (uint32_t a = 0; a < actions; a++) {
        double of_entropy = p[a] > 0.0 ? p[a] * (log(p[a]) + entropy) : 0.0;
        p[a] = advantage * (p[a] - (a == action ? 1.0 : 0.0)) + entropy_weight * of_entropy;
    }
}

/* The return from step T on: the rewards before the step END, then that state's value, which is 0
 * where the episode terminated. False: it is not finite. */
static bool return_until(struct a3c_episode *episode, const struct actor_critic *net,
                         const float *parameters, double discount, uint32_t t, uint32_t end,
                         double *out)
{
    double p[ENV_MAX_ACTIONS], value = 0.0;
    const float *state = episode->states + (size_t)end * net->input;
    if ((end < episode->steps || !episode->terminated) &&
        !actor_critic_forward(net, parameters, state, episode->hidden, p, &value))
        return false;
    for (uint32_t k = end; k-- > t;)
        value = episode->rewards[k] + discount * value;
    *out = value;
    return true;
}

bool a3c_gradient(struct a3c_episode *episode, const struct actor_critic *net,
                  const float *parameters, const struct a3c_settings *settings, double *gradient)
{
    double p[ENV_MAX_ACTIONS] = {0}, value = 0.0, to_go = 0.0;
    size_t count = actor_critic_count(net);
    uint32_t steps = episode->steps, ahead = settings->return_steps;
    memset(gradient, 0, count * sizeof *gradient);
    if (!return_until(episode, net, parameters, settings->discount, steps, steps, &to_go))
        return false;
    for (uint32_t t = steps; t-- > 0;) {
        const float *state = episode->states + (size_t)t * net->input;
        to_go = episode->rewards[t] + settings->discount * to_go;
        if (ahead > 0 && ahead < steps - t &&
            !return_until(episode, net, parameters, settings->discount, t, t + ahead, &to_go))
            return false;
        if (!actor_critic_forward(net, parameters, state, episode->hidden, p, &value))
            return false;
        double advantage = to_go - value;
        policy_error(p, net->actions, episode->actions[t], advantage, settings->entropy_weight);
        add_step_gradient(net, parameters, state, episode->hidden, p,
                          -2.0 * settings->value_weight * advantage, gradient);
    }
    for (size_t i = 0; i < count; i++) {
        gradient[i] /= settings->mean && steps > 0 ? steps : 1.0;
        if (!isfinite(gradient[i]))
            return false;
    }
    return true;
}
