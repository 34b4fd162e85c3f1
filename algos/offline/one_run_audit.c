/* Canaries, what they move, and guesses. */
#include "algos/offline/one_run_audit.h"

#include <math.h>
#include <stdlib.h>

#include "algos/nn/optimizer.h"
#include "memory/memory.h"

#define INPUT_SIZE   100.0F /* of a canary's input: what it moves elsewhere is small beside it */
#define GUESSED      0.15   /* of the canaries on either side */
#define MOVED_BY_RUN 0.01   /* what all canaries move a weight by at most, about: directions stay */
#define CLIP_NORM    0.25
#define LEAST_NOISE  1e-9

enum { HIDDEN = 3, CANDIDATES = 4 };

struct one_run_attack {
    struct one_run_settings settings;
    struct algorithm_request request;
    struct algorithm_plan plan;
    uint8_t *candidate; /* of each canary: the sign of its input, and its action */
    double *start;      /* the first weights; owned, as are the others */
    double *along;      /* of weights that are a canary's own: its step */
};

/* ---- data */

static struct trajectory canary_trajectory(const struct one_run_attack *attack, uint32_t canary,
                                           unsigned candidate, float *states, uint16_t *action)
{
    static const float reward = 1e6F;
    *action = (uint16_t)canary;
    if (attack->settings.canary == ONE_RUN_INPUTS) {
        *action = (candidate & 2) != 0;
        states[canary] = candidate & 1 ? -INPUT_SIZE : INPUT_SIZE;
    }
    return (struct trajectory){.expert = canary,
                               .length = 1,
                               .terminated = true,
                               .states = states,
                               .actions = action,
                               .rewards = &reward};
}

/* The canaries that are THERE, as what CANDIDATE says of each. */
static struct dataset *canary_data(const struct one_run_attack *attack, const bool *there,
                                   const uint8_t *candidate)
{
    const struct algorithm_request *request = &attack->request;
    const uint32_t count = attack->settings.canaries, dim = request->state_dim;
    struct dataset_builder *builder = dataset_builder_new(dim, request->action_count, count);
    float *states = memory_new(2 * (size_t)dim, sizeof *states);
    for (uint32_t i = 0; i < count; i++) {
        uint16_t action;
        if (!there[i])
            continue;
        struct trajectory trajectory = canary_trajectory(attack, i, candidate[i], states, &action);
        (void)dataset_builder_add(builder, &trajectory);
        if (attack->settings.canary == ONE_RUN_INPUTS)
            states[i] = 0.0F;
    }
    free(states);
    return memory_must(dataset_builder_finish(builder));
}

/* ---- trainings */

static enum algorithm_status one_run_train(const struct one_run_attack *attack,
                                           const struct algorithm_run *run, double *weights)
{
    struct policy *policy = NULL;
    const char *message = NULL;
    enum algorithm_status status = attack->settings.algorithm->train(run, &policy, &message);
    if (status != ALGORITHM_OK)
        return status;
    for (size_t i = 0; i < attack->plan.parameter_count; i++)
        weights[i] = (double)policy->parameters[i];
    policy_free(policy);
    return ALGORITHM_OK;
}

/* One step on DATA that every expert joins, almost without noise, with CLIP times the clip norm. */
static enum algorithm_status quiet_step(const struct one_run_attack *attack, struct dataset *data,
                                        double clip, double *weights)
{
    struct algorithm_plan quiet = attack->plan;
    quiet.total_steps = quiet.privacy.steps = 1;
    quiet.privacy.rounded_draws = 0;
    quiet.privacy.sampling_rate = 1.0;
    quiet.privacy.clip_norm *= clip;
    quiet.privacy.noise_multiplier = LEAST_NOISE / clip;
    const struct algorithm_run run = {.request = &attack->request, .plan = &quiet, .data = data};
    enum algorithm_status status = one_run_train(attack, &run, weights);
    dataset_free(data);
    return status;
}

/* The place of weight J of those that are the canary's own, and how many there are: its input's in
 * the first layer, or its action's biases in the last. */
static size_t own_weight(const struct one_run_attack *attack, uint32_t canary, uint32_t j)
{
    const struct mlp_shape *shape = &attack->plan.shape;
    if (attack->settings.canary == ONE_RUN_INPUTS)
        return mlp_weight_offset(shape, 0) + (size_t)j * shape->input + canary;
    return mlp_bias_offset(shape, shape->layer_count - 1) + (size_t)j * attack->settings.canaries +
           canary;
}

static uint32_t own_weights(const struct one_run_attack *attack)
{
    const struct mlp_shape *shape = &attack->plan.shape;
    return attack->settings.canary == ONE_RUN_INPUTS
               ? shape->width[0]
               : shape->width[shape->layer_count - 1] / attack->settings.canaries;
}

/* The length of what the canary's own weights move. */
static double own_length(const struct one_run_attack *attack, uint32_t canary)
{
    double square = 0.0;
    for (uint32_t j = 0; j < own_weights(attack); j++) {
        size_t at = own_weight(attack, canary, j);
        square += attack->along[at] * attack->along[at];
    }
    return sqrt(square);
}

/* Computes ALONG for these candidates: a step of every second canary less one of the others, in
 * which what a canary does to others' weights is alike. */
static enum algorithm_status find_steps(struct one_run_attack *attack, const uint8_t *candidate,
                                        double clip)
{
    const uint32_t count = attack->settings.canaries;
    const size_t weights = attack->plan.parameter_count;
    double *half[2] = {memory_new(weights, sizeof(double)), memory_new(weights, sizeof(double))};
    bool *there = memory_new(count, sizeof *there);
    enum algorithm_status status = ALGORITHM_OK;
    for (uint32_t odd = 0; odd < 2 && status == ALGORITHM_OK; odd++) {
        for (uint32_t i = 0; i < count; i++)
            there[i] = i % 2 == odd;
        status = quiet_step(attack, canary_data(attack, there, candidate), clip, half[odd]);
    }
    for (uint32_t i = 0; i < count && status == ALGORITHM_OK; i++) {
        for (uint32_t j = 0; j < own_weights(attack); j++) {
            size_t at = own_weight(attack, i, j);
            attack->along[at] = half[i % 2][at] - half[!(i % 2)][at];
        }
    }
    free(half[0]);
    free(half[1]);
    free(there);
    return status;
}

/* Of each canary, the candidate that moves its weights most without a clip: the attacker knows the
 * first weights. */
static enum algorithm_status pick_candidates(struct one_run_attack *attack)
{
    const uint32_t count = attack->settings.canaries;
    double *best = memory_new(count, sizeof *best);
    uint8_t *all = memory_new(count, sizeof *all);
    enum algorithm_status status = ALGORITHM_OK;
    for (int c = 0; c < CANDIDATES && status == ALGORITHM_OK; c++) {
        for (uint32_t i = 0; i < count; i++)
            all[i] = (uint8_t)c;
        status = find_steps(attack, all, 1e6);
        for (uint32_t i = 0; i < count && status == ALGORITHM_OK; i++) {
            double move = own_length(attack, i);
            if (move > best[i]) {
                best[i] = move;
                attack->candidate[i] = (uint8_t)c;
            }
        }
    }
    free(best);
    free(all);
    return status;
}

static enum algorithm_status one_run_aim(struct one_run_attack *attack)
{
    struct dataset_builder *nobody = dataset_builder_new(
        attack->request.state_dim, attack->request.action_count, attack->settings.canaries);
    enum algorithm_status status =
        quiet_step(attack, memory_must(dataset_builder_finish(nobody)), 1.0, attack->start);
    if (status == ALGORITHM_OK && attack->settings.canary == ONE_RUN_INPUTS)
        status = pick_candidates(attack);
    if (status == ALGORITHM_OK)
        status = find_steps(attack, attack->candidate, 1.0);
    return status;
}

/* ---- the attack */

/* Plain gradient descent in steps so small that no direction turns on the way. */
static void one_run_parameters(struct one_run_attack *attack)
{
    const struct one_run_settings *settings = &attack->settings;
    const double noise = settings->noise_multiplier * sqrt(settings->steps),
                 joined = (double)settings->steps * settings->batch_size / settings->canaries;
    const double rate =
        MOVED_BY_RUN * settings->batch_size / (settings->canaries * (noise + joined) * CLIP_NORM);
    const struct {
        const char *name;
        double value;
    } values[] = {{"hidden", HIDDEN},
                  {"learning_rate", fmin(fmax(rate, 1e-7), 10.0)},
                  {"final_rate_fraction", 1},
                  {"optimizer", OPTIMIZER_SGD},
                  {"momentum", 0},
                  {"batch_size", settings->batch_size},
                  {"clip_norm", CLIP_NORM},
                  {"steps", settings->steps},
                  {"noise_multiplier", settings->noise_multiplier},
                  {"average_decay", 0},
                  {"full_weight_transitions", 1},
                  {"input_scale", 1},
                  {"arithmetic", settings->exact}};
    const struct algorithm *algorithm = settings->algorithm;
    algorithm_defaults(algorithm, NULL, &attack->request.parameters);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        int index =
            parameters_index(algorithm->parameters, algorithm->parameter_count, values[i].name);
        if (index >= 0)
            attack->request.parameters.value[index] =
                (struct parameter_value){.number = {values[i].value}, .count = 1};
    }
}

static const char *one_run_problem(const struct one_run_settings *settings)
{
    if (settings->canaries < 20 || settings->canaries > 4000 || settings->steps < 1 ||
        settings->steps > 1000000 || settings->algorithm->kind != ALGORITHM_LEARNS_FROM_DATA ||
        !settings->algorithm->mechanisms[MECHANISM_DPSGD])
        return "an offline algorithm with DP-SGD, 20 to 4000 canaries and 1 to 1,000,000 steps";
    if (settings->batch_size > settings->canaries)
        return "batch_size must not exceed the number of canaries";
    return NULL;
}

/* Fills the request and the plan. */
static enum algorithm_status one_run_prepare(const struct one_run_settings *settings,
                                             struct one_run_attack *attack, const char **message)
{
    bool inputs = settings->canary == ONE_RUN_INPUTS;
    *message = one_run_problem(settings);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    attack->settings = *settings;
    attack->request = (struct algorithm_request){.mechanism = MECHANISM_DPSGD,
                                                 .epsilon = 1e4,
                                                 .delta = settings->delta,
                                                 .discount = 0.9,
                                                 .state_dim = inputs ? settings->canaries : 1,
                                                 .action_count = inputs ? 2 : settings->canaries,
                                                 .nominal_experts = settings->canaries,
                                                 .seed = settings->seed,
                                                 .work = settings->work};
    one_run_parameters(attack);
    return settings->algorithm->plan(&attack->request, &attack->plan, message);
}

enum algorithm_status one_run_attack_plan(const struct one_run_settings *settings,
                                          struct algorithm_plan *out, const char **message)
{
    struct one_run_attack attack = {0};
    enum algorithm_status status = one_run_prepare(settings, &attack, message);
    if (status == ALGORITHM_OK)
        *out = attack.plan;
    return status;
}

enum algorithm_status one_run_attack_new(const struct one_run_settings *settings,
                                         struct one_run_attack **out, const char **message)
{
    struct one_run_attack *attack = memory_new(1, sizeof *attack);
    enum algorithm_status status = one_run_prepare(settings, attack, message);
    if (status == ALGORITHM_OK) {
        attack->candidate = memory_new(settings->canaries, sizeof *attack->candidate);
        attack->start = memory_new(attack->plan.parameter_count, sizeof *attack->start);
        attack->along = memory_new(attack->plan.parameter_count, sizeof *attack->along);
        status = one_run_aim(attack);
    }
    if (status != ALGORITHM_OK) {
        one_run_attack_free(attack);
        return status;
    }
    *out = attack;
    return ALGORITHM_OK;
}

void one_run_attack_free(struct one_run_attack *attack)
{
    if (!attack)
        return;
    free(attack->candidate);
    free(attack->start);
    free(attack->along);
    free(attack);
}

const struct dp_sgd_plan *one_run_attack_claim(const struct one_run_attack *attack)
{
    return &attack->plan.privacy;
}

/* ---- guesses */

/* Along the canary's direction, in its length; half of what it moves alone is taken off, so that
 * canaries that move little are not guessed to be away. */
static double canary_score(const struct one_run_attack *attack, const double *weights,
                           uint32_t canary)
{
    double sum = 0.0, length = own_length(attack, canary);
    for (uint32_t j = 0; j < own_weights(attack); j++) {
        size_t at = own_weight(attack, canary, j);
        sum += (weights[at] - attack->start[at]) * attack->along[at];
    }
    double expected =
        length * attack->plan.privacy.sampling_rate * (double)attack->plan.privacy.steps;
    double score = length > 0.0 ? sum / length - 0.5 * expected : 0.0;
    return isfinite(score) ? score : 0.0;
}

/* Guesses from the trained WEIGHTS. */
static void guess_coins(const struct one_run_attack *attack, const double *weights,
                        const bool *there, struct one_run_guesses *out)
{
    const uint32_t count = attack->settings.canaries;
    double *scores = memory_new(count, sizeof *scores);
    for (uint32_t i = 0; i < count; i++)
        scores[i] = canary_score(attack, weights, i);
    one_run_guess(scores, there, count, GUESSED, out);
    free(scores);
}

enum algorithm_status one_run_attack_run(const struct one_run_attack *attack,
                                         enum membership_sabotage sabotage, struct rng *coins,
                                         const struct algorithm_hooks *hooks,
                                         struct noise_source *noise, struct one_run_guesses *out)
{
    const uint32_t count = attack->settings.canaries;
    struct algorithm_plan plan = attack->plan;
    bool *there = memory_new(count, sizeof *there);
    double *weights = memory_new(plan.parameter_count, sizeof *weights);
    membership_sabotage_plan(sabotage, &plan.privacy);
    for (uint32_t i = 0; i < count; i++)
        there[i] = rng_next(coins) >> 63;
    struct dataset *data = canary_data(attack, there, attack->candidate);
    struct algorithm_run run = {
        .request = &attack->request, .plan = &plan, .data = data, .noise = noise};
    if (hooks)
        run.hooks = *hooks;
    enum algorithm_status status = one_run_train(attack, &run, weights);
    if (status == ALGORITHM_OK)
        guess_coins(attack, weights, there, out);
    dataset_free(data);
    free(there);
    free(weights);
    return status;
}
