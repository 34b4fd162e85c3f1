/* PPO as a job runs it: plans, normalisation, checkpoints, pulses. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/online/ppo_algorithm.h"
#include "algos/online/ppo_state.h"

static void set(struct algorithm_request *request, const char *name, double value)
{
    int index = parameters_index(ppo_algorithm.parameters, ppo_algorithm.parameter_count, name);
    cr_assert_geq(index, 0);
    request->parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

/* A small agent in the world of that name; ten updates. */
static struct algorithm_request small(const char *world)
{
    struct algorithm_request request = {.mechanism = MECHANISM_NONE, .seed = 1};
    request.world = env_find(world);
    cr_assert_not_null(request.world);
    request.state_dim = request.world->state_dim;
    request.action_count = request.world->action_count;
    env_defaults(request.world, request.world_parameters);
    algorithm_defaults(&ppo_algorithm, world, &request.parameters);
    set(&request, "hidden", 16);
    set(&request, "worlds", 4);
    set(&request, "rollout_steps", 32);
    set(&request, "minibatch", 64);
    set(&request, "transitions", 10 * 128);
    return request;
}

static struct algorithm_plan planned(const struct algorithm_request *request)
{
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(ppo_algorithm.plan(request, &plan, &message), ALGORITHM_OK, "%s", message);
    return plan;
}

/* What a caller does at pulses: stops at update STOP_AT, and keeps the last checkpoint. */
struct script {
    uint64_t stop_at, saved_at;
    enum algorithm_pulse order; /* given at STOP_AT */
    unsigned char *bytes;
    size_t size;
    unsigned pulses, told;
    bool refuse; /* saving fails */
};

static enum algorithm_pulse pulse(void *context, uint64_t step)
{
    struct script *script = context;
    script->pulses++;
    return step == script->stop_at ? script->order : PULSE_CONTINUE;
}

static bool save(void *context, uint64_t step, const unsigned char *bytes, size_t size)
{
    struct script *script = context;
    free(script->bytes);
    script->bytes = malloc(size);
    cr_assert_not_null(script->bytes);
    memcpy(script->bytes, bytes, size);
    script->size = size;
    script->saved_at = step;
    return !script->refuse;
}

static void show_return(void *context, double mean_return)
{
    struct script *script = context;
    cr_assert(isfinite(mean_return));
    script->told++;
}

static enum algorithm_status run(const struct algorithm_request *request, struct script *script,
                                 const unsigned char *checkpoint, size_t size,
                                 struct policy **policy)
{
    const struct algorithm_plan plan = planned(request);
    const struct algorithm_run training = {
        .request = request,
        .plan = &plan,
        .checkpoint = checkpoint,
        .checkpoint_size = size,
        .hooks = {.context = script, .pulse = pulse, .save = save, .show_return = show_return},
    };
    const char *message = NULL;
    *policy = NULL;
    return ppo_algorithm.train(&training, policy, &message);
}

Test(ppo_algorithm, plans_whole_roll_outs_in_every_world)
{
    unsigned worlds;
    const struct env *const *all = env_all(&worlds);
    for (unsigned w = 0; w < worlds; w++) {
        struct algorithm_request request = {.mechanism = MECHANISM_NONE, .world = all[w]};
        algorithm_defaults(&ppo_algorithm, all[w]->name, &request.parameters);
        struct algorithm_plan plan = planned(&request);
        cr_assert_gt(plan.total_steps, 0);
        cr_assert_eq(plan.shape.input, all[w]->state_dim);
        cr_assert_eq(plan.shape.width[plan.shape.layer_count - 1], all[w]->action_count);
        cr_assert_eq(plan.parameter_count, mlp_parameter_count(&plan.shape));
        cr_assert_eq(plan.privacy.epsilon, 0.0);
        cr_assert_eq(plan.privacy.steps, 0);
    }
    struct algorithm_request request = small("cartpole");
    cr_assert_eq(planned(&request).total_steps, 10);
    set(&request, "transitions", 10 * 128 + 1);
    cr_assert_eq(planned(&request).total_steps, 11);
}

Test(ppo_algorithm, refuses_what_cannot_be_planned)
{
    struct algorithm_plan plan;
    const char *message = NULL;
    struct algorithm_request request = small("cartpole");
    set(&request, "minibatch", 129);
    cr_assert_eq(ppo_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
    cr_assert_not_null(strstr(message, "minibatch"));
    request = small("cartpole");
    set(&request, "learning_rate", -1);
    cr_assert_eq(ppo_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
    request = small("cartpole");
    request.world = NULL;
    cr_assert_eq(ppo_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
}

Test(ppo_algorithm, only_what_sees_no_data_is_public)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++) {
        if (all[i]->kind != ALGORITHM_LEARNS_FROM_DATA && all[i]->kind != ALGORITHM_RELEASES_Q &&
            all[i]->kind != ALGORITHM_MEASURES) {
            bool protects = all[i]->privacy_unit[0] != '\0';
            cr_assert_eq(protects, all[i]->describe != NULL, "%s", all[i]->name);
            cr_assert(protects || !all[i]->mechanisms[MECHANISM_DPSGD]);
        }
    }
    cr_assert_eq(ppo_algorithm.kind, ALGORITHM_LEARNS_BY_PLAY);
}

Test(ppo_algorithm, gives_a_policy_of_plain_observations)
{
    struct algorithm_request request = small("hiv");
    struct ppo_settings settings = ppo_settings_of(&request);
    struct rng rng;
    rng_seed(&rng, 1, 0);
    struct ppo *ppo = ppo_new(&settings, request.world, request.world_parameters, &rng);
    struct ppo_report report;
    for (int u = 0; u < 3; u++)
        cr_assert(ppo_update(ppo, 1e-3, &report));
    struct policy *policy = policy_new(ppo_policy_shape(ppo), POLICY_SOFTMAX);
    cr_assert(ppo_write_policy(ppo, policy->parameters));
    /* log10 of the patient's first state: far from mean 0 and deviation 1. */
    const float plain[6] = {5.2F, 0.7F, 4.08F, 1.66F, 4.8F, 1.38F};
    float read[6], expected[4], given[4], scratch[64];
    normalizer_apply(&ppo->frozen.observations, 6, plain, 1, read);
    cr_assert_gt(fabsf(read[0] - plain[0]), 1.0F);
    mlp_forward_one(&ppo->policy_shape, ppo->weights, read, expected, scratch);
    cr_assert(policy_values(policy, plain, given));
    for (int a = 0; a < 4; a++)
        cr_assert_float_eq(given[a], expected[a], 1e-4F);
    policy_free(policy);
    ppo_free(ppo);
}

Test(ppo_algorithm, the_value_keeps_its_opinion_when_the_scale_of_rewards_changes)
{
    struct algorithm_request request = small("hiv");
    struct ppo_settings settings = ppo_settings_of(&request);
    struct rng rng;
    rng_seed(&rng, 1, 0);
    struct ppo *ppo = ppo_new(&settings, request.world, request.world_parameters, &rng);
    struct ppo_report report;
    cr_assert(ppo_update(ppo, 1e-3, &report));
    const float row[6] = {0.5F, -0.5F, 0.1F, 1.0F, -1.0F, 0.2F};
    float scratch[64], before, after;
    double old = ppo_reward_factor(ppo, &ppo->frozen);
    mlp_forward_one(&ppo->value_shape, ppo->weights + ppo->policy_count, row, &before, scratch);
    for (int i = 0; i < 10000; i++)
        normalizer_see_one(&ppo->seen.returns, i % 2 == 0 ? 1e9 : -1e9);
    cr_assert(ppo_update(ppo, 0.0, &report)); /* nothing is learned, the scale alone moves */
    double new = ppo_reward_factor(ppo, &ppo->frozen);
    mlp_forward_one(&ppo->value_shape, ppo->weights + ppo->policy_count, row, &after, scratch);
    cr_assert_lt(new, 1e-2 * old);
    cr_assert_float_eq(after / new, before / old, 1e-4 * fabs((double)before / old));
    ppo_free(ppo);
}

Test(ppo_algorithm, an_agent_comes_back_from_its_bytes)
{
    struct algorithm_request request = small("acrobot");
    struct ppo_settings settings = ppo_settings_of(&request);
    struct rng rng;
    rng_seed(&rng, 1, 0);
    struct ppo *a = ppo_new(&settings, request.world, request.world_parameters, &rng);
    struct ppo *b = ppo_new(&settings, request.world, request.world_parameters, &rng);
    struct ppo_report report;
    for (int u = 0; u < 3; u++)
        cr_assert(ppo_update(a, 1e-3, &report));
    unsigned char *bytes, *again;
    size_t size, size_again;
    bytes = ppo_to_bytes(a, 7, &size);
    cr_assert_not(ppo_from_bytes(b, 8, bytes, size), "another run's");
    cr_assert_not(ppo_from_bytes(b, 7, bytes, size - 1));
    for (size_t i = 0; i < size; i += size / 97) {
        bytes[i] ^= 4;
        cr_assert_not(ppo_from_bytes(b, 7, bytes, size), "byte %zu", i);
        bytes[i] ^= 4;
    }
    cr_assert_eq(ppo_updates(b), 0);
    cr_assert(ppo_from_bytes(b, 7, bytes, size));
    cr_assert_eq(ppo_updates(b), 3);
    cr_assert_eq(memcmp(a->weights, b->weights, a->count * sizeof *a->weights), 0);
    cr_assert_eq(memcmp(a->adam.second, b->adam.second, a->count * sizeof(float)), 0);
    cr_assert_eq(memcmp(&a->seen, &b->seen, sizeof a->seen), 0);
    /* Its worlds have begun anew, so their generators have moved on and nothing else has. */
    again = ppo_to_bytes(b, 7, &size_again);
    cr_assert_eq(size, size_again);
    cr_assert_eq(memcmp(&a->rng, &b->rng, sizeof a->rng), 0);
    for (uint32_t w = 0; w < settings.worlds; w++)
        cr_assert_eq(b->worlds->steps[w], 0);
    cr_assert(ppo_update(b, 1e-3, &report));
    cr_assert_eq(report.transitions, 4 * 128 + 128); /* the first roll-out was for the scales */
    free(bytes);
    free(again);
    ppo_free(a);
    ppo_free(b);
}

Test(ppo_algorithm, pauses_and_goes_on_from_its_checkpoint)
{
    struct algorithm_request request = small("cartpole");
    struct script script = {.stop_at = 4, .order = PULSE_SAVE_AND_PAUSE};
    struct policy *policy;
    cr_assert_eq(run(&request, &script, NULL, 0, &policy), ALGORITHM_PAUSED);
    cr_assert_null(policy);
    cr_assert_eq(script.saved_at, 4);
    cr_assert_eq(script.pulses, 4);
    cr_assert_gt(script.told, 0);
    struct script next = {.stop_at = 0};
    cr_assert_eq(run(&request, &next, script.bytes, script.size, &policy), ALGORITHM_OK);
    cr_assert_eq(next.pulses, 5); /* updates 5 to 9; there is none after the last */
    cr_assert_eq(policy->output, POLICY_SOFTMAX);
    policy_free(policy);
    request.seed = 2;
    cr_assert_eq(run(&request, &next, script.bytes, script.size, &policy),
                 ALGORITHM_BAD_CHECKPOINT);
    request.seed = 1;
    request.world_parameters[0] += 0.1;
    cr_assert_eq(run(&request, &next, script.bytes, script.size, &policy),
                 ALGORITHM_BAD_CHECKPOINT);
    free(script.bytes);
}

Test(ppo_algorithm, obeys_the_other_pulses)
{
    struct algorithm_request request = small("cartpole");
    struct policy *policy;
    struct script cancel = {.stop_at = 2, .order = PULSE_CANCEL};
    cr_assert_eq(run(&request, &cancel, NULL, 0, &policy), ALGORITHM_CANCELLED);
    cr_assert_null(cancel.bytes);
    struct script keep = {.stop_at = 2, .order = PULSE_SAVE};
    cr_assert_eq(run(&request, &keep, NULL, 0, &policy), ALGORITHM_OK);
    cr_assert_eq(keep.saved_at, 2);
    policy_free(policy);
    free(keep.bytes);
    struct script lost = {.stop_at = 2, .order = PULSE_SAVE, .refuse = true};
    cr_assert_eq(run(&request, &lost, NULL, 0, &policy), ALGORITHM_PAUSED);
    free(lost.bytes);
}

Test(ppo_algorithm, a_learning_rate_without_bounds_is_told)
{
    struct algorithm_request request = small("cartpole");
    set(&request, "learning_rate", 1);
    set(&request, "max_gradient_norm", 1e6);
    set(&request, "value_weight", 100);
    set(&request, "transitions", 200 * 128);
    struct script script = {.stop_at = 0};
    struct policy *policy;
    enum algorithm_status status = run(&request, &script, NULL, 0, &policy);
    /* Adam bounds a step, so it may also live through it: then the policy is finite. */
    cr_assert(status == ALGORITHM_OK || (status == ALGORITHM_BAD_INPUT && policy == NULL));
    if (policy != NULL)
        for (size_t i = 0; i < mlp_parameter_count(&policy->shape); i++)
            cr_assert(isfinite(policy->parameters[i]));
    policy_free(policy);
}

static void *train_one(void *context)
{
    struct algorithm_request request = small("cartpole");
    struct script script = {.stop_at = 0};
    (void)run(&request, &script, NULL, 0, context);
    return NULL;
}

Test(ppo_algorithm, gives_the_same_beside_other_threads)
{
    enum { THREADS = 4 };
    struct policy *alone, *beside[THREADS];
    pthread_t threads[THREADS];
    train_one(&alone);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, train_one, &beside[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_not_null(beside[i]);
        size_t size = mlp_parameter_count(&alone->shape) * sizeof(float);
        cr_assert_eq(memcmp(alone->parameters, beside[i]->parameters, size), 0);
        policy_free(beside[i]);
    }
    policy_free(alone);
}

Test(ppo_algorithm, beats_the_best_constant_treatment_of_hiv)
{
    struct algorithm_request request = small("hiv");
    algorithm_defaults(&ppo_algorithm, "hiv", &request.parameters);
    set(&request, "transitions", 16384);
    struct script script = {.stop_at = 0};
    struct policy *policy;
    cr_assert_eq(run(&request, &script, NULL, 0, &policy), ALGORITHM_OK);
    struct policy_evaluation played;
    cr_assert(policy_evaluate(policy, request.world, request.world_parameters, 20, 50, 1, &played));
    /* Both drugs always give 1.757e6; here it reaches 1e8. */
    cr_assert_gt(played.mean_return, 1e7, "%g", played.mean_return);
    policy_free(policy);
}
