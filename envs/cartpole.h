/* The cart and pole of Barto, Sutton and Anderson (1983) as Gymnasium's CartPole-v1 computes it:
 * push a cart left or right so that the pole on it stays up. See cartpole.c for the equations. */
#ifndef TACET_ENVS_CARTPOLE_H
#define TACET_ENVS_CARTPOLE_H

#include "envs/env.h"

/* What the caller's STATE bytes hold; also the observation, in this order. */
struct cartpole_state {
    double x;         /* cart position, m */
    double x_dot;     /* m/s */
    double theta;     /* pole angle from upright, rad */
    double theta_dot; /* rad/s */
};

/* Two actions: 0 pushes left, 1 right. Reward 1 for every step, the terminating one included,
 * unless sutton_barto_reward is set. */
extern const struct env cartpole_env;

#endif
