/* For comparison alone: policy evaluation by least squares on first-visit Monte Carlo returns, and
 * how far one trajectory moves it. Source: Balle, Gomrokchi and Precup 2016, "Differentially
 * private policy evaluation", algorithms DP-LSW and DP-LSL with all weights 1; in place of their
 * states there are public places, here cells of the state together with an action.
 *
 * Neighbours differ in one trajectory: one more, one fewer, or another one in its place. A return
 * lies in [0, bound]. A place that nobody visited has the mean return 0. */
#ifndef TACET_BENCH_GP_PRIVATE_RETURNS_H
#define TACET_BENCH_GP_PRIVATE_RETURNS_H

#include <stddef.h>
#include <stdint.h>

#define PRIVATE_RETURNS_MAX_PLACES    64
#define PRIVATE_RETURNS_MAX_DIMENSION 8

struct private_returns {
    uint32_t places, dimension;
    double bound, discount;
    /* The features of a place, public. Their columns are orthonormal over the places. */
    double feature[PRIVATE_RETURNS_MAX_PLACES][PRIVATE_RETURNS_MAX_DIMENSION];
    /* Of the trajectories that were added: how many visit a place, and the sum of their first
     * visits' returns. */
    uint32_t visits[PRIVATE_RETURNS_MAX_PLACES];
    double sum[PRIVATE_RETURNS_MAX_PLACES];
};

/* Adds a trajectory: at step t it is at PLACE[t] and then gets REWARD[t]. The caller clips rewards
 * to [0, bound (1 - discount)]. */
void private_returns_add(struct private_returns *r, size_t length, const uint32_t *place,
                         const double *reward);

/* DP-LSW without noise: OUT[dimension] minimises the sum over places of (mean return - feature .
 * OUT)^2. */
void private_returns_lsw(const struct private_returns *r, double *out);

/* DP-LSL without noise: OUT[dimension] minimises the sum over trajectories and the places they
 * visit of (return - feature . OUT)^2, plus RIDGE / 2 times the squared norm of OUT. RIDGE > 1. */
void private_returns_lsl(const struct private_returns *r, double ridge, double *out);

/* Bounds, smooth at SMOOTHNESS, how far a neighbour's lsw is from this one's in 2-norm:
 * max over k of exp(-SMOOTHNESS k) bound sqrt(sum over places of 1 / max(visits - k, 1)^2). */
double private_returns_lsw_bound(const struct private_returns *r, double smoothness);

/* The same of lsl: max over k of exp(-SMOOTHNESS k) 2 bound / (RIDGE - 1) (sqrt(sum over places of
 * min(visits + k, TRAJECTORIES) / (2 RIDGE)) + sqrt(places)). No dataset has more than TRAJECTORIES
 * of them. */
double private_returns_lsl_bound(const struct private_returns *r, double ridge,
                                 uint32_t trajectories, double smoothness);

/* Where places and visits are public and each return moves by at most 1: how far lsw moves, in
 * 2-norm. */
double private_returns_reward_bound(const struct private_returns *r);

#endif
