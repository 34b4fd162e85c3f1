/* Behaviour cloning: a softmax policy that does what the experts did; see behaviour_cloning.c. */
#ifndef TACET_ALGOS_OFFLINE_BEHAVIOUR_CLONING_H
#define TACET_ALGOS_OFFLINE_BEHAVIOUR_CLONING_H

#include "algos/algorithm.h"

extern const struct algorithm behaviour_cloning_algorithm;

/* Loss of one example given LOGITS[actions], and its gradient with respect to them: the negative
 * logarithm of the softmax at ACTION. */
float behaviour_cloning_loss(const float *logits, uint32_t actions, uint32_t action,
                             float *gradient);

#endif
