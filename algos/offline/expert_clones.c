/* Behaviour clones of many experts.
 *
 * DESIGN. Each expert is fitted alone, with a workspace that fits the second cache: experts share
 * no matrix product, because a library may order the sums of a larger one differently, and then
 * one expert's data would move another's clone in its last bits. Threads take whole experts. The
 * scaling of inputs is moved into the first layer at the end, so that a clone is an ordinary
 * policy. */
#include "algos/offline/expert_clones.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/batch.h"
#include "algos/nn/initialize.h"
#include "algos/nn/optimizer.h"
#include "algos/offline/hooks.h"
#include "memory/memory.h"

/* Experts between two pulses: with the defaults a second of work. */
#define EXPERTS_PER_PULSE 4

/* Found on 36 experts each of CartPole and Acrobot, 20 trajectories of at most 200 steps, by how
 * far clone and expert are apart at states of fresh episodes: two layers of 32 err a fifth more
 * than 64, one layer of 64 err twice as much; a learning rate of 0.005 needs three times the steps;
 * batches of 128 gain a tenth and cost twice. */
struct clone_settings clone_defaults(void)
{
    return (struct clone_settings){.hidden_layers = 2,
                                   .hidden_width = 64,
                                   .steps = 1500,
                                   .batch_size = 64,
                                   .learning_rate = 0.02};
}

float clone_loss(const float *outputs, uint32_t actions, uint32_t action,
                 float min_action_probability, float *gradient)
{
    float most = outputs[policy_best_action(outputs, actions)], sum = 0.0F;
    for (uint32_t b = 0; b < actions; b++) {
        gradient[b] = expf(outputs[b] - most);
        sum += gradient[b];
    }
    float share = fmaxf(0.0F, 1.0F - (float)actions * min_action_probability);
    float chosen = share * (gradient[action] / sum);
    float mixed = chosen + min_action_probability;
    /* d mixed / d z_b = share softmax_a ([a = b] - softmax_b); nothing to learn where mixed is 0 */
    float factor = mixed > 0.0F ? chosen / mixed : 0.0F;
    for (uint32_t b = 0; b < actions; b++)
        gradient[b] *= factor / sum;
    gradient[action] -= factor;
    return -logf(mixed);
}

/* The memory for fitting one expert. */
struct fit {
    const struct clone_settings *settings;
    const struct dataset *data;
    uint64_t first, count; /* the expert's transitions */
    float floor;
    float *mean, *factor; /* of its states, state_dim each; owned, as are the rest */
    float *gradient;
    struct batch *batch;
    struct optimizer optimizer;
    struct policy *policy;
};

static void clone_fit_clear(struct fit *fit)
{
    free(fit->mean);
    free(fit->gradient);
    batch_free(fit->batch);
    optimizer_clear(&fit->optimizer);
}

static struct mlp_shape clone_shape(const struct clone_settings *settings, uint32_t state_dim,
                                    uint32_t actions)
{
    assert(settings->hidden_layers > 0 && settings->hidden_layers < MLP_MAX_LAYERS);
    struct mlp_shape shape = {
        .input = state_dim, .layer_count = settings->hidden_layers + 1, .activation = MLP_RELU};
    for (uint32_t l = 0; l < settings->hidden_layers; l++)
        shape.width[l] = settings->hidden_width;
    shape.width[settings->hidden_layers] = actions;
    return shape;
}

size_t clone_bytes(const struct clone_settings *settings, uint32_t state_dim, uint32_t action_count)
{
    const struct mlp_shape shape = clone_shape(settings, state_dim, action_count);
    return sizeof(struct policy) + mlp_parameter_count(&shape) * sizeof(float);
}

static void clone_fit_init(struct fit *fit)
{
    const struct optimizer_settings adam = {
        .kind = OPTIMIZER_ADAM, .momentum = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    struct mlp_shape shape =
        clone_shape(fit->settings, fit->data->state_dim, fit->data->action_count);
    size_t parameters = mlp_parameter_count(&shape), dim = shape.input;
    fit->mean = memory_new(2 * dim, sizeof *fit->mean);
    fit->factor = fit->mean + dim;
    fit->gradient = memory_new(parameters, sizeof *fit->gradient);
    fit->batch = memory_must(batch_new(&shape, fit->settings->batch_size));
    fit->policy = memory_must(policy_new(&shape, POLICY_SOFTMAX));
    if (!optimizer_init(&fit->optimizer, &adam, parameters))
        memory_must(NULL);
}

static const float *expert_state(const struct fit *fit, uint64_t index)
{
    const struct dataset *data = fit->data;
    return data->states + data->state_row[fit->first + index] * data->state_dim;
}

/* Computes the mean of each number of a state, and one over its deviation. A number that is always
 * the same gets 0, since nothing can be learned from it. */
static void measure_states(struct fit *fit)
{
    for (uint32_t d = 0; d < fit->data->state_dim; d++) {
        double sum = 0.0, squares = 0.0;
        for (uint64_t i = 0; i < fit->count; i++)
            sum += (double)expert_state(fit, i)[d];
        double mean = sum / (double)fit->count;
        for (uint64_t i = 0; i < fit->count; i++) {
            double difference = (double)expert_state(fit, i)[d] - mean;
            squares += difference * difference;
        }
        double deviation = sqrt(squares / (double)fit->count);
        fit->mean[d] = (float)mean;
        fit->factor[d] = deviation > 1e-6 * fabs(mean) ? (float)(1.0 / deviation) : 0.0F;
    }
}

/* Draws a batch: inputs, and the action of each row. */
static void draw_batch(struct fit *fit, struct rng *rng, uint64_t *picked)
{
    uint32_t rows = fit->settings->batch_size, dim = fit->data->state_dim;
    float *input = batch_input(fit->batch);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t index = (uint64_t)(rng_uniform(rng) * (double)fit->count);
        index = index < fit->count ? index : fit->count - 1;
        const float *state = expert_state(fit, index);
        for (uint32_t d = 0; d < dim; d++)
            input[(size_t)i * dim + d] = (state[d] - fit->mean[d]) * fit->factor[d];
        picked[i] = index;
    }
}

/* Makes one optimiser step on the mean loss of a batch. */
static void clone_descend(struct fit *fit, const uint64_t *picked, double rate)
{
    uint32_t rows = fit->settings->batch_size, actions = fit->data->action_count;
    float *parameters = fit->policy->parameters, *error = batch_output_error(fit->batch);
    const float *outputs = batch_forward(fit->batch, parameters, rows);
    for (uint32_t i = 0; i < rows; i++) {
        size_t at = (size_t)i * actions;
        uint16_t action = fit->data->actions[fit->first + picked[i]];
        (void)clone_loss(outputs + at, actions, action, fit->floor, error + at);
        for (uint32_t a = 0; a < actions; a++)
            error[at + a] /= (float)rows;
    }
    batch_backward(fit->batch, parameters, rows);
    memset(fit->gradient, 0, fit->optimizer.count * sizeof *fit->gradient);
    batch_gradient_add(fit->batch, rows, fit->gradient);
    optimizer_step(&fit->optimizer, parameters, fit->gradient, rate);
}

/* Folds the scaling of inputs into the first layer: W' = W factor, b' = b - W' mean. */
static void clone_unscale(struct fit *fit)
{
    const struct mlp_shape *shape = &fit->policy->shape;
    float *weight = fit->policy->parameters, *bias = weight + mlp_bias_offset(shape, 0);
    for (uint32_t j = 0; j < shape->width[0]; j++) {
        double shift = 0.0;
        for (uint32_t d = 0; d < shape->input; d++) {
            float *w = weight + (size_t)j * shape->input + d;
            *w *= fit->factor[d];
            shift += (double)*w * (double)fit->mean[d];
        }
        bias[j] = (float)((double)bias[j] - shift);
    }
}

struct policy *expert_clone(const struct clone_settings *settings, const struct dataset *data,
                            uint32_t expert, double min_action_probability, uint64_t seed)
{
    struct fit fit = {.settings = settings,
                      .data = data,
                      .first = data->expert_transitions[expert],
                      .count =
                          data->expert_transitions[expert + 1] - data->expert_transitions[expert],
                      .floor = (float)min_action_probability};
    assert(expert < data->expert_count && fit.count > 0);
    uint64_t *picked = memory_new(settings->batch_size, sizeof *picked);
    struct rng rng;
    clone_fit_init(&fit);
    rng_seed(&rng, seed, 0); /* the expert's number would not do: it depends on other experts */
    mlp_initialize(&fit.policy->shape, &rng, 0.1, fit.policy->parameters);
    measure_states(&fit);
    for (uint32_t step = 0; step < settings->steps; step++) {
        draw_batch(&fit, &rng, picked);
        clone_descend(&fit, picked,
                      settings->learning_rate * (1.0 - (double)step / settings->steps));
    }
    clone_unscale(&fit);
    free(picked);
    clone_fit_clear(&fit);
    return fit.policy;
}

/* ---- many */

struct cloning {
    const struct clone_settings *settings;
    const struct dataset *data;
    double floor;
    uint64_t seed;
    uint32_t count;
    uint32_t expert[EXPERTS_PER_PULSE];
    struct policy *clone[EXPERTS_PER_PULSE];
};

static void clone_item(void *context, uint32_t item)
{
    struct cloning *cloning = context;
    cloning->clone[item] = expert_clone(cloning->settings, cloning->data, cloning->expert[item],
                                        cloning->floor, cloning->seed);
}

/* Moves the clones into their slots. */
static void take_clones(struct cloning *cloning, struct expert_policies *policies)
{
    for (uint32_t i = 0; i < cloning->count; i++) {
        bool taken = expert_policies_take(policies, cloning->expert[i], cloning->clone[i]);
        assert(taken);
        (void)taken;
    }
}

/* True when EXPERT has data and no policy. */
static bool lacks_clone(const struct expert_policies *policies, const struct dataset *data,
                        uint32_t expert)
{
    bool empty = data->expert_transitions[expert] == data->expert_transitions[expert + 1];
    return !empty && !expert_policies_has(policies, expert);
}

static bool clones_fit(const struct cloning *cloning, const struct expert_policies *policies)
{
    const struct dataset *data = cloning->data;
    size_t missing = 0;
    for (uint32_t e = 0; e < data->expert_count; e++)
        missing += lacks_clone(policies, data, e);
    return memory_fits(missing *
                       clone_bytes(cloning->settings, data->state_dim, data->action_count));
}

enum algorithm_status expert_clones_fill(struct expert_policies *policies,
                                         const struct dataset *data,
                                         const struct clone_settings *settings, uint64_t seed,
                                         const struct algorithm_hooks *hooks, uint64_t steps_done)
{
    const struct expert_voices voices = expert_policies_voices(policies);
    assert(voices.slots == data->expert_count);
    struct cloning cloning = {
        .settings = settings, .data = data, .floor = voices.min_probability, .seed = seed};
    uint32_t expert = 0;
    if (!clones_fit(&cloning, policies))
        return ALGORITHM_NO_MEMORY;
    while (expert < data->expert_count) {
        enum algorithm_status status = hooks_pulse(hooks, steps_done, NULL, NULL);
        if (status != ALGORITHM_OK)
            return status;
        cloning.count = 0;
        for (; expert < data->expert_count && cloning.count < EXPERTS_PER_PULSE; expert++)
            if (lacks_clone(policies, data, expert))
                cloning.expert[cloning.count++] = expert;
        hooks_parallel(hooks, clone_item, &cloning, cloning.count);
        take_clones(&cloning, policies);
    }
    return ALGORITHM_OK;
}

enum algorithm_status expert_clones_all(const struct algorithm_run *run,
                                        const struct clone_settings *settings, uint64_t steps_done,
                                        struct expert_policies **out)
{
    struct expert_policies *policies = NULL;
    assert(run->hooks.experts);
    enum algorithm_status status = run->hooks.experts(run->hooks.context, &policies);
    if (status != ALGORITHM_OK)
        return status;
    const struct expert_voices voices = expert_policies_voices(policies);
    if (voices.slots != run->data->expert_count || voices.state_dim != run->data->state_dim ||
        voices.action_count != run->data->action_count)
        status = ALGORITHM_BAD_DATA;
    else
        status = expert_clones_fill(policies, run->data, settings, run->request->seed, &run->hooks,
                                    steps_done);
    if (status != ALGORITHM_OK) {
        expert_policies_free(policies);
        return status;
    }
    *out = policies;
    return ALGORITHM_OK;
}
