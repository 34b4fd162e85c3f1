/* Softmax in double. */
#ifndef TACET_ALGOS_NN_SOFTMAX_H
#define TACET_ALGOS_NN_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

#include "envs/rng.h"

/* Replaces the logits X[n] by their softmax. False: a logit is not finite, and X has no meaning. */
bool softmax(double *x, uint32_t n);

/* Draws an index in proportion to WEIGHTS[n], which are not negative and add up to SUM. */
uint32_t softmax_draw(const double *weights, uint32_t n, double sum, struct rng *rng);

#endif
