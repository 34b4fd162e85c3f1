/* Fitted Q evaluation: repeated regression on a target that is fixed for some steps. */
#include "algos/offline/judge/fitted_q.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/batch.h"
#include "algos/nn/initialize.h"
#include "algos/nn/optimizer.h"
#include "memory/memory.h"

#define BLOCK 256 /* rows of a forward where nothing is learned */

/* Number of states between two calls of GOES_ON, because the policy may be large. */
#define ASK_BETWEEN 1024

struct fit {
    const struct fitted_q_settings *settings;
    const struct dataset *data;
    uint32_t actions;
    uint64_t *fitted; /* transitions for the fit; owned, as are all below */
    uint64_t *held;   /* and the others */
    uint64_t fitted_count, held_count;
    float *next_policy; /* transitions x actions: pi at s' */
    float *parameters, *target, *gradient;
    struct batch *batch;
    struct optimizer optimizer;
    struct rng rng;
    bool (*goes_on)(void *context); /* or NULL */
    void *context;
};

struct fitted_q_settings fitted_q_defaults(double discount)
{
    return (struct fitted_q_settings){.hidden_layers = 2,
                                      .hidden_width = 64,
                                      .iterations = 60,
                                      .steps = 200,
                                      .batch_size = 128,
                                      .learning_rate = 1e-3,
                                      .discount = discount,
                                      .reward_scale = 1.0,
                                      .input_scale = 1.0,
                                      .hold_out = 5};
}

static void fitted_q_clear(struct fit *f)
{
    free(f->fitted);
    free(f->held);
    free(f->next_policy);
    free(f->parameters);
    free(f->target);
    free(f->gradient);
    batch_free(f->batch);
    optimizer_clear(&f->optimizer);
}

static bool may_go_on(const struct fit *f)
{
    return !f->goes_on || f->goes_on(f->context);
}

static bool starts_trajectory(const struct dataset *data, uint64_t transition)
{
    return transition == 0 || data->state_row[transition] != data->state_row[transition - 1] + 1;
}

/* Assigns whole trajectories, by their number, to the fit or to the held-out set. */
static void split_trajectories(struct fit *f)
{
    uint64_t trajectory = 0;
    for (uint64_t t = 0; t < f->data->transition_count; t++) {
        trajectory += starts_trajectory(f->data, t);
        if (trajectory % f->settings->hold_out == 0)
            f->held[f->held_count++] = t;
        else
            f->fitted[f->fitted_count++] = t;
    }
}

/* Computes action probabilities at a row of states. */
static bool policy_at(const struct fit *f, const struct policy *policy, uint64_t row, float *out)
{
    double p[MLP_MAX_WIDTH];
    float values[MLP_MAX_WIDTH];
    const float *state = f->data->states + row * f->data->state_dim;
    if (policy->output == POLICY_SOFTMAX) {
        if (!policy_probabilities(policy, state, 1.0, p))
            return false;
        for (uint32_t a = 0; a < f->actions; a++)
            out[a] = (float)p[a];
        return true;
    }
    int played = policy_decide(policy, state, values);
    for (uint32_t a = 0; a < f->actions; a++)
        out[a] = (int)a == played ? 1.0F : 0.0F;
    return played >= 0;
}

static const char *fitted_q_problem(const struct fitted_q_settings *s, const struct policy *policy,
                                    const struct dataset *data, struct mlp_shape *shape)
{
    *shape = (struct mlp_shape){.input = data->state_dim, .layer_count = s->hidden_layers + 1};
    if (s->hidden_layers >= MLP_MAX_LAYERS)
        return "too many layers";
    for (uint32_t l = 0; l < s->hidden_layers; l++)
        shape->width[l] = s->hidden_width;
    shape->width[s->hidden_layers] = data->action_count;
    if (!mlp_shape_valid(shape) || s->batch_size < 1 || s->batch_size > BATCH_MAX_ROWS ||
        s->hold_out < 2 || !(s->discount >= 0.0 && s->discount <= 1.0) ||
        !(s->reward_scale > 0.0 && s->input_scale > 0.0))
        return "a setting is out of its bounds";
    if (policy->shape.input != data->state_dim || policy_action_count(policy) != data->action_count)
        return "the policy does not fit the data";
    if (s->features && s->features->count != data->state_dim)
        return "the described features are not those of the states";
    return NULL;
}

static enum algorithm_status fitted_q_init(struct fit *f, const struct policy *policy,
                                           uint64_t seed, const struct mlp_shape *shape,
                                           const char **message)
{
    static const struct optimizer_settings adam = {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8};
    const struct dataset *data = f->data;
    size_t parameters = mlp_parameter_count(shape), count = data->transition_count;
    uint32_t rows = f->settings->batch_size > BLOCK ? f->settings->batch_size : BLOCK;
    size_t bytes = count * (2 * sizeof(uint64_t) + f->actions * sizeof(float)) +
                   8 * parameters * sizeof(float) + batch_bytes(shape, rows);
    if (!memory_fits(bytes))
        return ALGORITHM_NO_MEMORY;
    f->fitted = memory_new(count, sizeof *f->fitted);
    f->held = memory_new(count, sizeof *f->held);
    f->next_policy = memory_new(count * f->actions, sizeof *f->next_policy);
    f->parameters = memory_new(parameters, sizeof *f->parameters);
    f->target = memory_new(parameters, sizeof *f->target);
    f->gradient = memory_new(parameters, sizeof *f->gradient);
    f->batch = memory_must(batch_new(shape, rows));
    if (!optimizer_init(&f->optimizer, &adam, parameters))
        memory_must(NULL);
    split_trajectories(f);
    if (f->fitted_count == 0 || f->held_count == 0) {
        *message = "there are too few trajectories to keep one from the fit";
        return ALGORITHM_BAD_INPUT;
    }
    for (uint64_t t = 0; t < count; t++) {
        if (t % ASK_BETWEEN == ASK_BETWEEN - 1 && !may_go_on(f))
            return ALGORITHM_CANCELLED;
        if (!policy_at(f, policy, data->state_row[t] + 1, f->next_policy + t * f->actions)) {
            *message = "the policy's outputs are not finite at a state of the data";
            return ALGORITHM_BAD_INPUT;
        }
    }
    rng_seed(&f->rng, seed, 0);
    mlp_initialize(shape, &f->rng, 0.1, f->parameters);
    return ALGORITHM_OK; /* the target is Q_0 = 0 */
}

/* Writes to the workspace the states of COUNT transitions; with AFTER, their next states. */
static void place_states(struct fit *f, const uint64_t *transitions, uint32_t count, bool after)
{
    const uint32_t dim = f->data->state_dim;
    const struct features *features = f->settings->features;
    float *input = batch_input(f->batch), scale = (float)f->settings->input_scale;
    for (uint32_t i = 0; i < count; i++) {
        const float *state = f->data->states + (f->data->state_row[transitions[i]] + after) * dim;
        for (uint32_t k = 0; k < dim; k++)
            input[(size_t)i * dim + k] =
                scale * (float)features_normal(features, k, (double)state[k]);
    }
}

/* Y[count] = r + discount (1 - terminal) sum_b pi(b|s') Q(s', b), with the values of PARAMETERS. */
static void targets_of(struct fit *f, const float *parameters, const uint64_t *transitions,
                       uint32_t count, float *y)
{
    const struct dataset *data = f->data;
    place_states(f, transitions, count, true);
    const float *values = batch_forward(f->batch, parameters, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t t = transitions[i];
        double next = 0.0;
        for (uint32_t a = 0; a < f->actions; a++)
            next += (double)f->next_policy[t * f->actions + a] *
                    (double)values[(size_t)i * f->actions + a];
        double rest = data->terminated[t] ? 0.0 : f->settings->discount * next;
        y[i] = (float)(f->settings->reward_scale * (double)data->rewards[t] + rest);
    }
}

static void fit_step(struct fit *f, double rate, uint64_t *drawn, float *y)
{
    const uint32_t count = f->settings->batch_size, actions = f->actions;
    for (uint32_t i = 0; i < count; i++)
        drawn[i] = f->fitted[rng_next(&f->rng) % f->fitted_count];
    targets_of(f, f->target, drawn, count, y);
    place_states(f, drawn, count, false);
    const float *values = batch_forward(f->batch, f->parameters, count);
    float *error = batch_output_error(f->batch);
    memset(error, 0, (size_t)count * actions * sizeof *error);
    for (uint32_t i = 0; i < count; i++) {
        size_t at = (size_t)i * actions + f->data->actions[drawn[i]];
        error[at] = (values[at] - y[i]) / (float)count;
    }
    memset(f->gradient, 0, f->optimizer.count * sizeof *f->gradient);
    batch_backward(f->batch, f->parameters, count);
    batch_gradient_add(f->batch, count, f->gradient);
    optimizer_step(&f->optimizer, f->parameters, f->gradient, rate);
}

static enum algorithm_status fit_iterate(struct fit *f)
{
    const struct fitted_q_settings *s = f->settings;
    uint64_t *drawn = memory_new(s->batch_size, sizeof *drawn);
    float *y = memory_new(s->batch_size, sizeof *y);
    enum algorithm_status status = ALGORITHM_OK;
    for (uint32_t k = 0; status == ALGORITHM_OK && k < s->iterations; k++) {
        /* The rate falls, so that the last iterations average the noise of their batches out. */
        double rate = s->learning_rate * (1.0 - 0.9 * (double)k / (double)s->iterations);
        for (uint32_t i = 0; i < s->steps; i++)
            fit_step(f, rate, drawn, y);
        memcpy(f->target, f->parameters, f->optimizer.count * sizeof *f->target);
        if (!may_go_on(f))
            status = ALGORITHM_CANCELLED;
    }
    free(drawn);
    free(y);
    return status;
}

/* Computes the values of held-out first states, and the residuals of all held-out transitions. */
static enum algorithm_status fit_measure(struct fit *f, const struct policy *policy,
                                         struct fitted_q_result *out, const char **message)
{
    *message = "the fit diverged, or a held-out state is beyond the policy";
    double sum = 0.0, squares = 0.0, residual = 0.0, scale = f->settings->reward_scale;
    float y[BLOCK], now[MLP_MAX_WIDTH];
    *out = (struct fitted_q_result){.held_out_transitions = f->held_count};
    for (uint64_t done = 0; done < f->held_count; done += BLOCK) {
        uint64_t left = f->held_count - done;
        uint32_t count = left < BLOCK ? (uint32_t)left : BLOCK;
        const uint64_t *held = f->held + done;
        if (done % ASK_BETWEEN == ASK_BETWEEN - BLOCK && !may_go_on(f))
            return ALGORITHM_CANCELLED;
        targets_of(f, f->parameters, held, count, y);
        place_states(f, held, count, false);
        const float *values = batch_forward(f->batch, f->parameters, count);
        for (uint32_t i = 0; i < count; i++) {
            const float *q = values + (size_t)i * f->actions;
            double off = (double)(q[f->data->actions[held[i]]] - y[i]), value = 0.0;
            residual += off * off;
            if (!starts_trajectory(f->data, held[i]))
                continue;
            if (!policy_at(f, policy, f->data->state_row[held[i]], now))
                return ALGORITHM_BAD_INPUT;
            for (uint32_t a = 0; a < f->actions; a++)
                value += (double)now[a] * (double)q[a] / scale;
            double before = out->starts > 0 ? sum / (double)out->starts : value;
            sum += value;
            out->starts++;
            squares += (value - before) * (value - sum / (double)out->starts);
        }
    }
    double n = (double)out->starts;
    out->value = sum / n;
    out->standard_error = out->starts > 1 ? sqrt(squares / (n - 1.0) / n) : 0.0;
    out->residual = sqrt(residual / (double)f->held_count) / scale;
    if (!isfinite(out->value) || !isfinite(out->residual))
        return ALGORITHM_BAD_INPUT;
    *message = "";
    return ALGORITHM_OK;
}

enum algorithm_status fitted_q_evaluate(const struct fitted_q_settings *settings,
                                        const struct policy *policy, const struct dataset *data,
                                        uint64_t seed, bool (*goes_on)(void *context),
                                        void *context, struct fitted_q_result *out,
                                        const char **message)
{
    struct mlp_shape shape;
    struct fitted_q_result result;
    *message = fitted_q_problem(settings, policy, data, &shape);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    struct fit f = {.settings = settings,
                    .data = data,
                    .actions = data->action_count,
                    .goes_on = goes_on,
                    .context = context};
    enum algorithm_status status = fitted_q_init(&f, policy, seed, &shape, message);
    if (status == ALGORITHM_OK)
        status = fit_iterate(&f);
    if (status == ALGORITHM_OK)
        status = fit_measure(&f, policy, &result, message);
    if (status == ALGORITHM_OK)
        *out = result;
    fitted_q_clear(&f);
    return status;
}
