/* Worlds at random, for a sanitizer to watch: soak_worlds STEPS SEED [WORLD...] plays STEPS uniform
 * actions in each world (all of them when none is named), episode after episode. Every second
 * episode has its usual physics, the others' constants are drawn from all that is allowed, corners
 * included. Half of the steps go to one instance, half to a batch. Prints a line a world; exit code
 * 1 when a world fails or shows a number that is none, 2 when it was called wrongly. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "envs/env_batch.h"

enum { BATCH = 64, EXIT_USAGE = 2 };

struct soak {
    const struct env *env;
    struct rng rng;
    uint64_t steps, episodes, ends; /* so far; ends: by the world itself */
};

static bool complain(const struct soak *soak, const char *what)
{
    fprintf(stderr, "soak_worlds: %s: %s after %llu steps\n", soak->env->name, what,
            (unsigned long long)soak->steps);
    return false;
}

/* Usual physics in half of the cases; else every constant uniform, or at either bound. */
static void draw_physics(struct soak *soak, double *parameters)
{
    env_defaults(soak->env, parameters);
    if (rng_below(&soak->rng, 2) == 0)
        return;
    for (unsigned i = 0; i < soak->env->parameter_count; i++) {
        const struct env_parameter *p = &soak->env->parameters[i];
        uint32_t kind = rng_below(&soak->rng, 4);
        parameters[i] = kind == 0                       ? p->min
                        : kind == 1 || p->min == p->max ? p->max
                                                        : rng_between(&soak->rng, p->min, p->max);
    }
}

static bool is_sound(const struct env *env, const double *observation, double reward)
{
    for (unsigned i = 0; i < env->state_dim; i++)
        if (!isfinite(observation[i]))
            return false;
    return isfinite(reward);
}

static bool soak_alone(struct soak *soak, uint64_t steps)
{
    const struct env *env = soak->env;
    double parameters[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM];
    void *state = env_open(env);
    bool good = state != NULL, over = true;
    unsigned left = 0;
    for (uint64_t t = 0; t < steps && good; t++, soak->steps++) {
        if (over) {
            draw_physics(soak, parameters);
            good = env->reset(state, parameters, &soak->rng, seen);
            left = env->max_episode_steps;
            soak->episodes++;
            if (!good)
                break;
        }
        unsigned action = rng_below(&soak->rng, env->action_count);
        struct env_outcome outcome = env->step(state, parameters, action, &soak->rng, seen);
        good = !outcome.failed && is_sound(env, seen, outcome.reward);
        soak->ends += outcome.terminated;
        over = outcome.terminated || --left == 0;
    }
    env_close(env, state);
    return good || complain(soak, "failed, or a number is none, alone");
}

/* Begins an episode in instance I when it has none. */
static bool wake(struct soak *soak, struct env_batch *batch, uint32_t i)
{
    double parameters[ENV_MAX_PARAMETERS];
    if (batch->ended[i] == ENV_RUNNING)
        return true;
    soak->ends += batch->ended[i] == ENV_TERMINATED;
    soak->episodes++;
    draw_physics(soak, parameters);
    env_batch_physics(batch, i, parameters);
    return env_batch_reset(batch, i);
}

static bool soak_batch(struct soak *soak, uint64_t steps)
{
    const struct env *env = soak->env;
    uint32_t actions[BATCH];
    struct env_batch *batch = env_batch_new(env, BATCH, env->max_episode_steps);
    bool good = batch != NULL;
    for (uint32_t i = 0; i < BATCH && good; i++)
        rng_seed(&batch->generators[i], rng_next(&soak->rng), i);
    for (uint64_t t = 0; t < steps && good; t += BATCH, soak->steps += BATCH) {
        for (uint32_t i = 0; i < BATCH && good; i++) {
            good = wake(soak, batch, i);
            actions[i] = rng_below(&soak->rng, env->action_count);
        }
        good = good && env_batch_step(batch, actions);
        for (uint32_t i = 0; i < BATCH * env->state_dim && good; i++)
            good = isfinite(batch->observations[i]) && isfinite(batch->rewards[i / env->state_dim]);
    }
    env_batch_free(batch);
    return good || complain(soak, "failed, or a number is none, in a batch");
}

static bool soak_world(const struct env *env, uint64_t steps, uint64_t seed)
{
    struct soak soak = {.env = env};
    rng_seed(&soak.rng, seed, 0);
    clock_t begun = clock();
    bool good = soak_alone(&soak, steps / 2) && soak_batch(&soak, steps - steps / 2);
    printf("%-13s %s  %llu steps, %llu episodes, %llu ended by the world, %.0f s of CPU\n",
           env->name, good ? "ok    " : "FAILED", (unsigned long long)soak.steps,
           (unsigned long long)soak.episodes, (unsigned long long)soak.ends,
           (double)(clock() - begun) / CLOCKS_PER_SEC);
    fflush(stdout);
    return good;
}

static bool is_named(const char *name, int argc, char **argv)
{
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc <= 3;
}

int main(int argc, char **argv)
{
    char *end[2] = {NULL, NULL};
    unsigned long long steps = argc > 1 ? strtoull(argv[1], &end[0], 10) : 0;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], &end[1], 10) : 0;
    if (argc < 3 || steps == 0 || *end[0] != '\0' || *end[1] != '\0') {
        fputs("usage: soak_worlds STEPS SEED [WORLD...]\n", stderr);
        return EXIT_USAGE;
    }
    for (int i = 3; i < argc; i++) {
        if (env_find(argv[i]) == NULL) {
            fprintf(stderr, "soak_worlds: there is no world \"%s\"\n", argv[i]);
            return EXIT_USAGE;
        }
    }
    unsigned count;
    const struct env *const *all = env_all(&count);
    bool good = true;
    for (unsigned i = 0; i < count; i++)
        if (is_named(all[i]->name, argc, argv))
            good = soak_world(all[i], steps, seed) && good;
    return good ? 0 : 1;
}
