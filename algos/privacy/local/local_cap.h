/* What PrivUnit and the half sphere share: a uniform point of a cap of the sphere around the vector
 * with one probability, of the rest of the sphere with the other. Bhowmick, Duchi, Freudiger,
 * Kapoor and Rogers 2018; optimal among its kind: Asi, Feldman and Talwar 2022. */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_H

#include "algos/privacy/local/local_mechanism.h"

/* Meaning of scheme->constant. The sphere is that of R^(dimension + 1): a vector shorter than the
 * clip is lifted to it by one more coordinate. */
enum {
    LOCAL_CAP_EDGE,    /* gamma: the cap is where <point, vector> >= gamma */
    LOCAL_CAP_SHARE,   /* P, the cap's share of the sphere */
    LOCAL_CAP_OUTSIDE, /* probability of a point outside of the cap: 1 - p */
    LOCAL_CAP_MEAN,    /* mu: the mean of a point is mu times the vector */
    LOCAL_CAP_SQUARE,  /* E <point, vector>^2 */
};

/* The mean mu that the cap of edge GAMMA in R^dimension reaches at EPSILON. */
double local_cap_mean(uint32_t dimension, double epsilon, double gamma);

/* local_mechanism.problem. */
const char *local_cap_problem(const struct local_parameters *parameters);

/* local_mechanism.prepare; GAMMA is the edge that the mechanism has chosen. */
void local_cap_prepare(struct local_scheme *scheme, double gamma);

/* local_mechanism.randomise. */
enum local_status local_cap_randomise(const struct local_scheme *scheme, const unsigned char *seed,
                                      const double *vector, struct noise_source *noise,
                                      int64_t *report);

/* local_mechanism.decode. */
enum local_status local_cap_decode(const struct local_scheme *scheme, const unsigned char *seed,
                                   const int64_t *report, double *estimate);

/* local_mechanism.squared_error. */
double local_cap_squared_error(const struct local_scheme *scheme, double squared_norm);

#endif
