/* The settings of a recorded episode: parameters of our world, and constants that our world fixes.
 */
#ifndef TACET_API_WIRE_REPLAY_SETTINGS_H
#define TACET_API_WIRE_REPLAY_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "envs/replay.h"

/* Reads the object PARAMS into parameters and limit of *OUT. False: REASON (of SIZE) says which
 * setting is none of this world, or is beyond its bounds. */
bool replay_settings_read(const struct replay_world *world, const json_t *params,
                          struct replay_case *out, char *reason, size_t size);

#endif
