/* The single teacher. */
#include "bench/kickstart/school.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/ppo_algorithm.h"
#include "bench/kickstart/ensembles.h"

#define EPISODES     100
#define TEACHER_SEED 4711
#define FILE_MAX     (1u << 24)

static struct policy *load(const char *path)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = file ? malloc(FILE_MAX) : NULL;
    struct policy *policy = NULL;
    if (bytes)
        policy = policy_from_bytes(bytes, fread(bytes, 1, FILE_MAX, file));
    free(bytes);
    if (file)
        fclose(file);
    return policy;
}

static bool store(const char *path, const struct policy *policy)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "wb");
    bool good =
        file && policy_to_bytes(policy, &bytes, &size) && fwrite(bytes, 1, size, file) == size;
    free(bytes);
    if (file && fclose(file) != 0)
        good = false;
    return good;
}

/* As a job with the algorithm's defaults would. */
static struct policy *train(const struct school *school)
{
    struct algorithm_request request = {.mechanism = MECHANISM_NONE,
                                        .world = school->env,
                                        .state_dim = school->env->state_dim,
                                        .action_count = school->env->action_count,
                                        .seed = TEACHER_SEED};
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    memcpy(request.world_parameters, school->physics, sizeof school->physics);
    algorithm_defaults(&ppo_algorithm, school->env->name, &request.parameters);
    const struct algorithm_run run = {.request = &request, .plan = &plan};
    if (ppo_algorithm.plan(&request, &plan, &message) != ALGORITHM_OK ||
        ppo_algorithm.train(&run, &policy, &message) != ALGORITHM_OK)
        fprintf(stderr, "%s: no teacher: %s\n", school->env->name, message);
    return policy;
}

static bool play(const struct school *school, const struct policy *policy, double *out)
{
    struct policy_evaluation played;
    bool good = policy && policy_evaluate(policy, school->env, school->physics, EPISODES,
                                          school->env->max_episode_steps, 1, &played);
    *out = good ? played.mean_return : 0.0;
    return good;
}

/* A network of zeros prefers nothing. */
static bool play_at_random(struct school *school)
{
    const struct mlp_shape shape = {
        .input = school->env->state_dim, .layer_count = 1, .width = {school->env->action_count}};
    struct policy *policy = policy_new(&shape, POLICY_SOFTMAX);
    bool good = play(school, policy, &school->random_return);
    policy_free(policy);
    return good;
}

static bool open_teacher(struct school *school, const char *cache)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.teacher", cache, school->env->name);
    school->teacher = load(path);
    if (!school->teacher) {
        school->teacher = train(school);
        if (!school->teacher || !store(path, school->teacher)) {
            fprintf(stderr, "%s: cannot be written, or no teacher\n", path);
            return false;
        }
    }
    return play(school, school->teacher, &school->teacher_return) && play_at_random(school);
}

struct school *school_open(const char *world, const char *cache, unsigned ensembles)
{
    const struct env *env = env_find(world);
    struct school *school = env ? calloc(1, sizeof *school) : NULL;
    if (!school) {
        fprintf(stderr, "%s: no such world, or no memory\n", world);
        return NULL;
    }
    school->env = env;
    env_defaults(env, school->physics);
    bool good =
        open_teacher(school, cache) && (!ensembles || ensembles_open(school, cache, ensembles));
    school->level = school->random_return + 0.95 * (school->teacher_return - school->random_return);
    if (good)
        return school;
    fprintf(stderr, "%s: no school\n", world);
    school_free(school);
    return NULL;
}

void school_free(struct school *school)
{
    if (!school)
        return;
    policy_free(school->teacher);
    for (unsigned e = 0; e < SCHOOL_SHARDS; e++) {
        struct school_ensemble *ensemble = &school->ensembles[e];
        for (uint32_t i = 0; ensemble->policies && i < ensemble->count; i++)
            policy_free(ensemble->policies[i]);
        free(ensemble->policies);
    }
    free(school);
}

const struct school_ensemble *school_ensemble_of(const struct school *school, uint32_t shards)
{
    for (unsigned e = 0; school->has_ensembles && e < SCHOOL_SHARDS; e++)
        if (school->ensembles[e].count == shards)
            return &school->ensembles[e];
    return NULL;
}
