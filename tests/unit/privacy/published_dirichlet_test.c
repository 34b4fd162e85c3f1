/* The sampler of bench/kickstart, at concentrations that the service's mechanism refuses. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/noise/noise.h"
#include "bench/kickstart/published.h"

#define DRAWS 20000

TestSuite(published_dirichlet);

/* E z = p and Var z = p (1 - p) / (k + 1). By Hoeffding's inequality the mean of DRAWS numbers of
 * [0, 1] is farther than 0.02 from its expectation with probability at most 2 exp(-2 20000 0.02^2)
 * = 2e-7. */
Test(published_dirichlet, has_the_moments_of_the_law)
{
    static const double concentrations[] = {1e-3, 0.1, 1, 5, 40}, p[] = {0.1, 0.6, 0.3};
    static const uint8_t key[32] = {7};
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert_not_null(noise);
    for (size_t c = 0; c < sizeof concentrations / sizeof concentrations[0]; c++) {
        double k = concentrations[c], z[3], mean[3] = {0}, square[3] = {0};
        for (unsigned d = 0; d < DRAWS; d++) {
            published_draw(3, k, p, noise, z);
            cr_assert_float_eq(z[0] + z[1] + z[2], 1, 1e-12);
            for (unsigned i = 0; i < 3; i++) {
                cr_assert(z[i] >= 0 && z[i] <= 1);
                mean[i] += z[i] / DRAWS;
                square[i] += (z[i] - p[i]) * (z[i] - p[i]) / DRAWS;
            }
        }
        for (unsigned i = 0; i < 3; i++) {
            cr_expect_float_eq(mean[i], p[i], 0.02, "%g: %g", k, mean[i]);
            cr_expect_float_eq(square[i], p[i] * (1 - p[i]) / (k + 1), 0.02, "%g: %g", k,
                               square[i]);
        }
    }
    noise_source_free(noise);
}
