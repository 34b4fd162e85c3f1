/* Runs of the on-line learners, watched through their checkpoints. */
#include "bench/local/learner.h"

#include <stdio.h>
#include <string.h>

#include "algos/online/dqn_buffer.h"
#include "algos/online/online_run.h"
#include "algos/online/reinforce.h"
#include "bench/cpu_clock.h"

#define DELTA        1e-5
#define MOST_EPSILON 1e6 /* where the noise is what is given */
#define LOOK_EVERY   25
#define EPISODES     100
#define MAX_STEPS    500
#define UPDATES      1000

static const uint64_t dqn_lengths[] = {1000, 2000};

const struct learner learners[] = {
    {"reinforce", "REINFORCE, an episode to an update", &reinforce_algorithm, 1},
    {"reinforce_20", "REINFORCE, 20 episodes to an update", &reinforce_algorithm, 20},
    {"dqn", "DQN", &dqn_algorithm, 0},
};
const unsigned learner_count = sizeof learners / sizeof learners[0];

struct watch {
    const struct algorithm_run *run;
    uint64_t solved, looked;
    bool broke;
};

static double play(const struct policy *policy, const struct algorithm_request *request,
                   unsigned episodes)
{
    struct policy_evaluation played;
    return policy_evaluate(policy, request->world, request->world_parameters, episodes, MAX_STEPS,
                           UINT64_C(1000) + request->seed, &played)
               ? played.mean_return
               : -1.0;
}

static enum algorithm_pulse pulse(void *context, uint64_t updates)
{
    const struct watch *watch = context;
    return watch->solved == 0 && updates % LOOK_EVERY == 0 ? PULSE_SAVE : PULSE_CONTINUE;
}

/* OUT[count]: the first vector of a checkpoint (online_run.h), which is the loop's parameters. */
static bool first_vector(const unsigned char *bytes, size_t size, size_t count, float *out)
{
    const size_t head = 2 * sizeof(uint32_t) + 5 * sizeof(uint64_t);
    if (size < head + count * sizeof *out)
        return false;
    memcpy(out, bytes + head, count * sizeof *out);
    return true;
}

static bool look(void *context, uint64_t updates, const unsigned char *bytes, size_t size)
{
    struct watch *watch = context;
    const struct mlp_shape *shape = &watch->run->plan->shape;
    struct policy *policy = policy_new(shape, POLICY_SOFTMAX);
    watch->broke =
        !policy || !first_vector(bytes, size, mlp_parameter_count(shape), policy->parameters);
    if (!watch->broke && play(policy, watch->run->request, LEARNER_TESTS) >= LEARNER_SOLVED)
        watch->solved = updates;
    policy_free(policy);
    return !watch->broke;
}

static bool set(struct algorithm_request *request, const struct algorithm *algorithm,
                const char *name, double value)
{
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (index >= 0)
        request->parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
    return index >= 0;
}

static bool train(const struct algorithm *algorithm, const struct algorithm_request *request,
                  struct learner_result *out)
{
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    struct algorithm_run run = {.request = request, .plan = &plan};
    struct watch watch = {.run = &run};
    if (algorithm == &reinforce_algorithm)
        run.hooks = (struct algorithm_hooks){.context = &watch, .pulse = pulse, .save = look};
    enum algorithm_status status = algorithm->plan(request, &plan, &message);
    if (status == ALGORITHM_OK)
        status = algorithm->train(&run, &policy, &message);
    if (status != ALGORITHM_OK || watch.broke) {
        fprintf(stderr, "%s: %s\n", algorithm->name, message[0] ? message : "it broke");
        policy_free(policy);
        return false;
    }
    out->epsilon = plan.privacy.epsilon;
    out->length = plan.total_steps;
    out->solved = watch.solved;
    out->mean_return = play(policy, request, EPISODES);
    policy_free(policy);
    return true;
}

/* Runs of growing length, up to the one that is reported. */
static bool train_dqn(const struct algorithm *algorithm, struct algorithm_request *request,
                      struct learner_result *out)
{
    uint64_t solved = 0;
    for (size_t i = 0; i < sizeof dqn_lengths / sizeof dqn_lengths[0]; i++) {
        if (!set(request, algorithm, "steps", (double)dqn_lengths[i]) ||
            !train(algorithm, request, out))
            return false;
        if (solved == 0 && out->mean_return >= LEARNER_SOLVED)
            solved = dqn_lengths[i];
    }
    out->solved = solved;
    return true;
}

bool learner_run(const struct learner *learner, enum algorithm_mechanism mechanism, double setting,
                 uint64_t seed, struct learner_result *out)
{
    struct algorithm_request request = {.mechanism = setting > 0.0 ? mechanism : MECHANISM_NONE,
                                        .epsilon = setting,
                                        .delta = DELTA,
                                        .seed = seed,
                                        .world = env_find("cartpole")};
    const struct algorithm *algorithm = learner->algorithm;
    double start = cpu_seconds();
    *out = (struct learner_result){.epsilon = 0.0};
    env_defaults(request.world, request.world_parameters);
    request.state_dim = request.world->state_dim;
    request.action_count = request.world->action_count;
    algorithm_defaults(algorithm, request.world->name, &request.parameters);
    if (request.mechanism == MECHANISM_DPSGD) {
        request.epsilon = MOST_EPSILON;
        if (!set(&request, algorithm, "noise_multiplier", setting))
            return false;
    }
    bool good = true;
    if (learner->batch > 0) {
        good = set(&request, algorithm, "episodes_per_update", learner->batch) &&
               set(&request, algorithm, "episodes", (double)UPDATES * learner->batch) &&
               train(algorithm, &request, out);
        out->solved *= learner->batch;
        out->length *= learner->batch;
    } else {
        good = train_dqn(algorithm, &request, out);
    }
    out->cpu_seconds = cpu_seconds() - start;
    return good;
}
