/* The table of worlds: one line each. */
#include "envs/env.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "envs/acrobot.h"
#include "envs/cartpole.h"
#include "envs/factory.h"
#include "envs/fund.h"
#include "envs/hiv.h"
#include "envs/lunar_lander.h"
#include "envs/ward.h"
#include "memory/memory.h"

static const struct env *const table[] = {
    &cartpole_env, &acrobot_env, &hiv_env, &lunar_lander_env, &ward_env, &fund_env, &factory_env,
};

const struct env *const *env_all(unsigned *count)
{
    *count = sizeof table / sizeof table[0];
    return table;
}

const struct env *env_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

void env_defaults(const struct env *env, double *values)
{
    assert(env->parameter_count <= ENV_MAX_PARAMETERS);
    for (unsigned i = 0; i < ENV_MAX_PARAMETERS; i++)
        values[i] = i < env->parameter_count ? env->parameters[i].value : 0.0;
}

int env_parameter_index(const struct env *env, const char *name)
{
    for (unsigned i = 0; i < env->parameter_count; i++)
        if (strcmp(env->parameters[i].name, name) == 0)
            return (int)i;
    return -1;
}

void *env_open(const struct env *env)
{
    void *state = memory_new(1, env->state_size);
    if (env->open && !env->open(env, state)) {
        free(state);
        return NULL;
    }
    return state;
}

void env_close(const struct env *env, void *state)
{
    if (!state)
        return;
    if (env->close)
        env->close(state);
    free(state);
}
