/* Softmax in double. */
#ifndef TACET_ALGOS_NN_SOFTMAX_H
#define TACET_ALGOS_NN_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

#include "envs/rng.h"

/* X[n], logits, become their softmax. False where one is not finite: X is then of no use. */
bool softmax(double *x, uint32_t n);

/* An index drawn in proportion to WEIGHTS[n], which are not negative and add up to SUM. */
uint32_t softmax_draw(const double *weights, uint32_t n, double sum, struct rng *rng);

#endif
