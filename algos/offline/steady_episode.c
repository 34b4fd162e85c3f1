/* DESIGN. The stand-in is a separate instance. Restarting the episode's own instance would take a
 * reset at each end, which may be slower than a step, so time would depend on the episodes'
 * lengths. The stand-in is reset at public times: at every step if the world holds no resource,
 * because a reset is then cheap, and else every few steps. It ends before only in a world that
 * holds a resource and whose episodes are shorter. */
#include "algos/offline/steady_episode.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "memory/memory.h"

#define STEPS_BETWEEN_RESETS 8 /* in a world that holds a resource */

void steady_episode_open(struct steady_episode *episode, const struct env *env)
{
    *episode = (struct steady_episode){.env = env};
    env_defaults(env, episode->parameters);
    episode->own.state = memory_must(env_open(env));
    episode->stand_in.state = memory_must(env_open(env));
}

void steady_episode_close(struct steady_episode *episode)
{
    env_close(episode->env, episode->own.state);
    env_close(episode->env, episode->stand_in.state);
}

/* Rounds OBSERVATION to STATE. False: it is not finite, and STATE is zero. */
static bool take_state(const struct env *env, const double *observation, float *state)
{
    bool finite = true;
    for (unsigned i = 0; i < env->state_dim; i++) {
        state[i] = (float)observation[i];
        finite = finite && isfinite(state[i]);
    }
    if (!finite)
        memset(state, 0, env->state_dim * sizeof *state);
    return finite;
}

static bool reset_world(struct steady_episode *episode, struct steady_world *world, float *state)
{
    double observation[ENV_MAX_STATE_DIM] = {0};
    world->ready = episode->env->reset(world->state, episode->parameters, &world->rng, observation);
    if (!take_state(episode->env, observation, state))
        world->ready = false;
    return world->ready;
}

bool steady_episode_start(struct steady_episode *episode, uint64_t seed, uint64_t stream,
                          float *state)
{
    float unused[ENV_MAX_STATE_DIM];
    rng_seed(&episode->own.rng, seed, stream);
    rng_seed(&episode->stand_in.rng, seed, ~stream);
    episode->steps = 0;
    (void)reset_world(episode, &episode->stand_in, unused);
    return reset_world(episode, &episode->own, state);
}

static struct steady_step step_world(struct steady_episode *episode, struct steady_world *world,
                                     unsigned action, float *state)
{
    double observation[ENV_MAX_STATE_DIM] = {0};
    struct env_outcome outcome =
        episode->env->step(world->state, episode->parameters, action, &world->rng, observation);
    struct steady_step step = {.reward = outcome.reward,
                               .made = !outcome.failed,
                               .finite = take_state(episode->env, observation, state),
                               .terminated = outcome.terminated};
    world->ready = step.made && step.finite && !step.terminated;
    return step;
}

struct steady_step steady_episode_step(struct steady_episode *episode, unsigned action,
                                       float *state)
{
    struct steady_world *stand_in = &episode->stand_in;
    float unused[ENV_MAX_STATE_DIM];
    assert(action < episode->env->action_count);
    episode->steps++;
    bool is_time = !episode->env->open || episode->steps % STEPS_BETWEEN_RESETS == 0;
    if (is_time || (!episode->own.ready && !stand_in->ready))
        (void)reset_world(episode, stand_in, unused);
    if (episode->own.ready)
        return step_world(episode, &episode->own, action, state);
    if (stand_in->ready)
        (void)step_world(episode, stand_in, action, state);
    else
        memset(state, 0, episode->env->state_dim * sizeof *state);
    return (struct steady_step){.made = false};
}
