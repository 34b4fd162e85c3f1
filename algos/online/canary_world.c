/* Users, directions and coins. */
#include "algos/online/canary_world.h"

#include <string.h>

#define LARGE  20.0 /* a user's state, so large that the gradient of the biases hardly counts */
#define REWARD 1e6

enum {
    SIDE = CANARY_WORLD_SIDE,
    DIRECTIONS = SIDE * SIDE,
    MOST_CANARIES = CANARY_WORLD_ROUNDS * DIRECTIONS
};

static const struct env_parameter world_parameters[CANARY_PARAMETERS] = {
    [CANARY_COINS] = {"coins", CANARY_NOBODY, 0, CANARY_NOBODY, "", "Seed of the canaries' coins."},
    [CANARY_WAVE_USERS] = {"wave_users", CANARY_WORLD_USERS, 1, CANARY_WORLD_USERS, "users",
                           "Who are of one wave."},
    [CANARY_WAVES_APART] = {"waves_apart", 1, 1, 2, "waves", "So many waves share no coordinate."},
    [CANARY_COUNT] = {"canaries", DIRECTIONS, 1, MOST_CANARIES, "", "How many there are."},
    [CANARY_EPISODE_STEPS] = {"episode_steps", 1, 1, 2, "steps", "Of a canary that is there."},
};

struct canary_state {
    uint32_t users;            /* so far */
    uint32_t wave, coordinate; /* of the last */
    uint32_t steps;            /* that it has made */
    bool taken[MOST_CANARIES]; /* canaries that have come */
};

bool canary_world_there(uint32_t coins, uint32_t canary)
{
    struct rng rng;
    rng_seed(&rng, coins, canary);
    return coins != CANARY_NOBODY && rng_next(&rng) >> 63;
}

static bool canary_reset(void *state, const double *parameters, struct rng *rng,
                         double *observation)
{
    struct canary_state *world = state;
    const uint32_t apart = (uint32_t)parameters[CANARY_WAVES_APART], width = SIDE / apart;
    (void)rng;
    world->wave = world->users / (uint32_t)parameters[CANARY_WAVE_USERS];
    world->coordinate = world->wave % apart * width + world->users % width;
    world->users++;
    world->steps = 0;
    memset(observation, 0, SIDE * sizeof *observation);
    observation[world->coordinate] = LARGE;
    return true;
}

/* Whether this user with this first action is a canary that is there. */
static bool canary_meets(struct canary_state *world, const double *parameters, uint32_t action)
{
    const uint32_t block = world->wave / (uint32_t)parameters[CANARY_WAVES_APART];
    const uint32_t canary = block * DIRECTIONS + world->coordinate * SIDE + action;
    if (canary >= (uint32_t)parameters[CANARY_COUNT] || world->taken[canary])
        return false;
    world->taken[canary] = true;
    return canary_world_there((uint32_t)parameters[CANARY_COINS], canary);
}

static struct env_outcome canary_step(void *state, const double *parameters, unsigned action,
                                      struct rng *rng, double *observation)
{
    struct canary_state *world = state;
    const bool first = world->steps++ == 0;
    (void)rng;
    memset(observation, 0, SIDE * sizeof *observation);
    if (!first)
        return (struct env_outcome){.reward = 0.0, .terminated = true};
    bool there = canary_meets(world, parameters, action);
    bool goes_on = there && parameters[CANARY_EPISODE_STEPS] > 1.0;
    return (struct env_outcome){.reward = there ? REWARD : -REWARD, .terminated = !goes_on};
}

const struct env canary_world = {.name = "canaries",
                                 .state_dim = SIDE,
                                 .action_count = SIDE,
                                 .max_episode_steps = 2,
                                 .parameters = world_parameters,
                                 .parameter_count = CANARY_PARAMETERS,
                                 .state_size = sizeof(struct canary_state),
                                 .reset = canary_reset,
                                 .step = canary_step};
