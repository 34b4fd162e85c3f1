/* Both stages of a run: what is kept before the second begins, that it is never drawn again, and
 * the numbers of the plan. */
#include "algos/offline/stage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/offline/cql.h"
#include "algos/offline/expert_policies.h"
#include "algos/offline/schedule.h"
#include "algos/offline/stage_state.h"
#include "algos/privacy/noise/noise.h"
#include "envs/cartpole.h"

enum { EXPERTS = 150 };

struct fixture {
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct dataset *data;
    struct noise_source *noise;
    struct algorithm_run run;
    struct stage_run stage;
    unsigned asked;       /* how often the experts were */
    uint64_t pause_after; /* steps */
    enum algorithm_pulse answer;
    bool disk_is_full;
    unsigned char *kept, *checkpoint;
    size_t kept_size, checkpoint_size;
};

static void set(struct fixture *f, const char *name, double value)
{
    int index = parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, name);
    cr_assert_geq(index, 0);
    f->request.parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

static struct dataset *make_data(void)
{
    struct dataset_builder *builder = dataset_builder_new(4, 2, EXPERTS);
    struct rng rng;
    rng_seed(&rng, 3, 0);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        float states[11 * 4], rewards[10];
        uint16_t actions[10];
        for (int i = 0; i < 44; i++)
            states[i] = (float)(0.1 * rng_normal(&rng));
        for (int i = 0; i < 10; i++) {
            rewards[i] = 1.0F;
            actions[i] = states[4 * i + 2] > 0;
        }
        const struct trajectory one = {.expert = e,
                                       .length = 10,
                                       .terminated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

/* All push under the pole; the last slot has no network and is cloned. */
static enum algorithm_status experts(void *context, struct expert_policies **out)
{
    static const float row[4] = {0.02F, 0.1F, 1.0F, 0.5F};
    struct fixture *f = context;
    const struct mlp_shape shape = {.input = 4, .layer_count = 1, .width = {2}};
    f->asked++;
    *out = expert_policies_new(EXPERTS, 4, 2, 0.02);
    for (uint32_t e = 0; e + 1 < EXPERTS; e++) {
        struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
        for (int i = 0; i < 4; i++)
            policy->parameters[4 + i] = row[i];
        cr_assert(expert_policies_take(*out, e, policy));
    }
    return ALGORITHM_OK;
}

static void copy(unsigned char **to, size_t *to_size, const unsigned char *bytes, size_t size)
{
    free(*to);
    *to = malloc(size);
    cr_assert_not_null(*to);
    memcpy(*to, bytes, size);
    *to_size = size;
}

static bool keep(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct fixture *f = context;
    cr_assert_eq(steps_done, 0);
    if (f->disk_is_full)
        return false;
    copy(&f->kept, &f->kept_size, bytes, size);
    copy(&f->checkpoint, &f->checkpoint_size, bytes, size);
    return true;
}

static bool save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct fixture *f = context;
    (void)steps_done;
    copy(&f->checkpoint, &f->checkpoint_size, bytes, size);
    return true;
}

static enum algorithm_pulse pulse(void *context, uint64_t steps_done)
{
    struct fixture *f = context;
    return steps_done >= f->pause_after ? f->answer : PULSE_CONTINUE;
}

static void fresh_noise(struct fixture *f)
{
    const uint8_t key[32] = {4, 2};
    noise_source_free(f->noise);
    f->noise = noise_source_new_injected(key);
    f->run.noise = f->noise;
}

static void setup(struct fixture *f, enum algorithm_mechanism mechanism)
{
    *f = (struct fixture){.pause_after = UINT64_MAX, .answer = PULSE_SAVE_AND_PAUSE};
    f->request =
        (struct algorithm_request){.mechanism = mechanism,
                                   .epsilon = 40,
                                   .delta = 1e-3,
                                   .discount = 0.9,
                                   .state_dim = 4,
                                   .action_count = 2,
                                   .nominal_experts = EXPERTS,
                                   .plain_share = mechanism == MECHANISM_CONSENSUS ? 1.0 : 0.5,
                                   .seed = 8};
    f->request.stage = (struct stage_request){
        .kind = mechanism == MECHANISM_CONSENSUS ? STAGE_CONSENSUS : STAGE_STABLE,
        .epsilon_share = mechanism == MECHANISM_CONSENSUS ? 1.0 : 0.75,
        .delta_share = mechanism == MECHANISM_CONSENSUS ? 1.0 : 0.9,
        .max_length = 50,
        .runs = 5,
        .min_probability = 0.02,
        .labels = 300,
        .rounds = 2};
    parameters_defaults(cql_algorithm.parameters, cql_algorithm.parameter_count,
                        &f->request.parameters);
    set(f, "hidden", 8);
    set(f, "batch_size", 4);
    set(f, "steps", 20000);
    f->data = make_data();
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&f->request, &f->plan, &message), ALGORITHM_OK, "%s", message);
    f->run = (struct algorithm_run){
        .request = &f->request,
        .plan = &f->plan,
        .data = f->data,
        .hooks = {.context = f, .pulse = pulse, .save = save, .experts = experts},
    };
    f->stage = (struct stage_run){.algorithm = &cql_algorithm,
                                  .run = &f->run,
                                  .env = &cartpole_env,
                                  .keep = keep,
                                  .context = f};
    fresh_noise(f);
}

static void teardown(struct fixture *f)
{
    dataset_free(f->data);
    noise_source_free(f->noise);
    free(f->kept);
    free(f->checkpoint);
}

static enum algorithm_status train(struct fixture *f, struct policy **out)
{
    const char *message = NULL;
    *out = NULL;
    return stage_train(&f->stage, out, &message);
}

/* Goes on from the last checkpoint. */
static enum algorithm_status resume(struct fixture *f, struct policy **out)
{
    unsigned char *bytes = NULL;
    copy(&bytes, &f->run.checkpoint_size, f->checkpoint, f->checkpoint_size);
    f->run.checkpoint = bytes;
    enum algorithm_status status = train(f, out);
    f->run.checkpoint = NULL;
    free(bytes);
    return status;
}

/* ---- the plan */

Test(stage, the_plan_prices_both_stages_together)
{
    struct fixture f;
    setup(&f, MECHANISM_SELECTIVE);
    const struct dp_sgd_plan *privacy = &f.plan.privacy;
    const struct schedule schedule = {f.request.seed, 0.5};
    cr_expect_eq(privacy->steps, schedule_noisy_steps(&schedule, f.plan.total_steps));
    cr_expect(privacy->steps > 9700 && privacy->steps < 10300, "coins of one half");
    cr_expect_eq(privacy->before.times, 5);
    cr_expect_float_eq(privacy->before.mechanism.pair.epsilon, f.plan.stage.stable.run_epsilon, 0);
    cr_expect_float_eq(privacy->before.mechanism.pair.delta, f.plan.stage.stable.run_delta, 0);
    cr_expect(privacy->epsilon <= 40.0 && privacy->epsilon > 39.5);
    /* Less noise than what the second share alone would allow. */
    struct dp_sgd_plan alone = *privacy;
    alone.before.times = 0;
    alone.delta = 1e-4;
    cr_assert_eq(dp_sgd_plan_find_noise(&alone, 10.0), DP_SGD_PLAN_OK);
    cr_expect_lt(privacy->noise_multiplier, alone.noise_multiplier);
    teardown(&f);
}

Test(stage, plans_that_cannot_be_are_refused_with_the_reason)
{
    struct fixture f;
    setup(&f, MECHANISM_SELECTIVE);
    const char *message = NULL;
    struct algorithm_plan plan;
    const struct algorithm_request good = f.request;
    f.request.nominal_experts = 1;
    set(&f, "batch_size", 1);
    cr_expect_eq(cql_algorithm.plan(&f.request, &plan, &message), ALGORITHM_BAD_INPUT);
    cr_expect(strstr(message, "at least 2 experts") != NULL, "%s", message);
    f.request = good;
    f.request.stage.min_probability = 0.7;
    cr_expect_eq(cql_algorithm.plan(&f.request, &plan, &message), ALGORITHM_BAD_INPUT);
    cr_expect(strstr(message, "min_probability") != NULL, "%s", message);
    f.request = good;
    f.request.stage.delta_share = 1.5;
    cr_expect_eq(cql_algorithm.plan(&f.request, &plan, &message), ALGORITHM_BAD_INPUT);
    f.request = good;
    f.request.epsilon = 1e-3;
    cr_expect_eq(cql_algorithm.plan(&f.request, &plan, &message), ALGORITHM_INFEASIBLE);
    cr_expect(strstr(message, "above the number of experts") != NULL, "%s", message);
    f.request = good;
    f.request.plain_share = 1.0; /* stable data alone */
    f.request.stage.epsilon_share = f.request.stage.delta_share = 1.0;
    cr_expect_eq(cql_algorithm.plan(&f.request, &plan, &message), ALGORITHM_OK, "%s", message);
    cr_expect_eq(plan.privacy.steps, 0);
    cr_expect(plan.privacy.epsilon <= 40.0 && plan.privacy.epsilon > 39.0, "%g",
              plan.privacy.epsilon);
    teardown(&f);
}

/* ---- the run */

Test(stage, what_was_released_is_kept_first_and_never_drawn_again)
{
    struct fixture f;
    struct policy *policy;
    setup(&f, MECHANISM_SELECTIVE);
    f.pause_after = 500;
    cr_assert_eq(train(&f, &policy), ALGORITHM_PAUSED);
    cr_assert_eq(f.asked, 1);
    cr_assert_gt(f.checkpoint_size, f.kept_size, "what was released, and weights");
    cr_assert_eq(memcmp(f.kept, f.checkpoint, f.kept_size), 0);
    f.pause_after = 9000;
    cr_assert_eq(resume(&f, &policy), ALGORITHM_PAUSED);
    cr_assert_eq(memcmp(f.kept, f.checkpoint, f.kept_size), 0);
    f.pause_after = UINT64_MAX;
    cr_assert_eq(resume(&f, &policy), ALGORITHM_OK);
    cr_assert(policy->injected_noise);
    cr_assert_eq(f.asked, 1, "the experts are asked once");
    struct dataset *released = NULL;
    size_t used = 0;
    cr_assert(
        stage_state_from_bytes(stage_fingerprint(&f.run), f.kept, f.kept_size, &released, &used));
    cr_assert_eq(used, f.kept_size);
    cr_assert_gt(released->transition_count, 5, "149 experts who agree");
    dataset_free(released);
    policy_free(policy);
    teardown(&f);
}

/* A checkpoint whose checksum holds asks for no more memory than a released set can take. */
Test(stage, a_checkpoint_of_too_many_slots_is_refused)
{
    const float states[] = {0.5F, 0.25F}, rewards[] = {1.0F};
    const uint16_t actions[] = {1};
    const struct trajectory one = {
        .length = 1, .terminated = true, .states = states, .actions = actions, .rewards = rewards};
    struct dataset_builder *builder = dataset_builder_new(1, 2, 1);
    cr_assert(dataset_builder_add(builder, &one));
    struct dataset *released = dataset_builder_finish(builder), *back = NULL;
    size_t size, used;
    unsigned char *bytes = stage_state_to_bytes(released, 7, &size);
    cr_assert(stage_state_from_bytes(7, bytes, size, &back, &used));
    dataset_free(back);
    const uint32_t slots = UINT32_MAX;
    memcpy(bytes + 24, &slots, sizeof slots);
    checksum_seal(bytes, size - sizeof(uint64_t));
    cr_expect(!stage_state_from_bytes(7, bytes, size, &back, &used));
    free(bytes);
    dataset_free(released);
}

/* Labels and plain steps have no noise of the second stage: interrupted or not, the same bits. */
Test(stage, an_interrupted_run_ends_where_another_does)
{
    struct fixture f;
    struct policy *whole, *parts;
    setup(&f, MECHANISM_CONSENSUS);
    cr_expect_eq(f.plan.privacy.steps, 0);
    cr_expect_eq(f.plan.privacy.before.times, 300);
    cr_assert_eq(train(&f, &whole), ALGORITHM_OK);
    fresh_noise(&f);
    f.pause_after = 0;
    f.answer = PULSE_SAVE; /* saves at every pulse */
    cr_assert_eq(train(&f, &parts), ALGORITHM_OK);
    policy_free(parts);
    fresh_noise(&f);
    f.pause_after = 7000;
    f.answer = PULSE_SAVE_AND_PAUSE;
    cr_assert_eq(train(&f, &parts), ALGORITHM_PAUSED);
    f.pause_after = UINT64_MAX;
    cr_assert_eq(resume(&f, &parts), ALGORITHM_OK);
    size_t size = mlp_parameter_count(&whole->shape) * sizeof *whole->parameters;
    cr_assert_eq(memcmp(whole->parameters, parts->parameters, size), 0);
    policy_free(whole);
    policy_free(parts);
    teardown(&f);
}

Test(stage, nothing_is_learned_from_what_is_not_on_disk)
{
    struct fixture f;
    struct policy *policy;
    setup(&f, MECHANISM_SELECTIVE);
    f.disk_is_full = true;
    cr_assert_eq(train(&f, &policy), ALGORITHM_PAUSED);
    cr_assert_eq(f.checkpoint, NULL);
    f.disk_is_full = false;
    f.pause_after = 0; /* in the first stage: nothing is saved */
    cr_assert_eq(train(&f, &policy), ALGORITHM_PAUSED);
    cr_assert_eq(f.checkpoint, NULL);
    f.answer = PULSE_CANCEL;
    cr_assert_eq(train(&f, &policy), ALGORITHM_CANCELLED);
    cr_assert_eq(policy, NULL);
    teardown(&f);
}

Test(stage, checkpoints_that_are_not_its_own_are_refused)
{
    struct fixture f;
    struct policy *policy;
    setup(&f, MECHANISM_CONSENSUS);
    f.pause_after = 5000;
    cr_assert_eq(train(&f, &policy), ALGORITHM_PAUSED);
    for (size_t i = 0; i < f.checkpoint_size; i += i < 48 ? 1 : 997) {
        f.checkpoint[i] ^= 4;
        cr_assert_eq(resume(&f, &policy), ALGORITHM_BAD_CHECKPOINT, "byte %zu", i);
        f.checkpoint[i] ^= 4;
    }
    size_t size = f.checkpoint_size;
    for (size_t cut = 0; cut < size; cut += 41) {
        f.checkpoint_size = cut;
        /* But where the trainer's part is missing as a whole. */
        if (cut != f.kept_size && cut > 0)
            cr_assert_eq(resume(&f, &policy), ALGORITHM_BAD_CHECKPOINT, "%zu bytes", cut);
    }
    f.checkpoint_size = size;
    f.plan.stage.consensus.lattice_scale++;
    cr_assert_eq(resume(&f, &policy), ALGORITHM_BAD_CHECKPOINT, "another run's");
    teardown(&f);
}

/* Declared states are asked at without a world, and a checkpoint is one of these very states. */
Test(stage, a_list_of_states_is_part_of_its_checkpoint)
{
    enum { COUNT = 64 };
    struct fixture f;
    struct policy *policy;
    double states[COUNT * 4];
    const char *message = NULL;
    setup(&f, MECHANISM_CONSENSUS);
    for (int i = 0; i < COUNT * 4; i++)
        states[i] = 0.01 * i;
    struct stage_request *stage = &f.request.stage;
    stage->grid = (struct consensus_grid){.dims = 4, .count = COUNT, .states = states};
    cr_assert_eq(cql_algorithm.plan(&f.request, &f.plan, &message), ALGORITHM_BAD_INPUT);
    stage->labels = COUNT;
    stage->max_length = 1;
    cr_assert_eq(cql_algorithm.plan(&f.request, &f.plan, &message), ALGORITHM_OK, "%s", message);
    cr_expect_eq(f.plan.privacy.before.times, COUNT);
    f.stage.env = NULL;
    f.pause_after = 5000;
    cr_assert_eq(train(&f, &policy), ALGORITHM_PAUSED);
    states[COUNT * 4 - 1] += 1.0;
    cr_assert_eq(resume(&f, &policy), ALGORITHM_BAD_CHECKPOINT, "another list's");
    states[COUNT * 4 - 1] = 0.01 * (COUNT * 4 - 1);
    f.pause_after = UINT64_MAX;
    cr_assert_eq(resume(&f, &policy), ALGORITHM_OK);
    cr_assert_eq(f.asked, 1, "the experts are asked once");
    policy_free(policy);
    teardown(&f);
}

/* Looks at what the second stage is given. */
static enum algorithm_status look(const struct algorithm_run *run, struct policy **out_policy,
                                  const char **message)
{
    (void)out_policy, (void)message;
    cr_assert_eq(run->data->expert_count, EXPERTS);
    cr_assert_eq(run->data->transition_count,
                 run->request->stage.source == STABLE_LOGGED ? 0 : 10 * EXPERTS);
    cr_assert_not_null(run->stable);
    cr_assert_null(run->checkpoint);
    return ALGORITHM_CANCELLED;
}

/* Each expert has one trajectory, of even number: the first stage's alone where those are shown. */
Test(stage, logged_trajectories_of_the_first_stage_do_not_reach_the_second)
{
    struct fixture f;
    struct policy *policy;
    setup(&f, MECHANISM_SELECTIVE);
    const struct algorithm looking = {.name = "look", .train = look};
    f.stage.algorithm = &looking;
    cr_assert_eq(train(&f, &policy), ALGORITHM_CANCELLED);
    f.request.stage.source = STABLE_LOGGED;
    f.stage.env = NULL;
    cr_assert_eq(train(&f, &policy), ALGORITHM_CANCELLED);
    teardown(&f);
}
