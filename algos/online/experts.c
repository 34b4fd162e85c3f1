/* The population of experts: a table of worlds, training with snapshots, and play.
 *
 * Design: after every update the present policy is measured by a few episodes of arg-max play in
 * the world that it is trained in. Each expert of a setting has an aspiration, a return drawn from
 * its own range; the snapshot nearest to it becomes that expert. So the spread of returns is that
 * of the population's table, not of how fast PPO happens to learn, and one run gives three experts.
 * The play that is recorded is in the usual world, where each does a little better or worse.
 *
 * What is drawn from the public seed is kept apart by purpose: see stream(). */
#include "algos/online/experts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/population.h"

static const struct expert_population *const table[] = {
    &cartpole_population,
    &acrobot_population,
    &hiv_population,
    &lunar_lander_population,
};

enum purpose { PURPOSE_ORDER = 1, PURPOSE_TRAIN, PURPOSE_MEASURE, PURPOSE_PLAY };

/* Streams of one seed: the purpose in the top byte, the setting or expert below. */
static uint64_t stream(enum purpose purpose, uint64_t index)
{
    return (uint64_t)purpose << 56 | index;
}

const struct expert_population *experts_find(const struct env *env)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i]->world, env->name) == 0)
            return table[i];
    }
    return NULL;
}

const struct expert_variation *experts_variations(const struct expert_population *population,
                                                  uint32_t *count)
{
    *count = population->variation_count;
    return population->variations;
}

uint32_t experts_episode_steps(const struct expert_population *population)
{
    return population->settings.step_limit;
}

/* Where INDEX < SIZE stands in an order of 0 .. SIZE-1 that SEED chooses: a Feistel network on
 * 2 x HALF bits, walked until it is back below SIZE (Black and Rogaway 2002). No memory needed. */
static uint32_t shuffled(uint32_t index, uint32_t size, uint64_t seed)
{
    unsigned half = 1;
    while ((UINT64_C(1) << (2 * half)) < size)
        half++;
    const uint32_t mask = (UINT32_C(1) << half) - 1;
    do {
        uint32_t left = index >> half, right = index & mask;
        for (uint32_t round = 0; round < 6; round++) {
            struct rng rng;
            rng_seed(&rng, seed, stream(PURPOSE_ORDER, (uint64_t)round << 32 | right));
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
    uint32_t place = shuffled((uint32_t)(setting % size), size, seed);
    for (uint32_t v = 0; v < population->variation_count; v++) {
        const struct expert_variation *variation = &population->variations[v];
        int index = env_parameter_index(env, variation->parameter);
        assert(index >= 0 && variation->points > 1);
        double fraction = (place % variation->points) / (variation->points - 1.0);
        parameters[index] = variation->low + fraction * (variation->high - variation->low);
        place /= variation->points;
    }
}

/* The three snapshots so far, and the one in hand. */
struct snapshots {
    bool logarithmic;
    double aspiration[EXPERTS_PER_SETTING];
    double distance[EXPERTS_PER_SETTING];
    struct policy *kept[EXPERTS_PER_SETTING];
    struct policy *present;
};

/* A return where nearness is measured. */
static double scaled(const struct snapshots *s, double value)
{
    return s->logarithmic ? log10(fmax(value, 1.0)) : value;
}

static void snapshots_clear(struct snapshots *s)
{
    policy_free(s->present);
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        policy_free(s->kept[k]);
}

static bool snapshots_init(struct snapshots *s, const struct expert_population *population,
                           const struct mlp_shape *shape, struct rng *rng)
{
    *s = (struct snapshots){.present = policy_new(shape, POLICY_ARGMAX)};
    bool complete = s->present != NULL;
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        double low = population->aspiration[k].low, high = population->aspiration[k].high;
        s->logarithmic = population->logarithmic;
        low = scaled(s, low);
        high = scaled(s, high);
        s->aspiration[k] = low < high ? rng_between(rng, low, high) : low;
        s->distance[k] = INFINITY;
        s->kept[k] = policy_new(shape, POLICY_ARGMAX);
        complete = complete && s->kept[k];
    }
    return complete;
}

/* Of equally near ones the later is kept: it has learned more. */
static void keep_nearest(struct snapshots *s, double measured)
{
    size_t size = mlp_parameter_count(&s->present->shape) * sizeof(float);
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        double distance = fabs(scaled(s, measured) - s->aspiration[k]);
        if (distance > s->distance[k])
            continue;
        s->distance[k] = distance;
        memcpy(s->kept[k]->parameters, s->present->parameters, size);
    }
}

/* False: no memory, or the world broke. */
static bool learn(const struct expert_population *population, struct ppo *ppo,
                  const double *physics, struct rng *measure, struct snapshots *s)
{
    const struct env *env = world_of(population);
    for (uint32_t u = 0; u < population->updates; u++) {
        struct ppo_report report;
        if (!ppo_update(ppo, population->learning_rate, &report))
            return false;
        if (!ppo_write_policy(ppo, s->present->parameters))
            break; /* it has diverged; what was kept before stands */
        struct policy_evaluation played;
        if (!policy_evaluate(s->present, env, physics, population->episodes,
                             population->settings.step_limit, rng_next(measure), &played))
            return false;
        keep_nearest(s, played.mean_return);
    }
    return true;
}

bool experts_train(const struct expert_population *population, uint64_t seed, uint64_t setting,
                   struct policy *out[EXPERTS_PER_SETTING])
{
    double physics[ENV_MAX_PARAMETERS];
    experts_physics(population, seed, setting, physics);
    struct rng train, measure;
    rng_seed(&train, seed, stream(PURPOSE_TRAIN, setting));
    rng_seed(&measure, seed, stream(PURPOSE_MEASURE, setting));
    struct ppo *ppo = ppo_new(&population->settings, world_of(population), physics, &train);
    if (!ppo)
        return false;
    struct snapshots s;
    bool learned = snapshots_init(&s, population, ppo_policy_shape(ppo), &measure) &&
                   learn(population, ppo, physics, &measure, &s);
    if (learned) {
        for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
            out[k] = s.kept[k];
            s.kept[k] = NULL;
        }
    }
    snapshots_clear(&s);
    ppo_free(ppo);
    return learned;
}

void expert_rng(struct rng *rng, uint64_t seed, uint64_t expert)
{
    rng_seed(rng, seed, stream(PURPOSE_PLAY, expert));
}

bool expert_episode_init(struct expert_episode *episode, const struct env *env, uint32_t max_steps)
{
    assert(max_steps > 0 && max_steps <= EXPERTS_MAX_STEPS);
    *episode = (struct expert_episode){.env = env, .max_steps = max_steps};
    episode->world = env_open(env);
    episode->states = calloc((max_steps + (size_t)1) * env->state_dim, sizeof(float));
    episode->actions = calloc(max_steps, sizeof *episode->actions);
    episode->rewards = calloc(max_steps, sizeof *episode->rewards);
    return episode->world && episode->states && episode->actions && episode->rewards;
}

void expert_episode_clear(struct expert_episode *episode)
{
    if (episode->env != NULL)
        env_close(episode->env, episode->world);
    free(episode->states);
    free(episode->actions);
    free(episode->rewards);
    *episode = (struct expert_episode){0};
}

/* BEST with probability 1 - (actions - 1) p, every other with p. */
static uint32_t soften(uint32_t best, uint32_t actions, double p, struct rng *rng)
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
        uint32_t action = soften((uint32_t)best, env->action_count, min_probability, rng);
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
