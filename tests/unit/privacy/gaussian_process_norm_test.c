/* Norms in the exponential kernel's space, and how tight the class's bound is. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/functions/gaussian_process_plan.h"
#include "tests/unit/privacy/golden.h"
#include "tests/unit/privacy/kernel_norm.h"

enum { GRID = 20001 };

Test(gaussian_process_norm, golden)
{
    json_t *root = golden_load("gaussian_process.json"), *item;
    static double x[GRID], f[GRID];
    size_t c;
    json_array_foreach(json_object_get(root, "rkhs_norm"), c, item)
    {
        cr_assert_str_eq(json_string_value(json_object_get(item, "f")), "sin(3x)+0.3");
        for (int i = 0; i < GRID; i++) {
            x[i] = (double)i / (GRID - 1);
            f[i] = sin(3.0 * x[i]) + 0.3;
        }
        double norm = golden_number(item, "rkhs_norm_sq"), beta = golden_number(item, "beta");
        double on_grid = gaussian_process_norm_squared(beta, x, f, GRID);
        cr_expect_float_eq(on_grid, norm, 1e-7 * norm, "%.17g for %.17g", on_grid, norm);
        /* fewer points know less */
        double before = 0;
        for (size_t points = 1; points <= 1001; points += 100) {
            for (size_t i = 0; i < points; i++) {
                x[i] = (double)i / 1000.0;
                f[i] = sin(3.0 * x[i]) + 0.3;
            }
            double part = gaussian_process_norm_squared(beta, x, f, points);
            cr_expect(part > before && part <= norm, "%zu points: %.17g", points, part);
            before = part;
        }
    }
    cr_assert_geq(c, 3);
    json_decref(root);
}

/* By the definition, f' K^-1 f with elimination. */
static double by_elimination(double beta, const double *x, const double *f, size_t n)
{
    double a[8][9], sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            a[i][j] = exp(-beta * fabs(x[i] - x[j]));
        a[i][n] = f[i];
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[i][k] / a[k][k];
            for (size_t j = k; j <= n; j++)
                a[i][j] -= factor * a[k][j];
        }
        sum += a[k][n] * a[k][n] / a[k][k];
    }
    return sum;
}

Test(gaussian_process_norm, is_the_kernel_matrix_s)
{
    struct noise_source *noise = golden_noise(650);
    for (int round = 0; round < 100; round++) {
        double x[8], f[8], beta = exp(2.0 * noise_normal(noise));
        for (int i = 0; i < 8; i++) {
            x[i] = ((double)i + 0.8 * noise_uniform(noise)) / 8.0;
            f[i] = noise_normal(noise);
        }
        double direct = by_elimination(beta, x, f, 8);
        cr_assert_float_eq(gaussian_process_norm_squared(beta, x, f, 8), direct, 1e-9 * direct);
    }
    noise_source_free(noise);
}

/* A fine zig-zag below the limit almost attains the bound; no member of the class exceeds it. */
Test(gaussian_process_norm, class_bound_holds_and_is_nearly_attained)
{
    static double x[GRID], f[GRID];
    double amplitude = 1.0, slope = 5.0, beta = slope / amplitude;
    double bound = gaussian_process_class_norm_squared(beta, amplitude, slope);
    cr_assert_float_eq(bound, amplitude * amplitude + amplitude * slope, 1e-14);
    double best = 0;
    for (int teeth = 1; teeth <= 400; teeth *= 2) {
        for (int i = 0; i < GRID; i++) {
            x[i] = (double)i / (GRID - 1);
            double place = fabs(remainder(x[i] * teeth, 1.0)) / teeth; /* to the nearest tooth */
            f[i] = fmax(-amplitude, amplitude - slope * place);
        }
        double norm = gaussian_process_norm_squared(beta, x, f, GRID);
        cr_expect_leq(norm, bound * (1.0 + 1e-9), "%d teeth", teeth);
        best = fmax(best, norm);
    }
    cr_expect_gt(best, 0.98 * bound, "%g of %g", best, bound);
}
