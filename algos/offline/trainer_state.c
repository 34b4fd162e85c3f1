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
#include "memory/memory.h"

enum { MAGIC = 0x504b4354, VERSION = 2, VECTORS_MAX = 6, STREAM_WEIGHTS = 0, STREAM_BATCHES = 1 };

/* Action values start near 0, so that the first steps need not unlearn random values. */
#define OUTPUT_GAIN 0.1

struct header {
    uint32_t magic, version;
    uint64_t fingerprint, steps_done, optimizer_step, rng[4], count;
    uint32_t vectors, judged;
    double best_return;
};
_Static_assert(sizeof(struct header) == 88, "no padding in the byte form");

static float *weights_new(const struct trainer_state *state, bool wanted)
{
    return wanted ? memory_new(state->count, sizeof(float)) : NULL;
}

void trainer_state_init(struct trainer_state *out, const struct trainer_settings *settings,
                        uint64_t seed)
{
    const struct trainer_rule *rule = &settings->rule;
    *out = (struct trainer_state){.count = mlp_parameter_count(&rule->shape), .best_return = NAN};
    out->online = weights_new(out, true);
    out->target = weights_new(out, rule->target_outputs > 0);
    out->average = weights_new(out, settings->average_decay > 0.0);
    out->best = weights_new(out, settings->choice);
    if (!optimizer_init(&out->optimizer, &settings->optimizer, out->count))
        memory_must(NULL);
    struct rng weights;
    rng_seed(&weights, seed, STREAM_WEIGHTS);
    rng_seed(&out->rng, seed, STREAM_BATCHES);
    mlp_initialize(&rule->shape, &weights, OUTPUT_GAIN, out->online);
    if (out->target)
        memcpy(out->target, out->online, out->count * sizeof(float));
    if (out->average)
        memcpy(out->average, out->online, out->count * sizeof(float));
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

uint64_t trainer_fingerprint(const struct algorithm_run *run)
{
    const struct algorithm_request *request = run->request;
    const struct algorithm_plan *plan = run->plan;
    const struct mlp_shape *shape = &plan->shape;
    uint64_t hash = CHECKSUM_START;
    for (unsigned i = 0; i < PARAMETERS_MAX; i++) {
        const struct parameter_value *value = &request->parameters.value[i];
        hash = checksum_number(hash, value->count);
        for (unsigned j = 0; j < value->count && j < PARAMETER_REALS_MAX; j++)
            hash = checksum_number(hash, value->number[j]);
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
        hash = checksum_number(hash, numbers[i]);
    for (uint32_t l = 0; l < shape->layer_count; l++)
        hash = checksum_number(hash, shape->width[l]);
    for (uint32_t d = 0; request->features && d < request->features->count; d++) {
        hash = checksum_number(hash, request->features->range[d].low);
        hash = checksum_number(hash, request->features->range[d].high);
    }
    return checksum_words(hash, &request->seed, sizeof request->seed);
}

/* Lists the vectors of a checkpoint in order; vectors that the run does not have are left out. */
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
    return sizeof(struct header) + checksum_padded(count * vectors * sizeof(float));
}

unsigned char *trainer_state_to_bytes(const struct trainer_state *state, uint64_t fingerprint,
                                      size_t *out_size)
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
    size_t end = body_size(state->count, header.vectors);
    unsigned char *bytes = checksum_room(end, out_size);
    memcpy(bytes, &header, sizeof header);
    for (uint32_t i = 0; i < header.vectors; i++)
        memcpy(bytes + sizeof header + i * state->count * sizeof(float), vector[i],
               state->count * sizeof(float));
    checksum_seal(bytes, end);
    return bytes;
}

bool trainer_state_weights(const unsigned char *bytes, size_t size, size_t count, float *weights)
{
    struct header header;
    if (size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MAGIC || header.version != VERSION || header.count != count ||
        header.vectors < 1 || header.vectors > VECTORS_MAX)
        return false;
    size_t end = body_size(count, header.vectors);
    if (size != end + sizeof(uint64_t) || !checksum_holds(bytes, end))
        return false;
    memcpy(weights, bytes + sizeof header, count * sizeof *weights);
    return true;
}

bool trainer_state_from_bytes(struct trainer_state *state, uint64_t fingerprint,
                              uint64_t total_steps, const unsigned char *bytes, size_t size)
{
    float *vector[VECTORS_MAX];
    uint32_t vectors = vectors_of(state, vector);
    size_t end = body_size(state->count, vectors);
    struct header header;
    if (!bytes || size != end + sizeof(uint64_t))
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MAGIC || header.version != VERSION || header.fingerprint != fingerprint ||
        header.count != state->count || header.vectors != vectors ||
        header.steps_done > total_steps || header.optimizer_step > header.steps_done ||
        !checksum_holds(bytes, end))
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
