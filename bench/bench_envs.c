/* Steps of worlds per second of CPU, one thread, at random actions: one instance by itself, and
 * many side by side with observations as float rows, rewards, ends and restarts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cpu_clock.h"
#include "envs/env_batch.h"

enum { WORLDS = 256, TURNS = 16, RUNS = 7 };
#define RUN_SECONDS 0.15

/* What others reach, measured apart on the same kind of machine. */
static const struct {
    const char *world, *who;
    double rate;
} peers[] = {
    {"cartpole", "Gymnasium 1.4.0", 102e3},
    {"cartpole", "Gymnasium's CartPoleVectorEnv (numpy)", 18.6e6},
    {"cartpole", "PufferLib (C, float), 1024 worlds", 38e6},
    {"cartpole", "AVX2 without randomness or restarts", 304e6},
    {"acrobot", "Gymnasium 1.4.0", 17e3},
    {"lunar_lander", "Gymnasium 1.4.0", 30.6e3},
    {"hiv", "RLPy, with its derivative in C", 664},
};

struct bench {
    const struct env *env;
    uint32_t actions[TURNS][WORLDS];
    double parameters[ENV_MAX_PARAMETERS];
    struct rng rng;
    void *state;
    uint32_t steps; /* of STATE's episode */
    struct env_batch *batch;
};

/* TURNS x WORLDS steps of one instance. */
static bool singly(struct bench *b)
{
    double seen[ENV_MAX_STATE_DIM];
    for (uint32_t i = 0; i < TURNS * WORLDS; i++) {
        struct env_outcome outcome = b->env->step(
            b->state, b->parameters, b->actions[i / WORLDS][i % WORLDS], &b->rng, seen);
        if (outcome.failed)
            return false;
        if (!outcome.terminated && ++b->steps < b->env->max_episode_steps)
            continue;
        b->steps = 0;
        if (!b->env->reset(b->state, b->parameters, &b->rng, seen))
            return false;
    }
    return true;
}

/* As many of WORLDS. */
static bool together(struct bench *b)
{
    for (uint32_t t = 0; t < TURNS; t++)
        if (!env_batch_step(b->batch, b->actions[t]) || !env_batch_restart(b->batch))
            return false;
    return true;
}

/* The best of RUNS, in steps per second of CPU; 0: a world broke. */
static double rate(struct bench *b, bool (*work)(struct bench *))
{
    double best = 0.0;
    for (int run = 0; run < RUNS; run++) {
        for (uint32_t i = 0; i < TURNS * WORLDS; i++)
            b->actions[i / WORLDS][i % WORLDS] = rng_below(&b->rng, b->env->action_count);
        double start = cpu_seconds(), spent = 0.0, steps = 0.0;
        do {
            if (!work(b))
                return 0.0;
            steps += TURNS * WORLDS;
            spent = cpu_seconds() - start;
        } while (spent < RUN_SECONDS);
        best = fmax(best, steps / spent);
    }
    return best;
}

static bool measure(struct bench *b, const struct env *env)
{
    double seen[ENV_MAX_STATE_DIM];
    b->env = env;
    env_defaults(env, b->parameters);
    rng_seed(&b->rng, 1, 0);
    b->steps = 0;
    b->state = env_open(env);
    b->batch = env_batch_new(env, WORLDS, env->max_episode_steps);
    double alone = 0.0, many = 0.0;
    if (b->state && b->batch && env->reset(b->state, b->parameters, &b->rng, seen) &&
        env_batch_restart(b->batch)) {
        alone = rate(b, singly);
        many = rate(b, together);
    }
    env_close(env, b->state);
    env_batch_free(b->batch);
    if (alone > 0.0 && many > 0.0)
        printf("%-14s %14.0f %14.0f\n", env->name, alone, many);
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++)
        if (strcmp(peers[i].world, env->name) == 0)
            printf("    %-39s %14.0f\n", peers[i].who, peers[i].rate);
    return alone > 0.0 && many > 0.0;
}

int main(void)
{
    unsigned count;
    const struct env *const *all = env_all(&count);
    struct bench *b = calloc(1, sizeof *b);
    bool measured = b != NULL;
    printf("Worlds: steps per second of CPU, the best of %d runs\n", RUNS);
    printf("%-14s %14s %10s %3d\n", "", "one", "batch of", WORLDS);
    for (unsigned i = 0; measured && i < count; i++)
        measured = measure(b, all[i]);
    free(b);
    return measured ? 0 : 1;
}
