/* Discrete batch-constrained Q-learning (Fujimoto et al. 2019); see bcq.c. */
#ifndef TACET_ALGOS_OFFLINE_BCQ_H
#define TACET_ALGOS_OFFLINE_BCQ_H

#include "algos/algorithm.h"

extern const struct algorithm bcq_algorithm;

/* Settings of the loss. */
struct bcq_loss {
    uint32_t actions;
    float huber;         /* threshold of the Huber loss */
    float logit_penalty; /* weight of the mean squared logit */
};

/* Computes the loss of one example from OUTPUTS[2 actions] (action values Q, then logits i) and the
 * target Y, and writes the gradient of the loss with respect to OUTPUTS: huber(Q[a] - y) +
 * logsumexp i - i[a] + logit_penalty mean_b i[b]^2. */
float bcq_loss(const struct bcq_loss *loss, const float *outputs, uint32_t action, float y,
               float *gradient);

#endif
