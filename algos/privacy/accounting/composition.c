/* The list of parts of a plan. */
#include <stdlib.h>

#include "algos/privacy/laws/mechanism.h"
#include "memory/memory.h"

void composition_clear(struct composition *composition)
{
    free(composition->part);
    *composition = (struct composition){0};
}

static bool mechanisms_equal(const struct mechanism *a, const struct mechanism *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case MECHANISM_SUBSAMPLED_GAUSSIAN:
        return a->gaussian.sampling_rate == b->gaussian.sampling_rate &&
               a->gaussian.noise_multiplier == b->gaussian.noise_multiplier;
    case MECHANISM_LAPLACE: return a->laplace.noise_multiplier == b->laplace.noise_multiplier;
    case MECHANISM_RANDOMIZED_RESPONSE:
        return a->response.noise_parameter == b->response.noise_parameter &&
               a->response.buckets == b->response.buckets;
    case MECHANISM_EPSILON_DELTA:
        return a->pair.epsilon == b->pair.epsilon && a->pair.delta == b->pair.delta;
    case MECHANISM_DIRICHLET:
        return a->dirichlet.concentration == b->dirichlet.concentration &&
               a->dirichlet.min_probability == b->dirichlet.min_probability &&
               a->dirichlet.sensitivity == b->dirichlet.sensitivity &&
               a->dirichlet.actions == b->dirichlet.actions;
    }
    return false;
}

enum composition_status composition_add(struct composition *composition,
                                        const struct mechanism *mechanism, uint64_t times)
{
    if (mechanism_problem(mechanism) || times == 0)
        return COMPOSITION_BAD;
    if (times > COMPOSITION_MAX_TIMES)
        return COMPOSITION_TOO_LONG;
    for (size_t i = 0; i < composition->count; i++) {
        struct composition_part *part = &composition->part[i];
        if (!mechanisms_equal(&part->mechanism, mechanism))
            continue;
        if (times > COMPOSITION_MAX_TIMES - part->times)
            return COMPOSITION_TOO_LONG;
        part->times += times;
        return COMPOSITION_OK;
    }
    if (composition->count >= COMPOSITION_MAX_PARTS)
        return COMPOSITION_TOO_LONG;
    if (composition->count == composition->capacity) {
        composition->capacity = composition->capacity ? 2 * composition->capacity : 4;
        composition->part =
            memory_resize(composition->part, composition->capacity, sizeof *composition->part);
    }
    composition->part[composition->count++] = (struct composition_part){*mechanism, times};
    return COMPOSITION_OK;
}
