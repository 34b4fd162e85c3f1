/* What a reproduction says of repeated runs: median and quartiles, mean and its interval. */
#ifndef TACET_BENCH_PLOT_SAMPLE_H
#define TACET_BENCH_PLOT_SAMPLE_H

#include <stddef.h>

struct sample_quartiles {
    double low, median, high;
};

/* Quartiles of COUNT > 0 values, which are sorted in place; infinite ones are allowed (a run that
 * never succeeded), NaN is not. Between two values it lies in the middle by weight (type 7 of
 * Hyndman and Fan 1996); beside an infinite one it is the finite one's neighbour, infinite. */
struct sample_quartiles sample_quartiles_of(double *values, size_t count);

struct sample_mean {
    double mean, deviation; /* of one value; 0 of a single one */
    double half;            /* of the 95 % interval of the mean by Student's t; NaN of one value */
};
struct sample_mean sample_mean_of(const double *values, size_t count);

/* 97.5 % point of Student's t with FREEDOM > 0 degrees of freedom. */
double sample_student(size_t freedom);

#endif
