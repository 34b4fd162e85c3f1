/* An episode whose work does not tell when it ended. Behind its end a stand-in is played: a second
 * instance of the world, whose states are given and whose rewards are dropped. So N calls make N
 * steps of the world, and the caller evaluates the network N times, whatever the actions are. Each
 * step's own time still depends on the world and its state. */
#ifndef TACET_ALGOS_OFFLINE_STEADY_EPISODE_H
#define TACET_ALGOS_OFFLINE_STEADY_EPISODE_H

#include <stdbool.h>
#include <stdint.h>

#include "envs/env.h"

struct steady_world {
    void *state;
    struct rng rng;
    bool ready; /* it was reset, and has not ended */
};

struct steady_episode {
    const struct env *env; /* borrowed */
    double parameters[ENV_MAX_PARAMETERS];
    struct steady_world own, stand_in;
    uint32_t steps; /* since the start */
};

/* One step of the episode. */
struct steady_step {
    double reward;
    bool made; /* false: the episode was over before, or the world broke; the rest means nothing */
    bool finite; /* the new state is */
    bool terminated;
};

/* Opens an episode in ENV with its default parameters, for steady_episode_close. */
void steady_episode_open(struct steady_episode *episode, const struct env *env);

/* Frees what it owns. */
void steady_episode_close(struct steady_episode *episode);

/* Starts anew from the coins (SEED, STREAM) and writes STATE[state_dim]. False: the world gave no
 * finite state; then the episode is over. */
bool steady_episode_start(struct steady_episode *episode, uint64_t seed, uint64_t stream,
                          float *state);

/* Makes exactly one step of the world and writes STATE[state_dim], always finite: the episode's, or
 * the stand-in's once the episode is over. It is over after a step that terminated, that gave a
 * state that is not finite, or that the world could not take. (The stand-in makes no step in a
 * world that gives it no start.) */
struct steady_step steady_episode_step(struct steady_episode *episode, unsigned action,
                                       float *state);

#endif
