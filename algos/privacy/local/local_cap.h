/* The constants of PrivUnit and the half sphere (local_cap.c). */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_H

#include <stdint.h>

#include "algos/privacy/local/local_mechanism.h"

/* Meaning of scheme->constant. The sphere is that of R^(dimension + 1): a vector shorter than the
 * clip is lifted to it by one more coordinate. */
enum {
    LOCAL_CAP_EDGE,   /* gamma: the cap is where <point, vector> >= gamma */
    LOCAL_CAP_SHARE,  /* P, the cap's share of the sphere */
    LOCAL_CAP_WHOLE,  /* q: probability of a point of the whole sphere; else one of the cap */
    LOCAL_CAP_MEAN,   /* mu: the mean of a point is mu times the vector */
    LOCAL_CAP_SQUARE, /* E <point, vector>^2 */
};

/* 2^64 q as the coin has it, rounded up. */
uint64_t local_cap_coin(const struct local_scheme *scheme);

#endif
