/* The acrobot of Sutton (1996) as Gymnasium's Acrobot-v1 computes it: two links hang from a fixed
 * pivot; a torque at the joint between them alone must swing the free end above the height of one
 * link over the pivot. See acrobot.c for the equations. */
#ifndef TACET_ENVS_ACROBOT_H
#define TACET_ENVS_ACROBOT_H

#include "envs/env.h"

/* What the caller's STATE bytes hold. */
struct acrobot_state {
    double theta1;     /* angle of link 1, 0 hangs down, rad in [-pi, pi] */
    double theta2;     /* angle of link 2 relative to link 1, rad in [-pi, pi] */
    double theta1_dot; /* rad/s, within +- 4 pi */
    double theta2_dot; /* rad/s, within +- 9 pi */
};

/* Three actions: torque -1, 0 and +1 N m for 0, 1 and 2. Reward -1 for every step but the
 * terminating one, which gives 0. The observation is cos theta1, sin theta1, cos theta2,
 * sin theta2, theta1_dot, theta2_dot. */
extern const struct env acrobot_env;

#endif
