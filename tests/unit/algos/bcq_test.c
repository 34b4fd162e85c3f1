/* The losses of batch-constrained Q-learning and of behaviour cloning against their definitions. */
#include "algos/offline/bcq.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/offline/behaviour_cloning.h"
#include "envs/rng.h"
#include "tests/unit/algos/offline_kit.h"

enum { MOST = 6 };

static double log_sum_exp(const double *v, uint32_t n)
{
    double sum = 0.0;
    for (uint32_t b = 0; b < n; b++)
        sum += exp(v[b]);
    return log(sum);
}

static double bcq_by_definition(const double *v, uint32_t n, uint32_t action, double y,
                                double threshold, double penalty)
{
    const double *logits = v + n;
    double d = fabs(v[action] - y), squares = 0.0;
    double huber = d <= threshold ? 0.5 * d * d : threshold * (d - 0.5 * threshold);
    for (uint32_t b = 0; b < n; b++)
        squares += logits[b] * logits[b];
    return huber + log_sum_exp(logits, n) - logits[action] + penalty * squares / n;
}

Test(bcq, loss_and_gradient_are_those_of_the_definition)
{
    struct rng rng;
    rng_seed(&rng, 4, 2);
    for (int trial = 0; trial < 500; trial++) {
        uint32_t n = 2 + rng_below(&rng, MOST - 1), action = rng_below(&rng, n);
        float outputs[2 * MOST], gradient[2 * MOST];
        double exact[2 * MOST];
        for (uint32_t b = 0; b < 2 * n; b++)
            exact[b] = outputs[b] = (float)(2.0 * rng_normal(&rng));
        float y = (float)(2.0 * rng_normal(&rng));
        const struct bcq_loss settings = {n, (float)rng_between(&rng, 0.2, 3.0),
                                          (float)rng_between(&rng, 0.0, 1.0)};
        double h = (double)settings.huber, penalty = (double)settings.logit_penalty;
        float loss = bcq_loss(&settings, outputs, action, y, gradient);
        cr_assert_float_eq(loss, bcq_by_definition(exact, n, action, y, h, penalty), 1e-4);
        for (uint32_t b = 0; b < 2 * n; b++) {
            double kept = exact[b];
            exact[b] = kept + 1e-5;
            double above = bcq_by_definition(exact, n, action, y, h, penalty);
            exact[b] = kept - 1e-5;
            double below = bcq_by_definition(exact, n, action, y, h, penalty);
            exact[b] = kept;
            cr_assert_float_eq(gradient[b], (above - below) / 2e-5, 1e-4);
        }
    }
}

Test(bcq, broken_rows_show_in_the_gradient)
{
    const struct bcq_loss settings = {2, 1.0F, 0.01F};
    float gradient[4];
    const float value[4] = {NAN, 0.0F, 1.0F, 1.0F}, logit[4] = {0.0F, 0.0F, 1.0F, NAN};
    (void)bcq_loss(&settings, value, 0, 0.0F, gradient);
    cr_assert(isnan(gradient[0]));
    (void)bcq_loss(&settings, logit, 0, 0.0F, gradient);
    cr_assert(isnan(gradient[2]) && isnan(gradient[3]));
}

Test(behaviour_cloning, loss_and_gradient_are_those_of_the_definition)
{
    struct rng rng;
    rng_seed(&rng, 5, 2);
    for (int trial = 0; trial < 500; trial++) {
        uint32_t n = 2 + rng_below(&rng, MOST - 1), action = rng_below(&rng, n);
        float logits[MOST], gradient[MOST];
        double exact[MOST];
        for (uint32_t b = 0; b < n; b++)
            exact[b] = logits[b] = (float)(3.0 * rng_normal(&rng));
        float loss = behaviour_cloning_loss(logits, n, action, gradient);
        cr_assert_float_eq(loss, log_sum_exp(exact, n) - exact[action], 1e-4);
        for (uint32_t b = 0; b < n; b++) {
            double kept = exact[b];
            exact[b] = kept + 1e-5;
            double above = log_sum_exp(exact, n) - exact[action];
            exact[b] = kept - 1e-5;
            double below = log_sum_exp(exact, n) - exact[action];
            exact[b] = kept;
            cr_assert_float_eq(gradient[b], (above - below) / 2e-5, 1e-4);
        }
    }
}

Test(bcq, policy_is_the_network_and_the_threshold)
{
    struct kit kit;
    kit_init(&kit, "bcq", MECHANISM_NONE, 4);
    kit_set(&kit, "steps", 20);
    kit_set(&kit, "threshold", 0.25);
    kit_plan(&kit);
    cr_assert_eq(kit.plan.shape.width[kit.plan.shape.layer_count - 1], 2 * KIT_ACTIONS);
    struct dataset *data = kit_data(4, 1);
    struct policy *policy = kit_train(&kit, data, 1);
    cr_assert_eq(policy->output, POLICY_BCQ);
    cr_assert_eq(policy->threshold, 0.25F);
    cr_assert_eq(policy_action_count(policy), KIT_ACTIONS);
    policy_free(policy);
    dataset_free(data);
}

/* Experts take action 0 or 1, never 2, and 1 pays. Unconstrained values of 2 are whatever they are;
 * the policy must play 1. Cloning gives both actions their shares. */
static struct dataset *two_of_three(void)
{
    struct dataset *data = kit_data(8, 3);
    for (uint64_t i = 0; i < data->transition_count; i++) {
        data->actions[i] = i % 4 == 0; /* a quarter takes 1 */
        data->rewards[i] = data->actions[i] ? 1.0F : 0.0F;
        data->terminated[i] = 1;
    }
    return data;
}

Test(bcq, plays_the_better_of_what_experts_do)
{
    struct kit kit;
    kit_init(&kit, "bcq", MECHANISM_NONE, 8);
    kit_set(&kit, "steps", 3000);
    kit_set(&kit, "reward_scale", 1);
    kit_set(&kit, "input_scale", 0.1);
    kit_set(&kit, "weight_power", 0);
    kit_plan(&kit);
    struct dataset *data = two_of_three();
    struct policy *policy = kit_train(&kit, data, 1);
    const float state[KIT_DIM] = {0.3F, -0.2F, 0.1F};
    float values[KIT_ACTIONS];
    cr_expect_eq(policy_decide(policy, state, values), 1);
    policy->parameters[kit.plan.parameter_count - 2 * KIT_ACTIONS + 2] += 100.0F; /* Q of 2 */
    cr_expect_eq(policy_decide(policy, state, values), 1, "no expert takes 2");
    cr_expect_gt(values[2], values[1]);
    policy->threshold = 0.0F;
    cr_expect_eq(policy_decide(policy, state, values), 2, "without the constraint");
    policy_free(policy);
    dataset_free(data);
}

Test(behaviour_cloning, learns_the_shares_of_the_actions)
{
    struct kit kit;
    kit_init(&kit, "behaviour_cloning", MECHANISM_NONE, 8);
    kit_set(&kit, "steps", 3000);
    kit_set(&kit, "input_scale", 0.1);
    kit_set(&kit, "weight_power", 0);
    kit_plan(&kit);
    struct dataset *data = two_of_three();
    for (uint64_t i = 0; i < data->transition_count; i++)
        data->state_row[i] = 0; /* one state */
    struct policy *policy = kit_train(&kit, data, 1);
    double p[KIT_ACTIONS];
    cr_assert_eq(policy->output, POLICY_SOFTMAX);
    cr_assert(policy_probabilities(policy, data->states, 1.0, p));
    cr_expect_float_eq(p[0], 0.75, 0.05);
    cr_expect_float_eq(p[1], 0.25, 0.05);
    cr_expect_lt(p[2], 0.02);
    policy_free(policy);
    dataset_free(data);
}
