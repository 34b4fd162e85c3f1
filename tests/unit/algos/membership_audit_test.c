/* The audit's own arithmetic on counts whose answer is known, and that it judges each algorithm
 * rightly: under the claim as it is, over it when clip or noise are broken. */
#include "algos/offline/membership_audit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/catalogue/algorithms.h"
#include "algos/privacy/noise/noise_source.h"

static struct membership_settings settings_of(const char *algorithm)
{
    return (struct membership_settings){.algorithm = algorithm_find(algorithm),
                                        .experts = 2,
                                        .steps = 2,
                                        .noise_multiplier = 1.0,
                                        .delta = 1e-2,
                                        .seed = 3};
}

/* All of N against none of N: the rates are within tail^(1/n) of certain. */
Test(membership_audit, certainty_is_bounded_by_the_number_of_runs)
{
    enum { COUNT = 2000 };
    static double with[COUNT], without[COUNT];
    for (int flipped = 0; flipped < 2; flipped++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            with[i] = flipped ? -1.0 : 1.0;
            without[i] = 0.0;
        }
        struct membership_finding found = membership_lower_bound(with, without, COUNT, 0.01, 1e-6);
        double certain = pow(0.5e-6, 1.0 / (COUNT / 2.0));
        cr_assert_eq(found.counted, COUNT / 2);
        cr_assert_float_eq(found.epsilon, log((certain - 0.01) / (1.0 - certain)), 1e-6);
    }
}

Test(membership_audit, equal_worlds_and_few_runs_show_nothing)
{
    enum { COUNT = 4000 };
    static double with[COUNT], without[COUNT];
    struct rng rng;
    rng_seed(&rng, 8, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        with[i] = rng_normal(&rng);
        without[i] = rng_normal(&rng);
    }
    cr_assert_eq(membership_lower_bound(with, without, COUNT, 1e-3, 1e-6).epsilon, 0.0);
    double one[] = {1.0, 1.0}, other[] = {0.0, 0.0};
    cr_assert_eq(membership_lower_bound(one, other, 1, 0.0, 1e-6).epsilon, 0.0);
    cr_assert_eq(membership_lower_bound(one, other, 2, 0.0, 1e-6).epsilon, 0.0);
}

static struct membership_finding judge(const struct membership_attack *attack,
                                       enum membership_sabotage sabotage, uint32_t runs)
{
    const uint8_t key[32] = {(uint8_t)(7 + sabotage)};
    struct noise_source *noise = noise_source_new_injected(key);
    double *scores[2] = {calloc(runs, sizeof(double)), calloc(runs, sizeof(double))};
    cr_assert(noise && scores[0] && scores[1]);
    for (int with = 0; with < 2; with++) {
        for (uint32_t i = 0; i < runs; i++)
            cr_assert_eq(
                membership_attack_run(attack, sabotage, with != 0, noise, &scores[with][i]),
                ALGORITHM_OK);
    }
    struct membership_finding found = membership_lower_bound(
        scores[1], scores[0], runs, membership_attack_claim(attack)->delta, 1e-6);
    noise_source_free(noise);
    free(scores[0]);
    free(scores[1]);
    return found;
}

/* The keys are fixed; with others a sound trainer would fail once in a million times. */
Test(membership_audit, finds_a_broken_clip_and_only_that)
{
    static const char *const names[] = {"cql", "bcq", "behaviour_cloning"};
    for (int i = 0; i < 3; i++) {
        const struct membership_settings settings = settings_of(names[i]);
        struct membership_attack *attack = NULL;
        const char *message = "";
        cr_assert_eq(membership_attack_new(&settings, &attack, &message), ALGORITHM_OK);
        double claimed = membership_attack_claim(attack)->epsilon;
        cr_assert(claimed > 2.0 && claimed < 2.2);
        cr_expect_leq(judge(attack, MEMBERSHIP_SOUND, 1000).epsilon, claimed, "%s", names[i]);
        cr_expect_gt(judge(attack, MEMBERSHIP_NO_CLIP, 1000).epsilon, claimed, "%s", names[i]);
        membership_attack_free(attack);
    }
}

Test(membership_audit, settings_out_of_range_are_refused)
{
    struct membership_attack *attack = NULL;
    const char *message = "";
    struct membership_settings settings = settings_of("cql");
    settings.experts = 0;
    cr_assert_eq(membership_attack_new(&settings, &attack, &message), ALGORITHM_BAD_INPUT);
    settings = settings_of("cql");
    settings.steps = 1001;
    cr_assert_eq(membership_attack_new(&settings, &attack, &message), ALGORITHM_BAD_INPUT);
    settings = settings_of("cql");
    settings.noise_multiplier = 1e-3;
    cr_assert_neq(membership_attack_new(&settings, &attack, &message), ALGORITHM_OK);
    cr_assert_null(attack);
    membership_attack_free(NULL);
}
