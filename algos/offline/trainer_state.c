/* Weights, moments and coins of a run, and the checkpoint that holds them, little endian:
 *
 *   u32 magic "TCKP"  u32 version 2  u64 fingerprint  u64 steps done  u64 optimiser steps
 *   u64 rng[4]  u64 parameters  u32 vectors  u32 candidates judged  f64 best return
 *   f32 vector[parameters] for online, first moment and, where the run has them, second moment,
 *   target, average, best candidate   (padding word when the sum is odd)   u64 checksum of
 * everything before it
 *
 * The noise generator is not in it: a continued run draws fresh noise. */
#include "algos/offline/trainer_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/nn/initialize.h"

enum { MAGIC = 0x504b4354, VERSION = 2, VECTORS_MAX = 6, STREAM_WEIGHTS = 0, STREAM_BATCHES = 1 };

/* Action values start near 0, so that the first steps are not spent on unlearning chance. */
#define OUTPUT_GAIN 0.1

struct header {
    uint32_t magic, version;
    uint64_t fingerprint, steps_done, optimizer_step, rng[4], count;
    uint32_t vectors, judged;
    double best_return;
};
_Static_assert(sizeof(struct header) == 88, "no padding in the byte form");

static float *floats(size_t count)
{
    return calloc(count, sizeof(float));
}

bool trainer_state_init(struct trainer_state *out, const struct trainer_settings *settings,
                        uint64_t seed)
{
    const struct trainer_rule *rule = &settings->rule;
    bool bootstraps = rule->target_outputs > 0;
    *out = (struct trainer_state){0};
    out->count = mlp_parameter_count(&rule->shape);
    out->online = floats(out->count);
    out->target = bootstraps ? floats(out->count) : NULL;
    out->average = settings->average_decay > 0.0 ? floats(out->count) : NULL;
    out->best = settings->choice ? floats(out->count) : NULL;
    out->best_return = NAN;
    if (!out->online || (bootstraps && !out->target) || (settings->choice && !out->best) ||
        (settings->average_decay > 0.0 && !out->average) ||
        !optimizer_init(&out->optimizer, &settings->optimizer, out->count))
        return false;
    struct rng weights;
    rng_seed(&weights, seed, STREAM_WEIGHTS);
    rng_seed(&out->rng, seed, STREAM_BATCHES);
    mlp_initialize(&rule->shape, &weights, OUTPUT_GAIN, out->online);
    if (out->target)
        memcpy(out->target, out->online, out->count * sizeof(float));
    if (out->average)
        memcpy(out->average, out->online, out->count * sizeof(float));
    return true;
}

void trainer_state_clear(struct trainer_state *state)
{
    free(state->online);
    free(state->target);
    free(state->average);
    free(state->best);
    optimizer_clear(&state->optimizer);
    *state = (struct trainer_state){0};
}

static uint64_t mix(uint64_t hash, double number)
{
    return checksum_words(hash, &number, sizeof number);
}

uint64_t trainer_fingerprint(const struct algorithm_run *run)
{
    const struct algorithm_request *request = run->request;
    const struct algorithm_plan *plan = run->plan;
    const struct mlp_shape *shape = &plan->shape;
    uint64_t hash = CHECKSUM_START;
    for (unsigned i = 0; i < PARAMETERS_MAX; i++) {
        const struct parameter_value *value = &request->parameters.value[i];
        hash = mix(hash, value->count);
        for (unsigned j = 0; j < value->count && j < PARAMETER_REALS_MAX; j++)
            hash = mix(hash, value->number[j]);
    }
    const double numbers[] = {
        request->mechanism,
        request->discount,
        request->plain_share,
        request->state_dim,
        request->action_count,
        (double)plan->total_steps,
        (double)plan->parameter_count,
        shape->input,
        shape->layer_count,
        (double)shape->activation,
        plan->privacy.clip_norm,
        plan->privacy.sampling_rate,
        plan->privacy.noise_multiplier,
        plan->privacy.batch_size,
        (double)plan->privacy.rounded_draws,
        request->choice.candidates,
        request->choice.episodes,
        request->choice.max_steps,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = mix(hash, numbers[i]);
    for (uint32_t l = 0; l < shape->layer_count; l++)
        hash = mix(hash, shape->width[l]);
    return checksum_words(hash, &request->seed, sizeof request->seed);
}

/* The vectors of a checkpoint in their order; those that the run lacks are left out. */
static uint32_t vectors_of(const struct trainer_state *state, float *out[VECTORS_MAX])
{
    float *const all[VECTORS_MAX] = {state->online, state->optimizer.first, state->optimizer.second,
                                     state->target, state->average,         state->best};
    uint32_t count = 0;
    for (uint32_t i = 0; i < VECTORS_MAX; i++)
        if (all[i])
            out[count++] = all[i];
    return count;
}

static size_t body_size(size_t count, uint32_t vectors)
{
    size_t size = count * vectors * sizeof(float);
    return (size + 7) & ~(size_t)7;
}

bool trainer_state_to_bytes(const struct trainer_state *state, uint64_t fingerprint,
                            unsigned char **out_bytes, size_t *out_size)
{
    float *vector[VECTORS_MAX];
    struct header header = {
        .magic = MAGIC,
        .version = VERSION,
        .fingerprint = fingerprint,
        .steps_done = state->steps_done,
        .optimizer_step = state->optimizer.step,
        .count = state->count,
        .vectors = vectors_of(state, vector),
        .judged = state->judged,
        .best_return = state->best_return,
    };
    memcpy(header.rng, state->rng.state, sizeof header.rng);
    size_t end = sizeof header + body_size(state->count, header.vectors);
    unsigned char *bytes = calloc(1, end + sizeof(uint64_t));
    if (!bytes)
        return false;
    memcpy(bytes, &header, sizeof header);
    for (uint32_t i = 0; i < header.vectors; i++)
        memcpy(bytes + sizeof header + i * state->count * sizeof(float), vector[i],
               state->count * sizeof(float));
    uint64_t checksum = checksum_words(CHECKSUM_START, bytes, end);
    memcpy(bytes + end, &checksum, sizeof checksum);
    *out_bytes = bytes;
    *out_size = end + sizeof checksum;
    return true;
}

bool trainer_state_from_bytes(struct trainer_state *state, uint64_t fingerprint,
                              uint64_t total_steps, const unsigned char *bytes, size_t size)
{
    float *vector[VECTORS_MAX];
    uint32_t vectors = vectors_of(state, vector);
    size_t end = sizeof(struct header) + body_size(state->count, vectors);
    struct header header;
    uint64_t checksum;
    if (!bytes || size != end + sizeof checksum)
        return false;
    memcpy(&header, bytes, sizeof header);
    memcpy(&checksum, bytes + end, sizeof checksum);
    if (header.magic != MAGIC || header.version != VERSION || header.fingerprint != fingerprint ||
        header.count != state->count || header.vectors != vectors ||
        header.steps_done > total_steps || header.optimizer_step > header.steps_done ||
        checksum != checksum_words(CHECKSUM_START, bytes, end))
        return false;
    state->steps_done = header.steps_done;
    state->optimizer.step = header.optimizer_step;
    state->judged = header.judged;
    state->best_return = header.best_return;
    memcpy(state->rng.state, header.rng, sizeof header.rng);
    for (uint32_t i = 0; i < vectors; i++)
        memcpy(vector[i], bytes + sizeof header + i * state->count * sizeof(float),
               state->count * sizeof(float));
    return true;
}
