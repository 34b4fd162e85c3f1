/* Functional Q-learning under noise, unit: the reward function. What is kept from update to update
 * is the noised function itself, never weights that produce it without noise:
 *
 *   f <- f - (rate / batch) sum_t delta_t K(s_t, .) e_(a_t) + sigma g,    g a fresh path
 *
 * where delta_t = Q(s_t, a_t) - r_t - discount max_a Q(s'_t, a) reads the noised f alone, as do
 * targets and behaviour. States, actions and transitions are public; neighbours are reward
 * functions that differ, as stored and multiplied by a declared scale, by at most 1 everywhere.
 * Given f they move delta_t by at most 1, so an update by at most (rate / batch) ||sum_t K(s_t,
 * .)|| <= rate in the kernel's norm, whatever discount, batch and data. Every f is a Gaussian
 * release (Hall, Rinaldo and Wasserman 2013), and all of them together compose.
 *
 * Two kernels. One coordinate: exp(-beta |x - y|) at the public points i / 2^knot_bits, to which
 * states are rounded before anything else. Several: phi(x) . phi(y) with public features of norm at
 * most 1 (relu_features.h), so that f is a finite vector and a path is one normal for each of its
 * numbers.
 *
 * Source: Wang and Hegde 2019, whose Algorithm 1 goes on from what it has not noised and has no
 * such guarantee (bench/gp/functional_noise.h, docs/proofs/gaussian_process.md). */
#ifndef TACET_ALGOS_RELEASE_REWARD_Q_H
#define TACET_ALGOS_RELEASE_REWARD_Q_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/noise/noise.h"
#include "algos/release/q_release.h"

/* Rewards and values come in units of 2^-24, so that sums of errors are exact. */
#define REWARD_Q_UNIT 0x1p-24

/* Settings of the learning. All of them are public. */
struct reward_q_settings {
    uint32_t state_dim, actions;
    double low[ENV_MAX_STATE_DIM], high[ENV_MAX_STATE_DIM]; /* states are moved to these bounds */
    uint32_t knot_bits; /* of one coordinate; 0 .. KNOTS_MAX_BITS */
    double beta;        /* of the exponential kernel of one coordinate */
    uint32_t features;  /* number of features, for several coordinates; 0: the exponential kernel */
    uint64_t seed;      /* draws the features */
    uint32_t batch;     /* transitions in an update, 1 .. 65536 */
    double rate;        /* step size of an update */
    double error_limit; /* delta_t is clipped to this; 1e-3 .. 1e6 */
    double discount;
    double reward_scale; /* neighbours' rewards differ by at most 1 / this */
    double value_limit;  /* every number of f is clipped to this, noise included */
};

/* Bounds, roundings included, how far one update can move the next f apart between neighbours, in
 * the kernel's norm. */
double reward_q_step_sensitivity(const struct reward_q_settings *settings);

struct reward_q;

/* Makes a learner whose f is the function 0. Free with reward_q_free. */
struct reward_q *reward_q_new(const struct reward_q_settings *settings);

/* Frees Q; takes NULL. */
void reward_q_free(struct reward_q *q);

/* The numbers of f: values at knots, knot by knot, or coefficients, action by action. *OUT_COUNT is
 * how many. The numbers are already noised, so reading, storing and restoring them is
 * post-processing. */
float *reward_q_numbers(struct reward_q *q, size_t *out_count);

/* Writes to OUT[actions] the values of f at the raw STATE[state_dim], with one coordinate at the
 * nearest knot. A number that is not finite counts as its lower bound. */
void reward_q_values(const struct reward_q *q, const float *state, double *out);

/* Adds one transition to the next update, which takes at most settings.batch of them. NEXT is not
 * read when TERMINATED. */
void reward_q_add(struct reward_q *q, const float *state, uint32_t action, double reward,
                  const float *next, bool terminated);

/* Updates f by the transitions that were added, as part of a batch of settings.batch, and draws the
 * noise. SIGMA is its deviation at full sensitivity. The batch's states are public; where they
 * allow a smaller sensitivity, the noise is smaller in proportion, at the same price. */
void reward_q_update(struct reward_q *q, struct noise_source *noise, double sigma);

/* A copy of f's numbers in double; the caller frees it. */
double *reward_q_doubles(const struct reward_q *q);

/* The network with f's coefficients (several coordinates); the caller owns it. */
struct policy *reward_q_network(const struct reward_q *q);

#endif
