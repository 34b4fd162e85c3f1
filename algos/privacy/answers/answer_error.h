/* How far noisy answers lie from the policy that they are about, as an estimate at policies that
 * are public: what to expect of a mechanism before anything is asked. Never at a private policy's
 * own distribution, whose error is itself a secret. */
#ifndef TACET_ALGOS_PRIVACY_ANSWERS_ANSWER_ERROR_H
#define TACET_ALGOS_PRIVACY_ANSWERS_ANSWER_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/privacy/laws/dirichlet.h"

/* Of the answer minus the policy: its expected 1-norm, and its 2-norm as a root mean square. */
struct answer_error {
    double l1, l2;
};

/* Computes the error at POLICY[actions] in closed form. POLICY is the distribution before
 * mixing. */
struct answer_error answer_error_dirichlet(const struct dirichlet *mechanism, const double *policy);

/* By fixed points in place of noise, 32768 coordinates in all: about one percent near, and two
 * milliseconds. */
struct answer_error answer_error_gaussian(const struct gaussian_simplex *mechanism,
                                          const double *policy);

/* Writes the uniform policy to POLICY[actions]. */
void answer_error_uniform(uint32_t actions, double *policy);

/* Writes to POLICY[actions] the policy that always takes the first action. */
void answer_error_peaked(uint32_t actions, double *policy);

/* The best setting of a mechanism within a budget. */
struct answer_choice {
    bool possible;  /* true: some setting can answer that often */
    double setting; /* the largest concentration, the least sigma */
    struct answer_error uniform, peaked;
};

/* What both mechanisms can do for QUERIES answers from a fresh account by Renyi of (EPSILON, DELTA)
 * at its best order. Neighbours' policies are at most CHANGE apart in the 2-norm; Dirichlet mixes
 * to MIN_PROBABILITY. Takes some ten milliseconds. */
void answer_choices(uint32_t actions, double change, double min_probability, double queries,
                    double epsilon, double delta, struct answer_choice *out_dirichlet,
                    struct answer_choice *out_gaussian);

#endif
