/* A figure known from both sides. */
#ifndef TACET_ALGOS_PRIVACY_MATH_INTERVAL_H
#define TACET_ALGOS_PRIVACY_MATH_INTERVAL_H

/* The true figure lies between. Lower is 0 where no lower bound is known; upper may be INFINITY (of
 * an epsilon) or 1 (of a delta). */
struct privacy_interval {
    double lower, upper;
};

#endif
