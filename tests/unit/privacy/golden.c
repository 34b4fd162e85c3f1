/* Shared helpers; see the header. */
#include "tests/unit/privacy/golden.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

json_t *golden_load(const char *name)
{
    char path[256];
    json_error_t error;
    snprintf(path, sizeof path, "tests/golden/privacy/%s", name);
    json_t *root = json_load_file(path, 0, &error);
    cr_assert_not_null(root, "%s:%d: %s (run from the root of the repository)", path, error.line,
                       error.text);
    return root;
}

double golden_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "golden file: no number %s", key);
    return json_number_value(value);
}

struct noise_source *golden_noise(unsigned number)
{
    uint8_t key[32] = {0};
    for (unsigned i = 0; i < 4; i++)
        key[i] = (uint8_t)(number >> 8 * i);
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert_not_null(noise);
    return noise;
}

double golden_z(double seen, double mean, double deviation)
{
    return fabs(seen - mean) / deviation;
}

/* x ln(x / y) */
static double surprise(double x, double y)
{
    return x > 0.0 ? x * log(x / y) : 0.0;
}

double golden_coins(double count, double n, double probability)
{
    double seen = count / n;
    double divergence = surprise(seen, probability) + surprise(1.0 - seen, 1.0 - probability);
    return sqrt(2.0 * n * fmax(divergence, 0.0));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double golden_ks(double *sample, size_t n, double (*cdf)(double))
{
    qsort(sample, n, sizeof *sample, ascending);
    double distance = 0;
    for (size_t i = 0; i < n; i++) {
        double p = cdf(sample[i]);
        distance = fmax(distance, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    return distance * sqrt((double)n);
}

double golden_chi_square(const double *counts, const double *expected, size_t n)
{
    double sum = 0, k = (double)n - 1.0;
    for (size_t i = 0; i < n; i++)
        sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    double spread = 2.0 / (9.0 * k);
    return (cbrt(sum / k) - (1.0 - spread)) / sqrt(spread);
}

double golden_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double golden_laplace_cdf(double x)
{
    return x < 0 ? 0.5 * exp(x) : 1.0 - 0.5 * exp(-x);
}
