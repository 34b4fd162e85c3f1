/* make ensemble: teachers of shards, how good they are against how many shards there are, and what
 * they cost: an answer in privacy and in time, their training in time and memory.
 * docs/results/ensemble.md keeps what was seen.
 *
 * A population of simulated experts (nobody's data: everything may be shown) is split into M
 * shards. Three figures of each ensemble: the return of playing the best action of its mean; the
 * same when the mean is asked for under noise, with which a dataset's budget of epsilon 1 pays a
 * thousand answers; and how often that noisy best action is the noise-free one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/privacy/answers/answer_error.h"
#include "algos/privacy/answers/filter.h"
#include "algos/privacy/noise/noise_source.h"
#include "algos/release/ensemble.h"
#include "algos/release/teacher.h"
#include "bench/cpu_clock.h"
#include "bench/offline/population.h"

#define EXPERTS      3000
#define TRAJECTORIES 5
#define EPISODES     10
#define CAP          500 /* steps of an episode */
#define SEEDS        2
#define ANSWERS      1000
#define EPSILON      1.0
#define DELTA        1e-5

static void fail(const char *what)
{
    fprintf(stderr, "ensemble: %s\n", what);
    exit(1);
}

/* ---- training */

static void set(const struct algorithm *algorithm, struct algorithm_request *request,
                const char *name, double value)
{
    int i = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (i >= 0)
        request->parameters.value[i] = (struct parameter_value){.number = {value}, .count = 1};
}

static struct ensemble *train(const struct algorithm *algorithm, const struct env *env,
                              const struct dataset *data, uint32_t shards, uint64_t seed)
{
    struct algorithm_request request = {.mechanism = MECHANISM_NONE,
                                        .discount = 0.99,
                                        .state_dim = env->state_dim,
                                        .action_count = env->action_count,
                                        .seed = seed};
    algorithm_defaults(algorithm, env->name, &request.parameters);
    set(algorithm, &request, "hidden", 32);
    set(algorithm, &request, "batch_size", 64);
    set(algorithm, &request, "steps", 200);
    const struct algorithm_run run = {.request = &request, .data = data};
    struct ensemble *ensemble = NULL;
    const char *message = "";
    if (ensemble_train(algorithm, shards, &run, &ensemble, &message) != ALGORITHM_OK)
        fail(message);
    return ensemble;
}

static void give_keys(struct dataset *data)
{
    data->expert_keys = calloc(data->expert_count, sizeof *data->expert_keys);
    if (!data->expert_keys)
        fail("no memory");
    for (uint32_t e = 0; e < data->expert_count; e++)
        data->expert_keys[e] = UINT64_C(0x9e3779b97f4a7c15) * (e + 1);
}

/* ---- playing */

struct player {
    const struct ensemble *ensemble;
    const struct teacher *teacher; /* NULL: noise-free */
    struct noise_source *noise;
    uint64_t asked, same; /* answers, and those whose best action is the noise-free one */
};

static uint32_t best(const double *p, uint32_t actions)
{
    uint32_t a = 0;
    for (uint32_t i = 1; i < actions; i++)
        a = p[i] > p[a] ? i : a;
    return a;
}

static uint32_t decide(struct player *player, const float *state)
{
    double p[ENSEMBLE_ACTIONS_MAX], z[ENSEMBLE_ACTIONS_MAX];
    uint32_t actions = player->ensemble->actions;
    ensemble_probabilities(player->ensemble, state, 1, 1.0, p);
    uint32_t plain = best(p, actions);
    if (!player->teacher)
        return plain;
    if (!player->teacher->mechanism->answer(player->teacher, player->noise, p, z))
        fail("no answer");
    uint32_t noisy = best(z, actions);
    player->asked++;
    player->same += noisy == plain;
    return noisy;
}

static double episode(struct player *player, const struct env *env, void *world, uint64_t seed)
{
    double physics[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM], sum = 0.0;
    float state[ENV_MAX_STATE_DIM];
    struct rng rng;
    env_defaults(env, physics);
    rng_seed(&rng, seed, 77);
    if (!env->reset(world, physics, &rng, seen))
        fail("the world broke");
    for (int step = 0; step < CAP; step++) {
        for (uint32_t i = 0; i < env->state_dim; i++)
            state[i] = (float)seen[i];
        struct env_outcome outcome = env->step(world, physics, decide(player, state), &rng, seen);
        sum += outcome.reward;
        if (outcome.terminated)
            break;
    }
    return sum;
}

static double play(struct player *player, const struct env *env)
{
    double sum = 0.0;
    void *world = env_open(env);
    if (!world)
        fail("no memory");
    for (uint64_t e = 0; e < EPISODES; e++)
        sum += episode(player, env, world, 1000 + e);
    env_close(env, world);
    return sum / EPISODES;
}

/* ---- the table */

/* CPU time of one state. */
static double microseconds(const struct ensemble *ensemble)
{
    const float state[ENV_MAX_STATE_DIM] = {0.01F, -0.02F, 0.03F};
    double p[ENSEMBLE_ACTIONS_MAX], begun = cpu_seconds(), passed = 0.0;
    uint64_t asked = 0;
    for (; passed < 0.2; passed = cpu_seconds() - begun, asked++)
        ensemble_probabilities(ensemble, state, 1, 1.0, p);
    return 1e6 * passed / (double)asked;
}

/* The least noise with which ANSWERS answers cost EPSILON at DELTA. */
static struct teacher noise_for(const struct env *env, uint32_t shards, struct answer_choice *out)
{
    struct answer_choice dirichlet;
    struct teacher teacher = {.mechanism = &teacher_gaussian_simplex,
                              .actions = env->action_count,
                              .temperature = 1.0,
                              .shards = shards};
    answer_choices(env->action_count, ensemble_change(shards), 0.1, ANSWERS, EPSILON, DELTA,
                   &dirichlet, out);
    teacher.gaussian.sigma = out->setting;
    if (!out->possible || teacher_prepare_ensemble(&teacher) != NULL)
        fail("no noise will do");
    return teacher;
}

static void row(const struct algorithm *algorithm, const struct population *experts,
                uint32_t shards)
{
    const uint8_t key[32] = {1};
    struct answer_choice choice;
    const struct teacher teacher = noise_for(experts->env, shards, &choice);
    double plain = 0.0, noisy = 0.0, same = 0.0, training = 0.0, asking = 0.0, bytes = 0.0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double begun = cpu_seconds();
        struct ensemble *ensemble =
            train(algorithm, experts->env, experts->data, shards, 1000 * seed);
        training += (cpu_seconds() - begun) / SEEDS;
        asking += microseconds(ensemble) / SEEDS;
        bytes = (double)mlp_parameter_count(&ensemble->shape) * shards * sizeof(float);
        struct player quiet = {.ensemble = ensemble};
        struct player loud = {
            .ensemble = ensemble, .teacher = &teacher, .noise = noise_source_new_injected(key)};
        plain += play(&quiet, experts->env) / SEEDS;
        noisy += play(&loud, experts->env) / SEEDS;
        same += (double)loud.same / (double)loud.asked / SEEDS;
        noise_source_free(loud.noise);
        ensemble_free(ensemble);
    }
    /* At the order at which that budget pays most: what one answer adds there. */
    const struct filter_release release = teacher.mechanism->release(&teacher);
    double order = filter_best_order(&release, EPSILON, DELTA, NULL);
    struct filter_price price;
    struct teacher fixed = teacher;
    fixed.gaussian.sigma = 0.05;
    if (!teacher_price(&fixed, 0.0, order, 0, &price))
        fail("no price");
    printf("| %s | %u | %.1f | %.1f | %.1f | %.3f | %.0f %% | %.2e | %.1f | %.0f | %.1f |\n",
           algorithm->name, shards, (double)EXPERTS / shards, plain, noisy, choice.setting,
           100.0 * same, (double)price.units * FILTER_UNIT, training, bytes / 1024, asking);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const uint32_t shards[] = {10, 30, 100, 300, 1000};
    static const char *const algorithms[] = {"behaviour_cloning", "cql"};
    const char *world = argc > 1 ? argv[1] : "cartpole", *cache = argc > 2 ? argv[2] : ".";
    struct population *experts =
        population_load_selected(world, EXPERTS_TOP, 1, EXPERTS, TRAJECTORIES, cache);
    if (!experts)
        return 1;
    give_keys(experts->data);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("| algorithm | shards | experts in one | return of the mean | return of noisy answers | "
           "sigma | noisy best action is the mean's | divergence of an answer at sigma 0.05 | "
           "training, CPU s | networks, KiB | evaluation of a state, CPU us |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < sizeof shards / sizeof shards[0]; s++)
        for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++)
            row(algorithm_find(algorithms[a]), experts, shards[s]);
    population_free(experts);
    return 0;
}
