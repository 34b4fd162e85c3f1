/* Plans, settings and policies of offline algorithms. */
#include "algos/offline/offline.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/offline/schedule.h"
#include "algos/offline/stage_plan.h"
#include "algos/privacy/noise/noise_source.h"
#include "memory/memory.h"

#define USUAL_BATCH 128

const char *const offline_activations[] = {"relu", "tanh", NULL};
const char *const offline_optimizers[] = {"sgd", "adam", NULL};
const char *const offline_rate_schedules[] = {"constant", "linear", "cosine", NULL};
const char *const offline_arithmetics[] = {"float", "exact", NULL};

/* ---- the plan */

static bool network_shape(const struct offline_kind *kind, const struct algorithm_request *request,
                          struct mlp_shape *out)
{
    const struct parameter_value *hidden = &request->parameters.value[OFFLINE_HIDDEN];
    *out = (struct mlp_shape){.input = request->state_dim, .layer_count = hidden->count + 1};
    if (out->layer_count > MLP_MAX_LAYERS)
        return false;
    for (unsigned l = 0; l < hidden->count; l++)
        out->width[l] = (uint32_t)hidden->number[l];
    out->width[hidden->count] = kind->outputs_per_action * request->action_count;
    out->activation = (enum mlp_activation)algorithm_number(request, OFFLINE_ACTIVATION);
    return mlp_shape_valid(out);
}

/* If the request has no value, public numbers decide. */
static uint32_t batch_size(const struct algorithm_request *request)
{
    double asked = algorithm_number(request, OFFLINE_BATCH_SIZE);
    if (asked > 0)
        return (uint32_t)asked;
    bool few = request->mechanism != MECHANISM_NONE && request->nominal_experts < USUAL_BATCH;
    return few ? request->nominal_experts : USUAL_BATCH;
}

static const char *offline_problem(const struct offline_kind *kind,
                                   const struct algorithm_request *request)
{
    const char *problem =
        parameters_problem(kind->parameters, kind->parameter_count, &request->parameters);
    if (problem)
        return problem;
    if (!(request->discount >= 0.0 && request->discount <= 1.0))
        return "the discount must be from 0 to 1";
    if (request->action_count < 1 || request->action_count > UINT16_MAX)
        return "the number of actions is out of bounds";
    if (!(request->plain_share >= 0.0 && request->plain_share <= 1.0))
        return "the share of plain steps must be from 0 to 1";
    if (request->features && request->features->count != request->state_dim)
        return "the described features are not those of the states";
    uint32_t centers = request->parameters.value[OFFLINE_INPUT_CENTER].count;
    if (centers != 1 && centers != request->state_dim)
        return "input_center must be one number, or as many as a state has";
    uint32_t scales = request->parameters.value[OFFLINE_INPUT_SCALE].count;
    if (scales != 1 && scales != request->state_dim)
        return "input_scale must be one number, or as many as a state has";
    if (algorithm_number(request, OFFLINE_RETURN_POWER) > 0.0 &&
        !(algorithm_number(request, OFFLINE_RETURN_HIGH) >
          algorithm_number(request, OFFLINE_RETURN_LOW)))
        return "return_high must be above return_low";
    const struct choice *choice = &request->choice;
    if (choice->candidates > CHOICE_MAX_CANDIDATES ||
        (choice->candidates > 0 && (choice->episodes < 1 || choice->max_steps < 1)))
        return "the choice among candidates is out of bounds";
    if (request->mechanism != MECHANISM_NONE &&
        (request->nominal_experts < 1 || batch_size(request) > request->nominal_experts))
        return "batch_size must not exceed the nominal number of experts: each expert gives at "
               "most one example to a step";
    return NULL;
}

enum algorithm_status offline_plan_status(enum dp_sgd_plan_status status, const char *infeasible,
                                          const char **message)
{
    switch (status) {
    case DP_SGD_PLAN_OK: return ALGORITHM_OK;
    case DP_SGD_PLAN_INFEASIBLE: *message = infeasible; return ALGORITHM_INFEASIBLE;
    case DP_SGD_PLAN_TOO_MUCH_WORK:
        *message = "its price takes more work to account for than one call may have: larger "
                   "batches of the experts, a smaller epsilon, or fewer different settings of a "
                   "sweep take less";
        return ALGORITHM_INFEASIBLE;
    case DP_SGD_PLAN_BAD:
        *message = "epsilon, delta (1e-50 to 0.5) or noise_multiplier is out of bounds";
        return ALGORITHM_BAD_INPUT;
    default: return ALGORITHM_NO_MEMORY;
    }
}

struct composition_part offline_judge_price(double noise_multiplier)
{
    return (struct composition_part){
        .mechanism = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, noise_multiplier}},
        .times = 1};
}

static const char too_dear[] = "the privacy budget cannot pay one step";
static const char too_dear_exactly[] =
    "the privacy budget cannot pay one step, or is too large for exact arithmetic, whose noise can "
    "be certified up to an epsilon of some 30 and from a delta of some 1e-17 on "
    "(\"arithmetic\":\"float\" has no such limits)";

/* Adds the judge of held-out experts to the plan, with the noise at which the judge's release alone
 * costs its share of the budget (algos/offline/judge/held_out.h). */
static enum algorithm_status plan_judge(const struct algorithm_request *request,
                                        struct algorithm_plan *plan, const char **message)
{
    const double share = request->judge.share;
    struct dp_sgd_plan alone = {.sampling_rate = 1.0,
                                .clip_norm = 1.0,
                                .batch_size = 1,
                                .nominal_experts = 1,
                                .steps = 1,
                                .delta = share * request->delta};
    if (request->judge.held_out <= 0.0)
        return ALGORITHM_OK;
    if (request->mechanism != MECHANISM_DPSGD || request->plain_share > 0.0) {
        *message = "held-out experts judge what dpsgd has trained, and nothing else";
        return ALGORITHM_BAD_INPUT;
    }
    static const char too_small[] = "the judge's share of the budget is too small";
    enum algorithm_status status = offline_plan_status(
        dp_sgd_plan_find_noise(&alone, share * request->epsilon), too_small, message);
    if (status != ALGORITHM_OK)
        return status;
    if (alone.noise_multiplier > HELD_OUT_MAX_NOISE) { /* it could not be drawn */
        *message = too_small;
        return ALGORITHM_INFEASIBLE;
    }
    plan->judge_noise = alone.noise_multiplier;
    plan->privacy.before = offline_judge_price(plan->judge_noise);
    return ALGORITHM_OK;
}

/* Accounts the noisy steps among PLAN->total_steps, and drops the steps that the budget cannot pay
 * at the requested noise. */
static enum algorithm_status plan_privacy(const struct algorithm_request *request,
                                          struct algorithm_plan *plan, const char **message)
{
    const struct schedule schedule = {request->seed, request->plain_share};
    struct dp_sgd_plan *privacy = &plan->privacy;
    *privacy = (struct dp_sgd_plan){
        .sampling_rate = (double)batch_size(request) / request->nominal_experts,
        .noise_multiplier = algorithm_number(request, OFFLINE_NOISE_MULTIPLIER),
        .clip_norm = algorithm_number(request, OFFLINE_CLIP_NORM),
        .batch_size = batch_size(request),
        .nominal_experts = request->nominal_experts,
        .steps = schedule_noisy_steps(&schedule, plan->total_steps),
        .delta = request->delta,
        .work = request->work,
    };
    if (privacy->steps > 0 && algorithm_number(request, OFFLINE_ARITHMETIC) > 0)
        privacy->rounded_draws = plan->parameter_count;
    enum algorithm_status first =
        stage_plan_make(&request->stage, request->epsilon, request->delta, request->nominal_experts,
                        request->action_count, &plan->stage, &privacy->before, message);
    if (first == ALGORITHM_OK)
        first = plan_judge(request, plan, message);
    if (first != ALGORITHM_OK)
        return first;
    if (privacy->steps == 0 && privacy->before.times == 0) /* nothing is to be paid for */
        return ALGORITHM_OK;
    const char *infeasible = privacy->rounded_draws > 0 ? too_dear_exactly : too_dear;
    if (privacy->steps == 0 || privacy->noise_multiplier <= 0.0)
        return offline_plan_status(dp_sgd_plan_find_noise(privacy, request->epsilon), infeasible,
                                   message);
    enum dp_sgd_plan_status status =
        dp_sgd_plan_find_steps(privacy, request->epsilon, privacy->steps);
    if (status == DP_SGD_PLAN_OK)
        plan->total_steps = schedule_most_steps(&schedule, privacy->steps, plan->total_steps);
    return offline_plan_status(status, infeasible, message);
}

enum algorithm_status offline_plan(const struct offline_kind *kind,
                                   const struct algorithm_request *request,
                                   struct algorithm_plan *out, const char **message)
{
    struct algorithm_plan plan = {0};
    *message = offline_problem(kind, request);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    if (!network_shape(kind, request, &plan.shape)) {
        *message = "the network's sizes are out of bounds";
        return ALGORITHM_BAD_INPUT;
    }
    plan.parameter_count = mlp_parameter_count(&plan.shape);
    plan.total_steps = (uint64_t)algorithm_number(request, OFFLINE_STEPS);
    if (request->mechanism != MECHANISM_NONE) {
        enum algorithm_status status = plan_privacy(request, &plan, message);
        if (status != ALGORITHM_OK)
            return status;
    }
    *out = plan;
    return ALGORITHM_OK;
}

/* ---- the run */

static struct trainer_settings offline_settings(const struct offline_kind *kind,
                                                const struct algorithm_run *run)
{
    const struct algorithm_request *request = run->request;
    const bool plain = request->mechanism == MECHANISM_NONE;
    struct trainer_settings settings = {
        .rule = {.shape = run->plan->shape},
        .optimizer = {.kind = (enum optimizer_kind)algorithm_number(request, OFFLINE_OPTIMIZER),
                      .momentum = algorithm_number(request, OFFLINE_MOMENTUM),
                      .beta2 = algorithm_number(request, OFFLINE_BETA2),
                      .epsilon = algorithm_number(request, OFFLINE_ADAM_EPSILON)},
        .learning_rate = algorithm_number(request, OFFLINE_LEARNING_RATE),
        .rate_schedule =
            (enum trainer_rate_schedule)algorithm_number(request, OFFLINE_RATE_SCHEDULE),
        .final_rate_fraction = algorithm_number(request, OFFLINE_FINAL_RATE),
        .warmup_steps = (uint64_t)algorithm_number(request, OFFLINE_WARMUP),
        .average_decay = algorithm_number(request, OFFLINE_AVERAGE_DECAY),
        .reward_scale = 1.0,
        .input_scale = request->parameters.value[OFFLINE_INPUT_SCALE],
        .input_center = request->parameters.value[OFFLINE_INPUT_CENTER],
        .features = request->features,
        .full_weight_transitions = (uint64_t)algorithm_number(request, OFFLINE_FULL_WEIGHT),
        .weight_power = algorithm_number(request, OFFLINE_WEIGHT_POWER),
        .return_low = algorithm_number(request, OFFLINE_RETURN_LOW),
        .return_high = algorithm_number(request, OFFLINE_RETURN_HIGH),
        .return_power = algorithm_number(request, OFFLINE_RETURN_POWER),
        .transitions_per_expert =
            plain ? 1 : (uint32_t)algorithm_number(request, OFFLINE_PER_EXPERT),
        .batch_size = batch_size(request),
        .choice = request->choice.candidates > 0 ? &request->choice : NULL,
        .output = kind->output,
        .threshold = kind->threshold,
        .feed = kind->feed,
        .whole_numbers = run->plan->privacy.rounded_draws > 0,
    };
    if (kind->learns_values) {
        settings.rule.target_outputs = request->action_count;
        settings.rule.asks_online_next = kind->asks_online_next;
        settings.reward_scale = algorithm_number(request, OFFLINE_REWARD_SCALE);
        settings.polyak_tau = algorithm_number(request, OFFLINE_POLYAK_TAU);
        settings.target_update_interval =
            (uint64_t)algorithm_number(request, OFFLINE_TARGET_INTERVAL);
    }
    return settings;
}

enum algorithm_status offline_train(const struct offline_kind *kind,
                                    const struct algorithm_run *run,
                                    void (*errors)(const void *, const struct trainer_rows *),
                                    const void *context, struct policy **out_policy,
                                    const char **message)
{
    struct trainer_settings settings = offline_settings(kind, run);
    settings.rule.errors = errors;
    settings.rule.context = context;
    float *parameters = NULL;
    enum algorithm_status status = trainer_run(run, &settings, &parameters, message);
    if (status != ALGORITHM_OK)
        return status;
    struct policy *policy = memory_must(policy_new(&run->plan->shape, kind->output));
    free(policy->parameters);
    policy->parameters = parameters;
    policy->threshold = kind->threshold;
    policy->injected_noise = run->request->mechanism != MECHANISM_NONE && run->noise &&
                             noise_source_is_injected(run->noise);
    *out_policy = policy;
    return ALGORITHM_OK;
}

/* ---- pieces of losses */

float offline_huber(float difference, float threshold)
{
    float size = fabsf(difference);
    return size > threshold ? threshold * (size - 0.5F * threshold)
                            : 0.5F * difference * difference;
}

float offline_huber_slope(float difference, float threshold)
{
    if (difference > threshold)
        return threshold;
    return difference < -threshold ? -threshold : difference; /* NaN stays NaN */
}

float offline_softmax(const float *logits, uint32_t count, float scale, float *gradient)
{
    assert(count > 0);
    float most = logits[0];
    for (uint32_t b = 1; b < count; b++)
        most = logits[b] > most ? logits[b] : most;
    float sum = gradient[0] = expf(logits[0] - most);
    for (uint32_t b = 1; b < count; b++) {
        gradient[b] = expf(logits[b] - most);
        sum += gradient[b];
    }
    for (uint32_t b = 0; b < count; b++)
        gradient[b] *= scale / sum;
    return most + logf(sum);
}

float offline_target(const struct trainer_rows *rows, uint32_t i, uint32_t best, uint32_t actions,
                     float discount)
{
    if (rows->terminated[i])
        return rows->rewards[i];
    return rows->rewards[i] + discount * rows->target_next[(size_t)i * actions + best];
}
