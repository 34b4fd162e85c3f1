/* Ensembles: the mean is exact, one expert moves it by no more than sqrt(2) / M whatever happens to
 * its shard's policy, empty shards answer all actions alike, and bytes are an ensemble or nothing.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/data/checksum.h"
#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/release/ensemble.h"
#include "algos/release/teacher.h"
#include "tests/unit/algos/offline_kit.h"
#include "tests/unit/teacher_answer.h"

enum { M = 7, EXPERTS = 20 };

static const struct mlp_shape shape = {
    .input = 2, .layer_count = 1, .width = {3}, .activation = MLP_RELU};

/* Logits VALUE for action A wherever one stands. */
static struct policy *decided(enum policy_output output, uint32_t a, float value)
{
    struct policy *policy = policy_new(&shape, output);
    cr_assert_not_null(policy);
    policy->parameters[mlp_bias_offset(&shape, 0) + a] = value;
    return policy;
}

static void put(struct ensemble *ensemble, uint32_t shard, struct policy *policy)
{
    ensemble_take(ensemble, shard, policy, NULL);
    policy_free(policy);
}

static const float here[2] = {0.5F, -1.0F};

Test(ensemble, is_the_mean_of_its_policies)
{
    double p[3];
    struct ensemble *ensemble = ensemble_new(&shape, 3, M);
    cr_assert_not_null(ensemble);
    ensemble_probabilities(ensemble, here, 1, 1.0, p);
    for (int a = 0; a < 3; a++) /* no shard has a policy */
        cr_expect_float_eq(p[a], 1.0 / 3.0, 1e-11);
    for (uint32_t i = 0; i < 4; i++)
        put(ensemble, i, decided(POLICY_ARGMAX, 0, 1.0F));
    put(ensemble, 4, decided(POLICY_SOFTMAX, 1, 1e9F));
    put(ensemble, 5, decided(POLICY_Q, 2, logf(2.0F)));
    ensemble_take(ensemble, 6, NULL, NULL);
    ensemble_probabilities(ensemble, here, 1, 1.0, p);
    cr_expect_float_eq(p[0], (4.0 + 0.25 + 1.0 / 3.0) / M, 1e-7);
    cr_expect_float_eq(p[1], (1.0 + 0.25 + 1.0 / 3.0) / M, 1e-7);
    cr_expect_float_eq(p[2], (0.5 + 1.0 / 3.0) / M, 1e-7);
    cr_expect_float_eq(p[0] + p[1] + p[2], 1.0, 1e-15);
    ensemble_free(ensemble);
    ensemble_free(NULL);
}

/* A batch gives the bits of its states one by one, whatever its size. */
Test(ensemble, is_the_same_alone_and_among_many)
{
    enum { MANY = 37 };
    float states[MANY][2];
    double all[MANY][3], one[3];
    struct rng rng;
    struct ensemble *ensemble = ensemble_new(&shape, 3, M);
    cr_assert_not_null(ensemble);
    rng_seed(&rng, 3, 0);
    for (uint32_t i = 0; i + 1 < M; i++) {
        struct policy *policy = policy_new(&shape, i % 2 ? POLICY_Q : POLICY_SOFTMAX);
        cr_assert_not_null(policy);
        for (size_t k = 0; k < mlp_parameter_count(&shape); k++)
            policy->parameters[k] = (float)(rng_uniform(&rng) - 0.5);
        put(ensemble, i, policy);
    }
    for (uint32_t s = 0; s < MANY; s++)
        for (uint32_t i = 0; i < 2; i++)
            states[s][i] = (float)(4.0 * rng_uniform(&rng) - 2.0);
    for (uint32_t count = 1; count <= MANY; count += 4) {
        ensemble_probabilities(ensemble, states[0], count, 0.5, all[0]);
        for (uint32_t s = 0; s < count; s++) {
            ensemble_probabilities(ensemble, states[s], 1, 0.5, one);
            cr_expect_arr_eq(all[s], one, sizeof one, "%u of %u", s, count);
        }
    }
    ensemble_free(ensemble);
}

static double distance(const double *p, const double *q)
{
    double sum = 0.0;
    for (int a = 0; a < 3; a++)
        sum += (p[a] - q[a]) * (p[a] - q[a]);
    return sqrt(sum);
}

/* The worst that one shard can do; and that a policy which cannot be asked is none. */
Test(ensemble, is_moved_by_one_shard_no_farther_than_its_bound)
{
    double p[3], q[3];
    struct ensemble *ensemble = ensemble_new(&shape, 3, M);
    for (uint32_t i = 1; i < M; i++)
        put(ensemble, i, decided(POLICY_SOFTMAX, i % 3, 0.1F * (float)i));
    put(ensemble, 0, decided(POLICY_ARGMAX, 0, 1.0F));
    ensemble_probabilities(ensemble, here, 1, 0.3, p);
    for (int change = 0; change < 5; change++) {
        struct policy *other = decided(change < 2 ? POLICY_SOFTMAX : POLICY_ARGMAX, 1, 1e30F);
        if (change == 3)
            other->parameters[0] = NAN;
        if (change == 4) { /* outputs that are not finite at this state alone */
            other->parameters[0] = other->parameters[1] = 3e38F;
            other->parameters[1] = -3e38F;
        }
        put(ensemble, 0, other);
        ensemble_probabilities(ensemble, here, 1, 0.3, q);
        cr_expect_leq(distance(p, q), ensemble_change(M));
        cr_expect_float_eq(q[0] + q[1] + q[2], 1.0, 1e-15);
        if (change == 2) /* from one corner to another: the bound is reached */
            cr_expect_float_eq(distance(p, q), M_SQRT2 / M, 1e-12);
    }
    struct mlp_shape wider = shape;
    wider.width[0] = 4;
    struct policy *foreign = policy_new(&wider, POLICY_SOFTMAX);
    put(ensemble, 0, foreign);
    ensemble_probabilities(ensemble, here, 1, 0.3, p);
    ensemble_take(ensemble, 0, NULL, NULL);
    ensemble_probabilities(ensemble, here, 1, 0.3, q);
    cr_expect_eq(distance(p, q), 0.0);
    ensemble_free(ensemble);
}

/* Whatever M is and whatever the policies say, the mean is a distribution that the mechanisms take:
 * a refusal would tell of the policies, without noise and for nothing. */
Test(ensemble, its_mean_is_never_refused)
{
    struct noise_source *noise = noise_source_new("ensemble test");
    struct rng rng;
    rng_seed(&rng, 5, 0);
    cr_assert_not_null(noise);
    for (uint32_t round = 0; round < 400; round++) {
        uint32_t count = 2 + round % 200;
        struct ensemble *ensemble = ensemble_new(&shape, 3, count);
        cr_assert_not_null(ensemble);
        for (uint32_t i = 0; i < count; i++) { /* of one mind at first, then of any */
            uint32_t action = round < 200 ? 1 : i % 3;
            float value = round < 200 ? 1.0F : (float)(50.0 * rng_uniform(&rng));
            put(ensemble, i, decided(round < 200 ? POLICY_ARGMAX : POLICY_SOFTMAX, action, value));
        }
        double p[3], z[3];
        ensemble_probabilities(ensemble, here, 1, 1.0, p);
        if (round < 200)
            cr_expect_eq(p[1], 1.0, "%u policies", count);
        const struct gaussian_simplex gaussian = {
            .actions = 3, .sigma = 0.01, .sensitivity = ensemble_change(count)};
        cr_expect(gaussian_simplex_sample(&gaussian, noise, p, z), "%u policies", count);
        ensemble_free(ensemble);
    }
    noise_source_free(noise);
}

/* ---- training */

static struct dataset *without(const struct dataset *all, uint32_t left_out)
{
    struct dataset_builder *builder =
        dataset_builder_new(KIT_DIM, KIT_ACTIONS, all->expert_count - 1);
    cr_assert_not_null(builder);
    uint32_t place = 0;
    for (uint32_t e = 0; e < all->expert_count; e++) {
        if (e == left_out)
            continue;
        uint64_t first = all->expert_transitions[e];
        uint32_t length = (uint32_t)(all->expert_transitions[e + 1] - first);
        uint64_t row = all->state_row[first];
        struct trajectory one = {.expert = place++,
                                 .length = length,
                                 .terminated = all->terminated[first + length - 1] != 0,
                                 .states = all->states + row * KIT_DIM,
                                 .actions = all->actions + first,
                                 .rewards = all->rewards + first};
        cr_assert(dataset_builder_add(builder, &one));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    data->expert_keys = calloc(data->expert_count, sizeof *data->expert_keys);
    for (uint32_t e = 0, at = 0; e < all->expert_count; e++)
        if (e != left_out)
            data->expert_keys[at++] = all->expert_keys[e];
    return data;
}

static struct ensemble *train(const char *algorithm, const struct dataset *data)
{
    struct kit kit;
    struct ensemble *ensemble = NULL;
    const char *message = NULL;
    kit_init(&kit, algorithm, MECHANISM_NONE, EXPERTS);
    kit_set(&kit, "steps", 40);
    const struct algorithm_run run = {.request = &kit.request, .data = data};
    cr_assert_eq(ensemble_train(kit.algorithm, M, &run, &ensemble, &message), ALGORITHM_OK, "%s",
                 message);
    return ensemble;
}

/* Of every algorithm of the registry that can: one expert less changes the policy of its own shard
 * and no other's, and the mean within the bound. */
Test(ensemble, of_every_algorithm_depends_on_an_expert_by_one_shard)
{
    unsigned count, tried = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    struct dataset *data = kit_data(EXPERTS, 5);
    data->expert_keys = calloc(EXPERTS, sizeof *data->expert_keys);
    for (uint32_t e = 0; e < EXPERTS; e++)
        data->expert_keys[e] = UINT64_C(0x9e3779b97f4a7c15) * (e + 3);
    for (unsigned i = 0; i < count; i++) {
        if (all[i]->kind != ALGORITHM_LEARNS_FROM_DATA || !all[i]->mechanisms[MECHANISM_NONE])
            continue;
        tried++;
        struct ensemble *with = train(all[i]->name, data);
        size_t record = 2 + mlp_parameter_count(&with->shape);
        for (uint32_t e = 0; e < EXPERTS; e += 3) {
            struct dataset *less = without(data, e);
            struct ensemble *but = train(all[i]->name, less);
            unsigned differ = 0;
            for (uint32_t s = 0; s < M; s++)
                differ += memcmp(with->members + s * record, but->members + s * record,
                                 record * sizeof(float)) != 0;
            cr_expect_eq(differ, 1u, "%s, expert %u: %u shards differ", all[i]->name, e, differ);
            const float state[KIT_DIM] = {0.3F, -0.2F, 0.9F};
            double p[3], q[3];
            ensemble_probabilities(with, state, 1, 1.0, p);
            ensemble_probabilities(but, state, 1, 1.0, q);
            cr_expect_leq(distance(p, q), ensemble_change(M));
            ensemble_free(but);
            dataset_free(less);
        }
        ensemble_free(with);
    }
    cr_expect_geq(tried, 3u, "cql, bcq, behaviour_cloning");
    dataset_free(data);
}

/* ---- bytes */

Test(ensemble, goes_through_bytes_and_no_others_do)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    double p[3], q[3];
    struct ensemble *ensemble = ensemble_new(&shape, 3, M);
    put(ensemble, 3, decided(POLICY_Q, 2, 0.7F));
    bytes = ensemble_to_bytes(ensemble, &size);
    struct ensemble *back = ensemble_from_bytes(bytes, size);
    cr_assert_not_null(back);
    ensemble_probabilities(ensemble, here, 1, 0.5, p);
    ensemble_probabilities(back, here, 1, 0.5, q);
    cr_expect_eq(distance(p, q), 0.0);
    ensemble_free(back);
    for (size_t i = 0; i < size; i += 3) {
        bytes[i] ^= 0x40;
        cr_expect_null(ensemble_from_bytes(bytes, size), "byte %zu", i);
        bytes[i] ^= 0x40;
    }
    for (size_t less = 1; less < size; less += 7)
        cr_expect_null(ensemble_from_bytes(bytes, size - less));
    cr_expect_null(ensemble_from_bytes(NULL, 0));
    free(bytes);
    ensemble_free(ensemble);
}

/* Stored actions that are not what the networks have as outputs, with a checksum that holds:
 * answers would be read, and written, past their ends. */
Test(ensemble, of_other_actions_than_its_networks_is_refused)
{
    size_t size = 0;
    struct ensemble *ensemble = ensemble_new(&shape, 3, M);
    put(ensemble, 3, decided(POLICY_Q, 2, 0.7F));
    unsigned char *bytes = ensemble_to_bytes(ensemble, &size);
    for (uint32_t actions = 2; actions <= 6; actions++) {
        memcpy(bytes + 5 * sizeof actions, &actions, sizeof actions);
        checksum_seal(bytes, size - sizeof(uint64_t));
        struct ensemble *back = ensemble_from_bytes(bytes, size);
        cr_expect_eq(back != NULL, actions == 3, "%u", actions);
        ensemble_free(back);
    }
    free(bytes);
    ensemble_free(ensemble);
}

Test(ensemble, is_refused_where_it_could_not_be_asked)
{
    struct mlp_shape large = {.input = 16, .layer_count = 2, .width = {4096, 3}};
    cr_expect(ensemble_fits(&large, 100));
    cr_expect_not(ensemble_fits(&large, 200));
    cr_expect_not(ensemble_fits(&shape, 0));
    cr_expect_null(ensemble_new(&large, 3, 200));
    cr_expect_null(ensemble_new(&shape, 65, 2));
}

/* ---- as a teacher */

static struct teacher teacher_of(uint32_t shards, const char *mechanism)
{
    struct teacher teacher = {.mechanism = teacher_mechanism_find(mechanism),
                              .actions = 3,
                              .temperature = 1.0,
                              .shards = shards};
    if (teacher.mechanism == &teacher_dirichlet)
        teacher.dirichlet =
            (struct dirichlet){.concentration = 50.0, .min_probability = 0.1, .actions = 3};
    else
        teacher.gaussian = (struct gaussian_simplex){.sigma = 0.05};
    return teacher;
}

Test(ensemble, has_the_sensitivity_of_its_shards_as_a_teacher)
{
    struct teacher dirichlet = teacher_of(100, "dirichlet");
    struct teacher gaussian = teacher_of(100, "gaussian_simplex");
    cr_assert_null(teacher_prepare_ensemble(&dirichlet));
    cr_assert_null(teacher_prepare_ensemble(&gaussian));
    cr_expect_float_eq(gaussian.sensitivity, M_SQRT2 / 100, 1e-10);
    cr_expect_geq(gaussian.sensitivity, M_SQRT2 / 100);
    cr_expect_float_eq(dirichlet.sensitivity, 0.7 * M_SQRT2 / 100, 1e-10);
    cr_expect_geq(dirichlet.sensitivity, 0.7 * M_SQRT2 / 100);
    gaussian.temperature = 0.0;
    cr_expect_not_null(teacher_prepare_ensemble(&gaussian));
}

Test(ensemble, answers_near_its_mean_and_no_state_that_is_not_finite)
{
    const uint8_t key[32] = {7};
    double z[3], mean[3] = {0}, p[3];
    struct ensemble *ensemble = ensemble_new(&shape, 3, M);
    for (uint32_t i = 0; i < M; i++)
        put(ensemble, i, decided(POLICY_ARGMAX, i < 5 ? 0 : 1, 1.0F));
    struct teacher teacher = teacher_of(M, "gaussian_simplex");
    cr_assert_null(teacher_prepare_ensemble(&teacher));
    struct noise_source *noise = noise_source_new_injected(key);
    for (int n = 0; n < 400; n++) {
        cr_assert(teacher_answer_at(&teacher, NULL, ensemble, 0.0, noise, here, z));
        for (int a = 0; a < 3; a++)
            mean[a] += z[a] / 400;
    }
    ensemble_probabilities(ensemble, here, 1, 1.0, p);
    cr_expect_lt(distance(mean, p), 0.03); /* the projection's own bias is 0.015 */
    const float nowhere[2] = {0.0F, NAN};
    cr_expect_not(teacher_answer_at(&teacher, NULL, ensemble, 0.0, noise, nowhere, z));
    noise_source_free(noise);
    ensemble_free(ensemble);
}
