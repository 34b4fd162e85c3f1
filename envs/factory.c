/* A quarter of an hour. Running does 1 job slowly or 2 jobs fast, if as many wait; maintenance does
 * none. With normal draws n and m and heat = 0 for maintenance, 25 slowly, 60 fast:
 *   temperature += 0.25 (20 + heat + 0.3 wear - temperature) + 1.5 n
 *   wear        += WEAR (0 for maintenance, 1 slowly, 2.5 fast) exp((temperature - 60) / 40) |m|;
 *                  maintenance takes away REPAIR first
 *   queue       += a number of new jobs: 0, 1, 2 or 3, on average ARRIVALS
 * The machine breaks while it runs, with the probability
 *   1 - exp(-0.05 (wear / 60)^4 - 0.002 max(0, temperature - 90))
 * The reward is 1 for a finished job, -0.04 for each job that waits, -0.5 for maintenance and -30
 * for a breakdown. So the queue asks for speed, speed heats and wears, and maintenance is cheap
 * while few jobs wait. */
#include "envs/factory.h"

#include <assert.h>
#include <math.h>

enum { ARRIVALS, WEAR, REPAIR, PARAMETER_COUNT };

static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [ARRIVALS] = {"arrivals", 1.2, 0.0, 3.0, "", "mean number of new jobs in a step"},
    [WEAR] = {"wear_rate", 2.0, 0.1, 10.0, "%", "wear of a step of slow running at 60 degrees"},
    [REPAIR] = {"repair", 25.0, 1.0, 100.0, "%", "wear that maintenance takes away"},
};

#define MOST_JOBS      50.0
#define BREAKDOWN_COST 30.0

enum { SLOW, FAST, MAINTAIN };

static const struct {
    double jobs, heat, wear;
} modes[] = {[SLOW] = {1.0, 25.0, 1.0}, [FAST] = {2.0, 60.0, 2.5}, [MAINTAIN] = {0.0, 0.0, 0.0}};

static double factory_within(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static void factory_observe(const struct factory_state *s, double *observation)
{
    observation[0] = s->temperature;
    observation[1] = s->wear;
    observation[2] = s->queue;
}

static bool factory_reset(void *memory, const double *parameters, struct rng *rng,
                          double *observation)
{
    (void)parameters;
    struct factory_state *s = memory;
    s->temperature = rng_between(rng, 20.0, 60.0);
    s->wear = rng_between(rng, 0.0, 40.0);
    s->queue = rng_below(rng, 11);
    factory_observe(s, observation);
    return true;
}

/* New jobs: three tries, each with a third of the mean. */
static double factory_arrivals(double mean, struct rng *rng)
{
    double jobs = 0.0;
    for (int i = 0; i < 3; i++)
        jobs += rng_uniform(rng) < mean / 3.0 ? 1.0 : 0.0;
    return jobs;
}

static struct env_outcome factory_step(void *memory, const double *parameters, unsigned action,
                                       struct rng *rng, double *observation)
{
    assert(action < 3);
    struct factory_state *s = memory;
    double done = fmin(modes[action].jobs, s->queue);
    double warmer = 0.25 * (20.0 + modes[action].heat + 0.3 * s->wear - s->temperature);
    s->temperature = factory_within(s->temperature + warmer + 1.5 * rng_normal(rng), 20.0, 150.0);
    double worn = parameters[WEAR] * modes[action].wear * exp((s->temperature - 60.0) / 40.0);
    double repaired = action == MAINTAIN ? parameters[REPAIR] : 0.0;
    s->wear = factory_within(s->wear - repaired + worn * fabs(rng_normal(rng)), 0.0, 100.0);
    s->queue = fmin(s->queue - done + factory_arrivals(parameters[ARRIVALS], rng), MOST_JOBS);
    double hazard = 0.05 * pow(s->wear / 60.0, 4.0) + 0.002 * fmax(0.0, s->temperature - 90.0);
    bool broken = rng_uniform(rng) < 1.0 - exp(-hazard) && action != MAINTAIN;
    factory_observe(s, observation);
    double reward =
        done - 0.04 * s->queue - (action == MAINTAIN ? 0.5 : 0.0) - (broken ? BREAKDOWN_COST : 0.0);
    return (struct env_outcome){.reward = reward, .terminated = broken};
}

const struct env factory_env = {
    .name = "factory",
    .state_dim = 3,
    .action_count = 3,
    .max_episode_steps = 64,
    .random_return = 18.7,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct factory_state),
    .reset = factory_reset,
    .step = factory_step,
};
