/* Releases on a lattice: the noise pays for the rounding, and is normal. False alarms: golden.h. */
#include "algos/privacy/functions/gaussian_lattice.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

/* Whatever the rounding moves neighbours apart, noise over sensitivity is not below what was
 * priced. In the last cases the rounding is as large as the sensitivity. */
Test(gaussian_lattice, noise_pays_for_the_rounding)
{
    static const struct {
        double sensitivity, sigma, most;
        size_t count;
    } cases[] = {{0.01, 0.05, 1.0, 100},
                 {1.0, 1e6, 10.0, 1 << 20},
                 {1e-9, 1e-3, 10.0, 1 << 18},
                 {1.0, 1e-7, 1e3, 1000},
                 {1e-12, 1e-12, 1e5, 1 << 20}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double s = cases[i].sensitivity, sigma = cases[i].sigma;
        cr_assert(gaussian_lattice_fits(s, sigma, cases[i].count));
        const struct gaussian_lattice l =
            gaussian_lattice_of(s, sigma, cases[i].count, cases[i].most);
        double deviation = (double)l.scale * 0x1p-20 * l.step;
        double apart = s + 2.0 * sqrt((double)cases[i].count) * l.step;
        cr_expect_leq(apart / deviation, s / sigma, "case %zu", i);
        cr_expect_leq(l.scale, UINT64_C(1) << 52);
        cr_expect_leq(cases[i].most / l.step, 0x1p58);
        int exponent;
        cr_expect_eq(frexp(l.step, &exponent), 0.5);
    }
    cr_expect_not(gaussian_lattice_fits(1.0, 2e6, 1 << 20));
}

Test(gaussian_lattice, draws_are_whole_steps_and_normal)
{
    enum { N = 50000 };
    struct noise_source *noise = golden_noise(123);
    double *v = malloc(N * sizeof *v);
    const struct gaussian_lattice l = gaussian_lattice_of(0.5, 2.0, N, 3.0);
    for (int i = 0; i < N; i++) {
        long double drawn = gaussian_lattice_draw(&l, noise, 1.0L / 3.0L);
        cr_assert_eq(drawn / l.step, rintl(drawn / l.step));
        v[i] = (double)((drawn - 1.0L / 3.0L) / 2.0L);
    }
    cr_expect_lt(golden_ks(v, N, golden_normal_cdf), KS_LIMIT);
    free(v);
    noise_source_free(noise);
}
