/* DESIGN. The split is that of a job (algos/offline/shards.h): by who an expert is, whatever the
 * data say. Here an expert's identity is its number. */
#include "bench/kickstart/ensembles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/behaviour_cloning.h"
#include "algos/offline/cql.h"
#include "algos/offline/shards.h"
#include "algos/online/experts.h"
#include "bench/offline/population.h"
#include "envs/env_batch.h"
#include "memory/memory.h"

#define TRAJECTORIES 5
#define EPISODES     100
#define SEED         1
#define VALUES_MOST  200   /* shards */
#define VALUES_STEPS 10000 /* of a job's 40,000 */

const uint32_t ensembles_shards[SCHOOL_SHARDS] = {50, 200, 1000};

static void take(void *context, uint32_t shard, const struct policy *policy,
                 const struct dataset *data)
{
    (void)data;
    struct school_ensemble *ensemble = context;
    if (!policy)
        return;
    struct policy *copy = memory_must(policy_new(&policy->shape, policy->output));
    memcpy(copy->parameters, policy->parameters,
           mlp_parameter_count(&policy->shape) * sizeof(float));
    ensemble->policies[shard] = copy;
}

/* In LunarLander the mean of clones plays as badly as a random player, so the shards that are not
 * tiny learn from rewards: their policies vote. */
static bool learns_values(const struct school *school, uint32_t shards)
{
    return strcmp(school->env->name, "lunar_lander") == 0 && shards <= VALUES_MOST;
}

static void set(struct shards *shards, const char *name, double number)
{
    int index =
        parameters_index(shards->algorithm->parameters, shards->algorithm->parameter_count, name);
    shards->request.parameters.value[index] =
        (struct parameter_value){.number = {number}, .count = 1};
}

static void set_clones(struct shards *shards)
{
    set(shards, "steps", 1500);
    set(shards, "hidden", 32);
    set(shards, "batch_size", 128);
}

static bool train(struct school *school, const struct population *population,
                  struct school_ensemble *out)
{
    bool values = learns_values(school, out->count);
    struct shards shards = {.algorithm = values ? &cql_algorithm : &behaviour_cloning_algorithm,
                            .count = out->count,
                            .take = take,
                            .context = out,
                            .request = {.discount = 0.99,
                                        .state_dim = school->env->state_dim,
                                        .action_count = school->env->action_count,
                                        .seed = SEED}};
    struct algorithm_run run = {.data = population->data};
    struct mlp_shape shape;
    uint64_t steps;
    const char *message = "";
    algorithm_defaults(shards.algorithm, school->env->name, &shards.request.parameters);
    if (values)
        set(&shards, "steps", VALUES_STEPS);
    else
        set_clones(&shards);
    out->policies = calloc(out->count, sizeof(struct policy *));
    if (out->policies && shards_plan(&shards, &steps, &shape, &message) == ALGORITHM_OK &&
        shards_train(&shards, &run, &message) == ALGORITHM_OK)
        return true;
    fprintf(stderr, "%s: %u shards: %s\n", school->env->name, out->count, message);
    return false;
}

/* An action drawn from the mean of all. */
static uint32_t draw(const struct school_ensemble *ensemble, const float *state, uint32_t actions,
                     struct rng *rng)
{
    double p[ENV_MAX_ACTIONS], mean[ENV_MAX_ACTIONS] = {0}, at = rng_uniform(rng);
    for (uint32_t i = 0; i < ensemble->count; i++) {
        bool good = ensemble->policies[i] &&
                    policy_probabilities(ensemble->policies[i], state, SCHOOL_TEMPERATURE, p);
        for (uint32_t a = 0; a < actions; a++)
            mean[a] += (good ? p[a] : 1.0 / actions) / ensemble->count;
    }
    uint32_t action = 0;
    for (at -= mean[0]; at > 0.0 && action + 1 < actions; at -= mean[action])
        action++;
    return action;
}

static bool play(const struct school *school, struct school_ensemble *ensemble)
{
    struct env_batch *batch = env_batch_new(school->env, EPISODES, school->env->max_episode_steps);
    uint32_t actions[EPISODES] = {0}, awake = EPISODES;
    bool good = batch && env_batch_restart(batch);
    while (good && awake > 0) {
        awake = 0;
        for (uint32_t e = 0; e < EPISODES; e++) {
            if (batch->ended[e] != ENV_RUNNING)
                continue;
            awake++;
            actions[e] = draw(ensemble, batch->observations + (size_t)e * school->env->state_dim,
                              school->env->action_count, &batch->generators[e]);
        }
        good = env_batch_step(batch, actions);
    }
    for (uint32_t e = 0; good && e < EPISODES; e++)
        ensemble->mean_return += batch->returns[e] / EPISODES;
    env_batch_free(batch);
    fprintf(stderr, "%s: the mean of %u shards earns %.1f\n", school->env->name, ensemble->count,
            ensemble->mean_return);
    return good;
}

bool ensembles_open(struct school *school, const char *cache, unsigned wanted)
{
    if (!experts_find(school->env))
        return true;
    struct population *population = population_load_selected(school->env->name, EXPERTS_TOP, SEED,
                                                             SCHOOL_EXPERTS, TRAJECTORIES, cache);
    uint64_t *keys = population ? malloc(population->experts * sizeof *keys) : NULL;
    bool good = keys != NULL;
    for (uint32_t e = 0; good && e < population->experts; e++)
        keys[e] = (e + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (good)
        population->data->expert_keys = keys;
    for (unsigned i = 0; good && i < SCHOOL_SHARDS; i++) {
        struct school_ensemble *ensemble = &school->ensembles[i];
        if (!(wanted & 1u << i))
            continue;
        ensemble->count = ensembles_shards[i];
        good = train(school, population, ensemble) && play(school, ensemble);
    }
    school->has_ensembles = good;
    population_free(population);
    return good;
}
