/* Blocks are filled when one of their transitions is first asked for. A block is computed whole,
 * because one product of many rows is faster than many of few. A row has the same bits whatever
 * rows are beside it (matrix.h). */
#include "algos/offline/target_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/trainer_input.h"
#include "memory/memory.h"

enum { BLOCK = 64 };

static uint64_t block_count(const struct dataset *data)
{
    return (data->transition_count + BLOCK - 1) / BLOCK;
}

bool target_cache_pays(const struct trainer_settings *settings, const struct dataset *data)
{
    uint64_t rows = (uint64_t)settings->batch_size * settings->transitions_per_expert;
    uint64_t asked, values;
    size_t outputs = settings->rule.target_outputs;
    if (outputs == 0 || settings->polyak_tau > 0.0 || settings->feed || data->transition_count == 0)
        return false;
    if (__builtin_mul_overflow(settings->target_update_interval, rows, &asked) ||
        __builtin_mul_overflow(data->transition_count, outputs * sizeof(float), &values))
        return false;
    return asked / 2 >= data->transition_count && values <= TARGET_CACHE_MAX_BYTES;
}

size_t target_cache_bytes(const struct trainer_settings *settings, const struct dataset *data)
{
    const struct trainer_rule *rule = &settings->rule;
    if (!target_cache_pays(settings, data))
        return 0;
    return data->transition_count * rule->target_outputs * sizeof(float) +
           block_count(data) * sizeof(uint64_t) + batch_bytes(&rule->shape, BLOCK);
}

void target_cache_init(struct target_cache *cache, const struct trainer_settings *settings,
                       const struct dataset *data)
{
    size_t kept = settings->rule.target_outputs;
    *cache = (struct target_cache){
        .data = data, .settings = settings, .kept = (uint32_t)kept, .copy = 1};
    cache->network = memory_must(batch_new(&settings->rule.shape, BLOCK));
    cache->values = memory_new(data->transition_count, kept * sizeof *cache->values);
    cache->copy_of = memory_new(block_count(data), sizeof *cache->copy_of);
}

void target_cache_clear(struct target_cache *cache)
{
    batch_free(cache->network);
    free(cache->values);
    free(cache->copy_of);
    *cache = (struct target_cache){0};
}

void target_cache_forget(struct target_cache *cache)
{
    cache->copy++;
}

/* Computes a block. The last block is padded with its last transition. */
static void fill_block(struct target_cache *cache, const float *target, uint64_t block)
{
    const struct dataset *data = cache->data;
    const struct mlp_shape *shape = &cache->settings->rule.shape;
    const size_t dim = data->state_dim, kept = cache->kept;
    float *input = batch_input(cache->network);
    uint64_t first = block * BLOCK, left = data->transition_count - first;
    size_t used = left < BLOCK ? (size_t)left : BLOCK;
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t transition = first + (i < used ? i : used - 1);
        const float *next = data->states + (data->state_row[transition] + 1) * dim;
        trainer_input_write(cache->settings, dim, next, input + i * dim);
    }
    size_t outputs = shape->width[shape->layer_count - 1];
    const float *all = batch_forward(cache->network, target, BLOCK);
    for (size_t i = 0; i < used; i++)
        memcpy(cache->values + (first + i) * kept, all + i * outputs, kept * sizeof *all);
    cache->copy_of[block] = cache->copy;
}

const float *target_cache_at(struct target_cache *cache, const float *target, uint64_t transition)
{
    assert(transition < cache->data->transition_count);
    uint64_t block = transition / BLOCK;
    if (cache->copy_of[block] != cache->copy)
        fill_block(cache, target, block);
    return cache->values + transition * cache->kept;
}

void target_cache_fill(struct target_cache *cache, const float *target, const uint64_t *transitions,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i + EXAMPLES_AHEAD < count)
            __builtin_prefetch(cache->copy_of + transitions[i + EXAMPLES_AHEAD] / BLOCK);
        (void)target_cache_at(cache, target, transitions[i]);
    }
}

void target_cache_copy(struct target_cache *cache, const float *target, const uint64_t *transitions,
                       uint32_t count, float *out)
{
    const size_t kept = cache->kept;
    for (uint32_t i = 0; i < count; i++) {
        if (i + EXAMPLES_AHEAD < count) {
            uint64_t later = transitions[i + EXAMPLES_AHEAD];
            __builtin_prefetch(cache->copy_of + later / BLOCK);
            __builtin_prefetch(cache->values + later * kept);
        }
        const float *from = target_cache_at(cache, target, transitions[i]);
        memcpy(out + i * kept, from, kept * sizeof *from);
    }
}
