/* Discrete conservative Q-learning (Kumar et al. 2020) on a deep Q-network with double-DQN targets;
 * see cql.c. */
#ifndef TACET_ALGOS_OFFLINE_CQL_H
#define TACET_ALGOS_OFFLINE_CQL_H

#include "algos/algorithm.h"

extern const struct algorithm cql_algorithm;

/* Settings of the loss. */
struct cql_loss {
    uint32_t actions;
    float alpha; /* weight of the conservative term */
    float huber; /* threshold */
};

/* Loss of one example given the online values Q(s, .)[actions] and the target Y, and its gradient
 * with respect to the values: ALPHA (logsumexp Q - Q[a]) + huber(Q[a] - y). */
float cql_loss(const struct cql_loss *loss, const float *q, uint32_t action, float y,
               float *gradient);

#endif
