/* Datasets that describe their features: inputs are normalised by public ranges in every training,
 * results read plain states, and defaults follow from the ranges and from the number of experts. */
#include "algos/data/features.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/offline/bcq.h"
#include "algos/offline/behaviour_cloning.h"
#include "algos/offline/cql.h"
#include "algos/offline/shards.h"
#include "algos/release/gp_q_learning.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 8 };

/* Halves of widths are powers of two, so that normalising is exact. */
static const struct feature_range ranges[KIT_DIM] = {{-64, 64}, {96, 160}, {-1.0 / 64, 1.0 / 64}};

static struct features *make_features(void)
{
    struct features *features = features_new(KIT_DIM);
    for (unsigned d = 0; d < KIT_DIM; d++)
        features->range[d] = ranges[d];
    return features;
}

/* States in sixteenths; NATURAL: as numbers within the ranges, else as those are normalised. */
static struct dataset *make_states(bool natural)
{
    struct dataset *data = kit_data(EXPERTS, 4);
    uint64_t rows = data->transition_count + data->trajectory_count;
    for (uint64_t i = 0; i < rows * KIT_DIM; i++) {
        double x = round(16 * (double)data->states[i]) / 16;
        const struct feature_range *range = &ranges[i % KIT_DIM];
        if (natural)
            x = feature_center(range) + x * (range->high - range->low) / 2;
        data->states[i] = (float)x;
    }
    return data;
}

Test(features, normalise_every_training_and_are_folded_into_its_result)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    struct dataset *normal = make_states(false), *natural = make_states(true);
    struct features *features = make_features();
    for (int a = 0; a < 3; a++) {
        for (int mechanism = MECHANISM_NONE; mechanism <= MECHANISM_DPSGD; mechanism++) {
            struct kit kit;
            kit_init(&kit, algorithms[a], (enum algorithm_mechanism)mechanism, EXPERTS);
            kit_set(&kit, "steps", 200);
            kit_set(&kit, "input_scale", 0.5);
            kit_set(&kit, "input_center", 0.25);
            kit_plan(&kit);
            struct policy *before = kit_train(&kit, normal, 1);
            kit.request.features = features;
            struct policy *after = kit_train(&kit, natural, 1);
            /* The same steps to the bit: behind the first layer nothing was folded. */
            size_t rest = mlp_weight_offset(&kit.plan.shape, 1);
            size_t count = mlp_parameter_count(&kit.plan.shape) - rest;
            cr_expect_arr_eq(before->parameters + rest, after->parameters + rest,
                             count * sizeof(float));
            for (uint64_t i = 0; i < normal->transition_count * KIT_DIM; i += KIT_DIM) {
                float was[KIT_ACTIONS], is[KIT_ACTIONS];
                cr_assert(policy_values(before, normal->states + i, was));
                cr_assert(policy_values(after, natural->states + i, is));
                for (int b = 0; b < KIT_ACTIONS; b++)
                    cr_expect_float_eq(is[b], was[b], 1e-3F * (1.0F + fabsf(was[b])), "%s",
                                       algorithms[a]);
            }
            policy_free(before);
            policy_free(after);
        }
    }
    free(features);
    dataset_free(normal);
    dataset_free(natural);
}

Test(features, of_another_number_of_coordinates_are_refused)
{
    struct kit kit;
    const char *message = "";
    struct algorithm_plan plan;
    struct features *features = features_new(KIT_DIM + 1);
    kit_init(&kit, "cql", MECHANISM_NONE, EXPERTS);
    kit.request.features = features;
    cr_expect_eq(kit.algorithm->plan(&kit.request, &plan, &message), ALGORITHM_BAD_INPUT);
    cr_expect_str_eq(message, "the described features are not those of the states");
    free(features);
}

/* Also where a world has scales of its own. */
Test(features, set_the_defaults_of_scales_and_bounds)
{
    const struct algorithm *const all[] = {&cql_algorithm, &bcq_algorithm,
                                           &behaviour_cloning_algorithm};
    struct features *features = make_features();
    struct parameter_values values;
    for (int a = 0; a < 3; a++) {
        algorithm_defaults(all[a], "ward", &values);
        cr_expect_neq(kit_number(all[a], &values, "input_center"), 0);
        algorithm_described_defaults(all[a], features, &values);
        cr_expect_eq(kit_number(all[a], &values, "input_center"), 0);
        cr_expect_eq(kit_number(all[a], &values, "input_scale"), FEATURES_INPUT_SCALE);
    }
    const struct algorithm *gp = &gp_q_learning_algorithm;
    algorithm_defaults(gp, NULL, &values);
    algorithm_described_defaults(gp, features, &values);
    cr_expect_eq(kit_number(gp, &values, "input_scale"), FEATURES_INPUT_SCALE);
    for (unsigned d = 0; d < KIT_DIM; d++) {
        cr_expect_eq(values.value[GP_Q_LOW].number[d], ranges[d].low);
        cr_expect_eq(values.value[GP_Q_HIGH].number[d], ranges[d].high);
    }
    free(features);
}

/* Shards of a Q-release: as many as asked for, else at most one for five experts; and they learn
 * from what the request describes. */
Test(features, reach_the_shards_whose_number_the_experts_allow)
{
    static const struct {
        uint32_t experts, asked, shards;
    } cases[] = {{120, 0, 24},   {5, 0, 1},        {3, 0, 1},
                 {1499, 0, 299}, {100000, 0, 300}, {120, 60, 60}};
    struct features *features = make_features();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shards shards;
        struct algorithm_request request = {.nominal_experts = cases[i].experts,
                                            .state_dim = KIT_DIM,
                                            .action_count = KIT_ACTIONS,
                                            .features = features};
        algorithm_defaults(&gp_q_learning_algorithm, NULL, &request.parameters);
        request.parameters.value[GP_Q_SHARDS].number[0] = cases[i].asked;
        gp_q_shards(&request, &shards);
        cr_expect_eq(shards.count, cases[i].shards, "%u experts: %u", cases[i].experts,
                     shards.count);
        cr_expect_eq(shards.request.features, features);
    }
    free(features);
}
