/* Training with a cache, and play.
 *
 * The cache is a file of records: the length of a policy's bytes in decimal and a newline, then the
 * bytes (algos/policy.h: they carry a checksum). A setting's experts are appended together; what a
 * killed run left half written is cut off and made again. */
#include "bench/offline/population.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/offline/import.h"

#define RANDOM_EPISODES 100
#define RECORD_MAX      (1u << 26)
#define PATH_BYTES      4096

/* The caps of the published protocol: 1000 steps in CartPole, 200 in Acrobot, 50 in HIV. */
static uint32_t evaluation_steps(const struct env *env)
{
    static const struct {
        const char *world;
        uint32_t steps;
    } caps[] = {{"cartpole", 1000}, {"acrobot", 200}, {"hiv", 50}};
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++)
        if (strcmp(caps[i].world, env->name) == 0)
            return caps[i].steps;
    return env->max_episode_steps;
}

enum experts_select population_usual_select(const char *world)
{
    bool dear = strcmp(world, "lunar_lander") == 0 || strcmp(world, "hiv") == 0;
    return dear ? EXPERTS_TOP : EXPERTS_MOMENTS;
}

/* ---- the networks */

static struct policy *read_record(FILE *file)
{
    unsigned long size = 0;
    // NOLINTNEXTLINE(cert-err34-c): our own file, and a number that is too large is refused
    if (fscanf(file, "%lu", &size) != 1 || fgetc(file) != '\n' || size == 0 || size > RECORD_MAX)
        return NULL;
    unsigned char *bytes = malloc(size);
    struct policy *policy = NULL;
    if (bytes && fread(bytes, 1, size, file) == size)
        policy = policy_from_bytes(bytes, size);
    free(bytes);
    return policy;
}

static bool write_record(FILE *file, const struct policy *policy)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!policy_to_bytes(policy, &bytes, &size))
        return false;
    bool good = fprintf(file, "%zu\n", size) > 0 && fwrite(bytes, 1, size, file) == size;
    free(bytes);
    return good;
}

/* Whole settings from the cache; gives how many, and leaves FILE behind the last of them. */
static uint32_t read_cache(FILE *file, uint32_t settings, struct policy **out)
{
    for (uint32_t s = 0; s < settings; s++) {
        long start = ftell(file);
        struct policy **three = out + (size_t)s * EXPERTS_PER_SETTING;
        for (int k = 0; k < EXPERTS_PER_SETTING; k++)
            three[k] = read_record(file);
        if (three[0] && three[1] && three[2])
            continue;
        for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
            policy_free(three[k]);
            three[k] = NULL;
        }
        if (fseek(file, start, SEEK_SET) != 0 || ftruncate(fileno(file), start) != 0)
            return UINT32_MAX;
        return s;
    }
    return settings;
}

static void cache_path(char out[PATH_BYTES], const char *cache, const struct population *p)
{
    const char *chosen = "";
    char seed[24] = "";
    if (p->select != population_usual_select(p->env->name))
        chosen = p->select == EXPERTS_TOP ? "-top" : "-moments";
    if (p->seed != 1)
        snprintf(seed, sizeof seed, "-%" PRIu64, p->seed);
    snprintf(out, PATH_BYTES, "%s/%s%s%s.experts", cache, p->env->name, chosen, seed);
}

static bool train(const struct population *p, uint32_t settings, const char *cache)
{
    const struct env *env = p->env;
    const struct expert_population *kind = experts_find(env);
    struct policy **out = p->policies;
    char path[PATH_BYTES];
    cache_path(path, cache, p);
    FILE *file = fopen(path, "a+b");
    if (!kind || !file || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "%s: %s\n", path, kind ? "cannot be written" : "no such population");
        if (file)
            fclose(file);
        return false;
    }
    uint32_t s = read_cache(file, settings, out);
    bool good = s != UINT32_MAX;
    for (; good && s < settings; s++) {
        struct policy **three = out + (size_t)s * EXPERTS_PER_SETTING;
        good = experts_train(kind, p->select, p->seed, s, NULL, three);
        for (int k = 0; good && k < EXPERTS_PER_SETTING; k++)
            good = write_record(file, three[k]);
        good = good && fflush(file) == 0;
        if (good && (s + 1) % 100 == 0)
            fprintf(stderr, "%s: %u of %u settings trained\n", env->name, s + 1, settings);
    }
    if (fclose(file) != 0 || !good) {
        fprintf(stderr, "%s: cannot be written, or no memory\n", path);
        return false;
    }
    return true;
}

static bool keep_network(void *context, const struct policy *policy)
{
    return write_record(context, policy);
}

bool population_import(FILE *in, const char *world, uint64_t seed, const char *cache)
{
    const struct env *env = env_find(world);
    char path[PATH_BYTES];
    if (!env) {
        fprintf(stderr, "%s: no such world\n", world);
        return false;
    }
    const struct population made = {.env = env, .seed = seed, .select = EXPERTS_TOP};
    cache_path(path, cache, &made);
    FILE *file = fopen(path, "wbx"); /* what was trained is not written over */
    if (!file) {
        fprintf(stderr, "%s: is there already, or cannot be written\n", path);
        return false;
    }
    bool good = import_networks(in, env, keep_network, file);
    good = fclose(file) == 0 && good;
    if (!good)
        remove(path);
    return good;
}

/* ---- play */

static struct dataset *play(const struct population *p)
{
    struct expert_episode episode;
    struct dataset_builder *builder =
        dataset_builder_new(p->env->state_dim, p->env->action_count, p->experts);
    bool good = builder;
    expert_episode_init(&episode, p->env, p->episode_steps);
    for (uint32_t e = 0; good && e < p->experts; e++) {
        struct rng rng;
        expert_rng(&rng, p->seed, e);
        for (uint32_t t = 0; good && t < p->trajectories; t++) {
            good = expert_play(&episode, p->policies[e], POPULATION_FLOOR, &rng);
            episode.trajectory.expert = e;
            good = good && dataset_builder_add(builder, &episode.trajectory);
        }
    }
    if (builder)
        expert_episode_clear(&episode);
    if (good)
        return dataset_builder_finish(builder);
    dataset_builder_free(builder);
    return NULL;
}

/* A network of zeros prefers nothing. */
static bool measure_random(struct population *p)
{
    const struct mlp_shape shape = {
        .input = p->env->state_dim, .layer_count = 1, .width = {p->env->action_count}};
    double physics[ENV_MAX_PARAMETERS];
    struct policy_evaluation played;
    struct policy *policy = policy_new(&shape, POLICY_SOFTMAX);
    env_defaults(p->env, physics);
    bool good = policy && policy_evaluate(policy, p->env, physics, RANDOM_EPISODES,
                                          p->evaluation_steps, 1, &played);
    policy_free(policy);
    p->random_return = good ? played.mean_return : 0.0;
    return good;
}

struct population *population_load_selected(const char *world, enum experts_select select,
                                            uint64_t seed, uint32_t experts, uint32_t trajectories,
                                            const char *cache)
{
    const struct env *env = env_find(world);
    if (!env) {
        fprintf(stderr, "%s: no such world\n", world);
        return NULL;
    }
    uint32_t settings = (experts + EXPERTS_PER_SETTING - 1) / EXPERTS_PER_SETTING;
    struct population *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->policies = calloc((size_t)settings * EXPERTS_PER_SETTING, sizeof(struct policy *));
    p->env = env;
    p->select = select;
    p->seed = seed;
    p->experts = settings * EXPERTS_PER_SETTING; /* until all are loaded: what is to be freed */
    p->trajectories = trajectories;
    p->evaluation_steps = evaluation_steps(env);
    p->episode_steps = experts_find(env) ? experts_episode_steps(experts_find(env)) : 0;
    bool good = p->policies && train(p, settings, cache);
    for (; good && p->experts > experts; p->experts--)
        policy_free(p->policies[p->experts - 1]);
    good = good && measure_random(p);
    p->data = good ? play(p) : NULL;
    if (p->data)
        return p;
    fprintf(stderr, "%s: no population\n", world);
    population_free(p);
    return NULL;
}

struct population *population_load(const char *world, uint64_t seed, uint32_t experts,
                                   uint32_t trajectories, const char *cache)
{
    return population_load_selected(world, population_usual_select(world), seed, experts,
                                    trajectories, cache);
}

/* ---- a third of the experts */

struct kept_expert {
    double value; /* mean return of a trajectory */
    uint32_t expert, trajectories;
};

static bool add_return(void *context, const struct trajectory *trajectory)
{
    struct kept_expert *expert = (struct kept_expert *)context + trajectory->expert;
    for (uint32_t i = 0; i < trajectory->length; i++)
        expert->value += (double)trajectory->rewards[i];
    expert->trajectories++;
    return true;
}

static int compare_values(const void *a, const void *b)
{
    const struct kept_expert *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static void describe_kept(const struct kept_expert *kept, uint32_t count)
{
    double sum = 0.0, squares = 0.0;
    for (uint32_t i = 0; i < count; i++)
        sum += kept[i].value;
    for (uint32_t i = 0; i < count; i++)
        squares += pow(kept[i].value - sum / count, 2);
    fprintf(stderr, "%" PRIu32 " experts: mean return %.4g, standard deviation %.4g\n", count,
            sum / count, sqrt(squares / count));
}

bool population_keep(struct population *p, enum population_spread spread)
{
    uint32_t third = p->experts / 3;
    if (spread == SPREAD_ALL || third == 0)
        return true;
    struct kept_expert *order = calloc(p->experts, sizeof *order);
    struct policy **kept = calloc(third, sizeof(struct policy *));
    if (!order || !kept) {
        free(order);
        free(kept);
        return false;
    }
    for (uint32_t e = 0; e < p->experts; e++)
        order[e].expert = e;
    dataset_each_trajectory(p->data, add_return, order);
    for (uint32_t e = 0; e < p->experts; e++)
        order[e].value /= fmax(order[e].trajectories, 1);
    qsort(order, p->experts, sizeof *order, compare_values);
    for (uint32_t i = 0; i < third; i++) {
        order[i] = order[spread == SPREAD_NARROW ? third + i : 3 * i + 1];
        kept[i] = p->policies[order[i].expert];
        p->policies[order[i].expert] = NULL;
    }
    describe_kept(order, third);
    for (uint32_t e = 0; e < p->experts; e++)
        policy_free(p->policies[e]);
    free(order);
    free(p->policies);
    p->policies = kept;
    p->experts = third;
    dataset_free(p->data);
    p->data = play(p);
    return p->data;
}

void population_free(struct population *p)
{
    if (!p)
        return;
    for (uint32_t e = 0; p->policies && e < p->experts; e++)
        policy_free(p->policies[e]);
    free(p->policies);
    dataset_free(p->data);
    free(p);
}

struct expert_policies *population_copies(const struct population *p,
                                          struct policy *const *policies)
{
    struct expert_policies *all =
        expert_policies_new(p->experts, p->env->state_dim, p->env->action_count, POPULATION_FLOOR);
    for (uint32_t e = 0; all && e < p->experts; e++) {
        const struct policy *from = policies[e];
        struct policy *copy = policy_new(&from->shape, from->output);
        if (copy)
            memcpy(copy->parameters, from->parameters,
                   mlp_parameter_count(&from->shape) * sizeof(float));
        if (!copy || !expert_policies_take(all, e, copy)) {
            policy_free(copy);
            expert_policies_free(all);
            all = NULL;
        }
    }
    return all;
}

struct expert_policies *population_policies(const struct population *p)
{
    return population_copies(p, p->policies);
}
