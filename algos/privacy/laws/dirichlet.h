/* The Dirichlet mechanism on action probabilities: certified Renyi price and the sampler.
 * Bounds: Theorem A, (A1) and (A2) of docs/proofs/dirichlet.md; exact for two actions. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_DIRICHLET_H
#define TACET_ALGOS_PRIVACY_LAWS_DIRICHLET_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/noise/noise.h"

#define DIRICHLET_MAX_ACTIONS 64

/* Release Dir(concentration * p) for p in the simplex with every p_i >= min_probability. */
struct dirichlet {
    uint32_t actions;       /* m >= 2 */
    double concentration;   /* k >= 1 / min_probability; less costs the same and is less accurate */
    double min_probability; /* eta in (0, 1/m) */
    double sensitivity; /* 2-norm bound between neighbouring p, after mixing to min_probability */
};

/* NULL when the parameters are in range, else a sentence that says which is not. */
const char *dirichlet_problem(const struct dirichlet *mechanism);

/* Orders below this have a finite price: 1 + eta / Delta_inf. */
double dirichlet_order_limit(const struct dirichlet *mechanism);

/* Certified upper bound of the Renyi divergence of ORDER between Dir(k p) of neighbours, whose P
 * dirichlet_mix has rounded; INFINITY at and above the limit. */
double dirichlet_renyi_bound(const struct dirichlet *mechanism, double order);

/* The price of an answer: the bound above and what the arithmetic of dirichlet_sample may add. This
 * is what accounts are charged. */
double dirichlet_answer_bound(const struct dirichlet *mechanism, double order);

/* p_i = eta + (1 - m eta) f_i, in place: f a distribution over m actions, rounded first to
 * multiples of 2^-52 that sum to one. */
void dirichlet_mix(const struct dirichlet *mechanism, double *probabilities);

/* Draws what 2^40 trials show under z ~ Dir(k p), and rounds it to multiples of 2^-20 that sum to
 * exactly 1 (largest remainder): both are post-processing of z. Whole numbers and coins alone; each
 * probability is right to a factor that dirichlet_answer_bound pays for. False when P is not in the
 * restricted simplex. */
bool dirichlet_sample(const struct dirichlet *mechanism, struct noise_source *noise,
                      const double *p, double *z);

/* Radius around p that holds z with probability 1 - beta, 2-norm (sub-Gaussian bound, Marchal and
 * Arbel 2017). */
double dirichlet_error_radius(const struct dirichlet *mechanism, double beta);

#endif
