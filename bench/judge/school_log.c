/* Experts by rules, and play. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/judge/school.h"
#include "memory/memory.h"

#define TRUTH_EPISODES 4000

/* What tells experts apart. */
struct habit {
    double first, second, third, stray; /* STRAY: share of steps with a random action */
};

static struct habit habit_draw(struct rng *rng)
{
    return (struct habit){.first = rng_uniform(rng),
                          .second = rng_uniform(rng),
                          .third = rng_uniform(rng),
                          .stray = rng_between(rng, 0.05, 0.25)};
}

static unsigned clinician(const struct habit *h, const double *s)
{
    unsigned fluids = s[1] < 58.0 + 20.0 * h->first && s[3] > 88.0 + 6.0 * h->third;
    unsigned pressor = s[1] < 48.0 + 22.0 * h->second;
    return fluids + 2 * pressor;
}

static unsigned manager(const struct habit *h, const double *s)
{
    double wish = s[0] - 1.5 * h->first * (s[1] - 0.3) - 0.05 * h->second * s[2];
    if (wish > 0.6 + h->third)
        return 2;
    return wish > 0.2 * h->third ? 1 : 0;
}

static unsigned operator_of(const struct habit *h, const double *s)
{
    if (s[1] > 30.0 + 40.0 * h->first && s[2] < 6.0 + 14.0 * h->second)
        return 2;
    return s[2] > 3.0 + 8.0 * h->third && s[0] < 85.0 ? 1 : 0;
}

static unsigned habit_act(const struct env *world, const struct habit *h, const double *s,
                          struct rng *rng)
{
    if (rng_uniform(rng) < h->stray)
        return rng_below(rng, world->action_count);
    if (strcmp(world->name, "ward") == 0)
        return clinician(h, s);
    return strcmp(world->name, "fund") == 0 ? manager(h, s) : operator_of(h, s);
}

/* Plays one episode into ONE, whose arrays are the caller's. */
static void log_episode(const struct env *world, const struct habit *h, void *state,
                        struct rng *rng, struct trajectory *one, float *states, uint16_t *actions,
                        float *rewards)
{
    double physics[ENV_MAX_PARAMETERS], s[ENV_MAX_STATE_DIM];
    const uint32_t dim = world->state_dim;
    env_defaults(world, physics);
    world->reset(state, physics, rng, s);
    for (uint32_t d = 0; d < dim; d++)
        states[d] = (float)s[d];
    one->length = 0;
    one->terminated = false;
    while (!one->terminated && one->length < world->max_episode_steps) {
        uint32_t t = one->length++;
        actions[t] = (uint16_t)habit_act(world, h, s, rng);
        struct env_outcome outcome = world->step(state, physics, actions[t], rng, s);
        rewards[t] = (float)outcome.reward;
        one->terminated = outcome.terminated;
        for (uint32_t d = 0; d < dim; d++)
            states[one->length * dim + d] = (float)s[d];
    }
    one->truncated = !one->terminated;
}

struct dataset *school_log(const struct env *world, uint32_t experts, uint32_t trajectories,
                           uint64_t seed)
{
    const uint32_t most = world->max_episode_steps;
    struct dataset_builder *builder =
        dataset_builder_new(world->state_dim, world->action_count, experts);
    float *states = memory_new((most + 1) * (size_t)world->state_dim, sizeof *states);
    float *rewards = memory_new(most, sizeof *rewards);
    uint16_t *actions = memory_new(most, sizeof *actions);
    void *state = memory_must(env_open(world));
    for (uint32_t e = 0; e < experts; e++) {
        struct rng rng;
        rng_seed(&rng, seed, e);
        struct habit habit = habit_draw(&rng);
        for (uint32_t i = 0; i < trajectories; i++) {
            struct trajectory one = {
                .expert = e, .states = states, .actions = actions, .rewards = rewards};
            log_episode(world, &habit, state, &rng, &one, states, actions, rewards);
            if (!dataset_builder_add(memory_must(builder), &one))
                memory_must(NULL);
        }
    }
    env_close(world, state);
    free(states);
    free(rewards);
    free(actions);
    return memory_must(dataset_builder_finish(builder));
}

/* One action of POLICY at S. */
static unsigned policy_act(const struct policy *policy, const float *s, struct rng *rng)
{
    double p[MLP_MAX_WIDTH];
    float values[MLP_MAX_WIDTH];
    if (policy->output != POLICY_SOFTMAX)
        return (unsigned)abs(policy_decide(policy, s, values));
    if (!policy_probabilities(policy, s, 1.0, p))
        return 0;
    double u = rng_uniform(rng);
    uint32_t a = 0, last = policy_action_count(policy) - 1;
    for (; a < last && u >= p[a]; a++)
        u -= p[a];
    return a;
}

double school_truth(const struct env *world, const struct policy *policy, uint64_t seed,
                    double *error)
{
    double physics[ENV_MAX_PARAMETERS], s[ENV_MAX_STATE_DIM], mean = 0.0, squares = 0.0;
    float shown[ENV_MAX_STATE_DIM];
    void *state = memory_must(env_open(world));
    env_defaults(world, physics);
    for (uint32_t e = 0; e < TRUTH_EPISODES; e++) {
        struct rng rng;
        rng_seed(&rng, seed, e);
        struct habit habit = habit_draw(&rng);
        double value = 0.0, factor = 1.0, before = mean;
        bool over = false;
        world->reset(state, physics, &rng, s);
        for (uint32_t t = 0; !over && t < world->max_episode_steps; t++) {
            for (uint32_t d = 0; d < world->state_dim; d++)
                shown[d] = (float)s[d];
            unsigned action =
                policy ? policy_act(policy, shown, &rng) : habit_act(world, &habit, s, &rng);
            struct env_outcome outcome = world->step(state, physics, action, &rng, s);
            value += factor * outcome.reward;
            factor *= SCHOOL_DISCOUNT;
            over = outcome.terminated;
        }
        mean += (value - mean) / (e + 1);
        squares += (value - before) * (value - mean);
    }
    env_close(world, state);
    *error = sqrt(squares / (TRUTH_EPISODES - 1.0) / TRUTH_EPISODES);
    return mean;
}
