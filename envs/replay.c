/* The table of worlds that can be replayed, and the replay. A new world that should be replayed is
 * a row here, and one in api/wire/replay_settings.c where its recordings have settings of their
 * own. */
#include "envs/replay.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "envs/acrobot.h"
#include "envs/cartpole.h"
#include "envs/hiv.h"
#include "envs/lunar_lander.h"
#include "memory/memory.h"

static double largest_difference(const double *a, const double *b, unsigned count)
{
    double most = 0.0;
    for (unsigned i = 0; i < count; i++) {
        double difference = fabs(a[i] - b[i]);
        most = difference <= most ? most : difference; /* NaN wins */
        if (isnan(most))
            break;
    }
    return most;
}

/* A world without chance steps as its table says. */
static struct env_outcome step_plainly(const struct env *env, void *state, const double *parameters,
                                       unsigned action)
{
    double seen[ENV_MAX_STATE_DIM];
    struct rng unused;
    rng_seed(&unused, 0, 0);
    return env->step(state, parameters, action, &unused, seen);
}

/* ---- cartpole: x, its speed, theta, its speed; so is its start */

static bool cartpole_place(void *state, const double *numbers)
{
    *(struct cartpole_state *)state =
        (struct cartpole_state){numbers[0], numbers[1], numbers[2], numbers[3]};
    return true;
}

static struct env_outcome replay_cartpole_step(void *state, const double *parameters,
                                               unsigned action, const double *chance,
                                               double *numbers)
{
    (void)chance;
    const struct cartpole_state *s = state;
    struct env_outcome outcome = step_plainly(&cartpole_env, state, parameters, action);
    memcpy(numbers, (double[]){s->x, s->x_dot, s->theta, s->theta_dot}, 4 * sizeof(double));
    return outcome;
}

static double cartpole_error(const double *seen, const double *wanted)
{
    return largest_difference(seen, wanted, 4);
}

/* ---- acrobot: theta1, theta2, their speeds; so is its start */

static bool acrobot_place(void *state, const double *numbers)
{
    *(struct acrobot_state *)state = (struct acrobot_state){.theta1 = numbers[0],
                                                            .theta2 = numbers[1],
                                                            .theta1_dot = numbers[2],
                                                            .theta2_dot = numbers[3]};
    return true;
}

static struct env_outcome replay_acrobot_step(void *state, const double *parameters,
                                              unsigned action, const double *chance,
                                              double *numbers)
{
    (void)chance;
    const struct acrobot_state *s = state;
    struct env_outcome outcome = step_plainly(&acrobot_env, state, parameters, action);
    memcpy(numbers, (double[]){s->theta1, s->theta2, s->theta1_dot, s->theta2_dot},
           4 * sizeof(double));
    return outcome;
}

static double acrobot_error(const double *seen, const double *wanted)
{
    const double turned[4] = {wanted[0] + remainder(seen[0] - wanted[0], 2 * M_PI),
                              wanted[1] + remainder(seen[1] - wanted[1], 2 * M_PI), seen[2],
                              seen[3]};
    return largest_difference(turned, wanted, 4);
}

/* ---- hiv: T1, T2, T1*, T2*, V, E per ml; so is its start. Chance: the efficacies of both drugs.
 */

#define HIV_MOST 1e9 /* cells per ml */

static bool hiv_place(void *state, const double *numbers)
{
    for (int i = 0; i < 6; i++)
        if (!(numbers[i] >= 0.0 && numbers[i] <= HIV_MOST))
            return false;
    *(struct hiv_state *)state =
        (struct hiv_state){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    return true;
}

static struct env_outcome replay_hiv_step(void *state, const double *parameters, unsigned action,
                                          const double *chance, double *numbers)
{
    double given[ENV_MAX_PARAMETERS];
    memcpy(given, parameters, sizeof given);
    if (chance) {
        given[env_parameter_index(&hiv_env, "eps1_on")] = chance[0];
        given[env_parameter_index(&hiv_env, "eps2_on")] = chance[1];
        given[env_parameter_index(&hiv_env, "efficacy_noise_sd")] = 0.0;
    }
    const struct hiv_state *s = state;
    struct env_outcome outcome = step_plainly(&hiv_env, state, given, action);
    const double now[6] = {s->t1, s->t2, s->t1_infected, s->t2_infected, s->virus, s->immune};
    memcpy(numbers, now, sizeof now);
    return outcome;
}

static double hiv_error(const double *seen, const double *wanted)
{
    double relative[6];
    const double none[6] = {0.0};
    for (int i = 0; i < 6; i++)
        relative[i] = (seen[i] - wanted[i]) / fmax(fabs(wanted[i]), 1e-6);
    return largest_difference(relative, none, 6);
}

static double hiv_reward_tolerance(double tolerance, double reward)
{
    return fmax(tolerance * fabs(reward), 1e-2);
}

/* ---- lunar_lander: its observation. Start: heights, force, wind index, turbulence index. Chance:
 * the dispersion. */

static bool lander_begin(void *state, const double *parameters, const double *start)
{
    struct lunar_lander_start all = {0};
    double seen[8];
    memcpy(all.heights, start, sizeof all.heights);
    memcpy(all.force, start + LUNAR_LANDER_HEIGHTS, sizeof all.force);
    const double *index = start + LUNAR_LANDER_HEIGHTS + 2;
    if (!(fabs(index[0]) <= 1e6 && fabs(index[1]) <= 1e6)) /* whether they may be is its to say */
        return false;
    all.wind_index = (int)index[0];
    all.turbulence_index = (int)index[1];
    return lunar_lander_begin(state, parameters, &all, seen);
}

/* Two numbers say whether a leg touches the ground; they must be equal. */
static double lander_error(const double *seen, const double *wanted)
{
    if (seen[6] != wanted[6] || seen[7] != wanted[7])
        return INFINITY;
    return largest_difference(seen, wanted, 6);
}

/* What other compilers and processors may drift in flight, and then through hard landings; where
 * ours was recorded nothing drifts. */
static double lander_tolerance(size_t step)
{
    if (step <= 10)
        return 2e-6;
    if (step <= 50)
        return 1e-4;
    if (step <= 100)
        return 1e-3;
    return 5e-2;
}

/* Each of two shapings may err by (2 * 100 * sqrt(2) + 100) times the states' error. */
static double lander_reward_tolerance(double tolerance, double reward)
{
    (void)reward;
    return 800 * tolerance;
}

/* ---- the table */

static const struct replay_world table[] = {
    {.env = &cartpole_env,
     .references = {"CartPole-v1", "CartPole-v0"},
     .numbers = 4,
     .start_numbers = 4,
     .tolerance = 1e-12,
     .error_meaning = "difference of a number",
     .place = cartpole_place,
     .step = replay_cartpole_step,
     .error = cartpole_error},
    {.env = &acrobot_env,
     .references = {"Acrobot-v1"},
     .numbers = 4,
     .start_numbers = 4,
     .tolerance = 1e-11,
     .error_meaning = "difference of a number, angles modulo a turn",
     .place = acrobot_place,
     .step = replay_acrobot_step,
     .error = acrobot_error},
    {.env = &hiv_env,
     .references = {"HIVTreatment"},
     .numbers = 6,
     .start_numbers = 6,
     .chance_numbers = 2,
     .tolerance = 1e-6,
     .error_meaning = "difference of a number relative to it",
     .place = hiv_place,
     .step = replay_hiv_step,
     .error = hiv_error,
     .reward_tolerance = hiv_reward_tolerance},
    {.env = &lunar_lander_env,
     .references = {"LunarLander-v3", "LunarLander-v2"},
     .numbers = 8,
     .start_numbers = LUNAR_LANDER_HEIGHTS + 4,
     .chance_numbers = 2,
     .chance_needed = true,
     .from_start = true,
     .tolerance = 2e-6,
     .error_meaning = "difference of a number; a leg's contact must be the same",
     .begin = lander_begin,
     .step = lunar_lander_advance,
     .error = lander_error,
     .tolerance_at = lander_tolerance,
     .reward_tolerance = lander_reward_tolerance},
};
#define WORLDS (sizeof table / sizeof table[0])

const struct replay_world *replay_all(unsigned *count)
{
    *count = WORLDS;
    return table;
}

const struct replay_world *replay_find(const char *name)
{
    for (size_t i = 0; i < WORLDS; i++) {
        if (strcmp(name, table[i].env->name) == 0)
            return &table[i];
        for (size_t r = 0; table[i].references[r]; r++)
            if (strcmp(name, table[i].references[r]) == 0)
                return &table[i];
    }
    return NULL;
}

/* ---- the replay */

/* Compares what step T, counted from 0, showed with the record. */
static void replay_judge(const struct replay_world *world, const struct replay_case *recorded,
                         size_t t, double tolerance, const double *seen, struct env_outcome outcome,
                         struct replay_result *out)
{
    double error = world->error(seen, recorded->states + t * world->numbers);
    double reward = recorded->rewards[t], difference = fabs(outcome.reward - reward);
    double allowed = world->reward_tolerance ? world->reward_tolerance(tolerance, reward) : 0.0;
    out->states_agree = out->states_agree && error <= tolerance; /* NaN is not */
    out->rewards_agree = out->rewards_agree && difference <= allowed;
    error = isnan(error) ? INFINITY : error;
    difference = isnan(difference) ? INFINITY : difference;
    if (error > out->error) {
        out->error = error;
        out->error_step = t + 1;
    }
    if (difference > out->reward_error) {
        out->reward_error = difference;
        out->reward_step = t + 1;
    }
    bool truncated = t + 1 >= recorded->limit;
    if (outcome.terminated == recorded->terminated[t] && truncated == recorded->truncated[t])
        return;
    if (out->flags_step == 0)
        out->flags_step = t + 1;
    out->flags_agree = false;
}

static bool replay_steps(const struct replay_world *world, const struct replay_case *recorded,
                         const double *tolerance, void *state, struct replay_result *out)
{
    double seen[REPLAY_MAX_NUMBERS];
    for (size_t t = 0; t < recorded->length; t++) {
        const double *before = t > 0 ? recorded->states + (t - 1) * world->numbers : NULL;
        const double *chance =
            recorded->chance ? recorded->chance + t * world->chance_numbers : NULL;
        if (before && !world->from_start && !world->place(state, before))
            return false;
        struct env_outcome outcome =
            world->step(state, recorded->parameters, recorded->actions[t], chance, seen);
        if (outcome.failed)
            return false;
        double allowed = world->tolerance_at ? world->tolerance_at(t + 1) : world->tolerance;
        replay_judge(world, recorded, t, tolerance ? *tolerance : allowed, seen, outcome, out);
    }
    return true;
}

enum replay_status replay_run(const struct replay_world *world, const struct replay_case *recorded,
                              const double *tolerance, struct replay_result *out)
{
    assert(!world->chance_needed || recorded->chance);
    *out = (struct replay_result){.states_agree = true, .rewards_agree = true, .flags_agree = true};
    void *state = memory_must(env_open(world->env));
    bool good = world->begin ? world->begin(state, recorded->parameters, recorded->start)
                             : world->place(state, recorded->start);
    good = good && replay_steps(world, recorded, tolerance, state, out);
    env_close(world->env, state);
    return good ? REPLAY_DONE : REPLAY_NO_SUCH_STATE;
}
