/* A world for audits of learners that play (play_audit.h): some of its users are canaries, each
 * there or not by a fair coin of its own.
 *
 * Every user sees a large number in one of the coordinates and acts. With a linear network a
 * gradient of this first step moves the weight from this coordinate to this action, and nearly
 * nothing else: each pair of both is a direction of its own. Users come in waves. The first user of
 * a wave, or of two neighbouring waves that share the coordinates between them, who has a direction
 * is its canary.
 *
 * Only a canary that is there gets a reward, or a second step. All others get a loss and their
 * episode ends: reinforce gives an episode of one step no weight, and dqn none to one of a low
 * return (return_power). So their gradient is exactly zero, as if the episode were emptied, and a
 * coin decides between two neighbours. A user's behaviour depends on its action and on who had
 * which action before in the same wave: on the world's chance and the weights, not on other coins.
 */
#ifndef TACET_ALGOS_ONLINE_CANARY_WORLD_H
#define TACET_ALGOS_ONLINE_CANARY_WORLD_H

#include "envs/env.h"

enum {
    CANARY_WORLD_SIDE = 16, /* coordinates, and actions: 256 directions */
    CANARY_WORLD_USERS = 8 * CANARY_WORLD_SIDE * CANARY_WORLD_SIDE, /* that suffice for nearly all
                                                                     * directions */
    CANARY_WORLD_ROUNDS = 64 /* at most, so many times all directions */
};

/* Positions of the world's parameters. Canary number c has the direction of coordinate c / 16 % 16
 * and action c % 16. */
enum canary_world_parameter {
    CANARY_COINS,       /* seed of the coins, a 32-bit number */
    CANARY_WAVE_USERS,  /* users of one wave */
    CANARY_WAVES_APART, /* 1: a wave has all coordinates; 2: it has half, the next the other half */
    CANARY_COUNT,       /* how many canaries; all later users are none */
    CANARY_EPISODE_STEPS, /* of a canary that is there: 1 or 2 */
    CANARY_PARAMETERS
};

#define CANARY_NOBODY UINT32_C(0xffffffff) /* coins with which no canary is there */

extern const struct env canary_world;

/* Whether CANARY is there by these COINS. */
bool canary_world_there(uint32_t coins, uint32_t canary);

#endif
