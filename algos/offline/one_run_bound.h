/* What the guesses of a one-run audit prove (Steinke, Nasr and Jagielski 2023, "Privacy auditing
 * with one (1) training run"; the bound is that of Mahloujifar, Melis and Chaudhuri 2024, "Auditing
 * f-differential privacy in one run", which takes a whole curve of claims).
 *
 * M canaries each take part or not by a fair coin of their own. Whoever sees the result guesses R
 * of the coins, R fixed before. The claim: between two worlds that differ in one canary, an event
 * of probability y in one has at least the probability low(y) in the other, where low(y) is the
 * greatest of (y - delta) / e^epsilon and 1 - delta - e^epsilon (1 - y) over the claim's points.
 *
 * Let q_i be the probability of at least i right guesses, and h_i = (i q_i + q_{i+1} + ... + q_R) /
 * M: the probability of i or more right guesses, of which that of a canary drawn at random is one.
 * Turn that canary's coin: the same output then makes one right guess less, and this one wrong.
 * low is convex, so the average over canaries and outputs gives
 *
 *   ((R - i + 1) q_{i-1} - q_i - ... - q_R) / M >= low(h_i).
 *
 * From q_c = t and q_i = 0 beyond, this and q_{i-1} >= q_i bound q_{c-1}, ..., q_0 from below, each
 * in the least way, because each bound grows with the q before it. q_0 is 1. So if the bound on q_0
 * exceeds 1, c right guesses or more had a probability below t. */
#ifndef TACET_ALGOS_OFFLINE_ONE_RUN_BOUND_H
#define TACET_ALGOS_OFFLINE_ONE_RUN_BOUND_H

#include <stdint.h>

#include "algos/privacy/training/dp_sgd_plan.h"

#define ONE_RUN_POINTS 16

/* Points of one curve of claims: (epsilon[i], delta[i]) for each i. */
struct one_run_claim {
    double epsilon[ONE_RUN_POINTS], delta[ONE_RUN_POINTS];
    unsigned count;
};

/* What PLAN claims at several deltas. False: the accountant certifies none of them. */
bool one_run_claim_of(const struct dp_sgd_plan *plan, struct one_run_claim *out);

struct one_run_guesses {
    uint32_t canaries, guesses, right;
};

/* Guesses the coins of COUNT canaries from their SCORES (no NaN): a SHARE of them (0 .. 1/2), those
 * of the highest scores, were THERE, and as many of the lowest were not. */
void one_run_guess(const double *scores, const bool *there, uint32_t count, double share,
                   struct one_run_guesses *out);

/* An upper bound of the probability that as many guesses or more are right if CLAIM is true. */
double one_run_p_value(const struct one_run_claim *claim, const struct one_run_guesses *seen);

/* The same of COUNT independent runs together: the probability that the product of as many uniform
 * numbers is at most that of the runs' p-values (Fisher 1932). */
double one_run_p_value_of_all(const struct one_run_claim *claim, const struct one_run_guesses *seen,
                              uint32_t count);

/* The epsilon that the runs show about a training that follows PLAN, with any noise; it is wrong
 * with probability at most FALSE_ALARM. It is the price, at PLAN's delta, of the least noise
 * multiplier that the runs refute (runs that refute one refute every greater one). Multipliers from
 * a quarter to 4 times PLAN's are tried: 0 when none is refuted. */
double one_run_shown(const struct dp_sgd_plan *plan, const struct one_run_guesses *seen,
                     uint32_t count, double false_alarm);

#endif
