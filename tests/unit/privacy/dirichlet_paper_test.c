/* The paper's figures for the Dirichlet mechanism against independent values, and beside the
 * certified price: they are valid, and loose. */
#include "algos/privacy/answers/dirichlet_paper.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/math/special.h"
#include "tests/unit/privacy/golden.h"

Test(dirichlet_paper, oracles)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "delta_eq6"), i, one)
    {
        struct dirichlet mechanism = {(uint32_t)golden_number(one, "m"), golden_number(one, "k"),
                                      golden_number(one, "eta"), 0.01};
        double tau = golden_number(one, "tau"), got = dirichlet_paper_delta(&mechanism, tau);
        cr_expect_float_eq(got / golden_number(one, "union_upper"), 1.0, 1e-11);
        cr_expect_geq(got, golden_number(one, "delta_exact") - 1e-12);
        double want = golden_number(one, "eq12_eps_at_Lb_0p01");
        got = dirichlet_paper_epsilon(&mechanism, tau);
        cr_expect_float_eq(got, want, 1e-11 * want, "case %zu: %.15g", i, got);
        mechanism.sensitivity = 1e-300; /* what remains is the term that never vanishes */
        double gamma_term = golden_number(one, "gamma_term");
        cr_expect_float_eq(dirichlet_paper_epsilon(&mechanism, tau), gamma_term,
                           1e-11 * gamma_term);
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

/* Both are upper bounds of the same thing; ours is the smaller for close neighbours. */
Test(dirichlet_paper, is_looser_than_the_certified_price)
{
    for (double change = 0.001; change < 0.02; change *= 2.0) {
        struct dirichlet mechanism = {4, 20.0, 0.1, change};
        const struct filter_release release = filter_dirichlet(&mechanism);
        double paper = dirichlet_paper_total(&mechanism, 1.0, 1e-5);
        cr_expect_lt(filter_planned_epsilon(&release, 1.0, 1e-5), paper);
    }
}

/* The figures that docs/proofs/dirichlet.md states. */
Test(dirichlet_paper, documented_figures)
{
    struct dirichlet mechanism = {4, 20.0, 0.1, 0.01};
    const struct filter_release release = filter_dirichlet(&mechanism);
    double paper = dirichlet_paper_total(&mechanism, 1.0, 1e-5);
    cr_expect_float_eq(paper, 13.4, 0.05, "%g", paper);
    cr_expect_float_eq(filter_planned_epsilon(&release, 1.0, 1e-5), 1.05, 0.005);
    mechanism = (struct dirichlet){6, 5.0, 0.05, 1e-300};
    cr_expect_float_eq(dirichlet_paper_epsilon(&mechanism, 1e-3), 7.2, 0.005);
}

/* A component of a draw is small as often as the union bound says, or less: 200,000 draws; false
 * alarms: golden.h. */
Test(dirichlet_paper, delta_is_how_often_a_component_is_small)
{
    struct dirichlet mechanism = {4, 20.0, 0.05, 0.01};
    struct noise_source *noise = golden_noise(77);
    const double p[4] = {0.05, 0.05, 0.05, 0.85}, tau = 0.01;
    enum { N = 200000 };
    int below = 0;
    for (int i = 0; i < N; i++) {
        double z[4];
        cr_assert(dirichlet_sample(&mechanism, noise, p, z));
        below += fmin(fmin(z[0], z[1]), fmin(z[2], z[3])) < tau;
    }
    double delta = dirichlet_paper_delta(&mechanism, tau), seen = (double)below / N;
    cr_expect_leq(seen, delta + Z_LIMIT * sqrt(delta / N), "%d of %d for %g", below, N, delta);
    cr_expect_geq(seen, 0.7 * delta, "the union bound counts a pair of small components twice");
    noise_source_free(noise);
}

Test(dirichlet_paper, incomplete_beta_in_closed_form)
{
    for (double x = 0.0; x <= 1.0; x += 0.0625) {
        cr_expect_float_eq(incomplete_beta(3.0, 1.0, x), x * x * x, 1e-13);
        cr_expect_float_eq(incomplete_beta(1.0, 7.0, x), 1.0 - pow(1.0 - x, 7.0), 1e-13);
        cr_expect_float_eq(incomplete_beta(0.5, 0.5, x), asin(sqrt(x)) * M_2_PI, 1e-13);
        cr_expect_float_eq(incomplete_beta(40.0, 60.0, x) + incomplete_beta(60.0, 40.0, 1.0 - x),
                           1.0, 1e-12);
    }
}

/* Independent figures, to the digits that they were computed to. */
Test(dirichlet_paper, many_answers_add_up)
{
    static const struct {
        double k, eta, change, answers, epsilon;
    } cases[] = {
        {20, 0.1, 0.01, 1, 13.4},   {20, 0.1, 0.01, 100, 1431}, {5, 0.05, 0.05, 1, 32.5},
        {5, 0.05, 0.05, 100, 4174}, {100, 0.1, 0.05, 1, 87.2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dirichlet mechanism = {4, cases[i].k, cases[i].eta, cases[i].change};
        double got = dirichlet_paper_total(&mechanism, cases[i].answers, 1e-5);
        cr_expect_float_eq(got / cases[i].epsilon, 1.0, 0.004, "%zu: %g", i, got);
    }
}
