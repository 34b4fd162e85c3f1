/* Discrete conservative Q-learning (Kumar et al. 2020) on a deep Q-network with double-DQN targets;
 * see cql.c. */
#ifndef TACET_ALGOS_OFFLINE_CQL_H
#define TACET_ALGOS_OFFLINE_CQL_H

#include "algos/algorithm.h"

extern const struct algorithm cql_algorithm;

/* Loss of one example given the online values Q(s, .)[actions] and the target Y, and its gradient
 * with respect to the values: ALPHA (logsumexp Q - Q[a]) + huber(Q[a] - y) with threshold 1. */
float cql_loss(const float *q, uint32_t actions, uint32_t action, float y, float alpha,
               float *gradient);

#endif
