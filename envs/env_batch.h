/* Many instances of one world that take their steps together, as roll-outs, evaluation and expert
 * play do: observations come out as the float rows that a network reads.
 *
 * An instance depends on its own generator, physics and actions alone: its history is the same in a
 * batch of any size, in any place of it, on any thread, and to the bit that of the world stepped by
 * itself. One thread at a time for a batch; threads bring their own.
 *
 * An episode begins with a reset and ends when the world terminates it or the step limit cuts it
 * off. An instance whose episode has ended sleeps: a step passes it by, and what its last step
 * showed stays in the arrays until it is reset. A typical turn is
 *
 *     act on batch->observations, env_batch_step, look at what ended, env_batch_restart
 */
#ifndef TACET_ENVS_ENV_BATCH_H
#define TACET_ENVS_ENV_BATCH_H

#include "envs/env.h"

#define ENV_BATCH_MAX 65536 /* instances */

enum env_end {
    ENV_RUNNING = 0,
    ENV_TERMINATED, /* the world ended the episode */
    ENV_TRUNCATED,  /* the step limit ended the episode, and the world did not at the same step */
    ENV_UNSTARTED,  /* no reset so far */
};

/* Arrays of COUNT places. The caller reads them, and writes generators alone. */
struct env_batch {
    const struct env *env;
    uint32_t count;
    uint32_t step_limit;

    float *observations;    /* count x env->state_dim, row major: after the last step or reset */
    double *rewards;        /* of the last step; 0 after a reset */
    double *returns;        /* undiscounted, of the episode so far */
    uint32_t *steps;        /* of the episode so far */
    uint8_t *ended;         /* enum env_end */
    struct rng *generators; /* start states and the world's own chance; the caller seeds them, and
                               may draw actions from them */

    struct env_batch_worlds *worlds; /* states and physics: env_batch.c's own */
};

/* COUNT (1 .. ENV_BATCH_MAX) instances of ENV with the default physics, none of them started;
 * generator i is rng_seed(0, i). Episodes are cut off after STEP_LIMIT steps, 0 means never. NULL:
 * the world did not open. The caller frees it with env_batch_free. */
struct env_batch *env_batch_new(const struct env *env, uint32_t count, uint32_t step_limit);

/* Closes and frees every instance; takes NULL. */
void env_batch_free(struct env_batch *batch);

/* Gives instance I the PARAMETERS[env->parameter_count], copied. They hold from its next step or
 * reset. */
void env_batch_physics(struct env_batch *batch, uint32_t i, const double *parameters);

/* Begins an episode of instance I, whether it sleeps or not. False: the world broke
 * (env_batch_step). */
bool env_batch_reset(struct env_batch *batch, uint32_t i);

/* Begins an episode in every sleeping instance. */
bool env_batch_restart(struct env_batch *batch);

/* Moves every waking instance by ACTIONS[i] < env->action_count; a sleeper's action is not read.
 * False: a world broke. The batch then has no meaning; free it. */
bool env_batch_step(struct env_batch *batch, const uint32_t *actions);

#endif
