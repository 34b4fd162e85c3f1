/* CartPole-v1 (Gymnasium 1.4.0, classic_control/cartpole.py, MIT), written anew from its equations.
 *
 * With force f, total mass M = masspole + masscart and half pole length l:
 *   temp      = (f + masspole l theta_dot^2 sin theta) / M
 *   theta_acc = (g sin theta - cos theta temp) / (l (4/3 - masspole cos^2 theta / M))
 *   x_acc     = temp - masspole l theta_acc cos theta / M
 * then one explicit Euler step of 0.02 s: old velocities move the positions.
 *
 * The order of operations below is the reference's and keeps its bits: an upright pole doubles a
 * rounding difference every nine steps. Unlike there, a changed cart mass changes the total mass.
 */
#include "envs/cartpole.h"

#include <assert.h>
#include <math.h>

enum { GRAVITY, FORCE_MAG, MASSCART, MASSPOLE, LENGTH, PARAMETER_COUNT };

static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [GRAVITY] = {"gravity", 9.8, 0.1, 100.0, "m/s^2", "acceleration of free fall"},
    [FORCE_MAG] = {"force_mag", 10.0, 0.1, 1000.0, "N", "size of the push of either action"},
    [MASSCART] = {"masscart", 1.0, 0.01, 100.0, "kg", "mass of the cart"},
    [MASSPOLE] = {"masspole", 0.1, 0.001, 100.0, "kg", "mass of the pole"},
    [LENGTH] = {"length", 0.5, 0.01, 100.0, "m", "half the length of the pole"},
};

#define TAU             0.02 /* s, one step */
#define X_THRESHOLD     2.4  /* m, half the track */
#define THETA_THRESHOLD (12 * 2 * M_PI / 360)
#define START_SPREAD    0.05 /* every number of a start state lies within +- this */

static void observe(const struct cartpole_state *state, double *observation)
{
    observation[0] = state->x;
    observation[1] = state->x_dot;
    observation[2] = state->theta;
    observation[3] = state->theta_dot;
}

static bool cartpole_reset(void *memory, const double *parameters, struct rng *rng,
                           double *observation)
{
    (void)parameters;
    struct cartpole_state *state = memory;
    state->x = rng_between(rng, -START_SPREAD, START_SPREAD);
    state->x_dot = rng_between(rng, -START_SPREAD, START_SPREAD);
    state->theta = rng_between(rng, -START_SPREAD, START_SPREAD);
    state->theta_dot = rng_between(rng, -START_SPREAD, START_SPREAD);
    observe(state, observation);
    return true;
}

static struct env_outcome cartpole_step(void *memory, const double *parameters, unsigned action,
                                        struct rng *rng, double *observation)
{
    (void)rng; /* the only chance is in the start state */
    assert(action < 2);
    struct cartpole_state *s = memory;
    double length = parameters[LENGTH], masspole = parameters[MASSPOLE];
    double total_mass = masspole + parameters[MASSCART];
    double polemass_length = masspole * length;
    double force = action == 1 ? parameters[FORCE_MAG] : -parameters[FORCE_MAG];
    double cosine = cos(s->theta), sine = sin(s->theta);

    double temp = (force + polemass_length * (s->theta_dot * s->theta_dot) * sine) / total_mass;
    double theta_acc = (parameters[GRAVITY] * sine - cosine * temp) /
                       (length * (4.0 / 3.0 - masspole * (cosine * cosine) / total_mass));
    double x_acc = temp - polemass_length * theta_acc * cosine / total_mass;

    s->x = s->x + TAU * s->x_dot;
    s->x_dot = s->x_dot + TAU * x_acc;
    s->theta = s->theta + TAU * s->theta_dot;
    s->theta_dot = s->theta_dot + TAU * theta_acc;
    observe(s, observation);

    bool fallen = s->x < -X_THRESHOLD || s->x > X_THRESHOLD || s->theta < -THETA_THRESHOLD ||
                  s->theta > THETA_THRESHOLD;
    return (struct env_outcome){.reward = 1.0, .terminated = fallen};
}

const struct env cartpole_env = {
    .name = "cartpole",
    .state_dim = 4,
    .action_count = 2,
    .max_episode_steps = 500,
    .random_return = 22.28,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct cartpole_state),
    .reset = cartpole_reset,
    .step = cartpole_step,
};
