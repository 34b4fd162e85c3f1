/* REINFORCE as a job: parameters, plan, statement and the loop of updates.
 *
 * Episode number e of a run draws from stream 1 + e of the public seed, so that a run that goes on
 * from a checkpoint plays what it would have played; the noise is drawn afresh. */
#include "algos/online/reinforce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"
#include "algos/nn/optimizer.h"
#include "algos/nn/per_example_lattice.h"
#include "algos/offline/offline.h"
#include "algos/online/online_run.h"
#include "algos/privacy/noise/noise.h"
#include "memory/memory.h"

#define CHUNK_ROWS  256
#define RECENT      0.95 /* memory of the mean return that is shown */
#define OUTPUT_GAIN 0.1

#define TOO_DEAR_EXACTLY                                                                           \
    "no noise fits the privacy budget, or epsilon is too large for exact arithmetic, whose noise " \
    "can be certified up to an epsilon of some 45 and from a delta of some 1e-17 on "              \
    "(\"arithmetic\":\"float\" has no such limits)"

enum {
    P_HIDDEN,
    P_ACTIVATION,
    P_EPISODES,
    P_PER_UPDATE,
    P_LEARNING_RATE,
    P_DISCOUNT,
    P_CLIP_NORM,
    P_NOISE_MULTIPLIER,
    P_STEP_LIMIT,
    P_BOUND,
    P_ARITHMETIC,
    P_FINAL_RATE,
    P_COUNT
};

static const char *const activations[] = {"relu", "tanh", NULL};

static const struct parameter_spec specs[P_COUNT] = {
    [P_HIDDEN] =
        {"hidden", PARAMETER_INTEGER_LIST, PARAMETER_ONE(128), 1, 1024, NULL, "units",
         "Widths of the hidden layers, [] for a linear model; noise grows with the network."},
    [P_ACTIVATION] = {"activation", PARAMETER_CHOICE, PARAMETER_ONE(MLP_RELU), 0, 1, activations,
                      "", "What follows every hidden layer."},
    [P_EPISODES] = {"episodes", PARAMETER_INTEGER, PARAMETER_ONE(1000), 1, 10000000, NULL,
                    "episodes",
                    "Episodes to play, rounded up to whole updates; each is used once."},
    [P_PER_UPDATE] = {"episodes_per_update", PARAMETER_INTEGER, PARAMETER_ONE(1), 1, 65536, NULL,
                      "episodes", "Episodes whose gradients are added up in an update."},
    [P_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, PARAMETER_ONE(0.003), 1e-7, 1, NULL, "",
                         "Step size of Adam."},
    [P_DISCOUNT] = {"discount", PARAMETER_REAL, PARAMETER_ONE(0.99), 0, 1, NULL, "",
                    "Worth of a reward one step later."},
    [P_CLIP_NORM] = {"clip_norm", PARAMETER_REAL, PARAMETER_ONE(1), 1e-6, 1e6, NULL, "",
                     "Bound of an episode's gradient norm, over all tensors; for dpsgd."},
    [P_NOISE_MULTIPLIER] = {"noise_multiplier", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1e6, NULL, "",
                            "Noise deviation over clip_norm; 0: the least that the requested "
                            "epsilon allows; for dpsgd."},
    [P_STEP_LIMIT] = {"step_limit", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, ONLINE_MAX_STEPS, NULL,
                      "steps", "Episodes are cut off there; 0: the usual limit of the world."},
    [P_BOUND] = {"observation_bound", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1e6, NULL, "",
                 "Every number of an observation is clipped to plus and minus this; 0: the bounds "
                 "that are declared for the world; for ldp_observations."},
    [P_ARITHMETIC] = {"arithmetic", PARAMETER_CHOICE, PARAMETER_ONE(1), 0, 1, offline_arithmetics,
                      "",
                      "Of dpsgd: exact sums whole numbers, and the proof covers every bit; no "
                      "theorem covers the last bits of float."},
    /* Without noise a step size that stays lets some runs forget at their end what they have
     * learned: the last policy of CartPole returned 475 and more on 4 of 5 seeds, and on 8 of 8
     * with 0 and discount 0.995. Under noise a step size that falls learns less. */
    [P_FINAL_RATE] = {"final_rate_fraction", PARAMETER_REAL, PARAMETER_ONE(1), 0, 1, NULL, "",
                      "What is left of the step size at the end, to which it falls linearly; 0 "
                      "suits runs without noise."},
};

static const struct parameter_later later[] = {{P_ARITHMETIC, PARAMETER_ONE(0)}, /* float */
                                               {P_FINAL_RATE, PARAMETER_ONE(1)}};

/* ---- plan */

static enum algorithm_status reinforce_privacy(const struct algorithm_request *request,
                                               uint64_t parameter_count, struct dp_sgd_plan *out,
                                               const char **message)
{
    struct observation_bounds bounds;
    const struct env *world = request->world;
    if (request->mechanism == MECHANISM_LDP_OBSERVATIONS) {
        if (!observation_bounds_of(world->name, world->state_dim,
                                   algorithm_number(request, P_BOUND), &bounds)) {
            *message = "observation_bound must be given: no bounds are declared for this world";
            return ALGORITHM_BAD_INPUT;
        }
        return offline_plan_status(
            observation_plan(world->state_dim, request->epsilon, request->delta, out),
            ONLINE_TOO_DEAR, message);
    }
    uint32_t batch = (uint32_t)algorithm_number(request, P_PER_UPDATE);
    struct dp_sgd_plan plan = {.sampling_rate = 1.0,
                               .noise_multiplier = algorithm_number(request, P_NOISE_MULTIPLIER),
                               .clip_norm = algorithm_number(request, P_CLIP_NORM),
                               .batch_size = batch,
                               .nominal_experts = batch,
                               .steps = 1,
                               .delta = request->delta};
    bool exact = algorithm_number(request, P_ARITHMETIC) > 0.0;
    if (exact)
        plan.rounded_draws = parameter_count;
    bool asked = plan.noise_multiplier > 0.0;
    enum algorithm_status status = offline_plan_status(
        asked ? dp_sgd_plan_account(&plan) : dp_sgd_plan_find_noise(&plan, request->epsilon),
        exact ? TOO_DEAR_EXACTLY : ONLINE_TOO_DEAR, message);
    if (status == ALGORITHM_OK && plan.epsilon > request->epsilon) {
        *message = "noise_multiplier is too small for the requested epsilon";
        return ALGORITHM_INFEASIBLE;
    }
    *out = plan;
    return status;
}

static void reinforce_settle(struct algorithm_request *request)
{
    online_settle_limit(request, P_STEP_LIMIT);
}

static enum algorithm_status reinforce_plan(const struct algorithm_request *request,
                                            struct algorithm_plan *out, const char **message)
{
    struct algorithm_plan plan = {0};
    *message = online_request_problem(request, specs, P_COUNT);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    const struct parameter_value *hidden = &request->parameters.value[P_HIDDEN];
    plan.shape = (struct mlp_shape){
        .input = request->world->state_dim,
        .layer_count = hidden->count + 1,
        .activation = (enum mlp_activation)algorithm_number(request, P_ACTIVATION)};
    for (unsigned l = 0; l < hidden->count; l++)
        plan.shape.width[l] = (uint32_t)hidden->number[l];
    plan.shape.width[hidden->count] = request->world->action_count;
    if (!mlp_shape_valid(&plan.shape)) {
        *message = "the network's sizes are out of bounds";
        return ALGORITHM_BAD_INPUT;
    }
    plan.parameter_count = mlp_parameter_count(&plan.shape);
    plan.total_steps = (uint64_t)ceil(algorithm_number(request, P_EPISODES) /
                                      algorithm_number(request, P_PER_UPDATE));
    if (request->mechanism != MECHANISM_NONE) {
        enum algorithm_status status =
            reinforce_privacy(request, plan.parameter_count, &plan.privacy, message);
        if (status != ALGORITHM_OK)
            return status;
    }
    *out = plan;
    return ALGORITHM_OK;
}

static void reinforce_describe(const struct algorithm_request *request,
                               const struct algorithm_plan *plan, const char *world,
                               struct statement *out)
{
    const struct dp_sgd_plan *privacy = &plan->privacy;
    struct observation_bounds bounds;
    double updates = (double)plan->total_steps, batch = algorithm_number(request, P_PER_UPDATE);
    statement_number(out, "updates", updates);
    statement_number(out, "episodes", updates * batch);
    statement_add(out->assumptions, "The episodes were played here, in a public world: each stands "
                                    "for that of one person, and no account is debited for it.");
    if (request->mechanism == MECHANISM_LDP_OBSERVATIONS) {
        uint32_t most = online_step_limit(algorithm_number(request, P_STEP_LIMIT), env_find(world));
        if (observation_bounds_of(world, plan->shape.input, algorithm_number(request, P_BOUND),
                                  &bounds))
            observation_describe(privacy, &bounds, most, out);
        return;
    }
    out->unit = "episode";
    out->neighbours =
        "Two runs are neighbours when one episode is removed from one of them: its "
        "gradient counts as zero, and the number of episodes, which is public, stays. "
        "epsilon_replaced is the figure where it is replaced by any other episode.";
    out->accountant = "closed form of one Gaussian: every episode is in exactly one update, so the "
                      "figures are those of an update, however many there are (parallel "
                      "composition), even if all intermediate policies are published";
    statement_add(out->assumptions,
                  "An episode is used in one update and never again; what later people do may "
                  "depend on it through the noised weights alone.");
    statement_add(out->assumptions, "One person gives one episode. For a person who gives k "
                                    "episodes the sensitivity is sqrt(k) times as large if no two "
                                    "of them are in one update, and else up to k times.");
    statement_add(out->warnings, online_arithmetic(privacy));
    statement_number(out, "uses_of_an_episode", 1);
    double replaced = dp_sgd_plan_epsilon_replaced(privacy);
    if (isfinite(replaced))
        statement_number(out, "epsilon_replaced", replaced);
}

/* ---- the run */

struct reinforce {
    const struct algorithm_run *run;
    struct reinforce_episode episode;
    struct reinforce_view view;
    struct observation_bounds bounds;
    struct noise_source *noise;
    struct optimizer adam;
    struct batch *batch;
    void *state; /* of the world */
    float *parameters, *gradient, *sum, *scratch;
    int64_t *whole; /* sums of exact arithmetic; else NULL */
    size_t count;
    uint64_t updates;
    double recent_weight, recent; /* of returns; not private runs' */
};

/* The step size of the next update. */
static double reinforce_rate(const struct reinforce *r)
{
    const struct algorithm_request *request = r->run->request;
    double part = (double)r->updates / (double)r->run->plan->total_steps;
    return algorithm_number(request, P_LEARNING_RATE) *
           (1.0 + part * (algorithm_number(request, P_FINAL_RATE) - 1.0));
}

static enum algorithm_status reinforce_update(struct reinforce *r, const char **message)
{
    const struct algorithm_request *request = r->run->request;
    const struct dp_sgd_plan *privacy = &r->run->plan->privacy;
    bool noisy = request->mechanism == MECHANISM_DPSGD;
    uint32_t batch = (uint32_t)algorithm_number(request, P_PER_UPDATE);
    double units = r->whole ? dp_sgd_plan_lattice_units(privacy) : 0.0;
    memset(r->sum, 0, r->count * sizeof *r->sum);
    if (r->whole)
        memset(r->whole, 0, r->count * sizeof *r->whole);
    for (uint32_t i = 0; i < batch; i++) {
        struct rng rng;
        rng_seed(&rng, request->seed, 1 + r->updates * batch + i);
        enum reinforce_play played =
            reinforce_play(&r->episode, &r->run->plan->shape, r->parameters, request->world,
                           r->state, request->world_parameters, &r->view, &rng, r->scratch);
        if (played != REINFORCE_PLAYED) {
            *message = played == REINFORCE_WORLD_BROKE
                           ? "the world broke"
                           : "the weights grew without bound; a smaller learning rate helps";
            return ALGORITHM_BAD_INPUT;
        }
        r->recent_weight = RECENT * r->recent_weight + (1.0 - RECENT);
        r->recent = RECENT * r->recent + (1.0 - RECENT) * r->episode.score;
        reinforce_weigh(&r->episode, algorithm_number(request, P_DISCOUNT));
        reinforce_gradient(&r->episode, r->batch, r->parameters, r->gradient);
        if (r->whole)
            per_example_lattice_add_one(r->gradient, r->count, units, r->whole);
        else
            reinforce_add_clipped(r->gradient, r->count, noisy ? privacy->clip_norm : 0.0, r->sum);
    }
    if (r->whole)
        dp_sgd_plan_finish_lattice(privacy, r->noise, r->whole, r->count, r->sum);
    else if (noisy)
        dp_sgd_plan_finish_sum(privacy, r->noise, r->sum, r->count);
    for (size_t i = 0; i < r->count && !noisy; i++)
        r->sum[i] /= (float)batch;
    optimizer_step(&r->adam, r->parameters, r->sum, reinforce_rate(r));
    r->updates++;
    return ALGORITHM_OK;
}

static enum algorithm_status reinforce_prepare(struct reinforce *r, const char **message)
{
    const struct algorithm_run *run = r->run;
    const struct algorithm_request *request = run->request;
    const struct mlp_shape *shape = &run->plan->shape;
    const struct optimizer_settings adam = {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8};
    struct rng rng;
    r->count = mlp_parameter_count(shape);
    r->state = env_open(request->world);
    if (!r->state || !memory_fits(14 * r->count * sizeof(float) + batch_bytes(shape, CHUNK_ROWS)))
        return ALGORITHM_NO_MEMORY;
    r->parameters = memory_new(r->count, sizeof *r->parameters);
    r->gradient = memory_new(r->count, sizeof *r->gradient);
    r->sum = memory_new(r->count, sizeof *r->sum);
    if (request->mechanism == MECHANISM_DPSGD && run->plan->privacy.rounded_draws > 0)
        r->whole = memory_new(r->count, sizeof *r->whole);
    r->scratch = memory_new(mlp_scratch_count(shape), sizeof *r->scratch);
    r->batch = memory_must(batch_new(shape, CHUNK_ROWS));
    if (!optimizer_init(&r->adam, &adam, r->count))
        memory_must(NULL);
    reinforce_episode_init(
        &r->episode, shape->input,
        online_step_limit(algorithm_number(request, P_STEP_LIMIT), request->world));
    rng_seed(&rng, request->seed, 0);
    mlp_initialize(shape, &rng, OUTPUT_GAIN, r->parameters);
    if (request->mechanism == MECHANISM_NONE)
        return ALGORITHM_OK;
    r->noise = run->noise ? run->noise : noise_source_new("reinforce");
    if (!r->noise)
        return ALGORITHM_NO_RANDOMNESS;
    /* Whether outputs are finite depends on an episode's states: the run goes on, and this
     * episode's gradient counts as zero. (Under the other mechanism the states were noised.) */
    r->view.goes_on = request->mechanism == MECHANISM_DPSGD;
    if (request->mechanism == MECHANISM_DPSGD)
        return ALGORITHM_OK;
    if (!observation_bounds_of(request->world->name, shape->input,
                               algorithm_number(request, P_BOUND), &r->bounds)) {
        *message = "no bounds are declared for this world";
        return ALGORITHM_BAD_INPUT;
    }
    r->view = (struct reinforce_view){&r->bounds, &run->plan->privacy, r->noise, false};
    return ALGORITHM_OK;
}

static void reinforce_clear(struct reinforce *r)
{
    if (r->noise != r->run->noise)
        noise_source_free(r->noise);
    reinforce_episode_clear(&r->episode);
    optimizer_clear(&r->adam);
    batch_free(r->batch);
    env_close(r->run->request->world, r->state);
    free(r->parameters);
    free(r->gradient);
    free(r->sum);
    free(r->whole);
    free(r->scratch);
}

static enum algorithm_status reinforce_learn(struct reinforce *r, const char **message)
{
    const struct algorithm_run *run = r->run;
    /* A fingerprint leaves parameters out that came later and have the value from before, so that
     * older checkpoints still fit. */
    bool exact = algorithm_number(run->request, P_ARITHMETIC) > 0.0;
    bool falls = algorithm_number(run->request, P_FINAL_RATE) < 1.0;
    unsigned counted = exact ? P_FINAL_RATE : P_ARITHMETIC;
    uint64_t fingerprint = online_fingerprint(run, falls ? P_COUNT : counted);
    struct online_memory memory = {.updates = &r->updates,
                                   .optimizer_step = &r->adam.step,
                                   .count = r->count,
                                   .vector = {r->parameters, r->adam.first, r->adam.second}};
    if (run->checkpoint && !online_from_bytes(&memory, fingerprint, run->plan->total_steps,
                                              run->checkpoint, run->checkpoint_size)) {
        *message = "the checkpoint is damaged or of another run";
        return ALGORITHM_BAD_CHECKPOINT;
    }
    enum algorithm_status status = ALGORITHM_OK;
    while (status == ALGORITHM_OK && r->updates < run->plan->total_steps) {
        status = reinforce_update(r, message);
        if (status != ALGORITHM_OK || r->updates == run->plan->total_steps)
            break;
        if (run->request->mechanism == MECHANISM_NONE && run->hooks.show_return)
            run->hooks.show_return(run->hooks.context, r->recent / r->recent_weight);
        status = online_pulse(run, fingerprint, &memory);
    }
    return status;
}

static enum algorithm_status reinforce_train(const struct algorithm_run *run,
                                             struct policy **out_policy, const char **message)
{
    struct reinforce r = {.run = run};
    *message = "";
    enum algorithm_status status = reinforce_prepare(&r, message);
    if (status == ALGORITHM_OK)
        status = reinforce_learn(&r, message);
    if (status == ALGORITHM_OK)
        status = online_policy(&run->plan->shape, r.parameters, out_policy, message);
    if (status == ALGORITHM_OK)
        (*out_policy)->injected_noise = r.noise && noise_source_is_injected(r.noise);
    reinforce_clear(&r);
    return status;
}

const struct algorithm reinforce_algorithm = {
    .name = "reinforce",
    .summary = "Policy gradients of whole episodes, each used once; an episode or an observation "
               "is protected.",
    .mechanisms =
        {[MECHANISM_NONE] = true, [MECHANISM_DPSGD] = true, [MECHANISM_LDP_OBSERVATIONS] = true},
    .kind = ALGORITHM_LEARNS_BY_PLAY,
    .privacy_unit = "episode",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .later = later,
    .later_count = sizeof later / sizeof later[0],
    .settle = reinforce_settle,
    .plan = reinforce_plan,
    .describe = reinforce_describe,
    .train = reinforce_train,
};
