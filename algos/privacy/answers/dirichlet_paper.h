/* What the paper says of the Dirichlet mechanism, beside the certified price of dirichlet.h.
 *
 * FOR COMPARISON ONLY: NO GUARANTEE, NEVER CHARGED. Equation (12) is an epsilon for the delta of
 * equation (6), the probability that some component of the answer falls below tau. It does not
 * vanish with the change of the policy and is 5 to 300 times too large for one answer; its delta
 * is taken at a vertex of the simplex, where it is largest as far as anybody knows, without a
 * proof. Names are those of docs/proofs/dirichlet.md. */
#ifndef TACET_ALGOS_PRIVACY_ANSWERS_DIRICHLET_PAPER_H
#define TACET_ALGOS_PRIVACY_ANSWERS_DIRICHLET_PAPER_H

#include "algos/privacy/laws/dirichlet.h"

/* Equation (12): sqrt(m) k Delta ln(1/tau) + (m-1) lG(k eta) + lG(k (1-(m-1) eta)) - m lG(k/m); TAU
 * in (0, 1/m]. */
double dirichlet_paper_epsilon(const struct dirichlet *mechanism, double tau);

/* The delta of equation (6) at a vertex, by the union bound. TAU in (0, 1/m). */
double dirichlet_paper_delta(const struct dirichlet *mechanism, double tau);

/* What the paper would say of ANSWERS answers at DELTA in (0, 1) together: equation (12) at an
 * equal share of delta, added up (its own basic composition), by the largest tau whose delta is
 * that share. INFINITY when there is none. */
double dirichlet_paper_total(const struct dirichlet *mechanism, double answers, double delta);

#endif
