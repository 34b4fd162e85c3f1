/* Behaviour cloning: a softmax policy that imitates the experts; see behaviour_cloning.c. */
#ifndef TACET_ALGOS_OFFLINE_BEHAVIOUR_CLONING_H
#define TACET_ALGOS_OFFLINE_BEHAVIOUR_CLONING_H

#include "algos/algorithm.h"

extern const struct algorithm behaviour_cloning_algorithm;

/* Computes the loss of one example from LOGITS[actions], the negative log-likelihood of ACTION, and
 * writes its gradient with respect to LOGITS. */
float behaviour_cloning_loss(const float *logits, uint32_t actions, uint32_t action,
                             float *gradient);

#endif
