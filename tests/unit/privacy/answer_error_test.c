/* Estimates of errors against simulation, and the comparison of mechanisms. Seeds are fixed. */
#include "algos/privacy/answers/answer_error.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/answers/filter.h"
#include "tests/unit/privacy/golden.h"

static const double POLICIES[][4] = {
    {0.25, 0.25, 0.25, 0.25}, {1.0, 0.0, 0.0, 0.0}, {0.1, 0.2, 0.3, 0.4}};

static void add(struct answer_error *sum, const double *z, const double *policy, double weight)
{
    for (int a = 0; a < 4; a++) {
        sum->l1 += weight * fabs(z[a] - policy[a]);
        sum->l2 += weight * (z[a] - policy[a]) * (z[a] - policy[a]);
    }
}

Test(answer_error, are_those_of_draws)
{
    struct noise_source *noise = golden_noise(93);
    enum { N = 20000 };
    for (int i = 0; i < 3; i++) {
        struct dirichlet dirichlet = {4, 30.0, 0.05, 0.1};
        struct gaussian_simplex gaussian = {4, 0.1, 0.1};
        struct answer_error seen[2] = {{0}};
        for (int round = 0; round < N; round++) {
            double p[4], z[4];
            for (int a = 0; a < 4; a++)
                p[a] = POLICIES[i][a];
            dirichlet_mix(&dirichlet, p);
            cr_assert(dirichlet_sample(&dirichlet, noise, p, z));
            add(&seen[0], z, POLICIES[i], 1.0 / N);
            cr_assert(gaussian_simplex_sample(&gaussian, noise, POLICIES[i], z));
            add(&seen[1], z, POLICIES[i], 1.0 / N);
        }
        struct answer_error told[2] = {answer_error_dirichlet(&dirichlet, POLICIES[i]),
                                       answer_error_gaussian(&gaussian, POLICIES[i])};
        for (int j = 0; j < 2; j++) { /* spreads are about half of the means: six errors */
            cr_expect_float_eq(told[j].l1 / seen[j].l1, 1.0, 0.03, "%d %d: %g for %g", i, j,
                               told[j].l1, seen[j].l1);
            cr_expect_float_eq(told[j].l2 / sqrt(seen[j].l2), 1.0, 0.03, "%d %d: %g for %g", i, j,
                               told[j].l2, sqrt(seen[j].l2));
        }
    }
    noise_source_free(noise);
}

Test(answer_error, uniform_gaussian_in_closed_form)
{
    /* Where nothing is cut off each coordinate is N(0, sigma^2 (m-1)/m). */
    struct gaussian_simplex mechanism = {4, 0.02, 0.1};
    double spread = 0.02 * sqrt(0.75);
    struct answer_error got = answer_error_gaussian(&mechanism, POLICIES[0]);
    cr_expect_float_eq(got.l1, 4.0 * spread * sqrt(M_2_PI), 0.02 * got.l1);
    cr_expect_float_eq(got.l2, 2.0 * spread, 0.02 * got.l2);
}

/* What is offered is paid by the account, no more than a thousandth better would be, and the
 * Gaussian one is the more accurate, as documented. */
Test(answer_error, choices_fit_their_budget)
{
    static const double cases[][3] = {/* queries, epsilon, change */
                                      {1.0, 4.0, 0.014},     {100.0, 4.0, 0.0014},
                                      {1000.0, 4.0, 0.0014}, {100.0, 1.0, 0.0007},
                                      {100.0, 8.0, 0.005},   {10000.0, 8.0, 0.0002}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer_choice dirichlet, gaussian;
        double n = cases[i][0], epsilon = cases[i][1], change = cases[i][2];
        answer_choices(4, change, 0.05, n, epsilon, 1e-5, &dirichlet, &gaussian);
        cr_assert(gaussian.possible && gaussian.setting > 0.0);
        struct gaussian_simplex simplex = {4, gaussian.setting, change};
        const struct filter_release release = filter_gaussian_simplex(&simplex);
        int64_t count;
        filter_best_order(&release, epsilon, 1e-5, &count);
        cr_expect((double)count >= n && (double)count <= 1.01 * n + 1.0, "case %zu: %lld", i,
                  (long long)count);
        if (!dirichlet.possible)
            continue;
        struct dirichlet noisy = {4, dirichlet.setting, 0.05, 0.8 * change};
        const struct filter_release other = filter_dirichlet(&noisy);
        filter_best_order(&other, epsilon, 1e-5, &count);
        cr_expect((double)count >= n, "case %zu: %lld", i, (long long)count);
        cr_expect_lt(gaussian.uniform.l1, dirichlet.uniform.l1, "case %zu", i);
        cr_expect_lt(gaussian.peaked.l1, dirichlet.peaked.l1, "case %zu", i);
    }
    struct answer_choice dirichlet, gaussian;
    answer_choices(4, 0.5, 0.05, 1000.0, 1.0, 1e-5, &dirichlet, &gaussian);
    cr_expect_not(dirichlet.possible, "no concentration answers a thousand times");
    cr_expect(gaussian.possible, "noise always does, however little it says");
}
