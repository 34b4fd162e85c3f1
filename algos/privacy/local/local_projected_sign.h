/* The coin of projected random sign, for those who want to check it. */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_PROJECTED_SIGN_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_PROJECTED_SIGN_H

#include <stdint.h>

#include "algos/privacy/local/local_mechanism.h"

/* Bits in a report: max(1, min(d, floor(epsilon / 2.5))) (Wang et al. 2019). */
uint32_t local_projected_sign_bits(const struct local_scheme *scheme);

/* 2^64 times the probability of the sign + for a projection U, any number; within what keeps one
 * bit (epsilon / bits)-private, rounding included. */
uint64_t local_projected_sign_coin(const struct local_scheme *scheme, double u);

#endif
