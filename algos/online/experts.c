/* The population of experts: training with snapshots, and play.
 *
 * Design: between updates the present policy is measured by a few episodes of arg-max play in the
 * world that it is trained in; snapshots.c knows which become experts. A setting aspires to a
 * return, drawn from a beginner's, a middling or a master's range in turn, and its run ends when it
 * has got there. So its three experts are the best three that the run has seen, while the spread of
 * returns from setting to setting is that of the population's table, not of how fast PPO happens to
 * learn. The play that is recorded is in the usual world, where each does a little better or worse.
 *
 * What is drawn from the public seed is kept apart by purpose: see stream_of(). */
#include "algos/online/experts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/population.h"
#include "algos/online/snapshots.h"
#include "memory/memory.h"

/* So that the best three are chosen from more, however little is aspired to. */
#define LEAST_SNAPSHOTS (2 * EXPERTS_PER_SETTING)

enum purpose { PURPOSE_ORDER = 1, PURPOSE_TRAIN, PURPOSE_MEASURE, PURPOSE_PLAY };

/* Streams of one seed: the purpose in the top byte, the setting or expert below. */
static uint64_t stream_of(enum purpose purpose, uint64_t index)
{
    return (uint64_t)purpose << 56 | index;
}

uint32_t experts_episode_steps(const struct expert_population *population)
{
    return population->settings.step_limit;
}

/* Where INDEX < SIZE stands in an order of 0 .. SIZE-1 that SEED chooses: a Feistel network on
 * 2 x HALF bits, walked until it is back below SIZE (Black and Rogaway 2002). No memory needed. */
static uint32_t shuffled_setting(uint32_t index, uint32_t size, uint64_t seed)
{
    unsigned half = 1;
    while ((UINT64_C(1) << (2 * half)) < size)
        half++;
    const uint32_t mask = (UINT32_C(1) << half) - 1;
    do {
        uint32_t left = index >> half, right = index & mask;
        for (uint32_t round = 0; round < 6; round++) {
            struct rng rng;
            rng_seed(&rng, seed, stream_of(PURPOSE_ORDER, (uint64_t)round << 32 | right));
            uint32_t next = left ^ ((uint32_t)rng_next(&rng) & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= size);
    return index;
}

static const struct env *world_of(const struct expert_population *population)
{
    const struct env *env = env_find(population->world);
    assert(env);
    return env;
}

void experts_physics(const struct expert_population *population, uint64_t seed, uint64_t setting,
                     double *parameters)
{
    const struct env *env = world_of(population);
    env_defaults(env, parameters);
    uint32_t size = 1;
    for (uint32_t v = 0; v < population->variation_count; v++)
        size *= population->variations[v].points;
    uint32_t place = shuffled_setting((uint32_t)(setting % size), size, seed);
    for (uint32_t v = 0; v < population->variation_count; v++) {
        const struct expert_variation *variation = &population->variations[v];
        int index = env_parameter_index(env, variation->parameter);
        assert(index >= 0 && variation->points > 1);
        double fraction = (place % variation->points) / (variation->points - 1.0);
        parameters[index] = variation->low + fraction * (variation->high - variation->low);
        place /= variation->points;
    }
}

/* Draws what the experts of SETTING aspire to, worst first. The best of a run are of one kind, and
 * the kinds take turns: only that one counts. */
static void draw_aspirations(const struct expert_population *population, struct rng *rng,
                             double aspiration[EXPERTS_PER_SETTING])
{
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        double low = population->aspiration[k].low, high = population->aspiration[k].high;
        if (population->logarithmic) {
            low = log10(low);
            high = log10(high);
        }
        double drawn = low < high ? rng_between(rng, low, high) : low;
        aspiration[k] = population->logarithmic ? pow(10.0, drawn) : drawn;
    }
}

/* A training run of one setting. */
struct run {
    const struct expert_population *population;
    const struct env *env;
    const struct experts_observer *observer;
    double physics[ENV_MAX_PARAMETERS];
    struct rng measure;
    struct ppo *ppo;
    double enough; /* a return at which it has learned what it is to learn */
    struct snapshots snapshots;
};

/* Measures the current policy and shows it to the snapshots. False: the world broke. */
static bool measure_policy(struct run *run)
{
    const struct expert_population *population = run->population;
    struct policy_evaluation played;
    if (!policy_evaluate(run->snapshots.present, run->env, run->physics, population->episodes,
                         population->settings.step_limit, rng_next(&run->measure), &played))
        return false;
    snapshots_show(&run->snapshots, played.mean_return);
    if (run->observer)
        run->observer->saw(run->observer->context, run->snapshots.present, played.mean_return);
    return true;
}

static bool learned_enough(const struct run *run)
{
    const struct snapshots *s = &run->snapshots;
    return s->select == EXPERTS_TOP && s->seen >= LEAST_SNAPSHOTS &&
           snapshots_best(s) >= run->enough;
}

/* False: the world broke. */
static bool train_setting(struct run *run)
{
    const struct expert_population *population = run->population;
    bool top = run->snapshots.select == EXPERTS_TOP;
    uint32_t every = top ? population->measure_every : 1;
    for (uint32_t u = 1; u <= population->updates && !learned_enough(run); u++) {
        struct ppo_report report;
        if (!ppo_update(run->ppo, population->learning_rate, &report))
            return false;
        if (u % every != 0)
            continue;
        if (!ppo_write_policy(run->ppo, run->snapshots.present->parameters))
            break; /* the run has diverged; earlier snapshots stay */
        if (!measure_policy(run))
            return false;
    }
    return true;
}

bool experts_train(const struct expert_population *population, enum experts_select select,
                   uint64_t seed, uint64_t setting, const struct experts_observer *observer,
                   struct policy *out[EXPERTS_PER_SETTING])
{
    struct run run = {.population = population, .env = world_of(population), .observer = observer};
    double aspiration[EXPERTS_PER_SETTING];
    struct rng train;
    experts_physics(population, seed, setting, run.physics);
    rng_seed(&train, seed, stream_of(PURPOSE_TRAIN, setting));
    rng_seed(&run.measure, seed, stream_of(PURPOSE_MEASURE, setting));
    run.ppo = memory_must(ppo_new(&population->settings, run.env, run.physics, &train));
    draw_aspirations(population, &run.measure, aspiration);
    run.enough = aspiration[setting % EXPERTS_PER_SETTING];
    snapshots_init(&run.snapshots, select, population->logarithmic, aspiration,
                   ppo_policy_shape(run.ppo));
    bool learned = train_setting(&run) && snapshots_take(&run.snapshots, out);
    snapshots_clear(&run.snapshots);
    ppo_free(run.ppo);
    return learned;
}

void expert_rng(struct rng *rng, uint64_t seed, uint64_t expert)
{
    rng_seed(rng, seed, stream_of(PURPOSE_PLAY, expert));
}

void expert_episode_init(struct expert_episode *episode, const struct env *env, uint32_t max_steps)
{
    assert(max_steps > 0 && max_steps <= EXPERTS_MAX_STEPS);
    *episode = (struct expert_episode){.env = env, .max_steps = max_steps};
    episode->world = memory_must(env_open(env));
    episode->states = memory_new((max_steps + (size_t)1) * env->state_dim, sizeof(float));
    episode->actions = memory_new(max_steps, sizeof *episode->actions);
    episode->rewards = memory_new(max_steps, sizeof *episode->rewards);
}

void expert_episode_clear(struct expert_episode *episode)
{
    if (episode->env)
        env_close(episode->env, episode->world);
    free(episode->states);
    free(episode->actions);
    free(episode->rewards);
    *episode = (struct expert_episode){0};
}

/* Draws BEST with probability 1 - (actions - 1) p, and every other action with p. */
static uint32_t soften_action(uint32_t best, uint32_t actions, double p, struct rng *rng)
{
    double u = rng_uniform(rng);
    for (uint32_t a = 0; a < actions; a++) {
        if (a == best)
            continue;
        if (u < p)
            return a;
        u -= p;
    }
    return best;
}

bool expert_play(struct expert_episode *episode, const struct policy *policy,
                 double min_probability, struct rng *rng)
{
    const struct env *env = episode->env;
    assert(policy->shape.input == env->state_dim);
    assert(min_probability >= 0.0 && min_probability * env->action_count <= 1.0 + 1e-9);
    double physics[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM];
    float values[ENV_MAX_ACTIONS];
    env_defaults(env, physics);
    if (!env->reset(episode->world, physics, rng, seen))
        return false;
    bool terminated = false;
    uint32_t t = 0;
    for (;; t++) {
        float *row = episode->states + (size_t)t * env->state_dim;
        for (unsigned k = 0; k < env->state_dim; k++)
            row[k] = (float)seen[k];
        if (terminated || t == episode->max_steps)
            break;
        int best = policy_decide(policy, row, values);
        if (best < 0)
            return false;
        uint32_t action = soften_action((uint32_t)best, env->action_count, min_probability, rng);
        struct env_outcome outcome = env->step(episode->world, physics, action, rng, seen);
        if (outcome.failed)
            return false;
        episode->actions[t] = (uint16_t)action;
        episode->rewards[t] = (float)outcome.reward;
        terminated = outcome.terminated;
    }
    episode->trajectory = (struct trajectory){
        .length = t,
        .terminated = terminated,
        .truncated = t == episode->max_steps,
        .states = episode->states,
        .actions = episode->actions,
        .rewards = episode->rewards,
    };
    return true;
}
