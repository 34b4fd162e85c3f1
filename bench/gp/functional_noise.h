/* For comparison alone: deep Q-learning with functional noise as Algorithm 1 of Wang and Hegde 2019
 * prints it, and the noise that their Theorem 5 asks for. Nothing that this makes may be released
 * as private, and no job runs it.
 *
 * Targets and behaviour read Q + g, g a sample path of kernel sigma^2 exp(-beta |x - y|) for each
 * action, drawn anew every so many updates; but each update goes on from the weights without noise,
 * and those weights are returned. The noise is thus on the rewards, not on the function, and what
 * it hides does not fall with the learning rate, as the theorem has it (tests/unit/algos/
 * functional_noise_test.c, docs/proofs/gaussian_process.md). What is right is in reward_q.h. */
#ifndef TACET_BENCH_GP_FUNCTIONAL_NOISE_H
#define TACET_BENCH_GP_FUNCTIONAL_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/nn/mlp.h"
#include "algos/privacy/noise/noise.h"

struct functional_noise_settings {
    struct mlp_shape shape; /* one input, from [0, 1]; an output for each action */
    double rate;            /* alpha */
    uint32_t batch;         /* B */
    uint32_t updates_per_path;
    double discount;
    double beta, sigma; /* of the path; sigma 0: none */
    /* DP-SGD in its place, for comparison: 0: neither. */
    double clip_norm, gradient_sigma; /* deviation over clip_norm, on the sum of a batch */
};

/* The sigma that Theorem 5 asks for, so that UPDATES updates are said to be (epsilon, delta)-
 * private: sqrt(2 updates (v^2 + v) L^2 ln(e + epsilon / delta)) / epsilon with v = 4 rate (k + 1)
 * / batch = 1 / beta, for L-Lipschitz functions. *OUT_HOLDS (or NULL): whether the theorem's own
 * condition, 2 k > 8.68 sqrt(beta) sigma, does. */
double functional_noise_claimed_sigma(double epsilon, double delta, double rate, uint32_t batch,
                                      uint64_t updates, double lipschitz, double k,
                                      bool *out_holds);

struct functional_noise;

/* PARAMETERS[mlp_parameter_count], copied; NOISE is borrowed. NULL: no memory. */
struct functional_noise *functional_noise_new(const struct functional_noise_settings *settings,
                                              const float *parameters, struct noise_source *noise);
void functional_noise_free(struct functional_noise *f); /* takes NULL */

/* OUT[actions] at STATE in [0, 1]: Q + g. False: no memory. */
bool functional_noise_values(struct functional_noise *f, double state, double *out);

struct functional_noise_step {
    double state, reward, next;
    uint32_t action;
    bool terminated;
};

/* One update with the BATCH steps. False: no memory. */
bool functional_noise_update(struct functional_noise *f, const struct functional_noise_step *steps);

/* What Algorithm 1 returns: weights without noise. Borrowed. */
const float *functional_noise_parameters(const struct functional_noise *f);

#endif
