/* Audit of the real trainer: conservative Q-learning for a few private steps, with an expert or
 * without its data; the attacker sees the policy alone and knows everything but the noise and the
 * batches. The expert's examples are absurd, so that its gradient is far beyond the clip norm. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/optimizer.h"
#include "algos/offline/cql.h"
#include "tests/statistical/audit.h"

enum { DIM = 2, ACTIONS = 2, EXPERTS = 2, CANARY = 1, STEPS = 2, MAX_WEIGHTS = 64 };

struct attack {
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct dataset *data[2]; /* [with the canary] */
    double start[MAX_WEIGHTS];
    double along[MAX_WEIGHTS]; /* what the canary adds without noise */
};

static struct dataset *make_data(bool with)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, ACTIONS, EXPERTS);
    cr_assert_not_null(builder);
    const float states[2 * DIM] = {1000.0F, -700.0F, 0.0F, 0.0F}, reward = 1e6F;
    const uint16_t action = 1;
    const struct trajectory trajectory = {.expert = CANARY,
                                          .length = 1,
                                          .terminated = true,
                                          .states = states,
                                          .actions = &action,
                                          .rewards = &reward};
    if (with)
        cr_assert(dataset_builder_add(builder, &trajectory));
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

static void set(struct attack *attack, const char *name, double value)
{
    int index = parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, name);
    cr_assert_geq(index, 0);
    attack->request.parameters.value[index] =
        (struct parameter_value){.number = {value}, .count = 1};
}

static void train(const struct attack *attack, bool with, struct noise_source *noise,
                  double weights[MAX_WEIGHTS])
{
    const struct algorithm_run run = {.request = &attack->request,
                                      .plan = &attack->plan,
                                      .data = attack->data[with],
                                      .noise = noise};
    struct policy *policy = NULL;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.train(&run, &policy, &message), ALGORITHM_OK, "%s", message);
    for (size_t i = 0; i < attack->plan.parameter_count; i++)
        weights[i] = (double)policy->parameters[i];
    policy_free(policy);
}

static double policy_seen(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct attack *attack = mechanism;
    double weights[MAX_WEIGHTS], sum = 0.0;
    train(attack, with, noise, weights);
    for (size_t i = 0; i < attack->plan.parameter_count; i++)
        sum += (weights[i] - attack->start[i]) * attack->along[i];
    return sum;
}

/* What the attacker works out beforehand: a run without noise in either world. */
static void aim(struct attack *attack)
{
    const uint8_t key[32] = {1};
    struct noise_source *noise = noise_source_new_injected(key);
    struct attack quiet = *attack;
    cr_assert_not_null(noise);
    quiet.plan.privacy.noise_multiplier = 1e-9;
    quiet.plan.privacy.sampling_rate = 1.0;
    train(&quiet, false, noise, attack->start);
    train(&quiet, true, noise, attack->along);
    double square = 0.0;
    for (size_t i = 0; i < attack->plan.parameter_count; i++) {
        attack->along[i] -= attack->start[i];
        square += attack->along[i] * attack->along[i];
    }
    cr_assert(square > 0.0 && isfinite(square));
    noise_source_free(noise);
}

/* One of two experts joins a step on average; plain gradient descent in small steps. */
static void setup(struct attack *attack)
{
    const double rate = 1e-3, clip_norm = 0.25;
    *attack = (struct attack){.request = {.mechanism = MECHANISM_DPSGD,
                                          .epsilon = 50.0,
                                          .delta = 1e-2,
                                          .discount = 0.9,
                                          .state_dim = DIM,
                                          .action_count = ACTIONS,
                                          .nominal_experts = EXPERTS,
                                          .seed = 3}};
    parameters_defaults(cql_algorithm.parameters, cql_algorithm.parameter_count,
                        &attack->request.parameters);
    set(attack, "hidden", 4);
    set(attack, "batch_size", 1);
    set(attack, "steps", STEPS);
    set(attack, "noise_multiplier", 1.0);
    set(attack, "clip_norm", clip_norm);
    set(attack, "optimizer", OPTIMIZER_SGD);
    set(attack, "momentum", 0);
    set(attack, "learning_rate", rate);
    set(attack, "final_rate_fraction", 1);
    set(attack, "average_decay", 0);
    set(attack, "input_scale", 1);
    set(attack, "full_weight_transitions", 1);
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&attack->request, &attack->plan, &message), ALGORITHM_OK, "%s",
                 message);
    cr_assert_eq(attack->plan.total_steps, STEPS);
    cr_assert_leq(attack->plan.parameter_count, MAX_WEIGHTS);
    attack->data[false] = make_data(false);
    attack->data[true] = make_data(true);
    aim(attack);
}

Test(audit, trainer)
{
    struct attack attack;
    setup(&attack);
    const struct audit audit = {.name = AUDIT_TRAINER,
                                .title = "trainer, 2 steps",
                                .epsilon = attack.plan.privacy.epsilon,
                                .delta = attack.plan.privacy.delta,
                                .claim = AUDIT_PROFILE,
                                .run = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                        .gaussian = {attack.plan.privacy.sampling_rate,
                                                     attack.plan.privacy.noise_multiplier}},
                                .times = attack.plan.privacy.steps,
                                .samples = 8000,
                                .statistic = policy_seen};
    struct attack mutant = attack;
    audit_holds(&audit, &attack);
    mutant.plan.privacy.noise_multiplier *= 0.5;
    audit_exceeds(&audit, &mutant, "half the noise");
    /* A clip norm that nothing reaches, with the noise of the right one. */
    mutant = attack;
    mutant.plan.privacy.clip_norm *= 1e6;
    mutant.plan.privacy.noise_multiplier *= 1e-6;
    struct audit trap = audit;
    trap.samples /= 4;
    audit_exceeds(&trap, &mutant, "a missing clip");
    dataset_free(attack.data[false]);
    dataset_free(attack.data[true]);
}
