/* Which steps are noisy, and what plain ones learn from. */
#include "algos/offline/schedule.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/cql.h"
#include "algos/offline/dp_trainer.h"

/* 100,000 coins of p = 0.3: five standard deviations are 725; a false alarm once in 1.7 million. */
Test(schedule, coins_have_their_probability_and_repeat)
{
    enum { STEPS = 100000 };
    const struct schedule schedule = {.seed = 11, .plain_share = 0.3};
    uint64_t noisy = schedule_noisy_steps(&schedule, STEPS), counted = 0;
    for (uint64_t step = STEPS; step-- > 0;)
        counted += !schedule_is_plain(&schedule, step);
    cr_assert_eq(noisy, counted);
    cr_assert_lt(fabs((double)noisy - 0.7 * STEPS), 725.0);
    const struct schedule other = {.seed = 12, .plain_share = 0.3};
    cr_assert_neq(schedule_noisy_steps(&other, STEPS), noisy, "another seed, other coins");
}

Test(schedule, ends_of_the_range_are_certain)
{
    const struct schedule never = {1, 0.0}, always = {1, 1.0};
    cr_assert_eq(schedule_noisy_steps(&never, 1000), 1000);
    cr_assert_eq(schedule_noisy_steps(&always, 1000), 0);
    cr_assert_eq(schedule_most_steps(&never, 7, 1000), 7);
    cr_assert_eq(schedule_most_steps(&always, 0, 1000), 1000);
}

Test(schedule, most_steps_hold_no_more_noisy_ones_than_were_paid)
{
    const struct schedule schedule = {.seed = 5, .plain_share = 0.8};
    for (uint64_t noisy = 0; noisy < 50; noisy++) {
        uint64_t steps = schedule_most_steps(&schedule, noisy, 10000);
        cr_assert_eq(schedule_noisy_steps(&schedule, steps), noisy);
        cr_assert_eq(schedule_noisy_steps(&schedule, steps + 1), noisy + 1, "one more would cost");
    }
    cr_assert_eq(schedule_most_steps(&schedule, 50, 20), 20, "the limit holds");
}

/* ---- runs */

enum { DIM = 3, EXPERTS = 8, LENGTH = 6 };

static struct dataset *make_data(uint64_t seed)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, EXPERTS);
    cr_assert_not_null(builder);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        float states[(LENGTH + 1) * DIM], rewards[LENGTH];
        uint16_t actions[LENGTH];
        for (int i = 0; i < (LENGTH + 1) * DIM; i++)
            states[i] = (float)rng_normal(&rng);
        for (int i = 0; i < LENGTH; i++) {
            rewards[i] = (float)rng_normal(&rng);
            actions[i] = (uint16_t)rng_below(&rng, 2);
        }
        const struct trajectory trajectory = {.expert = e,
                                              .length = LENGTH,
                                              .terminated = e % 2,
                                              .states = states,
                                              .actions = actions,
                                              .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &trajectory));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

static struct algorithm_request request_of(double plain_share)
{
    struct algorithm_request request = {.mechanism = MECHANISM_DPSGD,
                                        .epsilon = 5,
                                        .delta = 1e-3,
                                        .discount = 0.9,
                                        .state_dim = DIM,
                                        .action_count = 2,
                                        .nominal_experts = EXPERTS,
                                        .plain_share = plain_share,
                                        .seed = 3};
    const struct algorithm *cql = &cql_algorithm;
    parameters_defaults(cql->parameters, cql->parameter_count, &request.parameters);
    const struct {
        const char *name;
        double value;
    } set[] = {
        {"hidden", 4}, {"batch_size", 4}, {"steps", 400}, {"full_weight_transitions", LENGTH}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        int index = parameters_index(cql->parameters, cql->parameter_count, set[i].name);
        request.parameters.value[index] = (struct parameter_value){{set[i].value}, 1};
    }
    return request;
}

static struct policy *train(const struct algorithm_request *request,
                            const struct algorithm_plan *plan, const struct dataset *data,
                            const struct dataset *stable)
{
    const uint8_t key[32] = {4};
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert_not_null(noise);
    const struct algorithm_run run = {
        .request = request, .plan = plan, .data = data, .stable = stable, .noise = noise};
    struct policy *policy = NULL;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.train(&run, &policy, &message), ALGORITHM_OK, "%s", message);
    noise_source_free(noise);
    return policy;
}

static bool alike(const struct policy *a, const struct policy *b, const struct algorithm_plan *plan)
{
    return memcmp(a->parameters, b->parameters, plan->parameter_count * sizeof(float)) == 0;
}

static void set(struct algorithm_request *request, const char *name, double value)
{
    int index = parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, name);
    cr_assert_geq(index, 0, "%s", name);
    request->parameters.value[index] = (struct parameter_value){{value}, 1};
}

/* Released states that are a thousand times too large move the weights no farther than clipped
 * steps can: no step moves them by more than rate times clip norm. */
Test(schedule, plain_steps_between_noisy_ones_are_clipped)
{
    const double rate = 1e-3, clip = 0.1;
    struct algorithm_request request = request_of(0.5);
    struct algorithm_plan plan;
    const char *message = NULL;
    set(&request, "optimizer", OPTIMIZER_SGD);
    set(&request, "momentum", 0);
    set(&request, "rate_schedule", RATE_CONSTANT);
    set(&request, "learning_rate", rate);
    set(&request, "average_decay", 0);
    set(&request, "clip_norm", clip);
    set(&request, "input_scale", 1);
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    struct dataset *data = make_data(1), *stable = make_data(2), *none = make_data(2);
    for (uint64_t i = 0; i < (stable->transition_count + stable->trajectory_count) * DIM; i++)
        stable->states[i] *= 1000.0F;
    none->transition_count = 0;
    struct policy *with = train(&request, &plan, data, stable);
    struct policy *without = train(&request, &plan, data, none);
    double squares = 0.0;
    for (size_t i = 0; i < plan.parameter_count; i++)
        squares += pow((double)with->parameters[i] - (double)without->parameters[i], 2);
    cr_expect_gt(sqrt(squares), 1e-3);
    cr_expect_lt(sqrt(squares), 2.0 * rate * clip * 400, "%g", sqrt(squares));
    none->transition_count = stable->transition_count;
    policy_free(with);
    policy_free(without);
    dataset_free(data);
    dataset_free(stable);
    dataset_free(none);
}

Test(schedule, only_noisy_steps_are_accounted)
{
    struct algorithm_request request = request_of(0.75);
    struct algorithm_plan plan, all;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    const struct schedule schedule = {request.seed, request.plain_share};
    cr_assert_eq(plan.total_steps, 400);
    cr_assert_eq(plan.privacy.steps, schedule_noisy_steps(&schedule, 400));
    request.plain_share = 0.0;
    cr_assert_eq(cql_algorithm.plan(&request, &all, &message), ALGORITHM_OK);
    cr_assert_lt(plan.privacy.noise_multiplier, all.privacy.noise_multiplier);
    /* More noisy steps than were accounted: refused, whatever the plan says. */
    plan.privacy.steps--;
    struct dataset *data = make_data(1);
    const struct algorithm_run run = {.request = &request, .plan = &plan, .data = data};
    struct policy *policy = NULL;
    cr_assert_eq(cql_algorithm.train(&run, &policy, &message), ALGORITHM_BAD_INPUT);
    dataset_free(data);
}

Test(schedule, steps_are_cut_to_the_noisy_ones_that_can_be_paid)
{
    struct algorithm_request request = request_of(0.75);
    int index = parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count,
                                 "noise_multiplier");
    request.parameters.value[index].number[0] = 3.0;
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    const struct schedule schedule = {request.seed, request.plain_share};
    cr_assert_lt(plan.total_steps, 400);
    cr_assert_eq(plan.privacy.steps, schedule_noisy_steps(&schedule, plan.total_steps));
    cr_assert_leq(plan.privacy.epsilon, 5.0);
}

Test(schedule, plain_steps_learn_from_the_stable_set_and_from_nothing_else)
{
    struct algorithm_request request = request_of(1.0);
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    cr_assert_eq(plan.privacy.steps, 0);
    struct dataset *private = make_data(1), *other = make_data(2), *stable = make_data(3);
    struct policy *first = train(&request, &plan, private, stable);
    struct policy *same = train(&request, &plan, other, stable);
    struct policy *moved = train(&request, &plan, private, other);
    struct policy *none = train(&request, &plan, private, NULL);
    cr_expect(alike(first, same, &plan), "private data had a part in a plain step");
    cr_expect_not(alike(first, moved, &plan));
    cr_expect_not(alike(first, none, &plan));
    policy_free(first);
    policy_free(same);
    policy_free(moved);
    policy_free(none);
    dataset_free(private);
    dataset_free(other);
    dataset_free(stable);
}

Test(schedule, both_kinds_of_steps_have_their_part)
{
    struct algorithm_request request = request_of(0.5);
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    struct dataset *private = make_data(1), *other = make_data(2), *stable = make_data(3);
    struct policy *first = train(&request, &plan, private, stable);
    struct policy *again = train(&request, &plan, private, stable);
    struct policy *unlike = train(&request, &plan, other, stable);
    struct policy *unstable = train(&request, &plan, private, other);
    cr_expect(alike(first, again, &plan));
    cr_expect_not(alike(first, unlike, &plan));
    cr_expect_not(alike(first, unstable, &plan));
    policy_free(first);
    policy_free(again);
    policy_free(unlike);
    policy_free(unstable);
    dataset_free(private);
    dataset_free(other);
    dataset_free(stable);
}

/* ---- the learning rate */

Test(schedule, learning_rates_follow_their_curve)
{
    struct trainer_settings s = {
        .learning_rate = 2.0, .final_rate_fraction = 0.25, .rate_schedule = RATE_CONSTANT};
    cr_expect_eq(trainer_learning_rate(&s, 0, 100), 2.0);
    cr_expect_eq(trainer_learning_rate(&s, 99, 100), 2.0);
    s.rate_schedule = RATE_LINEAR;
    cr_expect_float_eq(trainer_learning_rate(&s, 50, 100), 2.0 * 0.625, 1e-12);
    s.rate_schedule = RATE_COSINE;
    cr_expect_eq(trainer_learning_rate(&s, 0, 100), 2.0);
    cr_expect_float_eq(trainer_learning_rate(&s, 50, 100), 2.0 * 0.625, 1e-12);
    cr_expect_float_eq(trainer_learning_rate(&s, 100, 100), 0.5, 1e-12);
    double quarter = 2.0 * (0.25 + 0.75 * 0.5 * (1.0 + sqrt(0.5)));
    cr_expect_float_eq(trainer_learning_rate(&s, 25, 100), quarter, 1e-12);
    s.warmup_steps = 10;
    s.rate_schedule = RATE_CONSTANT;
    cr_expect_float_eq(trainer_learning_rate(&s, 0, 100), 0.2, 1e-12);
    cr_expect_float_eq(trainer_learning_rate(&s, 9, 100), 2.0, 1e-12);
    cr_expect_float_eq(trainer_learning_rate(&s, 10, 100), 2.0, 1e-12);
}
