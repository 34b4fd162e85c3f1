/* The lunar lander of Gymnasium's LunarLander-v3 (discrete): land two legs softly between the flags
 * by firing a main and two side engines. See lunar_lander.cpp for the physics. */
#ifndef TACET_ENVS_LUNAR_LANDER_H
#define TACET_ENVS_LUNAR_LANDER_H

#include "envs/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Observation: x and y of the lander from the landing pad (half the picture is 1), their speeds,
 * angle (rad), angular speed (20/50 of rad/s), and 1 or 0 for each leg that touches the ground.
 * Four actions: 0 nothing, 1 left engine, 2 main engine, 3 right engine. Each step gives what was
 * gained in closeness, slowness and uprightness, less the fuel. It terminates, with +100, when the
 * lander has come to rest, and with -100 when its body touches the ground or it leaves the picture;
 * it stands still from then on. Gymnasium's own world is the default here: gravity -10, no wind.
 * Wind blows there when enable_wind is set, here when wind_power or turbulence_power is above 0. */
extern const struct env lunar_lander_env;

#define LUNAR_LANDER_HEIGHTS 12

/* All random numbers at the start of an episode. */
struct lunar_lander_start {
    double heights[LUNAR_LANDER_HEIGHTS]; /* of the ground, uniform from 0 to 20/3; 3 to 7 lie
                                             under the pad and are ignored */
    double force[2];                      /* first push on the lander, uniform from -1000 to 1000 */
    int wind_index, turbulence_index;     /* phase at which wind and turbulence begin: -9999 to
                                           * 9998; 0 without wind */
};

/* Does what lunar_lander_env.reset does after drawing START, in the order of START's members and of
 * the reference. STATE is open. False: no memory, or a number of START or PARAMETERS is out of
 * range; STATE then needs another reset. */
bool lunar_lander_begin(void *state, const double *parameters,
                        const struct lunar_lander_start *start, double *observation);

/* Does what lunar_lander_env.step does after drawing DISPERSION: two numbers uniform from -1 to 1,
 * by which the engines miss. */
struct env_outcome lunar_lander_advance(void *state, const double *parameters, unsigned action,
                                        const double *dispersion, double *observation);

#ifdef __cplusplus
}
#endif

#endif
