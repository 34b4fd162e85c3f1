/* Private ranges of features: buckets and norms, whom one expert moves by how much, and ranges that
 * are where the data are. */
#include "algos/release/feature_ranges.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"
#include "envs/rng.h"
#include "memory/memory.h"

enum { DIM = 3, ACTIONS = 2, LENGTH = 20 };

Test(feature_ranges, buckets_hold_their_numbers_in_order)
{
    double below = -INFINITY;
    for (uint32_t b = 0; b < RANGES_BUCKETS; b++) {
        struct feature_range r = ranges_of_bucket(b);
        cr_expect(r.low < r.high);
        cr_expect(b == 0 || r.low == below, "%u: %g, not %g", b, r.low, below);
        below = r.high;
        cr_expect_eq(ranges_bucket(feature_center(&r)), b);
    }
    cr_expect_eq(ranges_bucket(0), RANGES_EXPONENTS);
    cr_expect_eq(ranges_bucket(1), RANGES_EXPONENTS + 21); /* 1 = 2^0: 2^0 .. 2^1 */
    cr_expect_eq(ranges_bucket(-1), RANGES_EXPONENTS - 21);
    cr_expect_eq(ranges_bucket((double)FLT_MAX), RANGES_BUCKETS - 1);
    cr_expect_eq(ranges_bucket(-(double)FLT_MAX), 0);
    cr_expect_eq(ranges_bucket(NAN), RANGES_EXPONENTS);
}

/* Normal features around CENTER with DEVIATION. */
static const double center[DIM] = {90, 0.02, -7}, deviation[DIM] = {15, 0.004, 0.3};

static struct dataset *make_data(uint32_t experts, uint64_t seed)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, ACTIONS, experts);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    for (uint32_t e = 0; e < experts; e++) {
        float states[(LENGTH + 1) * DIM], rewards[LENGTH] = {0};
        uint16_t actions[LENGTH] = {0};
        for (size_t i = 0; i < (LENGTH + 1) * DIM; i++)
            states[i] = (float)(center[i % DIM] + deviation[i % DIM] * rng_normal(&rng));
        const struct trajectory one = {.expert = e,
                                       .length = LENGTH,
                                       .terminated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

static double norm_of(const int64_t *vector, size_t count)
{
    double squares = 0.0;
    for (size_t i = 0; i < count; i++)
        squares += (double)vector[i] * (double)vector[i];
    return sqrt(squares);
}

/* The worst there can be as well: all of an expert's states in one bucket, and on a bound. */
Test(feature_ranges, no_expert_gives_more_than_the_norm)
{
    struct dataset *data = make_data(4, 3);
    struct features *coarse = features_new(DIM);
    for (uint32_t d = 0; d < DIM; d++)
        coarse->range[d] = (struct feature_range){center[d] - 1, center[d] + 1};
    for (int worst = 0; worst < 2; worst++) {
        for (uint64_t i = 0; worst && i < (data->transition_count + data->trajectory_count) * DIM;
             i++)
            data->states[i] = i % 2 == 0 ? FLT_MAX : -FLT_MAX;
        for (uint32_t e = 0; e < 4; e++) {
            int64_t first[DIM * RANGES_BUCKETS] = {0}, second[1 + 2 * DIM] = {0};
            ranges_add_expert(data, e, NULL, first);
            ranges_add_expert(data, e, coarse, second);
            double one = norm_of(first, DIM * RANGES_BUCKETS), two = norm_of(second, 1 + 2 * DIM);
            cr_expect_leq(one, ranges_norm(DIM, false));
            cr_expect_leq(two, ranges_norm(DIM, true));
            cr_expect_eq(second[0], RANGES_UNIT);
        }
    }
    cr_expect_float_eq(ranges_norm(DIM, false), RANGES_UNIT * sqrt(3), 1e-6);
    cr_expect_float_eq(ranges_norm(DIM, true), RANGES_UNIT * sqrt(7), 1e-6);
    free(coarse);
    dataset_free(data);
}

/* ---- whole runs */

static enum algorithm_status plan_of(struct algorithm_request *request, double epsilon,
                                     uint32_t experts, struct algorithm_plan *plan)
{
    const char *message = "";
    *request = (struct algorithm_request){.mechanism = MECHANISM_GAUSSIAN,
                                          .epsilon = epsilon,
                                          .delta = 1e-6,
                                          .state_dim = DIM,
                                          .action_count = ACTIONS,
                                          .nominal_experts = experts};
    enum algorithm_status status = feature_ranges_algorithm.plan(request, plan, &message);
    cr_expect_eq(status == ALGORITHM_OK, *message == '\0');
    return status;
}

/* What a run gives, and what its pulses were asked. */
struct watch {
    struct features *ranges;
    unsigned pulses[2]; /* with no release made, and with one */
    unsigned end_at;    /* the pulse that cancels, counted from 1; 0: none */
};

static void give(void *context, struct features *ranges)
{
    struct watch *watch = context;
    cr_assert_null(watch->ranges);
    watch->ranges = ranges;
}

static enum algorithm_pulse count_pulse(void *context, uint64_t steps_done)
{
    struct watch *watch = context;
    cr_assert_lt(steps_done, 2);
    watch->pulses[steps_done]++;
    return watch->pulses[0] + watch->pulses[1] == watch->end_at ? PULSE_CANCEL : PULSE_CONTINUE;
}

static enum algorithm_status measure_watched(const struct dataset *data, double epsilon,
                                             uint8_t seed, struct watch *watch)
{
    struct algorithm_request request;
    struct algorithm_plan plan;
    cr_assert_eq(plan_of(&request, epsilon, data->expert_count, &plan), ALGORITHM_OK);
    cr_expect_leq(plan.privacy.epsilon, epsilon);
    cr_expect_eq(plan.privacy.steps, 2);
    const uint8_t key[32] = {seed, 9};
    struct noise_source *noise = noise_source_new_injected(key);
    const struct algorithm_run run = {
        .request = &request,
        .plan = &plan,
        .data = data,
        .hooks = {.context = watch, .pulse = count_pulse, .give_ranges = give},
        .noise = noise};
    struct policy *policy = NULL;
    const char *message = NULL;
    enum algorithm_status status = feature_ranges_algorithm.train(&run, &policy, &message);
    cr_assert_null(policy);
    cr_assert_eq(status == ALGORITHM_OK, watch->ranges != NULL);
    noise_source_free(noise);
    return status;
}

static struct features *measure(const struct dataset *data, double epsilon, uint8_t seed)
{
    struct watch watch = {.end_at = 0};
    cr_assert_eq(measure_watched(data, epsilon, seed, &watch), ALGORITHM_OK);
    return watch.ranges;
}

/* 5 % and 95 % of a normal law are 1.645 deviations from its middle. Of 600 experts the noise of
 * the mean of u and of u^2 is some 1.5 % at this epsilon, and u spreads by 15 % or more: its
 * variance of 0.0225 has 0.03 added for noise that may be as large again, so a width of 1 to 2.2.
 */
Test(feature_ranges, lie_where_the_data_lie)
{
    struct dataset *data = make_data(600, 4);
    for (uint8_t seed = 1; seed <= 5; seed++) {
        struct features *ranges = measure(data, 2, seed);
        for (uint32_t d = 0; d < DIM; d++) {
            const struct feature_range *r = &ranges->range[d];
            cr_expect_float_eq(feature_center(r), center[d], deviation[d], "%u: %g", d,
                               feature_center(r));
            double width = (r->high - r->low) / (2 * 1.645 * deviation[d]);
            cr_expect(width > 0.85 && width < 2.2, "%u: %g of the true width", d, width);
        }
        free(ranges);
    }
    dataset_free(data);
}

/* A coordinate that is always the same still has a width, and one that is spread over many buckets
 * of which none stands out has no range. */
Test(feature_ranges, know_what_they_do_not_know)
{
    struct dataset *data = make_data(600, 5);
    uint64_t rows = data->transition_count + data->trajectory_count;
    for (uint64_t i = 0; i < rows; i++) {
        data->states[i * DIM] = 37;
        data->states[i * DIM + 1] = ldexpf(1.5F, (int)(i * 7 % 59) - 20) * (i % 2 == 0 ? 1 : -1);
    }
    struct features *ranges = measure(data, 2, 1);
    cr_expect(ranges->range[0].low < ranges->range[0].high);
    cr_expect(ranges->range[0].low >= 32 && ranges->range[0].high <= 64);
    cr_expect(isnan(ranges->range[1].low) && isnan(ranges->range[1].high));
    cr_expect_float_eq(feature_center(&ranges->range[2]), center[2], deviation[2]);
    free(ranges);
    dataset_free(data);
}

/* An expert without data, or none at all, changes the result by noise alone: no failure tells. */
Test(feature_ranges, an_empty_slot_is_no_failure)
{
    struct dataset *data = make_data(600, 6);
    data->expert_transitions[600] = data->expert_transitions[599];
    free(measure(data, 2, 1));
    for (uint32_t e = 0; e <= 600; e++)
        data->expert_transitions[e] = 0;
    struct features *ranges = measure(data, 2, 1);
    for (uint32_t d = 0; d < DIM; d++)
        cr_expect(isnan(ranges->range[d].low));
    free(ranges);
    dataset_free(data);
}

/* A lease must be renewed while many experts are read, and a run that is cancelled meanwhile ends.
 * 600 experts have 38 pulses in each pass. */
Test(feature_ranges, ask_for_a_pulse_every_few_experts)
{
    struct dataset *data = make_data(600, 7);
    struct watch watch = {.end_at = 0};
    cr_assert_eq(measure_watched(data, 2, 1, &watch), ALGORITHM_OK);
    cr_expect_eq(watch.pulses[0], 38);
    cr_expect_eq(watch.pulses[1], 38);
    free(watch.ranges);
    const unsigned ends[][3] = {{1, 1, 0}, {2, 2, 0}, {38, 38, 0}, {39, 38, 1}, {76, 38, 38}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        watch = (struct watch){.end_at = ends[i][0]};
        cr_assert_eq(measure_watched(data, 2, 1, &watch), ALGORITHM_CANCELLED);
        cr_expect_eq(watch.pulses[0], ends[i][1]);
        cr_expect_eq(watch.pulses[1], ends[i][2]);
    }
    dataset_free(data);
}

Test(feature_ranges, are_refused_where_noise_would_hide_them)
{
    struct algorithm_request request;
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_expect_eq(plan_of(&request, 1, 20, &plan), ALGORITHM_INFEASIBLE);
    cr_expect_eq(plan_of(&request, 1, 2000, &plan), ALGORITHM_OK);
    /* Six coordinates at epsilon 1 (docs/own-data.md). */
    request.state_dim = 6;
    request.delta = 1e-7;
    request.nominal_experts = 600;
    cr_expect_eq(feature_ranges_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    request.nominal_experts = 100;
    cr_expect_eq(feature_ranges_algorithm.plan(&request, &plan, &message), ALGORITHM_INFEASIBLE);
    request.state_dim = RANGES_DIM_MAX + 1;
    cr_expect_eq(feature_ranges_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
}

/* However many experts are declared, a plan that is accepted has noise that can be drawn. */
Test(feature_ranges, are_refused_where_noise_could_not_be_drawn)
{
    const uint32_t dims[] = {1, 3, RANGES_DIM_MAX};
    unsigned accepted = 0, refused = 0;
    for (int i = 0; i < 3; i++)
        for (double epsilon = 1; epsilon > 1e-6; epsilon /= 10) {
            struct algorithm_request request;
            struct algorithm_plan plan;
            const char *message = NULL;
            (void)plan_of(&request, epsilon, 1000000000, &plan);
            request.state_dim = dims[i];
            int64_t sum = 0;
            struct noise_source *noise = noise_source_new("ranges");
            if (feature_ranges_algorithm.plan(&request, &plan, &message) == ALGORITHM_OK) {
                ranges_release(noise, plan.privacy.noise_multiplier, ranges_norm(dims[i], true),
                               &sum, 1);
                accepted++;
            } else {
                refused++;
            }
            noise_source_free(noise);
        }
    cr_expect(accepted > 0 && refused > 0, "%u, %u", accepted, refused);
}
