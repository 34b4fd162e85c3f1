/* Runs of the on-line learners, watched through their checkpoints. */
#include "bench/local/learner.h"

#include <stdio.h>
#include <string.h>

#include "algos/offline/trainer_input.h"
#include "algos/online/dqn_buffer.h"
#include "algos/online/dqn_parameters.h"
#include "algos/online/online_run.h"
#include "algos/online/reinforce.h"
#include "bench/cpu_clock.h"

#define MOST_EPSILON 1e6 /* where the noise is what is given */
#define LOOK_EVERY   25
#define LOOK_DQN     100
#define EPISODES     100
#define MAX_STEPS    500
#define UPDATES      1000
#define LEAST_EXACT  1.0 /* noise below it may cost more than exact arithmetic can certify */

static const uint64_t fixed_lengths[] = {1000, 2000};

const struct learner learners[] = {
    {"reinforce", "REINFORCE, an episode to an update", &reinforce_algorithm, 1, false},
    {"reinforce_20", "REINFORCE, 20 episodes to an update", &reinforce_algorithm, 20, false},
    {"dqn", "DQN, plays while it learns", &dqn_algorithm, 0, false},
    {"dqn_random", "DQN, fixed buffer of random play", &dqn_algorithm, 0, true},
};
const unsigned learner_count = sizeof learners / sizeof learners[0];

struct setting {
    const char *name;
    double value;
};

/* Settings of the fixed buffer: many transitions and few weights, which noise leaves most of. */
static const struct setting fixed_settings[] = {
    {"play", DQN_PLAYS_RANDOM}, {"unit", DQN_TRANSITION},
    {"buffer", 200000},         {"hidden", 16},
    {"learning_rate", 0.01},    {"batch_size", 4096},
    {"clip_norm", 30},          {"reward_scale", 1},
    {"input_scale", 10},        {"transitions_per_expert", 1},
    {"polyak_tau", 0},          {"target_update_interval", 100},
};

/* Settings of REINFORCE without noise, and of play while it learns where gradients are not noised
 * (algos/online/reinforce.c, dqn.c). */
static const struct setting quiet_settings[] = {{"final_rate_fraction", 0}, {"discount", 0.995}};
static const struct setting plain_settings[] = {
    {"learning_rate", 0.01}, {"batch_size", 64}, {"target_update_interval", 20}, {"steps", 8000}};

struct watch {
    const struct algorithm_run *run;
    uint64_t solved, looked; /* after so many updates */
    bool plays_dqn, broke;
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
    unsigned every = watch->plays_dqn ? LOOK_DQN : LOOK_EVERY;
    bool due = watch->looked < updates && updates % every == 0;
    return watch->solved == 0 && due ? PULSE_SAVE : PULSE_CONTINUE;
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

/* OUT[count]: what a DQN that plays has learned by a checkpoint: the last vector of the trainer's
 * (algos/offline/trainer_state.c), the average of the weights, as a policy has it. */
static bool last_vector(const struct algorithm_run *run, const unsigned char *bytes, size_t size,
                        size_t count, float *out)
{
    const struct algorithm_request *request = run->request;
    const struct parameter_value *value = request->parameters.value;
    const struct trainer_settings settings = {.rule = {.shape = run->plan->shape},
                                              .input_scale = value[OFFLINE_INPUT_SCALE],
                                              .input_center = value[OFFLINE_INPUT_CENTER]};
    const struct dqn_replay_size room = {request->state_dim, request->action_count,
                                         dqn_rounds_of(request).kept_users, MAX_STEPS, true};
    const size_t head = 88, vectors_at = 72, vector = count * sizeof *out;
    const unsigned char *inner;
    size_t inner_size = 0;
    uint32_t vectors = 0;
    struct dqn_replay replay;
    dqn_replay_init(&replay, &room);
    bool good = dqn_replay_restore(&replay, bytes, size, &inner, &inner_size) && inner_size > head;
    if (good)
        memcpy(&vectors, inner + vectors_at, sizeof vectors);
    good = good && vectors > 0 && inner_size >= head + vectors * vector;
    if (good) {
        memcpy(out, inner + head + (vectors - 1) * vector, vector);
        trainer_input_fold(&settings, out);
    }
    dqn_replay_clear(&replay);
    return good;
}

static bool look(void *context, uint64_t updates, const unsigned char *bytes, size_t size)
{
    struct watch *watch = context;
    const struct algorithm_run *run = watch->run;
    const struct mlp_shape *shape = &run->plan->shape;
    size_t count = mlp_parameter_count(shape);
    struct policy *policy = policy_new(shape, watch->plays_dqn ? POLICY_Q : POLICY_SOFTMAX);
    bool read =
        policy && (watch->plays_dqn ? last_vector(run, bytes, size, count, policy->parameters)
                                    : first_vector(bytes, size, count, policy->parameters));
    watch->broke = !read;
    watch->looked = updates;
    if (read && play(policy, run->request, LEARNER_TESTS) >= LEARNER_SOLVED)
        watch->solved = updates;
    policy_free(policy);
    return read;
}

static bool set(struct algorithm_request *request, const struct algorithm *algorithm,
                const char *name, double value)
{
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (index >= 0)
        request->parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
    return index >= 0;
}

static bool set_all(struct algorithm_request *request, const struct algorithm *algorithm,
                    const struct setting *settings, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good = good && set(request, algorithm, settings[i].name, settings[i].value);
    return good;
}

static bool train(const struct algorithm *algorithm, const struct algorithm_request *request,
                  struct learner_result *out)
{
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    struct algorithm_run run = {.request = request, .plan = &plan};
    bool dqn = algorithm == &dqn_algorithm, plays = dqn && dqn_plays_greedy(request);
    struct watch watch = {.run = &run, .plays_dqn = plays};
    if (plays || !dqn)
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

/* Runs of growing length on a fixed buffer, up to the one that is reported. */
static bool train_fixed(const struct algorithm *algorithm, struct algorithm_request *request,
                        struct learner_result *out)
{
    uint64_t solved = 0;
    if (!set_all(request, algorithm, fixed_settings,
                 sizeof fixed_settings / sizeof fixed_settings[0]))
        return false;
    for (size_t i = 0; i < sizeof fixed_lengths / sizeof fixed_lengths[0]; i++) {
        if (!set(request, algorithm, "steps", (double)fixed_lengths[i]) ||
            !train(algorithm, request, out))
            return false;
        if (solved == 0 && out->mean_return >= LEARNER_SOLVED)
            solved = fixed_lengths[i];
    }
    out->solved = solved;
    return true;
}

/* In episodes, as users play them. */
static bool train_playing(const struct algorithm *algorithm, struct algorithm_request *request,
                          struct learner_result *out)
{
    const struct dqn_rounds rounds = dqn_rounds_of(request);
    if (request->mechanism != MECHANISM_DPSGD &&
        !set_all(request, algorithm, plain_settings,
                 sizeof plain_settings / sizeof plain_settings[0]))
        return false;
    if (!train(algorithm, request, out))
        return false;
    if (out->solved > 0)
        out->solved = dqn_rounds_users(&rounds, out->solved - 1);
    out->length = dqn_rounds_users(&rounds, out->length - 1);
    return true;
}

bool learner_run(const struct learner *learner, enum algorithm_mechanism mechanism, double setting,
                 uint64_t seed, struct learner_result *out)
{
    struct algorithm_request request = {.mechanism = setting > 0.0 ? mechanism : MECHANISM_NONE,
                                        .epsilon = setting,
                                        .delta = LEARNER_DELTA,
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
        if (!set(&request, algorithm, "noise_multiplier", setting) ||
            (setting < LEAST_EXACT && !set(&request, algorithm, "arithmetic", 0)))
            return false;
    }
    bool good = true;
    if (learner->batch > 0) {
        if (request.mechanism == MECHANISM_NONE &&
            !set_all(&request, algorithm, quiet_settings,
                     sizeof quiet_settings / sizeof quiet_settings[0]))
            return false;
        good = set(&request, algorithm, "episodes_per_update", learner->batch) &&
               set(&request, algorithm, "episodes", (double)UPDATES * learner->batch) &&
               train(algorithm, &request, out);
        out->solved *= learner->batch;
        out->length *= learner->batch;
    } else if (learner->fixed) {
        good = train_fixed(algorithm, &request, out);
    } else {
        good = train_playing(algorithm, &request, out);
    }
    out->cpu_seconds = cpu_seconds() - start;
    return good;
}
