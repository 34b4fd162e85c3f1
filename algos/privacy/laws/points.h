/* Compositions of losses on points: (epsilon, delta) pairs and randomised response. Their law is
 * listed, so delta and epsilon are finite sums: optimal composition (Kairouz, Oh, Viswanath 2015,
 * Thm 3.3), also of unequal parts as long as the list stays short. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_POINTS_H
#define TACET_ALGOS_PRIVACY_LAWS_POINTS_H

#include <stddef.h>

#include "algos/privacy/laws/contour_law.h"
#include "algos/privacy/math/interval.h"

#define POINTS_MAX 1048576 /* of the composed law: 16 MB, 0.2 s */

/* The composed law, losses falling. Mass and delta's steps are sums of positive terms. */
struct points {
    struct point {
        double loss, mass;
    } * point; /* owned; of finite losses */
    size_t count;
    double infinite;       /* mass of losses that no epsilon covers, */
    double infinite_error; /* and its relative error */
    double error; /* relative, of every mass; absolute, in units of 1 + |loss|, of every loss */
};

enum points_status {
    POINTS_OK,
    POINTS_TOO_MANY, /* more than POINTS_MAX, or losses so large that masses lose their digits */
};

/* Of LAWS[count], all CONTOUR_POINTS, count >= 0. Clear *OUT when it succeeded. */
enum points_status points_compose(const struct contour_law *laws, size_t count, struct points *out);

/* Frees what POINTS own; there are none then. */
void points_clear(struct points *points);

/* delta(epsilon) for any real epsilon. */
double points_delta(const struct points *points, double epsilon);

/* The least epsilon >= 0 with delta(epsilon) <= DELTA in (0, 1); INFINITY when there is none. */
double points_epsilon(const struct points *points, double delta);

/* points_delta with points->error paid for on either side. */
struct privacy_interval points_delta_interval(const struct points *points, double epsilon);

/* points_epsilon with the error paid for on either side. */
struct privacy_interval points_epsilon_interval(const struct points *points, double delta);

#endif
