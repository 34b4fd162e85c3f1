/* The accountant against independent values, closed forms and other mechanisms. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/pld_certify.h"
#include "algos/privacy/laws/pld_compose.h"
#include "algos/privacy/laws/subsampled_gaussian.h"
#include "algos/privacy/math/fft.h"
#include "tests/unit/privacy/golden.h"

static const struct pld_effort CLOSE = {.relative_gap = 2e-4, .max_log2_size = 20};
static const struct pld_effort QUICK = {.relative_gap = 1e-2, .max_log2_size = 15};

/* Epsilon of one mechanism run TIMES. */
static bool certify(pld_mechanism mechanism, const void *parameters, uint64_t times, double quantum,
                    double delta, const struct pld_effort *effort, struct privacy_interval *out)
{
    struct pld_part part = {mechanism, parameters, times, quantum};
    return pld_certify(&part, 1, PLD_EPSILON, delta, effort, out) == PLD_OK;
}

static struct privacy_interval both_directions(double q, double s, uint64_t n, double delta,
                                               struct pld_effort effort)
{
    struct subsampled_gaussian g = {.sampling_rate = q, .noise_multiplier = s};
    struct privacy_interval removed, added;
    cr_assert(certify(subsampled_gaussian_outcomes, &g, n, 0.0, delta, &effort, &removed));
    g.add = true;
    effort.irrelevant = removed.upper;
    cr_assert(certify(subsampled_gaussian_outcomes, &g, n, 0.0, delta, &effort, &added));
    return (struct privacy_interval){fmax(removed.lower, added.lower),
                                     fmax(removed.upper, added.upper)};
}

Test(pld, oracles_lie_between_the_bounds, .timeout = 300)
{
    json_t *root = golden_load("subsampled_gaussian.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        const char *id = json_string_value(json_object_get(one, "id"));
        double exact = golden_number(one, "epsilon_exact");
        struct privacy_interval got = both_directions(
            golden_number(one, "sampling_prob"), golden_number(one, "noise_multiplier"),
            (uint64_t)golden_number(one, "steps"), golden_number(one, "delta"), CLOSE);
        /* 1e-12: the golden values' own last digits */
        cr_expect_leq(got.lower, exact * (1.0 + 1e-12), "%s: lower %.12g", id, got.lower);
        cr_expect_geq(got.upper, exact * (1.0 - 1e-12), "%s: upper %.12g", id, got.upper);
        cr_expect_leq(got.upper - got.lower, 2e-4 * exact, "%s: [%g %g]", id, got.lower, got.upper);
        /* and both meet the independent discretisations' intervals */
        cr_expect_leq(got.lower, golden_number(one, "epsilon_pessimistic"), "%s", id);
        cr_expect_geq(got.upper, golden_number(one, "epsilon_optimistic"), "%s", id);
    }
    cr_assert_eq(i, 48);
    json_decref(root);
}

/* Balle and Wang 2018, Theorem 8. */
static double gaussian_delta(double mu, double epsilon)
{
    return golden_normal_cdf(mu / 2.0 - epsilon / mu) -
           exp(epsilon) * golden_normal_cdf(-mu / 2.0 - epsilon / mu);
}

Test(pld, gaussian_closed_form_at_random_parameters, .timeout = 600)
{
    struct noise_source *noise = golden_noise(40);
    for (int i = 0; i < 25; i++) {
        double s = exp(4.0 * noise_uniform(noise) - 0.5);
        uint64_t n = 1 + noise_below(noise, 2000);
        double delta = pow(10.0, -2.0 - 8.0 * noise_uniform(noise));
        double mu = sqrt((double)n) / s;
        if (mu > 6.0) /* cancellation in the closed form */
            continue;
        struct privacy_interval got = both_directions(1.0, s, n, delta, QUICK);
        cr_assert_leq(got.lower, got.upper);
        if (got.upper == 0.0) {
            cr_assert_leq(gaussian_delta(mu, 0.0), delta * (1.0 + 1e-9));
            continue;
        }
        double at_upper = gaussian_delta(mu, got.upper);
        cr_assert_leq(at_upper, delta * (1.0 + 1e-9), "s %g n %lu", s, (unsigned long)n);
        if (got.lower > 0.0)
            cr_assert_geq(gaussian_delta(mu, got.lower), delta * (1.0 - 1e-9));
        cr_assert_leq(got.upper - got.lower, 0.02 * got.upper, "s %g n %lu", s, (unsigned long)n);
    }
    noise_source_free(noise);
}

Test(pld, different_grids_never_contradict_each_other, .timeout = 600)
{
    struct noise_source *noise = golden_noise(41);
    for (int i = 0; i < 12; i++) {
        double q = exp(-6.0 * noise_uniform(noise));
        double s = exp(3.0 * noise_uniform(noise) - 0.4);
        uint64_t n = (uint64_t)exp(9.0 * noise_uniform(noise));
        double delta = pow(10.0, -3.0 - 5.0 * noise_uniform(noise));
        struct pld_effort middle = {.relative_gap = 1e-3, .max_log2_size = 18};
        struct privacy_interval a = both_directions(q, s, n, delta, QUICK);
        struct privacy_interval b = both_directions(q, s, n, delta, middle);
        cr_assert(a.lower <= b.upper && b.lower <= a.upper, "q %g s %g n %lu delta %g", q, s,
                  (unsigned long)n, delta);
    }
    noise_source_free(noise);
}

Test(pld, more_steps_less_noise_and_smaller_delta_cost_more, .timeout = 600)
{
    struct noise_source *noise = golden_noise(42);
    for (int i = 0; i < 10; i++) {
        double q = exp(-4.0 * noise_uniform(noise));
        double s = exp(2.5 * noise_uniform(noise));
        uint64_t n = 2 + (uint64_t)exp(7.0 * noise_uniform(noise));
        double delta = pow(10.0, -4.0 - 4.0 * noise_uniform(noise));
        struct privacy_interval base = both_directions(q, s, n, delta, QUICK);
        cr_assert_leq(base.lower, both_directions(q, s, n + n / 2, delta, QUICK).upper);
        cr_assert_leq(base.lower, both_directions(q, 0.8 * s, n, delta, QUICK).upper);
        cr_assert_leq(base.lower, both_directions(q, s, n, 0.1 * delta, QUICK).upper);
        cr_assert_leq(both_directions(q, 1.5 * s, n, delta, QUICK).upper, base.upper);
        cr_assert_leq(both_directions(0.6 * q, s, n, delta, QUICK).upper, base.upper);
    }
    noise_source_free(noise);
}

/* Randomised response with parameter *(double *)parameters: two outcomes. */
static bool two_points(const void *parameters, double omit, const struct pld_grid *grid,
                       struct pld_outcomes *out)
{
    double e = *(const double *)parameters;
    (void)grid, (void)omit;
    *out = (struct pld_outcomes){0};
    return pld_outcomes_add_atom(out, -e, 1.0 / (1.0 + exp(e))) &&
           pld_outcomes_add_atom(out, e, 1.0 / (1.0 + exp(-e)));
}

/* Kairouz, Oh, Viswanath 2015, Theorem 3.3, with pure mechanisms. */
static double optimal_composition_delta(double e0, int k, double epsilon)
{
    double sum = 0;
    for (int j = 0; j <= k; j++) {
        if ((2 * j - k) * e0 <= epsilon)
            continue;
        double choose = lgamma(k + 1.0) - lgamma(j + 1.0) - lgamma(k - j + 1.0);
        sum += exp(choose + j * e0 - k * log1p(exp(e0))) -
               exp(choose + epsilon + (k - j) * e0 - k * log1p(exp(e0)));
    }
    return sum;
}

Test(pld, another_mechanism_joins)
{
    static const struct {
        double e0;
        int times;
        double delta;
    } cases[] = {{0.1, 25, 1e-4}, {0.24, 25, 1.5e-4}, {0.09, 100, 1.35e-4}, {0.5, 8, 1e-2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct privacy_interval got;
        cr_assert(certify(two_points, &cases[i].e0, (uint64_t)cases[i].times, cases[i].e0,
                          cases[i].delta, &CLOSE, &got));
        double above = optimal_composition_delta(cases[i].e0, cases[i].times, got.upper);
        double below = optimal_composition_delta(cases[i].e0, cases[i].times, got.lower * 0.999999);
        cr_expect_leq(above, cases[i].delta * (1.0 + 1e-9), "e0 %g", cases[i].e0);
        cr_expect_geq(below, cases[i].delta * (1.0 - 1e-9), "e0 %g", cases[i].e0);
        cr_expect_leq(got.upper, got.lower * 1.0001, "[%g %g]", got.lower, got.upper);
    }
}

Test(pld, a_delta_below_the_rarest_outcome_still_gets_a_bound)
{
    /* All eight answers agree with probability 0.0225: epsilon is just below 8 * 0.5. */
    double e0 = 0.5;
    struct privacy_interval got;
    cr_assert(certify(two_points, &e0, 8, e0, 1e-5, &QUICK, &got));
    cr_assert_leq(optimal_composition_delta(e0, 8, got.upper), 1e-5);
    cr_assert_leq(got.upper, 4.1);
    cr_assert_leq(got.lower, 4.0);
}

/* delta(epsilon) of one step, from the normal law: the test z > z0, or z < z0 for adding. */
static double one_step_delta(double q, double s, bool add, double epsilon)
{
    double e = exp(epsilon);
    if (!add) {
        double z0 = s * log1p(expm1(epsilon) / q) + 0.5 / s;
        return q * golden_normal_cdf(1.0 / s - z0) + (1.0 - q - e) * golden_normal_cdf(-z0);
    }
    if (expm1(-epsilon) / q <= -1.0)
        return 0.0;
    double z0 = s * log1p(expm1(-epsilon) / q) + 0.5 / s;
    return (1.0 - e * (1.0 - q)) * golden_normal_cdf(z0) - e * q * golden_normal_cdf(z0 - 1.0 / s);
}

Test(pld, one_step_in_each_direction)
{
    struct noise_source *noise = golden_noise(44);
    for (int i = 0; i < 40; i++) {
        struct subsampled_gaussian g = {.sampling_rate = 0.05 + 0.9 * noise_uniform(noise),
                                        .noise_multiplier = 0.5 + 2.0 * noise_uniform(noise),
                                        .add = i & 1};
        double q = g.sampling_rate, s = g.noise_multiplier;
        double epsilon = (g.add ? -0.8 * log1p(-q) : 2.0) * noise_uniform(noise);
        double delta = one_step_delta(q, s, g.add, epsilon);
        if (!(delta > 1e-9))
            continue;
        struct privacy_interval got;
        cr_assert(certify(subsampled_gaussian_outcomes, &g, 1, 0.0, delta, &CLOSE, &got));
        cr_expect(got.lower <= epsilon * (1.0 + 1e-9) && epsilon <= got.upper * (1.0 + 1e-9),
                  "q %g s %g add %d: %.9g outside of [%.9g %.9g]", q, s, g.add, epsilon, got.lower,
                  got.upper);
        cr_expect_leq(got.upper - got.lower, 2e-4 * epsilon + 1e-9);
    }
    noise_source_free(noise);
}

/* Randomised response that with probability 0.001 tells everything. */
static bool leaky_points(const void *parameters, double omit, const struct pld_grid *grid,
                         struct pld_outcomes *out)
{
    if (!two_points(parameters, omit, grid, out))
        return false;
    out->outcome[0].mass *= 0.999;
    out->outcome[1].mass *= 0.999;
    out->infinite_mass = 0.001;
    return true;
}

Test(pld, infinite_losses_are_paid_in_delta)
{
    double e0 = 0.2;
    int times = 10;
    struct privacy_interval got;
    double leak = -expm1(times * log1p(-0.001));
    cr_assert(certify(leaky_points, &e0, (uint64_t)times, e0, 0.999 * leak, &QUICK, &got));
    cr_assert(isinf(got.upper) && isinf(got.lower), "no epsilon covers what is told outright");
    double delta = leak + 1e-3;
    cr_assert(certify(leaky_points, &e0, (uint64_t)times, e0, delta, &QUICK, &got));
    double rest = optimal_composition_delta(e0, times, got.upper);
    cr_assert_leq(leak + (1.0 - leak) * rest, delta * (1.0 + 1e-9));
    cr_assert(got.upper > 0.0 && got.upper <= times * e0 * 1.01);
}

Test(pld, a_small_window_still_says_something)
{
    double e0 = 700.0; /* sixteen thousand nats, four thousand places */
    struct pld_part part = {two_points, &e0, 11, 0.0};
    static const struct pld_effort small = {.relative_gap = 1e-6, .max_log2_size = 12};
    struct privacy_interval got;
    cr_assert_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &small, &got), PLD_OK);
    cr_assert(got.upper >= 11.0 * e0 + log1p(-1e-5) && got.upper <= 11.5 * e0, "%g", got.upper);
    cr_assert_leq(got.lower, 11.0 * e0);
}

/* Work is counted, so that it ends at the same place everywhere; what it does not reach is the same
 * as without an end. */
Test(pld, work_has_an_end)
{
    struct subsampled_gaussian g = {.sampling_rate = 1e-2, .noise_multiplier = 1.0};
    const struct pld_part part = {subsampled_gaussian_outcomes, &g, 1000, 0.0};
    struct pld_effort effort = {.relative_gap = 2e-4, .max_log2_size = 20};
    struct privacy_interval free = {0, 0}, ample = {0, 0}, none = {7, 7};
    cr_assert_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &effort, &free), PLD_OK);
    struct work much = {1e12}, again = {1e12};
    effort.work = &much;
    cr_assert_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &effort, &ample), PLD_OK);
    cr_expect(ample.lower == free.lower && ample.upper == free.upper);
    double steps = 1e12 - much.left;
    effort.work = &again;
    cr_assert_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &effort, &ample), PLD_OK);
    cr_expect_eq(1e12 - again.left, steps, "the same question takes the same steps");
    struct work exact = {steps + 0.1}, little = {1000};
    effort.work = &exact;
    cr_assert_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &effort, &ample), PLD_OK);
    cr_expect_lt(exact.left, 1);
    effort.work = &little;
    cr_expect_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &effort, &none), PLD_TOO_MUCH_WORK);
    cr_expect(little.left == 0 && none.upper == 7, "nothing is said");
}

/* An end that comes after a first bound leaves that bound, which holds. */
Test(pld, work_that_ends_leaves_what_is_known)
{
    struct subsampled_gaussian g = {.sampling_rate = 1e-2, .noise_multiplier = 1.0};
    const struct pld_part part = {subsampled_gaussian_outcomes, &g, 1000, 0.0};
    struct privacy_interval fine, some;
    const struct pld_effort close = {.relative_gap = 2e-4, .max_log2_size = 20};
    cr_assert_eq(pld_certify(&part, 1, PLD_EPSILON, 1e-5, &close, &fine), PLD_OK);
    for (double steps = 1e4; steps < 1e9; steps *= 3) {
        struct work work = {steps};
        const struct pld_effort effort = {.relative_gap = 2e-4, .max_log2_size = 20, .work = &work};
        if (pld_certify(&part, 1, PLD_EPSILON, 1e-5, &effort, &some) != PLD_OK)
            continue;
        cr_expect(some.upper >= fine.lower && some.lower <= fine.upper, "%g: [%g, %g]", steps,
                  some.lower, some.upper);
        cr_expect(isfinite(some.upper));
    }
}

Test(pld, discretisations_keep_their_masses)
{
    struct subsampled_gaussian g = {.sampling_rate = 0.1, .noise_multiplier = 1.0};
    for (int add = 0; add < 2; add++) {
        struct pld_outcomes coarse = {0}, fine = {0};
        struct pld_grid grid = {0};
        struct pld upper = {0}, lower = {0};
        g.add = add;
        cr_assert(subsampled_gaussian_outcomes(&g, 1e-30, NULL, &coarse));
        cr_assert_eq(pld_grid_new(&coarse, 3.0, 1e-3, &grid), PLD_OK);
        cr_assert(subsampled_gaussian_outcomes(&g, 1e-30, &grid, &fine));
        cr_assert(pld_pessimistic(&fine, &grid, &upper));
        cr_assert(pld_optimistic(&fine, &grid, &lower));
        double p = 0, q = 0, p_low = 0, q_low = 0, outcomes_p = 0, outcomes_q = 0;
        for (size_t i = 0; i < fine.count; i++) {
            cr_assert(i == 0 || fine.outcome[i].loss >= fine.outcome[i - 1].loss);
            outcomes_p += fine.outcome[i].mass;
            outcomes_q += fine.outcome[i].mass * exp(-fine.outcome[i].loss);
        }
        for (size_t i = 0; i < upper.count; i++) {
            double loss = (double)upper.place[i] * upper.step;
            p += upper.mass[i];
            q += upper.mass[i] * exp(-loss);
            p_low += lower.mass[i];
            q_low += lower.mass[i] * exp(-loss);
        }
        cr_expect_float_eq(outcomes_p, 1.0, 1e-13);
        cr_expect_float_eq(outcomes_q, 1.0, 1e-13);
        cr_expect_float_eq(p, 1.0, 1e-12);
        cr_expect_float_eq(q, 1.0, 1e-12);
        cr_expect(p_low <= 1.0 + 1e-13 && p_low > 1.0 - 1e-9, "%.17g", p_low);
        cr_expect(q_low <= 1.0 + 1e-13 && q_low > 1.0 - 1e-9, "%.17g", q_low);
        pld_outcomes_clear(&coarse);
        pld_outcomes_clear(&fine);
        pld_grid_clear(&grid);
        pld_clear(&upper);
        pld_clear(&lower);
    }
}

Test(pld, fft_is_the_transform)
{
    enum { N = 128 };
    double in[2 * N], out[2 * N], total = 0, worst = 0;
    struct noise_source *noise = golden_noise(43);
    for (int i = 0; i < 2 * N; i++)
        in[i] = noise_uniform(noise) - 0.3;
    for (int i = 0; i < N; i++)
        total += hypot(in[2 * i], in[2 * i + 1]);
    struct fft *fft = fft_new(N);
    cr_assert_not_null(fft);
    fft_forward(fft, in, out);
    for (int k = 0; k < N; k++) {
        long double re = 0, im = 0;
        for (int j = 0; j < N; j++) {
            long double angle = -2.0L * 3.14159265358979323846264L * ((j * k) % N) / N;
            re += in[2 * j] * cosl(angle) - in[2 * j + 1] * sinl(angle);
            im += in[2 * j] * sinl(angle) + in[2 * j + 1] * cosl(angle);
        }
        worst = fmax(worst, hypot(out[2 * k] - (double)re, out[2 * k + 1] - (double)im));
    }
    cr_assert_leq(worst, fft_relative_error(N) * total);
    fft_free(fft);
    fft_free(NULL);
    noise_source_free(noise);
}
