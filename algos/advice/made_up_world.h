/* Worlds that are made up from a seed, and experts who play in them: data of the same shape as
 * somebody's, of nobody.
 *
 * A state z moves within -1..1 in every coordinate: z' = 0.7 z + 0.1 push[a] + 0.35 N(0, 1), cut
 * off there. What a learner sees of coordinate d is middle[d] + half[d] z[d]. At every state one
 * action is the right one: the largest of random functions of z, each a linear one and a small
 * layer of tanh. It earns 1 and every other action 0, so that random play earns 1 / actions a step
 * and the best play 1. Episodes do not terminate. */
#ifndef TACET_ALGOS_ADVICE_MADE_UP_WORLD_H
#define TACET_ALGOS_ADVICE_MADE_UP_WORLD_H

#include "algos/algorithm.h"

#define MADE_UP_UNITS 4 /* of the layer */

struct made_up_world {
    struct env env; /* points into this struct, which must not move while env is used */
    double middle[ENV_MAX_STATE_DIM], half[ENV_MAX_STATE_DIM];
    double push[ENV_MAX_ACTIONS][ENV_MAX_STATE_DIM];
    double linear[ENV_MAX_ACTIONS][ENV_MAX_STATE_DIM];
    double layer[MADE_UP_UNITS][ENV_MAX_STATE_DIM];
    double bent[ENV_MAX_ACTIONS][MADE_UP_UNITS];
};

/* Makes the world of SEED with REQUEST's state_dim (1 .. ENV_MAX_STATE_DIM) and action_count (2 ..
 * ENV_MAX_ACTIONS). States lie within the request's features; where there are none within its grid
 * of declared states; else where its input_center and input_scale, which its algorithm must have
 * (offline.h), bring them to -2..2. */
void made_up_world_init(struct made_up_world *world, const struct algorithm_request *request,
                        uint64_t seed);

/* The right action where a learner sees OBSERVATION[state_dim]. */
unsigned made_up_world_target(const struct made_up_world *world, const double *observation);

/* How much the experts leave. */
struct made_up_size {
    uint32_t experts;      /* at least 1 */
    uint32_t trajectories; /* of each */
    uint32_t steps;        /* of a trajectory */
};

#define MADE_UP_SKILL_LOW  0.5
#define MADE_UP_SKILL_HIGH 0.98

/* Trajectories of experts in WORLD from SEED. Each takes the right action with a probability of its
 * own, evenly spread over MADE_UP_SKILL_LOW .. _HIGH, and else a random one, mixed to the floor of
 * MIN_ACTION_PROBABILITY. *OUT_MEAN is their mean return. The caller frees the result. */
struct dataset *made_up_experts(const struct made_up_world *world, const struct made_up_size *size,
                                double min_action_probability, uint64_t seed, double *out_mean);

#endif
