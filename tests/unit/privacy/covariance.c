/* Whitening and one chi-square; see the header. */
#include "tests/unit/privacy/covariance.h"

#include <criterion/criterion.h>
#include <math.h>

static void cholesky(const double *a, size_t n, double *l)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            cr_assert(i != j || sum > 0.0, "a covariance must be positive definite");
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
    }
}

void covariance_whiten(double *sample, size_t count, size_t size, const double *covariance)
{
    double l[COVARIANCE_MAX * COVARIANCE_MAX];
    cr_assert_leq(size, COVARIANCE_MAX);
    cholesky(covariance, size, l);
    for (size_t s = 0; s < count; s++) {
        double *row = sample + s * size;
        for (size_t i = 0; i < size; i++) {
            for (size_t k = 0; k < i; k++)
                row[i] -= l[i * size + k] * row[k];
            row[i] /= l[i * size + i];
        }
    }
}

double covariance_deviation(const double *white, size_t count, size_t size)
{
    double sum = 0, n = (double)count;
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j <= i; j++) {
            double moment = 0;
            for (size_t s = 0; s < count; s++)
                moment += white[s * size + i] * white[s * size + j];
            moment /= n;
            sum += i == j ? n * (moment - 1.0) * (moment - 1.0) / 2.0 : n * moment * moment;
        }
    }
    double k = (double)(size * (size + 1)) / 2.0, spread = 2.0 / (9.0 * k);
    return (cbrt(sum / k) - (1.0 - spread)) / sqrt(spread);
}

void covariance_of_points(double beta, double sigma, const double *point, size_t size,
                          size_t dimensions, size_t groups, double *covariance)
{
    size_t all = groups * size;
    for (size_t i = 0; i < all; i++) {
        for (size_t j = 0; j < all; j++) {
            double apart = 0;
            for (size_t d = 0; d < dimensions; d++)
                apart += fabs(point[i % size * dimensions + d] - point[j % size * dimensions + d]);
            covariance[i * all + j] =
                i / size == j / size ? sigma * sigma * exp(-beta * apart) : 0.0;
        }
    }
}
