/* The shared trainer, seen through conservative Q-learning: what one expert can move, what broken
 * data do, and that an interrupted run ends where an uninterrupted one does. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/optimizer.h"
#include "algos/offline/cql.h"
#include "algos/offline/offline.h"
#include "algos/offline/trainer_draw.h"
#include "algos/offline/trainer_state.h"

enum { EXPERTS = 12, DIM = 4, STEPS = 9000 };

struct fixture {
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct dataset *data;
    struct noise_source *noise;
    struct algorithm_run run;
    /* hooks */
    uint64_t pause_after;
    unsigned char *checkpoint;
    size_t checkpoint_size;
    enum algorithm_pulse answer;
};

static struct dataset *make_data(uint32_t experts, float scale, float reward)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, experts);
    cr_assert_not_null(builder);
    struct rng rng;
    rng_seed(&rng, 77, 0);
    for (uint32_t e = 0; e < experts; e++) {
        float states[11 * DIM], rewards[10];
        uint16_t actions[10];
        for (int i = 0; i < 11 * DIM; i++)
            states[i] = scale * (float)rng_normal(&rng);
        for (int i = 0; i < 10; i++) {
            rewards[i] = reward;
            actions[i] = states[i * DIM] > 0;
        }
        const struct trajectory trajectory = {.expert = e,
                                              .length = 10,
                                              .terminated = true,
                                              .states = states,
                                              .actions = actions,
                                              .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &trajectory));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

static void set(struct fixture *f, const char *name, double value)
{
    int index = parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, name);
    cr_assert_geq(index, 0);
    f->request.parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

static void fresh_noise(struct fixture *f)
{
    const uint8_t key[32] = {9};
    noise_source_free(f->noise);
    f->noise = noise_source_new_injected(key);
    cr_assert_not_null(f->noise);
    f->run.noise = f->noise;
}

static void setup(struct fixture *f, enum algorithm_mechanism mechanism)
{
    memset(f, 0, sizeof *f);
    f->request = (struct algorithm_request){.mechanism = mechanism,
                                            .epsilon = 5,
                                            .delta = 1e-3,
                                            .discount = 0.9,
                                            .state_dim = DIM,
                                            .action_count = 2,
                                            .nominal_experts = EXPERTS,
                                            .seed = 3};
    parameters_defaults(cql_algorithm.parameters, cql_algorithm.parameter_count,
                        &f->request.parameters);
    set(f, "hidden", 8);
    set(f, "arithmetic", 0); /* so that tests may make the noise vanish */
    set(f, "batch_size", 4);
    set(f, "steps", STEPS);
    set(f, "full_weight_transitions", 10);
    f->data = make_data(EXPERTS, 1.0F, 1.0F);
    f->run = (struct algorithm_run){
        .request = &f->request, .plan = &f->plan, .data = f->data, .hooks = {.context = f}};
    fresh_noise(f);
}

/* A private run on one expert, whose gradients are all clipped. */
static void setup_one_absurd_expert(struct fixture *f)
{
    setup(f, MECHANISM_DPSGD);
    dataset_free(f->data);
    f->run.data = f->data = make_data(1, 1000.0F, 1e6F);
}

static void teardown(struct fixture *f)
{
    dataset_free(f->data);
    noise_source_free(f->noise);
    free(f->checkpoint);
}

static void make_plan(struct fixture *f)
{
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&f->request, &f->plan, &message), ALGORITHM_OK);
}

static struct policy *train(struct fixture *f)
{
    struct policy *policy = NULL;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.train(&f->run, &policy, &message), ALGORITHM_OK, "%s", message);
    cr_assert_not_null(policy);
    return policy;
}

static enum algorithm_status train_status(struct fixture *f)
{
    struct policy *policy = NULL;
    const char *message = NULL;
    enum algorithm_status status = cql_algorithm.train(&f->run, &policy, &message);
    cr_assert_null(policy);
    return status;
}

static enum algorithm_pulse pulse(void *context, uint64_t steps_done)
{
    struct fixture *f = context;
    return steps_done >= f->pause_after ? f->answer : PULSE_CONTINUE;
}

static bool save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct fixture *f = context;
    (void)steps_done;
    free(f->checkpoint);
    f->checkpoint = malloc(size);
    cr_assert_not_null(f->checkpoint);
    memcpy(f->checkpoint, bytes, size);
    f->checkpoint_size = size;
    return true;
}

static void interrupt_and_continue(enum algorithm_mechanism mechanism)
{
    struct fixture f;
    setup(&f, mechanism);
    make_plan(&f);
    struct policy *whole = train(&f);
    fresh_noise(&f);
    f.run.hooks.pulse = pulse;
    f.run.hooks.save = save;
    f.answer = PULSE_SAVE_AND_PAUSE;
    int pauses = 0;
    struct policy *parts = NULL;
    for (enum algorithm_status status = ALGORITHM_PAUSED; status != ALGORITHM_OK; pauses++) {
        const char *message = NULL;
        f.pause_after = 2500 * (uint64_t)(pauses + 1);
        f.run.checkpoint = f.checkpoint;
        f.run.checkpoint_size = f.checkpoint_size;
        unsigned char *borrowed = f.checkpoint;
        f.checkpoint = NULL;
        status = cql_algorithm.train(&f.run, &parts, &message);
        free(borrowed);
        cr_assert(status == ALGORITHM_OK || status == ALGORITHM_PAUSED);
        cr_assert_lt(pauses, 10);
    }
    cr_assert_geq(pauses, 3);
    cr_assert_eq(
        memcmp(whole->parameters, parts->parameters, f.plan.parameter_count * sizeof(float)), 0);
    policy_free(whole);
    policy_free(parts);
    teardown(&f);
}

Test(trainer, interrupted_private_run_ends_where_the_whole_one_does)
{
    interrupt_and_continue(MECHANISM_DPSGD);
}

Test(trainer, interrupted_plain_run_ends_where_the_whole_one_does)
{
    interrupt_and_continue(MECHANISM_NONE);
}

static void take_checkpoint(struct fixture *f)
{
    f->run.hooks.pulse = pulse;
    f->run.hooks.save = save;
    f->answer = PULSE_SAVE_AND_PAUSE;
    cr_assert_eq(train_status(f), ALGORITHM_PAUSED);
    cr_assert_not_null(f->checkpoint);
    f->run.checkpoint = f->checkpoint;
    f->run.checkpoint_size = f->checkpoint_size;
    f->run.hooks = (struct algorithm_hooks){0};
}

Test(trainer, damaged_checkpoints_are_refused)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    make_plan(&f);
    take_checkpoint(&f);
    for (size_t i = 0; i < f.checkpoint_size; i++) {
        f.checkpoint[i] ^= 4;
        cr_assert_eq(train_status(&f), ALGORITHM_BAD_CHECKPOINT, "byte %zu", i);
        f.checkpoint[i] ^= 4;
    }
    f.run.checkpoint_size--;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_CHECKPOINT);
    f.run.checkpoint_size = 3;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_CHECKPOINT);
    f.run.checkpoint_size = f.checkpoint_size;
    policy_free(train(&f));
    teardown(&f);
}

/* What audits read of a checkpoint. */
Test(trainer, weights_are_read_of_whole_checkpoints_alone)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    make_plan(&f);
    take_checkpoint(&f);
    const size_t count = f.plan.parameter_count;
    float *weights = calloc(count, sizeof *weights);
    cr_assert_not_null(weights);
    cr_assert(trainer_state_weights(f.checkpoint, f.checkpoint_size, count, weights));
    cr_expect_neq(weights[0], 0.0F);
    cr_expect_not(trainer_state_weights(f.checkpoint, f.checkpoint_size, count - 1, weights));
    cr_expect_not(trainer_state_weights(f.checkpoint, f.checkpoint_size - 1, count, weights));
    cr_expect_not(trainer_state_weights(f.checkpoint, 3, count, weights));
    for (size_t i = 0; i < f.checkpoint_size; i += 7) {
        f.checkpoint[i] ^= 4;
        cr_expect_not(trainer_state_weights(f.checkpoint, f.checkpoint_size, count, weights),
                      "byte %zu", i);
        f.checkpoint[i] ^= 4;
    }
    free(weights);
    teardown(&f);
}

Test(trainer, checkpoint_of_another_plan_is_refused)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    make_plan(&f);
    take_checkpoint(&f);
    struct algorithm_plan kept = f.plan;
    f.plan.privacy.noise_multiplier *= 2.0;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_CHECKPOINT);
    f.plan = kept;
    f.request.seed++;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_CHECKPOINT);
    f.request.seed--;
    set(&f, "alpha", 2.5);
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_CHECKPOINT);
    teardown(&f);
}

Test(trainer, cancel_stops_and_gives_nothing)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    make_plan(&f);
    f.run.hooks.pulse = pulse;
    f.answer = PULSE_CANCEL;
    cr_assert_eq(train_status(&f), ALGORITHM_CANCELLED);
    f.answer = PULSE_SAVE; /* but there is no way to save */
    cr_assert_eq(train_status(&f), ALGORITHM_PAUSED);
    teardown(&f);
}

/* STEPS steps of plain gradient descent at rate 1: how far the weights move from where they begin,
 * for which they are trained on nothing. */
static double distance(struct fixture *f, double noise, double steps, double sampling_rate)
{
    set(f, "optimizer", OPTIMIZER_SGD);
    set(f, "momentum", 0);
    set(f, "learning_rate", 1);
    set(f, "final_rate_fraction", 1);
    set(f, "average_decay", 0);
    set(f, "input_scale", 1);
    set(f, "clip_norm", 0.25);
    set(f, "steps", steps);
    set(f, "noise_multiplier", 1e6);
    make_plan(f);
    f->plan.privacy.noise_multiplier = noise;
    f->plan.privacy.sampling_rate = sampling_rate;
    f->plan.privacy.batch_size = 1;
    struct policy *after = train(f);
    struct dataset *full = f->data;
    struct dataset *empty = dataset_builder_finish(dataset_builder_new(DIM, 2, EXPERTS));
    cr_assert_not_null(empty);
    f->run.data = empty; /* noise alone, next to none: the initial weights */
    fresh_noise(f);
    struct policy *before = train(f);
    f->run.data = full;
    double sum = 0.0;
    for (size_t i = 0; i < f->plan.parameter_count; i++) {
        double d = (double)after->parameters[i] - (double)before->parameters[i];
        sum += d * d;
    }
    policy_free(before);
    policy_free(after);
    dataset_free(empty);
    return sqrt(sum);
}

/* One step with next to no noise: the norm of the batch's clipped sum. */
static double one_step_distance(struct fixture *f, double noise)
{
    return distance(f, noise, 1, 1.0);
}

Test(trainer, one_expert_moves_the_sum_by_no_more_than_the_clip_norm)
{
    struct fixture f;
    setup_one_absurd_expert(&f);
    double distance = one_step_distance(&f, 1e-9);
    cr_assert_lt(distance, 0.25 * 1.001);
    cr_assert_gt(distance, 0.24, "the clip was reached");
    teardown(&f);
}

/* One expert, who is there in one step of twenty: of sixty steps more than ten with a probability
 * below 1e-3, and the key is fixed. Were a sum used twice, the weights would go on with each. */
Test(trainer, an_empty_batch_moves_nothing)
{
    struct fixture f;
    setup_one_absurd_expert(&f);
    double moved = distance(&f, 1e-9, 60, 0.05);
    cr_assert_gt(moved, 0.2, "%g", moved);
    cr_assert_lt(moved, 10 * 0.25, "%g", moved);
    teardown(&f);
}

Test(trainer, an_expert_with_little_data_weighs_less)
{
    struct fixture f;
    setup_one_absurd_expert(&f);
    set(&f, "full_weight_transitions", 20);
    set(&f, "weight_power", 2);
    double distance = one_step_distance(&f, 1e-9);
    cr_assert_float_eq(distance, 0.25 / 4.0, 1e-3);
    teardown(&f);
}

/* One trajectory of return R on a scale of 0 to 2 R: half the way, squared. */
Test(trainer, an_expert_of_lower_returns_weighs_less)
{
    static const struct {
        double low, high, power, weight; /* in returns of the expert */
    } cases[] = {{0, 2, 2, 0.25}, {0, 1, 5, 1}, {-1, 1, 1, 1},  {1, 2, 1, 0},
                 {2, 3, 1, 0},    {0, 4, 0, 1}, {0, 4, 1, 0.25}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        setup_one_absurd_expert(&f);
        double sum = 0.0;
        for (uint64_t k = 0; k < f.data->transition_count; k++)
            sum += (double)f.data->rewards[k];
        cr_assert(sum > 0.0 && f.data->trajectory_count == 1);
        set(&f, "return_low", cases[i].low * sum);
        set(&f, "return_high", cases[i].high * sum);
        set(&f, "return_power", cases[i].power);
        double distance = one_step_distance(&f, 1e-9);
        cr_expect_float_eq(distance, 0.25 * cases[i].weight, 1e-3, "%zu: %g", i, distance);
        teardown(&f);
    }
}

/* Returns that are not finite are no returns: the expert weighs nothing. */
Test(trainer, an_expert_without_a_finite_return_weighs_nothing)
{
    struct fixture f;
    setup_one_absurd_expert(&f);
    f.data->rewards[0] = INFINITY;
    f.data->rewards[1] = -INFINITY;
    set(&f, "return_power", 1);
    cr_expect_lt(one_step_distance(&f, 1e-9), 1e-6);
    teardown(&f);
}

/* The mean over an expert's trajectories, however long each is. */
Test(trainer, a_mean_return_is_that_of_whole_trajectories)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    dataset_free(f.data);
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, 1);
    float states[6 * DIM];
    const uint16_t actions[5] = {0};
    const float rewards[5] = {1e6F, 1e6F, 1e6F, 1e6F, 1e6F};
    for (int i = 0; i < 6 * DIM; i++)
        states[i] = 1000.0F;
    for (uint32_t length = 1; length <= 5; length += 2) { /* returns of 1, 3 and 5 million */
        const struct trajectory one = {.length = length,
                                       .terminated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &one));
    }
    f.run.data = f.data = dataset_builder_finish(builder);
    set(&f, "full_weight_transitions", 1);
    set(&f, "return_low", 2e6);
    set(&f, "return_high", 4e6);
    set(&f, "return_power", 1);
    cr_expect_float_eq(one_step_distance(&f, 1e-9), 0.25 / 2.0, 1e-3);
    teardown(&f);
}

enum { MIXED = 5, VISITS = 12 }; /* experts, and trajectories of all of them */

/* VISITS trajectories of MIXED experts in an order that SEED decides, without those of expert GONE.
 */
static struct dataset *mixed_data(uint64_t seed, uint32_t gone)
{
    struct dataset_builder *builder = dataset_builder_new(1, 2, MIXED);
    const float states[4] = {0};
    const uint16_t actions[3] = {0};
    struct rng rng;
    rng_seed(&rng, seed, 0);
    for (int i = 0; i < VISITS; i++) {
        float rewards[3];
        uint32_t expert = (uint32_t)(rng_next(&rng) % MIXED);
        uint32_t length = 1 + (uint32_t)(rng_next(&rng) % 3);
        for (int t = 0; t < 3; t++)
            rewards[t] = (float)rng_uniform(&rng);
        const struct trajectory one = {.expert = expert,
                                       .length = length,
                                       .truncated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(expert == gone || dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

/* Whoever else's trajectories lie between an expert's own: otherwise one expert would move the
 * clipped sum by more than its own vector. */
Test(trainer, an_experts_weight_is_its_own_whoever_is_removed)
{
    const struct trainer_settings settings = {.batch_size = 1,
                                              .transitions_per_expert = 1,
                                              .full_weight_transitions = 4,
                                              .weight_power = 0.5,
                                              .return_high = 5.0,
                                              .return_power = 1.0};
    int apart = 0; /* experts that came back after another one */
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct dataset *all = mixed_data(seed, MIXED);
        struct trainer_draw whole;
        trainer_draw_init(&whole, &settings, all);
        for (uint32_t gone = 0; gone < MIXED; gone++) {
            struct dataset *rest = mixed_data(seed, gone);
            struct trainer_draw draw;
            trainer_draw_init(&draw, &settings, rest);
            for (uint32_t e = 0; e < MIXED; e++)
                cr_expect(e == gone || draw.expert_weights[e] == whole.expert_weights[e],
                          "seed %d without %u: %g, not %g", (int)seed, gone,
                          (double)draw.expert_weights[e], (double)whole.expert_weights[e]);
            trainer_draw_clear(&draw);
            dataset_free(rest);
        }
        for (uint64_t t = 1; t < all->transition_count; t++)
            apart += all->state_row[t] > all->state_row[t - 1] + 2;
        trainer_draw_clear(&whole);
        dataset_free(all);
    }
    cr_expect_gt(apart, 100);
}

Test(trainer, broken_examples_contribute_nothing)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    for (uint64_t i = 0; i < f.data->transition_count; i++)
        f.data->rewards[i] = NAN;
    cr_assert_lt(one_step_distance(&f, 1e-9), 1e-6);
    for (uint64_t i = 0; i < f.data->transition_count; i++) {
        f.data->rewards[i] = 1.0F;
        f.data->states[f.data->state_row[i] * DIM] = i % 2 ? NAN : INFINITY;
    }
    fresh_noise(&f);
    cr_assert_lt(one_step_distance(&f, 1e-9), 1e-6);
    teardown(&f);
}

Test(trainer, a_step_adds_noise_of_the_planned_size)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    for (uint64_t i = 0; i < f.data->transition_count; i++)
        f.data->rewards[i] = NAN; /* noise is all that is left */
    double moved = 0.0;
    enum { TRIALS = 40 };
    set(&f, "optimizer", OPTIMIZER_SGD);
    for (int i = 0; i < TRIALS; i++) {
        const uint8_t key[32] = {(uint8_t)i, 1};
        noise_source_free(f.noise);
        f.noise = f.run.noise = noise_source_new_injected(key);
        cr_assert_not_null(f.noise);
        double distance = one_step_distance(&f, 8.0);
        moved += distance * distance;
    }
    /* Both runs of a trial draw noise of deviation 8 * 0.25; their keys differ. */
    double expected = 2.0 * 4.0 * (double)f.plan.parameter_count;
    cr_assert_float_eq(moved / TRIALS / expected, 1.0, 0.3);
    teardown(&f);
}

Test(trainer, batches_larger_than_a_chunk_are_summed_whole)
{
    enum { MANY = 700 };
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    dataset_free(f.data);
    f.data = make_data(MANY, 1.0F, 1.0F);
    f.run.data = f.data;
    /* Every expert the same one transition: the sum is MANY times one clipped gradient. */
    for (uint64_t i = 0; i < f.data->transition_count; i++) {
        f.data->state_row[i] = 0;
        f.data->actions[i] = 1;
        f.data->terminated[i] = 1;
        f.data->rewards[i] = 1e6F;
    }
    double distance = one_step_distance(&f, 1e-9);
    cr_assert_float_eq(distance / (0.25 * MANY), 1.0, 1e-3);
    teardown(&f);
}

/* Two experts of one repeated transition each, 10 and 40 times: their gradients are constants. */
static struct dataset *two_experts(void)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, 2);
    cr_assert_not_null(builder);
    float states[11 * DIM] = {0}, rewards[10] = {0};
    uint16_t actions[10] = {0};
    struct trajectory trajectory = {
        .length = 10, .states = states, .actions = actions, .rewards = rewards};
    for (int i = 0; i < 5; i++) {
        trajectory.expert = i > 0;
        for (int j = 0; j < 11 * DIM; j++)
            states[j] = (i > 0 ? -1.0F : 2.0F) * (float)(1 + j % DIM);
        cr_assert(dataset_builder_add(builder, &trajectory));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    memset(data->terminated, 1, data->transition_count);
    for (uint64_t i = 0; i < data->transition_count; i++) {
        data->actions[i] = i < 10;
        data->rewards[i] = i < 10 ? 5.0F : 20.0F;
    }
    return data;
}

static void train_one_step(struct fixture *f, const struct dataset *data, float *out)
{
    f->run.data = data;
    f->request.seed = 3;
    fresh_noise(f);
    struct policy *policy = train(f);
    memcpy(out, policy->parameters, f->plan.parameter_count * sizeof *out);
    policy_free(policy);
}

Test(trainer, plain_and_private_steps_follow_the_same_weights)
{
    enum { MOST = 256, PLAIN_BATCH = 65536 };
    struct fixture f;
    float start[MOST], private[MOST], plain[MOST];
    setup(&f, MECHANISM_DPSGD);
    set(&f, "full_weight_transitions", 20);
    set(&f, "weight_power", 2);
    struct dataset *data = two_experts();
    struct dataset *empty = dataset_builder_finish(dataset_builder_new(DIM, 2, 2));
    cr_assert_not_null(empty);
    (void)one_step_distance(&f, 1e-12); /* for its settings */
    cr_assert_leq(f.plan.parameter_count, MOST);
    f.plan.privacy.clip_norm = 1e3; /* nothing is clipped */
    train_one_step(&f, empty, start);
    train_one_step(&f, data, private);
    f.request.mechanism = MECHANISM_NONE;
    set(&f, "batch_size", PLAIN_BATCH);
    train_one_step(&f, data, plain);
    double worst = 0.0, size = 0.0;
    for (size_t i = 0; i < f.plan.parameter_count; i++) {
        double expected = (double)private[i] - (double)start[i];
        double found = ((double)plain[i] - (double)start[i]) * 50.0 / 20.0;
        worst = fmax(worst, fabs(found - expected));
        size = fmax(size, fabs(expected));
    }
    cr_assert_gt(size, 0.01);
    cr_assert_lt(worst, 0.05 * size);
    dataset_free(empty);
    dataset_free(data);
    teardown(&f);
}

/* ---- several transitions of an expert, clipped once. With this multiplier the noise of whole
 * numbers is as small as it may be. */

#define LITTLE_NOISE 2e-5

Test(trainer, the_mean_of_an_experts_transitions_is_clipped_once)
{
    for (int exact = 0; exact < 2; exact++) {
        struct fixture f;
        setup(&f, MECHANISM_DPSGD);
        dataset_free(f.data);
        f.run.data = f.data = make_data(1, 1.0F, 1e6F); /* all clipped */
        set(&f, "arithmetic", exact);
        set(&f, "transitions_per_expert", 8);
        double distance = one_step_distance(&f, LITTLE_NOISE);
        cr_expect_lt(distance, 0.25 * 1.001, "%g", distance);
        cr_expect_gt(distance, 0.24, "the clip was reached: %g", distance);
        teardown(&f);
    }
}

/* Both experts have one transition, again and again: the mean of several is that one, though there
 * are fewer than are drawn. 250 rows are a chunk. */
Test(trainer, a_mean_of_equal_transitions_is_what_one_is)
{
    enum { MOST = 256, EACH = 50 };
    static const double each[] = {1, EACH};
    struct dataset *data = two_experts(), *empty;
    empty = dataset_builder_finish(dataset_builder_new(DIM, 2, 2));
    cr_assert_not_null(empty);
    for (int exact = 0; exact < 2; exact++) {
        float start[MOST], end[2][MOST];
        for (int i = 0; i < 2; i++) {
            struct fixture f;
            setup(&f, MECHANISM_DPSGD);
            set(&f, "arithmetic", exact);
            set(&f, "transitions_per_expert", each[i]);
            (void)one_step_distance(&f, LITTLE_NOISE); /* for its settings */
            cr_assert_leq(f.plan.parameter_count, MOST);
            train_one_step(&f, empty, start);
            train_one_step(&f, data, end[i]);
            teardown(&f);
        }
        double worst = 0.0, size = 0.0;
        for (size_t i = 0; i < (DIM + 1) * 8 + 9 * 2; i++) {
            worst = fmax(worst, fabs((double)end[0][i] - (double)end[1][i]));
            size = fmax(size, fabs((double)end[0][i] - (double)start[i]));
        }
        cr_expect_gt(size, 0.01);
        cr_expect_lt(worst, 0.02 * size, "%s: %g of %g", exact ? "exact" : "float", worst, size);
    }
    dataset_free(empty);
    dataset_free(data);
}

/* A chunk holds 36 groups of 7. */
Test(trainer, groups_are_not_torn_by_chunks)
{
    enum { MANY = 700 };
    for (int exact = 0; exact < 2; exact++) {
        struct fixture f;
        setup(&f, MECHANISM_DPSGD);
        dataset_free(f.data);
        f.run.data = f.data = make_data(MANY, 1.0F, 1.0F);
        for (uint64_t i = 0; i < f.data->transition_count; i++) {
            f.data->state_row[i] = 0;
            f.data->actions[i] = 1;
            f.data->terminated[i] = 1;
            f.data->rewards[i] = 1e6F;
        }
        set(&f, "arithmetic", exact);
        set(&f, "transitions_per_expert", 7);
        double distance = one_step_distance(&f, LITTLE_NOISE);
        cr_expect_float_eq(distance / (0.25 * MANY), 1.0, exact ? 2e-2 : 1e-3, "%g", distance);
        teardown(&f);
    }
}

Test(trainer, more_transitions_than_a_group_may_have_are_refused)
{
    static const double bad[] = {0, TRAINER_GROUP_MOST + 1, 1.5};
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *message = NULL;
        set(&f, "transitions_per_expert", bad[i]);
        cr_expect_eq(cql_algorithm.plan(&f.request, &f.plan, &message), ALGORITHM_BAD_INPUT);
    }
    teardown(&f);
}

Test(trainer, what_does_not_fit_is_refused)
{
    struct fixture f;
    setup(&f, MECHANISM_NONE);
    make_plan(&f);
    struct dataset *full = f.data;
    f.run.data = NULL;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_INPUT);
    struct dataset *empty = dataset_builder_finish(dataset_builder_new(DIM, 2, EXPERTS));
    f.run.data = empty;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_INPUT);
    dataset_free(empty);
    struct dataset *other = dataset_builder_finish(dataset_builder_new(DIM + 1, 2, EXPERTS));
    f.run.data = other;
    cr_assert_eq(train_status(&f), ALGORITHM_BAD_INPUT);
    dataset_free(other);
    f.run.data = full;
    teardown(&f);
}

Test(trainer, same_seed_and_noise_give_the_same_policy)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    set(&f, "steps", 300);
    make_plan(&f);
    struct policy *first = train(&f);
    fresh_noise(&f);
    struct policy *again = train(&f);
    struct policy *other = train(&f); /* the noise goes on */
    size_t size = f.plan.parameter_count * sizeof(float);
    cr_assert_eq(memcmp(first->parameters, again->parameters, size), 0);
    cr_assert_neq(memcmp(first->parameters, other->parameters, size), 0);
    policy_free(first);
    policy_free(again);
    policy_free(other);
    teardown(&f);
}

/* A generator that the request's seed, or anything else that repeats, had a part in would give the
 * same noise to both. */
Test(trainer, noise_of_a_real_run_has_no_seed)
{
    struct fixture f;
    setup(&f, MECHANISM_DPSGD);
    set(&f, "steps", 3);
    make_plan(&f);
    f.run.noise = NULL;
    struct policy *first = train(&f);
    struct policy *again = train(&f);
    cr_expect_not(first->injected_noise);
    int equal = 0;
    for (size_t i = 0; i < f.plan.parameter_count; i++)
        equal += first->parameters[i] == again->parameters[i];
    cr_expect_lt(equal, 4, "%d weights are the same", equal);
    policy_free(first);
    policy_free(again);
    teardown(&f);
}

/* Data that grow, without anything to add. */
static bool nothing_is_due(void *context, uint64_t steps_done)
{
    uint64_t *asked = context;
    cr_assert_eq(steps_done, (*asked)++); /* before every step, once where nothing is due */
    return false;
}

Test(trainer, a_feed_runs_for_as_many_steps_as_were_priced)
{
    struct fixture f;
    uint64_t asked = 0;
    struct trainer_feed feed = {.context = &asked, .is_due = nothing_is_due};
    struct offline_kind fed = {.parameters = cql_algorithm.parameters,
                               .parameter_count = cql_algorithm.parameter_count,
                               .outputs_per_action = 1,
                               .learns_values = true,
                               .asks_online_next = true,
                               .output = POLICY_Q,
                               .feed = &feed};
    const struct cql_rule rule = {.loss = {.actions = 2, .huber = 1.0F}, .discount = 0.99F};
    struct policy *policy = NULL;
    const char *message = "";
    setup(&f, MECHANISM_DPSGD);
    set(&f, "steps", 30);
    make_plan(&f);
    f.plan.total_steps = 90; /* of which an expert is in 30 */
    feed.uses = 31;
    cr_expect_eq(offline_train(&fed, &f.run, cql_errors, &rule, &policy, &message),
                 ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "accounted"), "%s", message);
    feed.uses = 30;
    cr_assert_eq(offline_train(&fed, &f.run, cql_errors, &rule, &policy, &message), ALGORITHM_OK,
                 "%s", message);
    cr_expect_eq(asked, 90);
    policy_free(policy);
    teardown(&f);
}
