/* The harness itself, on mechanisms whose answer is known beforehand. */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/statistical/audit.h"
#include "tests/statistical/profile.h"

enum { SAMPLES = 4000 };

static double tells_all(const void *mechanism, bool with, struct noise_source *noise)
{
    (void)mechanism;
    (void)noise;
    return with;
}

static double tells_nothing(const void *mechanism, bool with, struct noise_source *noise)
{
    (void)mechanism;
    (void)with;
    return noise_uniform(noise);
}

/* Opposite answers in SAMPLES of SAMPLES draws: each rate is within TAIL^(1/n) of certain. */
static double most_that_can_be_shown(double samples, double delta)
{
    double certain = pow(AUDIT_FALSE_ALARM / AUDIT_COUNT / 2.0, 1.0 / samples);
    return log((certain - delta) / (1.0 - certain));
}

Test(audit, certainty_is_bounded_by_the_number_of_draws)
{
    struct audit audit = {.name = AUDIT_RESPONSE, .samples = SAMPLES, .statistic = tells_all};
    for (int i = 0; i < 2; i++) {
        audit.delta = i ? 0.25 : 0.0;
        double shown = audit_lower_bound(&audit, NULL);
        double most = most_that_can_be_shown(SAMPLES, audit.delta);
        if (shown < most * (1.0 - 1e-6)) /* under sanitizers */
            most = most_that_can_be_shown(SAMPLES / 8.0, audit.delta);
        cr_expect_float_eq(shown, most, 1e-6 * most);
    }
}

/* Every audit's keys; a false alarm of any has probability AUDIT_FALSE_ALARM. */
Test(audit, equal_worlds_show_nothing)
{
    struct audit audit = {.samples = SAMPLES, .delta = 1e-3, .statistic = tells_nothing};
    for (audit.name = 0; audit.name < AUDIT_COUNT; audit.name++) {
        audit.claim = audit.name % 2 ? AUDIT_PAIR : AUDIT_GAUSSIAN_DP;
        cr_expect_eq(audit_lower_bound(&audit, NULL), 0.0);
    }
}

/* An event at exactly the rates of a claim's own worst case refutes more noise than was claimed and
 * not less: one Gaussian release of deviation 2, cut in the middle. */
Test(audit, a_profile_is_worth_its_own_noise)
{
    const struct mechanism one = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, 2.0}};
    double p = 0.5 * erfc(-0.25 / sqrt(2.0)), claimed = profile_price(&one, 1, 1e-3);
    double shown = profile_shown(&one, 1, 1e-3, p, 1.0 - p);
    cr_assert_leq(shown, claimed);
    cr_assert_geq(shown, 0.9 * claimed);
    double less = profile_shown(&one, 1, 1e-3, p - 0.02, 1.0 - p);
    cr_assert(less > 0.0 && less < shown);
}
