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
    float huber; /* threshold of the Huber loss */
};

/* Computes the loss of one example from the online values Q(s, .)[actions] and the target Y, and
 * writes its gradient with respect to Q: ALPHA (logsumexp Q - Q[a]) + huber(Q[a] - y). */
float cql_loss(const struct cql_loss *loss, const float *q, uint32_t action, float y,
               float *gradient);

struct cql_rule {
    struct cql_loss loss;
    float discount;
};

/* Implements struct trainer_rule.errors; CONTEXT is a struct cql_rule. The target uses the action
 * that is best at the next state: by the online network when ROWS has its values there (double
 * DQN), else by the target network. */
void cql_errors(const void *context, const struct trainer_rows *rows);

#endif
