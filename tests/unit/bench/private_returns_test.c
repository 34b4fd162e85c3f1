/* Least squares on returns, and all neighbours of all small datasets. */
#include "bench/gp/private_returns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define PLACES 3
#define BOUND  2.0
#define KINDS  27 /* of trajectories: each place is not visited, or has the return 0 or BOUND */

/* DIMENSION orthonormal columns over the places; 3: the identity. */
static struct private_returns empty_returns(uint32_t dimension)
{
    struct private_returns r = {
        .places = PLACES, .dimension = dimension, .bound = BOUND, .discount = 0.5};
    const double columns[2][PLACES] = {{1 / sqrt(3), 1 / sqrt(3), 1 / sqrt(3)},
                                       {1 / sqrt(2), 0, -1 / sqrt(2)}};
    for (uint32_t s = 0; s < PLACES; s++)
        for (uint32_t i = 0; i < dimension; i++)
            r.feature[s][i] = dimension == PLACES ? (double)(s == i) : columns[i][s];
    return r;
}

/* Adds (SIGN 1) or takes back (-1) a trajectory of KIND. */
static void add_kind(struct private_returns *r, int kind, int sign)
{
    for (uint32_t s = 0; s < PLACES; s++, kind /= 3)
        if (kind % 3 > 0) {
            r->visits[s] += (uint32_t)sign;
            r->sum[s] += sign * (kind % 3 == 2 ? BOUND : 0.0);
        }
}

static double distance_of(const double *a, const double *b, uint32_t dimension)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < dimension; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* What is compared: an estimate and its bound. */
struct method_of {
    double ridge; /* 0: lsw */
    double smoothness;
};

static double bound_of(const struct private_returns *r, const struct method_of *m)
{
    return m->ridge > 0.0 ? private_returns_lsl_bound(r, m->ridge, 3, m->smoothness)
                          : private_returns_lsw_bound(r, m->smoothness);
}

static void estimate(const struct private_returns *r, const struct method_of *m, double *out)
{
    if (m->ridge > 0.0)
        private_returns_lsl(r, m->ridge, out);
    else
        private_returns_lsw(r, out);
}

/* The greatest part of the smaller bound that neighbours X and Y use. */
static double compare(const struct private_returns *x, const struct private_returns *y,
                      const struct method_of *m)
{
    double a[PLACES], b[PLACES], here = bound_of(x, m), there = bound_of(y, m);
    estimate(x, m, a);
    estimate(y, m, b);
    double moved = distance_of(a, b, x->dimension);
    cr_assert_leq(moved, fmin(here, there) * (1.0 + 1e-12));
    cr_assert_leq(here, there * exp(m->smoothness) * (1.0 + 1e-12));
    cr_assert_leq(there, here * exp(m->smoothness) * (1.0 + 1e-12));
    return moved / fmin(here, there);
}

/* All datasets of up to two trajectories beside one that is there, is not, or is another one. */
static double compare_all(uint32_t dimension, const struct method_of *m)
{
    double most = 0.0;
    for (int i = -1; i < KINDS; i++)
        for (int j = i; j < KINDS; j++) {
            struct private_returns rest = empty_returns(dimension);
            if (i >= 0)
                add_kind(&rest, i, 1);
            if (j >= 0)
                add_kind(&rest, j, 1);
            for (int k = 0; k < KINDS; k++) {
                struct private_returns x = rest, y = rest;
                add_kind(&x, k, 1);
                most = fmax(most, compare(&x, &rest, m));
                for (int l = 0; l < k; l++) {
                    y = rest;
                    add_kind(&y, l, 1);
                    most = fmax(most, compare(&x, &y, m));
                }
            }
        }
    return most;
}

Test(private_returns, a_place_gets_the_return_of_its_first_visit)
{
    struct private_returns r = empty_returns(3);
    const uint32_t place[] = {1, 0, 1, 0};
    const double reward[] = {1, 0, 0.5, 1};
    private_returns_add(&r, 4, place, reward);
    private_returns_add(&r, 1, place, reward);
    cr_expect_eq(r.visits[0], 1);
    cr_expect_eq(r.visits[1], 2);
    cr_expect_eq(r.visits[2], 0);
    cr_expect_float_eq(r.sum[0], 0 + 0.5 * (0.5 + 0.5 * 1), 1e-15);
    cr_expect_float_eq(r.sum[1], (1 + 0.5 * (0 + 0.5 * (0.5 + 0.5 * 1))) + 1, 1e-15);
}

Test(private_returns, estimates_are_where_their_gradients_are_zero)
{
    struct private_returns r = empty_returns(2);
    double lsw[2], lsl[2];
    for (int kind = 3; kind < KINDS; kind += 5)
        add_kind(&r, kind, 1);
    private_returns_lsw(&r, lsw);
    private_returns_lsl(&r, 7.0, lsl);
    for (uint32_t i = 0; i < 2; i++) {
        double mean_slope = 0.0, ridge_slope = 7.0 * lsl[i];
        for (uint32_t s = 0; s < PLACES; s++) {
            double mean = r.visits[s] > 0 ? r.sum[s] / r.visits[s] : 0.0;
            const double *f = r.feature[s];
            mean_slope += f[i] * (mean - f[0] * lsw[0] - f[1] * lsw[1]);
            ridge_slope -= 2.0 * f[i] * (r.sum[s] - r.visits[s] * (f[0] * lsl[0] + f[1] * lsl[1]));
        }
        cr_expect_float_eq(mean_slope, 0.0, 1e-12);
        cr_expect_float_eq(ridge_slope, 0.0, 1e-12);
    }
}

Test(private_returns, no_neighbour_moves_lsw_beyond_its_smooth_bound)
{
    const struct method_of loose = {.smoothness = 0.05}, tight = {.smoothness = 2.0};
    compare_all(2, &loose);
    compare_all(2, &tight);
    /* With a number for each place a trajectory may move all means by bound / visits. */
    cr_expect_float_eq(compare_all(3, &tight), 1.0, 1e-12);
}

Test(private_returns, no_neighbour_moves_lsl_beyond_its_smooth_bound)
{
    for (double ridge = 1.5; ridge < 1e3; ridge *= 20.0)
        for (double smoothness = 0.05; smoothness < 3.0; smoothness *= 20.0) {
            const struct method_of m = {.ridge = ridge, .smoothness = smoothness};
            compare_all(2, &m);
        }
    /* With a great ridge the coefficients are the sums of returns, scaled. */
    const struct method_of great = {.ridge = 1e8, .smoothness = 0.05};
    cr_expect_float_eq(compare_all(3, &great), 1.0, 1e-3);
}

Test(private_returns, no_returns_that_move_by_one_move_lsw_beyond_the_public_bound)
{
    for (uint32_t dimension = 2; dimension <= 3; dimension++) {
        struct private_returns r = empty_returns(dimension);
        double most = 0.0, none[PLACES] = {0}, out[PLACES];
        for (int signs = 0; signs < 1 << PLACES; signs++) {
            for (uint32_t s = 0; s < PLACES; s++) {
                r.visits[s] = 2 + s;
                r.sum[s] = r.visits[s] * (signs >> s & 1 ? 1.0 : -1.0);
            }
            private_returns_lsw(&r, out);
            most = fmax(most, distance_of(out, none, dimension));
        }
        cr_expect_float_eq(private_returns_reward_bound(&r), most, 1e-12);
    }
}
