/* Private gradient collection (PGC-A3C; Ono and Takahashi 2020, arXiv 2001.11718, algorithm 1):
 * agents play in worlds of their own, each randomises the gradient of an episode on its side, and
 * a collector that sees nothing but reports moves the shared parameters by their mean. Here is what
 * collector and agents must agree on; the randomisers are in algos/privacy/local/local_mechanism.h.
 *
 * All of this is post-processing of reports. */
#ifndef TACET_ALGOS_ONLINE_GRADIENT_COLLECTION_H
#define TACET_ALGOS_ONLINE_GRADIENT_COLLECTION_H

#include <stdint.h>

#include "algos/online/actor_critic.h"

/* Bound of every parameter's absolute value, whatever the reports say. */
#define COLLECTION_PARAMETER_BOUND 1e6F

/* How agents explore. */
struct collection_exploration {
    double start; /* share of uniform actions before the first report */
    double decay; /* decrease of that share with every report */
};

/* The probability of a uniform action after REPORTS accepted reports: START - DECAY REPORTS, at
 * least 0. */
double collection_explore(const struct collection_exploration *exploration, uint64_t reports);

/* Moves PARAMETERS[count] of NET by LEARNING_RATE against SUM / REPORTS, the mean of the decoded
 * reports. A number of SUM that is not finite counts as 0. */
void collection_update(const struct actor_critic *net, float *parameters, const double *sum,
                       uint32_t reports, double learning_rate);

#endif
