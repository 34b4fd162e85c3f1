/* A world: a small table of facts and a few functions. The caller owns the state and the generator,
 * so any number of instances run on any number of threads. A new world is one file here and one
 * line in envs.c. */
#ifndef TACET_ENVS_ENV_H
#define TACET_ENVS_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envs/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ENV_MAX_PARAMETERS 16
#define ENV_MAX_STATE_DIM  16
#define ENV_MAX_ACTIONS    16

/* One physical constant that a caller may vary. */
struct env_parameter {
    const char *name;
    double value; /* default */
    double min, max;
    const char *unit;
    const char *meaning;
};

/* The result of one step. Worlds have no clock; the caller truncates episodes. */
struct env_outcome {
    double reward;
    bool terminated;
    bool failed; /* the world broke, and the other members mean nothing; built-in worlds never
                  * break */
};

/* Instances side by side, for worlds that step ENV_LANES of them at once: number k of instance i's
 * STATE is state[k * stride + i], its parameter p parameters[p * stride + i]; the other arrays have
 * one place an instance, observations one row of state_dim. */
#define ENV_LANES 4
struct env_lanes {
    double *state;
    const double *parameters;
    size_t stride;
    const uint32_t *actions;
    float *observations;
    double *rewards;
    uint8_t *terminated; /* 0 or 1 */
};

struct env {
    const char *name;
    unsigned state_dim;         /* numbers in an observation */
    unsigned action_count;      /* actions are 0 .. action_count-1 */
    unsigned max_episode_steps; /* the usual limit; callers may choose another */
    double random_return;       /* mean return of the uniform policy, as a reference: within 200
                                 * steps, or within the usual limit where that is less */
    double step_work;           /* what a step costs in multiply-adds, where it is thousands */
    const struct env_parameter *parameters;
    unsigned parameter_count;
    size_t state_size; /* bytes the caller provides for STATE, aligned as double */

    /* For worlds whose STATE holds a resource: open is called once before the first reset, close
     * after the last step. Both are NULL where STATE holds no resource. False: no memory, or no
     * such world. Callers use env_open and env_close. */
    bool (*open)(const struct env *env, void *state);
    void (*close)(void *state);

    /* Draws a start state and writes the observation[state_dim]. PARAMETERS[parameter_count] in
     * table order. False: the world broke. */
    bool (*reset)(void *state, const double *parameters, struct rng *rng, double *observation);

    /* Moves STATE by one action (< action_count) and writes the new observation. */
    struct env_outcome (*step)(void *state, const double *parameters, unsigned action,
                               struct rng *rng, double *observation);

    /* For worlds whose STATE is doubles alone and whose steps draw nothing: moves ENV_LANES x
     * GROUPS instances, each to the same bits as STEP. NULL: the caller steps the instances one by
     * one. */
    void (*step_lanes)(const struct env_lanes *lanes, size_t groups);
};

/* Allocates and opens a state of ENV; free with env_close. NULL: the world did not open. */
void *env_open(const struct env *env);

/* Closes and frees STATE; takes NULL. */
void env_close(const struct env *env, void *state);

/* All worlds; *count receives their number. */
const struct env *const *env_all(unsigned *count);

/* The built-in world NAME, or NULL. */
const struct env *env_find(const char *name);

/* Fills values[ENV_MAX_PARAMETERS] with the world's defaults. */
void env_defaults(const struct env *env, double *values);

/* The index of the world's parameter NAME, or -1. */
int env_parameter_index(const struct env *env, const char *name);

#ifdef __cplusplus
}
#endif

#endif
