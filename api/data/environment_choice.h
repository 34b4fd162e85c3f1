/* A caller's choice of a world and its physics: "cartpole", or {"name":"cartpole",
 * "parameters":{"gravity":11}}, where a parameter that is left out has its default. */
#ifndef TACET_API_DATA_ENVIRONMENT_CHOICE_H
#define TACET_API_DATA_ENVIRONMENT_CHOICE_H

#include <jansson.h>
#include <stdbool.h>

#include "envs/env.h"

struct call;

struct environment_choice {
    const struct env *env;
    double parameters[ENV_MAX_PARAMETERS]; /* in the order of env's own table; the rest is 0 */
};

/* Reads VALUE, which stands at POINTER in the body. REGISTERED: it may be a world that a client
 * registered. False: the faults are in the call, each at its
 * own pointer (/environment/parameters/gravity), and OUT->env is NULL. */
bool environment_choice_read(struct call *call, const char *pointer, const json_t *value,
                             bool registered, struct environment_choice *out);

#endif
