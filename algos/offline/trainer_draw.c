/* Draws the experts of a batch, and computes their weights. */
#include "algos/offline/trainer_draw.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/noise/noise_source.h"
#include "memory/memory.h"

/* The mean undiscounted return of the expert's trajectories. They are counted from the expert's own
 * transitions: other experts' states may lie between them. */
static double mean_return(const struct dataset *data, uint32_t expert)
{
    uint64_t first = data->expert_transitions[expert], end = data->expert_transitions[expert + 1];
    uint64_t trajectories = 0;
    double sum = 0.0;
    for (uint64_t i = first; i < end; i++) {
        trajectories += dataset_starts_trajectory(data, i);
        sum += (double)data->rewards[i];
    }
    return sum / (double)trajectories;
}

/* An expert's weight: at most 1, from its own data and public numbers, so the clip bound holds. */
static float expert_weight(const struct trainer_settings *settings, const struct dataset *data,
                           uint32_t expert)
{
    uint64_t owned = data->expert_transitions[expert + 1] - data->expert_transitions[expert];
    double share = (double)owned / (double)settings->full_weight_transitions;
    double weight = pow(fmin(1.0, share), settings->weight_power);
    if (settings->return_power <= 0.0 || owned == 0)
        return (float)weight;
    double low = settings->return_low, high = settings->return_high;
    share = (mean_return(data, expert) - low) / (high - low);
    if (!(share > 0.0)) /* true for NaN */
        return 0.0F;
    return (float)(weight * pow(fmin(1.0, share), settings->return_power));
}

size_t trainer_draw_bytes(const struct trainer_settings *settings, const struct dataset *data)
{
    const uint32_t experts = data->expert_count, batch = settings->batch_size;
    size_t most = (size_t)(experts > batch ? experts : batch) + 1;
    return most * settings->transitions_per_expert * (sizeof(uint64_t) + sizeof(float)) +
           most * (sizeof(uint32_t) + sizeof(float));
}

void trainer_draw_init(struct trainer_draw *draw, const struct trainer_settings *settings,
                       const struct dataset *data)
{
    const uint32_t experts = data->expert_count, batch = settings->batch_size;
    const uint32_t group = settings->transitions_per_expert;
    size_t most = (size_t)(experts > batch ? experts : batch) + 1;
    *draw =
        (struct trainer_draw){.per_expert = group,
                              .transitions = memory_new(most * group, sizeof *draw->transitions),
                              .weights = memory_new(most * group, sizeof *draw->weights),
                              .chosen = memory_new(most, sizeof *draw->chosen),
                              .expert_weights = memory_new(most, sizeof *draw->expert_weights)};
    trainer_draw_weigh(draw, settings, data);
}

void trainer_draw_weigh(struct trainer_draw *draw, const struct trainer_settings *settings,
                        const struct dataset *data)
{
    for (uint32_t e = 0; e < data->expert_count; e++)
        draw->expert_weights[e] = expert_weight(settings, data, e);
}

void trainer_draw_clear(struct trainer_draw *draw)
{
    free(draw->transitions);
    free(draw->weights);
    free(draw->chosen);
    free(draw->expert_weights);
    *draw = (struct trainer_draw){0};
}

/* Maps 64 random BITS to 0 .. N - 1, uniformly up to N / 2^64. */
static uint64_t scale_below(uint64_t bits, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)bits * n) >> 64);
}

/* The expert that owns TRANSITION. */
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

/* With uniform transitions, an expert counts in proportion to the number it owns. The weight
 * divides by that number and multiplies by the expert's weight. */
static float transition_weight(const struct trainer_draw *draw,
                               const struct trainer_settings *settings, const struct dataset *data,
                               uint64_t transition)
{
    const uint64_t *bounds = data->expert_transitions;
    uint32_t expert = expert_of(data, transition);
    uint64_t owned = bounds[expert + 1] - bounds[expert];
    double even = (double)settings->full_weight_transitions / (double)owned;
    return (float)even * draw->expert_weights[expert];
}

void trainer_draw_transitions(struct trainer_draw *draw, const struct trainer_settings *settings,
                              struct rng *rng, const struct dataset *data, bool weighed)
{
    assert(data->transition_count > 0);
    draw->data = data;
    draw->count = settings->batch_size;
    draw->group = 1;
    for (uint32_t i = 0; i < draw->count; i++) {
        uint64_t transition = scale_below(rng_next(rng), data->transition_count);
        draw->transitions[i] = transition;
        draw->weights[i] = weighed ? transition_weight(draw, settings, data, transition) : 1.0F;
    }
}

void trainer_draw_experts(struct trainer_draw *draw, const struct dp_sgd_plan *plan,
                          struct noise_source *noise, const struct dataset *data)
{
    const uint64_t *bounds = data->expert_transitions;
    uint32_t chosen = dp_sgd_plan_draw_batch(plan, noise, data->expert_count, draw->chosen);
    draw->data = data;
    draw->count = 0;
    draw->group = draw->per_expert;
    for (uint32_t i = 0; i < chosen; i++) {
        uint32_t expert = draw->chosen[i];
        uint64_t first = bounds[expert], owned = bounds[expert + 1] - first;
        if (owned == 0)
            continue;
        for (uint32_t k = 0; k < draw->group; k++) {
            draw->weights[draw->count] = draw->expert_weights[expert] / (float)draw->group;
            draw->transitions[draw->count++] = first + scale_below(noise_u64(noise), owned);
        }
    }
}
