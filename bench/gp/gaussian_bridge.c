/* The bridge in terms of em_of(t) = 1 - exp(-t), computed by expm1: the textbook form 1 - w_l
 * exp(-a)
 * - w_r exp(-b) loses all digits where the neighbours are near. */
#include "bench/gp/gaussian_bridge.h"

#include <assert.h>
#include <math.h>

static double em_of(double t)
{
    return -expm1(-t);
}

static void one_neighbour(double sigma, double gap, double value, double *mean, double *variance)
{
    *mean = exp(-gap) * value;
    *variance = sigma * sigma * em_of(2.0 * gap);
}

void gaussian_bridge(double beta, double sigma, double x, const struct gaussian_bridge_point *left,
                     const struct gaussian_bridge_point *right, double *mean, double *variance)
{
    assert(beta > 0.0 && sigma > 0.0);
    assert(!(left && left->x > x) && !(right && right->x < x));
    double a = left ? beta * (x - left->x) : 0.0, b = right ? beta * (right->x - x) : 0.0;
    if (!left && !right) {
        *mean = 0.0;
        *variance = sigma * sigma;
    } else if (!right || (left && a == 0.0)) {
        one_neighbour(sigma, a, left->value, mean, variance);
    } else if (!left || b == 0.0) {
        one_neighbour(sigma, b, right->value, mean, variance);
    } else {
        double whole = em_of(2.0 * (a + b)), from_left = em_of(2.0 * b) / whole,
               from_right = em_of(2.0 * a) / whole;
        *mean = exp(-a) * from_left * left->value + exp(-b) * from_right * right->value;
        *variance = sigma * sigma * em_of(2.0 * a) * from_left;
    }
}
