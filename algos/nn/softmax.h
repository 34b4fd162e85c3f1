/* Softmax in double. */
#ifndef TACET_ALGOS_NN_SOFTMAX_H
#define TACET_ALGOS_NN_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

/* X[n], logits, become their softmax. False where one is not finite: X is then of no use. */
bool softmax(double *x, uint32_t n);

#endif
