/* Training and judging one candidate. */
#include "bench/advise/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/expert_clones.h"
#include "algos/offline/stage.h"
#include "bench/cpu_clock.h"

#define TRAJECTORIES 10
#define DELTA        1e-6
#define CHOOSE_PLAYS 20 /* episodes of each moment, as a job's "choose" has them */

/* ---- the experts */

/* Public bounds of where play stays, as somebody who knows the world would write them down. */
static const struct {
    const char *world;
    double low[ENV_MAX_STATE_DIM], high[ENV_MAX_STATE_DIM];
} bounds[] = {
    {"cartpole", {-2.4, -3, -0.2, -3}, {2.4, 3, 0.2, 3}},
    {"acrobot", {-1, -1, -1, -1, -6, -10}, {1, 1, 1, 1, 6, 10}},
    {"ward", {60, 40, -0.2, 85, 0, 0}, {140, 110, 1, 100, 1, 1}},
    {"fund", {-3, 0, 0, 0, 0, 0}, {3, 0.7, 20, 1, 1, 1}},
    {"factory", {20, 0, 0}, {100, 80, 20}},
    {"hiv", {3, 0, -1, -1, -1, 0}, {6.5, 4, 6, 4, 7, 6}}, /* decimal logarithms */
    {"lunar_lander", {-1, -0.2, -1.5, -2, -1, -2, 0, 0}, {1, 1.5, 1.5, 1, 1, 2, 1, 1}},
};

bool school_open(const char *world, uint64_t population, uint32_t experts, const char *cache,
                 struct school *out)
{
    *out = (struct school){.population =
                               population_load(world, population, experts, TRAJECTORIES, cache)};
    if (!out->population)
        return false;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (strcmp(bounds[i].world, world) == 0) {
            memcpy(out->low, bounds[i].low, sizeof out->low);
            memcpy(out->high, bounds[i].high, sizeof out->high);
        }
    }
    out->population->evaluation_steps = out->population->episode_steps;
    out->episodes = MEASURE_EPISODES;
    return true;
}

void school_close(struct school *school)
{
    for (uint32_t e = 0; school->clones && e < school->population->experts; e++)
        policy_free(school->clones[e]);
    free(school->clones);
    population_free(school->population);
    *school = (struct school){0};
}

struct advice_facts school_facts(const struct school *school, double epsilon)
{
    const struct population *p = school->population;
    return (struct advice_facts){.experts = p->experts,
                                 .state_dim = p->env->state_dim,
                                 .action_count = p->env->action_count,
                                 .max_episode_steps = p->episode_steps,
                                 .discount = 0.99,
                                 .min_action_probability = POPULATION_FLOOR,
                                 .epsilon = epsilon,
                                 .delta = DELTA,
                                 .world = p->env,
                                 .low = school->low,
                                 .high = school->high};
}

static bool school_clone(struct school *school)
{
    const struct population *p = school->population;
    const struct clone_settings settings = clone_defaults();
    if (school->clones)
        return true;
    school->clones = calloc(p->experts, sizeof(struct policy *));
    for (uint32_t e = 0; school->clones && e < p->experts; e++) {
        school->clones[e] = expert_clone(&settings, p->data, e, POPULATION_FLOOR, p->seed);
        if (!school->clones[e])
            return false;
    }
    return school->clones;
}

/* ---- a training */

/* Copies of the clones. */
static enum algorithm_status clones_for(void *context, struct expert_policies **out)
{
    const struct school *school = context;
    *out = population_copies(school->population, school->clones);
    return *out ? ALGORITHM_OK : ALGORITHM_NO_MEMORY;
}

/* A run that was cut short is made anew, and nothing of it was shown. */
static bool measure_keep(void *context, uint64_t done, const unsigned char *bytes, size_t size)
{
    (void)context, (void)done, (void)bytes, (void)size;
    return true;
}

static enum algorithm_status measure_train(struct school *school, const struct algorithm *algorithm,
                                           const struct algorithm_request *request,
                                           const struct algorithm_plan *plan, struct policy **out,
                                           const char **message)
{
    struct algorithm_run run = {.request = request,
                                .plan = plan,
                                .data = school->population->data,
                                .hooks = {.context = school, .experts = clones_for}};
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(school->population->env, physics);
    if (request->choice.candidates > 0)
        run.choice = (struct choice_place){school->population->env, physics};
    const struct stage_run stage = {
        .algorithm = algorithm, .run = &run, .env = school->population->env, .keep = measure_keep};
    if (request->stage.kind != STAGE_NONE && !school_clone(school))
        return ALGORITHM_NO_MEMORY;
    return stage_train(&stage, out, message);
}

/* NAN: it cannot be played. */
static double measure_return(const struct school *school, const struct policy *policy,
                             uint64_t seed)
{
    const struct population *p = school->population;
    struct policy_evaluation played;
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(p->env, physics);
    if (!policy_evaluate(policy, p->env, physics, school->episodes, p->evaluation_steps,
                         UINT64_C(1000) + seed, &played))
        return NAN;
    return played.mean_return;
}

void measure_behaviour(const struct school *school, struct outcome *out)
{
    const struct population *p = school->population;
    const struct dataset *data = p->data;
    double sum = 0;
    for (uint64_t i = 0; i < data->transition_count; i++)
        sum += (double)data->rewards[i];
    snprintf(out->world, sizeof out->world, "%s", p->env->name);
    out->experts = p->experts;
    out->mean_return = sum / ((double)p->experts * p->trajectories);
    out->random_return = school->population->env->random_return;
}

/* NAN, with a message: it failed. */
static double measure_policy(struct school *school, const struct advice_candidate *candidate,
                             const struct algorithm_request *request,
                             const struct algorithm_plan *plan, const char **message)
{
    struct policy *policy = NULL;
    double mean = NAN;
    if (measure_train(school, candidate->algorithm, request, plan, &policy, message) ==
        ALGORITHM_OK)
        mean = measure_return(school, policy, request->seed);
    policy_free(policy);
    return mean;
}

/* Runs of one SEED at other sizes have other coins: the luck of one says nothing of another. */
static uint64_t measure_coins(const struct advice_facts *facts, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed, (uint64_t)facts->experts << 32 | (uint64_t)llround(1000 * facts->epsilon));
    return rng_next(&rng) >> 16;
}

bool measure_candidate(struct school *school, const struct advice_facts *facts,
                       const struct advice_candidate *candidate, uint64_t seed, struct outcome *out)
{
    struct algorithm_request request;
    struct algorithm_plan plan;
    enum advice_method method;
    const char *message = "";
    double start = cpu_seconds();
    advice_request(facts, candidate, &request);
    request.seed = measure_coins(facts, seed);
    if (school->choose > 0)
        request.choice =
            (struct choice){school->choose, CHOOSE_PLAYS, school->population->evaluation_steps};
    if (!(facts->epsilon > 0))
        request.mechanism = MECHANISM_NONE;
    out->signal = 0;
    out->mean_return = NAN;
    out->random_return = school->population->env->random_return;
    enum algorithm_status status = candidate->algorithm->plan(&request, &plan, &message);
    if (status == ALGORITHM_INFEASIBLE)
        return true;
    if (status == ALGORITHM_OK && candidate->method == ADVICE_SHARDS) {
        out->mean_return = measure_teacher(school, facts, candidate, &request, &out->signal);
        if (out->signal == 0)
            return true;
    } else if (status == ALGORITHM_OK && candidate->method == ADVICE_RELEASE) {
        out->mean_return = measure_release(school, candidate->algorithm, &request, &plan);
    } else if (status == ALGORITHM_OK) {
        out->mean_return = measure_policy(school, candidate, &request, &plan, &message);
    }
    out->cpu_seconds = cpu_seconds() - start;
    if (facts->epsilon > 0 && candidate->method != ADVICE_SHARDS)
        out->signal = advice_signal(&request, &plan, &method);
    if (isfinite(out->mean_return) && isfinite(out->signal))
        return true;
    fprintf(stderr, "%s, %s: %s\n", out->world, out->algorithm,
            message[0] ? message : "no memory, or a broken policy");
    return false;
}
