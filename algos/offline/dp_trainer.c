/* The loop of every offline algorithm.
 *
 * One step: draw a batch of transitions; for each chunk of it run the online networks on [s; s'] in
 * one product, the target on s', let the rule write each example's error, go backward once, scale
 * the errors by the clip factors and add the weight products to one flat gradient; then noise,
 * optimiser, target. Every size is fixed when the run starts: the drawn batch changes none of it.
 */
#include "algos/offline/dp_trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/batch.h"
#include "algos/nn/per_example.h"
#include "algos/offline/trainer_state.h"

/* Multiply-adds between two pulses: some 50 ms on a core. */
#define PULSE_WORK UINT64_C(500000000)

struct trainer {
    const struct algorithm_run *run;
    const struct trainer_settings *settings;
    const struct dataset *data;
    struct trainer_state state;
    struct noise_source *noise; /* NULL for MECHANISM_NONE */
    bool owns_noise;
    bool private;
    struct batch *online[TRAINER_MAX_NETWORKS]; /* [s; s'] */
    struct batch *target[TRAINER_MAX_NETWORKS]; /* s'; NULL unless the rule bootstraps */
    float *gradient;
    uint32_t *chosen;      /* expert slots of a private batch */
    uint64_t *transitions; /* of the batch */
    float *weights;        /* of the batch's examples */
    uint64_t fingerprint;
    uint64_t pulse_interval;
    /* One chunk. */
    uint16_t actions[TRAINER_CHUNK_ROWS];
    float rewards[TRAINER_CHUNK_ROWS];
    uint8_t terminated[TRAINER_CHUNK_ROWS];
    double squared_norm[TRAINER_CHUNK_ROWS];
    float factor[TRAINER_CHUNK_ROWS];
};

/* Where random 64 BITS fall among N: uniform up to N / 2^64. */
static uint64_t below(uint64_t bits, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)bits * n) >> 64);
}

/* At most 1, from the expert's own data and public numbers: the clip bound stays. */
static float expert_weight(const struct trainer_settings *settings, uint64_t owned)
{
    double share = (double)owned / (double)settings->full_weight_transitions;
    return (float)pow(fmin(1.0, share), settings->weight_power);
}

/* Whose TRANSITION is. */
static uint32_t expert_of(const struct dataset *data, uint64_t transition)
{
    uint32_t low = 0, high = data->expert_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (transition < data->expert_transitions[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Uniform over transitions an expert counts in proportion to what it owns; the weight takes that
 * out and puts the expert's weight in. */
static uint32_t draw_plain_batch(struct trainer *t)
{
    const uint64_t *bounds = t->data->expert_transitions;
    for (uint32_t i = 0; i < t->settings->batch_size; i++) {
        uint64_t transition = below(rng_next(&t->state.rng), t->data->transition_count);
        uint32_t expert = expert_of(t->data, transition);
        double owned = (double)(bounds[expert + 1] - bounds[expert]);
        double even = (double)t->settings->full_weight_transitions / owned;
        t->transitions[i] = transition;
        t->weights[i] = (float)even * expert_weight(t->settings, (uint64_t)owned);
    }
    return t->settings->batch_size;
}

/* The transitions of this step and their weights; their number. */
static uint32_t draw_batch(struct trainer *t)
{
    if (!t->private)
        return draw_plain_batch(t);
    const uint64_t *bounds = t->data->expert_transitions;
    uint32_t chosen =
        dp_sgd_plan_draw_batch(&t->run->plan->privacy, t->noise, t->data->expert_count, t->chosen);
    uint32_t count = 0;
    for (uint32_t i = 0; i < chosen; i++) {
        uint32_t expert = t->chosen[i];
        uint64_t first = bounds[expert], owned = bounds[expert + 1] - first;
        if (owned == 0)
            continue;
        t->weights[count] = expert_weight(t->settings, owned);
        t->transitions[count++] = first + below(noise_u64(t->noise), owned);
    }
    return count;
}

static void copy_scaled(float *restrict to, const float *restrict from, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++)
        to[i] = scale * from[i];
}

/* Copies the chunk's columns and writes s (and s' below it) to every network's input. */
static void gather(struct trainer *t, const uint64_t *transitions, uint32_t rows)
{
    const struct dataset *data = t->data;
    const struct trainer_rule *rule = &t->settings->rule;
    size_t dim = data->state_dim;
    float scale = (float)t->settings->input_scale;
    float *input = batch_input(t->online[0]);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t transition = transitions[i];
        const float *state = data->states + data->state_row[transition] * dim;
        copy_scaled(input + i * dim, state, dim, scale);
        if (rule->uses_next)
            copy_scaled(input + (rows + i) * dim, state + dim, dim, scale);
        t->actions[i] = data->actions[transition];
        t->rewards[i] = (float)(t->settings->reward_scale * data->rewards[transition]);
        t->terminated[i] = data->terminated[transition];
    }
    size_t all = rule->uses_next ? 2 * (size_t)rows : rows;
    for (uint32_t k = 1; k < rule->network_count; k++)
        memcpy(batch_input(t->online[k]), input, all * dim * sizeof *input);
    for (uint32_t k = 0; rule->uses_next && k < rule->network_count; k++)
        memcpy(batch_input(t->target[k]), input + rows * dim, rows * dim * sizeof *input);
}

/* Forward of all networks and the rule's errors. */
static void find_errors(struct trainer *t, uint32_t rows)
{
    const struct trainer_rule *rule = &t->settings->rule;
    struct trainer_rows view = {
        .count = rows, .actions = t->actions, .rewards = t->rewards, .terminated = t->terminated};
    size_t offset = 0;
    for (uint32_t k = 0; k < rule->network_count; k++) {
        const struct mlp_shape *shape = &rule->shape[k];
        size_t outputs = shape->width[shape->layer_count - 1];
        uint32_t all = rule->uses_next ? 2 * rows : rows;
        view.online[k] = batch_forward(t->online[k], t->state.online + offset, all);
        view.error[k] = batch_output_error(t->online[k]);
        if (rule->uses_next) {
            view.online_next[k] = view.online[k] + rows * outputs;
            view.target_next[k] = batch_forward(t->target[k], t->state.target + offset, rows);
        }
        offset += mlp_parameter_count(shape);
    }
    rule->errors(rule->context, &view);
}

/* Adds the chunk's gradient, clipped per example over all networks jointly when private. */
static void add_chunk(struct trainer *t, uint32_t first, uint32_t rows)
{
    const struct trainer_rule *rule = &t->settings->rule;
    gather(t, t->transitions + first, rows);
    find_errors(t, rows);
    memset(t->squared_norm, 0, rows * sizeof *t->squared_norm);
    size_t offset = 0;
    for (uint32_t k = 0; k < rule->network_count; k++) {
        batch_backward(t->online[k], t->state.online + offset, rows);
        if (t->private)
            per_example_squared_norm_add(t->online[k], rows, t->squared_norm);
        offset += mlp_parameter_count(&rule->shape[k]);
    }
    if (t->private) {
        per_example_factors(t->squared_norm, rows, t->run->plan->privacy.clip_norm, t->factor);
        for (uint32_t i = 0; i < rows; i++)
            t->factor[i] *= t->weights[first + i];
    } else {
        memcpy(t->factor, t->weights + first, rows * sizeof *t->factor);
    }
    offset = 0;
    for (uint32_t k = 0; k < rule->network_count; k++) {
        per_example_scale(t->online[k], rows, t->factor);
        batch_gradient_add(t->online[k], rows, t->gradient + offset);
        offset += mlp_parameter_count(&rule->shape[k]);
    }
}

static double learning_rate(const struct trainer *t)
{
    const struct trainer_settings *s = t->settings;
    double done = (double)t->state.steps_done / (double)t->run->plan->total_steps;
    return s->learning_rate * (1.0 + done * (s->final_rate_fraction - 1.0));
}

/* to += weight (from - to) */
static void move_towards(float *restrict to, const float *restrict from, size_t count, float weight)
{
    for (size_t i = 0; i < count; i++)
        to[i] += weight * (from[i] - to[i]);
}

static void update_target(struct trainer *t)
{
    struct trainer_state *state = &t->state;
    if (!state->target)
        return;
    if (t->settings->polyak_tau > 0.0)
        move_towards(state->target, state->online, state->count, (float)t->settings->polyak_tau);
    else if (state->steps_done % t->settings->target_update_interval == 0)
        memcpy(state->target, state->online, state->count * sizeof *state->online);
}

/* The average forgets its first weights sooner while it is young. */
static void update_average(struct trainer *t)
{
    struct trainer_state *state = &t->state;
    if (!state->average)
        return;
    double steps = (double)state->steps_done;
    double decay = fmin(t->settings->average_decay, (1.0 + steps) / (10.0 + steps));
    move_towards(state->average, state->online, state->count, (float)(1.0 - decay));
}

static void one_step(struct trainer *t)
{
    struct trainer_state *state = &t->state;
    memset(t->gradient, 0, state->count * sizeof *t->gradient);
    uint32_t count = draw_batch(t);
    for (uint32_t first = 0; first < count; first += TRAINER_CHUNK_ROWS) {
        uint32_t left = count - first;
        add_chunk(t, first, left < TRAINER_CHUNK_ROWS ? left : TRAINER_CHUNK_ROWS);
    }
    if (t->private) {
        dp_sgd_plan_finish_sum(&t->run->plan->privacy, t->noise, t->gradient, state->count);
    } else {
        float scale = 1.0F / (float)count;
        for (size_t i = 0; i < state->count; i++)
            t->gradient[i] *= scale;
    }
    optimizer_step(&state->optimizer, state->online, t->gradient, learning_rate(t));
    state->steps_done++;
    update_target(t);
    update_average(t);
}

static enum algorithm_status save(struct trainer *t)
{
    const struct algorithm_hooks *hooks = &t->run->hooks;
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!trainer_state_to_bytes(&t->state, t->fingerprint, &bytes, &size))
        return ALGORITHM_NO_MEMORY;
    bool saved = hooks->save && hooks->save(hooks->context, t->state.steps_done, bytes, size);
    free(bytes);
    return saved ? ALGORITHM_OK : ALGORITHM_PAUSED;
}

/* Asks what to do; anything but ALGORITHM_OK ends the run. */
static enum algorithm_status pulse(struct trainer *t)
{
    const struct algorithm_hooks *hooks = &t->run->hooks;
    if (!hooks->pulse)
        return ALGORITHM_OK;
    enum algorithm_status status = ALGORITHM_OK;
    switch (hooks->pulse(hooks->context, t->state.steps_done)) {
    case PULSE_CONTINUE:
        return ALGORITHM_OK;
    case PULSE_SAVE:
        return save(t);
    case PULSE_SAVE_AND_PAUSE:
        status = save(t);
        return status == ALGORITHM_OK ? ALGORITHM_PAUSED : status;
    case PULSE_CANCEL:
        break;
    }
    return ALGORITHM_CANCELLED;
}

/* Moves the scale of the inputs into the weights that read them. */
static void fold_input_scale(const struct trainer_settings *settings, float *parameters)
{
    for (uint32_t k = 0; k < settings->rule.network_count; k++) {
        const struct mlp_shape *shape = &settings->rule.shape[k];
        size_t weights = (size_t)shape->input * shape->width[0];
        for (size_t i = 0; i < weights; i++)
            parameters[i] *= (float)settings->input_scale;
        parameters += mlp_parameter_count(shape);
    }
}

static bool weights_finite(const float *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(weights[i]))
            return false;
    }
    return true;
}

/* NULL when the run can start, else what is wrong. An empty dataset is an error only without
 * privacy: whether one expert's data are there must not show. */
static const char *check(const struct algorithm_run *run, const struct trainer_settings *settings)
{
    const struct algorithm_request *request = run->request;
    const struct dataset *data = run->data;
    if (!data)
        return "this algorithm needs a dataset";
    if (data->state_dim != request->state_dim || data->action_count != request->action_count)
        return "the dataset's dimensions are not those of the request";
    if (request->mechanism == MECHANISM_DPSGD)
        return run->plan->privacy.steps == run->plan->total_steps
                   ? NULL
                   : "the plan's steps are not those that were accounted";
    if (data->transition_count == 0)
        return "the dataset holds no transition";
    if (settings->batch_size == 0)
        return "the batch size is zero";
    return NULL;
}

static enum algorithm_status allocate(struct trainer *t)
{
    const struct trainer_rule *rule = &t->settings->rule;
    uint32_t rows = TRAINER_CHUNK_ROWS;
    for (uint32_t k = 0; k < rule->network_count; k++) {
        t->online[k] = batch_new(&rule->shape[k], rule->uses_next ? 2 * rows : rows);
        t->target[k] = rule->uses_next ? batch_new(&rule->shape[k], rows) : NULL;
        if (!t->online[k] || (rule->uses_next && !t->target[k]))
            return ALGORITHM_NO_MEMORY;
    }
    size_t most = t->private ? t->data->expert_count : t->settings->batch_size;
    t->transitions = calloc(most + 1, sizeof *t->transitions);
    t->chosen = calloc(most + 1, sizeof *t->chosen);
    t->weights = calloc(most + 1, sizeof *t->weights);
    t->gradient = calloc(t->state.count, sizeof *t->gradient);
    return t->transitions && t->chosen && t->weights && t->gradient ? ALGORITHM_OK
                                                                    : ALGORITHM_NO_MEMORY;
}

static enum algorithm_status prepare(struct trainer *t, const char **message)
{
    const struct algorithm_run *run = t->run;
    *message = check(run, t->settings);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    if (!trainer_state_init(&t->state, t->settings, run->request->seed))
        return ALGORITHM_NO_MEMORY;
    t->fingerprint = trainer_fingerprint(run);
    if (run->checkpoint &&
        !trainer_state_from_bytes(&t->state, t->fingerprint, run->plan->total_steps,
                                  run->checkpoint, run->checkpoint_size)) {
        *message = "the checkpoint is damaged or of another run";
        return ALGORITHM_BAD_CHECKPOINT;
    }
    if (t->private) {
        t->owns_noise = !run->noise;
        t->noise = run->noise ? run->noise : noise_source_new("sgd");
        if (!t->noise)
            return ALGORITHM_NO_RANDOMNESS;
    }
    uint64_t rows = t->private ? run->plan->privacy.batch_size : t->settings->batch_size;
    uint64_t interval = PULSE_WORK / (t->state.count * rows + 1);
    t->pulse_interval = interval < 1 ? 1 : interval > 1024 ? 1024 : interval;
    return allocate(t);
}

static void release(struct trainer *t)
{
    for (uint32_t k = 0; k < TRAINER_MAX_NETWORKS; k++) {
        batch_free(t->online[k]);
        batch_free(t->target[k]);
    }
    free(t->gradient);
    free(t->chosen);
    free(t->weights);
    free(t->transitions);
    if (t->owns_noise)
        noise_source_free(t->noise);
    trainer_state_clear(&t->state);
    free(t);
}

enum algorithm_status trainer_run(const struct algorithm_run *run,
                                  const struct trainer_settings *settings, float **out_parameters,
                                  const char **message)
{
    assert(settings->rule.network_count > 0);
    assert(settings->rule.network_count <= TRAINER_MAX_NETWORKS);
    *message = "";
    struct trainer *t = calloc(1, sizeof *t);
    if (!t)
        return ALGORITHM_NO_MEMORY;
    t->run = run;
    t->settings = settings;
    t->data = run->data;
    t->private = run->request->mechanism == MECHANISM_DPSGD;
    enum algorithm_status status = prepare(t, message);
    while (status == ALGORITHM_OK && t->state.steps_done < run->plan->total_steps) {
        one_step(t);
        if (t->state.steps_done % t->pulse_interval == 0 &&
            t->state.steps_done < run->plan->total_steps)
            status = pulse(t);
    }
    if (status != ALGORITHM_OK)
        goto cleanup;
    float **result = t->state.average ? &t->state.average : &t->state.online;
    fold_input_scale(settings, *result);
    if (!weights_finite(*result, t->state.count)) {
        *message = "the weights grew without bound; a smaller learning rate helps";
        status = ALGORITHM_BAD_INPUT;
        goto cleanup;
    }
    *out_parameters = *result;
    *result = NULL;

cleanup:
    release(t);
    return status;
}
