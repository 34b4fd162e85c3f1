/* Discrete conservative Q-learning (Kumar et al. 2020) on a deep Q-network; see cql.c. With alpha 0
 * it is deep Q-learning, whose rule dqn has from here. */
#ifndef TACET_ALGOS_OFFLINE_CQL_H
#define TACET_ALGOS_OFFLINE_CQL_H

#include "algos/offline/dp_trainer.h"

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

struct cql_rule {
    struct cql_loss loss;
    float discount;
};

/* As struct trainer_rule's errors; CONTEXT is a struct cql_rule. Targets are of the action that the
 * online network says is best at the next state where ROWS has what it says (double DQN), else the
 * target network. */
void cql_errors(const void *context, const struct trainer_rows *rows);

#endif
