/* Behaviour clones: what one costs and how near it is to its expert, in the worlds that have a
 * population of experts; and what asking 3000 experts at a state costs.
 *
 * CPU time of one thread, so that a busy machine disturbs little. Distances are measured at states
 * of fresh episodes of the expert itself, which no clone has seen: the total variation between what
 * both play, floor included, and how often their best actions are the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algos/nn/initialize.h"
#include "algos/offline/expert_clones.h"
#include "algos/online/experts.h"
#include "envs/env.h"

enum { SETTINGS = 12, TRAJECTORIES = 20, FRESH = 5, LENGTH = 200, MANY = 3000, TURNS = 3 };
enum { EXPERTS = SETTINGS * EXPERTS_PER_SETTING };
static const double least = 0.02;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *must(void *made, const char *what)
{
    if (!made) {
        fprintf(stderr, "bench_clones: %s\n", what);
        exit(1);
    }
    return made;
}

static struct policy *experts[EXPERTS];

static void train_experts(const struct env *env)
{
    const struct expert_population *population = must((void *)experts_find(env), "no population");
    for (uint32_t s = 0; s < SETTINGS; s++)
        if (!experts_train(population, EXPERTS_MOMENTS, 1, s, NULL,
                           experts + (size_t)s * EXPERTS_PER_SETTING))
            must(NULL, "no memory");
}

static void play(struct expert_episode *episode, uint32_t expert, struct rng *rng)
{
    if (!expert_play(episode, experts[expert], least, rng))
        must(NULL, "an episode broke");
    episode->trajectory.expert = expert;
}

static struct dataset *play_all(struct expert_episode *episode)
{
    struct dataset_builder *builder =
        must(dataset_builder_new(episode->env->state_dim, episode->env->action_count, EXPERTS),
             "memory");
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct rng rng;
        expert_rng(&rng, 1, e);
        for (uint32_t t = 0; t < TRAJECTORIES; t++) {
            play(episode, e, &rng);
            if (!dataset_builder_add(builder, &episode->trajectory))
                must(NULL, "no memory");
        }
    }
    return must(dataset_builder_finish(builder), "no memory");
}

/* Adds up, over the states of one episode, the total variation between what the expert and its
 * clone play, and how often their best actions differ. */
static void compare_episode(const struct trajectory *episode, uint32_t state_dim, uint32_t actions,
                            const struct expert_policies *clones, double sum[2])
{
    for (uint32_t i = 0; i < episode->length; i++) {
        const float *state = episode->states + (size_t)i * state_dim;
        float values[ENV_MAX_ACTIONS];
        double clone[ENV_MAX_ACTIONS] = {0}, apart = 0.0;
        uint32_t guess = 0;
        if (!policy_values(experts[episode->expert], state, values))
            must(NULL, "an expert broke");
        uint32_t best = policy_best_action(values, actions);
        expert_policies_probabilities(clones, episode->expert, 1, state, 1, clone);
        for (uint32_t a = 0; a < actions; a++) {
            apart += fabs(clone[a] - (a == best ? 1.0 - (actions - 1) * least : least));
            guess = clone[a] > clone[guess] ? a : guess;
        }
        sum[0] += apart / 2.0;
        sum[1] += guess != best;
    }
}

/* Means over fresh episodes of all experts. */
static void compare(struct expert_episode *episode, const struct expert_policies *clones,
                    double mean[2])
{
    double sum[2] = {0.0, 0.0};
    uint64_t states = 0;
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct rng rng;
        expert_rng(&rng, 2, e);
        for (uint32_t t = 0; t < FRESH; t++) {
            play(episode, e, &rng);
            compare_episode(&episode->trajectory, episode->env->state_dim,
                            episode->env->action_count, clones, sum);
            states += episode->trajectory.length;
        }
    }
    mean[0] = sum[0] / (double)states;
    mean[1] = sum[1] / (double)states;
}

static void clone_world(const char *world, const struct clone_settings *settings)
{
    const struct env *env = must((void *)env_find(world), "no such world");
    struct expert_episode episode;
    train_experts(env);
    expert_episode_init(&episode, env, LENGTH);
    struct dataset *data = play_all(&episode);
    struct expert_policies *clones =
        must(expert_policies_new(EXPERTS, env->state_dim, env->action_count, least), "no memory");
    const struct algorithm_hooks none = {0};
    double start = seconds(), apart[2];
    if (expert_clones_fill(clones, data, settings, 1, &none, 0) != ALGORITHM_OK)
        must(NULL, "no memory");
    double each = (seconds() - start) / EXPERTS;
    compare(&episode, clones, apart);
    printf("  %-12s %11.0f %12.1f %16.0f %11.4f %14.4f\n", world,
           (double)data->transition_count / EXPERTS, 1e3 * each, each * MANY, apart[0], apart[1]);
    expert_policies_free(clones);
    dataset_free(data);
    expert_episode_clear(&episode);
    for (uint32_t e = 0; e < EXPERTS; e++)
        policy_free(experts[e]);
}

/* One state and eight asked of MANY networks of hidden (256, 256), as uploads may be. */
static void ask_many(void)
{
    const struct mlp_shape shape = {.input = 4, .layer_count = 3, .width = {256, 256, 2}};
    struct expert_policies *all = must(expert_policies_new(MANY, 4, 2, least), "no memory");
    for (uint32_t e = 0; e < MANY; e++) {
        struct rng rng;
        struct policy *policy = must(policy_new(&shape, POLICY_SOFTMAX), "no memory");
        rng_seed(&rng, 1, e);
        mlp_initialize(&shape, &rng, 1.0, policy->parameters);
        expert_policies_take(all, e, policy);
    }
    enum { STATES = 8 };
    float states[STATES * 4] = {0.5F, -0.25F, 0.125F};
    double *p = must(calloc((size_t)MANY * STATES * 2, sizeof *p), "no memory");
    double best[2] = {INFINITY, INFINITY};
    for (int turn = 0; turn < TURNS; turn++) {
        for (int many = 0; many < 2; many++) {
            double start = seconds();
            expert_policies_probabilities(all, 0, MANY, states, many ? STATES : 1, p);
            best[many] = fmin(best[many], seconds() - start);
        }
    }
    printf("\nasking %d experts of hidden (256, 256), %.0f MB of weights\n", MANY,
           (double)expert_policies_bytes(all) / 1e6);
    printf("  one state   %6.1f ms\n  %d states    %6.1f ms, %.1f each\n", 1e3 * best[0], STATES,
           1e3 * best[1], 1e3 * best[1] / STATES);
    free(p);
    expert_policies_free(all);
}

int main(void)
{
    struct clone_settings settings = clone_defaults();
    printf("behaviour clones, hidden %u x %u, %u steps of %u\n", settings.hidden_layers,
           settings.hidden_width, settings.steps, settings.batch_size);
    printf("  %-12s %11s %12s %16s %11s %14s\n", "world", "transitions", "CPU ms each",
           "CPU s for 3000", "variation", "best differs");
    clone_world("cartpole", &settings);
    clone_world("acrobot", &settings);
    ask_many();
    return 0;
}
