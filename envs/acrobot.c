/* Acrobot-v1 (Gymnasium 1.4.0, classic_control/acrobot.py, which is RLPy's), written anew from its
 * equations.
 *
 * Links of mass m1, m2 with centres of mass at lc1, lc2 and the same moment of inertia I; l1 is the
 * length of link 1, w1 and w2 are the angular velocities, a the torque:
 *   d1   = m1 lc1^2 + m2 (l1^2 + lc2^2 + 2 l1 lc2 cos theta2) + 2 I
 *   d2   = m2 (lc2^2 + l1 lc2 cos theta2) + I
 *   phi2 = m2 lc2 g cos(theta1 + theta2 - pi/2)
 *   phi1 = - m2 l1 lc2 w2^2 sin theta2 - 2 m2 l1 lc2 w2 w1 sin theta2
 *          + (m1 lc1 + m2 l1) g cos(theta1 - pi/2) + phi2
 *   w2'  = (a + d2/d1 phi1 - c m2 l1 lc2 w1^2 sin theta2 - phi2) / (m2 lc2^2 + I - d2^2/d1)
 *   w1'  = -(d2 w2' + phi1) / d1
 * then one classical Runge-Kutta step of 0.2 s under constant torque, angles wrapped to [-pi, pi],
 * velocities clipped. c = 1 is Sutton and Barto's book and conserves energy; c = 0 is Sutton's
 * paper of 1996, which leaves that term out.
 *
 * The order of operations is the reference's; sine and cosine are those of lanes.h. The length of
 * link 2 does not occur: the reference only draws it, and the height to reach is that of links of
 * length 1 whatever their lengths.
 */
#include "envs/acrobot.h"

#include <assert.h>
#include <math.h>

#include "envs/lanes.h"

enum {
    LINK_LENGTH_1,
    LINK_MASS_1,
    LINK_MASS_2,
    LINK_COM_POS_1,
    LINK_COM_POS_2,
    LINK_MOI,
    GRAVITY,
    CENTRIFUGAL,
    PARAMETER_COUNT
};

/* Within these bounds no step overflows: an acceleration is below 10^5 v^2 + 10^6 for velocities
 * below v, and the four stages square that three times from v = 9 pi. */
static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [LINK_LENGTH_1] = {"link_length_1", 1.0, 0.1, 10.0, "m", "length of link 1"},
    [LINK_MASS_1] = {"link_mass_1", 1.0, 0.1, 10.0, "kg", "mass of link 1"},
    [LINK_MASS_2] = {"link_mass_2", 1.0, 0.1, 10.0, "kg", "mass of link 2"},
    [LINK_COM_POS_1] = {"link_com_pos_1", 0.5, 0.05, 10.0, "m",
                        "distance of link 1's centre of mass from the pivot"},
    [LINK_COM_POS_2] = {"link_com_pos_2", 0.5, 0.05, 10.0, "m",
                        "distance of link 2's centre of mass from the joint"},
    [LINK_MOI] = {"link_moi", 1.0, 0.1, 10.0, "kg m^2", "moment of inertia of either link"},
    [GRAVITY] = {"gravity", 9.8, 0.1, 100.0, "m/s^2", "acceleration of free fall"},
    [CENTRIFUGAL] = {"centrifugal", 1.0, 0.0, 1.0, "1",
                     "factor of link 1's centrifugal force on link 2: 1 as in the book of Sutton "
                     "and Barto, 0 as in Sutton's paper of 1996"},
};

#define TAU          0.2 /* s, one step */
#define MAX_SPEED_1  (4 * M_PI)
#define MAX_SPEED_2  (9 * M_PI)
#define START_SPREAD 0.1 /* every number of a start state lies within +- this */

enum { THETA1, THETA2, SPEED1, SPEED2, COORDINATES }; /* as in struct acrobot_state */
enum { OBSERVED = 6 };

/* Sets RATE to d/dt of Y under a constant TORQUE, for four instances at a time. */
LANES_INLINE void derive(const lanes *p, lanes torque, const lanes *y, lanes *rate)
{
    lanes m1 = p[LINK_MASS_1], m2 = p[LINK_MASS_2], l1 = p[LINK_LENGTH_1];
    lanes lc1 = p[LINK_COM_POS_1], lc2 = p[LINK_COM_POS_2], moi = p[LINK_MOI], g = p[GRAVITY];
    lanes w1 = y[SPEED1], w2 = y[SPEED2];
    lanes cosine, sine, cosine1, cosine12, unused;
    lanes_sin_cos(y[THETA2], &sine, &cosine);
    lanes_sin_cos(y[THETA1] - M_PI / 2, &unused, &cosine1);
    lanes_sin_cos(y[THETA1] + y[THETA2] - M_PI / 2.0, &unused, &cosine12);

    lanes d1 = m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2 * l1 * lc2 * cosine) + moi + moi;
    lanes d2 = m2 * (lc2 * lc2 + l1 * lc2 * cosine) + moi;
    lanes phi2 = m2 * lc2 * g * cosine12;
    lanes phi1 = -m2 * l1 * lc2 * (w2 * w2) * sine - 2 * m2 * l1 * lc2 * w2 * w1 * sine +
                 (m1 * lc1 + m2 * l1) * g * cosine1 + phi2;
    lanes centrifugal = p[CENTRIFUGAL] * (m2 * l1 * lc2 * (w1 * w1) * sine);
    lanes w2_dot =
        (torque + d2 / d1 * phi1 - centrifugal - phi2) / (m2 * (lc2 * lc2) + moi - d2 * d2 / d1);

    rate[THETA1] = w1;
    rate[THETA2] = w2;
    rate[SPEED1] = -(d2 * w2_dot + phi1) / d1;
    rate[SPEED2] = w2_dot;
}

/* Sets OUT to y + length * rate. */
LANES_INLINE void ahead(const lanes *y, double length, const lanes *rate, lanes *out)
{
    for (int k = 0; k < COORDINATES; k++)
        out[k] = y[k] + length * rate[k];
}

/* Makes one classical Runge-Kutta step of TAU. */
LANES_INLINE void integrate(const lanes *p, lanes torque, lanes *y)
{
    lanes k1[COORDINATES], k2[COORDINATES], k3[COORDINATES], k4[COORDINATES];
    lanes between[COORDINATES];
    derive(p, torque, y, k1);
    ahead(y, TAU / 2.0, k1, between);
    derive(p, torque, between, k2);
    ahead(y, TAU / 2.0, k2, between);
    derive(p, torque, between, k3);
    ahead(y, TAU, k3, between);
    derive(p, torque, between, k4);
    for (int k = 0; k < COORDINATES; k++)
        y[k] += TAU / 6.0 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]);
}

/* Brings ANGLE into [-pi, pi], turn by turn as the reference does. Wild parameters can throw a link
 * so far that a turn would be lost in rounding. */
LANES_INLINE lanes wrapped(lanes angle)
{
    lanes_mask far = lanes_abs(angle) > 1000.0;
    for (int l = 0; lanes_any(far) && l < ENV_LANES; l++)
        if (far[l])
            angle[l] = remainder(angle[l], 2 * M_PI);
    const lanes turn = lanes_all(2 * M_PI), none = lanes_all(0.0);
    for (lanes_mask over = angle > M_PI; lanes_any(over); over = angle > M_PI)
        angle -= lanes_select(over, turn, none);
    for (lanes_mask under = angle < -M_PI; lanes_any(under); under = angle < -M_PI)
        angle += lanes_select(under, turn, none);
    return angle;
}

LANES_INLINE lanes clipped(lanes speed, double most)
{
    lanes not_below = lanes_select(speed < -most, lanes_all(-most), speed);
    return lanes_select(not_below > most, lanes_all(most), not_below);
}

/* Writes the observation: the four functions of the angles, then the speeds. */
LANES_INLINE void look(const lanes *y, lanes *seen)
{
    lanes_sin_cos(y[THETA1], &seen[1], &seen[0]);
    lanes_sin_cos(y[THETA2], &seen[3], &seen[2]);
    seen[4] = y[SPEED1];
    seen[5] = y[SPEED2];
}

/* Makes one step of four instances. The result is true where the tip is high enough. */
LANES_INLINE lanes_mask move(const lanes *parameters, lanes torque, lanes *y, lanes *seen)
{
    integrate(parameters, torque, y);
    y[THETA1] = wrapped(y[THETA1]);
    y[THETA2] = wrapped(y[THETA2]);
    y[SPEED1] = clipped(y[SPEED1], MAX_SPEED_1);
    y[SPEED2] = clipped(y[SPEED2], MAX_SPEED_2);
    look(y, seen);
    lanes unused, cosine12;
    lanes_sin_cos(y[THETA2] + y[THETA1], &unused, &cosine12);
    return -seen[0] - cosine12 > 1.0;
}

/* The reference rounds starts, and only starts, to float32. */
static double acrobot_start(struct rng *rng)
{
    return (float)rng_between(rng, -START_SPREAD, START_SPREAD);
}

static bool acrobot_reset(void *memory, const double *parameters, struct rng *rng,
                          double *observation)
{
    (void)parameters;
    struct acrobot_state *state = memory;
    state->theta1 = acrobot_start(rng);
    state->theta2 = acrobot_start(rng);
    state->theta1_dot = acrobot_start(rng);
    state->theta2_dot = acrobot_start(rng);
    const lanes y[COORDINATES] = {lanes_all(state->theta1), lanes_all(state->theta2),
                                  lanes_all(state->theta1_dot), lanes_all(state->theta2_dot)};
    lanes seen[OBSERVED];
    look(y, seen);
    for (int k = 0; k < OBSERVED; k++)
        observation[k] = seen[k][0];
    return true;
}

/* Steps one acrobot as four equal ones: the same code, so the same bits. */
static struct env_outcome acrobot_step(void *memory, const double *parameters, unsigned action,
                                       struct rng *rng, double *observation)
{
    (void)rng; /* the only chance is in the start state */
    assert(action < 3);
    struct acrobot_state *s = memory;
    lanes y[COORDINATES] = {lanes_all(s->theta1), lanes_all(s->theta2), lanes_all(s->theta1_dot),
                            lanes_all(s->theta2_dot)};
    lanes p[PARAMETER_COUNT], seen[OBSERVED];
    for (int k = 0; k < PARAMETER_COUNT; k++)
        p[k] = lanes_all(parameters[k]);
    bool high = move(p, lanes_all((double)action - 1.0), y, seen)[0] != 0;
    *s = (struct acrobot_state){y[THETA1][0], y[THETA2][0], y[SPEED1][0], y[SPEED2][0]};
    for (int k = 0; k < OBSERVED; k++)
        observation[k] = seen[k][0];
    return (struct env_outcome){.reward = high ? 0.0 : -1.0, .terminated = high};
}

static void acrobot_step_lanes(const struct env_lanes *l, size_t groups)
{
    for (size_t i = 0; i < groups * ENV_LANES; i += ENV_LANES) {
        lanes p[PARAMETER_COUNT], y[COORDINATES], seen[OBSERVED];
        for (size_t k = 0; k < PARAMETER_COUNT; k++)
            p[k] = lanes_load(l->parameters + k * l->stride + i);
        for (size_t k = 0; k < COORDINATES; k++)
            y[k] = lanes_load(l->state + k * l->stride + i);
        lanes torque = __builtin_convertvector(lanes_actions(l->actions + i), lanes) - 1.0;
        lanes_mask high = move(p, torque, y, seen);
        for (size_t k = 0; k < COORDINATES; k++)
            lanes_store(l->state + k * l->stride + i, y[k]);
        for (size_t k = 0; k < OBSERVED; k++)
            for (size_t lane = 0; lane < ENV_LANES; lane++)
                l->observations[(i + lane) * OBSERVED + k] = (float)seen[k][lane];
        lanes_store(l->rewards + i, lanes_select(high, lanes_all(0.0), lanes_all(-1.0)));
        lanes_store_flags(l->terminated + i, high);
    }
}

const struct env acrobot_env = {
    .name = "acrobot",
    .state_dim = OBSERVED,
    .action_count = 3,
    .max_episode_steps = 500,
    .random_return = -200.0,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct acrobot_state),
    .reset = acrobot_reset,
    .step = acrobot_step,
    .step_lanes = acrobot_step_lanes,
};
