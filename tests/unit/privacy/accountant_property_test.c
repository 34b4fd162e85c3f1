/* What must hold of the charged accountant at any parameters: random ones, from fixed seeds. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "tests/unit/privacy/golden.h"

static double uniform(struct noise_source *noise, double low, double high)
{
    return low + (high - low) * noise_uniform(noise);
}

/* A mechanism of any kind that the accountant knows, not too cheap and not too dear. */
static struct mechanism random_mechanism(struct noise_source *noise)
{
    struct mechanism m = {.kind = (enum mechanism_kind)noise_below(noise, 4)};
    switch (m.kind) {
    case MECHANISM_SUBSAMPLED_GAUSSIAN:
        m.gaussian.sampling_rate = noise_below(noise, 3) ? exp(uniform(noise, -6.0, 0.0)) : 1.0;
        m.gaussian.noise_multiplier = exp(uniform(noise, 0.0, 3.0));
        return m;
    case MECHANISM_LAPLACE: m.laplace.noise_multiplier = exp(uniform(noise, 0.0, 4.0)); return m;
    case MECHANISM_RANDOMIZED_RESPONSE:
        m.response.noise_parameter = uniform(noise, 0.5, 0.99);
        m.response.buckets = 2 + (uint32_t)noise_below(noise, 5);
        return m;
    default:
        m.pair.epsilon = exp(uniform(noise, -4.0, 0.0));
        m.pair.delta = noise_below(noise, 2) ? 0.0 : exp(uniform(noise, -30.0, -20.0));
        return m;
    }
}

static void add(struct composition *composition, struct mechanism mechanism, uint64_t times)
{
    cr_assert_eq(composition_add(composition, &mechanism, times), COMPOSITION_OK);
}

static struct privacy_interval epsilon_of(const struct composition *composition, double delta)
{
    struct privacy_interval out = {NAN, NAN};
    cr_assert_eq(accountant_epsilon(&accountant_pld, composition, delta, &out), ACCOUNTANT_OK);
    cr_assert(out.lower >= 0.0 && out.lower <= out.upper, "[%g %g]", out.lower, out.upper);
    return out;
}

static struct privacy_interval epsilon_of_one(struct mechanism mechanism, uint64_t times,
                                              double delta)
{
    struct composition composition = {0};
    add(&composition, mechanism, times);
    struct privacy_interval out = epsilon_of(&composition, delta);
    composition_clear(&composition);
    return out;
}

static struct privacy_interval delta_of(const struct composition *composition, double epsilon)
{
    struct privacy_interval out = {NAN, NAN};
    cr_assert_eq(accountant_delta(&accountant_pld, composition, epsilon, &out), ACCOUNTANT_OK);
    cr_assert(out.lower >= 0.0 && out.lower <= out.upper && out.upper <= 1.0, "[%g %g]", out.lower,
              out.upper);
    return out;
}

/* Both intervals are true, so the cheaper one's lower end is not above the dearer one's upper;
 * beyond that, what is charged should not fall but within the intervals' own width. */
static void expect_dearer(struct privacy_interval cheap, struct privacy_interval dear,
                          const char *what, int row)
{
    cr_expect_leq(cheap.lower, dear.upper, "%s, row %d", what, row);
    cr_expect_leq(cheap.upper, dear.upper * (1.0 + 1e-3) + 1e-12, "%s, row %d: %.9g, then %.9g",
                  what, row, cheap.upper, dear.upper);
}

Test(accountant_property, less_noise_more_steps_higher_rate_and_smaller_delta_cost_more,
     .timeout = 600)
{
    struct noise_source *noise = golden_noise(140);
    for (int i = 0; i < 25; i++) {
        double rate = exp(uniform(noise, -6.0, -0.3)), s = exp(uniform(noise, -0.4, 3.0));
        uint64_t times = 1 + (uint64_t)exp(uniform(noise, 0.0, 10.0));
        double delta = pow(10.0, uniform(noise, -9.0, -2.0)), factor = uniform(noise, 1.02, 2.0);
        struct mechanism m = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {rate, s}};
        struct privacy_interval base = epsilon_of_one(m, times, delta);
        expect_dearer(base, epsilon_of_one(m, times + 1 + times / 3, delta), "steps", i);
        expect_dearer(base, epsilon_of_one(m, times, delta / factor), "delta", i);
        m.gaussian.noise_multiplier = s / factor;
        expect_dearer(base, epsilon_of_one(m, times, delta), "noise", i);
        m.gaussian.noise_multiplier = s;
        m.gaussian.sampling_rate = fmin(1.0, rate * factor);
        expect_dearer(base, epsilon_of_one(m, times, delta), "rate", i);
    }
    noise_source_free(noise);
}

Test(accountant_property, any_mechanism_is_dearer_more_often, .timeout = 600)
{
    struct noise_source *noise = golden_noise(141);
    for (int i = 0; i < 40; i++) {
        struct mechanism m = random_mechanism(noise);
        uint64_t times = 1 + noise_below(noise, 60);
        double delta = pow(10.0, uniform(noise, -6.0, -2.0));
        struct composition composition = {0};
        add(&composition, m, times);
        struct privacy_interval base = epsilon_of(&composition, delta);
        struct privacy_interval at_zero = delta_of(&composition, 0.0);
        struct privacy_interval at_one = delta_of(&composition, 1.0);
        cr_expect_leq(at_one.lower, at_zero.upper, "row %d", i);
        add(&composition, m, 1 + times / 2);
        expect_dearer(base, epsilon_of(&composition, delta), "times", i);
        cr_expect_leq(at_zero.lower, delta_of(&composition, 0.0).upper, "row %d", i);
        composition_clear(&composition);
    }
    noise_source_free(noise);
}

/* Two to four parts: no part costs more than the whole, the whole no more than all parts' prices
 * with the delta shared out, and the order is nothing. */
Test(accountant_property, parts_and_wholes, .timeout = 600)
{
    struct noise_source *noise = golden_noise(142);
    for (int i = 0; i < 25; i++) {
        struct mechanism m[4];
        uint64_t times[4];
        struct composition whole = {0}, turned = {0};
        int count = 2 + (int)noise_below(noise, 3);
        double delta = pow(10.0, uniform(noise, -6.0, -3.0)), sum = 0;
        for (int k = 0; k < count; k++) {
            m[k] = random_mechanism(noise);
            times[k] = 1 + noise_below(noise, 40);
        }
        for (int k = 0; k < count; k++) {
            add(&whole, m[k], times[k]);
            add(&turned, m[count - 1 - k], times[count - 1 - k]);
        }
        struct privacy_interval all = epsilon_of(&whole, delta);
        for (int k = 0; k < count; k++) {
            expect_dearer(epsilon_of_one(m[k], times[k], delta), all, "part", i);
            sum += epsilon_of_one(m[k], times[k], delta / count).upper;
        }
        cr_expect_leq(all.lower, sum, "row %d: basic composition", i);
        struct privacy_interval back = epsilon_of(&turned, delta);
        cr_expect_float_eq(back.upper, all.upper, 1e-9 * all.upper + 1e-12, "row %d: order", i);
        cr_expect_float_eq(back.lower, all.lower, 1e-9 * all.upper + 1e-12, "row %d: order", i);
        composition_clear(&whole);
        composition_clear(&turned);
    }
    noise_source_free(noise);
}

/* The exact value, by other mathematics, lies between: epsilon, and delta there. */
Test(accountant_property, encloses_the_exact_value, .timeout = 600)
{
    struct noise_source *noise = golden_noise(143);
    int compared = 0;
    for (int i = 0; i < 30; i++) {
        struct composition whole = {0};
        int count = 1 + (int)noise_below(noise, 3);
        double delta = pow(10.0, uniform(noise, -8.0, -2.0));
        for (int k = 0; k < count; k++)
            add(&whole, random_mechanism(noise), 1 + noise_below(noise, 300));
        struct privacy_interval exact, got = epsilon_of(&whole, delta);
        if (accountant_epsilon(&accountant_exact, &whole, delta, &exact) == ACCOUNTANT_OK) {
            compared++;
            cr_expect(got.lower <= exact.upper * (1.0 + 1e-9) &&
                          exact.upper <= got.upper * (1.0 + 1e-9),
                      "row %d: [%.12g %.12g] for %.12g", i, got.lower, got.upper, exact.upper);
            cr_expect(isinf(got.upper) || got.upper - got.lower <= 1e-3 * got.upper, "row %d", i);
        }
        double at = 0.5 * (isfinite(got.upper) ? got.upper : 1.0);
        got = delta_of(&whole, at);
        if (accountant_delta(&accountant_exact, &whole, at, &exact) == ACCOUNTANT_OK)
            cr_expect(
                got.lower <= exact.upper * (1.0 + 1e-9) && exact.upper <= got.upper * (1.0 + 1e-9),
                "row %d: delta [%.12g %.12g] for %.12g", i, got.lower, got.upper, exact.upper);
        composition_clear(&whole);
    }
    cr_assert_gt(compared, 15, "%d compared", compared);
    noise_source_free(noise);
}

/* Plain Gaussians are one Gaussian: the closed form lies between. */
Test(accountant_property, agrees_with_gaussian_dp, .timeout = 600)
{
    struct noise_source *noise = golden_noise(144);
    for (int i = 0; i < 40; i++) {
        struct composition whole = {0};
        for (int k = 0; k < 3; k++) {
            struct mechanism m = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                  .gaussian = {1.0, exp(uniform(noise, 1.0, 6.0))}};
            add(&whole, m, 1 + noise_below(noise, 10));
        }
        double delta = pow(10.0, uniform(noise, -10.0, -2.0));
        struct privacy_interval closed, got = epsilon_of(&whole, delta);
        cr_assert_eq(accountant_epsilon(&accountant_gdp, &whole, delta, &closed), ACCOUNTANT_OK);
        cr_expect(got.lower <= closed.upper * (1.0 + 1e-9) &&
                      closed.lower <= got.upper * (1.0 + 1e-9),
                  "row %d: [%.12g %.12g] for [%.12g %.12g]", i, got.lower, got.upper, closed.lower,
                  closed.upper);
        composition_clear(&whole);
    }
    noise_source_free(noise);
}

Test(accountant_property, deltas_of_atoms)
{
    /* One bit told truly with probability 3/4: delta(0) = 1/2, and it falls straight to 0 at ln 3.
     */
    struct composition one = {0};
    struct mechanism m = {.kind = MECHANISM_RANDOMIZED_RESPONSE, .response = {0.5, 2}};
    add(&one, m, 1);
    for (int i = 0; i <= 20; i++) {
        double epsilon = log(3.0) * i / 16.0, want = fmax(0.0, 0.75 - 0.25 * exp(epsilon));
        struct privacy_interval got = delta_of(&one, epsilon);
        cr_expect(got.lower <= want + 1e-15 && want <= got.upper + 1e-15, "%g: [%g %g] for %g",
                  epsilon, got.lower, got.upper, want);
        cr_expect_leq(got.upper - got.lower, 1e-9);
    }
    /* With a certain release besides, delta(0) stays and delta(ln 3) is what is told outright. */
    struct mechanism told = {.kind = MECHANISM_EPSILON_DELTA, .pair = {0.0, 0.01}};
    add(&one, told, 1);
    struct privacy_interval got = delta_of(&one, log(3.0) * (1.0 + 1e-9));
    cr_expect(got.lower <= 0.01 && 0.01 <= got.upper && got.upper - got.lower < 1e-9);
    got = delta_of(&one, 0.0);
    cr_expect(got.lower <= 0.505 && 0.505 <= got.upper && got.upper - got.lower < 1e-6);
    got = epsilon_of(&one, 0.005);
    cr_expect(isinf(got.lower) && isinf(got.upper), "half of what is told does not fit");
    composition_clear(&one);
    /* Nothing but what is told outright. */
    add(&one, told, 2);
    got = delta_of(&one, 0.0);
    cr_expect(got.lower <= 0.0199 && 0.0199 <= got.upper && got.upper - got.lower < 1e-9);
    got = epsilon_of(&one, 0.02);
    cr_expect(got.lower == 0.0 && got.upper == 0.0);
    composition_clear(&one);
}

/* Laws that are nearly one loss: a strong tilt loses sight of epsilon, atoms set no step that is
 * not theirs to set. */
Test(accountant_property, losses_that_hardly_vary)
{
    struct composition plan = {0};
    struct mechanism bits = {.kind = MECHANISM_RANDOMIZED_RESPONSE, .response = {0.1185, 493608}};
    add(&plan, bits, 22);
    struct privacy_interval got = epsilon_of(&plan, 1e-45);
    cr_expect(got.upper - got.lower <= 1e-3 * got.upper, "[%g %g]", got.lower, got.upper);
    composition_clear(&plan);
    struct mechanism g = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, 13144.0}};
    bits.response.noise_parameter = 1.82e-4;
    bits.response.buckets = 535920;
    add(&plan, bits, 10);
    add(&plan, g, 3);
    got = epsilon_of(&plan, 0.84);
    cr_expect(got.upper - got.lower <= 1e-3 * got.upper, "[%g %g]", got.lower, got.upper);
    composition_clear(&plan);
}

Test(accountant_property, bad_questions_get_no_number)
{
    struct composition composition = {0};
    struct privacy_interval out = {-7.0, -7.0};
    cr_expect_eq(accountant_epsilon(&accountant_pld, &composition, 1e-5, &out), ACCOUNTANT_BAD);
    cr_expect_eq(accountant_delta(&accountant_pld, &composition, 1.0, &out), ACCOUNTANT_BAD);
    struct mechanism m = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {0.1, 1.0}};
    add(&composition, m, 10);
    static const double deltas[] = {0.0, 1.0, 1.5, -1e-5, NAN, INFINITY};
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++)
        cr_expect_eq(accountant_epsilon(&accountant_pld, &composition, deltas[i], &out),
                     ACCOUNTANT_BAD);
    static const double epsilons[] = {-1e-9, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0]; i++)
        cr_expect_eq(accountant_delta(&accountant_pld, &composition, epsilons[i], &out),
                     ACCOUNTANT_BAD);
    composition.part[0].mechanism.gaussian.noise_multiplier =
        NAN; /* behind composition_add's back */
    cr_expect_eq(accountant_epsilon(&accountant_pld, &composition, 1e-5, &out), ACCOUNTANT_BAD);
    composition.part[0].mechanism.gaussian.noise_multiplier = 1e-3;
    cr_expect_eq(accountant_epsilon(&accountant_pld, &composition, 1e-5, &out),
                 ACCOUNTANT_OUT_OF_REACH);
    composition.part[0].mechanism =
        (struct mechanism){.kind = MECHANISM_DIRICHLET, .dirichlet = {20.0, 0.1, 0.01, 4}};
    cr_expect_eq(accountant_epsilon(&accountant_pld, &composition, 1e-5, &out),
                 ACCOUNTANT_UNSUPPORTED);
    cr_expect(out.lower == -7.0 && out.upper == -7.0, "nothing is written on failure");
    composition_clear(&composition);
}
