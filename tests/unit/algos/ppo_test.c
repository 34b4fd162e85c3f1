/* PPO: its formulas by hand and by finite differences, its roll-out, and that it learns. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/online/orthogonal.h"
#include "algos/online/ppo.h"
#include "algos/online/ppo_state.h"

Test(ppo, advantages_are_those_computed_by_hand)
{
    /* Two worlds, three steps. World 0 goes on to the end; world 1 terminates at step 1 (next value
     * 0) and is truncated at step 2 (next value 4). discount 0.5, lambda 0.5. */
    const float reward[] = {1, 2, 0, 3, 2, 1};
    const float value[] = {1, 1, 2, 0, 4, 2};
    const float next_value[] = {2, 0, 4, 0, 8, 4};
    const uint8_t ended[] = {0, 0, 0, 1, 0, 1};
    float advantage[6], target[6];
    ppo_advantages(3, 2, reward, value, next_value, ended, 0.5, 0.5, advantage, target);
    /* World 0: deltas 1, 0, 2; A2 = 2, A1 = 0 + 0.25 * 2, A0 = 1 + 0.25 * 0.5. */
    cr_assert_eq(advantage[4], 2.0F);
    cr_assert_eq(advantage[2], 0.5F);
    cr_assert_eq(advantage[0], 1.125F);
    /* World 1: deltas 1, 3, 1; A2 = 1, A1 = 3 (nothing passes an end), A0 = 1 + 0.25 * 3. */
    cr_assert_eq(advantage[5], 1.0F);
    cr_assert_eq(advantage[3], 3.0F);
    cr_assert_eq(advantage[1], 1.75F);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(target[i], advantage[i] + value[i]);
}

Test(ppo, with_lambda_one_targets_are_discounted_returns)
{
    enum { STEPS = 20 };
    float reward[STEPS], value[STEPS], next_value[STEPS], advantage[STEPS], target[STEPS];
    uint8_t ended[STEPS] = {0};
    for (int t = 0; t < STEPS; t++) {
        reward[t] = (float)(t % 3);
        value[t] = (float)(t * 7 % 5);
        if (t > 0)
            next_value[t - 1] = value[t];
    }
    next_value[STEPS - 1] = 0.0F;
    ended[STEPS - 1] = 1;
    ppo_advantages(STEPS, 1, reward, value, next_value, ended, 0.9, 1.0, advantage, target);
    double discounted = 0.0;
    for (int t = STEPS; t-- > 0;) {
        discounted = reward[t] + 0.9 * discounted;
        cr_assert_float_eq(target[t], discounted, 1e-5);
    }
}

static double loss_at(const float *logits, double old, double advantage, double bonus)
{
    float unused[3];
    return ppo_policy_loss(logits, 3, 1, old, advantage, 0.2, bonus, unused).loss;
}

/* Central differences of the loss against the gradient; the ratio is far from a corner. */
static void check_gradient(double ratio, double advantage, double bonus)
{
    float logits[3] = {0.3F, -0.4F, 0.9F}, gradient[3];
    double p = exp(-0.4) / (exp(0.3) + exp(-0.4) + exp(0.9));
    double old = log(p / ratio);
    struct ppo_loss loss = ppo_policy_loss(logits, 3, 1, old, advantage, 0.2, bonus, gradient);
    cr_assert_float_eq(loss.ratio, ratio, 1e-6);
    for (int a = 0; a < 3; a++) {
        float kept = logits[a];
        float up = kept + 1e-3F, down = kept - 1e-3F;
        logits[a] = up;
        double above = loss_at(logits, old, advantage, bonus);
        logits[a] = down;
        double below = loss_at(logits, old, advantage, bonus);
        logits[a] = kept;
        double slope = (above - below) / ((double)up - (double)down);
        cr_assert_float_eq(gradient[a], slope, 1e-5, "ratio %g advantage %g logit %d: %g, not %g",
                           ratio, advantage, a, (double)gradient[a], slope);
    }
}

Test(ppo, the_surrogates_gradient_is_that_of_finite_differences)
{
    static const double ratios[] = {0.5, 0.9, 1.1, 1.6};
    for (size_t r = 0; r < 4; r++) {
        for (int sign = -1; sign <= 1; sign++) {
            check_gradient(ratios[r], 1.7 * sign, 0.0);
            check_gradient(ratios[r], 1.7 * sign, 0.3);
        }
    }
}

Test(ppo, a_ratio_outside_the_trust_interval_is_pushed_no_further)
{
    const float logits[2] = {0.0F, 0.0F};
    float gradient[2];
    /* p = 0.5; the old one was 0.25: ratio 2, and more of a good action is not rewarded. */
    ppo_policy_loss(logits, 2, 0, log(0.25), 1.0, 0.2, 0.0, gradient);
    cr_assert_eq(gradient[0], 0.0F);
    cr_assert_eq(gradient[1], 0.0F);
    /* But a bad one is still pushed down: d(-r A)/d logit = -2 * -1 * (1 - 0.5). */
    ppo_policy_loss(logits, 2, 0, log(0.25), -1.0, 0.2, 0.0, gradient);
    cr_assert_float_eq(gradient[0], 1.0F, 1e-6);
    cr_assert_float_eq(gradient[1], -1.0F, 1e-6);
}

Test(ppo, orthogonal_weights_keep_lengths)
{
    const struct mlp_shape shape = {
        .input = 4, .layer_count = 3, .width = {16, 16, 2}, .activation = MLP_TANH};
    float weights[16 * 4 + 16 + 16 * 16 + 16 + 2 * 16 + 2];
    cr_assert_eq(mlp_parameter_count(&shape), sizeof weights / sizeof weights[0]);
    struct rng rng;
    rng_seed(&rng, 1, 1);
    orthogonal_initialize(&shape, &rng, 2.0, 0.5, weights);
    const float *w = weights + mlp_weight_offset(&shape, 1);
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
            double dot = 0.0;
            for (int k = 0; k < 16; k++)
                dot += (double)w[i * 16 + k] * w[j * 16 + k];
            cr_assert_float_eq(dot, i == j ? 4.0 : 0.0, 1e-5);
        }
    }
    const float *first = weights + mlp_weight_offset(&shape, 0); /* 16 x 4: its columns */
    const float *last = weights + mlp_weight_offset(&shape, 2);  /* 2 x 16: its rows */
    double column = 0.0, rows = 0.0;
    for (int i = 0; i < 16; i++) {
        column += (double)first[i * 4] * first[i * 4 + 1];
        rows += (double)last[i] * last[16 + i];
    }
    cr_assert_float_eq(column, 0.0, 1e-5);
    cr_assert_float_eq(rows, 0.0, 1e-5);
    cr_assert_eq(weights[mlp_bias_offset(&shape, 1)], 0.0F);
}

static struct ppo_settings small_settings(void)
{
    struct ppo_settings settings = ppo_defaults();
    settings.activation = MLP_RELU;
    settings.worlds = 8;
    settings.steps = 32;
    settings.step_limit = 200;
    return settings;
}

static struct ppo *new_agent(const struct ppo_settings *settings, uint64_t seed)
{
    const struct env *env = env_find("cartpole");
    double parameters[ENV_MAX_PARAMETERS];
    struct rng rng;
    env_defaults(env, parameters);
    rng_seed(&rng, seed, 0);
    struct ppo *ppo = ppo_new(settings, env, parameters, &rng);
    cr_assert_not_null(ppo);
    return ppo;
}

Test(ppo, truncation_bootstraps_and_termination_does_not)
{
    struct ppo_settings settings = small_settings();
    /* Nobody falls in three steps (eight is the least): every end is a cut. */
    settings.step_limit = 3;
    struct ppo *ppo = new_agent(&settings, 1);
    ppo_play(ppo);
    unsigned cuts = 0;
    for (uint32_t i = 0; i < settings.worlds * settings.steps; i++) {
        cuts += ppo->rollout.ended[i];
        if (ppo->rollout.ended[i])
            cr_assert_neq(ppo->rollout.next_value[i], 0.0F);
        else
            cr_assert_eq(ppo->rollout.next_value[i], ppo->rollout.value[i + settings.worlds]);
    }
    cr_assert_eq(cuts, settings.worlds * (settings.steps / 3));
    ppo_free(ppo);

    /* With a far limit and a random policy every end is a fall. */
    settings.step_limit = 100000;
    settings.steps = 100;
    ppo = new_agent(&settings, 1);
    ppo_play(ppo);
    unsigned falls = 0;
    for (uint32_t i = 0; i < settings.worlds * settings.steps; i++) {
        falls += ppo->rollout.ended[i];
        if (ppo->rollout.ended[i])
            cr_assert_eq(ppo->rollout.next_value[i], 0.0F);
    }
    cr_assert_gt(falls, 10);
    ppo_free(ppo);
}

Test(ppo, a_world_goes_on_from_roll_out_to_roll_out)
{
    struct ppo_settings settings = small_settings();
    settings.worlds = 1;
    settings.steps = 4;
    settings.minibatch = 4;
    struct ppo *ppo = new_agent(&settings, 2);
    ppo_play(ppo);
    float last[4];
    memcpy(last, ppo->rollout.states + 4 * 4, sizeof last);
    cr_assert_eq(ppo->rollout.ended[3], 0);
    ppo_play(ppo);
    cr_assert_eq(memcmp(last, ppo->rollout.states, sizeof last), 0);
    ppo_free(ppo);
}

Test(ppo, learns_to_balance)
{
    struct ppo_settings settings = small_settings();
    struct ppo *ppo = new_agent(&settings, 1);
    struct ppo_report report;
    cr_assert(ppo_update(ppo, 1e-3, &report));
    cr_assert_lt(report.mean_return, 40.0);
    cr_assert_float_eq(report.entropy, log(2.0), 0.01);
    double best = 0.0;
    for (int u = 1; u < 80; u++) {
        cr_assert(ppo_update(ppo, 1e-3, &report));
        best = report.mean_return > best ? report.mean_return : best;
    }
    cr_assert_eq(report.transitions, 80 * 256);
    cr_assert_gt(best, 120.0, "the best mean return was %g", best);
    ppo_free(ppo);
}

Test(ppo, is_a_function_of_its_seed)
{
    struct ppo_settings settings = small_settings();
    struct ppo *agents[3] = {new_agent(&settings, 1), new_agent(&settings, 1),
                             new_agent(&settings, 2)};
    enum { SIZE = 4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2 };
    cr_assert_eq(mlp_parameter_count(ppo_policy_shape(agents[0])), SIZE);
    for (int i = 0; i < 3; i++) {
        struct ppo_report report;
        for (int u = 0; u < 3; u++)
            cr_assert(ppo_update(agents[i], 1e-3, &report));
    }
    float weights[3][SIZE];
    for (int i = 0; i < 3; i++)
        cr_assert(ppo_write_policy(agents[i], weights[i]));
    cr_assert_eq(memcmp(weights[0], weights[1], sizeof weights[0]), 0);
    cr_assert_neq(memcmp(weights[0], weights[2], sizeof weights[0]), 0);
    for (int i = 0; i < 3; i++)
        ppo_free(agents[i]);
}

Test(ppo, unusable_settings_are_told)
{
    const struct env *env = env_find("cartpole");
    struct ppo_settings good = ppo_defaults();
    cr_assert_null(ppo_settings_problem(&good, env));
    struct ppo_settings bad = good;
    bad.worlds = 0;
    cr_assert_not_null(ppo_settings_problem(&bad, env));
    bad = good;
    bad.minibatch = good.worlds * good.steps + 1;
    cr_assert_not_null(ppo_settings_problem(&bad, env));
    bad = good;
    bad.discount = NAN;
    cr_assert_not_null(ppo_settings_problem(&bad, env));
    bad = good;
    bad.hidden[0] = MLP_MAX_WIDTH + 1;
    cr_assert_not_null(ppo_settings_problem(&bad, env));
    bad = good;
    bad.worlds = PPO_MAX_WORLDS;
    bad.steps = PPO_MAX_STEPS;
    cr_assert_not_null(ppo_settings_problem(&bad, env));
}
