/* The Gaussian process of kernel sigma^2 exp(-beta |x - y|) (Ornstein-Uhlenbeck, Markov) at one
 * point, given what is known on either side: the law that both forms of a path draw from. Source:
 * conditional normal law; in sinh form, equation (2) of the functional-noise paper. */
#ifndef TACET_BENCH_GP_GAUSSIAN_BRIDGE_H
#define TACET_BENCH_GP_GAUSSIAN_BRIDGE_H

struct gaussian_bridge_point {
    double x, value;
};

/* MEAN and VARIANCE of the process at X given its value at LEFT (left->x <= x) and at RIGHT
 * (x <= right->x); either may be NULL: nothing is known on that side. With the nearest neighbours
 * this is the law given all points; with any others it is not. beta, sigma > 0. Neither overflows
 * for great gaps nor cancels for tiny ones: relative error below 1e-14 down to gaps of 1e-300. At a
 * known point, or so near that beta * gap is 0 in double: that value, variance 0. */
void gaussian_bridge(double beta, double sigma, double x, const struct gaussian_bridge_point *left,
                     const struct gaussian_bridge_point *right, double *mean, double *variance);

#endif
