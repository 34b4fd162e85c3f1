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
 * The order of operations is the reference's. The length of link 2 does not occur: the reference
 * only draws it, and the height to reach is that of links of length 1 whatever their lengths.
 */
#include "envs/acrobot.h"

#include <assert.h>
#include <math.h>

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

enum { THETA1, THETA2, SPEED1, SPEED2, COORDINATES };

/* RATE = d/dt of Y under a constant TORQUE. */
static void derive(const double *p, double torque, const double *y, double *rate)
{
    double m1 = p[LINK_MASS_1], m2 = p[LINK_MASS_2], l1 = p[LINK_LENGTH_1];
    double lc1 = p[LINK_COM_POS_1], lc2 = p[LINK_COM_POS_2], moi = p[LINK_MOI], g = p[GRAVITY];
    double w1 = y[SPEED1], w2 = y[SPEED2];
    double cosine = cos(y[THETA2]), sine = sin(y[THETA2]);

    double d1 = m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2 * l1 * lc2 * cosine) + moi + moi;
    double d2 = m2 * (lc2 * lc2 + l1 * lc2 * cosine) + moi;
    double phi2 = m2 * lc2 * g * cos(y[THETA1] + y[THETA2] - M_PI / 2.0);
    double phi1 = -m2 * l1 * lc2 * (w2 * w2) * sine - 2 * m2 * l1 * lc2 * w2 * w1 * sine +
                  (m1 * lc1 + m2 * l1) * g * cos(y[THETA1] - M_PI / 2) + phi2;
    double centrifugal = p[CENTRIFUGAL] * (m2 * l1 * lc2 * (w1 * w1) * sine);
    double w2_dot =
        (torque + d2 / d1 * phi1 - centrifugal - phi2) / (m2 * (lc2 * lc2) + moi - d2 * d2 / d1);

    rate[THETA1] = w1;
    rate[THETA2] = w2;
    rate[SPEED1] = -(d2 * w2_dot + phi1) / d1;
    rate[SPEED2] = w2_dot;
}

/* OUT = y + length * rate. */
static void ahead(const double *y, double length, const double *rate, double *out)
{
    for (int k = 0; k < COORDINATES; k++)
        out[k] = y[k] + length * rate[k];
}

/* One classical Runge-Kutta step of TAU. */
static void integrate(const double *p, double torque, double *y)
{
    double k1[COORDINATES], k2[COORDINATES], k3[COORDINATES], k4[COORDINATES];
    double between[COORDINATES];
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

/* ANGLE in [-pi, pi]. Turn by turn, as the reference does it; far out, where wild parameters can
 * throw a link, a turn would be lost in rounding. */
static double wrapped(double angle)
{
    if (fabs(angle) > 1000.0)
        return remainder(angle, 2 * M_PI);
    while (angle > M_PI)
        angle -= 2 * M_PI;
    while (angle < -M_PI)
        angle += 2 * M_PI;
    return angle;
}

static double clipped(double speed, double most)
{
    return fmin(fmax(speed, -most), most);
}

static void observe(const struct acrobot_state *state, double *observation)
{
    observation[0] = cos(state->theta1);
    observation[1] = sin(state->theta1);
    observation[2] = cos(state->theta2);
    observation[3] = sin(state->theta2);
    observation[4] = state->theta1_dot;
    observation[5] = state->theta2_dot;
}

/* Starts are rounded to float32 in the reference, and only starts. */
static double start(struct rng *rng)
{
    return (float)rng_between(rng, -START_SPREAD, START_SPREAD);
}

static bool acrobot_reset(void *memory, const double *parameters, struct rng *rng,
                          double *observation)
{
    (void)parameters;
    struct acrobot_state *state = memory;
    state->theta1 = start(rng);
    state->theta2 = start(rng);
    state->theta1_dot = start(rng);
    state->theta2_dot = start(rng);
    observe(state, observation);
    return true;
}

static struct env_outcome acrobot_step(void *memory, const double *parameters, unsigned action,
                                       struct rng *rng, double *observation)
{
    (void)rng; /* the only chance is in the start state */
    assert(action < 3);
    struct acrobot_state *s = memory;
    double y[COORDINATES] = {s->theta1, s->theta2, s->theta1_dot, s->theta2_dot};
    integrate(parameters, (double)action - 1.0, y);
    s->theta1 = wrapped(y[THETA1]);
    s->theta2 = wrapped(y[THETA2]);
    s->theta1_dot = clipped(y[SPEED1], MAX_SPEED_1);
    s->theta2_dot = clipped(y[SPEED2], MAX_SPEED_2);
    observe(s, observation);

    bool high = -observation[0] - cos(s->theta2 + s->theta1) > 1.0;
    return (struct env_outcome){.reward = high ? 0.0 : -1.0, .terminated = high};
}

const struct env acrobot_env = {
    .name = "acrobot",
    .state_dim = 6,
    .action_count = 3,
    .max_episode_steps = 500,
    .random_return = -200.0,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct acrobot_state),
    .reset = acrobot_reset,
    .step = acrobot_step,
};
