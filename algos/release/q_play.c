/* Plays one world, one episode after the other: evaluating the path takes the time, not the
 * world. */
#include "algos/release/q_play.h"

#include <math.h>

#include "envs/env_batch.h"

/* Finds the greedy action. False: a value is not a number. */
static bool greedy_action(const struct q_release *release, const float *observation,
                          uint32_t *action)
{
    const struct q_terms *t = q_release_terms(release);
    double state[ENV_MAX_STATE_DIM], values[ENV_MAX_ACTIONS];
    for (uint32_t i = 0; i < t->state_dim; i++)
        state[i] = fmin(fmax((double)observation[i], t->low[i]), t->high[i]);
    if (q_release_values(release, state, values, NULL) != Q_ANSWERED)
        return false;
    *action = 0;
    for (uint32_t a = 1; a < t->action_count; a++)
        *action = values[a] > values[*action] ? a : *action;
    return true;
}

static bool play_release(const struct q_release *release, struct env_batch *world, bool *not_finite,
                         double *out_return)
{
    if (!env_batch_reset(world, 0))
        return false;
    while (world->ended[0] == ENV_RUNNING) {
        uint32_t action;
        *not_finite = !greedy_action(release, world->observations, &action);
        if (*not_finite || !env_batch_step(world, &action))
            return false;
    }
    *out_return = world->returns[0];
    return true;
}

bool q_release_evaluate(const struct q_release *release, const struct env *env,
                        const double *parameters, uint32_t episodes, uint32_t max_steps,
                        uint64_t seed, struct policy_evaluation *out)
{
    const struct q_terms *t = q_release_terms(release);
    double mean = 0.0, squares = 0.0;
    bool not_finite = false;
    *out = (struct policy_evaluation){0};
    if (episodes == 0 || max_steps == 0 || t->state_dim != env->state_dim ||
        t->action_count != env->action_count)
        return false;
    struct env_batch *world = env_batch_new(env, 1, max_steps);
    bool good = world != NULL;
    if (good)
        env_batch_physics(world, 0, parameters);
    for (uint32_t e = 0; good && e < episodes; e++) {
        double one = 0.0;
        rng_seed(&world->generators[0], seed, e);
        good = play_release(release, world, &not_finite, &one);
        double difference = one - mean;
        mean += difference / (e + 1.0);
        squares += difference * (one - mean);
    }
    env_batch_free(world);
    if (!good) {
        *out = (struct policy_evaluation){.not_finite = not_finite, .broken = !not_finite};
        return false;
    }
    *out = (struct policy_evaluation){.mean_return = mean,
                                      .std_return =
                                          episodes > 1 ? sqrt(squares / (episodes - 1.0)) : 0.0,
                                      .episodes = episodes};
    return true;
}
