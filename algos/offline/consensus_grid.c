/* Labels at the states of a grid or a list, CONSENSUS_LANES of them in one pass over the experts.
 */
#include "algos/offline/consensus.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

static uint32_t list_size(const struct consensus_grid *grid)
{
    if (grid->count > CONSENSUS_GRID_MAX_STATES || !grid->states)
        return 0;
    for (size_t i = 0; i < (size_t)grid->count * grid->dims; i++)
        if (!isfinite((float)grid->states[i]))
            return 0;
    return grid->count;
}

uint32_t consensus_grid_size(const struct consensus_grid *grid)
{
    uint64_t size = 1;
    if (grid->dims < 1 || grid->dims > ENV_MAX_STATE_DIM)
        return 0;
    if (grid->count > 0)
        return list_size(grid);
    for (uint32_t d = 0; d < grid->dims; d++) {
        float low = (float)grid->low[d], high = (float)grid->high[d];
        if (!isfinite(low) || !isfinite(high) || grid->low[d] > grid->high[d] ||
            grid->points[d] < 1 || grid->points[d] > CONSENSUS_GRID_MAX_POINTS)
            return 0;
        size *= grid->points[d]; /* at most 10^9 */
        if (size > CONSENSUS_MAX_LABELS)
            return 0;
    }
    return (uint32_t)size;
}

void consensus_grid_state(const struct consensus_grid *grid, uint32_t index, float *out)
{
    if (grid->count > 0) {
        for (uint32_t d = 0; d < grid->dims; d++)
            out[d] = (float)grid->states[(size_t)index * grid->dims + d];
        return;
    }
    for (uint32_t d = grid->dims; d-- > 0;) {
        uint32_t points = grid->points[d];
        double part = points > 1 ? (double)(index % points) / (points - 1) : 0.5;
        out[d] = (float)(grid->low[d] + part * (grid->high[d] - grid->low[d]));
        index /= points;
    }
}

static int value_order(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t consensus_list_values(const struct consensus_grid *grid, uint32_t d, double *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < grid->count; i++)
        out[i] = grid->states[(size_t)i * grid->dims + d];
    qsort(out, grid->count, sizeof *out, value_order);
    for (uint32_t i = 0; i < grid->count; i++)
        if (count == 0 || out[i] != out[count - 1])
            out[count++] = out[i];
    return count;
}

struct walk {
    const struct consensus_run *run;
    const struct consensus_grid *grid;
    struct dataset_builder *released;
    double *scratch;
    float states[CONSENSUS_LANES * ENV_MAX_STATE_DIM];
    int64_t sums[CONSENSUS_LANES * ENV_MAX_ACTIONS];
};

static void add_label(struct walk *w, const float *state, uint32_t label)
{
    size_t dim = w->grid->dims;
    float twice[2 * ENV_MAX_STATE_DIM], reward = 0.0F;
    uint16_t action = (uint16_t)label;
    memcpy(twice, state, dim * sizeof *twice);
    memcpy(twice + dim, state, dim * sizeof *twice);
    const struct trajectory one = {
        .length = 1, .terminated = true, .states = twice, .actions = &action, .rewards = &reward};
    (void)dataset_builder_add(w->released, &one);
}

/* Releases COUNT labels from state FIRST on. */
static void label_states(struct walk *w, uint32_t first, uint32_t count)
{
    const struct expert_voices *voices = w->run->voices;
    size_t dim = w->grid->dims;
    for (uint32_t i = 0; i < count; i++)
        consensus_grid_state(w->grid, first + i, w->states + i * dim);
    consensus_sums(w->run->plan, voices, w->run->noise, w->states, count, w->scratch, w->sums);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t *sums = w->sums + (size_t)i * voices->action_count;
        add_label(w, w->states + i * dim, consensus_label(sums, voices->action_count));
    }
}

/* False: GOES_ON said stop. */
static bool label_all(struct walk *w)
{
    const struct consensus_run *run = w->run;
    uint32_t size = run->plan->labels;
    for (uint32_t first = 0; first < size; first += CONSENSUS_LANES) {
        if (run->goes_on && !run->goes_on(run->context))
            return false;
        uint32_t left = size - first;
        label_states(w, first, left < CONSENSUS_LANES ? left : CONSENSUS_LANES);
    }
    return true;
}

enum algorithm_status consensus_grid_release(const struct consensus_run *run,
                                             const struct consensus_grid *grid,
                                             struct dataset **out_released)
{
    const struct expert_voices *voices = run->voices;
    assert(run->plan->action_count == voices->action_count && grid->dims == voices->state_dim);
    assert(run->plan->labels == consensus_grid_size(grid));
    struct walk w = {.run = run, .grid = grid};
    w.released = dataset_builder_new(grid->dims, voices->action_count, 1);
    w.scratch = memory_new((size_t)CONSENSUS_EXPERTS * CONSENSUS_LANES * voices->action_count,
                           sizeof *w.scratch);
    bool whole = label_all(&w);
    free(w.scratch);
    if (!whole) {
        dataset_builder_free(w.released);
        return ALGORITHM_CANCELLED;
    }
    *out_released = dataset_builder_finish(w.released);
    return *out_released ? ALGORITHM_OK : ALGORITHM_NO_MEMORY;
}
