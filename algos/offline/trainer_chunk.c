/* Forward of the online network on s or [s; s'] in one product and of the target on s', the rule's
 * errors, one backward, clip factors from ghost norms, and the weight products. */
#include "algos/offline/trainer_chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/per_example.h"
#include "algos/offline/trainer_input.h"
#include "memory/memory.h"

static_assert(PER_EXAMPLE_LATTICE_NORM == DP_SGD_LATTICE_NORM, "one bound, in two rooms");
static_assert(TRAINER_GROUP_MOST <= PER_EXAMPLE_GROUP_MOST, "one bound, in two rooms");
static_assert(TRAINER_CHUNK_ROWS <= PER_EXAMPLE_LATTICE_ROWS, "sums stay exact");

void trainer_chunk_init(struct trainer_chunk *chunk, const struct trainer_settings *settings)
{
    const struct trainer_rule *rule = &settings->rule;
    const uint32_t rows = TRAINER_CHUNK_ROWS;
    *chunk = (struct trainer_chunk){.settings = settings};
    chunk->online = memory_must(batch_new(&rule->shape, rule->asks_online_next ? 2 * rows : rows));
    if (settings->whole_numbers)
        per_example_lattice_init(&chunk->lattice, &rule->shape);
    if (rule->target_outputs == 0)
        return;
    chunk->target = memory_must(batch_new(&rule->shape, rows));
    chunk->target_next = memory_new((size_t)rows * rule->target_outputs, sizeof(float));
}

void trainer_chunk_clear(struct trainer_chunk *chunk)
{
    batch_free(chunk->online);
    batch_free(chunk->target);
    free(chunk->target_next);
    per_example_lattice_clear(&chunk->lattice);
    *chunk = (struct trainer_chunk){0};
}

/* Copies the examples' columns and writes s (and s' below it, where the rule asks for that) to the
 * networks' inputs. */
static void gather_examples(struct trainer_chunk *chunk, const struct trainer_examples *examples)
{
    const struct dataset *data = examples->data;
    const struct trainer_settings *settings = chunk->settings;
    uint32_t rows = examples->count;
    size_t dim = data->state_dim;
    float *input = batch_input(chunk->online);
    float *next = settings->rule.asks_online_next ? input + rows * dim : NULL;
    float *target = chunk->target && !examples->cache ? batch_input(chunk->target) : NULL;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t transition = examples->transitions[i];
        if (i + EXAMPLES_AHEAD < rows)
            __builtin_prefetch(data->states +
                               data->state_row[examples->transitions[i + EXAMPLES_AHEAD]] * dim);
        const float *state = data->states + data->state_row[transition] * dim;
        trainer_input_write(settings, dim, state, input + i * dim);
        if (next)
            trainer_input_write(settings, dim, state + dim, next + i * dim);
        if (target)
            trainer_input_write(settings, dim, state + dim, target + i * dim);
        chunk->actions[i] = data->actions[transition];
        chunk->rewards[i] = (float)(settings->reward_scale * data->rewards[transition]);
        chunk->terminated[i] = data->terminated[transition];
    }
}

static uint32_t chunk_outputs(const struct mlp_shape *shape)
{
    return shape->width[shape->layer_count - 1];
}

/* Computes the first outputs of the target network at s'. */
static void find_targets(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                         const float *target)
{
    const struct trainer_rule *rule = &chunk->settings->rule;
    size_t outputs = chunk_outputs(&rule->shape), kept = rule->target_outputs;
    uint32_t rows = examples->count;
    if (examples->cache) {
        target_cache_copy(examples->cache, target, examples->transitions, rows, chunk->target_next);
        return;
    }
    const float *all = batch_forward(chunk->target, target, rows);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(chunk->target_next + i * kept, all + i * outputs, kept * sizeof *all);
}

static void find_errors(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                        const float *online, const float *target)
{
    const struct trainer_rule *rule = &chunk->settings->rule;
    uint32_t rows = examples->count;
    struct trainer_rows view = {.count = rows,
                                .actions = chunk->actions,
                                .rewards = chunk->rewards,
                                .terminated = chunk->terminated,
                                .error = batch_output_error(chunk->online)};
    view.online = batch_forward(chunk->online, online, rule->asks_online_next ? 2 * rows : rows);
    if (rule->asks_online_next)
        view.online_next = view.online + (size_t)rows * chunk_outputs(&rule->shape);
    if (chunk->target) {
        find_targets(chunk, examples, target);
        view.target_next = chunk->target_next;
    }
    rule->errors(rule->context, &view);
}

/* Computes the factor of each row's error: clip factor times weight. */
static void find_factors(struct trainer_chunk *chunk, const struct trainer_examples *examples)
{
    uint32_t rows = examples->count, group = examples->group;
    if (examples->clip_norm <= 0.0) {
        memcpy(chunk->factor, examples->weights, rows * sizeof *chunk->factor);
        return;
    }
    per_example_group_squared_norm(chunk->online, rows, group, chunk->squared_norm);
    per_example_factors(chunk->squared_norm, rows, group * examples->clip_norm, chunk->factor);
    for (uint32_t i = 0; i < rows; i++)
        chunk->factor[i] *= examples->weights[i];
}

/* Computes the errors of every layer and the factors of the rows. */
static void find_gradients(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                           const float *online, const float *target)
{
    uint32_t rows = examples->count;
    assert(rows <= TRAINER_CHUNK_ROWS && (!chunk->target || target));
    chunk->rows = rows;
    gather_examples(chunk, examples);
    find_errors(chunk, examples, online, target);
    batch_backward(chunk->online, online, rows);
    find_factors(chunk, examples);
}

void trainer_chunk_find(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                        const float *online, const float *target)
{
    find_gradients(chunk, examples, online, target);
    per_example_scale(chunk->online, examples->count, chunk->factor);
}

static void append_layer(float *to, uint32_t had, const float *from, uint32_t rows, size_t width)
{
    memcpy(to + had * width, from, rows * width * sizeof *to);
}

void trainer_chunk_append(struct trainer_chunk *chunk, const struct trainer_chunk *from)
{
    struct batch *to = chunk->online;
    const struct mlp_shape *shape = &to->shape;
    assert(chunk->rows + from->rows <= TRAINER_CHUNK_ROWS);
    append_layer(to->input, chunk->rows, from->online->input, from->rows, shape->input);
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        append_layer(to->activation[l], chunk->rows, from->online->activation[l], from->rows,
                     shape->width[l]);
        append_layer(to->error[l], chunk->rows, from->online->error[l], from->rows,
                     shape->width[l]);
    }
    chunk->rows += from->rows;
}

void trainer_chunk_sum(const struct trainer_chunk *chunk, float *gradient, bool first)
{
    if (first)
        batch_gradient(chunk->online, chunk->rows, gradient);
    else
        batch_gradient_add(chunk->online, chunk->rows, gradient);
}

void trainer_chunk_begin_whole(struct trainer_chunk *chunk, uint64_t seed, uint64_t step)
{
    per_example_lattice_dither(&chunk->lattice, &chunk->settings->rule.shape, seed, step);
}

void trainer_chunk_find_whole(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                              const float *online, const float *target, double units)
{
    assert(chunk->settings->whole_numbers && examples->clip_norm > 0.0);
    find_gradients(chunk, examples, online, target);
    per_example_lattice_round(&chunk->lattice, chunk->online, examples->count, examples->group,
                              chunk->factor, units);
}
