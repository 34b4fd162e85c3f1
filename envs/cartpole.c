/* CartPole-v1 (Gymnasium 1.4.0, classic_control/cartpole.py, MIT), written anew from its equations.
 *
 * With force f, total mass M = masspole + masscart and half pole length l:
 *   temp      = (f + masspole l theta_dot^2 sin theta) / M
 *   theta_acc = (g sin theta - cos theta temp) / (l (4/3 - masspole cos^2 theta / M))
 *   x_acc     = temp - masspole l theta_acc cos theta / M
 * then one Euler step of 0.02 s: old velocities move the positions, or, where semi_implicit is 1,
 * new ones.
 *
 * The order of operations below is the reference's and keeps its bits: an upright pole doubles a
 * rounding difference every nine steps. Unlike there, a changed cart mass changes the total mass.
 * Sine and cosine are those of lanes.h, the same on every machine; the C library's, which the
 * reference takes, are another double once in ten thousand angles of 0.04, once in five hundred of
 * 0.2, and never where our recordings would show it.
 */
#include "envs/cartpole.h"

#include <assert.h>
#include <math.h>

#include "envs/lanes.h"

enum {
    GRAVITY,
    FORCE_MAG,
    MASSCART,
    MASSPOLE,
    LENGTH,
    SEMI_IMPLICIT,
    SUTTON_BARTO_REWARD,
    PARAMETER_COUNT
};

static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [GRAVITY] = {"gravity", 9.8, 0.1, 100.0, "m/s^2", "acceleration of free fall"},
    [FORCE_MAG] = {"force_mag", 10.0, 0.1, 1000.0, "N", "size of the push of either action"},
    [MASSCART] = {"masscart", 1.0, 0.01, 100.0, "kg", "mass of the cart"},
    [MASSPOLE] = {"masspole", 0.1, 0.001, 100.0, "kg", "mass of the pole"},
    [LENGTH] = {"length", 0.5, 0.01, 100.0, "m", "half the length of the pole"},
    [SEMI_IMPLICIT] = {"semi_implicit", 0.0, 0.0, 1.0, "1",
                       "part of a step's change of velocity that moves the positions in that very "
                       "step: 1 is the semi-implicit Euler method"},
    [SUTTON_BARTO_REWARD] = {"sutton_barto_reward", 0.0, 0.0, 1.0, "1",
                             "taken from every reward of 1, twice in the step that falls: 1 as in "
                             "the book of Sutton and Barto, 0 until the fall and then -1"},
};

#define TAU             0.02 /* s, one step */
#define X_THRESHOLD     2.4  /* m, half the track */
#define THETA_THRESHOLD (12 * 2 * M_PI / 360)
#define START_SPREAD    0.05 /* every number of a start state lies within +- this */

static void cartpole_observe(const struct cartpole_state *state, double *observation)
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
    cartpole_observe(state, observation);
    return true;
}

/* Four poles. */
struct poles {
    lanes x, x_dot, theta, theta_dot;
};

/* A standing pole leans at most THETA_THRESHOLD. A pole that is pushed on after its fall may lean
 * more. */
LANES_INLINE void sin_cos(lanes theta, lanes *sine, lanes *cosine)
{
    if (__builtin_expect(lanes_any(lanes_abs(theta) > M_PI_4), 0))
        lanes_sin_cos(theta, sine, cosine);
    else
        lanes_small_sin_cos(theta, sine, cosine);
}

/* Makes one step of four poles. The result is true where a pole has fallen. */
LANES_INLINE lanes_mask move(struct poles *s, const lanes parameters[PARAMETER_COUNT], lanes force)
{
    lanes length = parameters[LENGTH], masspole = parameters[MASSPOLE];
    lanes total_mass = masspole + parameters[MASSCART];
    lanes polemass_length = masspole * length;
    lanes sine, cosine;
    sin_cos(s->theta, &sine, &cosine);

    lanes temp = (force + polemass_length * (s->theta_dot * s->theta_dot) * sine) / total_mass;
    lanes theta_acc = (parameters[GRAVITY] * sine - cosine * temp) /
                      (length * (4.0 / 3.0 - masspole * (cosine * cosine) / total_mass));
    lanes x_acc = temp - polemass_length * theta_acc * cosine / total_mass;

    lanes x_gain = TAU * x_acc, theta_gain = TAU * theta_acc;
    lanes x_speed = s->x_dot, theta_speed = s->theta_dot;
    if (__builtin_expect(lanes_any(parameters[SEMI_IMPLICIT] > 0.0), 0)) {
        /* Never in the usual world, whose positions need not wait for the accelerations. By 1 the
         * product is exact, so that both methods keep the reference's bits. */
        x_speed = x_speed + parameters[SEMI_IMPLICIT] * x_gain;
        theta_speed = theta_speed + parameters[SEMI_IMPLICIT] * theta_gain;
    }
    s->x = s->x + TAU * x_speed;
    s->x_dot = s->x_dot + x_gain;
    s->theta = s->theta + TAU * theta_speed;
    s->theta_dot = s->theta_dot + theta_gain;
    return (lanes_abs(s->x) > X_THRESHOLD) | (lanes_abs(s->theta) > THETA_THRESHOLD);
}

LANES_INLINE lanes reward(const lanes parameters[PARAMETER_COUNT], lanes_mask fallen)
{
    lanes less = parameters[SUTTON_BARTO_REWARD];
    return 1.0 - lanes_select(fallen, 2.0 * less, less);
}

/* Steps one pole as four equal ones: the same code, so the same bits. */
static struct env_outcome cartpole_step(void *memory, const double *parameters, unsigned action,
                                        struct rng *rng, double *observation)
{
    (void)rng; /* the only chance is in the start state */
    assert(action < 2);
    struct cartpole_state *state = memory;
    struct poles s = {lanes_all(state->x), lanes_all(state->x_dot), lanes_all(state->theta),
                      lanes_all(state->theta_dot)};
    lanes p[PARAMETER_COUNT];
    for (int k = 0; k < PARAMETER_COUNT; k++)
        p[k] = lanes_all(parameters[k]);
    double force = action == 1 ? parameters[FORCE_MAG] : -parameters[FORCE_MAG];
    lanes_mask fallen = move(&s, p, lanes_all(force));
    *state = (struct cartpole_state){s.x[0], s.x_dot[0], s.theta[0], s.theta_dot[0]};
    cartpole_observe(state, observation);
    return (struct env_outcome){.reward = reward(p, fallen)[0], .terminated = fallen[0] != 0};
}

static void cartpole_step_lanes(const struct env_lanes *l, size_t groups)
{
    enum { X, X_DOT, THETA, THETA_DOT };
    for (size_t i = 0; i < groups * ENV_LANES; i += ENV_LANES) {
        double *state = l->state + i;
        struct poles s = {lanes_load(state + X * l->stride), lanes_load(state + X_DOT * l->stride),
                          lanes_load(state + THETA * l->stride),
                          lanes_load(state + THETA_DOT * l->stride)};
        lanes p[PARAMETER_COUNT];
        for (size_t k = 0; k < PARAMETER_COUNT; k++)
            p[k] = lanes_load(l->parameters + k * l->stride + i);
        lanes_mask right = lanes_actions(l->actions + i) == 1;
        lanes_mask fallen = move(&s, p, lanes_select(right, p[FORCE_MAG], -p[FORCE_MAG]));
        lanes_store(state + X * l->stride, s.x);
        lanes_store(state + X_DOT * l->stride, s.x_dot);
        lanes_store(state + THETA * l->stride, s.theta);
        lanes_store(state + THETA_DOT * l->stride, s.theta_dot);
        lanes_store_rows(l->observations + 4 * i, 4, s.x, s.x_dot, s.theta, s.theta_dot);
        lanes_store(l->rewards + i, reward(p, fallen));
        lanes_store_flags(l->terminated + i, fallen);
    }
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
    .step_lanes = cartpole_step_lanes,
};
