/* One-run audits of the algorithms that play, by their own plan and train
 * (algos/online/play_audit.h). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "algos/nn/per_example_lattice.h"
#include "algos/online/canary_world.h"
#include "algos/online/play_audit.h"
#include "tests/statistical/audit.h"

enum { MANY_RUNS = 64, MOST_RUNS = 128, WEIGHTS = CANARY_WORLD_SIDE * (CANARY_WORLD_SIDE + 1) };

/* ---- a sum that keeps what was in the last, in place of reinforce's (tests.mk, --wrap) */

static bool uses_twice;
static uint32_t episodes;                   /* so far */
static int64_t last[WEIGHTS], now[WEIGHTS]; /* sums of the last update and of this */

void sum_once(const float *gradient, size_t count, double units,
              int64_t *sum) __asm__("__real_per_example_lattice_add_one");
void asked_sum(const float *gradient, size_t count, double units,
               int64_t *sum) __asm__("__wrap_per_example_lattice_add_one");

void asked_sum(const float *gradient, size_t count, double units, int64_t *sum)
{
    sum_once(gradient, count, units, sum);
    if (!uses_twice)
        return;
    cr_assert_eq(count, WEIGHTS);
    if (episodes++ % (CANARY_WORLD_USERS / 2) == 0) {
        memcpy(last, now, sizeof last);
        memset(now, 0, sizeof now);
        for (size_t i = 0; i < count; i++)
            sum[i] += last[i];
    }
    sum_once(gradient, count, units, now);
}

/* ---- audits */

static const char *const names[PLAY_AUDIT_WAYS] = {"dqn, play", "dqn, fixed", "reinforce",
                                                   "reinforce, later"};

/* Trainings of each. */
static const uint32_t enough[PLAY_AUDIT_WAYS] = {16, 64, 32, 16};

/* What the runs of an audit gave. */
struct played {
    struct dp_sgd_plan claim;
    struct one_run_guesses seen[MOST_RUNS];
    uint32_t runs;
};

static struct played play_audit(const struct play_audit_settings *settings,
                                enum membership_sabotage sabotage, uint32_t runs)
{
    const uint8_t key[32] = {'p', (uint8_t)settings->way, settings->exact, settings->sampled,
                             (uint8_t)sabotage};
    struct noise_source *noise = noise_source_new_injected(key);
    struct play_attack *attack = NULL;
    struct played played = {.runs = runs};
    const char *message = "";
    struct rng coins;
    rng_seed(&coins, 1, 0);
    cr_assert(noise && runs <= MOST_RUNS);
    cr_assert_eq(play_attack_new(settings, &attack, &message), ALGORITHM_OK, "%s", message);
    for (uint32_t i = 0; i < runs; i++)
        cr_assert_eq(play_attack_run(attack, sabotage, &coins, noise, &played.seen[i]),
                     ALGORITHM_OK);
    played.claim = *play_attack_claim(attack);
    play_attack_free(attack);
    noise_source_free(noise);
    return played;
}

/* The p-value of CLAIM; prints what the runs show. */
static double play_p_value(const struct played *played, const struct dp_sgd_plan *claim,
                           const struct play_audit_settings *settings, const char *what)
{
    struct one_run_claim curve;
    cr_assert(one_run_claim_of(claim, &curve));
    double p = one_run_p_value_of_all(&curve, played->seen, played->runs);
    printf("play: %-16s %-5s %2lu steps at %-4g  claimed %6.3f shown %6.3f p %7.1e  %u "
           "runs  %s\n",
           names[settings->way], settings->exact ? "exact" : "float", (unsigned long)claim->steps,
           claim->sampling_rate, claim->epsilon,
           one_run_shown(&played->claim, played->seen, played->runs, AUDIT_FALSE_ALARM), p,
           played->runs, what);
    return p;
}

Test(play, every_way_to_play_stays_under_its_claim)
{
    for (int i = 0; i < 3 * PLAY_AUDIT_WAYS; i++) {
        const enum play_audit_way way = (enum play_audit_way)(i / 3);
        const bool exact = i % 3 > 0, sampled = i % 3 > 1;
        if (way >= PLAY_AUDIT_REINFORCE && sampled)
            continue;
        const struct play_audit_settings settings = play_audit_usual(way, exact, sampled);
        const struct played played =
            play_audit(&settings, MEMBERSHIP_SOUND, enough[way] / (audit_is_sanitized() ? 8 : 1));
        double p = play_p_value(&played, &played.claim, &settings, "as claimed");
        cr_expect_gt(p, AUDIT_ONE_RUN_LEVEL, "%s: p-value %g", names[way], p);
    }
}

Test(play, finds_half_the_noise_and_a_clip_twice_as_wide)
{
    for (int i = 0; i < 2 * PLAY_AUDIT_REINFORCE_LATER && !audit_is_sanitized(); i++) {
        const enum play_audit_way way = (enum play_audit_way)(i / 2);
        const bool wide = i & 1;
        const struct play_audit_settings settings = play_audit_usual(way, true, false);
        const struct played played = play_audit(
            &settings, wide ? MEMBERSHIP_DOUBLE_CLIP : MEMBERSHIP_HALF_NOISE, enough[way]);
        double p =
            play_p_value(&played, &played.claim, &settings, wide ? "wide clip" : "half noise");
        cr_expect_leq(p, AUDIT_FALSE_ALARM, "%s: p-value %g", names[way], p);
    }
}

/* The same training under a plan that forgets that a user stays for a second round. */
Test(play, finds_a_plan_that_counts_half_the_steps_of_a_user)
{
    if (audit_is_sanitized())
        return;
    const struct play_audit_settings settings = play_audit_usual(PLAY_AUDIT_DQN, true, false);
    const struct played played = play_audit(&settings, MEMBERSHIP_SOUND, MANY_RUNS);
    struct dp_sgd_plan claim = played.claim;
    cr_assert_eq(claim.steps, 2);
    claim.steps = 1;
    cr_assert_eq(dp_sgd_plan_account(&claim), DP_SGD_PLAN_OK);
    double p = play_p_value(&played, &claim, &settings, "half the steps");
    cr_expect_leq(p, AUDIT_FALSE_ALARM, "p-value %g", p);
    p = play_p_value(&played, &played.claim, &settings, "as claimed");
    cr_expect_gt(p, AUDIT_ONE_RUN_LEVEL, "p-value %g", p);
}

/* An episode that enters the next update, too. */
Test(play, finds_episodes_that_are_used_twice)
{
    if (audit_is_sanitized())
        return;
    const struct play_audit_settings settings =
        play_audit_usual(PLAY_AUDIT_REINFORCE_LATER, true, false);
    uses_twice = true;
    const struct played played = play_audit(&settings, MEMBERSHIP_SOUND, MOST_RUNS);
    uses_twice = false;
    double p = play_p_value(&played, &played.claim, &settings, "used twice");
    cr_expect_leq(p, AUDIT_FALSE_ALARM, "p-value %g", p);
}

Test(play, settings_out_of_range_are_refused)
{
    static const struct {
        enum play_audit_way way;
        uint32_t rounds, steps;
        double noise;
    } wrong[] = {{PLAY_AUDIT_DQN, 0, 1, 1.0},       {PLAY_AUDIT_DQN, 3, 1, 1.0},
                 {PLAY_AUDIT_DQN, 66, 1, 1.0},      {PLAY_AUDIT_DQN, 2, 0, 1.0},
                 {PLAY_AUDIT_DQN, 2, 10001, 1.0},   {PLAY_AUDIT_DQN_FIXED, 2, 1, 1.0},
                 {PLAY_AUDIT_REINFORCE, 2, 2, 1.0}, {PLAY_AUDIT_REINFORCE, 2, 1, 1e-3}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct play_audit_settings settings = play_audit_usual(wrong[i].way, true, false);
        struct play_attack *attack = NULL;
        const char *message = "";
        settings.rounds = wrong[i].rounds;
        settings.round_steps = wrong[i].steps;
        settings.noise_multiplier = wrong[i].noise;
        cr_expect_neq(play_attack_new(&settings, &attack, &message), ALGORITHM_OK, "%zu", i);
        cr_expect_null(attack);
    }
    play_attack_free(NULL);
}
