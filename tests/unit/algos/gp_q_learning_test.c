/* Release of Q-functions learned on shards: the price, the class, one expert's weight in it, and
 * the same values from the same release for ever. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/shards.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise_source.h"
#include "algos/release/gp_q_learning.h"
#include "algos/release/q_release.h"
#include "envs/rng.h"

enum { EXPERTS = 30, LENGTH = 20 };

enum { NOBODY = EXPERTS, EVERYBODY };

/* A walk on [0, 1]^DIM where action 1 moves up; the reward is the first coordinate. Expert SKIP has
 * left. */
static struct dataset *walks(uint32_t dim, uint32_t skip)
{
    struct dataset_builder *builder = dataset_builder_new(dim, 2, EXPERTS);
    cr_assert_not_null(builder);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct rng rng;
        rng_seed(&rng, 8, e);
        float states[(LENGTH + 1) * 4], rewards[LENGTH];
        uint16_t actions[LENGTH];
        for (uint32_t i = 0; i < dim; i++)
            states[i] = (float)rng_uniform(&rng);
        for (int t = 0; t < LENGTH; t++) {
            actions[t] = (uint16_t)rng_below(&rng, 2);
            for (uint32_t i = 0; i < dim; i++) {
                double x =
                    states[t * dim + i] + (actions[t] ? 0.1 : -0.1) + 0.02 * rng_normal(&rng);
                states[(t + 1) * dim + i] = (float)fmin(fmax(x, 0.0), 1.0);
            }
            rewards[t] = 20.0F * states[(t + 1) * dim];
        }
        const struct trajectory one = {.expert = e,
                                       .length = LENGTH,
                                       .truncated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(e == skip || skip == EVERYBODY || dataset_builder_add(builder, &one));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    data->expert_keys = calloc(EXPERTS, sizeof *data->expert_keys);
    for (uint32_t e = 0; e < EXPERTS; e++)
        data->expert_keys[e] = UINT64_C(0x9e3779b97f4a7c15) * (e + 1);
    return data;
}

static struct algorithm_request request_of(uint32_t dim)
{
    struct algorithm_request request = {.mechanism = MECHANISM_GAUSSIAN_PROCESS,
                                        .epsilon = 1,
                                        .delta = 1e-5,
                                        .discount = 0.9,
                                        .state_dim = dim,
                                        .action_count = 2,
                                        .nominal_experts = EXPERTS,
                                        .seed = 12};
    parameters_defaults(gp_q_parameters, GP_Q_COUNT, &request.parameters);
    request.parameters.value[GP_Q_STEPS].number[0] = 100;
    request.parameters.value[GP_Q_HIDDEN].number[0] = 16;
    request.parameters.value[GP_Q_SHARDS].number[0] = 10;
    request.parameters.value[GP_Q_KNOT_BITS].number[0] = 6;
    request.parameters.value[GP_Q_FEATURES].number[0] = 12;
    return request;
}

static void set(struct algorithm_request *request, enum gp_q_parameter which, double value)
{
    request->parameters.value[which].number[0] = value;
}

static void give(void *context, struct q_release *release, bool injected)
{
    struct q_release **out = context;
    cr_assert(injected && *out == NULL);
    *out = release;
}

static struct q_release *made(const struct algorithm_request *request, const struct dataset *data,
                              uint8_t seed)
{
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(gp_q_learning_algorithm.plan(request, &plan, &message), ALGORITHM_OK, "%s",
                 message);
    const uint8_t key[32] = {seed, 1};
    struct q_release *release = NULL;
    struct noise_source *noise = noise_source_new_injected(key);
    const struct algorithm_run run = {.request = request,
                                      .plan = &plan,
                                      .data = data,
                                      .hooks = {.context = &release, .give_release = give},
                                      .noise = noise};
    struct policy *policy = NULL;
    cr_assert_eq(gp_q_learning_algorithm.train(&run, &policy, &message), ALGORITHM_OK, "%s",
                 message);
    cr_assert_null(policy);
    cr_assert_not_null(release);
    noise_source_free(noise);
    return release;
}

Test(gp_q_learning, the_price_is_that_of_one_gaussian_of_the_stated_sensitivity)
{
    for (uint32_t form = 1; form <= 3; form++) {
        struct algorithm_request request = request_of(1);
        set(&request, GP_Q_FORM, form);
        set(&request, GP_Q_RADIUS, 20);
        struct algorithm_plan plan;
        const char *message;
        cr_assert_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
        const struct q_terms *t = &plan.release;
        /* By hand: V 5, L 20, M 10, two actions; radius 20; nine nodes. */
        double by_hand = form == 1   ? 2.0 * 5 / 10 * sqrt(2 * (1 + 20.0 / 5))
                         : form == 2 ? 2.0 * 20 / 10
                                     : 2.0 * 5 * sqrt(18.0) / 10;
        cr_expect_geq(t->sensitivity, by_hand);
        cr_expect_float_eq(t->sensitivity, by_hand, 2e-3 * by_hand);
        cr_expect_leq(gaussian_dp_epsilon(t->sensitivity / t->sigma, 1e-5), 1 + 1e-9);
        cr_expect_geq(gaussian_dp_epsilon(t->sensitivity / t->sigma, 1e-5), 0.999);
        cr_expect_leq(plan.privacy.epsilon, 1);
        cr_expect_geq(plan.privacy.epsilon, 0.9999);
        cr_expect_eq(plan.privacy.steps, 1);
        cr_expect_leq(plan.privacy.noise_multiplier * t->sensitivity, t->sigma);
        cr_expect_eq(t->noise_to_range, t->sigma / t->value_limit);
        cr_expect_eq(plan.total_steps, 1000);
    }
}

/* What BASE learns from all of DATA, as the only shard. */
static struct policy *learned(const struct algorithm_request *request, const struct dataset *data)
{
    struct shards shards;
    gp_q_shards(request, &shards);
    struct algorithm_request base = shards.request;
    base.mechanism = MECHANISM_NONE;
    struct algorithm_plan plan;
    const char *message;
    cr_assert_eq(shards.algorithm->plan(&base, &plan, &message), ALGORITHM_OK);
    const struct algorithm_run run = {.request = &base, .plan = &plan, .data = data};
    struct policy *policy = NULL;
    cr_assert_eq(shards.algorithm->train(&run, &policy, &message), ALGORITHM_OK);
    return policy;
}

/* One shard and the same noise as over nobody's data, whose function is 0: the difference is the
 * network, since the class holds everything here; for whatever learns a Q-function. */
Test(gp_q_learning, under_the_noise_is_the_learned_function)
{
    struct dataset *data = walks(1, NOBODY), *nothing = walks(1, EVERYBODY);
    unsigned count = 0;
    for (; gp_q_bases[count]; count++) {
        for (int advantages = 0; advantages < 2; advantages++) {
            struct algorithm_request request = request_of(1);
            request.epsilon = 50;
            set(&request, GP_Q_SHARDS, 1);
            set(&request, GP_Q_BASE, count);
            set(&request, GP_Q_RELEASED, advantages);
            set(&request, GP_Q_STEPS, 300);
            struct policy *policy = learned(&request, data);
            struct q_release *release = made(&request, data, 1),
                             *noise = made(&request, nothing, 1);
            double grid = q_release_terms(release)->sigma * 0x1p-12, size = 0;
            for (int i = 0; i <= 100; i++) {
                double x = i / 100.0, values[2], noises[2];
                float state = (float)x, q[4];
                int played = policy_decide(policy, &state, q);
                for (int a = 0; a < 2; a++) /* what is not allowed is put as far below */
                    q[a] = q[played] - fabsf(q[played] - q[a]);
                cr_assert_eq(q_release_values(release, &x, values, NULL), Q_ANSWERED);
                cr_assert_eq(q_release_values(noise, &x, noises, NULL), Q_ANSWERED);
                for (int a = 0; a < 2; a++) {
                    double expected = (double)(advantages ? (q[a] - q[1 - a]) / 2 : q[a]);
                    cr_expect_float_eq(values[a] - noises[a], expected, 2 * grid + 0.01);
                    size = fmax(size, fabs(expected));
                }
            }
            cr_expect_gt(size, 0.05); /* it learned something to compare with */
            q_release_free(release);
            q_release_free(noise);
            policy_free(policy);
        }
    }
    cr_expect_geq(count, 2);
    dataset_free(data);
    dataset_free(nothing);
}

/* By its own row: what learns a Q-function from a dataset may be the base, nothing else may. */
Test(gp_q_learning, the_table_of_algorithms_says_what_may_learn_on_a_shard)
{
    unsigned count, learners = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    const struct parameter_spec *spec = &gp_q_parameters[GP_Q_BASE];
    for (unsigned i = 0; i < count; i++) {
        bool learns = algorithm_lacks_q(all[i]) == NULL;
        cr_expect_eq(learns,
                     all[i]->kind == ALGORITHM_LEARNS_FROM_DATA && all[i]->target == TARGET_VALUES,
                     "%s", all[i]->name);
        if (!learns)
            continue;
        cr_expect(all[i]->mechanisms[MECHANISM_NONE]);
        cr_expect_eq(gp_q_bases[learners], all[i]);
        cr_expect_str_eq(parameters_choice(spec, learners++), all[i]->name);
    }
    cr_expect_null(gp_q_bases[learners]);
    cr_expect_null(parameters_choice(spec, learners));
    struct parameter_value past = {.number = {learners}, .count = 1};
    cr_expect_eq(parameters_check(spec, &past), PARAMETER_OUT_OF_RANGE);
    cr_expect(strstr(algorithm_lacks_q(algorithm_find("behaviour_cloning")), "no Q-function"));
    cr_expect_null(algorithm_lacks_q(algorithm_find("cql")));
    cr_expect_null(algorithm_lacks_q(algorithm_find("bcq")));
}

/* An advantage's mean over the actions is 0 but for noise, so a smaller class does. */
Test(gp_q_learning, advantages_have_no_mean_over_the_actions_and_less_noise)
{
    struct dataset *data = walks(2, NOBODY);
    struct algorithm_request request = request_of(2);
    request.epsilon = 50;
    set(&request, GP_Q_RELEASED, 0);
    set(&request, GP_Q_RADIUS, 100);
    struct q_release *values = made(&request, data, 3);
    set(&request, GP_Q_RELEASED, 1);
    set(&request, GP_Q_RADIUS, 0.5);
    struct q_release *advantages = made(&request, data, 3);
    cr_expect(q_release_terms(advantages)->advantages && !q_release_terms(values)->advantages);
    cr_expect_lt(q_release_terms(advantages)->sigma, 0.006 * q_release_terms(values)->sigma);
    double level = 0, mean = 0;
    for (int i = 0; i < 100; i++) {
        double state[2] = {i % 10 / 9.0, i / 99.0}, q[2], a[2];
        q_release_values(values, state, q, NULL);
        q_release_values(advantages, state, a, NULL);
        level += fabs(q[0] + q[1]) / 200;
        mean = fmax(mean, fabs(a[0] + a[1]) / 2);
    }
    cr_expect_lt(mean, 0.1 * level);
    q_release_free(values);
    q_release_free(advantages);
    dataset_free(data);
}

Test(gp_q_learning, one_expert_moves_the_mean_within_the_class)
{
    for (uint32_t form = 1; form <= 3; form++) {
        struct dataset *all = walks(1, NOBODY), *fewer = walks(1, 3);
        struct algorithm_request request = request_of(1);
        set(&request, GP_Q_FORM, form);
        set(&request, GP_Q_VALUE_LIMIT, 0.05);
        set(&request, GP_Q_LIPSCHITZ, 0.1);
        set(&request, GP_Q_RADIUS, 0.05);
        struct q_release *one = made(&request, all, 5), *other = made(&request, fewer, 5);
        double grid = q_release_terms(one)->sigma * 0x1p-11, most = 0;
        for (int i = 0; i <= 64; i++) {
            double x = i / 64.0, here[2], there[2];
            q_release_values(one, &x, here, NULL);
            q_release_values(other, &x, there, NULL);
            for (int a = 0; a < 2; a++)
                most = fmax(most, fabs(here[a] - there[a]));
        }
        /* The same noise in both: only the mean has moved. Coefficients' grids add up. */
        cr_expect_leq(most, 2 * 0.05 / 10 + (form == 2 ? 12 : 1) * grid, "form %u", form);
        q_release_free(one);
        q_release_free(other);
        dataset_free(all);
        dataset_free(fewer);
    }
}

Test(gp_q_learning, every_form_answers_the_same_from_its_bytes)
{
    struct dataset *data = walks(2, NOBODY);
    struct algorithm_request request = request_of(2);
    for (uint32_t form = 2; form <= 3; form++) {
        set(&request, GP_Q_FORM, form);
        struct q_release *release = made(&request, data, 9), *other = made(&request, data, 10);
        cr_expect_eq((q_release_network(release) != NULL), form == 2);
        unsigned char *bytes = NULL;
        size_t size = 0;
        bytes = q_release_to_bytes(release, &size);
        struct q_release *again = q_release_from_bytes(q_release_terms(release), bytes, size);
        cr_assert_not_null(again);
        bool differs = false;
        for (int i = 0; i < 50; i++) {
            double state[2] = {i / 50.0, 1 - i / 70.0}, a[2], b[2], c[2];
            q_release_values(release, state, a, NULL);
            q_release_values(again, state, b, NULL);
            q_release_values(other, state, c, NULL);
            cr_expect_arr_eq(a, b, sizeof a);
            differs = differs || a[0] != c[0];
        }
        cr_expect(differs);
        free(bytes);
        q_release_free(release);
        q_release_free(again);
        q_release_free(other);
    }
    dataset_free(data);
}

Test(gp_q_learning, settings_that_do_not_fit_are_named)
{
    static const struct {
        enum gp_q_parameter which;
        double value;
        uint32_t dim;
        const char *word;
    } bad[] = {{GP_Q_FORM, 1, 2, "path"},
               {GP_Q_LOW, 1, 1, "low"},
               {GP_Q_KNOT_BITS, 24, 1, "knot_bits"},
               {GP_Q_LIPSCHITZ, 1e-9, 1, "lipschitz"},
               {GP_Q_FEATURES, 2, 2, "features"},
               {GP_Q_VALUE_LIMIT, 1e12, 1, "value_limit"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct algorithm_request request = request_of(bad[i].dim);
        set(&request, bad[i].which, bad[i].value);
        struct algorithm_plan plan;
        const char *message = NULL;
        cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
        cr_expect(message != NULL && strstr(message, bad[i].word) != NULL, "%s: %s", bad[i].word,
                  message);
    }
    struct algorithm_request request = request_of(2);
    request.parameters.value[GP_Q_HIGH].count = 3;
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
    request = request_of(2);
    set(&request, GP_Q_FORM, 3);
    set(&request, GP_Q_NODES, 1000);
    cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
    /* More noise and points than the lattice of a path can have: said before anything is spent. */
    request = request_of(1);
    set(&request, GP_Q_BITS, 24);
    request.epsilon = request.delta = 1e-6;
    cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
    cr_expect(strstr(message, "bits must be fewer"), "%s", message);
    set(&request, GP_Q_BITS, 6);
    cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_OK, "%s",
                 message);
    request = request_of(1);
    request.epsilon = 1e-9;
    cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
}

static bool never_opens(const struct env *env, void *state)
{
    (void)env;
    (void)state;
    return false;
}

static void nothing_to_close(void *state)
{
    (void)state;
}

Test(gp_q_reward, a_world_that_does_not_open_is_said_so)
{
    struct env closed = *env_find("cartpole");
    closed.open = never_opens;
    closed.close = nothing_to_close;
    closed.step_lanes = NULL; /* those hold no resource */
    struct algorithm_request request = {.mechanism = MECHANISM_GAUSSIAN_PROCESS,
                                        .epsilon = 1,
                                        .delta = 1e-5,
                                        .state_dim = 4,
                                        .action_count = 2,
                                        .protects_rewards = true,
                                        .world = &closed};
    algorithm_defaults(&gp_q_learning_algorithm, "cartpole", &request.parameters);
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = NULL;
    cr_assert_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    const struct algorithm_run run = {.request = &request, .plan = &plan};
    cr_expect_eq(gp_q_learning_algorithm.train(&run, &policy, &message), ALGORITHM_BAD_INPUT);
    cr_expect_str_eq(message, "the world did not open");
}
