/* The one-dimensional world of Wang and Hegde 2019, rebuilt from its description: a state in
 * [0, 1], action 0 moves up and action 1 down by up to 1/4, uniformly, the reward is 1/2 minus the
 * distance from the middle, 50 steps an episode. Not in the service's table of worlds. */
#ifndef TACET_BENCH_GP_LINE_H
#define TACET_BENCH_GP_LINE_H

#include "algos/data/dataset.h"
#include "algos/policy.h"

#define LINE_STEPS 50

extern const struct env line_world;

/* One transition from STATE, which becomes the next one; gives the reward. */
double line_step(double *state, uint32_t action, struct rng *rng);

/* The mean return of EPISODES in which CHOOSE(CONTEXT, state) gives the action. */
double line_return(unsigned episodes, uint32_t (*choose)(const void *context, double state),
                   const void *context, struct rng *rng);

/* EXPERTS of one episode each under uniformly random actions, and who they are; rewards are less
 * SHIFT, a public constant. NULL: no memory. */
struct dataset *line_experts(uint32_t experts, double shift, uint64_t seed);

/* The same of EXPERTS who balance the pole of CartPole with gains of their own, one action in five
 * at random, one episode of at most 100 steps each. */
struct dataset *pole_experts(uint32_t experts, uint64_t seed);

#endif
