/* DQN as a job: a buffer, then the loop of the offline algorithms. */
#include "algos/online/dqn_buffer.h"

#include <math.h>
#include <stdlib.h>

#include "algos/offline/cql.h"
#include "algos/offline/offline.h"
#include "algos/online/online_run.h"
#include "algos/privacy/noise/noise.h"

#define MAX_TRANSITIONS 100000000.0
#define MAX_KEPT        200000000.0 /* noised numbers in a checkpoint: 800 MB, what a row may hold */

enum { P_UNIT = OFFLINE_VALUE_COUNT, P_BUFFER, P_DISCOUNT, P_STEP_LIMIT, P_BOUND, P_COUNT };

static const char *const units[] = {"transition", "user", NULL};

static const struct parameter_spec specs[P_COUNT] = {
    OFFLINE_PARAMETERS,
    OFFLINE_VALUE_PARAMETERS,
    [P_UNIT] = {"unit", PARAMETER_CHOICE, PARAMETER_ONE(DQN_TRANSITION), 0, 1, units, "",
                "What dpsgd protects, and what the buffer counts: a transition, or a user with an "
                "episode. The other parameters call each of them an expert."},
    [P_BUFFER] = {"buffer", PARAMETER_INTEGER, PARAMETER_ONE(20000), 1, 1000000, NULL, "units",
                  "Transitions, or users' episodes, that are collected before the first update."},
    [P_DISCOUNT] = {"discount", PARAMETER_REAL, PARAMETER_ONE(0.99), 0, 1, NULL, "",
                    "Worth of a reward one step later."},
    [P_STEP_LIMIT] = {"step_limit", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, ONLINE_MAX_STEPS, NULL,
                      "steps", "Episodes are cut off there; 0: the usual limit of the world."},
    [P_BOUND] = {"observation_bound", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1e6, NULL, "",
                 "Every number of an observation is clipped to plus and minus this; 0: the bounds "
                 "that are declared for the world; for ldp_observations."},
};

/* Found with a few seeds each; docs/results/local.md has the curve. What noise leaves of the values
 * depends on buffer times epsilon once the noise multiplier is above 1, and on the square root of
 * the number of weights. So: a large buffer (it costs nobody more), batches of a fiftieth of it,
 * few weights, and a step size at which Adam, whose steps shrink as noise fills its second moment,
 * still gets values to order 100 in 2000 steps. (Batches of 128 of 20,000 transitions: a return of
 * 9 at epsilon 8. These: above 200 at epsilon 4, as without privacy.) A clip at 3 cuts nearly every
 * gradient to the same length and learns nothing even without noise to speak of. */
static const struct parameter_override overrides[] = {
    {"hiv", OFFLINE_REWARD_SCALE, PARAMETER_ONE(1e-9)},
    {"hiv", OFFLINE_INPUT_SCALE, PARAMETER_ONE(0.3)},
    {"cartpole", OFFLINE_HIDDEN, PARAMETER_ONE(16)},
    {"cartpole", OFFLINE_LEARNING_RATE, PARAMETER_ONE(0.01)},
    {"cartpole", OFFLINE_BATCH_SIZE, PARAMETER_ONE(4096)},
    {"cartpole", OFFLINE_STEPS, PARAMETER_ONE(2000)},
    {"cartpole", OFFLINE_CLIP_NORM, PARAMETER_ONE(30)},
    {"cartpole", OFFLINE_REWARD_SCALE, PARAMETER_ONE(1)},
    {"cartpole", P_BUFFER, PARAMETER_ONE(200000)},
};

static const struct offline_kind kind = {.parameters = specs,
                                         .parameter_count = P_COUNT,
                                         .outputs_per_action = 1,
                                         .learns_values = true,
                                         .asks_online_next = true,
                                         .output = POLICY_Q};

static uint32_t step_limit(const struct algorithm_request *request, const struct env *world)
{
    return online_step_limit(algorithm_number(request, P_STEP_LIMIT), world);
}

/* What the offline algorithms are asked: slots are its experts, and noised observations are data
 * like any other. */
static struct algorithm_request inner_request(const struct algorithm_request *request)
{
    struct algorithm_request inner = *request;
    inner.nominal_experts = (uint32_t)algorithm_number(request, P_BUFFER);
    inner.discount = algorithm_number(request, P_DISCOUNT);
    if (request->mechanism == MECHANISM_LDP_OBSERVATIONS)
        inner.mechanism = MECHANISM_NONE;
    return inner;
}

static bool bounds_of(const struct algorithm_request *request, const char *world, uint32_t dim,
                      struct observation_bounds *out)
{
    return observation_bounds_of(world, dim, algorithm_number(request, P_BOUND), out);
}

static const char *size_problem(const struct algorithm_request *request)
{
    const struct env *world = request->world;
    double steps = algorithm_number(request, P_UNIT) > 0.0 ? step_limit(request, world) : 1.0;
    double transitions = steps * algorithm_number(request, P_BUFFER);
    if (transitions > MAX_TRANSITIONS)
        return "buffer times step_limit must be at most 100,000,000 transitions";
    if (request->mechanism == MECHANISM_LDP_OBSERVATIONS &&
        transitions * world->state_dim > MAX_KEPT)
        return "buffer times step_limit must be at most 200,000,000 noised numbers, which a "
               "checkpoint holds";
    return NULL;
}

static enum algorithm_status dqn_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    struct observation_bounds bounds;
    struct algorithm_plan plan;
    *message = online_request_problem(request, specs, P_COUNT);
    if (!*message)
        *message = size_problem(request);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    const struct env *world = request->world;
    struct algorithm_request inner = inner_request(request);
    inner.state_dim = world->state_dim;
    inner.action_count = world->action_count;
    enum algorithm_status status = offline_plan(&kind, &inner, &plan, message);
    if (status == ALGORITHM_OK && request->mechanism == MECHANISM_LDP_OBSERVATIONS) {
        if (!bounds_of(request, world->name, world->state_dim, &bounds)) {
            *message = "observation_bound must be given: no bounds are declared for this world";
            return ALGORITHM_BAD_INPUT;
        }
        status = offline_plan_status(
            observation_plan(world->state_dim, request->epsilon, request->delta, &plan.privacy),
            ONLINE_TOO_DEAR, message);
    }
    if (status == ALGORITHM_OK)
        *out = plan;
    return status;
}

/* ---- statement */

static const char neighbours_transition[] =
    "Two buffers are neighbours when one transition (state, action, reward, next state, end) is "
    "emptied in one of them while its slot stays.";
static const char neighbours_user[] =
    "Two buffers are neighbours when one user's episode is emptied in one of them while its slot "
    "stays.";

static void dqn_describe(const struct algorithm_request *request, const struct algorithm_plan *plan,
                         const char *world, struct statement *out)
{
    const struct dp_sgd_plan *privacy = &plan->privacy;
    struct observation_bounds bounds;
    bool user = algorithm_number(request, P_UNIT) > 0.0;
    statement_number(out, "updates", (double)plan->total_steps);
    statement_number(out, "buffer", algorithm_number(request, P_BUFFER));
    statement_add(out->assumptions, "The episodes were played here, in a public world: each stands "
                                    "for that of one person, and no account is debited for it.");
    statement_add(out->assumptions, "The buffer was filled before the first update, by uniformly "
                                    "random actions, and its size is public.");
    if (request->mechanism == MECHANISM_LDP_OBSERVATIONS) {
        uint64_t most = (uint64_t)step_limit(request, env_find(world)) + 1;
        if (bounds_of(request, world, plan->shape.input, &bounds))
            observation_describe(privacy, &bounds, most, out);
        return;
    }
    out->unit = user ? "user" : "transition";
    out->neighbours = user ? neighbours_user : neighbours_transition;
    out->accountant =
        "privacy-loss distribution of the composed Poisson-subsampled Gaussian, both directions "
        "(closed form where every slot is in every batch); epsilon is an upper and epsilon_lower a "
        "lower bound of what these steps cost, epsilon_renyi a check by Renyi accounting";
    statement_add(out->assumptions, "Each step's batch is a Poisson sample of the slots at the "
                                    "stated rate, a user with one of its transitions; the noise is "
                                    "Gaussian and comes from a generator that is secure.");
    if (!user)
        statement_add(out->warnings, "A single transition is protected. A person with many of them "
                                     "is not: unit user protects whole episodes.");
    statement_add(out->warnings, online_arithmetic(privacy));
    statement_number(out, "expected_uses_of_a_slot",
                     privacy->sampling_rate * (double)privacy->steps);
}

/* ---- the run */

/* Hooks that put the noised observations before what the trainer saves. */
struct keeper {
    const struct algorithm_hooks *hooks;
    const struct dataset *data;
};

static enum algorithm_pulse keeper_pulse(void *context, uint64_t steps_done)
{
    const struct keeper *keeper = context;
    return keeper->hooks->pulse ? keeper->hooks->pulse(keeper->hooks->context, steps_done)
                                : PULSE_CONTINUE;
}

static bool keeper_save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    const struct keeper *keeper = context;
    size_t all_size = 0;
    if (!keeper->hooks->save)
        return false;
    unsigned char *all = dqn_buffer_keep(keeper->data, bytes, size, &all_size);
    bool saved = keeper->hooks->save(keeper->hooks->context, steps_done, all, all_size);
    free(all);
    return saved;
}

static enum algorithm_status train_on(const struct algorithm_run *run, struct dataset *data,
                                      struct policy **out_policy, const char **message)
{
    const struct algorithm_request inner = inner_request(run->request);
    /* Without a conservative term, conservative Q-learning is deep Q-learning. */
    const struct cql_rule rule = {.loss = {.actions = inner.action_count,
                                           .huber = (float)algorithm_number(&inner, OFFLINE_HUBER)},
                                  .discount = (float)inner.discount};
    struct algorithm_run training = *run;
    struct keeper keeper = {&run->hooks, data};
    training.request = &inner;
    training.data = data;
    if (run->request->mechanism == MECHANISM_LDP_OBSERVATIONS) {
        training.hooks.context = &keeper;
        training.hooks.pulse = keeper_pulse;
        training.hooks.save = keeper_save;
        if (run->checkpoint &&
            !dqn_buffer_restore(data, run->checkpoint, run->checkpoint_size, &training.checkpoint,
                                &training.checkpoint_size)) {
            *message = "the checkpoint is damaged or of another run";
            return ALGORITHM_BAD_CHECKPOINT;
        }
    }
    enum algorithm_status status =
        offline_train(&kind, &training, cql_errors, &rule, out_policy, message);
    if (status == ALGORITHM_OK && run->request->mechanism != MECHANISM_NONE)
        (*out_policy)->injected_noise = run->noise && noise_source_is_injected(run->noise);
    return status;
}

static enum algorithm_status dqn_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    const struct algorithm_request *request = run->request;
    struct observation_bounds bounds;
    bool user = algorithm_number(request, P_UNIT) > 0.0, broke = false;
    bool hides = request->mechanism == MECHANISM_LDP_OBSERVATIONS;
    struct dqn_buffer_request buffer = {
        .world = request->world,
        .physics = request->world_parameters,
        .unit = user ? DQN_USER : DQN_TRANSITION,
        .episodes = user,
        .size = (uint32_t)algorithm_number(request, P_BUFFER),
        .steps = step_limit(request, request->world),
        .seed = request->seed,
    };
    *message = "";
    if (request->mechanism != MECHANISM_DPSGD)
        buffer.unit = DQN_NOBODY;
    if (hides) {
        if (!bounds_of(request, request->world->name, request->world->state_dim, &bounds)) {
            *message = "no bounds are declared for this world";
            return ALGORITHM_BAD_INPUT;
        }
        buffer.bounds = &bounds;
        buffer.plan = &run->plan->privacy;
        buffer.noise = run->noise ? run->noise : noise_source_new("observations");
        if (!buffer.noise)
            return ALGORITHM_NO_RANDOMNESS;
    }
    struct dataset *data = dqn_buffer_fill(&buffer, &broke);
    if (buffer.noise != run->noise)
        noise_source_free(buffer.noise);
    if (!data) {
        *message = broke ? "the world broke" : "";
        return broke ? ALGORITHM_BAD_INPUT : ALGORITHM_NO_MEMORY;
    }
    enum algorithm_status status = train_on(run, data, out_policy, message);
    dataset_free(data);
    return status;
}

static const struct parameter_later later[] = {OFFLINE_LATER};

const struct algorithm dqn_algorithm = {
    .name = "dqn",
    .summary = "Deep Q-learning on a fixed buffer of random play; a transition, a user or an "
               "observation is protected.",
    .mechanisms =
        {[MECHANISM_NONE] = true, [MECHANISM_DPSGD] = true, [MECHANISM_LDP_OBSERVATIONS] = true},
    .kind = ALGORITHM_LEARNS_BY_PLAY,
    .privacy_unit = "transition",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .later = later,
    .later_count = sizeof later / sizeof later[0],
    .plan = dqn_plan,
    .describe = dqn_describe,
    .train = dqn_train,
};
