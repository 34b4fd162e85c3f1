/* One-run audits of the real trainer: every algorithm of the table that learns from a dataset by
 * DP-SGD, with a thousand canaries in each training (algos/offline/one_run_audit.h). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/nn/per_example.h"
#include "algos/offline/one_run_audit.h"
#include "algos/online/play_audit.h"
#include "tests/statistical/audit.h"

enum { CANARIES = 1000, FEW_RUNS = 4, SOUND_RUNS = 16, MOST_RUNS = 24 };

/* ---- a clip without the biases, in place of the trainer's (tests.mk, --wrap) */

static bool forgets_biases;

void whole_squared_norm(const struct batch *batch, uint32_t rows, uint32_t group,
                        double *squared_norm) __asm__("__real_per_example_group_squared_norm");
void asked_squared_norm(const struct batch *batch, uint32_t rows, uint32_t group,
                        double *squared_norm) __asm__("__wrap_per_example_group_squared_norm");

static double squared_length(const float *v, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++)
        sum += (double)v[i] * (double)v[i];
    return sum;
}

void asked_squared_norm(const struct batch *batch, uint32_t rows, uint32_t group,
                        double *squared_norm)
{
    whole_squared_norm(batch, rows, group, squared_norm);
    cr_assert(group == 1 || !forgets_biases);
    for (uint32_t l = 0; forgets_biases && l < batch->shape.layer_count; l++) {
        uint32_t width = batch->shape.width[l];
        for (uint32_t i = 0; i < rows; i++)
            squared_norm[i] -= squared_length(batch->error[l] + (size_t)i * width, width);
    }
    for (uint32_t i = 0; forgets_biases && i < rows; i++)
        squared_norm[i] = fmax(squared_norm[i], 0.0);
}

/* ---- audits */

static bool is_audited(const struct algorithm *algorithm)
{
    return algorithm->kind == ALGORITHM_LEARNS_FROM_DATA && algorithm->mechanisms[MECHANISM_DPSGD];
}

/* One step of everybody, or twenty of every fourth. */
static struct one_run_settings settings_of(const struct algorithm *algorithm,
                                           enum one_run_canary canary, bool exact, bool sampled)
{
    return (struct one_run_settings){.algorithm = algorithm,
                                     .canary = canary,
                                     .exact = exact,
                                     .canaries = CANARIES,
                                     .batch_size = sampled ? CANARIES / 4 : CANARIES,
                                     .steps = sampled ? 20 : 1,
                                     .noise_multiplier = 2.0,
                                     .delta = 1e-5,
                                     .seed = 1};
}

/* The p-value of the claim. */
static double one_run_audit(const struct one_run_settings *settings,
                            enum membership_sabotage sabotage, uint32_t runs, const char *what)
{
    const uint8_t key[32] = {'o', (uint8_t)settings->canary, settings->exact, (uint8_t)sabotage,
                             (uint8_t)settings->steps};
    struct noise_source *noise = noise_source_new_injected(key);
    struct one_run_guesses seen[MOST_RUNS];
    struct one_run_attack *attack = NULL;
    struct one_run_claim claim;
    const char *message = "";
    struct rng coins;
    rng_seed(&coins, 1, 0);
    cr_assert_not_null(noise);
    cr_assert_eq(one_run_attack_new(settings, &attack, &message), ALGORITHM_OK, "%s", message);
    for (uint32_t i = 0; i < runs; i++)
        cr_assert_eq(one_run_attack_run(attack, sabotage, &coins, NULL, noise, &seen[i]),
                     ALGORITHM_OK);
    const struct dp_sgd_plan *plan = one_run_attack_claim(attack);
    cr_assert(one_run_claim_of(plan, &claim));
    double p = one_run_p_value_of_all(&claim, seen, runs);
    double shown = one_run_shown(plan, seen, runs, AUDIT_FALSE_ALARM);
    printf("one run: %-18s %-6s %-5s delta %g claimed %6.3f shown %6.3f p %7.1e  %u runs  %s\n",
           settings->algorithm->name, settings->canary == ONE_RUN_BIASES ? "biases" : "inputs",
           settings->exact ? "exact" : "float", plan->delta, plan->epsilon, shown, p, runs, what);
    one_run_attack_free(attack);
    noise_source_free(noise);
    return p;
}

Test(one_run, every_algorithm_stays_under_its_claim)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < 4 * count; i++) {
        const struct algorithm *algorithm = all[i / 4];
        if (!is_audited(algorithm))
            continue;
        const struct one_run_settings settings =
            settings_of(algorithm, (enum one_run_canary)(i & 1), i & 2, i & 1);
        double p = one_run_audit(&settings, MEMBERSHIP_SOUND,
                                 SOUND_RUNS / (audit_is_sanitized() ? 8 : 1), "as claimed");
        cr_expect_gt(p, AUDIT_ONE_RUN_LEVEL, "%s: p-value %g", algorithm->name, p);
    }
}

Test(one_run, finds_half_the_noise_and_a_clip_twice_as_wide)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < 2 * count && !audit_is_sanitized(); i++) {
        const struct algorithm *algorithm = all[i / 2];
        bool wide = i & 1;
        if (!is_audited(algorithm))
            continue;
        const struct one_run_settings settings =
            settings_of(algorithm, wide ? ONE_RUN_INPUTS : ONE_RUN_BIASES, false, false);
        double p = wide ? one_run_audit(&settings, MEMBERSHIP_DOUBLE_CLIP, 24, "wide clip")
                        : one_run_audit(&settings, MEMBERSHIP_HALF_NOISE, 12, "half noise");
        cr_expect_leq(p, AUDIT_FALSE_ALARM, "%s: p-value %g", algorithm->name, p);
    }
}

Test(one_run, finds_biases_that_the_clip_forgot)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    forgets_biases = true;
    for (unsigned i = 0; i < count && !audit_is_sanitized(); i++) {
        if (!is_audited(all[i]))
            continue;
        const struct one_run_settings settings = settings_of(all[i], ONE_RUN_BIASES, false, false);
        double p = one_run_audit(&settings, MEMBERSHIP_SOUND, FEW_RUNS, "biases forgotten");
        cr_expect_leq(p, AUDIT_FALSE_ALARM, "%s: p-value %g", all[i]->name, p);
    }
    forgets_biases = false;
}

/* Who adds an algorithm with a mechanism finds here that it is not audited. */
Test(one_run, every_private_algorithm_is_audited_or_says_why_not)
{
    static const struct {
        const char *name, *why;
    } others[] = {
        {"ppo", "observations alone are protected, each by noise of its own"},
        {"pgc_a3c", "every report is a release of its own: local_test"},
        {"gp_q_learning", "one Gaussian release of a public class: path_test, answers_test"},
        {"feature_ranges", "two Gaussian releases of sums: ranges_test"},
        {"kickstart", "learns from answers that are charged: answers_test"},
    };
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++) {
        bool known = is_audited(all[i]), private = false;
        for (int way = 0; way < PLAY_AUDIT_WAYS; way++) /* play_test.c */
            known = known || strcmp(all[i]->name, play_audit_algorithm(way)) == 0;
        for (int m = MECHANISM_NONE + 1; m < MECHANISM_COUNT; m++)
        private = private || all[i]->mechanisms[m];
        for (size_t o = 0; o < sizeof others / sizeof others[0]; o++)
            known = known || strcmp(all[i]->name, others[o].name) == 0;
        cr_expect(!private || known, "%s: no audit", all[i]->name);
    }
}

/* ---- the bound itself */

/* Certainty about all of R pure guesses costs ln(a / (1 - a)), a^R = level: randomised response. */
Test(one_run, pure_claims_are_bounded_by_randomised_response)
{
    const struct one_run_claim claim = {.epsilon = {1.0}, .delta = {0.0}, .count = 1};
    const double accuracy = 1.0 / (1.0 + exp(-1.0));
    for (uint32_t guesses = 1; guesses <= 64; guesses *= 4) {
        const struct one_run_guesses seen = {64, guesses, guesses};
        double p = one_run_p_value(&claim, &seen), least = pow(accuracy, guesses);
        cr_expect(p >= least * 0.999 && p <= least * 1.01, "%u: %g, %g", guesses, p, least);
    }
    const struct one_run_guesses none = {64, 64, 32};
    cr_expect_eq(one_run_p_value(&claim, &none), 1.0);
}

/* Whoever answers truly with probability DELTA to all, and else at random, is (0, DELTA)-private:
 * all right has the probability delta + 2^-R. */
Test(one_run, a_claim_that_may_fail_altogether_is_allowed_to)
{
    for (double delta = 1e-4; delta < 0.1; delta *= 10.0) {
        const struct one_run_claim claim = {.epsilon = {0.0}, .delta = {delta}, .count = 1};
        const struct one_run_guesses seen = {100, 100, 100};
        cr_expect_geq(one_run_p_value(&claim, &seen), delta);
    }
}

Test(one_run, runs_are_combined_like_uniform_numbers)
{
    const struct one_run_claim claim = {.epsilon = {0.0}, .delta = {0.0}, .count = 1};
    const struct one_run_guesses seen[2] = {{10, 10, 10}, {10, 10, 10}};
    double p = one_run_p_value(&claim, seen);
    cr_expect_float_eq(one_run_p_value_of_all(&claim, seen, 2) / (p * p * (1.0 - 2.0 * log(p))),
                       1.0, 1e-9);
}

/* The product of their p-values is too small for a double. */
Test(one_run, hundreds_of_runs_are_no_weaker_than_one)
{
    enum { RUNS = 1000 };
    static struct one_run_guesses seen[RUNS];
    const struct one_run_claim claim = {.epsilon = {0.0}, .delta = {0.0}, .count = 1};
    for (int i = 0; i < RUNS; i++)
        seen[i] = (struct one_run_guesses){10, 10, 10};
    double one = one_run_p_value_of_all(&claim, seen, 1);
    cr_expect(one > 0.0 && one < 0.002);
    cr_expect_lt(one_run_p_value_of_all(&claim, seen, 100), 1e-100);
    cr_expect_lt(one_run_p_value_of_all(&claim, seen, RUNS), 1e-100);
}
