/* What one event proves about a mechanism that is claimed with its whole privacy profile, the
 * curve delta(epsilon), and not with one point of it. */
#ifndef TACET_TESTS_STATISTICAL_PROFILE_H
#define TACET_TESTS_STATISTICAL_PROFILE_H

#include <stdint.h>

#include "algos/privacy/laws/mechanism.h"

/* What the accountant in charge says of TIMES runs of MECHANISM at DELTA; the test fails when it
 * says nothing. */
double profile_price(const struct mechanism *mechanism, uint64_t times, double delta);

/* An event has probability P at least in one world and Q at most in the other. The claim of some
 * noise is refuted when p > e^epsilon q + delta(epsilon) somewhere on its curve, or when the
 * complement, 1 - q against 1 - p, is. The price at DELTA of TIMES runs of MECHANISM, a subsampled
 * Gaussian, with the least noise that is refuted: the f-DP audit of Nasr et al. 2023 for curves
 * without a closed form. 0 when even 4 times the noise of MECHANISM stands, and never more than a
 * quarter costs. */
double profile_shown(const struct mechanism *mechanism, uint64_t times, double delta, double p,
                     double q);

#endif
