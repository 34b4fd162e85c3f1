/* A machine and the jobs that wait for it, in a quarter of an hour per step. It is made up, for
 * examples and for judging how well a policy learned from logged data. See factory.c for the
 * equations. */
#ifndef TACET_ENVS_FACTORY_H
#define TACET_ENVS_FACTORY_H

#include "envs/env.h"

/* What the caller's STATE bytes hold; the observation is these three in this order. */
struct factory_state {
    double temperature; /* of the machine, degrees Celsius, 20 .. 150 */
    double wear;        /* of the tool, per cent, 0 .. 100 */
    double queue;       /* jobs that wait, 0 .. 50 */
};

/* Three actions: 0 run slowly, 1 run fast, 2 maintain. A breakdown terminates. */
extern const struct env factory_env;

#endif
