/* Functional Q-learning: one update at a time.
 *
 * DESIGN. Errors are whole numbers of 2^-24 and are summed exactly, per knot or, for features, one
 * after the other in their order; so the difference of neighbours' sums is known without any
 * floating-point error. The two roundings that remain, of the step as a function and of its sum
 * with f, are charged at every point (rounding_of). f itself is already released, so it may be
 * rounded and clipped freely. Nothing is clipped between the step and its noise, because a clipped
 * difference may be far rougher than what the path hides. */
#include "algos/release/reward_q.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "algos/privacy/functions/gaussian_lattice.h"
#include "algos/privacy/functions/gaussian_process_plan.h"
#include "algos/release/relu_features.h"
#include "memory/memory.h"

#define HALF_ULP    0x1p-53
#define UP          (1.0 + 1e-13)
#define UNITS       0x1p24 /* 1 / REWARD_Q_UNIT */
#define MOST_UNITS  1e18   /* a value, in units */
#define MOST_REWARD 0x1p20 /* a scaled reward: products then round by less than 2^-32 */

struct reward_q {
    struct reward_q_settings settings;
    size_t knots;       /* or features */
    float *number;      /* f: knots x actions, or actions x features */
    int64_t *error;     /* knots x actions: sums of errors, in units */
    uint32_t *visits;   /* knots x actions: how many errors are in each */
    double *step, *own; /* knots x actions: the step, and what the visits could do at most */
    double *phi;        /* features */
    struct relu_features features;
    uint32_t added;
};

static bool by_features(const struct reward_q_settings *s)
{
    return s->features > 0;
}

static size_t knots_of(const struct reward_q_settings *s)
{
    return by_features(s) ? s->features : ((size_t)1 << s->knot_bits) + 1;
}

/* ---- sensitivity */

/* Bounds what one error can change between neighbours: rewards are rounded to units, and both
 * errors lie within the limit. */
static double error_change(const struct reward_q_settings *s)
{
    return fmin(1.0 + 2.0 * REWARD_Q_UNIT, 2.0 * s->error_limit + 2.0 * REWARD_Q_UNIT);
}

/* Roundings of the step and of f + step, in the kernel's norm. At a knot the step is made by two
 * passes of as many additions; a coefficient, by one addition for each transition. */
static double rounding_of(const struct reward_q_settings *s)
{
    double root = sqrt((double)s->actions), move = s->rate * s->error_limit;
    if (by_features(s)) {
        double sum = (s->batch + 4.0) * move;
        double each = s->value_limit + move;
        return HALF_ULP * 4.0 * (sum + each * root * sqrt((double)s->features));
    }
    double knots = (double)knots_of(s);
    double error = HALF_ULP * ((2.0 * knots + 32.0) * move + 4.0 * (s->value_limit + move)) * root;
    return gaussian_process_rounding(s->beta, s->knot_bits, 2.0 * error);
}

double reward_q_step_sensitivity(const struct reward_q_settings *s)
{
    return (s->rate * error_change(s) + rounding_of(s)) * UP;
}

/* ---- life */

struct reward_q *reward_q_new(const struct reward_q_settings *settings)
{
    struct reward_q *q = memory_new(1, sizeof *q);
    q->settings = *settings;
    q->knots = knots_of(settings);
    size_t count = q->knots * settings->actions;
    q->number = memory_new(count, sizeof *q->number);
    q->error = memory_new(count, sizeof *q->error);
    q->visits = memory_new(count, sizeof *q->visits);
    q->step = memory_new(count, sizeof *q->step);
    q->own = memory_new(count, sizeof *q->own);
    q->phi = memory_new(q->knots, sizeof *q->phi);
    if (by_features(settings))
        relu_features_init(&q->features, settings->state_dim, settings->features, settings->seed,
                           false);
    return q;
}

void reward_q_free(struct reward_q *q)
{
    if (!q)
        return;
    free(q->number);
    free(q->error);
    free(q->visits);
    free(q->step);
    free(q->own);
    free(q->phi);
    relu_features_clear(&q->features);
    free(q);
}

float *reward_q_numbers(struct reward_q *q, size_t *out_count)
{
    *out_count = q->knots * q->settings.actions;
    return q->number;
}

/* ---- looking */

static void to_cube(const struct reward_q_settings *s, const float *state, double *point)
{
    for (uint32_t i = 0; i < s->state_dim; i++) {
        double x = ((double)state[i] - s->low[i]) / (s->high[i] - s->low[i]);
        point[i] = isfinite(x) ? fmin(fmax(x, 0.0), 1.0) : 0.0;
    }
}

static size_t knot_at(const struct reward_q_settings *s, const float *state)
{
    double point[ENV_MAX_STATE_DIM] = {0};
    to_cube(s, state, point);
    return (size_t)lrint(ldexp(point[0], (int)s->knot_bits));
}

static void phi_at(const struct reward_q *q, const float *state, double *phi)
{
    double point[ENV_MAX_STATE_DIM];
    to_cube(&q->settings, state, point);
    relu_features_at(&q->features, point, phi);
}

void reward_q_values(const struct reward_q *q, const float *state, double *out)
{
    const struct reward_q_settings *s = &q->settings;
    if (!by_features(s)) {
        size_t knot = knot_at(s, state);
        for (uint32_t a = 0; a < s->actions; a++)
            out[a] = (double)q->number[knot * s->actions + a];
        return;
    }
    double phi[RELU_FEATURES_MAX];
    phi_at(q, state, phi);
    for (uint32_t a = 0; a < s->actions; a++) {
        out[a] = 0.0;
        for (size_t k = 0; k < q->knots; k++)
            out[a] += (double)q->number[a * q->knots + k] * phi[k];
    }
}

/* ---- one transition */

static int64_t units_of(double x)
{
    double units = x * UNITS;
    return isnan(units) ? 0 : llrint(fmin(fmax(units, -MOST_UNITS), MOST_UNITS));
}

static double greatest_value(const double *values, uint32_t count)
{
    double most = values[0];
    for (uint32_t a = 1; a < count; a++)
        most = fmax(most, values[a]);
    return most;
}

/* The Bellman error delta in units. All but the reward is the same for neighbours. */
static int64_t bellman_error(const struct reward_q *q, const float *state, uint32_t action,
                             double reward, const float *next, bool terminated)
{
    const struct reward_q_settings *s = &q->settings;
    double here[ENV_MAX_ACTIONS], there[ENV_MAX_ACTIONS];
    reward_q_values(q, state, here);
    double base = here[action];
    if (!terminated) {
        reward_q_values(q, next, there);
        base -= s->discount * greatest_value(there, s->actions);
    }
    int64_t limit = units_of(s->error_limit);
    double scaled = fmin(fmax(reward * s->reward_scale, -MOST_REWARD), MOST_REWARD);
    int64_t error = units_of(base) - units_of(isnan(reward) ? 0.0 : scaled);
    if (error > limit)
        return limit;
    return error < -limit ? -limit : error;
}

void reward_q_add(struct reward_q *q, const float *state, uint32_t action, double reward,
                  const float *next, bool terminated)
{
    const struct reward_q_settings *s = &q->settings;
    assert(action < s->actions && q->added < s->batch);
    int64_t error = bellman_error(q, state, action, reward, next, terminated);
    q->added++;
    if (!by_features(s)) {
        size_t at = knot_at(s, state) * s->actions + action;
        q->error[at] += error;
        q->visits[at]++;
        return;
    }
    phi_at(q, state, q->phi);
    for (size_t k = 0; k < q->knots; k++) {
        q->step[action * q->knots + k] += (double)error * q->phi[k];
        q->own[action * q->knots + k] += q->phi[k];
    }
}

/* ---- the update */

/* Sets OUT[i] = sum_k IN[k] exp(-beta |i - k| / 2^bits) for every action. */
static void spread_kernel(const struct reward_q *q, double decay, const double *in, double *out)
{
    uint32_t actions = q->settings.actions;
    for (uint32_t a = 0; a < actions; a++) {
        double left = 0.0, right = 0.0;
        for (size_t i = 0; i < q->knots; i++) {
            left = left * decay + in[i * actions + a];
            out[i * actions + a] = left;
        }
        for (size_t i = q->knots; i-- > 0;) {
            out[i * actions + a] += right;
            right = (right + in[i * actions + a]) * decay;
        }
    }
}

/* Computes the square of the norm of sum_t K(s_t, .) e_(a_t), over the batch. */
static double visits_norm_squared(struct reward_q *q, double decay)
{
    size_t count = q->knots * q->settings.actions;
    double sum = 0.0;
    if (by_features(&q->settings)) {
        for (size_t i = 0; i < count; i++)
            sum += q->own[i] * q->own[i];
        return sum;
    }
    for (size_t i = 0; i < count; i++)
        q->step[i] = q->visits[i];
    spread_kernel(q, decay, q->step, q->own);
    for (size_t i = 0; i < count; i++)
        sum += q->step[i] * q->own[i];
    return sum;
}

/* Keeps NUMBER[AT] of f after the update: post-processing of what was DRAWN. */
static void keep_number(struct reward_q *q, size_t at, long double drawn, double deviation,
                        double limit)
{
    double most = q->settings.value_limit, next = gaussian_grid_round(0.0, drawn, deviation, limit);
    q->number[at] = (float)fmin(fmax(next, -most), most);
}

/* The step's mean, never beyond LIMIT. */
static long double mean_at(const struct reward_q *q, size_t at, double limit)
{
    double share = q->settings.rate / q->settings.batch;
    double mean = (double)q->number[at] - share * REWARD_Q_UNIT * q->step[at];
    return (long double)fmin(fmax(mean, -limit), limit);
}

/* A path at the knots has correlation DECAY from one to the next: with the differences u_0 = f_0,
 * u_i = (f_i - decay f_(i-1)) / spread, the square of f's norm in the kernel's space is the sum of
 * the squares of u, and the path's are independent normals. So each difference gets its noise on
 * the lattice, and the path is put together from them again. */
static void draw_path(struct reward_q *q, struct noise_source *noise, double decay,
                      double sensitivity, double deviation, double limit)
{
    uint32_t actions = q->settings.actions;
    long double spread = sqrtl((1.0L - decay) * (1.0L + decay));
    const struct gaussian_lattice lattice = gaussian_lattice_of(
        sensitivity, deviation, q->knots * actions, (double)(2.0L * limit / spread) * UP);
    for (uint32_t a = 0; a < actions; a++) {
        long double before = 0.0L, path = 0.0L;
        for (size_t i = 0; i < q->knots; i++) {
            size_t at = i * actions + a;
            long double mean = mean_at(q, at, limit);
            long double own = i > 0 ? (mean - decay * before) / spread : mean;
            long double drawn = gaussian_lattice_draw(&lattice, noise, own);
            path = i > 0 ? decay * path + spread * drawn : drawn;
            keep_number(q, at, path, deviation, limit);
            before = mean;
        }
    }
}

static void draw_coefficients(struct reward_q *q, struct noise_source *noise, double sensitivity,
                              double deviation, double limit)
{
    size_t count = q->knots * q->settings.actions;
    const struct gaussian_lattice lattice =
        gaussian_lattice_of(sensitivity, deviation, count, limit);
    for (size_t i = 0; i < count; i++)
        keep_number(q, i, gaussian_lattice_draw(&lattice, noise, mean_at(q, i, limit)), deviation,
                    limit);
}

void reward_q_update(struct reward_q *q, struct noise_source *noise, double sigma)
{
    const struct reward_q_settings *s = &q->settings;
    size_t count = q->knots * s->actions;
    double decay = exp(-ldexp(s->beta, -(int)s->knot_bits));
    double share = s->rate / s->batch, most = reward_q_step_sensitivity(s);
    double here = share * sqrt(visits_norm_squared(q, decay)) * (1.0 + 1e-9) * error_change(s);
    double changed = fmin(most, here + rounding_of(s)), deviation = sigma * (changed / most) * UP;
    assert(q->added > 0);
    if (!by_features(s)) {
        for (size_t i = 0; i < count; i++)
            q->own[i] = (double)q->error[i];
        spread_kernel(q, decay, q->own, q->step);
    }
    double limit = (s->value_limit + s->rate * s->error_limit) * (1.0 + 1e-6); /* never reached */
    if (by_features(s))
        draw_coefficients(q, noise, changed, deviation, limit);
    else
        draw_path(q, noise, decay, changed, deviation, limit);
    memset(q->error, 0, count * sizeof *q->error);
    memset(q->visits, 0, count * sizeof *q->visits);
    memset(q->step, 0, count * sizeof *q->step);
    memset(q->own, 0, count * sizeof *q->own);
    q->added = 0;
}

double *reward_q_doubles(const struct reward_q *q)
{
    size_t count = q->knots * q->settings.actions;
    double *wide = memory_new(count, sizeof *wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)q->number[i];
    return wide;
}

struct policy *reward_q_network(const struct reward_q *q)
{
    const struct reward_q_settings *s = &q->settings;
    assert(by_features(s));
    double *wide = reward_q_doubles(q);
    struct policy *network = relu_features_policy(&q->features, s->low, s->high, wide, s->actions);
    free(wide);
    return network;
}
