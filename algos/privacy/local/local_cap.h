/* The constants of PrivUnit and the half sphere (local_cap.c). */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_H

/* Meaning of scheme->constant. The sphere is that of R^(dimension + 1): a vector shorter than the
 * clip is lifted to it by one more coordinate. */
enum {
    LOCAL_CAP_EDGE,    /* gamma: the cap is where <point, vector> >= gamma */
    LOCAL_CAP_SHARE,   /* P, the cap's share of the sphere */
    LOCAL_CAP_OUTSIDE, /* probability of a point outside of the cap: 1 - p */
    LOCAL_CAP_MEAN,    /* mu: the mean of a point is mu times the vector */
    LOCAL_CAP_SQUARE,  /* E <point, vector>^2 */
};

#endif
