/* What every offline algorithm owes to the shared trainer: the joint clip, checkpoints under every
 * optimiser, broken data, truncation. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/nn/optimizer.h"
#include "algos/offline/dp_trainer.h"
#include "algos/privacy/noise/noise_source.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 9, MOST = 256 };

/* The learners of the table that learn from data. */
static const char *algorithms[16];
static int algorithm_count;

static void find_algorithms(void)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned a = 0; a < count; a++)
        if (all[a]->kind == ALGORITHM_LEARNS_FROM_DATA)
            algorithms[algorithm_count++] = all[a]->name;
    cr_assert_gt(algorithm_count, 0);
}

TestSuite(offline_algorithms, .init = find_algorithms);

/* One transition per expert, so that an expert's gradient is no matter of luck. */
static struct dataset *one_each(uint64_t seed)
{
    struct dataset *data = kit_data(EXPERTS, seed);
    for (uint64_t i = 0; i < data->transition_count; i++) {
        uint64_t first = i / KIT_LENGTH * KIT_LENGTH;
        data->state_row[i] = data->state_row[first];
        data->actions[i] = data->actions[first];
        data->rewards[i] = data->rewards[first];
        data->terminated[i] = first / KIT_LENGTH % 2;
    }
    return data;
}

static double norm_of(const double *v, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

/* The sum that ghost norms give, against every expert's own gradient, clipped by hand over all
 * weights together. */
static void compare_clipping(const char *name)
{
    struct kit kit;
    double sum[MOST], expected[MOST] = {0}, one[MOST];
    kit_init(&kit, name, MECHANISM_DPSGD, EXPERTS);
    kit_one_step(&kit, 1e3);
    size_t count = kit.plan.parameter_count;
    cr_assert_leq(count, MOST);
    struct dataset *data = one_each(21);
    const double clip = 1.1;
    int clipped = 0;
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct dataset *alone = kit_expert(data, e);
        alone->state_row[1] = alone->state_row[2] = alone->state_row[3] = alone->state_row[4] = 0;
        kit_gradient(&kit, alone, one);
        double norm = norm_of(one, count);
        clipped += norm > clip;
        for (size_t i = 0; i < count; i++)
            expected[i] += one[i] * fmin(1.0, clip / norm);
        dataset_free(alone);
    }
    cr_assert(clipped > 0 && clipped < EXPERTS, "%s: %d of %d were clipped", name, clipped,
              EXPERTS);
    kit.plan.privacy.clip_norm = clip;
    kit_gradient(&kit, data, sum);
    for (size_t i = 0; i < count; i++)
        cr_assert_float_eq(sum[i], expected[i], 1e-5, "%s: weight %zu: %g, %g", name, i, sum[i],
                           expected[i]);
    dataset_free(data);
}

Test(offline_algorithms, ghost_norms_clip_as_explicit_gradients_do)
{
    for (int i = 0; i < algorithm_count; i++)
        compare_clipping(algorithms[i]);
}

/* ---- interruption */

struct pauses {
    uint64_t after;
    unsigned char *bytes;
    size_t size;
};

static enum algorithm_pulse pulse(void *context, uint64_t steps_done)
{
    const struct pauses *p = context;
    return steps_done >= p->after ? PULSE_SAVE_AND_PAUSE : PULSE_CONTINUE;
}

static bool save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct pauses *p = context;
    (void)steps_done;
    p->bytes = malloc(size);
    cr_assert_not_null(p->bytes);
    memcpy(p->bytes, bytes, size);
    p->size = size;
    return true;
}

/* Paused at every pulse from the first on and resumed from the bytes; the noise goes on. */
static struct policy *train_in_parts(const struct kit *kit, const struct dataset *data)
{
    const uint8_t key[32] = {1};
    struct noise_source *noise = noise_source_new_injected(key);
    struct pauses pauses = {0};
    struct algorithm_run run = {.request = &kit->request,
                                .plan = &kit->plan,
                                .data = data,
                                .noise = noise,
                                .hooks = {.context = &pauses, .pulse = pulse, .save = save}};
    struct policy *policy = NULL;
    const char *message = NULL;
    int parts = 0;
    for (enum algorithm_status status = ALGORITHM_PAUSED; status != ALGORITHM_OK; parts++) {
        unsigned char *borrowed = pauses.bytes;
        run.checkpoint = borrowed;
        run.checkpoint_size = pauses.size;
        pauses.bytes = NULL;
        status = kit->algorithm->train(&run, &policy, &message);
        free(borrowed);
        cr_assert(status == ALGORITHM_OK || status == ALGORITHM_PAUSED, "%s", message);
    }
    cr_assert_geq(parts, 3);
    noise_source_free(noise);
    return policy;
}

static void interrupt(const char *name, enum algorithm_mechanism mechanism, double optimizer,
                      double polyak, double arithmetic)
{
    struct kit kit;
    kit_init(&kit, name, mechanism, EXPERTS);
    kit_set(&kit, "optimizer", optimizer);
    kit_set(&kit, "arithmetic", arithmetic);
    kit_set(&kit, "momentum", polyak > 0.0 ? 0.0 : 0.9);
    kit_set(&kit, "learning_rate", 1e-3);
    kit_set(&kit, "rate_schedule", RATE_COSINE);
    kit_set(&kit, "warmup_steps", 1500);
    kit_set(&kit, "steps", 2500);
    if (kit_has(&kit, "polyak_tau"))
        kit_set(&kit, "polyak_tau", polyak);
    kit_plan(&kit);
    struct dataset *data = kit_data(EXPERTS, 2);
    struct policy *whole = kit_train(&kit, data, 1), *parts = train_in_parts(&kit, data);
    cr_assert_eq(
        memcmp(whole->parameters, parts->parameters, kit.plan.parameter_count * sizeof(float)), 0,
        "%s, optimizer %g, polyak %g", name, optimizer, polyak);
    policy_free(whole);
    policy_free(parts);
    dataset_free(data);
}

Test(offline_algorithms, interrupted_runs_end_where_whole_ones_do)
{
    for (int i = 0; i < algorithm_count; i++) {
        for (int mechanism = MECHANISM_NONE; mechanism <= MECHANISM_DPSGD; mechanism++) {
            interrupt(algorithms[i], (enum algorithm_mechanism)mechanism, OPTIMIZER_SGD, 0.0, 0);
            interrupt(algorithms[i], (enum algorithm_mechanism)mechanism, OPTIMIZER_SGD, 0.01, 0);
            interrupt(algorithms[i], (enum algorithm_mechanism)mechanism, OPTIMIZER_ADAM, 0.0, 0);
        }
        interrupt(algorithms[i], MECHANISM_DPSGD, OPTIMIZER_ADAM, 0.0, 1);
    }
}

/* ---- exact arithmetic */

static void settings_exact(struct kit *kit, const char *name, double arithmetic)
{
    kit_init(kit, name, MECHANISM_DPSGD, EXPERTS);
    kit_set(kit, "arithmetic", arithmetic);
    kit_set(kit, "optimizer", OPTIMIZER_SGD);
    kit_set(kit, "momentum", 0);
    kit_set(kit, "batch_size", EXPERTS);
    kit_set(kit, "average_decay", 0);
    kit_set(kit, "steps", 1);
    kit_set(kit, "learning_rate", 1);
    kit_plan(kit);
    kit->plan.privacy.noise_multiplier = 0.05;
    kit->plan.privacy.clip_norm = 0.1;
}

/* One step with little noise: float and exact arithmetic give the same sum but for noise, of which
 * both have 0.05 * 0.1 on each of 9 experts' shares. Six deviations of the difference. */
Test(offline_algorithms, exact_arithmetic_sums_the_same_gradients)
{
    for (int i = 0; i < algorithm_count; i++) {
        struct kit kit;
        settings_exact(&kit, algorithms[i], 0);
        struct dataset *data = one_each(4);
        struct policy *real = kit_train(&kit, data, 1);
        settings_exact(&kit, algorithms[i], 1);
        cr_assert_eq(kit.plan.privacy.rounded_draws, kit.plan.parameter_count);
        struct policy *whole = kit_train(&kit, data, 1);
        double most = 6.0 * sqrt(2.0) * 0.05 * 0.1 / EXPERTS * 10.0; /* times input_scale */
        bool equal = true;
        for (size_t w = 0; w < kit.plan.parameter_count; w++) {
            cr_assert_float_eq(real->parameters[w], whole->parameters[w], most, "%s: weight %zu",
                               algorithms[i], w);
            equal = equal && real->parameters[w] == whole->parameters[w];
        }
        cr_assert_not(equal);
        policy_free(real);
        policy_free(whole);
        dataset_free(data);
    }
}

Test(offline_algorithms, exact_arithmetic_asks_for_a_plan_that_pays_for_it)
{
    struct kit kit;
    settings_exact(&kit, "cql", 1);
    struct dataset *data = kit_data(EXPERTS, 4);
    const struct algorithm_run run = {.request = &kit.request, .plan = &kit.plan, .data = data};
    struct policy *policy = NULL;
    const char *message = NULL;
    kit.plan.privacy.rounded_draws--;
    cr_assert_eq(kit.algorithm->train(&run, &policy, &message), ALGORITHM_BAD_INPUT);
    cr_assert_str_eq(message, "the plan does not fit exact arithmetic");
    dataset_free(data);
}

/* ---- broken data, and what a step limit means */

Test(offline_algorithms, broken_examples_contribute_nothing)
{
    for (int i = 0; i < algorithm_count; i++) {
        struct kit kit;
        double sum[MOST];
        kit_init(&kit, algorithms[i], MECHANISM_DPSGD, EXPERTS);
        kit_one_step(&kit, 1.0);
        struct dataset *data = kit_data(EXPERTS, 5);
        for (uint64_t row = 0; row < data->transition_count + data->trajectory_count; row++)
            data->states[row * KIT_DIM] = row % 2 ? NAN : INFINITY;
        kit_gradient(&kit, data, sum);
        cr_expect_lt(norm_of(sum, kit.plan.parameter_count), 1e-6, "%s", algorithms[i]);
        dataset_free(data);
    }
}

/* Steps that grow without bound end a run with a sentence of the closed list, not with a policy. */
Test(offline_algorithms, weights_without_bound_are_no_policy)
{
    for (int i = 0; i < algorithm_count; i++) {
        struct kit kit;
        kit_init(&kit, algorithms[i], MECHANISM_DPSGD, EXPERTS);
        kit_set(&kit, "optimizer", OPTIMIZER_SGD);
        kit_set(&kit, "learning_rate", 10);
        kit_set(&kit, "clip_norm", 1e6);
        kit_set(&kit, "momentum", 0.9999);
        kit_set(&kit, "rate_schedule", RATE_CONSTANT);
        kit_set(&kit, "steps", 30000);
        kit.request.epsilon = 0.01;
        kit_plan(&kit);
        struct dataset *data = kit_data(EXPERTS, 5);
        kit.plan.privacy.noise_multiplier = 1e26; /* what is needed to leave float in this time */
        const struct algorithm_run run = {.request = &kit.request, .plan = &kit.plan, .data = data};
        struct policy *policy = NULL;
        const char *message = NULL;
        cr_assert_eq(kit.algorithm->train(&run, &policy, &message), ALGORITHM_BAD_INPUT, "%s",
                     algorithms[i]);
        cr_assert_str_eq(message, "the weights grew without bound; a smaller learning rate helps");
        cr_assert_null(policy);
        dataset_free(data);
    }
}

/* What learns values bootstraps where a limit cut the episode, and only there. */
Test(offline_algorithms, truncation_bootstraps_and_termination_does_not)
{
    for (int i = 0; i < algorithm_count; i++) {
        if (algorithm_find(algorithms[i])->target != TARGET_VALUES)
            continue;
        struct kit kit;
        double cut[MOST], cut_twice[MOST], ended[MOST], ended_twice[MOST];
        kit_init(&kit, algorithms[i], MECHANISM_DPSGD, EXPERTS);
        kit_one_step(&kit, 1e6);
        size_t count = kit.plan.parameter_count;
        struct dataset *data = one_each(8);
        memset(data->terminated, 0, data->transition_count);
        kit_gradient(&kit, data, cut);
        kit.request.discount = 0.1;
        kit_gradient(&kit, data, cut_twice);
        memset(data->terminated, 1, data->transition_count);
        kit_gradient(&kit, data, ended);
        kit.request.discount = 0.9;
        kit_gradient(&kit, data, ended_twice);
        cr_expect_arr_eq(ended, ended_twice, count * sizeof *ended, "%s", algorithms[i]);
        cr_expect_arr_neq(cut, cut_twice, count * sizeof *ended, "%s", algorithms[i]);
        dataset_free(data);
    }
}

/* ---- the batches of a run: binomial */

/* 20 experts at rate 1/5, 4,000 batches: the mean within 5 deviations (0.14), the variance of
 * Binomial(20, 1/5), 3.2, within 5 of its own (0.36). A false alarm once in a million. */
Test(offline_algorithms, batch_sizes_have_the_law_of_poisson_sampling)
{
    enum { SLOTS = 20, BATCHES = 4000 };
    const struct dp_sgd_plan plan = {.sampling_rate = 0.2, .batch_size = 4, .nominal_experts = 20};
    const uint8_t key[32] = {6};
    struct noise_source *noise = noise_source_new_injected(key);
    double sum = 0.0, squares = 0.0;
    uint32_t chosen[SLOTS], hits[SLOTS] = {0};
    for (int i = 0; i < BATCHES; i++) {
        uint32_t size = dp_sgd_plan_draw_batch(&plan, noise, SLOTS, chosen);
        sum += size;
        squares += (double)size * size;
        for (uint32_t j = 0; j < size; j++)
            hits[chosen[j]]++;
    }
    double mean = sum / BATCHES, variance = squares / BATCHES - mean * mean;
    cr_expect_float_eq(mean, 4.0, 0.14);
    cr_expect_float_eq(variance, 3.2, 0.36);
    for (int e = 0; e < SLOTS; e++) /* each 800 +- 25; six deviations */
        cr_expect_float_eq(hits[e], 800.0, 152.0);
    noise_source_free(noise);
}
